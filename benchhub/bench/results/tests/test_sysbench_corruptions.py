"""Real reports of sysbench 0.5 and 1.1 with one thing changed: each is caught, or a reason says why none can."""

from __future__ import annotations

import pytest

from benchhub.bench.results.tests.corruption import Corruption, assert_caught, printed

CORRUPTIONS = (
    Corruption("0.5-progress", "the threads", printed(r"threads: 4$", r"threads: 8"), "count"),
    Corruption(
        "0.5-progress", "the transactions", printed(r"transactions:( +)3675", r"transactions:\g<1>3075"), "script"
    ),
    Corruption("0.5-progress", "the rate of the transactions", printed(r"\(612.24 per", r"(812.24 per"), "rate"),
    Corruption("0.5-progress", "the requests", printed(r"requests:( +)66267", r"requests:\g<1>66627"), "rate"),
    Corruption(
        "0.5-progress", "the other operations", printed(r"operations:( +)7357", r"operations:\g<1>7537"), "rate"
    ),
    Corruption("0.5-progress", "the reads", printed(r"read:( +)51548", r"read:\g<1>51584"), "count"),
    Corruption("0.5-progress", "the queries together", printed(r"total:( +)73624", r"total:\g<1>73264"), "count"),
    Corruption("0.5-progress", "the ignored errors", printed(r"errors:( +)7 ", r"errors:\g<1>70 "), "rate"),
    Corruption("0.5-progress", "the total time", printed(r"6.0025s", r"9.0025s"), "rate"),
    Corruption("0.5-progress", "the events", printed(r"events:( +)3675", r"events:\g<1>3657"), "count"),
    Corruption("0.5-progress", "the sum, by its last digits", printed(r"23.9805s", r"23.9508s"), "count"),
    Corruption("0.5-progress", "the average", printed(r"avg:( +)6.53", r"avg:\g<1>5.63"), "latency-sum"),
    Corruption(
        "0.5-progress",
        "the maximum below the percentile",
        printed(r"max:( +)1016.63", r"max:\g<1>10.16"),
        "latency-order",
    ),
    Corruption(
        "0.5-progress",
        "the maximum",
        printed(r"max:( +)1016.63", r"max:\g<1>1061.63"),
        undetectable="One transaction may take any time within the run: no other number rests on the longest alone.",
    ),
    Corruption(
        "0.5-progress", "the minimum above the average", printed(r"min:( +)0.83", r"min:\g<1>8.30"), "latency-order"
    ),
    Corruption(
        "0.5-progress",
        "the percentile, too high for the average",
        printed(r"percentile:( +)12.90", r"percentile:\g<1>212.90"),
        "latency-order",
    ),
    Corruption(
        "0.5-progress",
        "the percentile",
        printed(r"percentile:( +)12.90", r"percentile:\g<1>12.09"),
        undetectable="Without buckets nothing counts what lies above it, and the average leaves room for it.",
    ),
    Corruption("0.5-progress", "events of a thread", printed(r"918.7500", r"981.7500"), "count"),
    Corruption("0.5-progress", "time of a thread", printed(r"5.9951/", r"5.9591/"), "count"),
    Corruption("0.5-progress", "a second's rate", printed(r"tps: 848.94", r"tps: 248.94"), "progress"),
    Corruption("0.5-progress", "a second's reads", printed(r"reads: 11914.10", r"reads: 1194.10"), "progress"),
    Corruption("0.5-progress", "a second's writes", printed(r"writes: 3397.24", r"writes: 7397.24"), "progress"),
    Corruption(
        "0.5-progress", "a second's threads", printed(r"threads: 4, tps: 366", r"threads: 14, tps: 366"), "progress"
    ),
    Corruption("0.5-progress", "a second's errors", printed(r"errors: 2.50", r"errors: 25.00"), "progress"),
    Corruption("0.5-progress", "the time of a report", printed(r"\[   6s\]", r"[  60s]"), "progress"),
    Corruption("0.5-progress", "the version", printed(r"^sysbench 0.5:", r"sysbench 0.4:"), "client-version"),
    Corruption("1.1-progress", "the threads", printed(r"threads: 4$", r"threads: 2"), "count"),
    Corruption(
        "1.1-progress", "the transactions", printed(r"transactions:( +)7208", r"transactions:\g<1>7280"), "rate"
    ),
    Corruption("1.1-progress", "the rate of the transactions", printed(r"\(1200.16 per", r"(1020.16 per"), "rate"),
    Corruption("1.1-progress", "the queries", printed(r"queries:( +)144160", r"queries:\g<1>114160"), "rate"),
    Corruption("1.1-progress", "the events per second", printed(r"1200.1564", r"1200.5164"), "rate"),
    Corruption("1.1-progress", "the time", printed(r"6.0059s", r"6.5009s"), "rate"),
    Corruption("1.1-progress", "the sum, by its last digits", printed(r"24000.36", r"24030.06"), "count"),
    Corruption("1.1-progress", "the average", printed(r"avg:( +)3.33", r"avg:\g<1>3.53"), "latency-sum"),
    Corruption(
        "1.1-progress",
        "the percentile, too low for the average",
        printed(r"percentile:( +)8.90", r"percentile:\g<1>1.90"),
        "latency-order",
    ),
    Corruption("1.1-progress", "the percentile's share", printed(r"95th perc", r"25th perc"), "latency-order"),
    Corruption(
        "1.1-progress",
        "the maximum",
        printed(r"max:( +)17.54", r"max:\g<1>71.54"),
        undetectable="One transaction may take any time within the run: no other number rests on the longest alone.",
    ),
    Corruption("1.1-progress", "a report's rate", printed(r"tps: 1231.16", r"tps: 1321.16"), "progress"),
    Corruption(
        "1.1-progress",
        "a report's rate by its last digit",
        printed(r"tps: 1231.16", r"tps: 1237.16"),
        undetectable="Transactions under way at both ends of an interval may be more than that.",
    ),
    Corruption("1.1-progress", "a report's queries", printed(r"qps: 24607.29", r"qps: 24670.29"), "progress"),
    Corruption("1.1-progress", "a report's reads", printed(r"16271.28/", r"12671.28/"), "progress"),
    Corruption(
        "1.1-progress", "errors that the report does not have", printed(r"err/s: 0.00", r"err/s: 0.40"), "progress"
    ),
    Corruption(
        "1.1-progress",
        "a report's percentile",
        printed(r"lat \(ms,95%\): 8.58", r"lat (ms,95%): 8.85"),
        undetectable="Of the latencies of an interval nothing else is printed.",
    ),
    Corruption(
        "1.1-progress",
        "a report's percentile above the maximum",
        printed(r"lat \(ms,95%\): 8.58", r"lat (ms,95%): 85.80"),
        "progress",
    ),
    Corruption("1.1-progress", "the script", printed(r"read:( +)100912", r"read:\g<1>7208"), "script"),
    Corruption("1.1-histogram", "a bucket's count", printed(r"\*+ (\d+)$", r"**** 9\1"), "histogram"),
    Corruption(
        "1.1-histogram",
        "errors of a second that the report does not have",
        printed(r"err/s: 0.00", r"err/s: 10.00"),
        "progress",
    ),
    Corruption("1.1-plain", "TPS by one", printed(r"\(1120.74 per", "(1121.74 per"), "rate"),
    Corruption(
        "1.1-progress", "the last digit of the average", printed(r"avg:( +)3.33", r"avg:\g<1>3.34"), "latency-sum"
    ),
    Corruption("1.1-progress", "no percentile in a report", printed(r"ms,95%", "ms,0%"), "progress"),
    Corruption("1.1-progress", "the percentile dropped", printed(r"^ +95th.*\n", ""), "progress"),
    Corruption("1.1-progress", "a report before its interval", printed(r"^\[ 4s \]", "[ 3s ]"), "progress"),
    Corruption("1.1-progress", "a report below 0", printed(r"tps: 1231.16", "tps: -1231.16"), "progress-unreadable"),
    Corruption("0.5-progress", "a report without its rate", printed(r"tps: 848.94", "tps: "), "progress-unreadable"),
    Corruption("1.1-progress", "a report without its time", printed(r"^\[ 4s \]", "[ s ]"), "progress-unreadable"),
    Corruption("1.1-warmup", "a second's rate", printed(r"tps: 937.20", r"tps: 1937.20"), "progress"),
    Corruption("1.1-warmup", "the time of a report", printed(r"\[ 4s \]", r"[ 14s ]"), "progress"),
    Corruption("1.1-warmup", "the sum", printed(r"16061.41", r"16016.41"), "count"),
)


def test_each_is_named_once() -> None:
    names = [(corruption.run, corruption.title) for corruption in CORRUPTIONS]
    assert len(names) == len(set(names)) >= 50


@pytest.mark.parametrize("corruption", CORRUPTIONS, ids=lambda corruption: f"{corruption.run}: {corruption.title}")
def test_a_changed_report_is_caught_or_cannot_be(corruption: Corruption) -> None:
    assert_caught(corruption)
