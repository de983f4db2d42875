"""sysbench: its recorded report, and runs against real servers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from benchhub.embedded.postgres import Cluster
from runners import tools
from runners.contract import Histogram, Outputs, RunResult
from runners.tests.patience import LOAD_S
from runners.tools.histogram import percentile_us
from runners.tools.pgbench.testing import run
from runners.tools.sysbench.consistency import percentile_doubts
from runners.tools.sysbench.report import BUCKET
from runners.tools.tatp.testing import SPEC as ANY_SPEC
from runners.tools.tatp.testing import spec_of

SYSBENCH = tools.get("sysbench")
RECORDED = Path(__file__).resolve().parents[2] / "recorded" / "sysbench-1.0.20-oltp_read_write.txt"
PARAMETERS = {"script": "oltp_read_write", "tables": 2, "table_size": 1_000}
SPEC = replace(ANY_SPEC, tool="sysbench", parameters=PARAMETERS)


def parsed(text: bytes, returncode: int = 0, stderr: bytes = b"") -> RunResult:
    return SYSBENCH.parse(SPEC, Outputs(returncode, text, stderr, {"started_epoch": b"100\n"}))


def test_the_recorded_report_is_read() -> None:
    result = parsed(RECORDED.read_bytes())
    assert result.outcome == "succeeded", result.reason
    value = {name: measure.value for name, measure in result.measures.items()}
    assert (value["tps"], value["transactions"], value["queries"]) == (1306.21, 19608, 392232)
    assert (value["ignored_errors"], value["latency_average_ms"]) == (4, 3.06)
    assert result.measures["tps"].unit == "TPS"
    assert result.remarks == (
        "Measured by sysbench 1.0.20.",
        "4 transactions failed (deadlocks and the like) and were tried again.",
    )


@pytest.mark.parametrize(("at_s", "is_doubted"), [(15, False), (20, True)])
def test_a_report_that_comes_soon_after_a_late_one_may_be_of_commits_alone(at_s: int, is_doubted: bool) -> None:
    """Each thread had sent the statements of its transaction before, and all of them end in so short a time."""
    first, second, third = re.findall(r"^\[.*\n", RECORDED.read_text(), re.MULTILINE)
    commits = "thds: 4 tps: 20.00 qps: 20.00 (r/w/o: 0.00/0.00/20.00) lat (ms,90%): 5.28 err/s: 0.00 reconn/s: 0.00 \n"
    text = RECORDED.read_text().replace(second + third, third + f"[ {at_s}s ] {commits}")
    texts = [doubt.text for doubt in parsed(text.encode()).doubts]
    assert first in text and text.count("[ ") == 3
    assert any("reads, of 20.00 transactions and errors" in doubt for doubt in texts) == is_doubted


def test_empty_lines_before_a_report_are_passed_over_once() -> None:
    """Looked at again from each of them, they would take longer than anybody waits."""
    text = RECORDED.read_bytes()
    assert parsed(b"\n" * 300_000 + text).measures == parsed(text).measures


def test_the_recorded_histogram_has_every_transaction_and_the_printed_percentile() -> None:
    """Buckets are 1.8% wide, so the 90th percentile lies within half of that of the printed 4.82 ms."""
    result = parsed(RECORDED.read_bytes())
    [histogram] = result.histograms
    assert histogram.total == 19608
    assert result.measures["latency_p90_ms"].value * 1000 == percentile_us(histogram, 0.9)
    assert percentile_us(histogram, 0.9) == pytest.approx(4820, rel=0.01)
    assert all(low < high for low, high in zip(histogram.lower_us, histogram.upper_us, strict=True))
    assert all(a <= b for a, b in zip(histogram.upper_us, histogram.lower_us[1:], strict=False))


# Sixteen stalled for 5.9 s; no bucket between was filled. Of 1,687 the rank 1,602.65 + 0.5 is rounded down to 1,603.
SPARSE = """\
       0.797 |**************************************** 1436
      20.002 |*******                                  235
    5918.866 |                                         16
