"""Measure the memory (PSS) of everything BenchHub runs, while the demonstration serves: web, worker, ticker and broker.

PSS counts what processes share once. The databases and the target are not BenchHub's. Limit: 400 MB.
Start `make demo` in another terminal first.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

VAR = Path(__file__).resolve().parent.parent / "var" / "run"
PARTS = ("web", "worker", "ticker", "broker")
LIMIT_MB = 400


def main() -> int:
    pids = {name: root_of(name) for name in PARTS}
    if missing := [name for name, pid in pids.items() if pid is None]:
        print(f"Not running: {', '.join(missing)}. Start `make demo` first.")
        return 1
    used = {name: sum(map(pss_mb, family(pid))) for name, pid in pids.items() if pid}
    for name, size_mb in used.items():
        print(f"{name:8} {size_mb:6.1f} MB")
    total_mb = sum(used.values())
    print(f"{'total':8} {total_mb:6.1f} MB, limit {LIMIT_MB} MB: {total_mb / LIMIT_MB:.0%} of it")
    return 0 if total_mb < LIMIT_MB else 1


def root_of(name: str) -> int | None:
    """Return the process that the demonstration has noted for this part, if it is there."""
    note = VAR / f"{name}.child.json"
    pid = int(json.loads(note.read_text())["identity"]["pid"]) if note.exists() else None
    return pid if pid and Path(f"/proc/{pid}").exists() else None


def family(pid: int) -> list[int]:
    """Return the process and all below it."""
    parents = {int(stat.parent.name): parent_of(stat) for stat in Path("/proc").glob("[0-9]*/stat")}
    pids = [pid]
    for parent_pid in pids:
        pids += [child for child, parent in parents.items() if parent == parent_pid]
    return pids


def parent_of(stat: Path) -> int:
    try:
        return int(stat.read_text().rpartition(") ")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
        return 0


def pss_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


if __name__ == "__main__":
    sys.exit(main())
