"""Real outputs with one number out of the bounds that others set, and numbers that nothing bounds, with the reason."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from benchhub.bench.results.tests.corruption import (
    FAILED,
    Change,
    Corruption,
    bare,
    file,
    multiplied,
    printed,
    progress,
    without_log,
)
from benchhub.bench.results.tests.recordings import added_codes, odd_run, result_and_doubts, sysbench_run_of, tatp_run
from runners.contract import Outputs, RunSpec

PGBENCH = (
    # What a connection for each transaction takes.
    Corruption(
        "14-connect_each",
        "the average tenfold",
        without_log(printed(r"average = 5.403", "average = 54.03")),
        "littles-law",
    ),
    Corruption("14-connect_each", "the connecting tenfold", printed(r"time = 9.342", "time = 93.42"), "littles-law"),
    Corruption("15-connect_each", "the connecting lower", printed(r"time = 7.989", "time = 1.989"), "clients-idle"),
    Corruption(
        "15-timestamps_merged", "the connecting, tenfold", printed(r"time = 7.354", "time = 73.54"), "littles-law"
    ),
    Corruption(
        "13-connect_each",
        "the average tenfold",
        without_log(printed(r"average = 4.200", "average = 42.00")),
        "littles-law",
    ),
    Corruption("13-connect_each", "the rate without connecting", printed(r"469.599353", "969.599353"), "littles-law"),
    # A rate, its lag, and what was skipped or late.
    Corruption(
        "13-rate_skips",
        "the average tenfold",
        without_log(printed(r"average = 41.175", "average = 411.75")),
        "littles-law",
    ),
    Corruption("14-rate_skips", "the average lag tenfold", printed(r"avg 5.684", "avg 56.84"), "latency-order"),
    Corruption("13-rate_skips", "the late ones", printed(r"limit: 99/", "limit: 19/"), "share"),
    Corruption("15-rate_skips", "the late ones, swapped", printed(r"limit: 106/", "limit: 16/"), "share"),
    Corruption("16-rate_skips", "of how many they are", printed(r"(limit: \d+)/(\d)", r"\1/9\2"), "share"),
    Corruption("14-rate_skips", "the skipped ones of an older form", printed(r"skipped: 59", "skipped: 95"), "share"),
    Corruption(
        "14-rate_skips",
        "the longest lag",
        printed(r"max 46.386", "max 64.386"),
        "logged-lag",
    ),
    Corruption(
        "13-more_clients",
        "the average of the real time, as of the planned one",
        without_log(printed(r"average = 20.081", "average = 18.109")),
        undetectable="Up to 9.6 it is derived from the planned time, and nothing tells which was taken.",
    ),
    Corruption(
        "14-rate_skips",
        "the longest lag, without a log",
        without_log(printed(r"max 46.386", "max 64.386")),
        undetectable="The longest lag is in the log alone, and the run has room for it.",
    ),
    Corruption(
        "14-one_tps",
        "the connecting in s",
        lambda o: replace(printed(r"(connection time = )[0-9.]+", r"\g<1>8407")(o), stderr=b"", files={}),
        "rate",
    ),
    Corruption(
        "14-low_rate",
        "the average of a few transactions",
        without_log(printed(r"average = 1.143", "average = 4.143")),
        undetectable="At 2 TPS clients are idle nearly all of the time: any average of some ms fits.",
    ),
    # A planned number of transactions.
    Corruption("13-transactions", "more than planned", printed(r"processed: 100/", "processed: 400/"), "count"),
    Corruption("18-few_transactions", "one more", printed(r"processed: 6/", "processed: 7/"), "count"),
    Corruption("15-transactions", "one less", printed(r"processed: 100/", "processed: 99/"), FAILED),
    Corruption("16-transactions", "the plan", printed(r"processed: 100/100", "processed: 100/10"), "count"),
    Corruption("15-transactions", "a plan below 0", printed(r"processed: 100/100", "processed: 100/-100"), "count"),
    # Deviations, times of reports.
    Corruption(
        "18-contended", "a deviation beyond the run", without_log(printed(r"stddev = ", "stddev = 9")), "latency-order"
    ),
    Corruption("16-progress_merged", "a report that is early", printed(r"progress: 1\.0", "progress: 0.1"), "progress"),
    Corruption("18-one_tps", "a report twice at its second", progress(r"progress: 2\.0", "progress: 1.0"), "progress"),
    Corruption("18-one_tps", "a report long after the run", progress(r"progress: 3\.0", "progress: 30.0"), "progress"),
    Corruption("15-timestamps", "a report of another year", progress(r"1795566378", "9795566378"), "progress"),
    Corruption(
        "15-serialization",
        "fewer failed in a report",
        progress(r"53 failed", "35 failed"),
        undetectable="What failed after the last report is in the total alone.",
    ),
    Corruption(
        "15-serialization",
        "a lower average where most of the time went into failures",
        without_log(printed(r"average = 20.821", "average = 10.821")),
        "progress",
    ),
)


def log_of(name: str) -> Change:
    """Take the log of another run of the same settings."""
    return lambda outputs: replace(outputs, files=odd_run(name)[1].files)


def progress_of(name: str) -> Change:
    return lambda outputs: replace(outputs, stderr=odd_run(name)[1].stderr)


def rest_of(name: str, line: str) -> Change:
    """Take what another run printed from a line on."""

    def change(outputs: Outputs) -> Outputs:
        head, rest = (text.decode().partition(line) for text in (outputs.stdout, odd_run(name)[1].stdout))
        return replace(outputs, stdout="".join((head[0], *rest[1:])).encode())

    return change


def scaled_progress(factor: float) -> Change:
    """Multiply all rates of sysbench's reports of progress."""

    def scaled(rates: re.Match[str]) -> str:
        return re.sub(r"\d+\.\d\d", lambda rate: f"{float(rate[0]) * factor:.2f}", rates[0])

    def change(outputs: Outputs) -> Outputs:
        text = re.sub(r"(?m)tps: .*?(?= lat | response)", scaled, outputs.stdout.decode())
        return replace(outputs, stdout=text.encode())

    return change


