"""The lines of progress that tools print while they run, as pgbench and TATP word them."""

from benchhub.bench.results.live_log import rates


def test_the_rates_of_pgbench_and_of_tatp_are_read_and_nothing_else_is():
    lines = [
        b"progress: 1.0 s, 512.5 tps, lat 1.951 ms stddev 0.512, 0 failed",
        b"progress: 3 s, about 1401 tps",
        b"progress: 2 of 8 parts of the population are loaded",
        b"progress: the primary keys are made",
    ]
    assert rates(b"\n".join(lines)) == [512.5, 1401.0]
