"""Real reports of sysbench 0.5 and 1.1, and of progress, with one thing changed: each is caught, or cannot be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchhub.analysis.doubts.doubt import Weight
from benchhub.bench.results.tests.corruption import FAILED, Corruption, printed, progress
from benchhub.bench.results.tests.recordings import added_codes, odd_run, result_and_doubts, sysbench_run_of
from runners.contract import Outputs, RunSpec

SYSBENCH = ("0.5-plain", "0.5-progress", "1.1-plain", "1.1-progress", "1.1-histogram", "1.1-warmup")
REPORTS = (
    # 0.5: latencies with their unit, its sum in seconds, requests beside queries.
    Corruption("0.5-progress", "TPS", printed(r"\(612.24 per", "(621.24 per"), "rate"),
    Corruption("0.5-progress", "transactions", printed(r"transactions:( +)3675", r"transactions:\g<1>3765"), "rate"),
    Corruption("0.5-progress", "a read", printed(r"read:( +)51548", r"read:\g<1>51584"), "count"),
    Corruption("0.5-progress", "requests", printed(r"requests:( +)66267", r"requests:\g<1>66276"), "count"),
    Corruption("0.5-progress", "their rate", printed(r"\(11039.83 per", "(11309.83 per"), "rate"),
    Corruption("0.5-progress", "other operations", printed(r"operations:( +)7357", r"operations:\g<1>7537"), "count"),
    Corruption("0.5-progress", "ignored errors", printed(r"errors:( +)7 ", r"errors:\g<1>1 "), "rate"),
    Corruption("0.5-progress", "the events", printed(r"events:( +)3675", r"events:\g<1>3657"), "count"),
    Corruption("0.5-progress", "the average", printed(r"6.53ms", "5.63ms"), "latency-sum"),
    Corruption("0.5-progress", "the sum in s", printed(r"23.9805s", "29.3805s"), "latency-sum"),
    Corruption("0.5-progress", "the total time", printed(r"6.0025s", "60.025s"), "rate"),
    Corruption("0.5-progress", "the minimum", printed(r" 0.83ms", " 8.30ms"), "latency-order"),
    Corruption("0.5-progress", "the maximum", printed(r"1016.63ms", "   1.63ms"), "latency-order"),
    Corruption("0.5-progress", "the percentile", printed(r"12.90ms", "1290.0ms"), "latency-order"),
    Corruption("0.5-progress", "the threads", printed(r"threads: 4$", "threads: 8"), "clients"),
    Corruption("0.5-progress", "events of a thread", printed(r"918.7500", "981.7500"), "count"),
    Corruption("0.5-progress", "time of a thread", printed(r"5.9951/", "9.5951/"), "count"),
    Corruption("0.5-progress", "a second's TPS", printed(r"tps: 848.94", "tps: 8489.4"), "progress"),
    Corruption("0.5-progress", "a second's threads", printed(r"threads: 4, tps", "threads: 8, tps"), "progress"),
    Corruption(
        "0.5-progress",
        "the percentile, within the ends",
        printed(r"12.90ms", "19.20ms"),
        undetectable="0.5 prints no histogram, and of a percentile only its order is known.",
    ),
    Corruption(
        "0.5-progress",
        "a second's reads",
        printed(r"reads: 11914.10", "reads: 19114.10"),
        "progress",
    ),
    Corruption("1.1-progress", "the last second", printed(r"^\[ 6s \]", "[ 60s ]"), "progress"),
    Corruption("0.5-plain", "the average, without progress", printed(r"7.94ms", "9.74ms"), "latency-sum"),
    Corruption("0.5-progress", "the rate of transactions dropped", printed(r"^ +transactions.*\n", ""), FAILED),
    # 1.1: events per second, time elapsed.
    Corruption("1.1-histogram", "events per second", printed(r"878.9854", "887.9854"), "rate"),
    Corruption("1.1-histogram", "the time elapsed", printed(r"4.0240s", "2.4040s"), "rate"),
    Corruption("1.1-histogram", "the events", printed(r"events:( +)3537", r"events:\g<1>3357"), "count"),
    Corruption("1.1-histogram", "the sum", printed(r"16026.99", "10626.99"), "latency-sum"),
    Corruption("1.1-histogram", "a bucket", printed(r"69.289 (.*) 1$", r"69.289 \g<1> 7"), "histogram"),
    Corruption("1.1-histogram", "the percentile", printed(r"18.95$", "81.95"), "histogram"),
    Corruption("1.1-histogram", "events of a thread", printed(r"884.2500", "848.2500"), "count"),
    Corruption("1.1-histogram", "time of a thread", printed(r"4.0067/", "7.0067/"), "count"),
    Corruption("1.1-histogram", "a second's queries", printed(r"qps: 14678.49", "qps: 16478.49"), "progress"),
    Corruption("1.1-histogram", "a second's reads", printed(r"10282.02/", "12082.02/"), "progress"),
    Corruption("1.1-histogram", "a second's threads", printed(r"thds: 4", "thds: 40"), "progress"),
    Corruption("1.1-histogram", "the report twice", lambda o: replace(o, stdout=o.stdout * 2), FAILED),
    Corruption("1.1-warmup", "the average", printed(r"5.72$", "7.52"), "latency-sum"),
    Corruption("1.1-warmup", "TPS", printed(r"\(696.42 per", "(966.42 per"), "rate"),
)
# Reports of progress of pgbench, separate and merged.
PROGRESS = (
    Corruption("16-rate_skips", "a latency tenfold", progress(r"lat 40.782", "lat 407.820"), "progress"),
    Corruption("16-rate_skips", "a cut latency", progress(r"lat 40.782", "lat 407.82"), "progress-unreadable"),
    Corruption("16-rate_skips", "skipped", progress(r"30 skipped", "90 skipped"), "progress"),
    Corruption("16-rate_skips", "a rate tenfold", progress(r"46.0 tps", "460.0 tps"), "progress"),
    Corruption("16-timestamps_rate", "skipped", progress(r"24 skipped", "240 skipped"), "progress"),
    Corruption("16-timestamps_rate", "a latency in us", progress(r"lat 37.956", "lat 37956.000"), "progress"),
    Corruption(
        "16-timestamps_rate", "a cut latency in us", progress(r"lat 37.956", "lat 37956.0"), "progress-unreadable"
    ),
    Corruption("15-serialization", "failed", progress(r"53 failed", "83 failed"), "progress"),
    Corruption("15-serialization", "retried", progress(r"82 retried", "88 retried"), "progress"),
    Corruption("15-serialization", "retries", progress(r"148 retries", "184 retries"), "progress"),
    Corruption("15-deadlocks", "failed", progress(r"17 failed", "71 failed"), "progress"),
    Corruption("18-contended", "a latency", progress(r"lat 21.344", "lat 84.344"), "progress"),
    Corruption(
        "18-contended", "the reports twice", lambda o: replace(o, stderr=o.stderr * 2 + b"progress: 0.5 s, "), FAILED
    ),
    Corruption("16-progress_merged", "a rate", printed(r"9453.0 tps", "94530.0 tps"), "progress"),
    Corruption("16-progress_merged", "a latency", printed(r"lat 0.188", "lat 1.880"), "progress"),
    Corruption("16-progress_merged", "the summary twice", lambda o: replace(o, stdout=o.stdout * 2), FAILED),
    Corruption("18-timestamps_merged", "a rate", printed(r"403.8 tps", "4038.0 tps"), "progress"),
    Corruption("18-timestamps_merged", "a time back", printed(r"1795573294.284", "1795573290.284"), FAILED),
    Corruption(
        "18-contended",
        "the deviation",
        progress(r"stddev 20.259", "stddev 2.026"),
        undetectable="The deviation of a second need not be that of the run.",
    ),
    Corruption(
        "18-one_tps",
        "a second of low rate swapped with another",
        progress(r"(?s)0.0 tps, lat 0.000(.*?)1.0 tps, lat 1003.844", r"1.0 tps, lat 1003.844\g<1>0.0 tps, lat 0.000"),
        undetectable="The seconds' sum is the same, and nothing but the reports says which second it was.",
    ),
)


def check(corruption: Corruption, run: tuple[RunSpec, Outputs]) -> None:
    added = added_codes(*run, corruption.change)
    assert bool(corruption.code) != bool(corruption.undetectable)
    assert (corruption.code in added) if corruption.code else not added


@pytest.mark.parametrize("name", SYSBENCH)
def test_a_report_as_it_is_contradicts_nothing(name: str) -> None:
    result, doubts = result_and_doubts(*sysbench_run_of(name))
    assert result.outcome == "succeeded", result.reason
    assert [doubt.text for doubt in doubts if doubt.weight == Weight.CONTRADICTED] == []


@pytest.mark.parametrize("corruption", REPORTS, ids=lambda corruption: f"{corruption.run}: {corruption.title}")
def test_a_corrupted_report_of_sysbench_is_caught_or_cannot_be(corruption: Corruption) -> None:
    check(corruption, sysbench_run_of(corruption.run))


@pytest.mark.parametrize("corruption", PROGRESS, ids=lambda corruption: f"{corruption.run}: {corruption.title}")
def test_a_corrupted_report_of_progress_is_caught_or_cannot_be(corruption: Corruption) -> None:
    check(corruption, odd_run(corruption.run))
