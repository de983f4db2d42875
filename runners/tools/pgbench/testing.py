"""Runs of pgbench, planned, recorded and real."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from benchhub.embedded.postgres import Cluster
from runners import tools
from runners.contract import Endpoint, Outputs, RunResult, RunSpec

PGBENCH = tools.get("pgbench")


SPEC = RunSpec(
    tool="pgbench",
    tool_version="18.4",
    bin_directory="/opt/pg/bin",
    endpoint=Endpoint("loopback", "127.0.0.1", 5432, "bench", "bench"),
    parameters={"script": "select-only", "scale": 10},
    clients=4,
    threads=2,
    duration_s=3,
)
CUSTOM = {"script": "custom", "scale": 1, "scripts": [{"text": "SELECT 1;"}]}


def measured_and_reduced(spec: RunSpec) -> str:
    """Both commands as a run executes them: the exit code is the measured one's."""
    return f"(\n{PGBENCH.measure_command(spec)})\ncode=$?\n(\n{PGBENCH.reduce_command(spec)})\n(exit $code)\n"


AWKS = [
    [name, *further]
    for name, *further in (
        ["awk"],
        ["mawk"],
        ["gawk"],
        ["gawk", "--posix"],
        ["busybox", "awk"],
        ["original-awk"],
    )
    if shutil.which(name)
]


PGBENCH = tools.get("pgbench")


RECORDED = Path(__file__).resolve().parents[1] / "recorded"


UNLOGGED = replace(SPEC, log_sampling_rate=0.0)


def hand_made(name: str) -> Outputs:
    folder = RECORDED / "hand_made"
    stderr = folder / f"{name}_hand_made.err"
    stdout = (folder / f"{name}_hand_made.out").read_bytes()
    return Outputs(0, stdout, stderr.read_bytes() if stderr.exists() else b"")


def recorded(version: str, case: str) -> Outputs:
    """What was recorded, its log as the measure command leaves it when it is small."""
    folder = RECORDED / version / case
    logs = b"".join(path.read_bytes() for path in sorted(folder.glob("log/*")))
    files = {"log.gz": gzip.compress(logs)} if logs else {}
    returncode = int((folder / "returncode").read_text())
    return Outputs(returncode, (folder / "out.log").read_bytes(), (folder / "err.log").read_bytes(), files)


def printing(text: str, stderr: str = "", returncode: int = 0) -> Outputs:
    return Outputs(returncode, text.encode(), stderr.encode())


def numbers(result: RunResult) -> dict[str, float]:
    assert result.outcome == "succeeded", result.reason
    return {name: measure.value for name, measure in result.measures.items()}


def series(result: RunResult) -> dict[str, tuple[float, ...]]:
    return {line.metric: line.values for line in result.series}


def assert_failed(result: RunResult, reason: str) -> None:
    assert result.outcome == "failed"
    assert reason in result.reason
    assert (result.measures, result.series, result.histograms) == ({}, (), ())


PGBENCH = tools.get("pgbench")


def run(cluster: Cluster, folder: Path, command: str) -> Outputs:
    environment = {
        **os.environ,
        "LC_ALL": "C",
        "PGHOST": "127.0.0.1",
        "PGPORT": str(cluster.port),
        "PGUSER": cluster.username,
        "PGDATABASE": cluster.database,
        "PGPASSWORD": cluster.password,
    }
    done = subprocess.run(["/bin/sh", "-c", command], cwd=folder, env=environment, capture_output=True)
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    return Outputs(done.returncode, done.stdout, done.stderr, files)


def ask(cluster: Cluster, folder: Path, query: str) -> str:
    outputs = run(cluster, folder, f'"{cluster.bin_directory}/psql" -X -A -t -v ON_ERROR_STOP=1 -c "{query}"')
    assert outputs.returncode == 0, outputs.stderr
    return outputs.stdout.decode().strip()


def load(cluster: Cluster, folder: Path, spec: RunSpec) -> None:
    outputs = run(cluster, folder, PGBENCH.load_command(replace(spec, kind="load")))
    assert outputs.returncode == 0, outputs.stderr
    assert PGBENCH.parse(replace(spec, kind="load"), outputs).measures["load_s"].value > 0


def contradicted(
    spec: RunSpec, text: str, *, server: str = "", parameters: dict[str, object] | None = None, is_own: bool = False
) -> dict[str, str]:
    """Return what a text contradicts of a run, by code."""
    spec = replace(spec, parameters={**spec.parameters, **(parameters or {})})
    claims_against = PGBENCH.contradictions(spec, printing(text), server_version=server, is_own=is_own)
    return {contradiction.code: contradiction.text for contradiction in claims_against}
