"""Runs that did not end well are recognised however much of them came along; whole ones are never taken for them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.contract import Measure, Outputs, RunSpec
from runners.tools import moments
from runners.tools.pgbench.ending import end_remarks, failure
from runners.tools.pgbench.testing import (
    PGBENCH,
    RECORDED,
    SPEC,
    UNLOGGED,
    assert_failed,
    hand_made,
    printing,
    recorded,
)
from runners.tools.printed import END_UNSEEN

ENDED = sorted(path.name for path in (RECORDED / "ended").iterdir())
WHOLE = [name for name in ENDED if "-whole" in name]
BROKEN = [name for name in ENDED if "-whole" not in name]
# A client of several died, and only what went to stderr tells it: the others went on to the end.
UNSEEN_ALONE = ("one_killed", "one_killed_derived", "one_killed_late", "one_killed_per_statement")
SUMMARY = """\
pgbench (18.1)
transaction type: <builtin: select only>
number of clients: 4
number of threads: 2
duration: {duration} s
number of transactions actually processed: {transactions}
initial connection time = 500.000 ms
tps = {tps:.6f} (without initial connection time)
"""


def read(name: str, file: str) -> bytes:
    return (RECORDED / "ended" / name / file).read_bytes()


def spec_of(name: str) -> RunSpec:
    return replace(SPEC, tool_version=name.partition("-")[0], **json.loads(read(name, "plan.json")))


def apart(name: str, *, is_code_known: bool = True) -> Outputs:
    returncode = int(read(name, "returncode")) if is_code_known else None
    return Outputs(returncode, read(name, "out.log"), read(name, "err.log"))


def merged(name: str, *, is_code_known: bool = False) -> Outputs:
    return Outputs(int(read(name, "merged.returncode")) if is_code_known else None, read(name, "merged.log"), b"")


def alone(name: str) -> Outputs:
    return Outputs(None, read(name, "out.log"), b"")


def test_there_are_enough_of_them() -> None:
    assert len(BROKEN) >= 40 and len(WHOLE) >= 12
    assert {name.partition("-")[0] for name in ENDED} == {"15", "16", "18"}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_run_fails_from_both_streams_with_or_without_its_code(name: str) -> None:
    for outputs in (apart(name), apart(name, is_code_known=False)):
        result = PGBENCH.parse(spec_of(name), outputs)
        assert (result.outcome, result.measures) == ("failed", {}), result.reason
        assert "code None" not in result.reason and "code 0" not in result.reason


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_run_fails_from_a_merged_stream_and_says_why(name: str) -> None:
    for outputs in (merged(name), merged(name, is_code_known=True)):
        result = PGBENCH.parse(spec_of(name), outputs)
        assert (result.outcome, result.measures) == ("failed", {})
        if "killed" in name:
            assert "terminating connection" in result.reason or "the backend died" in result.reason
        if "table_dropped" in name:
            assert 'relation "pgbench_accounts" does not exist' in result.reason
        if "refused" in name:
            assert "Connection refused" in result.reason
        if "too_many" in name:
            assert "too many clients already" in result.reason


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_run_fails_from_its_summary_alone_or_says_that_its_end_was_not_seen(name: str) -> None:
    result = PGBENCH.parse(spec_of(name), alone(name))
    if name.partition("-")[2] in UNSEEN_ALONE:
        assert END_UNSEEN in result.remarks
    else:
        assert result.outcome == "failed", result.measures
        assert "code" not in result.reason


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_run_succeeds_however_much_came_along(name: str) -> None:
    for outputs in (apart(name), apart(name, is_code_known=False), merged(name), alone(name)):
        result = PGBENCH.parse(spec_of(name), outputs)
        assert (result.outcome, result.doubts) == ("succeeded", ()), result.reason


@pytest.mark.parametrize("name", WHOLE)
def test_the_end_is_seen_by_a_code_or_by_messages(name: str) -> None:
    assert end_remarks(apart(name)) == []
    assert end_remarks(alone(name)) == [END_UNSEEN]
    assert (end_remarks(merged(name)) == []) == bool(read(name, "err.log"))


def test_the_shorter_of_two_ends_is_told_by_count_and_rate() -> None:
    # 0.5 s went into connecting, which counts as part of the duration.
    whole = SUMMARY.format(duration=10, transactions=9_500, tps=1_000)
    assert failure(printing(whole)) == ""
    for transactions in (9_200, 5_000, 10):
        reason = failure(printing(SUMMARY.format(duration=10, transactions=transactions, tps=1_000)))
        assert reason.startswith("pgbench was aborted: by its count and rate it ended after ")
    # A last transaction that takes its time makes it longer.
    assert failure(printing(SUMMARY.format(duration=10, transactions=20_000, tps=1_000))) == ""


def test_up_to_13_the_rate_with_connecting_gives_the_time() -> None:
    for name in ("9.3", "9.4", "9.5", "9.6"):
        assert failure(replace(hand_made(name), returncode=None)) == ""
    half = hand_made("9.3").stdout.replace(b"processed: 200000", b"processed: 100000")
    assert "after 5 of 10 s" in failure(Outputs(None, half, b""))


def test_a_client_that_10_lost_in_silence_is_seen_in_its_messages_wherever_they_went() -> None:
    outputs = hand_made("10_all_aborted")
    for streams in (outputs, Outputs(None, outputs.stderr + outputs.stdout, b"")):
        assert_failed(PGBENCH.parse(UNLOGGED, streams), "client 1 aborted in state 0: ERROR:  division by zero")


@pytest.mark.parametrize("version", ["13", "14", "15", "16", "18"])
@pytest.mark.parametrize("case", ["plain", "progress", "vacuumed", "logged", "one_aborted", "all_aborted"])
def test_recordings_without_a_code_end_as_those_with_one(version: str, case: str) -> None:
    outputs = recorded(version, case)
    outcomes = {
        PGBENCH.parse(UNLOGGED, replace(outputs, returncode=code)).outcome for code in (outputs.returncode, None)
    }
    assert outcomes == {"failed" if "aborted" in case else "succeeded"}


def test_a_statement_that_speaks_of_aborted_clients_is_none() -> None:
    text = recorded("18", "plain").stdout.decode()
    spoken = f"{text}         0.1   0 SELECT 'client 3 aborted in command';\n"
    assert failure(printing(spoken)) == ""


def test_a_code_that_is_not_known_is_not_0() -> None:
    cut = Outputs(None, b"pgbench (18.1)\n", b"")
    assert PGBENCH.parse(UNLOGGED, cut).reason == "pgbench's summary is cut off before the number of transactions."
    reason = PGBENCH.parse(UNLOGGED, replace(cut, returncode=0)).reason
    assert reason == "pgbench's summary is cut off before the number of transactions, although it ended with code 0."


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_streams_can_be_read(stdout: str, stderr: str) -> None:
    assert isinstance(failure(replace(printing(stdout, stderr), returncode=None)), str)


TIMED = """\
transaction type: <builtin: select only>
scaling factor: 10
query mode: simple
number of clients: 4
number of threads: 2
duration: 10 s
number of transactions actually processed: {transactions}
latency average = {average_ms:.3f} ms
latency stddev = {stddev_ms:.3f} ms
tps = {tps:.6f} (without initial connection time)
"""
EVEN = [400.0] * 9


def ended_client(rates: list[float], **changes: float) -> list[str]:
    """Return the doubts about a client that ended, of a run of 10 s whose transactions take 10 ms."""
    count = round(sum(rates) + rates[-1])
    values = {"transactions": count, "average_ms": 10.0, "stddev_ms": 0.0, "tps": count / 10, **changes}
    lines = [
        f"progress: {at_s}.0 s, {rate:.1f} tps, lat 10.000 ms stddev 0.000\n"
        for at_s, rate in enumerate(rates, start=1)
    ]
    spec = replace(UNLOGGED, duration_s=10)
    doubts = PGBENCH.parse(spec, printing(TIMED.format(**values), "".join(lines))).doubts
    return [doubt.text for doubt in doubts if doubt.code == "client-ended"]


@pytest.mark.parametrize(("lost", "since_s", "before"), [(300.0, 5, "4"), (340.0, 5, "4"), (390.0, 6, "3.98")])
def test_a_client_that_ended_is_seen_from_reports_of_progress_wherever_in_a_second_it_did(
    lost: float, since_s: int, before: str
) -> None:
    [text] = ended_client([350.0, *[400.0] * 4, lost, *[300.0] * 3])
    numbers = f"one client fewer was busy, 3 instead of {before} by the reports of progress"
    assert text == f"From second {since_s} on {numbers}: it may have ended early."


@pytest.mark.parametrize(
    "rates",
    [
        EVEN,
        [300.0, *[400.0] * 8],  # it connects
        [*[400.0] * 8, 300.0],  # the last report alone
        [400.0, 400.0, *[300.0] * 7],  # a single one before
        [*[400.0] * 4, 300.0, 300.0, *[400.0] * 3],  # it came back
        [*[400.0] * 4, *[330.0] * 5],  # less than a client
        [400.0, 380.0, 420.0, 380.0, 420.0, *[300.0] * 4],  # as far apart before
    ],
)
def test_no_client_has_ended_where_as_many_are_busy_as_before(rates: list[float]) -> None:
    assert ended_client(rates) == []


def test_a_transaction_that_lasts_until_the_end_is_no_client_that_ended() -> None:
    """Its 5 s are in the summary alone, where they make 1.36 ms of the average."""
    rates = [*[400.0] * 5, *[300.0] * 4]
    assert ended_client(rates)
    assert ended_client(rates, average_ms=11.36, stddev_ms=82.0) == []


LONGEST_SENTENCE = 2_000


def test_a_long_line_makes_no_long_sentence() -> None:
    for piece in ("client 1 ", "pgbench: error: client 1 ", "aborted client 3 ", "Run was aborted"):
        assert len(failure(Outputs(None, (piece * 60_000).encode(), b""))) < LONGEST_SENTENCE


def test_messages_in_another_language_tell_no_end_unless_the_code_does() -> None:
    outputs = recorded("18", "plain")
    stderr = "pgbench: Fehler: Lauf wurde abgebrochen; die obigen Ergebnisse sind unvollständig.\n".encode()
    unknown = replace(outputs, returncode=None, stderr=stderr)
    assert "not in English" in failure(unknown)
    assert failure(replace(unknown, returncode=0)) == ""
    assert failure(replace(unknown, stderr=b"pgbench: warning: scale option ignored\n")) == ""


def test_a_warning_of_the_linker_is_no_message_in_another_language() -> None:
    warning = b"pgbench: %s: no version information available (required by pgbench)\n"
    for library in (b"/lib/x86_64-linux-gnu/libpq.so.5", b"libpq.so.5"):
        assert failure(replace(recorded("18", "plain"), returncode=None, stderr=warning % library)) == ""


def test_two_clients_that_ended_are_both_counted() -> None:
    [text] = ended_client([350.0, *[400.0] * 4, *[200.0] * 4])
    assert "2 clients fewer were busy, 2 instead of 4" in text and text.endswith("they may have ended early.")


def test_clients_with_a_number_of_transactions_each_end_when_they_are_through() -> None:
    rates = [350.0, *[400.0] * 4, *[300.0] * 4]
    count = round(sum(rates) + rates[-1])
    values = {"transactions": f"{count}/{count}", "average_ms": 10.0, "stddev_ms": 0.0, "tps": count / 10}
    per_client = f"number of transactions per client: {count // 4}"
    stdout = TIMED.format(**values).replace("duration: 10 s", per_client)
    lines = [
        f"progress: {at_s}.0 s, {rate:.1f} tps, lat 10.000 ms stddev 0.000\n"
        for at_s, rate in enumerate(rates, start=1)
    ]
    result = PGBENCH.parse(replace(UNLOGGED, duration_s=10), printing(stdout, "".join(lines)))
    assert "client-ended" not in {doubt.code for doubt in result.doubts}


def moments_of(rates: Iterable[float]) -> list[moments.Moment]:
    return [moments.Moment(float(at_s), rate, 10.0, 0.0) for at_s, rate in enumerate(rates, start=1)]


def summary_of(clients: int, seconds: int, tps: float) -> dict[str, Measure]:
    values = {moments.CLIENTS: clients, "transactions": seconds * tps, "latency_average_ms": 10.0, "tps": tps}
    return {name: Measure(float(value), "") for name, value in values.items()}


def test_clients_that_idled_more_than_what_is_lost_may_idle_more_from_some_moment_on() -> None:
    reports = moments_of([*[1000.0] * 5, *[900.0] * 5])
    assert list(moments.ended_client(reports, summary_of(16, 10, 950.0))) == []
    assert list(moments.ended_client(reports, summary_of(10, 10, 950.0)))


class Counted(float):
    """A number that counts how often numbers like it are compared; what is computed of it counts on."""

    comparisons: ClassVar[int] = 0

    def __mul__(self, other: float) -> Counted:
        return Counted(float(self) * other)

    def __truediv__(self, other: float) -> Counted:
        return Counted(float(self) / other)

    def __lt__(self, other: float) -> bool:
        Counted.comparisons += 1
        return float(self) < float(other)

    def __gt__(self, other: float) -> bool:
        Counted.comparisons += 1
        return float(self) > float(other)


def comparisons(count: int) -> int:
    Counted.comparisons = 0
    assert list(moments.ended_client(moments_of([Counted(400.0)] * count), summary_of(4, count, 400.0))) == []
    return Counted.comparisons


def test_the_look_for_a_client_that_ended_compares_each_report_a_few_times() -> None:
    assert comparisons(400) < 2.5 * comparisons(200)
