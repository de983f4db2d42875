from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchhub.analysis.doubts.audit import Evidence, audit

from .sound import SOUND, codes, the_sentence


def test_numbers_that_agree_raise_no_doubt() -> None:
    assert audit(SOUND) == ()


@pytest.mark.parametrize(
    ("latency_min_ms", "lag_max_ms", "expected"),
    [
        (None, None, []),  # whatever the load did before, nothing tells how quick the last second may be
        (0.5, None, []),  # 8 clients x (1 + 1,000 / 0.5) = 16,008 in the second after the last report
        (8.0, None, ["progress"]),  # 8 x (1 + 1,000 / 8) = 1,008
        (None, 50.0, ["progress"]),  # 3 x 1,000 TPS x 1.05 s = 3,150 were due or had waited
        (None, 4_000.0, []),  # 3 x 1,000 x 5 s
    ],
)
def test_the_quickest_transaction_or_the_schedule_bounds_what_came_after_the_last_report(
    latency_min_ms: float | None, lag_max_ms: float | None, expected: list[str]
) -> None:
    """12,000 transactions in 12 s, of which 11 reports have 100 each: 10,900 are missing."""
    stalled = Evidence(
        clients=8,
        tps=1_000.0,
        duration_s=12.0,
        transactions=12_000,
        progress=(100.0,) * 11,
        latency_min_ms=latency_min_ms,
        lag_max_ms=lag_max_ms,
        rate_limited=lag_max_ms is not None,
    )
    assert codes(stalled) == expected


def test_clients_that_think_are_as_busy_as_their_cycles_are_long() -> None:
    """100 clients at 1,000 TPS have cycles of 100 ms: 10 of response and 90 of thought."""
    thinking = replace(SOUND, clients=100, threads=5, pause_average_ms=90.0, longest_pause_ms=900.0)
    assert codes(thinking) == []
    assert codes(replace(thinking, pause_average_ms=0.0)) == ["clients-idle"]
    assert codes(replace(thinking, pause_average_ms=120.0)) == ["littles-law"]


def test_a_run_that_waits_for_clients_that_think_has_a_tps_too_low() -> None:
    late = Evidence(clients=10, tps=1_000.0, transactions=63_000, duration_s=60.0, duration_is_planned=True)
    assert "thinking-end" not in codes(late)
    text = the_sentence(replace(late, longest_pause_ms=5_000.0, latency_max_ms=10.0))
    assert text == (
        "After 60 s the run waited 3 s for clients that still thought: its TPS is up to 4.8% too low. Run longer."
    )
    # Only 2 of those 3 s can be of a pause.
    shorter = audit(replace(late, longest_pause_ms=2_000.0))
    assert [doubt.text.split(":")[0] for doubt in shorter if doubt.code == "thinking-end"] == [
        "After 60 s the run waited 2 s for clients that still thought"
    ]
    assert "thinking-end" not in codes(replace(late, longest_pause_ms=500.0))


def test_the_tps_of_clients_that_do_little_but_think_is_no_measure_of_the_server() -> None:
    """100 clients that think 98 ms make 1,020 TPS at most; at 90 ms 1,111, of which 1,000 leave 10 ms of response."""
    bounded = Evidence(clients=100, tps=1_000.0, pause_average_ms=98.0, longest_pause_ms=980.0)
    text = the_sentence(bounded)
    assert text.startswith("The TPS of 1,000 is bounded by thinking: 100 clients that think 98 ms make at most 1,020.")
    assert codes(replace(bounded, pause_average_ms=90.0)) == []
    assert codes(replace(bounded, pause_average_ms=0.0)) == []


def test_progress_that_covers_the_run_comes_to_its_transactions() -> None:
    covered = replace(SOUND, progress=(1_000.0,) * 59, latency_min_ms=2.0)
    assert codes(covered) == []
    assert codes(replace(covered, progress=(500.0,) * 59)) == ["progress"]


def test_what_is_not_known_is_not_doubted() -> None:
    assert audit(Evidence(clients=3, tps=100.0)) == ()


