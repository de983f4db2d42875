"""Runs of TATP, planned and logged."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchhub.embedded.postgres import Cluster
from runners import tools
from runners.contract import Endpoint, RunResult, RunSpec
from runners.tools.pgbench.testing import run

from .log import REDUCE_AWK


def awk(folder: Path, program: Sequence[str] = ("awk",), **values: object) -> str:
    """Return what REDUCE_AWK prints of the logs in `folder`; it leaves `progress` and `told` there."""
    variables = {"marks": "marks", "clients": 1, "threads": 1, "start": 0, "warmup": 0, "rows": 1, "seconds": 1}
    variables |= {"transactions": 0, "reads": "0 0 0 0", "every": 1, "at_once": 1, "ran": "0,0,0"}
    variables |= {"progress": "progress", "told": "told", **values}
    options = [word for name, value in variables.items() for word in ("-v", f"{name}={value}")]
    logs = sorted(str(path.relative_to(folder)) for path in (folder / "log").iterdir())
    done = subprocess.run(
        [*program, *options, REDUCE_AWK, *logs], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout


def random_log(folder: Path, lines: int) -> tuple[bytes, bytes]:
    """Return a log of one thread with its marks, in which latencies reach from 0 to 10 s."""
    chance, number, time_us, log, marks = random.Random(5), [0] * 4, [1_000_000_000] * 4, [], []
    for _ in range(lines):
        client = chance.randrange(4)
        number[client] += 1
        script, outcome = chance.randrange(9), chance.randrange(2)
        latency_us = chance.choice((0, 700, 1_023, 1_024, 65_535, 65_536, 10**7))
        time_us[client] += latency_us
        at_s, and_us = divmod(time_us[client], 10**6)
        log.append(f"{client} {number[client]} {latency_us} {script} {at_s} {and_us}\n")
        if script in (3, 5, 6) and outcome:
            marks.append(f"{client} {number[client]} {script} 1\n")
    told_until = [last - 100 for last in number[:3]]
    marks = [mark for mark in marks if (client := int(mark[0])) == 3 or int(mark.split()[1]) <= told_until[client]]
    marks += [f"{client} {last} 0 0\n" for client, last in enumerate(told_until)]
    (folder / "log").mkdir()
    (folder / "log" / "pgbench_log.9").write_text("".join(log))
    (folder / "marks").write_text("".join(marks))
    return "".join(log).encode(), "".join(marks).encode()


SPEC = RunSpec(
    "tatp", "16.14", "/bin", Endpoint("socket", "", 5432, "db", "me"), {"subscribers": 100_000}, duration_s=60
)


TATP = tools.get("tatp")


SUBSCRIBERS = 100_000


def spec_of(cluster: Cluster, **changes: object) -> RunSpec:
    version = re.sub(r".*/(\d+)/.*", r"\1", str(cluster.bin_directory)) if "15" in cluster.name else "16"
    endpoint = Endpoint("loopback", "127.0.0.1", cluster.port, cluster.database, cluster.username)
    spec = RunSpec("tatp", version, str(cluster.bin_directory), endpoint, {"subscribers": SUBSCRIBERS})
    return replace(spec, clients=4, threads=2, duration_s=6, warmup_s=2, **changes)


def load(cluster: Cluster, folder: Path, spec: RunSpec) -> RunResult:
    folder.mkdir(exist_ok=True)
    return TATP.parse(replace(spec, kind="load"), run(cluster, folder, TATP.load_command(replace(spec, kind="load"))))
