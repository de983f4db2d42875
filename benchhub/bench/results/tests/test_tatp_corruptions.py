"""What a run of TATP left, with one thing changed: each is caught, or a reason says why none can."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchhub.bench.results.tests.corruption import FAILED, Corruption, assert_caught, file
from benchhub.bench.results.tests.recordings import result_and_doubts, tatp_run
from runners.contract import Outputs

TOLD_LATE = "What is told in a second may be of another one: only the sum of all is held against the transactions."


def later_second(outputs: Outputs) -> Outputs:
    later = file("tatp.messages", b"progress: 5.0 s", b"progress: 5.5 s")(outputs)
    return file("tatp.told", b"5.0 163", b"5.5 163")(later)


CORRUPTIONS = (
    Corruption(
        "tatp",
        "all reports of the last half dropped",
        file("tatp.messages", b"progress: 8.0 s, 17606.9", b"lost: 8.0 s, 17606.9"),
        FAILED,
    ),
    Corruption(
        "tatp", "a measured second's rate by 40%", file("tatp.messages", b"16685.6 tps", b"23685.6 tps"), "logged-count"
    ),
    Corruption(
        "tatp",
        "a measured second's rate tenfold",
        file("tatp.messages", b"16685.6 tps", b"166856.0 tps"),
        "logged-count",
    ),
    Corruption(
        "tatp",
        "a measured second's rate without its point",
        file("tatp.messages", b"16685.6 tps", b"166856 tps"),
        FAILED,
    ),
    Corruption(
        "tatp",
        "a measured second's latency by 17%",
        file("tatp.messages", b"lat 0.237", b"lat 0.277"),
        undetectable="Transactions may have begun before the second in which they end: 0.7 s of 32 s are within that.",
    ),
    Corruption(
        "tatp", "a measured second's latency tenfold", file("tatp.messages", b"lat 0.237", b"lat 2.370"), "progress"
    ),
    Corruption(
        "tatp", "a measured second's latency in us", file("tatp.messages", b"lat 0.237", b"lat 237.000"), "progress"
    ),
    Corruption(
        "tatp",
        "transactions that failed",
        file("tatp.messages", b"stddev 0.652, 0 failed", b"stddev 0.652, 5 failed"),
        FAILED,
    ),
    Corruption("tatp", "the time of a second", file("tatp.messages", b"progress: 5.0 s", b"progress: 5.5 s"), FAILED),
    Corruption(
        "tatp",
        "the time of a second in both files",
        later_second,
        undetectable="A report that is late takes its transactions from the next one: their number is the same.",
    ),
    Corruption(
        "tatp", "a warm-up second's rate by 80%", file("tatp.messages", b"38300.7 tps", b"68300.7 tps"), "logged-count"
    ),
    Corruption(
        "tatp",
        "refused of one kind, tenfold, once",
        file("tatp.told", b"4.0 113 210", b"4.0 1130 210"),
        "success-share",
    ),
    Corruption(
        "tatp", "done of one kind, tenfold, once", file("tatp.told", b"4.0 113 210", b"4.0 113 2100"), "success-share"
    ),
    Corruption(
        "tatp",
        "done of one kind by a digit, once",
        file("tatp.told", b"4.0 113 210", b"4.0 113 270"),
        undetectable="60 more successes in a second are within what chance allows the share and the mix.",
    ),
    Corruption(
        "tatp",
        "reads asked for, tenfold, once",
        file("tatp.told", b"107 5997 3764", b"107 59970 3764"),
        "success-share",
    ),
    Corruption("tatp", "reads found, a tenth, once", file("tatp.told", b"5997 3764", b"5997 376"), "success-share"),
    Corruption(
        "tatp", "more reads found than asked for", file("tatp.told", b"5997 3764", b"5997 7364"), "success-share"
    ),
    Corruption(
        "tatp", "destinations found, tenfold, once", file("tatp.told", b"1679 256", b"1679 2560"), "success-share"
    ),
    Corruption("tatp", "destinations found, all", file("tatp.told", b"1679 256", b"1679 1679"), "success-share"),
    Corruption(
        "tatp",
        "reads of two kinds swapped",
        file("tatp.told", b"5997 3764 1679 256", b"1679 256 5997 3764"),
        "success-share",
    ),
    Corruption("tatp", "a word of a line dropped", file("tatp.told", b"4.0 113 210", b"4.0 113"), FAILED),
    Corruption("tatp", "the subscribers before", file("tatp.before", b"|100000", b"|10000"), "subscribers"),
    Corruption("tatp", "the forwardings before, a tenth", file("tatp.before", b"375239|", b"37523|"), "forwardings"),
    Corruption("tatp", "the forwardings after, a tenth", file("tatp.after", b"375227|", b"37522|"), "forwardings"),
    Corruption(
        "tatp",
        "the forwardings after, by a digit",
        file("tatp.after", b"375227|", b"375627|"),
        undetectable="Of 375,000 rows 400 are within what a load inserts and deletes.",
    ),
    Corruption("tatp", "the facilities after", file("tatp.after", b"|250071|", b"|25007|"), "forwardings"),
    Corruption("tatp", "those outside their times after", file("tatp.after", b"|744|", b"|74400|"), "forwardings"),
    Corruption("tatp", "a field of the state dropped", file("tatp.after", b"|744|", b"|"), FAILED),
    Corruption(
        "tatp",
        "no refused ones of a kind, once",
        file("tatp.told", b"4.0 113 210", b"4.0 0 210"),
        undetectable=TOLD_LATE,
    ),
    Corruption("tatp", "no reads found, once", file("tatp.told", b"5997 3764", b"5997 0"), "success-share"),
    Corruption("tatp", "facilities below 0", file("tatp.after", b"|250071|", b"|-250071|"), FAILED),
    Corruption("tatp", "the begin of the run", file("started_epoch", b"1795278653", b"1795218653"), "log-clock"),
)


def test_each_is_named_once() -> None:
    titles = [corruption.title for corruption in CORRUPTIONS]
    assert len(titles) == len(set(titles)) >= 25


@pytest.mark.parametrize("corruption", CORRUPTIONS, ids=lambda corruption: corruption.title)
def test_a_changed_run_is_caught_or_cannot_be(corruption: Corruption) -> None:
    assert_caught(corruption)


@pytest.mark.parametrize(
    ("plan", "code"),
    [
        ({"clients": 40}, "clients"),
        ({"clients": 1}, "clients"),
        ({"duration_s": 3}, "duration"),
        ({"duration_s": 60}, "duration"),
    ],
)
def test_a_run_of_another_plan_is_caught(plan: dict[str, int], code: str) -> None:
    spec, outputs = tatp_run()
    assert code in {doubt.code for doubt in result_and_doubts(replace(spec, **plan), outputs)[1]}
