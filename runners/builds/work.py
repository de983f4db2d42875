"""The detached job that builds a PostgreSQL on a target, what it leaves, and the removal of a build.

The job is an attempt like that of a run (runners/job.py): under the lock of its host, found again after any loss,
cancelled and looked at by the same words.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runners import probe
from runners.clusters.visit import HostBusyError
from runners.confinement import apart
from runners.facts.texts import pairs
from runners.job import COLLECT_TIMEOUT_S, Attempt, StartOutcome, attempt_script, sensible, start_files
from runners.probe import Facts
from runners.readings import read_sections, storable, storable_facts, whole
from runners.ssh import Connections, RemoteFailure, Target

from .causes import OVERDUE, OVERFLOW, sentence
from .recipe import SHA256, Recipe

SCRIPTS = Path(__file__).parent.parent / "target"
MARK, BUILD = "source_build_mark.sh", "source_build.sh"
MOST_LOG_BYTES = 4 << 20
MOST_HEAD_BYTES = 64 << 10
LONGEST_HOME, LONGEST_TEXT = 300, 300
VISIT_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Order:
    """What is built: the recipe, with so many jobs of make at a time (0: as many as there are CPUs)."""

    recipe: Recipe
    jobs: int
    deadline_s: int


@dataclass(frozen=True, slots=True)
class Log:
    """What a build printed; `whole_bytes` and `whole_sha256` are of all of it, `content` may lack its middle."""

    content: bytes
    whole_bytes: int
    whole_sha256: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


EMPTY_LOG = Log(b"", 0, hashlib.sha256(b"").hexdigest())


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a build came to. `error` is a sentence where there is none, and `facts` are the programs' as a probe's.

    `source` is what was really built: `commit`, `sha256` and `compiler`, as far as there are such.
    """

    log: Log
    error: str = ""
    facts: Mapping[str, object] | None = None
    source: Mapping[str, str] | None = None


async def begin(connections: Connections, target: Target, attempt: Attempt, order: Order) -> StartOutcome:
    """Start the build unless it has been started, cancelled or the host is taken. Starts once, if repeated too."""
    text = "\n".join([values(order), *(SCRIPTS.joinpath(name).read_text() for name in (MARK, BUILD))])
    files = {"command.sh": text, "leftover.sh": f"set -- leftover\n{text}"}
    return await start_files(connections, target, attempt, files, (), order.deadline_s)


async def collect(
    connections: Connections, target: Target, attempt: Attempt, order: Order, returncode: int | None
) -> Outcome:
    """Return what the build came to, which ended with this exit code; None where it was killed before it had any."""
    digest = order.recipe.digest
    command = _visit(attempt, "collect", digest)
    most_bytes = MOST_LOG_BYTES + MOST_HEAD_BYTES
    answer = await connections.run(target, command, timeout_s=COLLECT_TIMEOUT_S, most_bytes=most_bytes)
    head, _, content = answer.partition(b"\x1elog\n")
    with sensible(target, head):
        sections = await apart(read_head, head)
        log, home = _log(sections, content), _home(sections, digest)
    if returncode != 0:
        ends = {"overdue": OVERDUE.format(order.deadline_s // 60), "overflow": OVERFLOW}
        ended = next((text for name, text in ends.items() if name in sections), "")
        return Outcome(log, ended or str(storable(sentence(sections.get("errors", "")))))
    return await _built(connections, target, home, sections, log)


async def remove(connections: Connections, target: Target, attempt: Attempt, digest: str) -> None:
    """Remove the build with this digest; nothing where there is none. May be repeated after any failure.

    Raises HostBusyError, RemoteFailure with what the host refused, and as `Connections.run`.
    """
    command = _visit(attempt, "remove", digest)
    answer = await connections.run(target, command, timeout_s=VISIT_TIMEOUT_S, most_bytes=MOST_HEAD_BYTES)
    with sensible(target, answer):
        sections = await apart(read_head, answer)
    if sections.get("refused") == "BUSY":
        raise HostBusyError
    if "refused" in sections:
        raise RemoteFailure(sections["refused"] or "The host refused, and did not say why.", None)


def read_head(answer: bytes) -> dict[str, str]:
    """Return the sections of an answer. Raises ValueError where they are longer than any honest host's."""
    if len(answer) > MOST_HEAD_BYTES:
        raise ValueError("This is longer than what a host says of a build.")
    return dict(read_sections(answer))


def values(order: Order) -> str:
    """Return the lines of shell that say what is to be built."""
    recipe = order.recipe
    words = {
        "digest": recipe.digest,
        "kind": recipe.kind,
        "place": recipe.place,
        "revision": recipe.revision,
        "jobs": str(order.jobs),
    }
    lines = [f"{name}={shlex.quote(word)}" for name, word in words.items()]
    return "\n".join([*lines, f'run_configure() {{ ./configure "$@" {shlex.join(recipe.options)}; }}'])


def _visit(attempt: Attempt, purpose: str, digest: str) -> str:
    mark = SCRIPTS.joinpath(MARK).read_text()
    words: dict[str, int | str] = {"purpose": purpose, "digest": digest, "most": MOST_LOG_BYTES}
    return f"{mark}\n{attempt_script('source_build_visit.sh', attempt, **words)}"


async def _built(connections: Connections, target: Target, home: str, sections: Mapping[str, str], log: Log) -> Outcome:
    builds: list[Facts] = await probe.builds(connections, target, [f"{home}/bin"])
    if not builds or not {"postgres_sha256", "version_num"} <= builds[0].keys():
        return Outcome(log, f"The host said that it was built, but no PostgreSQL runs in {home}: build it again.")
    source = {name: text[:LONGEST_TEXT] for name, text in pairs(sections.get("source", "")).items() if text}
    names = ("commit", "sha256", "compiler")
    return Outcome(
        log,
        facts=storable_facts(builds[0]),
        source={name: str(storable(source[name])) for name in names if name in source},
    )


def _log(sections: Mapping[str, str], content: bytes) -> Log:
    """Return the log. Raises ValueError for a digest that is none."""
    if "log_sha256" not in sections:
        return EMPTY_LOG
    digest = sections["log_sha256"].partition(" ")[0]
    if not SHA256.fullmatch(digest):
        raise ValueError(f"{digest[:64]!r} is no SHA-256")
    return Log(content, whole(sections["log_bytes"]) or 0, digest)


def _home(sections: Mapping[str, str], digest: str) -> str:
    """Return where the build lies. Raises ValueError for what can be no such place."""
    home = sections["home"]
    is_there = home.startswith("/") and home.endswith(f"/builds/{digest}")
    if not is_there or len(home) > LONGEST_HOME or not home.isprintable():
        raise ValueError(f"{home[:LONGEST_HOME]!r} is not where the build was to lie.")
    return home
