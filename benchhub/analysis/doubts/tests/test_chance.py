"""What chance makes of few transactions is no doubt, and what it does not make is one."""

import random

import pytest

from benchhub.analysis.doubts.chance import Chance, ClosedLoop
from benchhub.analysis.doubts.steadiness import of_series, sentences

STALLED_AT_S = (10, 25, 40)


def of_clients(clients, latencies_s, stalls_at_s=(), stall_s=2.0, seconds=60):
    """Return the transactions of each second, and what their summary says of clients that only wait for the server."""
    ends, latencies = [], []
    for _ in range(clients):
        at_s = 0.0
        while at_s < seconds:
            begun_s, at_s = at_s, at_s + next(latencies_s)
            at_s += stall_s * sum(begun_s < stall <= at_s for stall in stalls_at_s)
            ends.append(at_s)
            latencies.append(at_s - begun_s)
    counts = [float(sum(second <= end < second + 1 for end in ends)) for second in range(seconds)]
    average_s = sum(latencies) / len(latencies)
    variance = sum((latency_s - average_s) ** 2 for latency_s in latencies) / len(latencies)
    return counts, ClosedLoop(len(ends) / seconds, average_s, variance**0.5 / average_s)


def regular(average_s, seed=20261128):
    source = random.Random(seed)
    while True:
        yield average_s * source.uniform(0.9, 1.1)


@pytest.mark.parametrize(("clients", "latency_s"), [(1, 0.25), (2, 0.5), (4, 1.0)])
def test_a_slow_closed_loop_that_stands_still_three_times_is_told(clients, latency_s):
    counts, loop = of_clients(clients, regular(latency_s), STALLED_AT_S)
    assert of_series(counts, chance=Chance(loop=loop)).stalls_s == pytest.approx((2, 2, 2), abs=1)
    assert of_series(counts).stalls_s == ()
    counts, loop = of_clients(clients, regular(latency_s))
    assert sentences(of_series(counts, chance=Chance(loop=loop))) == []


def test_clients_out_of_step_do_not_all_wait_so_long_three_times_by_chance():
    source = random.Random(20261128)
    counts, loop = of_clients(6, iter(lambda: source.expovariate(1.0), None), STALLED_AT_S)
    assert sum(of_series(counts, chance=Chance(loop=loop)).stalls_s) >= 6
    assert of_series(counts).stalls_s == ()
    counts, loop = of_clients(6, iter(lambda: source.expovariate(1.0), None))
    assert of_series(counts, chance=Chance(loop=loop)).stalls_s == ()


def test_a_quick_load_that_stands_still_for_hours_is_told():
    quick = Chance(loop=ClosedLoop(100_000.0, 1e-5, 1.5))
    assert quick.stalls([7_000.0, 1.0], 1e5, 14_000.0) == [True, True]


def test_single_slow_transactions_that_take_little_of_the_run_are_no_stalls():
    counts, loop = of_clients(1, regular(0.45), (30,), stall_s=1.5)
    assert 0.0 in counts
    assert of_series(counts, chance=Chance(loop=loop)).stalls_s == ()


def test_clients_that_keep_in_step_leave_whole_seconds_without_an_end():
    counts, loop = of_clients(12, iter(lambda: 1.3, None))
    assert counts.count(0.0) > 10 and of_series(counts).varies
    assert sentences(of_series(counts, chance=Chance(loop=loop))) == []


def test_nothing_ends_in_the_first_seconds_of_slow_clients():
    counts, loop = of_clients(40, regular(2.4))
    assert counts[:2] == [0.0, 0.0]
    assert of_series(counts, chance=Chance(loop=loop, first_s=loop.latency_s)).stalls_s == ()
    assert max(of_series(counts).stalls_s) == 2


def test_a_closed_loop_whose_latency_triples_now_and_then_varies_by_more_than_chance():
    source = regular(1.0)

    def latencies_s():
        at_s = 0.0
        while True:
            latency_s = next(source) * (0.5 if at_s // 10 % 2 else 1 / 6)
            at_s += latency_s
            yield latency_s

    counts, loop = of_clients(1, latencies_s())
    assert of_series(counts, chance=Chance(loop=loop)).varies
    assert not of_series(counts).varies


def test_latencies_of_which_some_are_very_long_make_a_slow_client_vary_by_chance():
    source = random.Random(20261128)
    counts, loop = of_clients(1, iter(lambda: 0.6 if source.random() < 0.05 else 0.02, None))
    assert loop.variation > 1 and of_series(counts).varies
    assert not of_series(counts, chance=Chance(loop=loop)).varies


def test_rates_of_long_intervals_vary_less_by_chance():
    every_10_s = [tps for report in range(6) for tps in [19.0 if report % 2 else 31.0] * 10]
    assert of_series(every_10_s, chance=Chance(interval_s=10)).varies
    assert not of_series(every_10_s).varies


@pytest.mark.parametrize(("tps", "interval_s"), [(1, 10), (0.5, 5), (4, 2)])
def test_few_transactions_in_long_intervals_vary_by_chance_and_that_is_no_doubt(tps, interval_s):
    source, varied = random.Random(20261128), 0
    for _ in range(200):
        due, counts = 0.0, [0] * (120 // interval_s)
        while (due := due + source.expovariate(tps)) < 120:
            counts[int(due / interval_s)] += 1
        rates = [count / interval_s for count in counts for _ in range(interval_s)]
        varied += of_series(rates, chance=Chance(interval_s=interval_s)).varies
    assert varied <= 200 * 0.02
