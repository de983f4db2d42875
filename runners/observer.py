"""The collector on a server's machine that is not the driver's: begun before a run, ended and read after it.

Both are one exec each and may be repeated. Nothing of a run depends on it: it ends by itself, and holds no lock.
"""

from __future__ import annotations

import shlex

from runners.job import SCRIPTS, Attempt, here_document
from runners.ssh import Connections, Target
from runners.telemetry import collector

TIMEOUT_S = 30.0
READ_TIMEOUT_S = 120.0
MOST_BYTES = 16 << 20
SPARE_S = 3600  # the collector outlives a run that takes so much longer than it should


async def begin(
    connections: Connections, target: Target, attempt: Attempt, *, load_s: int, expected_s: int, data_directory: str
) -> None:
    """Begin to note the machine's counters; raises what the connection raises."""
    files = collector.files("")
    writes = "\n".join(here_document(f"cat > {name}", text) for name, text in files.items())
    values: dict[str, int | str] = {
        "most_s": expected_s + SPARE_S,
        "niceness": collector.NICENESS,
        "step_s": collector.step_s(load_s),
        "most_bytes": MOST_BYTES,
        "data": data_directory,
    }
    script = "\n".join([_values(attempt, values), f"write_files() {{\n{writes}\n}}", _text("observe.sh")])
    text = f"{{\n{script}\nexit\n}}\n"
    await connections.run(target, "exec /bin/sh -s", input=text.encode(), timeout_s=TIMEOUT_S)


async def end(connections: Connections, target: Target, attempt: Attempt) -> bytes:
    """End it and return what it noted; empty where it was never begun."""
    functions = collector.functions("here", 0)
    script = "\n".join([_values(attempt, {"most_bytes": MOST_BYTES}), functions, _text("observed.sh")])
    return await connections.run(target, script, timeout_s=READ_TIMEOUT_S, most_bytes=MOST_BYTES + (64 << 10))


def _values(attempt: Attempt, values: dict[str, int | str]) -> str:
    work = attempt.work_directory.removeprefix("$HOME/").removeprefix("~/")
    names = {"work": work, "run": attempt.run, "number": attempt.number, **values}
    assignments = [f"{name}={shlex.quote(str(value))}" for name, value in names.items()]
    return "\n".join([*assignments, (SCRIPTS / "common.sh").read_text()])


def _text(name: str) -> str:
    return (SCRIPTS / name).read_text()