# Published report A, 9.4.4: clients / threads, TPS, latency as printed; Little's law by hand.
@pytest.mark.parametrize(
    ("clients", "threads", "tps", "latency_ms", "implied", "code"),
    [
        (26, 26, 423_148, 0.123, "52.05 clients", "littles-law"),  # 423,148 x 0.000123 = 52.05
        (28, 28, 406_589, 0.138, "56.11 clients", "littles-law"),
        (30, 30, 379_414, 0.158, "59.95 clients", "littles-law"),
        (28, 28, 365_974, 0.153, "55.99 clients", "littles-law"),
        (260, 130, 709_271, 0.819, "580.9 clients", "littles-law"),
    ],
)
def test_report_a_9_4_4_prints_half_the_clients_that_its_numbers_imply(
    clients: int, threads: int, tps: float, latency_ms: float, implied: str, code: str
) -> None:
    published = Evidence(clients=clients, threads=threads, tps=tps, latency_average_ms=latency_ms)
    assert codes(published) == [code]
    assert implied in the_sentence(published)
    assert f"more than the {clients} there were" in the_sentence(published)


@pytest.mark.parametrize(
    ("clients", "threads", "tps", "latency_ms"),
    [
        (48, 24, 379_866, 0.126),  # 47.86
        (52, 26, 377_233, 0.138),  # 52.06
        (86, 86, 596_590, 0.144),  # 85.91
        (104, 104, 492_072, 0.211),  # 103.83
        (144, 72, 460_610, 0.316),  # 145.55
    ],
)
def test_report_a_agrees_with_itself_elsewhere(clients: int, threads: int, tps: float, latency_ms: float) -> None:
    assert codes(Evidence(clients=clients, threads=threads, tps=tps, latency_average_ms=latency_ms)) == []


def test_report_a_9_5_counts_less_without_connecting_than_with_it() -> None:
    published = Evidence(clients=80, threads=40, tps=535_254, tps_including=535_254, tps_excluding=529_554)
    assert codes(published) == ["excluding-below-including"]
    assert "535,254 including connecting and 529,554 excluding" in the_sentence(published)


def test_a_derived_latency_is_no_evidence() -> None:
    derived = replace(SOUND, latency_average_ms=20.0, latency_is_derived=True, logged_latency_average_ms=None)
    assert codes(derived) == []


def test_the_logged_average_speaks_where_the_printed_one_is_derived() -> None:
    derived = replace(SOUND, latency_is_derived=True, logged_latency_average_ms=12.0)
    assert codes(derived) == ["littles-law"]


@pytest.mark.parametrize(("logged", "expected"), [(3, []), (8, ["logged-count"]), (25, ["logged-count"])])
def test_of_few_transactions_chance_may_draw_many(logged: int, expected: list[str]) -> None:
    """Of 24 at 1 in 100, 3 come up in 0.2% of runs, 8 in 5 of a trillion; 0.24 +/- 5 x 0.49 would allow 2."""
    few = Evidence(clients=2, tps=10.0, transactions=24, log_sampling_rate=0.01, logged_transactions=logged)
    assert codes(few) == expected


def test_the_average_of_a_sampled_log_accuses_nobody() -> None:
    # Seen: of 1,381 sampled transactions one took 72.9 ms, which alone lifts the average from 0.112 to 0.164 ms.
    sampled = Evidence(
        clients=6, tps=52_170.0, latency_average_ms=0.115, logged_latency_average_ms=0.1642, log_sampling_rate=1 / 180
    )
    assert codes(sampled) == []
    assert codes(replace(sampled, log_sampling_rate=1.0)) == ["littles-law", "histogram"]


def test_clients_that_wait_for_their_thread_show_as_idle() -> None:
    # 1,000 x 7 ms = 7 of 10 clients.
    idle = replace(SOUND, latency_average_ms=7.0, logged_latency_average_ms=None)
    assert codes(idle) == ["clients-idle"]
    assert "= 7 clients of 10" in the_sentence(idle)


@pytest.mark.parametrize(("latency_ms", "expected"), [(10.49, []), (10.51, ["littles-law"])])
def test_littles_law_is_held_to_five_per_cent_where_numbers_were_typed(latency_ms: float, expected: list[str]) -> None:
    typed = Evidence(clients=10, tps=1_000.0, latency_average_ms=latency_ms)
    assert codes(typed) == expected


