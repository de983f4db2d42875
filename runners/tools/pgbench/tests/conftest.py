from __future__ import annotations

import subprocess

import pytest

from benchhub.embedded.postgres import Cluster
from runners.contract import Endpoint, RunSpec
from runners.tests.patience import LOAD_S


# The oldest and the newest: what lies between prints as the newest, and is measured by the demonstration's test.
@pytest.fixture(params=[pytest.param(15, marks=pytest.mark.whole), 18])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    running: Cluster = request.getfixturevalue(f"cluster{request.param}")
    return running


@pytest.fixture
def spec(cluster: Cluster) -> RunSpec:
    version = subprocess.run(
        [cluster.bin_directory / "pgbench", "--version"], capture_output=True, text=True, check=True
    )
    return RunSpec(
        tool="pgbench",
        tool_version=version.stdout.strip(),
        bin_directory=str(cluster.bin_directory),
        endpoint=Endpoint("loopback", "127.0.0.1", cluster.port, cluster.database, cluster.username),
        parameters={"script": "select-only", "scale": 1, "query_mode": "prepared"},
        clients=2,
        threads=2,
        duration_s=LOAD_S,
        warmup_s=1,
    )
