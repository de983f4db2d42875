"""Ask hosts for the doctor whether they answer, and look at an instance from its driver, both on demand."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from benchhub.bench.plan.clients import chosen_client
from benchhub.catalog.models import Host, Instance
from runners.contract import Endpoint
from runners.inspection.answer import Seen
from runners.inspection.look import Place, look
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
    return asyncio.run(_examine([(host.pk, target_of(host), host.work_directory) for host in hosts]))


async def _examine(places: list[tuple[int, Target, str]]) -> dict[int, Examined | str]:
    connections, turn = Connections(), asyncio.Semaphore(AT_A_TIME)
    try:
        answers = await asyncio.gather(*(_ask(connections, turn, target, work) for _, target, work in places))
    finally:
        await connections.close()
    return dict(zip((pk for pk, _, _ in places), answers, strict=True))


async def _ask(connections: Connections, turn: asyncio.Semaphore, target: Target, work: str) -> Examined | str:
    script = SCRIPT.format(folder=shlex.quote(work))
    async with turn:
        try:
            before_s = time.time()
            answer = await connections.run(target, script, timeout_s=ANSWER_TIMEOUT_S, most_bytes=ANSWER_BYTES)
            now_s = (before_s + time.time()) / 2
            return _read(answer, now_s)
        except (Unreachable, RemoteFailure, HostKeyChanged, ValueError) as error:
            return str(error)


def _read(answer: bytes, now_s: float) -> Examined:
    """Return what the script printed. Raises ValueError where that is no time and no sizes."""
    clock, blocks, size = answer.decode(errors="replace").split()
    clock_s, free_blocks, block_bytes = decimal(clock.replace("%N", "0")), whole(blocks), whole(size)
    if clock_s is None or free_blocks is None or block_bytes is None:
        raise ValueError("It answered with what is no time and no free space.")
    return Examined(clock_ahead_s=clock_s - now_s, free_bytes=free_blocks * block_bytes)


def look_at(instance: Instance, driver: Host) -> Seen | str:
    """Return what the driver sees of the instance at one log-in, or a sentence that says why it cannot look.

    The connection is its own, and closed afterwards.
    """
    if driver.trust != Host.Trust.PINNED:
        return f"The key of {driver} is not approved: look at it and approve it."
    endpoint = Endpoint("network", instance.address, instance.port, instance.database, instance.username)
    is_here = instance.host_id == driver.pk
    try:
        programs = instance.bin_directory if is_here else chosen_client([driver], "")["bin_directory"]
        place = Place(endpoint, programs, instance.data_directory, is_here)
        return asyncio.run(_look(target_of(driver), place, instance.password or None))
    except (LookupError, HostKeyChanged, Unreachable, RemoteFailure, TimeoutError, ValueError) as error:
        return str(error) or "The driver did not answer in time."


async def _look(target: Target, place: Place, password: str | None) -> Seen:
    connections = Connections()
    try:
        return await look(connections, target, place, password)
    finally:
        await connections.close()