@pytest.mark.parametrize(("latency_ms", "expected"), [(10.09, []), (10.12, ["littles-law"])])
def test_no_more_clients_are_busy_than_there_were(latency_ms: float, expected: list[str]) -> None:
    logged = replace(SOUND, latency_average_ms=latency_ms, logged_latency_average_ms=latency_ms)
    assert codes(logged) == expected


@pytest.mark.parametrize(("printed_ms", "expected"), [(10.001, []), (10.002, ["histogram"])])
def test_the_average_of_a_whole_log_is_the_printed_one_to_a_us(printed_ms: float, expected: list[str]) -> None:
    logged = replace(SOUND, latency_average_ms=printed_ms, logged_latency_average_ms=10.0)
    assert codes(logged) == expected
    assert codes(replace(logged, latency_is_derived=True)) == []
    assert "histogram" not in codes(replace(logged, log_sampling_rate=0.5))


def test_latencies_of_a_few_us_have_the_room_of_their_rounding() -> None:
    # 700,000 x 0.0014 ms = 0.98 clients in each second, but the reports print 0.001 or 0.002 ms.
    quick = Evidence(
        clients=1, tps=700_000.0, transactions=2_100_000, duration_s=3.0, duration_is_planned=True,
        latency_average_ms=0.001, progress_busy_s=[700_000 * 0.0015 / 1000] * 3,
    )  # fmt: skip
    assert codes(quick) == []
    assert codes(replace(quick, progress_busy_s=[1.6] * 3)) == ["progress", "progress"]


def test_an_average_that_is_printed_as_nothing_has_a_deviation() -> None:
    # Seen of a script without a statement: 7,651,152 transactions of up to 0.0005 ms, a few of some ms.
    none = Evidence(
        clients=1, tps=7_612_427.58, transactions=7_651_152, duration_s=1.0, duration_is_planned=True,
        latency_average_ms=0.0, latency_stddev_ms=0.007,
    )  # fmt: skip
    assert "latency-order" not in codes(none)
    assert "latency-order" in codes(replace(none, latency_stddev_ms=0.9))


def test_rates_of_less_than_a_transaction_a_second_have_the_room_of_their_rounding() -> None:
    # 0.14 TPS are printed as 0.1: of 10,000 s that is 400 transactions less.
    slow = Evidence(clients=1, tps=0.14, transactions=1_400, duration_s=10_000.0, progress=[0.1] * 10_000)
    assert codes(slow) == []
    assert codes(replace(slow, progress=[0.3] * 10_000)) == ["progress"]


def test_a_transaction_that_was_to_be_tried_again_at_the_end_may_be_waited_for() -> None:
    # 66 transactions of 19.6 +/- 27.3 ms; the last one, in no count, waited until 18.3 s.
    late = Evidence(
        clients=2, tps=3.6, transactions=66, duration_s=10.0, duration_is_planned=True, rate_limited=False,
        latency_average_ms=19.633, latency_stddev_ms=27.303, initial_connection_time_ms=3.761,
        retried_transactions=22, retries=37,
    )  # fmt: skip
    assert "rate" not in codes(late)
    # It is in no count of retries either: that there is one says that several tries are allowed.
    assert "rate" not in codes(replace(late, retried_transactions=0, retries=0))
    assert "rate" in codes(replace(late, retried_transactions=None, retries=None))


@pytest.mark.parametrize(("retries", "failed"), [(None, 0), (0, 0), (1, 0), (None, 1), (9_000, 0)])
def test_a_retry_explains_no_clients_that_went_on_long_after_the_time(retries: int | None, failed: int) -> None:
    # 450,000 x 1.6 ms keep 8 clients busy for all of 90 s, of which 60 were planned.
    late = Evidence(
        clients=8, tps=5_000.0, transactions=450_000, duration_s=60.0, duration_is_planned=True, rate_limited=False,
        latency_average_ms=1.6, latency_stddev_ms=0.2, initial_connection_time_ms=8.0,
        retries=retries, failed_transactions=failed,
    )  # fmt: skip
    assert {"overrun", "rate"} <= set(codes(late))
    # 300,000 x 1.6 ms are 60 s of them: one that was to be tried again may have waited for 30 s more.
    quiet = replace(late, tps=300_000 / 90, transactions=300_000)
    assert ("rate" in codes(quiet)) == (retries is None and not failed)


