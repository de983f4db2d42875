from datetime import UTC, datetime, timedelta
from io import StringIO

from benchhub.bench.models import Result, Run, System
from benchhub.bench.queue.progress import Progress, counted

START = datetime(2026, 11, 22, 12, tzinfo=UTC)


def test_what_measures_nothing_is_counted_apart():
    assert counted({"measure": 16, "load": 2}) == "16 runs and 2 initialisations"
    assert counted({"load": 1, "warmup": 1, "measure": 1}) == "1 run, 1 warm-up and 1 initialisation"
    assert counted({"load": 2}) == "2 initialisations"
    assert counted({}) == "0 runs"


def test_what_is_done_stands_before_each_count():
    assert counted({"measure": 16, "load": 2}, {"load": 2}) == "0 of 16 runs and 2 of 2 initialisations"


def measured_run(clients, ended_at):
    """Return a run with its result as it would come from the warehouse; its key is the number of clients."""
    system = System(label="PostgreSQL 18")
    run = Run(
        pk=clients, kind="measure", system=system, clients=clients, repeat=1, state="succeeded", ended_at=ended_at
    )
    Result(run=run, throughput=100.0 * clients, unit="TPS")
    return run


def progress_lines(since, *looks):
    """Return the lines that are written about the runs, as each look finds them."""
    progress = Progress(out := StringIO(), since)
    for runs in looks:
        progress.show(runs)
    assert progress.end(looks[-1]) == all(run.state == "succeeded" for run in looks[-1])
    return out.getvalue().splitlines()


def test_runs_of_an_earlier_start_are_shown_apart_from_those_of_this_one():
    before, now = measured_run(2, START - timedelta(hours=1)), measured_run(4, START + timedelta(seconds=9))
    waiting = Run(pk=4, kind="measure", state="queued")
    assert progress_lines(START, [before, waiting], [before, now]) == [
        "  There before, of an earlier start: 1 run",
        "    1/2  PostgreSQL 18, 2 clients, repeat 1: 200 TPS",
        "  Of this start: 1 run",
        "    2/2  PostgreSQL 18, 4 clients, repeat 1: 400 TPS",
        "  1 run in 0:00, beside 1 run from before: all succeeded",
    ]


def test_a_start_that_has_nothing_left_to_run_says_so():
    lines = progress_lines(START, [measured_run(2, START - timedelta(days=1))])
    assert lines[0] == "  There before, of an earlier start: 1 run"
    assert lines[2:] == ["  Nothing was left to run at this start: all succeeded"]


def test_a_start_says_what_failed_before_it_and_why():
    failed = measured_run(8, START - timedelta(minutes=2))
    failed.state, failed.reason = "failed", "pgbench: out of memory"
    own = measured_run(16, START + timedelta(seconds=9))
    assert progress_lines(START, [failed], [failed, own]) == [
        "  There before, of an earlier start: 1 run",
        "    1/1  PostgreSQL 18, 8 clients, repeat 1: failed. pgbench: out of memory",
        "    2/2  PostgreSQL 18, 16 clients, repeat 1: 1,600 TPS",
        "  1 run in 0:00, beside 1 run from before: 1 did not succeed",
    ]


def test_a_first_start_speaks_of_no_other():
    assert progress_lines(START, [measured_run(2, START + timedelta(seconds=9))]) == [
        "    1/1  PostgreSQL 18, 2 clients, repeat 1: 200 TPS",
        "  1 run in 0:00: all succeeded",
    ]
