"""Reports of progress: with times since 1970, out of merged streams, cut and damaged."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from runners.contract import Measure, Outputs, RunResult
from runners.tools.pgbench import progress
from runners.tools.pgbench.testing import PGBENCH, UNLOGGED, printing, recorded, series

LINE = "progress: {} s, {} tps, lat 1.500 ms stddev 0.250"
SUMMARY = recorded("18", "plain").stdout.decode()
VERSIONS = ["13", "14", "15", "16", "18"]


def lines(*reports: tuple[str, str]) -> str:
    return "".join(LINE.format(*report) + "\n" for report in reports)


def summary(transactions: int, tps: float) -> str:
    counted = re.sub(r"(actually processed: )\d+", rf"\g<1>{transactions}", SUMMARY)
    return re.sub(r"tps = \S+", f"tps = {tps:.6f}", re.sub(r"(connection time = )\S+", r"\g<1>0.000", counted))


def parsed(stdout: str, stderr: str = "") -> RunResult:
    result = PGBENCH.parse(UNLOGGED, printing(stdout, stderr))
    assert result.outcome == "succeeded", result.reason
    return result


def test_times_since_1970_say_when_the_run_started() -> None:
    text = lines(("1700000001.018", "10.0"), ("1700000002.018", "20.0"), ("1700000004.020", "30.0"))
    result = parsed(SUMMARY, text)
    assert series(result)["tps"] == (10, 20, 30, 30)
    assert [line.start_epoch_s for line in result.series] == pytest.approx([1_700_000_000.018] * len(result.series))
    assert not any("is not known" in remark for remark in result.remarks)


def test_a_report_every_five_seconds_is_for_five_seconds_also_with_times_since_1970() -> None:
    text = lines(("1700000005.000", "10.0"), ("1700000010.000", "20.0"))
    assert series(parsed(summary(150, 15.0), text))["tps"] == (10,) * 5 + (20,) * 5


def test_how_many_seconds_a_report_stands_for_is_a_measure_however_alike_they_are() -> None:
    alike = lines(("2.0", "1.0"), ("4.0", "1.0"), ("6.0", "1.0"))
    assert parsed(summary(6, 1.0), alike).measures["report_interval_s"] == Measure(2, "s")
    assert parsed(summary(6, 1.0), lines(("5.0", "1.0"))).measures["report_interval_s"].value == 5
    for stderr in ("", lines(("1700000005.000", "1.0"))):
        assert "report_interval_s" not in parsed(summary(6, 1.0), stderr).measures


def test_a_single_report_with_its_time_since_1970_stands_for_nobody_knows_how_many_seconds() -> None:
    unknown = parsed(summary(1922, 274.0), lines(("1700000005.000", "274.6")))
    assert unknown.series == () and progress.UNKNOWN_LENGTH in unknown.remarks
    of_the_run = parsed(summary(1922, 274.0), lines(("7.0", "274.6")))
    assert series(of_the_run)["tps"] == (274.6,) * 7 and progress.UNKNOWN_LENGTH not in of_the_run.remarks


def test_no_run_begins_so_early_that_its_last_report_came_after_its_end() -> None:
    """Steps of 2.8, 0.2 and 20.1 s: only the last is nearly whole, and 4 x 20 s before 24.1 lie long before the run."""
    times = ("1700000001.000", "1700000003.763", "1700000004.000", "1700000024.100")
    result = parsed(summary(241, 10.0), lines(*((at_s, "10.0") for at_s in times)))
    assert result.series[0].start_epoch_s == 1_700_000_000


def test_times_of_the_run_begin_when_it_was_started_or_at_0() -> None:
    text = lines(("1.0", "10.0"), ("2.0", "20.0"))
    started = replace(printing(SUMMARY, text), files={"started_epoch": b"1700000000\n"})
    assert {line.start_epoch_s for line in PGBENCH.parse(UNLOGGED, started).series} == {1_700_000_000}
    assert "When the run started is not known: its series begin at 0." in parsed(SUMMARY, text).remarks


@pytest.mark.parametrize("version", VERSIONS)
def test_merged_streams_have_the_series_of_separate_ones(version: str) -> None:
    outputs = recorded(version, "progress")
    separate = series(parsed(outputs.stdout.decode(), outputs.stderr.decode()))
    merged = outputs.stderr + outputs.stdout, outputs.stdout + outputs.stderr
    for stdout in (*merged, merged[0].replace(b"\n", b"\r\n")):
        assert series(parsed(stdout.decode())) == separate
        assert len(separate["tps"]) == 3


def test_a_warning_in_merged_streams_is_remarked() -> None:
    result = parsed("pgbench: warning: scale option ignored\n" + SUMMARY)
    assert "pgbench warned: scale option ignored." in result.remarks


def test_lines_that_both_streams_have_count_once() -> None:
    text = lines(("1.0", "10.0"), ("2.0", "20.0"))
    result = parsed(text + SUMMARY, text)
    assert series(result)["tps"] == (10, 20)
    assert not any("other lines of progress" in remark for remark in result.remarks)
    other = parsed(lines(("1.0", "99.0")) + SUMMARY, text)
    assert series(other)["tps"] == (10, 20)
    assert any("other lines of progress" in remark for remark in other.remarks)


@pytest.mark.parametrize(
    "line",
    [
        "progress: 2.0 s, ab tps, lat 1.000 ms stddev 0.100",
        "progress: 2.0 s, 10.0 tps",
        "progress: 2 s, 10.0 tps, lat 1.000 ms stddev 0.100",
        "progress: 2.0 s, 10.0 tps, lat 1.000 ms stddev 0.100, 3 unheard of",
        "progress: 2.0 s, 1.2.3 tps, lat 1.000 ms stddev 0.100",
    ],
)
def test_a_line_that_cannot_be_read_is_remarked_and_never_dropped_in_silence(line: str) -> None:
    result = parsed(SUMMARY, lines(("1.0", "10.0")) + line + "\n" + lines(("3.0", "30.0")))
    assert series(result)["tps"] == (10, 30, 30)
    assert any(remark.startswith("1 of the 3 lines of progress cannot be read") for remark in result.remarks)
    [doubt] = [doubt for doubt in result.doubts if doubt.code == "progress-unreadable"]
    assert line in doubt.text
    cut = parsed(SUMMARY, lines(("1.0", "10.0")) + line)
    assert not any(doubt.code == "progress-unreadable" for doubt in cut.doubts)
    alone = parsed(SUMMARY, line)
    assert alone.series == ()
    assert "None of the 1 lines of progress can be read: there are no values over time." in alone.remarks


def test_a_time_that_no_run_can_have_is_remarked() -> None:
    result = parsed(SUMMARY, lines(("1.0", "10.0"), ("9999999.0", "30.0")))
    assert series(result)["tps"] == (10,)
    assert any(remark.startswith("1 of the 2 lines of progress cannot be read") for remark in result.remarks)


def test_no_report_is_no_series_and_no_remark() -> None:
    assert progress.read("", "", None) == progress.Progress()


def test_a_second_report_within_a_tenth_of_a_second_changes_nothing() -> None:
    assert series(parsed(SUMMARY, lines(("1.0", "10.0"), ("2.0", "20.0"), ("2.0", "99.0"))))["tps"] == (10, 20)


def test_progress_that_falls_is_of_another_run() -> None:
    outputs = Outputs(0, SUMMARY.encode(), lines(("1.0", "10.0"), ("2.0", "20.0"), ("1.0", "10.0")).encode())
    assert "stderr holds 2 runs, beginning at lines 1 and 3" in PGBENCH.parse(UNLOGGED, outputs).reason


def test_the_seconds_of_several_missing_reports_have_no_values() -> None:
    result = parsed(SUMMARY, lines(("10.0", "10.0"), ("590.0", "20.0"), ("600.0", "30.0")))
    tps = series(result)["tps"]
    assert (tps[:10], set(tps[10:580]), tps[580:590], tps[590:]) == ((10,) * 10, {None}, (20,) * 10, (30,) * 10)
    assert "Reports of progress are missing: 570 s have no values over time." in result.remarks


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (("5.0", "10.0", "15.0", "23.7", "25.0", "30.0"), 30),
        (("10.0", "20.0", "30.0", "48.6", "50.0", "60.0"), 60),
        (("10.0", "28.6", "30.0"), 30),
    ],
)
def test_one_late_report_takes_no_seconds_from_the_punctual_ones(times: tuple[str, ...], expected: int) -> None:
    result = parsed(SUMMARY, lines(*((at_s, "10.0") for at_s in times)))
    assert series(result)["tps"] == (10,) * expected
    assert result.has_late_reports
    assert not any("are missing" in remark for remark in result.remarks)


def test_a_stall_that_ends_on_time_is_no_gap() -> None:
    """Of 100 TPS, 50 ended in the 8 s of a stall."""
    result = parsed(SUMMARY, lines(("1.0", "100.0"), ("2.0", "100.0"), ("10.0", "6.2"), ("11.0", "100.0")))
    assert series(result)["tps"] == (100, 100, *(6.2,) * 8, 100)
    assert not any("are missing" in remark for remark in result.remarks)


def test_reports_are_late_by_their_times_and_not_by_their_values() -> None:
    assert not parsed(SUMMARY, lines(("1.0", "0.0"), ("2.0", "0.0"), ("3.0", "10.0"))).has_late_reports
    assert parsed(SUMMARY, lines(("1.0", "1.0"), ("3.4", "2.0"), ("4.0", "3.0"))).has_late_reports


def test_a_report_that_comes_late_is_about_all_seconds_since_the_one_before() -> None:
    result = parsed(SUMMARY, lines(("1.0", "10.0"), ("2.0", "20.0"), ("7.4", "3.0"), ("8.0", "40.0")))
    assert series(result)["tps"] == (10, 20, 3, 3, 3, 3, 3, 40)
    assert not any("are missing" in remark for remark in result.remarks)


SKIPPING = """transaction type: SELECT only
scaling factor: 1
query mode: simple
number of clients: 2
number of threads: 1
duration: 2 s
number of transactions actually processed: 30
number of transactions skipped: 30 (50.000 %)
latency average: 40.000 ms
latency stddev: 10.000 ms
rate limit schedule lag: avg 2.000 (max 9.000) ms
tps = 15.000000 (including connections establishing)
tps = 15.000000 (excluding connections establishing)
"""


@pytest.mark.parametrize(
    ("version", "first", "second", "expected"),
    [
        # 20 of the first second, 10 of them skipped: half of its transactions have all of its latency.
        ("9.6.24", "20.0 tps, lat 20.000 ms stddev 20.616", "40.0 tps, lat 20.000 ms stddev 20.616", (10.0, 20.0)),
        ("10.23", "10.0 tps, lat 40.000 ms stddev 5.000", "20.0 tps, lat 40.000 ms stddev 5.000", (10.0, 20.0)),
    ],
)
def test_skipped_transactions_are_in_no_rate_although_old_versions_count_them(
    version: str, first: str, second: str, expected: tuple[float, float]
) -> None:
    """Of 20 with squares of 20.616**2 + 20**2 = 825 on average, 10 have 1,650: 40**2 + 50, and a deviation of 7.07."""
    stderr = (
        f"progress: 1.0 s, {first}, lag 1.000 ms, 10 skipped\nprogress: 2.0 s, {second}, lag 1.000 ms, 20 skipped\n"
    )
    spec = replace(
        UNLOGGED, tool_version=version, parameters={**UNLOGGED.parameters, "rate_tps": 30, "latency_limit_ms": 50}
    )
    values = series(PGBENCH.parse(spec, printing(SKIPPING, stderr)))
    assert values["tps"] == expected
    assert values["latency_ms"] == (40.0, 40.0)
    assert values["latency_stddev_ms"] == pytest.approx((7.07, 7.07) if version == "9.6.24" else (5.0, 5.0), abs=0.01)


WIDE = "progress: 1.0 s, 145.9 tps, lat 14.039 ms stddev 5.878, 71 failed, 98 retried, 98 retries\n"


@pytest.mark.parametrize("width", (56, 57, 70, 80))
def test_a_line_that_a_terminal_has_broken_is_is_read_whole_or_named(width: int) -> None:
    result = parsed(SUMMARY, f"{WIDE[:width]}\n{WIDE[width:]}")
    assert {name: values for name, values in series(result).items() if name != "warmup_tps"} == {
        "tps": (145.9,),
        "latency_ms": (14.039,),
        "latency_stddev_ms": (5.878,),
        "failed": (71.0,),
        "retried": (98.0,),
        "retries": (98.0,),
    }
    # What was cut off there is no number.
    assert "5.8" not in str(series(parsed(SUMMARY, "progress: 1.0 s, 145.9 tps, lat 14.039 ms stddev 5.8\n")))


@pytest.mark.parametrize("nothing", ["nan", "-nan", "NaN", "Infinity"])
def test_a_second_without_transactions_has_latency_0_however_that_is_printed(nothing: str) -> None:
    line = f"progress: 1.0 s, 0.0 tps, lat {nothing} ms stddev {nothing}\n"
    assert series(parsed(SUMMARY, line))["latency_ms"] == (0.0,)


@pytest.mark.parametrize(
    ("tps", "is_read"), [("5609.1", True), ("5609.123", True), ("5609.12", False), ("5609", False)]
)
def test_a_rate_has_one_decimal_of_pgbench_or_three_of_the_log_of_tatp(tps: str, is_read: bool) -> None:
    line = f"progress: 1.000 s, {tps} tps, lat 0.140 ms stddev 0.100"
    assert bool(progress.PROGRESS_LINE.match(line)) is is_read
