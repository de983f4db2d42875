"""A target that answers every command with something else, over five hundred times, beside one that is honest."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from benchhub.bench.execute import examine
from runners import counters, job, observer, probe
from runners.builds import tags, work
from runners.builds.recipe import Recipe
from runners.clusters.visit import HostBusyError, visit
from runners.conftest import FakeTool, fake_spec
from runners.contract import Cluster, Endpoint
from runners.inspection.look import Place, look
from runners.server_settings.put_back import put_back
from runners.ssh import Connections, RemoteFailure, Target, Unreachable
from tests.faults.fuzzer import Fuzzer

ANSWERS = int(os.environ.get("FUZZ_ANSWERS", "560"))
SEED = int(os.environ.get("FUZZ_SEED", "20"))
AT_A_TIME = 8
TIMEOUT_S = 2
# Another process that runs this beside us has an attempt of another name, of the same length.
ATTEMPT = job.Attempt(f"{os.getpid():08x}", 1, "work")
TOOL = FakeTool(measure="echo result; echo progress >&2")
# Nothing of this is there: what an honest target says of it is spoilt.
PLACE = Place(Endpoint("loopback", "127.0.0.1", 1, "x", "x"), "/usr/bin", is_here=True, is_granted=True)
CLUSTER = Cluster("/nonexistent/benchhub", "mark", "/usr/bin", "x")
ORDER = work.Order(Recipe("tag", "REL_18_1", "file:///nonexistent"), 1, 60)

# What a visit to a cluster with settings, libraries and copies answers.
TOLD = "".join(
    f"\x1e{name}\n{text}\n"
    for name, text in {
        "folder": CLUSTER.folder,
        "version": "18",
        "processes": "4711",
        "kilobytes": "40960",
        "settings": "\n".join(
            f'{{"name": "{name}", "setting": "4096", "unit": "kB"}}' for name in ("work_mem", "wal_buffers")
        ),
        "last_start": "fsync = on\nwork_mem = 4MB",
        "libraries": "auto_explain pg_stat_statements",
        "parameters": '{"work_mem": {"type": "integer", "unit": "kB", "least": "64", "most": "2147483647"}}',
        "copies": f"{'0a' * 16} 2048\n{'1b' * 16} 4096",
    }.items()
)

Ask = Callable[[Connections, Target], Awaitable[Any]]
# Each command that a target may be asked to do. A new one is a line here.
COMMANDS: dict[str, Ask] = {
    "start": lambda connections, target: job.start(connections, target, ATTEMPT, fake_spec(), tool=TOOL),
    "look": lambda connections, target: job.look(connections, target, ATTEMPT),
    "wait": lambda connections, target: job.wait_for_end(connections, target, ATTEMPT, timeout_s=1),
    "collect": lambda connections, target: job.collect(connections, target, ATTEMPT, cap_bytes=1 << 20),
    "acknowledge": lambda connections, target: job.acknowledge(connections, target, ATTEMPT),
    "cancel": lambda connections, target: job.cancel(connections, target, ATTEMPT, grace_s=0),
    "probe": lambda connections, target: probe.probe(connections, target),
    "programs": lambda connections, target: probe.builds(connections, target, ["/usr/bin"]),
    "counters": lambda connections, target: counters.host_snapshot(connections, target, is_before=True),
    "look at a server": lambda connections, target: look(connections, target, PLACE, None),
    "cluster": lambda connections, target: visit(connections, target, CLUSTER, "work", "look", 5432),
    "told by a cluster": lambda connections, target: visit(
        cast(Connections, Teller(connections, TOLD)), target, CLUSTER, "work", "look", 5432
    ),
    "tag of a build": lambda connections, target: tags.resolve(connections, target, ORDER.recipe),
    "end of a build": lambda connections, target: work.collect(connections, target, ATTEMPT, ORDER, 0),
    "removal of a build": lambda connections, target: work.remove(connections, target, ATTEMPT, ORDER.recipe.digest),
    "put back": lambda connections, target: put_back(connections, target, "work"),
    "observed": lambda connections, target: observer.end(connections, target, ATTEMPT),
    "examine": lambda connections, target: examine._examined(connections, asyncio.Semaphore(1), target, "work"),
}


@dataclass(frozen=True)
class Teller:
    """Connections by which a target is asked to print a text, whatever command is meant for it."""

    connections: Connections
    text: str

    async def run(self, target: Target, command: str, **options: Any) -> bytes:
        del command
        return await self.connections.run(target, f"cat <<'END'\n{self.text}\nEND", **{**options, "input": b""})


class HastyConnections(Connections):
    """They wait shortly for one target: a busy machine may keep the others as long as it likes."""

    hasty: Target | None = None

    async def run(self, target: Target, command: str, *, timeout_s: float, **options: Any) -> bytes:
        timeout_s = min(TIMEOUT_S, timeout_s) if target == self.hasty else timeout_s
        return await super().run(target, command, timeout_s=timeout_s, **options)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_answer_does_more_than_fail_its_own_command(name: str, tmp_path: Path) -> None:
    # Some answers are honest, and a connection that was cut takes commands along that were not yet sent.
    assert asyncio.run(_fuzz(name, tmp_path)) >= ANSWERS * 500 // 560


async def _fuzz(name: str, folder: Path) -> int:
    """Return how many answers were spoilt, after the honest host beside them was looked at all the while."""
    hostile, honest, connections = Fuzzer(folder / "hostile"), Fuzzer(folder / "honest"), HastyConnections()
    acceptors = [await fuzzer.start() for fuzzer in (hostile, honest) if not fuzzer.folder.mkdir()]
    for fuzzer in (hostile, honest):
        await _measure(connections, fuzzer.target)
    hostile.random, connections.hasty = Random(f"{SEED} {name}"), hostile.target
    honest_looks = asyncio.create_task(_look_again_and_again(connections, honest.target))
    turn = asyncio.Semaphore(AT_A_TIME)
    await asyncio.gather(*(_ask(COMMANDS[name], connections, hostile.target, turn) for _ in range(ANSWERS)))
    honest_looks.cancel()
    with pytest.raises(asyncio.CancelledError):
        await honest_looks
    await connections.close()
    for acceptor in acceptors:
        acceptor.close()
    return hostile.spoilt


async def _measure(connections: Connections, target: Target) -> None:
    """Have a run of the target end, so that there is something to be looked at and collected."""
    await COMMANDS["start"](connections, target)
    assert await job.wait_for_end(connections, target, ATTEMPT, timeout_s=20)
    assert (await job.collect(connections, target, ATTEMPT, cap_bytes=1 << 20)).outputs.stdout == b"result\n"


async def _look_again_and_again(connections: Connections, target: Target) -> None:
    """Look at the honest target's run for as long as the other one answers; each look must see it as it is."""
    while True:
        assert (await job.look(connections, target, ATTEMPT)).out_chunk == b"result\n"


async def _ask(ask: Ask, connections: Connections, target: Target, turn: asyncio.Semaphore) -> None:
    async with turn:
        try:
            answer = await ask(connections, target)
        except (RemoteFailure, Unreachable, HostBusyError, tags.TagError) as error:
            assert len(str(error)) < 1100
            assert str(error).isprintable()
            return
    if isinstance(answer, dict | list):
        text = json.dumps(answer, allow_nan=False)
        assert "\\u0000" not in text
        assert "\\ud8" not in text.replace("\\ud83d\\u", "")
