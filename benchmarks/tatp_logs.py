"""Measure how fast logs of TATP are read: kept ones here, and all of them on the driver. Part of benchmarks/tatp.py."""

from __future__ import annotations

import random
import resource
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from runners.tools.tatp import read
from runners.tools.tatp.log import REDUCE_AWK

FEWEST_LINES_PER_S = 4_000_000
# More for ten times the lines: what an allocator may keep of a few chunks.
MOST_GROWTH_BYTES = 16 * 2**20
PARSED_LINES = 1_000_000


@dataclass(frozen=True)
class Speed:
    lines_per_s: float
    grown_bytes: int


def parse(weights: Sequence[int], seed: int) -> bool:
    """Print how fast both ways to read a log of a mix with these weights are; tell whether numpy's is within limits."""
    log_text, marks = made_log(weights, PARSED_LINES, seed)
    numpy_read(log_text[: log_text.index(b"\n") + 1], b"")  # numpy is imported before the clock starts
    once = max((numpy_read(log_text, marks) for _ in range(3)), key=lambda speed: speed.lines_per_s)
    tenfold = numpy_read(log_text, marks, times=10)
    limit = f"limit: from {FEWEST_LINES_PER_S / 1e6:.0f}"
    print(f"kept logs, read by numpy: {once.lines_per_s / 1e6:.2f} million lines/s of one core ({limit});", end=" ")
    grown = f"peak memory + {tenfold.grown_bytes / 2**20:.0f} MiB (limit: to {MOST_GROWTH_BYTES / 2**20:.0f})"
    print(f"ten times the lines: {tenfold.lines_per_s / 1e6:.2f}, {grown}")
    awk = awk_read(log_text, marks) / 1e6
    print(f"every log, reduced by awk on the driver after the run: {awk:.2f} million lines/s of one core (no limit)")
    return once.lines_per_s >= FEWEST_LINES_PER_S and tenfold.grown_bytes <= MOST_GROWTH_BYTES


def made_log(weights: Sequence[int], lines: int, seed: int) -> tuple[bytes, bytes]:
    chance, log_lines, marks, told_until = random.Random(seed), [], [], dict[int, int]()
    script_numbers = chance.choices(range(7), weights, k=lines)
    for place, script in enumerate(script_numbers):
        client, number = place % 8, place // 8 + 1
        latency_us = int(chance.lognormvariate(5, 1))
        log_lines.append(f"{client} {number} {latency_us} {script} {1_700_000_000 + place // 30_000} {place % 10**6}\n")
        if script in (3, 5, 6) and chance.randrange(2):
            marks.append(f"{client} {number} {script} 1\n")
            told_until[client] = number
    marks += [f"{client} {number} 0 0\n" for client, number in told_until.items()]
    return "".join(log_lines).encode(), "".join(marks).encode()


def numpy_read(log_text: bytes, marks: bytes, times: int = 1) -> Speed:
    """Read the log; return the speed, and by how much the peak of this program's memory grew."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    streams = (chunk for _ in range(times) for chunk in read.chunks(BytesIO(log_text)))
    reduction = read.reduce(streams, read.chunks(BytesIO(marks)), 1_700_000_001)
    taken_s = time.process_time() - begun
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return Speed(reduction.lines / taken_s, grown * 1024)


def awk_read(log_text: bytes, marks: bytes) -> float:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pgbench_log.1").write_bytes(log_text)
        (folder / "marks").write_bytes(marks)
        values = "marks=marks clients=8 threads=1 start=1700000000 warmup=0 every=64 progress=progress told=told reads="
        values += f" transactions={PARSED_LINES} seconds=34 rows=34 at_once=4 ran=20000,20000,20000"
        words = ["awk", *(word for value in values.split() for word in ("-v", value)), REDUCE_AWK]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*words, "pgbench_log.1"], cwd=folder, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return PARSED_LINES / (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
