"""Hosts that refuse to start a run for reasons of their own: they are set apart, and their queue waits."""

from __future__ import annotations

import os
import subprocess

import pytest

from benchhub.catalog.models import Host
from tests.faults import rows
from tests.faults.rig import until

pytestmark = [pytest.mark.target, pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")]


@pytest.mark.parametrize(
    ("options", "words"),
    [("nr_inodes=8,size=1m", "No space left"), ("size=8k", "No space left"), ("ro", "Read-only")],
)
def test_a_host_that_can_write_nothing_is_set_apart_and_no_run_is_burned(rig, site, system, options, words):
    work = site.machine.work_directory
    owner = f"mode=0700,uid={rig.account.uid},gid={rig.account.gid}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"{owner},{options}", "tmpfs", str(work)], check=True)
    host = Host.objects.get(pk=system.driver_id)
    try:
        rig.both()
        runs = rows.queue(system, 3, duration_s=1)
        until(lambda: Host.objects.filter(pk=host.pk, paused_at__isnull=False).exists())
        until(lambda: {rows.state(run) for run in runs} == {"queued"})
        reason = Host.objects.get(pk=host.pk).pause_reason
        assert reason.startswith("It refused to start a run: ") and words in reason, reason
        assert sum(run.attempts.count() for run in runs) == 1
        assert not site.count()
        subprocess.run(["umount", "-l", str(work)], check=True)
        host.resume()
        ended = rows.until_final(runs)
        assert [(run.state, site.executions(run)) for run in ended] == [("succeeded", 1)] * 3, [r.reason for r in ended]
        assert not Host.objects.get(pk=host.pk).paused_at
    finally:
        if os.path.ismount(work):
            site.proxy.stop()
            rig.stop_daemon(site)
            subprocess.run(["umount", "-l", str(work)], check=True)
