"""The detached job on a target: start it once, look at it, wait for it, collect it, cancel it.

The shell side is runners/target/*.sh; start.sh explains the locks. Every function here is one exec on a kept
connection, can be repeated after any failure, and raises what `Connections.run` raises: Unreachable says nothing
about the job, RemoteFailure says that the target could not do it.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path

from runners import tools
from runners.clusters import script as cluster_script
from runners.collection import Collected, parse_collected
from runners.confinement import apart
from runners.contract import RunSpec
from runners.os_settings.script import put_back_function
from runners.password_file import PASSWORD_FILE, password_lines
from runners.poolers import script as pooler_script
from runners.script import command_script, leftover_script, needed_programs, spec_json
from runners.server_settings import script as server_script
from runners.ssh import TAIL_BYTES, Connections, RemoteFailure, Target
from runners.telemetry import collector
from runners.tools.base import Tool
from runners.verdict import Look, parse_look

DEFAULT_WORK_DIRECTORY = "$HOME/.benchhub"
KEEP_EVIDENCE_DAYS = 14
BIG_BYTES = 1 << 20
CHUNK_BYTES = 256 << 10
EXEC_TIMEOUT_S = 30.0
COLLECT_TIMEOUT_S = 600.0
CANCEL_GRACE_S = 10
# What the wrapper on the target keeps to by itself. Even a day of reports prints no hundredth of so many bytes.
LIMITS = {"grace_s": CANCEL_GRACE_S, "most_bytes": 1 << 30, "keep_days": KEEP_EVIDENCE_DAYS}
SUMMING_UP_S = 30  # so long a wrapper whose command was cancelled may sum up what it left
ANOTHER_AT_WORK = 6  # how cancel.sh ends where a start of the attempt has not ended
# How start.sh ends where the account lacks something: a limit or a program (3), or the right to write somewhere.
OF_THE_LOGIN = (1, 2, 3)
NOT_ENDED = 7  # how it ends where processes of the attempt refuse to end
SIGN_EVERY_S = 7
SIGN = re.compile(rb"held ([0-9]{1,15}) ([0-9]{1,15}) ([0-9]{1,15}) ([0-9]{1,15})\n")
LOOK_BYTES = 2 * CHUNK_BYTES + (64 << 10)  # two logs, and the names and values before them
MANIFEST_BYTES = 4 << 20  # with the names and sizes of the files
SCRIPTS = Path(__file__).parent / "target"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a run, in `<work_directory>/runs/<run>/<number>/` of the target.

    `work_directory` is absolute, or relative to the home directory there ('$HOME/' may stand before it).
    """

    run: str
    number: int
    work_directory: str = DEFAULT_WORK_DIRECTORY

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[0-9A-Za-z-]{1,64}", self.run):
            raise ValueError(f"{self.run!r} is not the id of a run: letters, digits and hyphens only.")
        if self.number < 0:
            raise ValueError("The number of an attempt is not negative.")


