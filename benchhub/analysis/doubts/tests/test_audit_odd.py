"""Numbers of odd runs and of old versions of pgbench, which agree by rules of their own."""

from __future__ import annotations

from dataclasses import replace

from benchhub.analysis.doubts.audit import Evidence, audit


def codes(evidence: Evidence) -> list[str]:
    return [doubt.code for doubt in audit(evidence)]


def test_an_average_may_be_derived_from_the_planned_duration_where_both_rates_are_printed() -> None:
    """10 clients in 5 s make 1,480 transactions 33.784 ms on average, although the last ended after 5.03 s."""
    old = Evidence(
        clients=10, tps=294.5, transactions=1480, duration_s=5.0, duration_is_planned=True, average_is_of_clients=True,
        latency_average_ms=33.784, latency_is_derived=True, tps_including=294.197, tps_excluding=294.5,
    )  # fmt: skip
    assert "derived-average" not in codes(old)
    assert "derived-average" in codes(replace(old, latency_average_ms=35.0))
    assert "derived-average" in codes(replace(old, tps_including=None, tps=294.197))


def test_a_number_of_transactions_may_end_at_once_after_a_long_time_of_connecting() -> None:
    """94 transactions in 4 ms, which up to 13 are 13.5 TPS: connecting took 6.9 s, of which one report told."""
    old = Evidence(
        clients=8, tps=18.0, transactions=94, planned_transactions=160, skipped_transactions=66, progress=(0.0,) * 7,
        rate_limited=True, lag_max_ms=0.097, tps_including=13.5, tps_excluding=18.0,
    )  # fmt: skip
    assert "progress" not in codes(old)
    assert "progress" in codes(replace(old, tps_including=None, planned_transactions=None))


def test_the_quickest_transaction_bounds_no_run_at_a_rate_whose_clients_were_late() -> None:
    """15 transactions were due in the 4 s that a load generator stood still: all ended in the second after it."""
    late = Evidence(
        clients=3, tps=3.546, transactions=15, planned_transactions=15, progress=(0.2,), rate_limited=True,
        latency_min_ms=3682.0, latency_max_ms=4102.0, lag_max_ms=3981.0, initial_connection_time_ms=42.8,
    )  # fmt: skip
    assert "progress" not in codes(late)
    assert "progress" in codes(replace(late, rate_limited=False))


def test_a_rate_that_leaves_out_more_connecting_than_clients_had_time_for_is_overstated() -> None:
    # 100 clients of 1 thread: 6.4 s a client are 643 s of a thread, in a run of 60 s.
    overstated = Evidence(
        clients=100, threads=1, duration_s=60, duration_is_planned=True, tps=33_600.0, tps_including=30_000.0,
        tps_excluding=33_600.0, transactions=1_800_000, latency_average_ms=2.9, latency_stddev_ms=1.0,
    )  # fmt: skip
    assert codes(overstated) == ["excluding-overstated"]
    assert codes(replace(overstated, leaves_out_by_thread=False)) == ["excluding-overstated"]
    # Up to 9.5 they are all of the thread's, and 7.8 s are left.
    assert codes(replace(overstated, leaves_out_by_thread=True)) == []
