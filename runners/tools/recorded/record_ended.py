"""Record runs of pgbench that do not end well, and a few that do: a backend killed, all of them, a table dropped...

Usage: record_ended.py OUTPUT_FOLDER VERSION=BIN_DIRECTORY:PORT ..., with a database "bench" of scale 1, owned by
"postgres", on each port of 127.0.0.1. Each case becomes a folder VERSION-CASE: out.log and err.log of one run,
merged.log of another one whose both streams went into one, their codes in returncode and merged.returncode, and
plan.json.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

SLEEP = "SELECT pg_sleep(0.01);\n"
SESSIONS = "FROM pg_stat_activity WHERE application_name = 'pgbench'"
ONE = f"SELECT pg_terminate_backend(max(pid)) {SESSIONS}"
ALL = f"SELECT pg_terminate_backend(pid) {SESSIONS}"
READS, FILE = ["-b", "select-only"], ["-f", "sleep.sql"]
USUAL = ["-c4", "-j2"]


class Server:
    def __init__(self, bin_directory: str, port: str) -> None:
        self.bin_directory, self.port = bin_directory, port
        self.where = ["-h", "127.0.0.1", "-p", port, "-U", "postgres"]

    def ask(self, sql: str) -> None:
        subprocess.run([f"{self.bin_directory}/psql", *self.where, "-qc", sql, "bench"], capture_output=True)


Event = Callable[[Server, "subprocess.Popen[bytes]"], None]


def sql(text: str) -> Event:
    return lambda server, _: server.ask(text)


def signalled(number: signal.Signals) -> Event:
    return lambda _, process: process.send_signal(number)


def nothing(server: Server, process: subprocess.Popen[bytes]) -> None:
    """Let the run end as it does."""


# Name, options, seconds until something happens, what happens, and the versions (None: all).
Case = tuple[str, Sequence[str], float, Event, Sequence[str] | None]
CASES: tuple[Case, ...] = (
    ("whole", [*USUAL, "-T2", "-P1", *READS], 0, nothing, None),
    ("whole_derived", [*USUAL, "-T2", *READS], 0, nothing, None),
    ("whole_transactions", [*USUAL, "-t60", *FILE], 0, nothing, None),
    ("whole_limited", [*USUAL, "-T2", "-R20", "-P1", *FILE], 0, nothing, None),
    ("one_killed", [*USUAL, "-T3", "-P1", *READS], 1, sql(ONE), None),
    ("one_killed_derived", [*USUAL, "-T3", *READS], 1, sql(ONE), None),
    ("one_killed_late", [*USUAL, "-T3", "-P1", *READS], 2.6, sql(ONE), None),
    ("one_killed_transactions", [*USUAL, "-t200", *FILE], 1, sql(ONE), None),
    ("one_killed_per_statement", [*USUAL, "-T3", "-P1", "-r", "-b", "tpcb-like"], 1, sql(ONE), None),
    ("one_killed_at_once", [*USUAL, "-T3", "-P1", "--exit-on-abort", *READS], 1, sql(ONE), ("18",)),
    ("all_killed", [*USUAL, "-T3", "-P1", *READS], 1, sql(ALL), None),
    ("all_killed_derived", [*USUAL, "-T3", *READS], 1, sql(ALL), None),
    ("all_killed_transactions", [*USUAL, "-t200", *FILE], 1, sql(ALL), None),
    ("all_killed_limited", [*USUAL, "-T3", "-R200", *FILE], 1, sql(ALL), None),
    ("table_dropped", [*USUAL, "-T3", "-P1", *READS], 1, sql("DROP TABLE pgbench_accounts"), None),
    ("table_dropped_derived", [*USUAL, "-T3", *READS], 1, sql("DROP TABLE pgbench_accounts"), None),
    ("refused", ["-p1", *USUAL, "-T3", *READS], 0, nothing, None),
    ("too_many", ["-c150", "-j2", "-T3", *READS], 0, nothing, None),
    ("interrupted", [*USUAL, "-T3", "-P1", *READS], 1.5, signalled(signal.SIGINT), None),
    ("terminated", [*USUAL, "-T3", "-P1", *READS], 1.5, signalled(signal.SIGTERM), None),
)  # fmt: skip


def number(options: Sequence[str], letter: str) -> int:
    return next((int(option[2:]) for option in options if option[:2] == f"-{letter}" and option[2:].isdigit()), 0)


def plan(options: Sequence[str]) -> dict[str, Any]:
    """Return what was planned, as a RunSpec has it."""
    parameters: dict[str, Any] = {"script": "custom", "scripts": [{"text": SLEEP}]}
    if "-b" in options:
        parameters = {"script": options[options.index("-b") + 1]}
    if rate_tps := number(options, "R"):
        parameters["rate_tps"] = rate_tps
    return {
        "clients": number(options, "c"), "threads": number(options, "j"), "duration_s": number(options, "T"),
        "log_sampling_rate": 0.0, "parameters": {**parameters, "scale": 1},
    }  # fmt: skip


def run(server: Server, case: Case, stderr: int) -> tuple[int, bytes, bytes | None]:
    _, options, after_s, event, _ = case
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sleep.sql").write_text(SLEEP)
        # An option of the case comes last, so that it counts.
        words = [f"{server.bin_directory}/pgbench", *server.where, "-n", *options, "bench"]
        environment = {**os.environ, "LC_ALL": "C"}
        process = subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=stderr)
        time.sleep(after_s)
        event(server, process)
        stdout, errors = process.communicate()
        return process.returncode, stdout, errors


def record(output: Path, server: Server, case: Case) -> None:
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    for stderr, code_name in ((subprocess.PIPE, "returncode"), (subprocess.STDOUT, "merged.returncode")):
        load = [f"{server.bin_directory}/pgbench", "-i", "-q", *server.where, "bench"]
        subprocess.run(load, check=True, capture_output=True)
        returncode, stdout, errors = run(server, case, stderr)
        (output / ("out.log" if errors is not None else "merged.log")).write_bytes(stdout)
        if errors is not None:
            (output / "err.log").write_bytes(errors)
        (output / code_name).write_text(f"{returncode}\n")
    (output / "plan.json").write_text(json.dumps(plan(case[1])) + "\n")


def main(words: Sequence[str]) -> None:
    for word in words[1:]:
        version, _, place = word.partition("=")
        server = Server(*place.rsplit(":", 1))
        for case in CASES:
            if case[4] is None or version in case[4]:
                record(Path(words[0]) / f"{version}-{case[0]}", server, case)


if __name__ == "__main__":
    main(sys.argv[1:])
