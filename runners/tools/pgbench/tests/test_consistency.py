"""What contradicts itself within pgbench's own text."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from runners.contract import Doubt
from runners.tools.pgbench.testing import PGBENCH, UNLOGGED, printing, recorded

LIMITED = recorded("18", "rate_limited").stdout.decode()
COUNTED = recorded("18", "logged").stdout.decode()
REPORT = "progress: 1.0 s, 100.0 tps, lat 2.000 ms stddev 0.500, 0 failed, lag {} ms\n"


def codes(stdout: str, stderr: str = "") -> set[str]:
    spec = replace(UNLOGGED, clients=2, threads=2, duration_s=1)
    return {doubt.code for doubt in PGBENCH.parse(spec, printing(stdout, stderr)).doubts}


def test_the_clients_transactions_come_to_those_that_were_planned() -> None:
    more = re.sub(r"(per client: \d+)", r"\g<1>0", COUNTED)
    assert more != COUNTED
    assert "count" not in codes(COUNTED)
    assert "count" in codes(more)


def test_a_share_counts_however_many_decimals_it_has() -> None:
    assert "share" not in codes(COUNTED)
    assert "share" in codes(COUNTED.replace("(0.000%)", "(1%)"))


@pytest.mark.parametrize(("lag", "is_wrong"), [("0.500", False), ("2.500", True)])
def test_a_lag_over_time_is_a_part_of_the_latency(lag: str, *, is_wrong: bool) -> None:
    text = re.sub(r"\(max \S+\)", "(max 900.000)", LIMITED)
    assert any("has a lag of" in doubt.text for doubt in _doubts(text, lag)) == is_wrong


@pytest.mark.parametrize(("longest", "is_wrong"), [("0.900", False), ("0.400", True)])
def test_no_lag_over_time_is_above_the_longest(longest: str, *, is_wrong: bool) -> None:
    text = re.sub(r"\(max \S+\)", f"(max {longest})", LIMITED)
    assert any("has a lag of" in doubt.text for doubt in _doubts(text, "0.500")) == is_wrong


def _doubts(stdout: str, lag: str) -> list[Doubt]:
    spec = replace(UNLOGGED, clients=2, threads=2, duration_s=1)
    return list(PGBENCH.parse(spec, printing(stdout, REPORT.format(lag))).doubts)
