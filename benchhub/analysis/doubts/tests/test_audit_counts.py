from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.doubts.audit import Evidence, audit

from .sound import SOUND, WITHOUT_LATENCY, codes, the_sentence


@pytest.mark.parametrize(("transactions", "expected"), [(61_100, []), (58_900, []), (61_300, ["rate"])])
def test_transactions_over_duration_are_held_to_two_per_cent(transactions: int, expected: list[str]) -> None:
    run = replace(SOUND, transactions=transactions, logged_transactions=transactions, xact_commit_growth=transactions)
    assert codes(run) == expected


def test_the_time_of_connecting_is_not_load() -> None:
    # 4 s asked for, 1 s of it connecting: 3,000 transactions in 3 s are 1,000 TPS.
    slow = Evidence(clients=10, tps=1_000.0, transactions=3_000, duration_s=4.0, initial_connection_time_ms=1_000.0)
    assert codes(slow) == []
    assert codes(replace(slow, initial_connection_time_ms=0.0)) == ["rate"]


def test_a_run_that_only_connected_is_doubted_and_divides_by_nothing() -> None:
    never = Evidence(clients=1, tps=1_000.0, transactions=100, duration_s=1.0, initial_connection_time_ms=1_000.0)
    assert codes(never) == ["rate"]
    assert "no rate" in the_sentence(never)


def test_an_unsampled_log_must_have_every_transaction() -> None:
    short = replace(SOUND, logged_transactions=59_999)
    assert codes(short) == ["logged-count"]
    assert the_sentence(short) == (
        "The log has 59,999 transactions, but pgbench counted 60,000. One of them is wrong: run it again."
    )


@pytest.mark.parametrize(("logged", "expected"), [(6_000, []), (6_360, []), (6_375, ["logged-count"])])
def test_a_sampled_log_may_stray_by_its_binomial_error(logged: int, expected: list[str]) -> None:
    # sqrt(60,000 x 0.1 x 0.9) = 73.48, five of them 367.
    sampled = replace(SOUND, log_sampling_rate=0.1, logged_transactions=logged)
    assert codes(sampled) == expected


def test_fewer_commits_than_transactions_cannot_be() -> None:
    missing = replace(SOUND, xact_commit_growth=59_999)
    assert codes(missing) == ["commits-missing"]
    assert "59,999 commits" in the_sentence(missing)


@pytest.mark.parametrize(("growth", "expected"), [(60_720, []), (60_721, ["commits-beside"])])
def test_commits_beside_the_load_have_an_allowance(growth: int, expected: list[str]) -> None:
    # 2 x 10 clients + 100 + 10 x 60 s = 720.
    assert codes(replace(SOUND, xact_commit_growth=growth)) == expected


def test_a_connection_per_transaction_commits_more() -> None:
    reconnecting = replace(SOUND, connect_each=True, xact_commit_growth=180_000)
    assert codes(reconnecting) == []
    assert codes(replace(reconnecting, connect_each=False)) == ["commits-beside"]


def test_a_script_of_unknown_commits_is_not_held_to_them() -> None:
    assert codes(replace(SOUND, commits_per_transaction=None, xact_commit_growth=180_000)) == []
    assert codes(replace(SOUND, commits_per_transaction=3, xact_commit_growth=180_000)) == []


def test_excluding_connecting_may_not_exceed_including_it_by_much() -> None:
    # Report A, 9.4.4, scale 100: 726,022 / 423,148 = 1.72.
    overstated = replace(SOUND, tps_including=423_148.0, tps_excluding=726_022.0)
    assert codes(overstated) == ["excluding-overstated"]
    assert "72% apart" in the_sentence(overstated)
    assert codes(replace(overstated, connect_each=True, **WITHOUT_LATENCY)) == []


def test_threads_are_compared_with_clients() -> None:
    assert codes(replace(SOUND, threads=4)) == ["threads-uneven"]
    assert codes(replace(SOUND, threads=20)) == ["threads-beyond-clients"]
    assert "20 threads for 10 clients" in the_sentence(replace(SOUND, threads=20))


def test_a_handful_of_transactions_is_doubted() -> None:
    few = Evidence(clients=10, tps=9.0, transactions=99)
    assert codes(few) == ["few-transactions"]
    assert codes(replace(few, transactions=100)) == []


@given(
    clients=st.integers(1, 500),
    latency_ms=st.floats(0.01, 1_000),
    duration_s=st.integers(1, 3_600),
)
def test_a_closed_loop_that_keeps_its_clients_busy_is_never_doubted(
    clients: int, latency_ms: float, duration_s: int
) -> None:
    tps = clients / latency_ms * 1000
    transactions = max(round(tps * duration_s), 10 * clients)
    run = Evidence(
        clients=clients,
        threads=clients,
        tps=transactions / duration_s,
        duration_s=duration_s,
        transactions=transactions,
        logged_transactions=transactions,
        logged_latency_average_ms=clients * duration_s * 1000 / transactions,
        xact_commit_growth=transactions + clients,
    )
    assert audit(run) == ()


