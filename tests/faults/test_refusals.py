"""Hosts that refuse to start a run for reasons of their own: they are set apart, and their queue waits.

An account that refuses everything tells nothing of a run under way: that waits for it.
"""

from __future__ import annotations

import os
import subprocess

import pytest

from benchhub.bench.execute.steps.end import MOST_COLLECTIONS
from benchhub.catalog.models import Host
from tests.faults import rows
from tests.faults.rig import until

pytestmark = pytest.mark.target
# From the first collection on nothing is carried out, until the account is well again; each collection is counted.
REFUSING_SHELL = """\
#!/bin/sh
case "$SSH_ORIGINAL_COMMAND" in *"%s manifest.json"*) echo asked >> {folder}/collections ;; esac
[ ! -e {folder}/collections ] || [ -e {folder}/healed ] || exit 1
exec sh -c "$SSH_ORIGINAL_COMMAND"
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
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


@pytest.mark.parametrize("program", ["pgbench", "psql"])
def test_a_host_whose_tool_is_gone_is_set_apart_while_others_go_on_and_no_run_is_burned(
    rig, site, system, server, program
):
    other = rig.site("beta")
    beside = rows.enrol(other, server)
    host, tool = Host.objects.get(pk=system.driver_id), site.bin_directory / program
    tool.rename(tool.with_suffix(".gone"))
    waiting, others = rows.queue(system, 3, duration_s=1), rows.queue(beside, 2, duration_s=1)
    rig.both()
    assert [(run.state, other.executions(run)) for run in rows.until_final(others)] == [("succeeded", 1)] * 2
    until(lambda: Host.objects.filter(pk=host.pk, paused_at__isnull=False).exists())
    until(lambda: {rows.state(run) for run in waiting} == {"queued"})
    reason = Host.objects.get(pk=host.pk).pause_reason
    assert f"The program {tool} does not run there" in reason and reason.endswith("then resume the host."), reason
    assert not Host.objects.get(pk=beside.driver_id).paused_at
    assert sum(run.attempts.count() for run in waiting) == 1
    assert not site.count()
    tool.with_suffix(".gone").rename(tool)
    host.resume()
    ended = rows.until_final(waiting)
    assert [(run.state, site.executions(run)) for run in ended] == [("succeeded", 1)] * 3, [r.reason for r in ended]


def test_a_run_under_which_a_tool_goes_waits_with_its_host_and_is_executed_when_it_is_back(rig, site, system):
    tool, hold = site.bin_directory / "pgbench", site.bin_directory / "hold"
    site.machine.account.write(hold, "")
    held = f'case "$1" in --version) ;; *) while [ -e {hold} ]; do sleep 0.1; done ;; esac'
    real = rig.server.bin_directory / "psql"
    site.machine.account.write(site.bin_directory / "psql", f'#!/bin/sh\n{held}\nexec {real} "$@"\n').chmod(0o700)
    rig.both()
    [run] = rows.queue(system, duration_s=1)
    rows.until_state(run, "running")
    tool.rename(tool.with_suffix(".gone"))
    hold.unlink()
    rows.until_state(run, "queued")
    host = Host.objects.get(pk=system.driver_id)
    assert host.pause_reason.startswith("A program that a run needs is gone, or cannot run: "), host.pause_reason
    assert not site.count()
    tool.with_suffix(".gone").rename(tool)
    host.resume()
    [ended] = rows.until_final([run])
    assert (ended.state, ended.attempts.count(), site.executions(run)) == ("succeeded", 2, 1), ended.reason


def test_an_account_that_refuses_everything_between_look_and_collection_loses_nothing(rig, site, system, ends_once):
    """Eight tries, a quarter of a lease between them, are two leases; five refusals of a collection end a run."""
    folder = site.bin_directory
    shell, collections = folder / "shell", folder / "collections"
    rig.account.write(shell, REFUSING_SHELL.format(folder=folder)).chmod(0o700)
    rig.stop_daemon(site)
    rig.start_daemon(site, f"ForceCommand {shell}\n")
    rig.both()
    runs = rows.queue(system, 2, duration_s=1)
    tries = max(9, MOST_COLLECTIONS + 1)
    until(lambda: collections.exists() and len(collections.read_text().split()) >= tries)
    assert [rows.state(run) for run in runs] == ["collecting", "queued"]
    rig.account.write(folder / "healed", "")
    ends_once(runs)
