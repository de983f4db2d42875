"""Ask hosts for the doctor whether they answer."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.core.exceptions import ImproperlyConfigured

from benchhub.catalog.models import Host
from runners.readings import decimal, whole
from runners.ssh import Connections, HostKeyChanged, RemoteFailure, Target, Unreachable

from .visits import target_of

ANSWER_TIMEOUT_S = 20.0
ANSWER_BYTES = 64 << 10
AT_A_TIME = 50
# The nearest folder that exists: the work directory is made at the first run.
SCRIPT = """\
date +%s.%N
cd -- "$HOME" || exit 1
folder={folder}
folder=${{folder#\\$HOME/}}
while [ ! -d "$folder" ] && [ "$folder" != / ] && [ "$folder" != . ]; do folder=$(dirname -- "$folder"); done
stat -f -c '%a %S' -- "$folder"
"""


@dataclass(frozen=True, slots=True)
class Examined:
    """The answer of one host. `clock_ahead_s` is its clock minus this machine's, give or take the round trip."""

    clock_ahead_s: float
    free_bytes: int


def examine(hosts: Iterable[Host]) -> Mapping[int, Examined | str]:
    """Return the answer of each host by its key, or a sentence that says why there is none.

    The connections are its own, and closed afterwards.
    """
    return asyncio.run(_examine(list(hosts)))


async def _examine(hosts: Sequence[Host]) -> dict[int, Examined | str]:
    connections, turn = Connections(), asyncio.Semaphore(AT_A_TIME)
    try:
        answers = await asyncio.gather(*(_ask(connections, turn, host) for host in hosts))
    finally:
        await connections.close()
    return dict(zip((host.pk for host in hosts), answers, strict=True))


async def _ask(connections: Connections, turn: asyncio.Semaphore, host: Host) -> Examined | str:
    try:
        target = target_of(host)
    except ImproperlyConfigured as error:  # a key that nobody can read
        return str(error)
    return await _examined(connections, turn, target, host.work_directory)


async def _examined(
    connections: Connections, turn: asyncio.Semaphore, target: Target, work_directory: str
) -> Examined | str:
    script = SCRIPT.format(folder=shlex.quote(work_directory))
    async with turn:
        try:
            before_s = time.time()
            answer = await connections.run(target, script, timeout_s=ANSWER_TIMEOUT_S, most_bytes=ANSWER_BYTES)
            return _read(answer, (before_s + time.time()) / 2)
        except (Unreachable, RemoteFailure, HostKeyChanged, ValueError) as error:
            return str(error)


def _read(answer: bytes, now_s: float) -> Examined:
    """Return what the script printed. Raises ValueError where that is no time and no sizes."""
    clock, blocks, size = answer.decode(errors="replace").split()
    clock_s, free_blocks, block_bytes = decimal(clock.replace("%N", "0")), whole(blocks), whole(size)
    if clock_s is None or free_blocks is None or block_bytes is None:
        raise ValueError("It answered with what is no time and no free space.")
    return Examined(clock_ahead_s=clock_s - now_s, free_bytes=free_blocks * block_bytes)
