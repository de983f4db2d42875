"""The pgbench that drives a plan: one program for all its systems, as probes found it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchhub.catalog.models import Host


def client_builds(host: Host) -> dict[str, dict[str, Any]]:
    """Return the builds on a host that can drive a run, by folder."""
    fields = ("pgbench_version", "postgres_sha256", "version_num")
    return {build["bin_directory"]: build for build in host.facts.get("builds", []) if all(map(build.get, fields))}


def chosen_client(drivers: Sequence[Host], folder: str) -> dict[str, Any]:
    """Return the build that drives all systems: the one in this folder, or the newest that every driver has.

    Raises LookupError that says what is missing, and where.
    """
    driver_builds = [client_builds(driver) for driver in drivers]
    for driver, builds in zip(drivers, driver_builds, strict=True):
        if not builds:
            raise LookupError(f"No PostgreSQL with pgbench is known on {driver}: probe the host first.")
        if folder and folder not in builds:
            raise LookupError(f"{driver} has no pgbench in {folder}: choose another, or probe it with that path.")
    common = [build for name, build in driver_builds[0].items() if all(name in builds for builds in driver_builds)]
    if not common:
        raise LookupError("The drivers have no pgbench in a folder of the same name: install one in the same place.")
    client = driver_builds[0][folder] if folder else max(common, key=lambda build: build["version_num"])
    return _same_everywhere(client, drivers, driver_builds)


def _same_everywhere(
    build: dict[str, Any], drivers: Sequence[Host], driver_builds: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the build if it has one version on all drivers; raises LookupError otherwise."""
    for driver, builds in zip(drivers, driver_builds, strict=True):
        version = builds[build["bin_directory"]]["pgbench_version"]
        if version != build["pgbench_version"]:
            raise LookupError(
                f"pgbench in {build['bin_directory']} is {build['pgbench_version']} on {drivers[0]} but {version} on "
                f"{driver}: one program must drive all systems."
            )
    return build