def test_the_average_is_that_of_the_sum_where_it_is_printed_to_two_decimals() -> None:
    # 57,000 x 0.0701 ms = 4 clients; 57,000 x 0.08 ms would be 4.56.
    printed = Evidence(clients=4, tps=57_000.0, transactions=570_000, latency_average_ms=0.07, latency_sum_ms=39_980.0)
    assert codes(printed) == []


def test_a_rate_of_two_decimals_is_given_the_room_of_its_rounding() -> None:
    # 13 / 60.01 s = 0.2166, printed as 0.22: with it 1.015 threads were busy, for 59.09 s.
    slow = Evidence(
        clients=1, tps=0.22, transactions=13, duration_s=60.01, latency_average_ms=4_615.0, latency_sum_ms=59_995.0
    )
    printed = replace(slow, rate_rounding=0.005)
    assert codes(slow) == ["littles-law"]
    assert codes(printed) == []
    assert codes(replace(printed, latency_sum_ms=65_000.0, latency_average_ms=5_000.0)) == ["littles-law"]
    assert codes(replace(printed, duration_is_planned=True, duration_s=60.0)) == []
    assert codes(replace(printed, duration_is_planned=True, duration_s=65.0)) == ["rate"]
    # 7 / 60 s = 0.1167, printed as 0.12.
    few = Evidence(clients=1, tps=0.12, transactions=7, duration_s=60.0, rate_rounding=0.005)
    assert codes(few) == ["few-transactions"]


def test_a_rate_that_may_be_0_says_nothing_of_how_long_the_run_lasted() -> None:
    # 0.005 may be 0, so 1 transaction may have taken any time. Connecting took all 10 s, and 0 x infinity is no time.
    rate = Evidence(clients=1, tps=0.005, transactions=1, duration_s=10.0, rate_rounding=0.005)
    planned = replace(rate, duration_is_planned=True, initial_connection_time_ms=10_000.0)
    assert codes(planned) == ["few-transactions"]
    # Half a us less than none, so that latencies would deviate by 0 at most.
    timed = replace(planned, latency_average_ms=-0.0005, latency_stddev_ms=5.0)
    assert "latency-order" not in codes(timed)


@pytest.mark.parametrize(("tps", "expected"), [(1_001.2, []), (1_002.0, ["rate"])])
def test_a_run_does_not_end_before_its_time(tps: float, expected: list[str]) -> None:
    planned = Evidence(clients=10, tps=tps, transactions=60_000, duration_s=60.0, duration_is_planned=True)
    assert codes(planned) == expected


def test_the_printed_average_is_given_the_room_of_its_rounding() -> None:
    # 0.038 may be 0.0385: 99,000 x 0.0385 ms = 3.81 of 4 clients; 99,000 x 0.038 ms = 3.76 are too few.
    rounded_run = Evidence(clients=4, tps=99_000.0, latency_average_ms=0.038)
    assert codes(rounded_run) == []
    assert codes(replace(rounded_run, latency_average_ms=None, logged_latency_average_ms=0.038)) == ["clients-idle"]


@pytest.mark.parametrize(
    "open_loop",
    [{"rate_limited": True}, {"connect_each": True, "tps_excluding": None}, {"failed_transactions": 700}],
)
def test_littles_law_is_silent_where_clients_do_other_things(open_loop: dict[str, Any]) -> None:
    loop = replace(SOUND, logged_latency_average_ms=3.0, latency_average_ms=3.0, **open_loop)
    assert codes(loop) == []


