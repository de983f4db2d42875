"""Percentiles second by second, out of logs that were written so that they are known."""

import math
import os
import random
import subprocess

import pytest

from runners.tools.pgbench.testing import AWKS
from runners.tools.seconds import SECONDS_AWK, series

START = 1_700_000_000


def reduced(awk, log):
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(
        [*awk, SECONDS_AWK], input=log.encode(), capture_output=True, check=True, env=environment
    ).stdout.decode()


def line(latency_us, at_s):
    return f"0 1 {latency_us} 0 {START + int(at_s)} {int(at_s % 1 * 1_000_000)}\n"


@pytest.mark.parametrize("awk", AWKS, ids=" ".join)
def test_each_second_has_its_own_percentiles_within_the_width_of_a_bin(awk):
    draw = random.Random(1)
    log, latencies = line(0, 0), {}
    for second, middle_us in enumerate((1_000, 5_000)):
        latencies[second] = sorted(int(middle_us * draw.lognormvariate(0, 0.5)) for _ in range(2_000))
        log += "".join(line(us, second + 0.0002 + 0.0004 * i) for i, us in enumerate(latencies[second]))
    by_name = {item.metric: item.values for item in series(reduced(awk, log), 7.0, 2)}
    for name, share in (("latency_p50_ms", 0.5), ("latency_p95_ms", 0.95), ("latency_p99_ms", 0.99)):
        expected = [latencies[second][math.ceil(share * 2_000) - 1] / 1000 for second in (0, 1)]
        assert by_name[name] == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("awk", AWKS, ids=" ".join)
def test_a_percentile_that_too_few_lie_above_is_not_told_and_a_second_without_any_is_empty(awk):
    log = "".join(line(100, 0.001 * i) for i in range(250)) + line(100, 2.5) + "0 1 skipped 0 1700000003 4 0\nx\n"
    text = reduced(awk, log)
    assert [row.split()[0] for row in text.splitlines()] == ["250", "0", "1", "end"]
    by_name = {item.metric: item.values for item in series(text, 7.0, 3)}
    assert by_name == {"latency_p50_ms": (pytest.approx(0.1, rel=0.02), None, None),
                       "latency_p95_ms": (pytest.approx(0.1, rel=0.02), None, None)}  # fmt: skip


@pytest.mark.parametrize("text", ["", "end\n", "\0", "1 nan inf -1\n", "1 2 3\n", "a b c d\n" * 20_000, "9" * 100_000])
def test_a_text_of_another_kind_gives_nothing(text):
    assert series(text, 7.0, 10) == ()


@pytest.mark.parametrize("awk", AWKS, ids=" ".join)
def test_a_log_of_nothing_or_of_impossible_times_is_no_error(awk):
    for log in ("", "0 1 100 0 99999999999999999999 1\n", "0 1 100 0 1700000000 1\n0 1 100 0 1900000000 1\n"):
        assert reduced(awk, log).endswith("end\n")
