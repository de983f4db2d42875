"""What the page of a host shows: the four steps of adding it, fingerprints, and its facts in people's words."""

from __future__ import annotations

import base64
import hashlib
import math
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, QuerySet

from benchhub.catalog.models import Host, InterferenceGroup
from benchhub.catalog.shared.citations import is_cited

# Which package brings what a run cannot do without.
PACKAGES = {"flock": "util-linux", "setsid": "util-linux", "sha256sum": "coreutils", "timeout": "coreutils"}
FOR_PERCENTILES = ("awk", "gzip")
LARGEST_SKEW_S = 2


def hosts() -> QuerySet[Host]:
    """For the list; neither keys nor facts are read for it."""
    rows = Host.objects.select_related("hardware", "interference_group").annotate(instance_count=Count("instances"))
    return rows.defer("private_key", "facts")


def host() -> QuerySet[Host]:
    rows = Host.objects.select_related("hardware", "interference_group").annotate(is_cited=is_cited(Host))
    return rows.defer("private_key")


def group_names() -> QuerySet[Any]:
    return InterferenceGroup.objects.order_by("name").values_list("name", flat=True)


def fingerprint(key: str) -> str:
    """'SHA256:...' of a public key line, as `ssh-keygen -l` prints it; empty for what is no key."""
    try:
        digest = hashlib.sha256(base64.b64decode(key.split()[1], validate=True)).digest()
    except (IndexError, ValueError):
        return ""
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def command_at_console(key: str) -> str:
    """What prints the same fingerprint on the host itself."""
    kind = key.split(" ")[0].removeprefix("ssh-").split("-")[0] or "ed25519"
    return f"ssh-keygen -lf /etc/ssh/ssh_host_{kind}_key.pub"


def install_line(host: Host) -> str:
    """One line of shell that lets BenchHub log in, for the user that it logs in as."""
    return (
        f"mkdir -p ~/.ssh && echo {shlex.quote(host.public_key)} >> ~/.ssh/authorized_keys"
        " && chmod 700 ~/.ssh && chmod 600 ~/.ssh/authorized_keys"
    )


@dataclass(frozen=True, slots=True)
class Step:
    """`state` is done, next or later; `label` says it, and where it is to be done."""

    title: str
    state: str
    label: str


def steps(host: Host, instance_count: int) -> dict[str, Step]:
    """The four steps by name; the first two may be taken in either order."""
    is_pinned, is_probed = host.trust == Host.Trust.PINNED, host.facts_at is not None
    is_install_next = not is_pinned or bool(host.contact_error)
    return {
        "install": _step("Install the public key", is_probed, is_install_next, "on the host", "before the probe"),
        "approve": _step("Approve the host key", is_pinned, True),
        "probe": _step("Probe the host", is_probed, is_pinned),
        "instance": _step("Add an instance", instance_count > 0, is_pinned and is_probed),
    }


def _step(title: str, is_done: bool, is_next: bool, where: str = "here", later: str = "later") -> Step:
    if is_done:
        return Step(title, "done", "done")
    return Step(title, "next", f"next, {where}") if is_next else Step(title, "later", later)


@dataclass(frozen=True, slots=True)
class Fact:
    name: str
    value: Any
    unit: str = ""


def facts(host: Host) -> list[Fact]:
    """What there is of it, in the order of reading."""
    known_facts, cpu = host.facts, host.facts.get("cpu", {})
    dmi = known_facts.get("dmi", {})
    rows = [
        Fact("Processor", cpu.get("model")),
        Fact("Sockets", cpu.get("sockets")),
        Fact("Cores per socket", cpu.get("cores_per_socket")),
        Fact("Threads per core", cpu.get("threads_per_core")),
        Fact("Highest clock", cpu.get("max_mhz"), "MHz"),
        Fact("Hypervisor", cpu.get("hypervisor")),
        Fact("Memory", known_facts.get("memory_bytes"), "bytes"),
        Fact("Swap", known_facts.get("swap_bytes"), "bytes"),
        Fact("Operating system", known_facts.get("os", {}).get("name")),
        Fact("Kernel", known_facts.get("kernel")),
        Fact("Architecture", known_facts.get("architecture")),
        Fact("Machine", " ".join(filter(None, (dmi.get("sys_vendor"), dmi.get("product_name")))) or None),
        Fact("Logged in as", known_facts.get("username")),
    ]
    return [fact for fact in rows if fact.value is not None]