def test_clients_are_not_idle_while_they_are_connected_within_the_planned_time():
    # 64 clients of 2 threads were connected 87 ms after the clock of 1 s had begun to run.
    connected_late = Evidence(
        clients=64,
        threads=2,
        tps=18796.711724,
        duration_s=1,
        duration_is_planned=True,
        transactions=19_632,
        latency_average_ms=3.015,
        latency_stddev_ms=8.271,
        initial_connection_time_ms=87.45,
    )
    assert codes(connected_late) == []
    # Up to 13 no line says how long that took, but two rates do.
    rates = {"tps": 18796.0, "tps_including": 18771.0, "tps_excluding": 18796.0}
    assert codes(replace(connected_late, initial_connection_time_ms=0.0, leaves_out_by_thread=False, **rates)) == []
    # Up to 9.5 that is all of its thread's time, and of an unknown version it may be.
    for by_thread in (True, None):
        old = replace(connected_late, initial_connection_time_ms=0.0, leaves_out_by_thread=by_thread, **rates)
        assert codes(old) == ["clients-idle"]
    assert codes(replace(connected_late, initial_connection_time_ms=0.0)) == ["clients-idle"]


def test_what_a_rate_leaves_out_as_connecting_is_not_overstated_where_clients_were_busy_in_the_rest():
    slow_to_connect = Evidence(
        clients=1,
        threads=1,
        tps=1128.0,
        tps_including=1000.0,
        tps_excluding=1128.0,
        duration_s=1,
        duration_is_planned=True,
        transactions=1_000,
        latency_average_ms=0.886,
        latency_stddev_ms=0.2,
    )
    assert codes(slow_to_connect) == []
    # Of transactions that took their clients longer than what is left.
    assert codes(replace(slow_to_connect, latency_average_ms=0.93)) == ["excluding-overstated"]
    assert codes(replace(slow_to_connect, latency_stddev_ms=None, latency_is_derived=True)) == ["excluding-overstated"]
    # With time for a connection of each, as with -C.
    rates = {"tps": 500.0, "tps_including": 250.0, "tps_excluding": 500.0}
    assert codes(replace(slow_to_connect, latency_average_ms=2.0, transactions=250, **rates)) == [
        "excluding-overstated"
    ]


def test_clients_that_disconnect_after_each_transaction_are_not_idle_where_no_number_says_how_long_that_took():
    each = Evidence(
        clients=3,
        tps=952.942597,
        tps_including=952.942597,
        tps_excluding=7255.757456,
        connect_each=True,
        duration_s=1,
        duration_is_planned=True,
        transactions=955,
        latency_average_ms=0.314,
        latency_stddev_ms=0.595,
    )
    assert codes(each) == []
    assert codes(replace(each, latency_average_ms=0.614)) == ["littles-law"]


def test_clients_that_ended_before_the_longest_transaction_of_another_were_not_idle():
    # sysbench, whose 16 threads end at its time; of a run whose longest transaction is short nobody waits for it.
    report = Evidence(
        clients=16,
        tps=10.0,
        duration_s=60.0,
        transactions=600,
        latency_average_ms=1280.0,
        latency_stddev_ms=900.0,
        latency_min_ms=500.0,
        latency_max_ms=15_000.0,
    )
    assert codes(report) == []
    assert codes(replace(report, latency_max_ms=2_000.0)) == ["clients-idle"]


def test_one_long_transaction_hides_no_idle_clients_where_progress_shows_that_it_was_not_the_end():
    # sysbench: of 16 threads 4 were idle, and one transaction took 20 of 60 s.
    report = Evidence(
        clients=16,
        tps=120.0,
        duration_s=60.004,
        planned_s=60,
        transactions=7_200,
        latency_average_ms=100.0,
        latency_max_ms=20_000.0,
        percentiles_ms={0.95: 150.0},
        progress=(120.0,) * 60,
    )
    assert codes(report) == ["clients-idle"]
    assert codes(replace(report, progress=())) == []
    assert codes(replace(report, latency_average_ms=133.0)) == []
    # Whoever gives the time that a run took does not say when it was to end: its progress does.
    ended_slowly = replace(report, duration_s=80.2, planned_s=80, transactions=9_600, tps=119.7)
    assert codes(replace(ended_slowly, progress=(160.0,) * 60 + (0.0,) * 20)) == []
    assert codes(replace(ended_slowly, progress=(120.0,) * 80)) == ["clients-idle"]
    assert codes(replace(ended_slowly, planned_s=60, progress=(120.0,) * 80)) == []
