"""Workers and tickers that are killed, paused, doubled, or told the same thing again."""

from __future__ import annotations

import pytest

from benchhub.bench.models import Attempt, Hold, Watch
from benchhub.celery import app

from . import rows
from .rig import kill, pause, until, wake_up
from .rows import locked, start_whose_answer_is_held_back, waits_for

pytestmark = pytest.mark.target
MOVES = 5  # reserved, starting, running, collecting, succeeded


def test_a_worker_killed_while_a_load_runs_loses_nothing(rig, site, system, ends_once):
    runs = rows.queue(system, duration_s=4)
    first = rig.both()
    rows.until_state(runs[0], "running")
    kill(first)
    rig.worker()
    ends_once(runs)
    assert not Hold.objects.exists()


@pytest.mark.parametrize(
    ("table", "state"), [("bench_attempt", "reserved"), ("bench_hold", "queued"), ("bench_evidence", "collecting")]
)
def test_a_worker_killed_within_the_transaction_of_a_move_leaves_the_run_to_the_next(
    rig, site, system, ends_once, table, state
):
    runs = rows.queue(system, 2)
    with locked(table):
        first = rig.both()
        until(lambda: waits_for(table))
        assert rows.state(runs[0]) == state
        kill(first)
    rig.worker()
    ends_once(runs)


def test_a_worker_killed_between_commit_and_spawn_starts_nothing_twice(rig, site, system, ends_once):
    site.proxy.part()
    runs = rows.queue(system, 2)
    first = rig.both()
    rows.until_state(runs[0], "starting")
    assert Attempt.objects.filter(run=runs[0], ended_at=None).count() == 1
    kill(first)
    assert site.count() == {}
    site.proxy.drop()
    site.proxy.mend()
    rig.worker()
    ends_once(runs)


def test_a_worker_killed_after_the_spawn_before_the_answer_came_starts_nothing_twice(rig, site, system, ends_once):
    first = rig.both()
    run = start_whose_answer_is_held_back(rig, site, system)
    kill(first)
    site.proxy.drop()
    site.proxy.mend()
    rig.worker()
    [ended] = ends_once([run])
    assert ended.events.count() == MOVES


def test_a_worker_that_wakes_up_stale_writes_nothing(rig, site, system, ends_once):
    first = rig.both()
    run = start_whose_answer_is_held_back(rig, site, system)
    pause(first)
    fence = Watch.objects.get(run=run).fence
    site.proxy.mend()
    rig.worker("second")
    [ended] = ends_once([run])
    assert Watch.objects.get(run=run).fence > fence
    moves = ended.events.count()
    wake_up(first)
    until(lambda: "Its answer was dropped" in first.log.read_text())
    [ended] = ends_once([run])
    assert ended.events.count() == moves == MOVES


def test_two_workers_and_two_tickers_do_everything_once(rig, site, system, ends_once):
    for name in ("one", "two"):
        rig.ticker(f"ticker-{name}")
        rig.worker(f"worker-{name}")
    ended = ends_once(rows.queue(system, 6, duration_s=1))
    assert [run.events.count() for run in ended] == [MOVES] * 6


def test_a_task_delivered_eight_times_acts_once(rig, site, system, ends_once):
    rig.worker("one")
    rig.worker("two")
    runs = rows.queue(system, 3, duration_s=1)

    def deliver() -> bool:
        with app.connection_for_write(rig.broker.url) as to_broker:
            for words in [{}, {"run_ids": [run.pk for run in runs]}]:
                for _ in range(8):
                    app.send_task("bench.tick", kwargs=words, task_id="the-same", connection=to_broker)
        return all(rows.state(run) == "succeeded" for run in runs)

    until(deliver)
    assert [run.events.count() for run in ends_once(runs)] == [MOVES] * 3


def test_a_ticker_killed_stops_nothing_that_runs_and_its_successor_goes_on(rig, site, system, ends_once):
    ticker = rig.ticker()
    worker = rig.worker()
    runs = rows.queue(system, 3)
    rows.until_state(runs[0], "running")
    kill(ticker)
    rig.ticker()
    ends_once(runs)
    assert worker.exit_code is None


def test_the_web_killed_touches_no_run(rig, site, system, ends_once):
    from benchhub.embedded import ports

    port = ports.free_port()
    web = rig.web(port)
    until(lambda: not ports.is_free(port))
    worker = rig.both()
    runs = rows.queue(system, 2)
    rows.until_state(runs[0], "running")
    kill(web)
    ends_once(runs)
    assert worker.exit_code is None