MEMORY_TOLERANCE = 0.1  # firmware and kernel keep some of it


@dataclass(frozen=True, slots=True)
class Compared:
    """What was bought beside what the probe found; `unit` is of both."""

    name: str
    bought: Any
    found: Any
    unit: str = ""

    @property
    def differs(self) -> bool:
        if self.unit == "bytes":
            return bool(abs(self.bought - self.found) > MEMORY_TOLERANCE * self.bought)
        return bool(self.bought != self.found)


def bought_and_found(host: Host) -> list[Compared]:
    """Where both are known and something differs; empty otherwise."""
    hardware, cpu, memory_bytes = host.hardware, host.facts.get("cpu", {}), host.facts.get("memory_bytes")
    if hardware is None:
        return []
    rows = [
        Compared("Sockets", hardware.sockets, cpu.get("sockets")),
        Compared(
            "Cores per socket",
            hardware.cores_per_socket - hardware.disabled_cores_per_socket,
            cpu.get("cores_per_socket"),
        ),
        Compared("Threads per core", hardware.threads_per_core, cpu.get("threads_per_core")),
        Compared("Memory", hardware.memory_bytes, memory_bytes, "bytes"),
        Compared("vCPUs of the virtual machine", hardware.vm_vcpus, _cpus(cpu)),
        Compared("Memory of the virtual machine", hardware.vm_memory_bytes, memory_bytes, "bytes"),
    ]
    compared = [row for row in rows if row.bought is not None and row.found is not None]
    return compared if any(row.differs for row in compared) else []


def _cpus(cpu: Mapping[str, Any]) -> int | None:
    counts: list[Any] = [cpu.get(name) for name in ("sockets", "cores_per_socket", "threads_per_core")]
    return None if None in counts else math.prod(counts)


def troubles(host: Host) -> list[str]:
    """What the probe found that keeps runs from working well there, each with what to do."""
    return [*_missing(host.facts), *_of_builds(host.facts), *_of_hardware(host)] if host.facts else []


def _missing(facts: Mapping[str, Any]) -> Iterator[str]:
    missing = facts.get("missing", [])
    for program in (name for name in missing if name in PACKAGES):
        yield f"The program {program} is missing, and no run works without it: install {PACKAGES[program]} there."
    for program in (name for name in FOR_PERCENTILES if name not in facts.get("tools", {name: ""})):
        yield f"The program {program} is missing, so runs there have no percentiles: install {program} there."
    if unread := [name.replace("_", " ") for name in missing if name not in PACKAGES]:
        yield f"Could not be read there, and is left out: {', '.join(unread)}."
    if abs(facts.get("time_skew_s") or 0) > LARGEST_SKEW_S:
        yield f"Its clock is {facts['time_skew_s']:+.1f} s apart from this machine's: set it by NTP."


def _of_builds(facts: Mapping[str, Any]) -> Iterator[str]:
    builds = facts.get("builds", [])
    if not any("postgres_sha256" in build for build in builds):
        yield (
            "No PostgreSQL server was found on the PATH, in /usr/lib/postgresql/*/bin, /usr/pgsql-*/bin or "
            "/usr/local/pgsql*/bin. Install it there, or link its folder as /usr/local/pgsql-NAME, and probe again."
        )
    if not any("pgbench_version" in build for build in builds):
        yield "No pgbench was found, so that no load can be driven from there: install it, and probe again."


def _of_hardware(host: Host) -> Iterator[str]:
    cpu, bought = host.facts.get("cpu", {}), host.hardware
    probed = (cpu.get("sockets"), cpu.get("cores_per_socket"))
    if bought and all(probed) and probed != (bought.sockets, bought.cores_per_socket):
        yield (
            f"The probe saw {probed[0]} x {probed[1]} cores, but {bought} has "
            f"{bought.sockets} x {bought.cores_per_socket}. "
            "Prices are counted by the latter: choose other hardware, or revise it, if that is wrong."
        )


def server_builds(host: Host) -> list[dict[str, Any]]:
    """The builds there that have a server, newest first."""
    builds = [build for build in host.facts.get("builds", []) if {"postgres_sha256", "version_num"} <= build.keys()]
    return sorted(builds, key=lambda build: build["version_num"], reverse=True)
