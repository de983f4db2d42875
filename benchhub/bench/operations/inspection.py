"""Look at an instance once from its driver, as a run would log in to it, and judge what was seen."""

from __future__ import annotations

import asyncio
from typing import Any

from benchhub.bench.execute.visits import target_of
from benchhub.catalog.instances.checks import Check, Expected, Level, checks
from benchhub.catalog.models import Host, Instance
from runners.contract import Endpoint
from runners.inspection.look import Place, Seen, look
from runners.ssh import Connections, HostKeyChanged, RemoteFailure, Target, Unreachable


def inspect(instance: Instance, driver: Host) -> list[Check]:
    """Return a line for each thing that was looked at; a driver that cannot be asked is a line that stops.

    The connection is its own, and closed afterwards.
    """
    if driver.trust != Host.Trust.PINNED:
        return [Check("Driver", Level.STOPS, f"The key of {driver} is not approved.", "Look at it and approve it.")]
    endpoint = Endpoint("network", instance.address, instance.port, instance.database, instance.username)
    is_here = instance.host_id == driver.pk
    programs = instance.bin_directory if is_here else newest_programs(driver)
    place = Place(endpoint, programs, instance.data_directory, is_here)
    try:
        seen = asyncio.run(_look(target_of(driver), place, instance.password or None))
    except (HostKeyChanged, Unreachable, RemoteFailure, TimeoutError, ValueError) as error:
        return [Check("Driver", Level.STOPS, str(error) or "It did not answer in time.", "Mend that first.")]
    build = instance.build
    return checks(seen, Expected(build.version, build.version_num, is_here))


def newest_programs(driver: Host) -> str:
    """Return where the newest pgbench of the last probe lies; "" where it saw none."""
    builds = [build for build in driver.facts.get("builds", ()) if build.get("pgbench_version")]
    newest: dict[str, Any] = max(builds, key=lambda build: build.get("version_num") or 0, default={})
    return str(newest.get("bin_directory", ""))


async def _look(target: Target, place: Place, password: str | None) -> Seen:
    connections = Connections()
    try:
        return await look(connections, target, place, password)
    finally:
        await connections.close()