COUNT, RATE, AVERAGE, DURATION = (
    "number of transactions actually processed: ", "tps = ", "latency average = ", "duration: ",
)  # fmt: skip
SPLICES = (
    Corruption("14-transactions", "the log of a longer run", log_of("15-transactions"), "log-clock"),
    Corruption(
        "15-transactions",
        "the log of a shorter run",
        log_of("14-transactions"),
        undetectable="Of a run of 0.13 s its clients may connect and disconnect for as long as the log leaves out.",
    ),
    Corruption(
        "16-transactions",
        "the log of a run as long",
        log_of("14-transactions"),
        undetectable="The average is derived, and the log is of as many transactions in nearly the same time.",
    ),
    Corruption("16-one_tps", "the log of another", log_of("18-one_tps"), "histogram"),
    Corruption("16-bimodal", "the log of another", log_of("18-bimodal"), "logged-count"),
    Corruption(
        "14-sampled", "the sample of another", log_of("18-sampled"), undetectable="A sample may be of any transactions."
    ),
    Corruption("18-bimodal", "the progress of a quicker run", progress_of("16-bimodal"), "progress"),
    Corruption("16-weights", "the progress of a slower run", progress_of("18-weights"), "progress"),
    Corruption("18-weights", "the progress of an older version", progress_of("16-weights"), "progress"),
    Corruption(
        "18-one_tps",
        "the progress of another",
        progress_of("16-one_tps"),
        undetectable="Three transactions of 1 s: a rate of 1.0 TPS may be 5% off.",
    ),
    Corruption(
        "18-rate_skips",
        "the progress of another",
        progress_of("14-rate_skips"),
        undetectable="In 2 s a tenth of a second, to which a report has its time, is as much as what differs.",
    ),
    Corruption("18-weights", "the numbers of another", rest_of("16-weights", "number of clients: "), "logged-count"),
    Corruption(
        "18-one_tps",
        "the rate of another",
        bare(rest_of("16-one_tps", "initial connection time = ")),
        undetectable="Three transactions in 3 s: both rates are within the room that the end of a run has.",
    ),
    Corruption("14-connect_each", "the average of another", rest_of("16-connect_each", "latency average"), "histogram"),
    # Two fields, consistently.
    Corruption("18-contended", "count and rate by 3%", bare(multiplied((COUNT, 1.03), (RATE, 1.03))), "littles-law"),
    Corruption("18-contended", "count and rate, halved", bare(multiplied((COUNT, 0.5), (RATE, 0.5))), "clients-idle"),
    Corruption("18-more_clients", "count and rate by 3%", multiplied((COUNT, 1.03), (RATE, 1.03)), "derived-average"),
    Corruption("18-contended", "a rate and its average", bare(multiplied((RATE, 1.1), (AVERAGE, 1 / 1.1))), "rate"),
    Corruption("18-contended", "half a rate, its average", bare(multiplied((RATE, 0.5), (AVERAGE, 2.0))), "rate"),
    Corruption("18-weights", "duration and rate", bare(multiplied((DURATION, 2.0), (RATE, 0.5))), "duration"),
    Corruption(
        "18-contended",
        "count, rate and average",
        bare(multiplied((COUNT, 2.0), (RATE, 2.0), (AVERAGE, 0.5))),
        undetectable="It is what a server that is twice as quick prints, but for a log, reports or scripts.",
    ),
    Corruption(
        "18-weights",
        "count, rate and average of several scripts",
        bare(multiplied((COUNT, 2.0), (RATE, 2.0), (AVERAGE, 0.5))),
        "script-count",
    ),
)
SYSBENCH = (
    Corruption("0.5-progress", "a share that is none", printed(r"approx\.  95", "approx.  59"), "progress"),
    Corruption("1.1-progress", "a share of the reports", printed(r"ms,95%", "ms,15%"), "progress"),
    Corruption("0.5-plain", "a longest beyond the run", printed(r"1008.73ms", "4008.73ms"), "latency-order"),
    Corruption("0.5-progress", "a second's writes", printed(r"writes: 3397.24", "writes: 33972.4"), "progress"),
    Corruption("0.5-progress", "a second's errors", printed(r"errors: 2.50", "errors: 25.0"), "progress"),
    Corruption("0.5-progress", "a percentile", printed(r"response time: 10.39", "response time: 2039.0"), "progress"),
    Corruption("1.1-histogram", "a second's percentile tenfold", printed(r": 30.26 err", ": 302.6 err"), "progress"),
    Corruption("1.1-progress", "the longest, below a percentile", printed(r" 17.54$", " 7.54"), "latency-order"),
    Corruption(
        "1.1-plain",
        "the longest, tenfold",
        printed(r" 49.88$", " 498.8"),
        undetectable="One transaction in 3,372 moves the average by 0.1 ms, and nothing says that it did not.",
    ),
    Corruption(
        "0.5-plain",
        "the shortest",
        printed(r" 0.81ms", " 0.11ms"),
        undetectable="Without a histogram the shortest is bounded by the average alone.",
    ),
    Corruption("1.1-progress", "a second's percentile, below all", printed(r": 8.58 err", ": 0.08 err"), "progress"),
    Corruption(
        "1.1-progress",
        "a second's percentile, below the longest",
        printed(r": 8.58 err", ": 5.88 err"),
        undetectable="The percentile of a second may lie anywhere between shortest and longest.",
    ),
)
SYSBENCH_PROGRESS = (
    Corruption("0.5-progress", "all seconds, fewer by a tenth", scaled_progress(0.9), "progress"),
    Corruption("1.1-progress", "all seconds, fewer by a twentieth", scaled_progress(0.95), "progress"),
    Corruption("1.1-histogram", "all seconds, more by a tenth", scaled_progress(1.1), "progress"),
    Corruption(
        "1.1-histogram",
        "all seconds, fewer by a twentieth",
        scaled_progress(0.95),
        undetectable="A report may come half a second late, and one second had 300 transactions more than the next.",
    ),
    Corruption(
        "1.1-progress",
        "the last reports cut off",
        printed(r"^\[ 4s \].*\n\[ 6s \].*\n", ""),
        undetectable="In 4 s the thread that reports may have waited, and as many may have ended after it.",
    ),
)
TATP = (
    Corruption("", "a latency tenfold", file("tatp.messages", b"lat 0.213", b"lat 2.130"), "progress"),
    Corruption("", "a rate tenfold", file("tatp.messages", b"25891.4", b"258914.0"), "progress"),
    Corruption("", "the last second cut off", file("tatp.messages", b"progress: 8.0 s", b"# 8.0 s"), FAILED),
    Corruption("", "a second of the outcomes", file("tatp.told", b"\n7.0 ", b"\n6.5 "), FAILED),
    Corruption("", "subscribers after the run", file("tatp.after", b"|100000", b"|10000"), "subscribers"),
)


