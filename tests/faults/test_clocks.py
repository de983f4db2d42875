"""Clocks that are wrong, and clocks that are set while BenchHub works."""

import time

import pytest
from django.db.models.functions import Now

from benchhub.bench.models import Watch

from . import rows
from .rig import FAKETIME

pytestmark = pytest.mark.skipif(
    not FAKETIME.exists(), reason="libfaketime is not installed: install the package libfaketime"
)
FAKED = {"LD_PRELOAD": str(FAKETIME), "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


@pytest.mark.parametrize("hours", [1, -1])
def test_a_target_whose_clock_is_an_hour_apart_is_measured_as_any_other(rig, server, hours):
    site = rig.site("late")
    rig.stop_daemon(site)
    wrong = (("LD_PRELOAD", str(FAKETIME)), ("FAKETIME", f"{hours:+d}h"), ("FAKETIME_DONT_FAKE_MONOTONIC", "1"))
    site.machine = type(site.machine)(**{**vars_of(site.machine), "variables": wrong})
    rig.start_daemon(site)
    rig.both()
    runs = rows.queue(rows.enrol(site, server), 2)
    ended = rows.until_final(runs)
    assert [(run.state, site.executions(run)) for run in ended] == [("succeeded", 1)] * 2, [r.reason for r in ended]
    started = int((site.folder(runs[0]) / "started_epoch").read_text())
    assert abs(started - time.time() - hours * 3600) < 300


@pytest.mark.parametrize("hours", [1, -1])
def test_a_worker_whose_clock_is_an_hour_apart_works_beside_one_that_is_right(rig, site, system, ends_once, hours):
    wrong = {"LD_PRELOAD": str(FAKETIME), "FAKETIME": f"{hours:+d}h", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    rig.ticker()
    rig.worker("wrong", **wrong)
    runs = rows.queue(system, 2)
    ends_once(runs)
    rig.worker("right")
    more = rows.queue(system, 3, duration_s=1)
    ends_once([*runs, *more])
    assert not Watch.objects.filter(lease_until__gt=Now()).exists()


@pytest.mark.parametrize("hours", [2, -2])
def test_clocks_of_ticker_and_worker_set_by_two_hours_in_flight_delay_nothing(
    rig, site, system, ends_once, tmp_path, hours
):
    offset = tmp_path / "offset"
    offset.write_text("+0h\n")
    settable = {**FAKED, "FAKETIME_TIMESTAMP_FILE": str(offset), "FAKETIME_NO_CACHE": "1"}
    rig.ticker(**settable)
    rig.worker(**settable)
    (run,) = rows.queue(system)
    rows.until_state(run, "running")
    offset.write_text(f"{hours:+d}h\n")
    ends_once([run])
    later = rows.queue(system, 2, duration_s=1)
    ends_once([run, *later])
    assert all(abs(row.ended_at.timestamp() - time.time()) < 3600 for row in type(run).objects.all())


def vars_of(machine) -> dict[str, object]:
    return {name: getattr(machine, name) for name in machine.__dataclass_fields__}