class StartOutcome(Enum):
    """BUSY: another attempt holds the host; `look(...).holder` names it. HELD: somebody elsewhere changed its server.

    TOMBSTONED: cancelled before it began. WITHDRAWN: BenchHub itself took this attempt back, so that another is due.
    """

    STARTED = "STARTED"
    ALREADY_STARTED = "ALREADY_STARTED"
    BUSY = "BUSY"
    HELD = "HELD"
    TOMBSTONED = "TOMBSTONED"
    WITHDRAWN = "WITHDRAWN"


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign that the wrapper was alive a moment ago, with the sizes in bytes of its files that tell of progress.

    `age_s` is for how long the command has run, by the target's monotonic clock.
    """

    err_size: int
    out_size: int
    step_size: int
    age_s: int = field(default=0, compare=False)


async def start(
    connections: Connections,
    target: Target,
    attempt: Attempt,
    spec: RunSpec,
    *,
    password: str | None = None,
    tool: Tool | None = None,
) -> StartOutcome:
    """Start the attempt unless it has been started, cancelled or the host is taken. Starts once, if repeated too.

    `password` (for PostgreSQL) travels on standard input into a 0600 file that names the server and that the job
    removes at its end.
    `tool` is the registered one that the spec names, unless given.
    """
    tool = tool or tools.get(spec.tool)
    files = {
        "spec.json": spec_json(spec),
        "command.sh": command_script(spec, tool),
        "leftover.sh": leftover_script(spec),
        **cluster_script.files(spec),
        **server_script.files(spec),
    }
    if spec.telemetry and spec.kind == "measure":
        files |= collector.files(spec.bin_directory)
    if password is not None:
        endpoints = (spec.endpoint, *pooler_script.endpoints(spec.endpoint, spec.pooler))
        files[PASSWORD_FILE] = "".join(password_lines(endpoint, password) for endpoint in endpoints)
    trial_text = _trial_text(needed_programs(spec, tool), spec.bin_directory)
    return await _start(connections, target, _start_text(attempt, files, trial_text, spec.deadline_s))


async def start_files(
    connections: Connections,
    target: Target,
    attempt: Attempt,
    files: Mapping[str, str],
    programs: Sequence[str],
    deadline_s: int,
) -> StartOutcome:
    """Start whatever command.sh among the files does, as `start` does a run; leftover.sh is what ends its remains.

    `programs` answer to --version before it begins. It is ended after `deadline_s` seconds (0: never).
    """
    return await _start(connections, target, _start_text(attempt, files, _trial_text(programs), deadline_s))


async def _start(connections: Connections, target: Target, text: str) -> StartOutcome:
    script = partial(connections.run, target, "exec /bin/sh -s", input=text.encode(), timeout_s=EXEC_TIMEOUT_S)
    try:
        answer = await script()
    except RemoteFailure as error:
        if error.returncode not in OF_THE_LOGIN:
            raise
        # They may have been mended since this connection logged in, which is the only moment that reads them.
        connections.drop(target)
        answer = await script()
    with sensible(target, answer):
        return StartOutcome(answer.decode().strip())


async def look(
    connections: Connections, target: Target, attempt: Attempt, *, offset: int = 0, out_offset: int = 0
) -> Look:
    """Return the attempt's state, with err.log and out.log from their offsets on (at most their last 256 KiB).

    RemoteFailure where its folder cannot be read: that is no evidence of anything.
    """
    values = {"err_offset": offset, "out_offset": out_offset, "limit": CHUNK_BYTES}
    command = attempt_script("processes.sh", attempt, "look.sh", **values)
    answer = await connections.run(target, command, timeout_s=EXEC_TIMEOUT_S, most_bytes=LOOK_BYTES)
    with sensible(target, answer):
        return parse_look(answer)


async def wait_for_end(
    connections: Connections,
    target: Target,
    attempt: Attempt,
    *,
    timeout_s: float,
    on_sign: Callable[[Sign], None] | None = None,
    every_s: int = SIGN_EVERY_S,
) -> bool:
    """Hold one exec until the attempt has ended; False when it has not within `timeout_s`, or was never started.

    True also when its wrapper was killed: look at it to know. `on_sign` is told every `every_s` seconds that the
    wrapper is alive.
    """

    def listen(line: bytes) -> None:
        if on_sign and (sizes := SIGN.fullmatch(line)):
            on_sign(Sign(*map(int, sizes.groups())))

    command = attempt_script("wait.sh", attempt, seconds=max(1, round(timeout_s)), every=every_s)
    timeout_s += EXEC_TIMEOUT_S
    answer = await connections.run(target, command, timeout_s=timeout_s, on_line=listen, gives_way=True)
    return answer.splitlines()[-1:] == [b"ended"]


async def collect(connections: Connections, target: Target, attempt: Attempt, *, cap_bytes: int) -> Collected:
    """Fetch what a finished attempt left. RemoteFailure when it has no exit code.

    Whole files are taken as long as they fit under `cap_bytes` in all: out.log and err.log first, then from small
    to large. What is over it, or differs from its SHA-256 of the manifest, is left out and said.
    """
    command = attempt_script("processes.sh", attempt, "collect.sh", cap=cap_bytes)
    most_bytes = cap_bytes + MANIFEST_BYTES
    answer = await connections.run(target, command, timeout_s=COLLECT_TIMEOUT_S, most_bytes=most_bytes)
    with sensible(target, answer[:TAIL_BYTES]):
        return await apart(parse_collected, answer, cap_bytes)


async def acknowledge(
    connections: Connections,
    target: Target,
    attempt: Attempt,
    *,
    keep_days: int = KEEP_EVIDENCE_DAYS,
    timeout_s: float = EXEC_TIMEOUT_S,
) -> None:
    """Call after the warehouse has committed: writes the ledger's line and deletes the attempt's big files.

    Attempts acknowledged more than `keep_days` ago are deleted too; their lines in the ledger still keep them from
    being started again. RemoteFailure while the attempt runs.
    """
    values = {"keep_days": keep_days, "big": BIG_BYTES}
    command = attempt_script("processes.sh", attempt, "acknowledge.sh", **values)
    await connections.run(target, command, timeout_s=timeout_s)


async def cancel(
    connections: Connections,
    target: Target,
    attempt: Attempt,
    *,
    grace_s: int = CANCEL_GRACE_S,
    is_withdrawn: bool = False,
) -> None:
    """Forbid the attempt to start, and end all that runs of it: TERM, `grace_s`, KILL, then its backends.

    Also what runs on although its folder was moved, deleted or emptied; where that is gone its backends end by
    themselves.
    `is_withdrawn`: nobody asked for the end of its run, which goes on with another attempt. Returns when nothing of it
    is left; an exit code that it had already stays. RemoteFailure when processes refuse to end.
    """
    values = {**_ending(grace_s), "withdrawn": "yes" if is_withdrawn else ""}
    command = attempt_script("processes.sh", attempt, "cancel.sh", **values)
    await connections.run(target, command, timeout_s=grace_s + 3 * EXEC_TIMEOUT_S)


async def end_overdue(connections: Connections, target: Target, attempt: Attempt, deadline_s: int) -> None:
    """End what runs of the attempt although its deadline is over, as its own guard would have, and as `cancel` does.

    For a look that `is_overdue`. A command that has ended by itself is left alone, and its wrapper woken up.
    """
    values = {**_ending(CANCEL_GRACE_S), "withdrawn": "", "deadline_s": deadline_s}
    command = attempt_script("processes.sh", attempt, "overdue.sh", "cancel.sh", **values)
    await connections.run(target, command, timeout_s=CANCEL_GRACE_S + 3 * EXEC_TIMEOUT_S)


def _ending(grace_s: int) -> dict[str, int | str]:
    return {"grace": grace_s, "summing_up": SUMMING_UP_S}


def attempt_script(name: str, attempt: Attempt, *further: str, **values: int | str) -> str:
    """Return scripts of runners/target for an attempt, one after the other, with these variables set before them."""
    work = attempt.work_directory.removeprefix("$HOME/").removeprefix("~/")
    values_by_name = {"work": work, "run": attempt.run, "number": attempt.number, **values}
    assignments = [f"{key}={shlex.quote(str(value))}" for key, value in values_by_name.items()]
    return "\n".join([*assignments, *map(_text, ("common.sh", name, *further))])


def _text(name: str) -> str:
    return (SCRIPTS / name).read_text()


def _start_text(attempt: Attempt, files: Mapping[str, str], trial_text: str, deadline_s: int) -> str:
    """Return start.sh with everything it writes as functions before it: it all travels on standard input."""
    wrapper = _text("job.sh")
    digest = hashlib.sha256(wrapper.encode()).hexdigest()[:16]
    writes = "\n".join(here_document(f"cat > {name}", text) for name, text in files.items())
    parts = [
        put_back_function(),
        server_script.put_back_function(),
        trial_text,
        f"write_files() {{\n{writes}\n}}",
        f"write_wrapper() {{\n{here_document('cat', wrapper)}\n}}",
        attempt_script("processes.sh", attempt, "start.sh", wrapper_hash=digest, deadline_s=deadline_s, **LIMITS),
    ]
    # Read whole before anything runs: a start whose connection breaks half way does nothing.
    return "{\n" + "\n".join(parts) + "\nexit\n}\n"


def _trial_text(programs: Sequence[str], folder: str = "") -> str:
    """Return a shell function that tries the programs, by the PATH that a run with the folder in front has."""
    path = [f'PATH={shlex.quote(folder)}:"$PATH"'] if folder else []
    return "\n".join(["try_programs() (", *path, *(f"try_program {shlex.quote(name)}" for name in programs), ":", ")"])


def here_document(command: str, text: str) -> str:
    """Return shell text in which the command reads this text, whatever stands in it."""
    end = "END_" + hashlib.sha256(text.encode()).hexdigest()[:20]
    return f"{command} <<'{end}'\n{text.removesuffix(chr(10))}\n{end}"


class SenselessAnswer(RemoteFailure):
    """The target's answer cannot be read: asking it again, or about another run, may never help."""

    def __init__(self, target: Target, error: Exception, answer: bytes) -> None:
        self.target = target
        super().__init__(f"{target.place} sent an answer that makes no sense ({error!r}).", None, answer)


@contextmanager
def sensible(target: Target, answer: bytes) -> Iterator[None]:
    """Turn what reading an answer raises into a SenselessAnswer: the target is not what it should be, and we are."""
    try:
        yield
    except tools.UNREADABLE as error:
        raise SenselessAnswer(target, error, answer) from error