def check(corruption: Corruption, run: tuple[RunSpec, Outputs]) -> None:
    added = added_codes(*run, corruption.change)
    assert bool(corruption.code) != bool(corruption.undetectable)
    assert (corruption.code in added) if corruption.code else not added


@pytest.mark.parametrize("corruption", PGBENCH, ids=lambda corruption: f"{corruption.run}: {corruption.title}")
def test_a_number_of_pgbench_out_of_its_bounds_is_caught(corruption: Corruption) -> None:
    check(corruption, odd_run(corruption.run))


@pytest.mark.parametrize("corruption", SPLICES, ids=lambda corruption: f"{corruption.run}: {corruption.title}")
def test_parts_of_two_runs_of_the_same_settings_are_no_run(corruption: Corruption) -> None:
    check(corruption, odd_run(corruption.run))


@pytest.mark.parametrize(
    "corruption", SYSBENCH + SYSBENCH_PROGRESS, ids=lambda corruption: f"{corruption.run}: {corruption.title}"
)
def test_a_number_of_sysbench_out_of_its_bounds_is_caught(corruption: Corruption) -> None:
    check(corruption, sysbench_run_of(corruption.run))


@pytest.mark.parametrize("corruption", TATP, ids=lambda corruption: corruption.title)
def test_a_number_of_tatp_out_of_its_bounds_is_caught(corruption: Corruption) -> None:
    check(corruption, tatp_run())


@pytest.mark.parametrize(("mix", "codes"), [("80/20", set()), ("R100", {"mix"}), ("5050", {"mix"}), ("2080", {"mix"})])
def test_the_transactions_of_tatp_are_held_against_the_mix(mix: str, codes: set[str]) -> None:
    spec, outputs = tatp_run()
    spec = replace(spec, parameters={**spec.parameters, "mix": mix})
    assert {doubt.code for doubt in result_and_doubts(spec, outputs)[1]} & {"mix"} == codes
