"""Record honest but odd runs of pgbench, which no check may find to contradict themselves.

Usage: record_odd.py OUTPUT_FOLDER[,CASE,...] VERSION=BIN_DIRECTORY:PORT ... pooler-VERSION=BIN_DIRECTORY:PORT, with a
database "bench" of scale 1, owned by "postgres", on each port of 127.0.0.1. Each case becomes a folder VERSION-CASE:
out.log, err.log (empty where a case merges both), returncode, log.gz where pgbench kept one, and plan.json with what
was planned.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SLEEP = "SELECT pg_sleep({});\n"
ONE_OF_TWO = "\\set s random(0, 1)\nSELECT pg_sleep(0.4 * :s);\n"
LAST_SLOW = "SELECT pg_sleep(CASE WHEN clock_timestamp() - '{}'::timestamptz > '0.9 s' THEN 1.6 ELSE 0.002 END);\n"
SERIALIZATION = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT bbalance FROM pgbench_branches WHERE bid = 1;\n"
    "SELECT pg_sleep(0.01);\nUPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 1;\nCOMMIT;\n"
)
DEADLOCK = (
    "\\set a random(1, 2)\n\\set b 3 - :a\nBEGIN;\nUPDATE pgbench_tellers SET tbalance = 1 WHERE tid = :a;\n"
    "SELECT pg_sleep(0.01);\nUPDATE pgbench_tellers SET tbalance = 1 WHERE tid = :b;\nCOMMIT;\n"
)
LOG = ["-l", "--log-prefix=log"]

# Name, versions (None: all), options, scripts with weights, and what differs from the usual parameters.
Case = tuple[str, Sequence[str] | None, Sequence[str], Sequence[tuple[str, int]], dict[str, Any]]
RETRYING = ("15", "16", "18")
CASES: tuple[Case, ...] = (
    ("one_tps", None, ["-c1", "-T3", "-P1", *LOG], [(SLEEP.format(1), 1)], {}),
    ("overrun", None, ["-c1", "-T1"], [(SLEEP.format(1.7), 1)], {}),
    ("overrun_logged", ("13", "16", "18"), ["-c3", "-j3", "-T1", *LOG], [(SLEEP.format(0.7), 1)], {}),
    ("last_slow", ("13", "15", "18"), ["-c1", "-T1", *LOG], [(LAST_SLOW, 1)], {}),
    ("last_slow_derived", ("14", "16"), ["-c1", "-T1"], [(LAST_SLOW, 1)], {}),
    ("rate_skips", None, ["-c2", "-T2", "-R80", "-L20", "-P1", *LOG], [(SLEEP.format(0.03), 1)],
     {"rate_tps": 80, "latency_limit_ms": 20}),
    ("low_rate", ("14", "18"), ["-c1", "-T3", "-R2", *LOG], [("SELECT 1;\n", 1)], {"rate_tps": 2}),
    ("transactions", None, ["-c4", "-j2", "-t25", *LOG], [], {"script": "simple-update"}),
    ("few_transactions", ("15", "18"), ["-c3", "-t2"], [(SLEEP.format(0.05), 1)], {}),
    ("connect_each", None, ["-c2", "-j2", "-T2", "-C", "-P1", *LOG], [], {"connect_each": True}),
    ("threads_uneven", ("13", "15", "18"), ["-c7", "-j3", "-T1", "-P1"], [], {}),
    ("weights", None, ["-c3", "-T1", "-P1", *LOG], [(SLEEP.format(0.005), 5), (SLEEP.format(0.02), 1)], {}),
    ("bimodal", ("16", "18"), ["-c2", "-T2", "-P1", *LOG], [(ONE_OF_TWO, 1)], {}),
    ("sampled", ("14", "18"), ["-c2", "-T1", *LOG, "--sampling-rate=0.01"], [], {"log_sampling_rate": 0.01}),
    ("timestamps", ("15", "18"), ["-c2", "-T2", "-P1", "--progress-timestamp"], [], {"query_mode": "extended"}),
    ("timestamps_rate", ("16", "18"), ["-c2", "-T3", "-R80", "-L20", "-P1", "--progress-timestamp", *LOG],
     [(SLEEP.format(0.03), 1)], {"rate_tps": 80, "latency_limit_ms": 20}),
    ("progress_merged", ("15", "16", "18"), ["-c2", "-T3", "-P1", *LOG], [], {}),
    ("timestamps_merged", ("15", "16", "18"), ["-c2", "-j2", "-T6", "-P2", "--progress-timestamp", "-C"], [],
     {"connect_each": True}),
    ("more_clients", ("13", "16", "18"), ["-c90", "-j2", "-T1", *LOG, "--sampling-rate=0.05"], [],
     {"query_mode": "prepared", "log_sampling_rate": 0.05}),
    ("contended", ("13", "18"), ["-c20", "-j2", "-T1", "-P1", *LOG], [], {"script": "tpcb-like"}),
    ("serialization", RETRYING, ["-c4", "-T1", "-P1", *LOG, "--failures-detailed", "--max-tries=3"],
     [(SERIALIZATION, 1)], {"max_tries": 3, "failures_detailed": True}),
    ("untried", ("15", "18"), ["-c4", "-T1", *LOG, "--failures-detailed"], [(SERIALIZATION, 1)],
     {"failures_detailed": True}),
    ("deadlocks", RETRYING, ["-c4", "-T1", "-P1", *LOG, "--failures-detailed", "--max-tries=2"],
     [(DEADLOCK, 1)], {"max_tries": 2, "failures_detailed": True}),
    ("scripts_failing", RETRYING, ["-c4", "-j2", "-T1", "-P1", *LOG, "--failures-detailed", "--max-tries=2"],
     [(SERIALIZATION, 2), (SLEEP.format(0.01), 1)], {"max_tries": 2, "failures_detailed": True}),
    ("scripts_skipped", ("13", "14", "16", "18"), ["-c2", "-j2", "-T1", "-R150", "-L12", "-P1", *LOG],
     [(SLEEP.format(0.01), 2), ("SELECT 1;\n", 1)], {"rate_tps": 150, "latency_limit_ms": 12}),
    # Threads count for scripts without a lock, and lose some.
    ("scripts_racing", ("15", "18"), ["-c16", "-j16", "-T1"], [("SELECT 1;\n", 2), ("SELECT 2;\n", 1)], {}),
    ("script_without_weight", ("15", "18"), ["-c2", "-T1"], [(SLEEP.format(0.01), 3), ("SELECT 1;\n", 0)], {}),
)  # fmt: skip
POOLED: Case = ("pooled_2000", None, ["-c2000", "-j2", "-T4", "-P1", *LOG], [(SLEEP.format(0.01), 1)], {})


def number(options: Sequence[str], letter: str) -> int | None:
    return next((int(option[2:]) for option in options if option[:2] == f"-{letter}" and option[2:].isdigit()), None)


def plan(case: Case) -> dict[str, Any]:
    """Return what was planned, as a RunSpec has it; without a duration a number of transactions was."""
    _, _, options, scripts, further = case
    parameters = {"script": "custom" if scripts else "select-only", "scale": 1, **further}
    if scripts:
        parameters["scripts"] = [{"text": text.format("now"), "weight": weight} for text, weight in scripts if weight]
    sampling = parameters.pop("log_sampling_rate", 1.0 if "-l" in options else 0.0)
    return {
        "clients": number(options, "c"), "threads": number(options, "j") or 1, "duration_s": number(options, "T") or 0,
        "log_sampling_rate": sampling, "parameters": parameters,
    }  # fmt: skip


def record(output: Path, bin_directory: str, port: str, case: Case) -> None:
    _, _, options, scripts, further = case
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        begun = time.strftime("%Y-%m-%d %H:%M:%S+00", time.gmtime())
        words = ["-n", "-M", further.get("query_mode", "simple"), *options]
        for place, (text, weight) in enumerate(scripts):
            Path(folder, f"{place}.sql").write_text(text.format(begun))
            words += ["-f", f"{place}.sql@{weight}"]
        if not scripts:
            words += ["-b", further.get("script", "select-only")]
        where = ["-h", "127.0.0.1", "-p", port, "-U", "postgres", "bench"]
        environment = {**os.environ, "LC_ALL": "C"}
        merged = subprocess.STDOUT if output.name.endswith("_merged") else subprocess.PIPE
        command = [f"{bin_directory}/pgbench", *words, *where]
        done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=merged)
        log = b"".join(path.read_bytes() for path in sorted(Path(folder).glob("log.*")))
    for name, content in (
        ("out.log", done.stdout),
        ("err.log", done.stderr or b""),
        ("log.gz", gzip.compress(log, mtime=0)),
    ):
        if log or name != "log.gz":
            (output / name).write_bytes(content)
    (output / "returncode").write_text(f"{done.returncode}\n")
    (output / "plan.json").write_text(json.dumps({"command": ["pgbench", *words], **plan(case)}, indent=1) + "\n")


def main(words: Sequence[str]) -> None:
    folder, *names = words[0].split(",")
    output = Path(folder)
    for word in words[1:]:
        version, _, place = word.partition("=")
        bin_directory, _, port = place.rpartition(":")
        cases = (POOLED,) if version.startswith("pooler-") else CASES
        version = version.removeprefix("pooler-")
        for case in cases:
            if (case[1] is None or version in case[1]) and (not names or case[0] in names):
                record(output / f"{version}-{case[0]}", bin_directory, port, case)


if __name__ == "__main__":
    main(sys.argv[1:])
