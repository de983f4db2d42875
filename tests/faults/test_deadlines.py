"""Loads that do not end by themselves: their host ends them at their deadline, or whoever looks on."""

from __future__ import annotations

import os
import signal

import pytest

from benchhub.analysis.planning import deadlines
from runners.tests.processes import heart, is_written
from tests.faults import rows
from tests.faults.cancels import loads_on
from tests.faults.rig import kill, until

pytestmark = pytest.mark.target
DEADLINE_S = 15


@pytest.fixture
def hanging(site, settings, monkeypatch):
    """The first load of the host hangs and takes no notice of a polite signal; deadlines are short."""
    settings.LEAST_DEADLINE_SECONDS = DEADLINE_S
    monkeypatch.setattr(deadlines, "FACTOR", 1)
    is_first = f"[ $(wc -l < {site.bin_directory}/executions) -eq 1 ]"
    site.behave(f"if {is_first}; then trap '' TERM; while :; do sleep 0.2; done; fi")


def check_both(site, hangs, after):
    """The one that hangs has failed by its deadline, the one after it went well, each after one execution."""
    first, second = rows.until_final([hangs, after])
    assert (first.state, second.state) == ("failed", "succeeded"), (first.reason, second.reason)
    assert f"deadline of {DEADLINE_S} s" in first.reason and "step measure" in first.reason
    assert first.attempts.get().evidence.filter(name="overdue").exists()
    assert not hasattr(first, "result")
    assert [site.executions(run) for run in (hangs, after)] == [1, 1]


def test_a_load_that_hangs_fails_at_its_deadline_and_the_queue_goes_on(rig, site, hanging, system):
    rig.both()
    check_both(site, *rows.queue(system, 2, duration_s=1))


def test_a_load_that_hangs_is_ended_while_no_worker_lives_and_nobody_reaches_the_host(rig, site, hanging, system):
    worker = rig.both()
    hangs, after = rows.queue(system, 2, duration_s=1)
    until(lambda: site.executions(hangs) == 1)
    rows.until_state(hangs, "running")
    kill(worker)
    site.proxy.stop()
    until(lambda: (site.folder(hangs) / "rc").exists())
    site.proxy.start()
    rig.worker("later")
    check_both(site, hangs, after)


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP])
def test_a_load_that_hangs_and_whose_guard_is_killed_or_stopped_is_ended_by_who_looks(
    rig, site, hanging, system, fault
):
    rig.both()
    hangs, after = rows.queue(system, 2, duration_s=1)
    rows.until_state(hangs, "running")
    until(lambda: site.executions(hangs) == 1 and is_written(site.folder(hangs) / "hb"))
    os.kill(heart(site.folder(hangs)), fault)
    check_both(site, hangs, after)
    first = type(hangs).objects.get(pk=hangs.pk)
    assert "was killed or stopped" in first.reason
    assert first.attempts.get().evidence.filter(name="unguarded").exists()
    assert not loads_on(site)


def test_a_load_that_keeps_its_deadline_is_left_alone_where_its_guard_was_killed(rig, site, system, ends_once):
    rig.both()
    runs = rows.queue(system, 2, duration_s=8)
    until(lambda: site.executions(runs[0]) == 1)
    os.kill(heart(site.folder(runs[0])), signal.SIGKILL)
    first, second = ends_once(runs)
    assert ["was killed or stopped" in " ".join(run.result.remarks) for run in (first, second)] == [True, False]
