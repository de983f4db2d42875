"""Load shapes against real servers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchhub.embedded.postgres import Cluster
from runners.contract import RunSpec
from runners.tools.pgbench.testing import PGBENCH, load, measured_and_reduced, numbers, run, series

pytestmark = pytest.mark.target


def test_a_burst_is_offered_in_its_seconds_while_the_other_connections_are_kept(
    cluster: Cluster, spec: RunSpec, tmp_path: Path
) -> None:
    shaped = replace(
        spec,
        parameters={**spec.parameters, "load_shape": "50 for 6, 200 for 6, 50 for 3"},
        clients=4,
        threads=2,
        duration_s=15,
    )
    load(cluster, tmp_path, shaped)
    assert run(cluster, tmp_path, PGBENCH.warmup_command(shaped)).returncode == 0
    outputs = run(cluster, tmp_path, measured_and_reduced(shaped))
    # All processes print one rate while they run, and none its own at the end.
    progress = [line for line in outputs.stderr.decode().splitlines() if line.startswith("progress: ")]
    assert progress and all(
        re.fullmatch(r"progress: \d+\.\d s, \d+\.0 tps of all processes", line) for line in progress
    )
    result = PGBENCH.parse(shaped, outputs)
    measures = numbers(result)
    # 1650 transactions by chance, of which connecting, and a busy machine at the end, may cost some.
    assert 1050 < measures["transactions"] < 2250
    assert measures["logged_transactions"] == measures["transactions"]
    assert measures["tps"] == pytest.approx(measures["transactions"] / 15)
    offered = [measures[f"segment_{number}_offered_tps"] for number in (1, 2, 3)]
    assert offered[1] > 2 * max(offered[0], offered[2]) > 0
    assert sum(tps * seconds for tps, seconds in zip(offered, (6, 6, 3), strict=True)) == measures["transactions"]
    assert [row.name for row in result.histograms] == ["latency", *(f"latency of segment {n}" for n in (1, 2, 3))]
    printed = run(cluster, tmp_path, PGBENCH.throughput_command(shaped)).stdout
    assert float(printed) == pytest.approx(measures["tps"], abs=0.06)
    assert PGBENCH.throughput_command(spec) == ""
    assert series(result)["planned_tps"] == (50,) * 6 + (200,) * 6 + (50,) * 3
    assert len(series(result)["tps"]) == 15
    assert PGBENCH.contradictions(shaped, outputs, server_version=shaped.tool_version) == ()
    other = replace(shaped, parameters={**shaped.parameters, "load_shape": "50 for 6, 9000 for 6, 50 for 3"})
    assert {row.name for row in PGBENCH.contradictions(other, outputs)} == {"clients", "rate_limit"}


def test_a_process_that_fails_fails_the_run(cluster: Cluster, spec: RunSpec, tmp_path: Path) -> None:
    parameters = {
        "script": "custom",
        "scale": 1,
        "scripts": [{"text": "SELECT 1/0;"}],
        "load_shape": "50 for 3, 100 for 2",
    }
    outputs = run(cluster, tmp_path, measured_and_reduced(replace(spec, parameters=parameters)))
    result = PGBENCH.parse(replace(spec, parameters=parameters), outputs)
    assert result.outcome == "failed" and "division by zero" in result.reason
