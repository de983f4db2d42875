"""Think times against real servers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchhub.embedded.postgres import Cluster
from runners.contract import RunSpec
from runners.tools.pgbench.testing import PGBENCH, load, measured_and_reduced, numbers, run

pytestmark = pytest.mark.target


@pytest.mark.parametrize(
    "parameters",
    [
        {"script": "select-only"},
        {
            "script": "custom",
            "scripts": [{"text": "\\set aid 1\nSELECT :aid", "weight": 2}, {"text": "SELECT 2;"}],
            "think_distribution": "uniform",
        },
    ],
    ids=["built-in", "custom"],
)
def test_the_log_tells_the_response_times_of_clients_that_think(
    cluster: Cluster, spec: RunSpec, tmp_path: Path, parameters: dict[str, object]
) -> None:
    thinking = replace(spec, parameters={"scale": 1, "query_mode": "prepared", "think_ms": 50, **parameters}, clients=4)
    load(cluster, tmp_path, thinking)
    checked = run(cluster, tmp_path, PGBENCH.verify_command(thinking))
    assert checked.returncode == 0, checked.stderr
    outputs = run(cluster, tmp_path, measured_and_reduced(thinking))
    result = PGBENCH.parse(thinking, outputs)
    measures = numbers(result)
    assert measures["logged_transactions"] == measures["transactions"] > 0
    # Of a wrong number or client, pauses would be off by tens of milliseconds either way.
    assert measures["think_average_ms"] == pytest.approx(50, rel=0.5)
    # Where a busy machine answers late, the cycles are longer than the pauses by as much.
    assert measures["latency_p50_ms"] < 25 + 2 * max(0, measures["cycle_average_ms"] - 50)
    assert result.histograms[0].min_us > 0
    assert {line.metric for line in result.series} >= {"tps"}
    assert not {line.metric for line in result.series} & {"latency_ms", "latency_stddev_ms"}
    assert result.doubts == ()
    assert PGBENCH.contradictions(thinking, outputs, server_version=thinking.tool_version) == ()
