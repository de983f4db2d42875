"""Recorded runs of all load generators as the audit sees them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import runners.tools
from benchhub.analysis.doubts import audit
from benchhub.analysis.doubts.doubt import Doubt, weighed
from benchhub.bench.results import ingest, numbers
from runners.contract import Outputs, RunResult, RunSpec
from runners.tools.pgbench.testing import SPEC as PGBENCH_SPEC
from runners.tools.tatp.testing import SPEC as TATP_SPEC

RECORDED = Path(runners.tools.__file__).parent / "recorded"
ODD = sorted(path.name for path in (RECORDED / "odd").iterdir())
SYSBENCH_SPEC = replace(
    PGBENCH_SPEC,
    tool="sysbench",
    tool_version="1.0.20",
    parameters={"script": "oltp_read_write"},
    clients=4,
    threads=4,
    duration_s=15,
)


def odd_run(name: str) -> tuple[RunSpec, Outputs]:
    """Return a run of recorded/odd: as it was planned, and what it left."""
    folder = RECORDED / "odd" / name
    planned = json.loads((folder / "plan.json").read_text())
    planned.pop("command", None)
    files = {"log.gz": (folder / "log.gz").read_bytes()} if (folder / "log.gz").exists() else {}
    stdout, stderr = ((folder / file).read_bytes() for file in ("out.log", "err.log"))
    spec = replace(PGBENCH_SPEC, tool_version=name.partition("-")[0], **planned)
    return spec, Outputs(int((folder / "returncode").read_text()), stdout, stderr, files)


def sysbench_run() -> tuple[RunSpec, Outputs]:
    return SYSBENCH_SPEC, Outputs(0, (RECORDED / "sysbench-1.0.20-oltp_read_write.txt").read_bytes(), b"")


def sysbench_run_of(name: str) -> tuple[RunSpec, Outputs]:
    """Return a run of another version: 0.5-progress, 1.1-histogram..."""
    text = (RECORDED / f"sysbench-{name}.txt").read_bytes()
    planned_s = {"plain": 3, "progress": 6, "histogram": 4, "warmup": 4}[name.partition("-")[2]]
    spec = replace(SYSBENCH_SPEC, tool_version=name.partition("-")[0], duration_s=planned_s)
    return spec, Outputs(0, text, b"")


def tatp_run() -> tuple[RunSpec, Outputs]:
    """Return the run of 6 s after 2 s of warm-up, with 4 clients."""
    folder = RECORDED / "tatp-16"
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    files["tatp.latency"] = gzip.decompress(files.pop("tatp.latency.gz"))
    return replace(TATP_SPEC, clients=4, threads=2, duration_s=6, warmup_s=2), Outputs(0, b"", b"", files)


def run_of(name: str) -> tuple[RunSpec, Outputs]:
    """Return a recorded run by its name: of recorded/odd, or of sysbench (0.5-progress; 1.0.20 is "sysbench"), or
    "tatp".
    """
    runs = {"sysbench": sysbench_run, "tatp": tatp_run}
    if name in runs:
        return runs[name]()
    return odd_run(name) if name in ODD else sysbench_run_of(name)


def result_and_doubts(spec: RunSpec, outputs: Outputs) -> tuple[RunResult, list[Doubt]]:
    """Return what was read, and its doubts with their weights, as of a delivery; a failed run has none."""
    tool = runners.tools.get(spec.tool)
    result = tool.parse(spec, outputs)
    if result.outcome == "failed":
        return result, []
    doubts = [weighed(doubt.code, doubt.text) for doubt in result.doubts]
    doubts += [weighed(claim.code, claim.text) for claim in tool.contradictions(spec, outputs, is_own=False)]
    return result, [*doubts, *audit.audit(numbers.evidence(spec, result))]


def judged(spec: RunSpec, outputs: Outputs) -> list[Doubt]:
    """Return all doubts with which a delivery is stored; what was counted around a run of our own is not among them."""
    result, doubts = result_and_doubts(spec, outputs)
    assert result.outcome == "succeeded", result.reason
    run = SimpleNamespace(
        spec=asdict(spec), clients=spec.clients, threads=spec.threads, system=SimpleNamespace(driven_locally=False)
    )
    return [*doubts, *ingest.verdict_doubts(run, result, ingest.Observed())]  # type: ignore[arg-type]  # no row


def added_codes(spec: RunSpec, outputs: Outputs, change: Callable[[Outputs], Outputs]) -> set[str]:
    """Return by which codes a change shows, or that there is no result any more."""
    result, doubts = result_and_doubts(spec, change(outputs))
    before = {doubt.code for doubt in result_and_doubts(spec, outputs)[1]}
    return {"no result"} if result.outcome == "failed" else {doubt.code for doubt in doubts} - before


def ended_run(name: str) -> tuple[RunSpec, Outputs]:
    """Return a run of recorded/ended: as it was planned, and what it left in two streams."""
    folder = RECORDED / "ended" / name
    planned = json.loads((folder / "plan.json").read_text())
    spec = replace(PGBENCH_SPEC, tool_version=name.partition("-")[0], **planned)
    stdout, stderr = ((folder / file).read_bytes() for file in ("out.log", "err.log"))
    return spec, Outputs(int((folder / "returncode").read_text()), stdout, stderr)
