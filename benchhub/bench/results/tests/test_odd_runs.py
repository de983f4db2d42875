"""Runs that are odd but honest: none contradicts itself, and its measures are those that it printed."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from benchhub.analysis.doubts.doubt import Weight
from benchhub.bench.results.tests.recordings import (
    ODD,
    RECORDED,
    odd_run,
    result_and_doubts,
    sysbench_run,
    tatp_run,
)
from runners.contract import Outputs, RunSpec
from runners.tools.pgbench.testing import SPEC, recorded

# What is true of such runs and no contradiction: the number rests on little, or on more than the plan.
CAUTIONS = {"few-transactions", "overrun", "threads-uneven", "excluding-overstated"}
PRINTED = {
    "transactions": r"^number of transactions actually processed: (\d+)",
    "failed_transactions": r"^number of failed transactions: (\d+)",
    "skipped_transactions": r"^number of transactions skipped: (\d+)",
    "latency_average_ms": r"^latency average(?: =|:) (\S+) ms",
    "latency_stddev_ms": r"^latency stddev = (\S+) ms",
    "retries": r"^total number of retries: (\d+)",
}


def test_there_are_enough_of_them() -> None:
    assert len(ODD) >= 60
    assert {name.partition("-")[0] for name in ODD} == {"9.5", "9.6", "10", "11", "12", "13", "14", "15", "16", "18"}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_run_carries_no_contradiction(name: str) -> None:
    result, doubts = result_and_doubts(*odd_run(name))
    assert result.outcome == "succeeded", result.reason
    assert [doubt.text for doubt in doubts if doubt.weight == Weight.CONTRADICTED] == []
    assert {doubt.code for doubt in doubts} <= CAUTIONS


@pytest.mark.parametrize("name", ODD)
def test_its_measures_are_those_in_its_text(name: str) -> None:
    spec, outputs = odd_run(name)
    result, _ = result_and_doubts(spec, outputs)
    for measure, line in PRINTED.items():
        printed = re.search(line, outputs.stdout.decode(), re.MULTILINE)
        assert (measure in result.measures) == bool(printed)
        assert not printed or result.measures[measure].value == float(printed[1])
    rates = re.findall(r"^tps = (\S+) ", outputs.stdout.decode(), re.MULTILINE)
    assert result.measures["tps"].value == float(rates[0 if spec.parameters.get("connect_each") else -1])


# Options of record.sh that differ from SPEC; a case with a planned number of transactions has no duration.
PLANS: dict[str, dict[str, object]] = {
    "plain": {"duration_s": 1},
    "progress": {"duration_s": 3},
    "vacuumed": {"clients": 2, "threads": 1, "duration_s": 1},
    "logged": {"duration_s": 0, "log_sampling_rate": 1.0},
    "sampled": {"clients": 2, "threads": 2, "duration_s": 1, "log_sampling_rate": 0.01},
    "aggregated": {"clients": 2, "threads": 2, "duration_s": 4},
    "connect_each": {"clients": 2, "threads": 2, "duration_s": 1},
    "rate_limited": {"clients": 1, "threads": 1, "duration_s": 3, "log_sampling_rate": 1.0},
    "several_scripts": {"clients": 2, "threads": 2, "duration_s": 1, "log_sampling_rate": 1.0},
}
SLEEP = {"text": "SELECT pg_sleep(0.01);"}
PARAMETERS: dict[str, dict[str, object]] = {
    "connect_each": {"connect_each": True},
    "logged": {"script": "simple-update"},
    "progress": {"query_mode": "prepared"},
    "rate_limited": {"script": "custom", "scripts": [SLEEP], "rate_tps": 60, "latency_limit_ms": 20},
    "several_scripts": {"script": "custom", "scripts": [{**SLEEP, "weight": 3}, SLEEP], "query_mode": "prepared"},
    "vacuumed": {"script": "tpcb-like", "query_mode": "extended"},
}


def planned(version: str, case: str) -> RunSpec:
    values = {"log_sampling_rate": 0.0, "clients": 4, "threads": 2, **PLANS[case]}
    parameters = {"script": "select-only", "scale": 1, **PARAMETERS.get(case, {})}
    return RunSpec(SPEC.tool, version, SPEC.bin_directory, SPEC.endpoint, parameters, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", ["13", "14", "15", "16", "18"])
@pytest.mark.parametrize("case", sorted(PLANS))
def test_every_other_recording_agrees_with_itself(version: str, case: str) -> None:
    result, doubts = result_and_doubts(planned(version, case), recorded(version, case))
    assert result.outcome == "succeeded", result.reason
    assert [doubt.text for doubt in doubts if doubt.weight == Weight.CONTRADICTED] == []


NEWER = """pgbench (19.0)
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 1
query mode: simple
number of clients: 4
number of threads: 2
maximum number of tries: 1
duration: 10 s
number of transactions actually processed: 9000
number of failed transactions: 1000 (10.000%)
number of serialization failures: 200 (2.000%)
number of deadlock failures: 100 (1.000%)
number of other failures: 700 (7.000%)
latency average = 4.000 ms (including failures)
initial connection time = 3.000 ms
tps = 900.000000 (without initial connection time)
"""


def test_failures_of_other_kinds_are_counted_with_the_rest() -> None:
    parameters = {"script": "tpcb-like", "scale": 1, "failures_detailed": True}
    spec = replace(SPEC, tool_version="19.0", duration_s=10, parameters=parameters)
    result, doubts = result_and_doubts(spec, Outputs(0, NEWER.encode(), b""))
    assert (result.measures["other_failures"].value, doubts) == (700, [])
    fewer = NEWER.replace("other failures: 700 (7.000%)", "other failures: 500 (5.000%)")
    assert {doubt.code for doubt in result_and_doubts(spec, Outputs(0, fewer.encode(), b""))[1]} == {"failure-count"}


def test_sysbench_and_tatp_agree_with_themselves() -> None:
    for spec, outputs in (sysbench_run(), tatp_run()):
        result, doubts = result_and_doubts(spec, outputs)
        assert result.outcome == "succeeded", result.reason
        assert doubts == []
    assert (RECORDED / "odd").is_dir()
