"""Runs that ended well are judged as deliveries: each doubt is true of them; and so are some that lost a client."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchhub.bench.results.tests.recordings import ODD, ended_run, judged, odd_run
from runners.contract import Outputs

CAUTIONS = {"few-transactions", "overrun", "threads-uneven", "excluding-overstated", "failures"}
# One report of a run of 7 s, by -P 5 --progress-timestamp.
SUMMARY = """\
pgbench (18.4)
transaction type: <builtin: select only>
scaling factor: 10
query mode: simple
number of clients: 4
number of threads: 2
maximum number of tries: 1
duration: 7 s
number of transactions actually processed: 1922
number of failed transactions: 0 (0.000%)
latency average = 14.570 ms
latency stddev = 0.081 ms
initial connection time = 3.906 ms
tps = 274.571429 (without initial connection time)
"""
REPORT = "progress: 1701002822.546 s, 274.6 tps, lat 14.570 ms stddev 0.081, 0 failed\n"


@pytest.mark.parametrize("version", ["15", "16", "18"])
@pytest.mark.parametrize("case", ["whole", "whole_derived", "whole_transactions"])
def test_a_whole_run_has_no_doubt(version: str, case: str) -> None:
    assert [doubt.text for doubt in judged(*ended_run(f"{version}-{case}"))] == []


@pytest.mark.parametrize("version", ["15", "16", "18"])
def test_a_whole_run_of_few_transactions_at_a_rate_is_doubted_for_these_alone(version: str) -> None:
    assert {doubt.code for doubt in judged(*ended_run(f"{version}-whole_limited"))} == {"few-transactions"}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_run_has_no_doubt_that_is_not_true_of_it(name: str) -> None:
    assert {doubt.code for doubt in judged(*odd_run(name))} <= CAUTIONS


def test_a_run_is_not_cut_short_by_its_single_report_with_a_time_since_1970() -> None:
    spec = replace(ended_run("18-whole")[0], tool_version="18.4", threads=2, duration_s=7)
    spec = replace(spec, parameters={"script": "select-only", "scale": 10})
    assert judged(spec, Outputs(0, SUMMARY.encode(), REPORT.encode())) == []


@pytest.mark.parametrize("version", ["15", "16", "18"])
@pytest.mark.parametrize(
    ("case", "is_seen"),
    [
        ("one_killed", True),
        ("one_killed_per_statement", True),
        ("one_killed_derived", False),
        ("one_killed_late", False),
    ],
)
def test_a_client_that_died_early_is_doubted_from_the_summary_alone(version: str, case: str, *, is_seen: bool) -> None:
    """A derived average is of clients and duration, so that it tells nothing; one that died late leaves little time."""
    spec, outputs = ended_run(f"{version}-{case}")
    doubts = {doubt.code: doubt.text for doubt in judged(spec, Outputs(None, outputs.stdout, b""))}
    assert ("clients-idle" in doubts) == is_seen
    assert not is_seen or "a client ended early" in doubts["clients-idle"]