"""


def test_empty_buckets_that_are_not_printed_make_no_other_one_wider() -> None:
    text = re.sub(r"^ +[0-9.]+ \|.*\n", "", RECORDED.read_text(), flags=re.MULTILINE)
    text = text.replace("SQL statistics:", f"{SPARSE} \nSQL statistics:").replace("29.89", "5918.53")
    [histogram] = parsed(text.encode()).histograms
    middles_ms = [(low + high - 1) / 2000 for low, high in zip(histogram.lower_us, histogram.upper_us, strict=True)]
    assert middles_ms == pytest.approx([0.797, 20.002, 5918.866], rel=0.001)
    assert percentile_us(histogram, 0.95) == pytest.approx(20_002, rel=0.001)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("5.090", "5.090", []),
        ("5.090", "5.446", ["histogram"]),  # 5.375 and 5.472 are buckets
        ("5.090", "0.509", ["histogram"]),  # a bucket, but not after 5.000
        ("5.090", "5.183", ["histogram"]),  # a bucket, twice
    ],
)
def test_a_bucket_that_is_none_of_sysbench_s_is_no_histogram(old: str, new: str, expected: list[str]) -> None:
    text = RECORDED.read_text().replace(f"       {old} |", f"       {new} |")
    assert [doubt.code for doubt in parsed(text.encode()).doubts] == expected


def test_a_histogram_that_counts_longer_latencies_in_its_last_bucket_is_none() -> None:
    assert parsed(RECORDED.read_text().replace("29.89", "100000.01").encode()).histograms == ()


@pytest.mark.parametrize(
    ("percentile", "expected"), [("20.00", []), ("0.80", ["histogram"]), ("5918.87", ["histogram"])]
)
def test_a_percentile_is_that_of_its_rank_rounded_to_the_nearest(percentile: str, expected: list[str]) -> None:
    """0.95 x 1,687 + 0.5 = 1,603.15, so that of the 1,603rd: 20 ms, however few lie above it."""
    histogram = Histogram("latency", (790, 19_823, 5_865_821), (804, 20_183, 5_972_388), (1436, 235, 16), 1, 790, 10**7)
    text = f"        95th percentile: {percentile:>27}"
    assert [doubt.code for doubt in percentile_doubts(text, histogram)] == expected


def test_a_report_without_transactions_that_has_a_rate_is_read() -> None:
    text = RECORDED.read_text().replace("transactions:                        19608", "transactions: 0")
    assert "transactions: 0" in text
    assert parsed(text.encode()).measures["transactions"].value == 0


def test_without_a_histogram_the_percentile_is_the_printed_one() -> None:
    result = parsed(BUCKET.sub("", RECORDED.read_text()).encode())
    assert result.histograms == ()
    assert result.measures["latency_p90_ms"].value == 4.82
    assert "latency_p50_ms" not in result.measures


def test_a_line_of_five_seconds_gives_each_second_its_rate() -> None:
    series = {line.metric: line for line in parsed(RECORDED.read_bytes()).series}
    assert series["tps"].values == (1784.31,) * 5 + (1008.64,) * 5 + (1127.41,) * 5
    assert series["errors_per_s"].values[4:6] == (0.6, 0.0)
    assert series["tps"].start_epoch_s == 100


@pytest.mark.parametrize(
    ("text", "returncode", "reason"),
    [
        (b"", 0, "has no transactions"),
        (b"FATAL: Connection to database failed: no such host\n", 1, "Connection to database failed: no such host"),
        (RECORDED.read_bytes(), 1, "ended with code 1"),
    ],
)
def test_what_is_no_report_is_a_failed_run(text: bytes, returncode: int, reason: str) -> None:
    result = parsed(text, returncode)
    assert (result.outcome, result.measures) == ("failed", {})
    assert reason in result.reason


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({}, "needs the parameter 'script'"),
        ({"script": "oltp_delete"}, "is no script here"),
        ({**PARAMETERS, "tables": 0}, "tables must be a whole number from 1"),
        ({**PARAMETERS, "scale": 1}, "no parameter 'scale'"),
    ],
)
def test_what_is_no_workload_is_refused(parameters: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        SYSBENCH.data_set(parameters)


@pytest.mark.target
@pytest.mark.skipif(which("sysbench") is None, reason="sysbench is not installed")
@pytest.mark.parametrize("script", ["oltp_read_write", "oltp_point_select"])
def test_a_run_against_a_server_is_loaded_verified_and_read(cluster16: Cluster, tmp_path: Path, script: str) -> None:
    spec = replace(spec_of(cluster16), tool="sysbench", parameters={**PARAMETERS, "script": script})
    spec = replace(spec, duration_s=LOAD_S, clients=2)
    loaded = run(cluster16, tmp_path, SYSBENCH.load_command(replace(spec, kind="load")))
    assert loaded.returncode == 0, (loaded.stdout, loaded.stderr)
    assert run(cluster16, tmp_path, SYSBENCH.verify_command(spec)).returncode == 0
    larger = replace(spec, parameters={**PARAMETERS, "table_size": 1_001})
    assert run(cluster16, tmp_path, SYSBENCH.verify_command(larger)).returncode == 1
    measured = run(cluster16, tmp_path, SYSBENCH.measure_command(spec))
    result = SYSBENCH.parse(spec, measured)
    assert result.outcome == "succeeded", (measured.stdout, measured.stderr)
    assert result.measures["tps"].value > 0
    assert result.histograms[0].total == result.measures["transactions"].value
    assert len(result.series[0].values) >= 1
