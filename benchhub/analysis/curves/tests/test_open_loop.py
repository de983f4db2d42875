import pytest

from benchhub.analysis.curves.latencies import Histogram
from benchhub.analysis.curves.open_loop import Offered, capacity, rates


def run(offered, *, number=1, achieved=None, late=0, skipped=0, sent=None, **fields):
    """100 s at a rate, all of it done in time unless a test says otherwise."""
    transactions = offered * 100 if sent is None else sent
    achieved = transactions / 100 if achieved is None else achieved
    return Offered(number, offered, achieved, 100.0, transactions, late, skipped, **fields)


def capacity_of(*runs):
    return capacity(rates(runs))


def test_late_and_skipped_transactions_are_a_share_of_all_that_were_offered():
    # 990 sent, 4 of them late, and 10 skipped: 14 of 1,000.
    assert run(10, sent=990, late=4, skipped=10).late_share == pytest.approx(0.014)


def test_the_capacity_lies_between_the_last_rate_held_and_the_first_that_was_not():
    capacity = capacity_of(run(1000), run(2000), run(3000, number=7, sent=297_000, skipped=3001))
    assert (capacity.holds.offered_tps, capacity.fails.offered_tps) == (2000, 3000)
    assert capacity.sentence(5) == (
        "With 99% of the transactions within 5 ms of when they were due, the capacity lies between 2,000 TPS, held in "
        "one run, and 3,000 TPS. It was not held: in run 7, 1% were late or skipped."
    )


def test_exactly_one_in_a_hundred_late_is_still_held_and_one_more_is_not():
    assert capacity_of(run(1000, late=1000)).fails is None
    assert capacity_of(run(1000, late=1001)).holds is None


def test_one_repeat_that_fails_is_a_rate_not_held():
    capacity = capacity_of(run(1000), run(1000), run(2000, number=3), run(2000, number=4, late=50_000))
    assert (capacity.holds.offered_tps, capacity.fails.offered_tps) == (1000, 2000)
    assert "held in each of 2 runs" in capacity.sentence(5)
    assert "It was not held in 1 of 2 runs: in run 4, 25% were late or skipped." in capacity.sentence(5)


def test_a_server_that_falls_behind_without_being_late_yet_does_not_hold_the_rate():
    # 10,000 less 1% less three deviations of sqrt(10,000 / 100) = 10: 9,870 is the least that holds.
    assert capacity_of(run(10_000, achieved=9_870)).fails is None
    capacity = capacity_of(run(10_000, achieved=9_869))
    assert capacity.holds is None
    assert "only 9,869 TPS were done" in capacity.sentence(1)


def test_at_the_edges_of_the_sweep_it_is_said_that_they_are_edges():
    assert "every rate was held: the capacity is at least 2,000 TPS, the highest" in capacity_of(
        run(1000), run(2000)
    ).sentence(5)
    assert "not even the lowest rate was held: the capacity is below 1,000" in capacity_of(
        run(1000, late=99_000)
    ).sentence(5)


def test_a_rate_held_above_one_that_was_not_is_named_and_not_counted():
    capacity = capacity_of(run(1000), run(2000, late=99_000), run(3000))
    assert capacity.holds.offered_tps == 1000
    assert "Higher rates that were held all the same (3,000 TPS) are not counted" in capacity.sentence(5)


def test_averages_and_lag_are_the_worst_of_the_repeats_and_unknown_where_one_is():
    better = {"latency_average_ms": 1.0, "lag_average_ms": 0.5}
    worse = {"latency_average_ms": 2.0, "lag_average_ms": 0.1}
    [rate] = rates([run(1000, **better), run(1000, **worse)])
    assert (rate.latency_average_ms, rate.worst_lag_ms) == (2.0, 0.5)
    [rate] = rates([run(1000, **better), run(1000)])
    assert (rate.latencies, rate.latency_average_ms, rate.worst_lag_ms) == (None, None, None)


def test_older_runs_that_a_rate_leaves_out_are_counted_once_for_each_protocol():
    [rate] = rates(
        [run(1000, protocol_digest=digest, left_out=older) for digest, older in [("a", 7), ("a", 7), ("b", 2)]]
    )
    assert rate.left_out == 9  # 7 and 2


def test_the_percentile_of_a_rate_is_that_of_all_its_transactions():
    """980 + 970 of 2,000 take 1 ms, the other 50 take 9 ms: 97.5% do not exceed 1 ms, 99% not 9 ms."""
    histograms = [Histogram([1000, 9000], [1001, 9001], [n, 1000 - n], 1000, 9000) for n in (980, 970)]
    [rate] = rates([run(1000, histogram=histogram) for histogram in histograms])
    assert (rate.latencies.p95_ms, rate.latencies.p99_ms, rate.latencies.samples) == (1.0, 9.0, 2000)


def test_without_a_rate_there_is_no_capacity():
    with pytest.raises(ValueError, match="no rate"):
        capacity([])