def test_with_a_connection_for_each_transaction_connecting_takes_its_part_of_the_clients() -> None:
    # 10 clients, 1,000 TPS: 4 ms of statements and 6 ms of connecting are all of their time.
    each = replace(SOUND, connect_each=True, latency_average_ms=4.0, logged_latency_average_ms=4.0)
    each = replace(each, tps_including=None, tps_excluding=None, xact_commit_growth=None)
    assert codes(replace(each, connection_time_ms=6.0)) == []
    assert codes(replace(each, connection_time_ms=60.0)) == ["littles-law"]
    assert codes(replace(each, connection_time_ms=0.6)) == ["clients-idle"]
    # Up to 13 the rate without connecting says the same: 2,500 x 4 ms are 10 clients.
    older = replace(each, tps_including=1_000.0, tps_excluding=2_500.0)
    assert codes(older) == []
    assert codes(replace(older, logged_latency_average_ms=40.0, latency_average_ms=40.0)) == ["littles-law"]


def test_an_open_loop_has_no_more_busy_clients_than_there_are() -> None:
    # 1,000 TPS x (40 - 35) ms: 5 of 10 clients; without the lag they would be 40.
    loop = replace(SOUND, rate_limited=True, latency_average_ms=40.0, logged_latency_average_ms=40.0)
    assert codes(replace(loop, lag_average_ms=35.0)) == []
    assert codes(replace(loop, lag_average_ms=5.0)) == ["littles-law"]
    assert codes(replace(loop, lag_average_ms=45.0)) == ["latency-order"]
    # As many were skipped, among which versions up to 14 divide the lag: 35 ms are printed as 17.5.
    assert codes(replace(loop, lag_average_ms=17.5)) == ["littles-law"]
    assert codes(replace(loop, lag_average_ms=17.5, skipped_transactions=60_000)) == []


@pytest.mark.parametrize(
    ("latency_max_ms", "reason"),
    [
        (None, ["the last transaction took that long."]),
        (10_000.0, []),
        # One that fails, and what stops a load generator while its clients wait for their time, is in no latency.
        (2_000.0, ["the load may have stood still at its end."]),
    ],
)
def test_a_late_end_may_have_reasons_that_no_latency_shows(latency_max_ms: float | None, reason: list[str]) -> None:
    """60,000 transactions at 1,000 TPS took 60 s where 50 were asked for."""
    late = Evidence(clients=10, tps=1_000.0, transactions=60_000, duration_s=50.0, duration_is_planned=True)
    doubts = audit(replace(late, latency_max_ms=latency_max_ms))
    assert [(doubt.code, doubt.text.partition(": ")[2]) for doubt in doubts] == [("overrun", text) for text in reason]


@pytest.mark.parametrize(("stddev_ms", "expected"), [(9.0, []), (774.0, []), (900.0, ["latency-order"])])
def test_latencies_deviate_by_no_more_than_a_run_has_room_for(stddev_ms: float, expected: list[str]) -> None:
    # All but a few at nothing, the others at 60 s: the square root of 10 ms x 59,990 ms is 774.5 ms.
    assert codes(replace(SOUND, latency_stddev_ms=stddev_ms)) == expected


@pytest.mark.parametrize(("longest_ms", "expected"), [(60_100.0, []), (64_000.0, ["latency-order"])])
def test_no_transaction_takes_longer_than_its_run(longest_ms: float, expected: list[str]) -> None:
    assert codes(replace(SOUND, latency_max_ms=longest_ms, tps_including=1_000.0)) == expected


@pytest.mark.parametrize(
    ("failed", "skipped", "expected"), [(0, 0, ["count"]), (3, 0, []), (1, 2, []), (4, 0, ["count"])]
)
def test_all_planned_transactions_are_accounted_for(failed: int, skipped: int, expected: list[str]) -> None:
    run = replace(SOUND, planned_transactions=60_003, duration_s=None)
    assert codes(replace(run, failed_transactions=failed, skipped_transactions=skipped)) == expected


def test_planned_transactions_may_be_printed_by_32_bits() -> None:
    run = replace(SOUND, planned_transactions=60_000 - 2**32, duration_s=None)
    assert codes(run) == []
    assert codes(replace(run, planned_transactions=60_001 - 2**32)) == ["count"]


def test_at_a_rate_few_are_held_against_those_that_were_under_way():
    open_loop = Evidence(
        clients=500,
        threads=4,
        tps=100.0,
        duration_s=40,
        duration_is_planned=True,
        transactions=4_000,
        latency_average_ms=20.0,
        latency_stddev_ms=5.0,
        lag_average_ms=0.1,
        rate_limited=True,
    )
    assert codes(open_loop) == []
    slow = replace(open_loop, latency_average_ms=4_500.0)
    assert codes(slow) == ["few-transactions"]


def test_few_transactions_at_a_rate_are_doubted_with_by_how_much_their_number_differs():
    slow = Evidence(clients=8, tps=0.8, duration_s=50, transactions=40, latency_average_ms=5.0, rate_limited=True)
    assert the_sentence(slow) == (
        "40 transactions at a rate came at random: their number, and TPS with it, differs by 16% from run to run by "
        "chance alone. Run longer."
    )
    assert codes(replace(slow, tps=2.0, transactions=100)) == []
    assert codes(replace(slow, rate_limited=False, latency_average_ms=6_250.0, clients=5)) == ["few-transactions"]
    assert codes(replace(slow, rate_limited=False, latency_average_ms=5_000.0, clients=4)) == []


def test_many_busy_clients_are_written_with_thousands():
    run = Evidence(
        clients=4_000,
        tps=204.0,
        duration_s=40,
        transactions=8_160,
        latency_average_ms=5_004.0,
        lag_average_ms=0.1,
        rate_limited=True,
    )
    assert the_sentence(run).startswith(
        "8,160 transactions by 4,000 clients, of which about 1,020 were busy, are fewer"
    )
