"""After a clock was set, no run waits for it: ticks are counted, and no seconds. Real SSH."""

import time
from datetime import timedelta

import pytest
from django.db.models import DateTimeField, F

from benchhub.bench.conftest import PATIENCE_S
from benchhub.bench.models import Attempt, Hold, Run, Watch
from benchhub.bench.models.states import FINAL, State

pytestmark = [pytest.mark.long, pytest.mark.django_db, pytest.mark.target]
MOST_TICKS = 2


def set_warehouse_clock(hours):
    """Have all that the warehouse has stored of runs lie as far from its clock as if that had been set."""
    for model in (Run, Watch, Attempt, Hold):
        names = [field.name for field in model._meta.concrete_fields if isinstance(field, DateTimeField)]
        model.objects.update(**{name: F(name) - timedelta(hours=hours) for name in names})


def set_worker_clock(monkeypatch, hours):
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() + hours * 3600)


def ticks_until(worker, run, states):
    for number in range(1, MOST_TICKS + 2):
        worker.tick()
        run.refresh_from_db()
        if run.state in states:
            return number
    return number


@pytest.mark.parametrize("hours", [2, -2])
def test_no_run_waits_for_more_than_two_ticks_after_the_clocks_of_warehouse_and_worker_were_set(
    worker, system, experiment, cluster16, target, monkeypatch, hours
):
    server = system(cluster16)
    worker.finish(experiment(server))
    planned = experiment(server, duration_s=1, repeats=2, rest_s=600)
    worker.tick()
    first, second = planned.runs.order_by("position")
    code = target.work_directory / "runs" / str(first.uuid) / "1" / "rc"
    deadline_s = time.monotonic() + PATIENCE_S
    while not code.exists():
        assert time.monotonic() < deadline_s, "the load has not ended"
        time.sleep(0.1)  # a real load runs on the target: nothing tells when it has ended
    set_warehouse_clock(hours)
    set_worker_clock(monkeypatch, hours)
    assert ticks_until(worker, first, FINAL) <= MOST_TICKS
    assert first.state == State.SUCCEEDED, first.reason
    set_warehouse_clock(hours)  # while its host rests
    assert ticks_until(worker, second, [State.RUNNING, State.COLLECTING, *FINAL]) <= MOST_TICKS
