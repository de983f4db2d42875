"""The page of a host: the four steps of adding it, fingerprints, and its facts in people's words."""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, QuerySet

from benchhub.analysis.words import GIB, count, listing, word
from benchhub.catalog.models import Hardware, Host, Instance, InterferenceGroup, SourceBuild
from benchhub.catalog.models.hosts import Approval
from benchhub.catalog.shared.citations import is_cited
from benchhub.catalog.shared.machines import (
    bought_shape,
    bought_unlike_sockets,
    cpu_count,
    guest_reason,
    shape,
    unlike_sockets,
)
from benchhub.ui.facts import Fact
from runners.os_settings.script import DOWNLOADED, HELPER, VERSION, sudo_rule

# Which package brings what a run cannot do without.
PACKAGES = {"flock": "util-linux", "setsid": "util-linux", "sha256sum": "coreutils", "timeout": "coreutils"}
FOR_PERCENTILES = ("awk", "gzip")
LARGEST_SKEW_S = 2
MOST_SOURCE_BUILDS = 100
NAMED_RUNS = 5


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that runs there, and the query of the form that makes it an instance."""

    port: int
    query: str


@dataclass(frozen=True)
class HostPage:
    """The page of a host, which comes out of `host()`; lists are read when they are first needed."""

    host: Host

    @cached_property
    def instances(self) -> list[Instance]:
        rows = self.host.instances.select_related("build", "configuration", "cluster").defer("password")
        return list(rows.order_by("name"))

    @cached_property
    def source_builds(self) -> list[SourceBuild]:
        """Return what BenchHub built there or is to build, the newest first."""
        return list(self.host.source_builds.defer("log_tail").order_by("-pk")[:MOST_SOURCE_BUILDS])

    @cached_property
    def steps(self) -> dict[str, Step]:
        return steps(self.host, len(self.instances))

    @property
    def install_line(self) -> str:
        return install_line(self.host)

    @property
    def os_helper_lines(self) -> str:
        """Return the lines that install the helper for settings of the operating system, as root on the host."""
        return (
            f"install -o root -g root -m 755 {DOWNLOADED} {HELPER}\n"
            f"echo {shlex.quote(sudo_rule(self.host.username))} > /etc/sudoers.d/benchhub\n"
            "chmod 440 /etc/sudoers.d/benchhub && visudo -c"
        )

    @property
    def has_os_helper(self) -> bool:
        return bool(self.host.facts.get("os_settings") == VERSION)

    @property
    def has_old_os_helper(self) -> bool:
        return "os_settings" in self.host.facts and not self.has_os_helper

    @property
    def offered(self) -> str:
        """Return the fingerprint of the key that waits for approval; empty where none does."""
        return fingerprint(self.host.offered_host_key)

    @property
    def pinned(self) -> str:
        return fingerprint(self.host.host_key)

    @property
    def console_line(self) -> str:
        return command_at_console(self.host.offered_host_key or self.host.host_key)

    @cached_property
    def facts(self) -> list[Fact]:
        return facts(self.host)

    @cached_property
    def differences(self) -> list[Difference]:
        return bought_and_found(self.host)

    @cached_property
    def troubles(self) -> list[str]:
        return troubles(self.host)

    @cached_property
    def servers(self) -> list[RunningServer]:
        """Return the servers that the last probe saw running and that are no instance yet."""
        rows = self.host.facts.get("servers", ()) if self.builds else ()
        return [self._running(row) for row in rows if not any(map(partial(_is_at, row), self.instances))]

    def _running(self, row: Mapping[str, Any]) -> RunningServer:
        """Return a server with the form for it filled in as far as its socket tells."""
        server = f"{self.host.pk}:{self.builds[0]['bin_directory']}"
        query = {"server": server, "address": row["socket_directory"], "port": row["port"]}
        return RunningServer(row["port"], urlencode(query))

    @cached_property
    def builds(self) -> list[dict[str, Any]]:
        return server_builds(self.host)


def _is_at(server: Mapping[str, Any], instance: Instance) -> bool:
    """Tell whether the instance is the server of this socket; by its port alone, where it is reached by network."""
    if instance.own_cluster:
        return bool(str(server["socket_directory"]).startswith(instance.own_cluster.folder))
    folder = instance.address if instance.address.startswith("/") else server["socket_directory"]
    return (folder, instance.port) == (server["socket_directory"], server["port"])


def hosts() -> QuerySet[Host]:
    """Return hosts for the list, without keys and facts."""
    rows = Host.objects.select_related("hardware", "interference_group").annotate(instance_count=Count("instances"))
    return rows.defer("private_key", "facts")


def host() -> QuerySet[Host]:
    rows = Host.objects.select_related("hardware", "interference_group").annotate(is_cited=is_cited(Host))
    return rows.defer("private_key")


def group_names() -> QuerySet[Any]:
    return InterferenceGroup.objects.order_by("name").values_list("name", flat=True)


def fingerprint(key: str) -> str:
    """Return 'SHA256:...' of a public key line, as `ssh-keygen -l` prints it; empty for what is no key."""
    try:
        digest = hashlib.sha256(base64.b64decode(key.split()[1], validate=True)).digest()
    except (IndexError, ValueError):
        return ""
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def command_at_console(key: str) -> str:
    """Return the command that prints the same fingerprint on the host itself."""
    kind = key.split(" ")[0].removeprefix("ssh-").split("-")[0] or "ed25519"
    return f"ssh-keygen -lf /etc/ssh/ssh_host_{kind}_key.pub"


def install_line(host: Host) -> str:
    """Return one line of shell that lets BenchHub log in, for the user that it logs in as."""
    return (
        f"mkdir -p ~/.ssh && echo {shlex.quote(host.public_key)} >> ~/.ssh/authorized_keys"
        " && chmod 700 ~/.ssh && chmod 600 ~/.ssh/authorized_keys"
    )


def key_stays(runs: Iterable[int]) -> str:
    """Say that the key was not replaced, for the sake of these runs."""
    names = listing([f"run {key}" for key in runs])
    return f"The key was not replaced: nobody could reach {names} until the new one is installed. Wait, or cancel."


def withdrawn_text(approval: Approval) -> str:
    """Say which grants an approval has ended, which runs wait for that, and what to do; empty where it ended none."""
    names = listing(approval.withdrawn)
    if not names:
        return ""
    return (
        f"The key is another one than before, so that runs may not change settings of {names} any more: test and grant "
        f"it anew if its owner still agrees.{_waiting_text(approval.waiting_runs)}"
    )


def _waiting_text(runs: Sequence[int]) -> str:
    if not runs:
        return ""
    rest = len(runs) - NAMED_RUNS
    names = [*(f"run {key}" for key in runs[:NAMED_RUNS]), *([count(rest, "more run")] if rest > 0 else [])]
    return f" In the queue {listing(names)} {word('waits', len(runs), 'wait')} for it: grant it, or cancel."


@dataclass(frozen=True, slots=True)
class Step:
    """`state` is done, next or later; `label` says it, and where it is to be done."""

    title: str
    state: str
    label: str


def steps(host: Host, instance_count: int) -> dict[str, Step]:
    """Return the four steps by name; the first two may be taken in either order."""
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


def facts(host: Host) -> list[Fact]:
    """Return what the probe found, in the order of reading."""
    cpu, dmi = host.facts.get("cpu", {}), host.facts.get("dmi", {})
    counts, socket_cores = shape(host.facts), unlike_sockets(host.facts)
    rows = [
        Fact("Processor", cpu.get("model")),
        Fact("CPUs", cpu.get("cpus")),
        Fact("CPUs offline", cpu.get("cpus_offline")),
        Fact("CPUs that may be used", cpu.get("cpus_allowed")),
        Fact("Sockets", len(socket_cores) or counts.get("sockets")),
        Fact("Cores", cpu.get("cores")),
        Fact("Kinds of cores", _core_kinds(cpu.get("core_kinds", []))),
        Fact("Cores per socket", counts.get("cores_per_socket")),
        Fact("Cores of each socket", _numbers(socket_cores)),
        Fact("Threads per core", counts.get("threads_per_core")),
        Fact("Highest clock", cpu.get("max_mhz"), "MHz"),
        Fact("Virtual by", guest_reason(host.facts) or None),
        Fact("Memory", host.facts.get("memory_bytes"), "bytes"),
        Fact("Memory for this account", host.memory_limit_bytes, "bytes"),
        Fact("Memory modules", _memory_modules(host.facts.get("memory_modules", []))),
        Fact("Swap", host.facts.get("swap_bytes"), "bytes"),
        Fact("Operating system", host.facts.get("os", {}).get("name")),
        Fact("Kernel", host.facts.get("kernel")),
        Fact("Architecture", host.facts.get("architecture")),
        Fact("Machine", " ".join(filter(None, (dmi.get("sys_vendor"), dmi.get("product_name")))) or None),
        Fact("Logged in as", host.facts.get("username")),
    ]
    return [fact for fact in rows if fact.value is not None]


def _numbers(values: Iterable[int]) -> str | None:
    return ", ".join(f"{value:,}" for value in values) or None


def _memory_modules(modules: list[dict[str, Any]]) -> str | None:
    texts = [f"{module['count']} x {module['size_bytes'] / GIB:g} GiB {module['kind']}" for module in modules]
    return listing(texts) if texts else None


def _core_kinds(kinds: list[dict[str, Any]]) -> str | None:
    return listing([f"{kind['cores']} {kind['name']}" for kind in kinds]) if kinds else None


MEMORY_TOLERANCE = 0.1  # firmware and kernel keep some of it


@dataclass(frozen=True, slots=True)
class Difference:
    """A number that was bought, beside the same number as the probe found it; `unit` is of both."""

    name: str
    bought: Any
    probed: Any
    unit: str = ""

    @property
    def differs(self) -> bool:
        if self.unit == "bytes":
            return bool(abs(self.bought - self.probed) > MEMORY_TOLERANCE * self.bought)
        return bool(self.bought != self.probed)


def bought_and_found(host: Host) -> list[Difference]:
    """Compare what was bought with what was found; empty where nothing differs or one is missing."""
    hardware, cpu, memory_bytes = host.hardware, bought_shape(host.facts), host.facts.get("memory_bytes")
    if hardware is None:
        return []
    bought_memory_bytes = None if guest_reason(host.facts) else hardware.memory_bytes
    rows = [
        Difference("Sockets", hardware.sockets, cpu.get("sockets")),
        Difference(
            "Cores per socket",
            hardware.cores_per_socket - hardware.disabled_cores_per_socket,
            cpu.get("cores_per_socket"),
        ),
        Difference("Cores of each socket", _bought_socket_cores(hardware), _numbers(bought_unlike_sockets(host.facts))),
        Difference("Threads per core", hardware.threads_per_core, cpu.get("threads_per_core")),
        Difference("Memory", bought_memory_bytes, memory_bytes, "bytes"),
        Difference("vCPUs of the virtual machine", hardware.vm_vcpus, cpu_count(host.facts)),
        Difference("Memory of the virtual machine", hardware.vm_memory_bytes, memory_bytes, "bytes"),
    ]
    comparable = [row for row in rows if row.bought is not None and row.probed is not None]
    return comparable if any(row.differs for row in comparable) else []


def _bought_socket_cores(hardware: Hardware) -> str | None:
    """Return the cores of each socket that are not disabled, the largest first, as the probe gives them."""
    numbers = hardware.unlike_cores or [hardware.cores_per_socket] * hardware.sockets
    return _numbers(sorted((number - hardware.disabled_cores_per_socket for number in numbers), reverse=True))


def troubles(host: Host) -> list[str]:
    """Return what keeps runs from working well there, as sentences that say what to do."""
    if not host.facts:
        return []
    return [*_program_troubles(host.facts), *_build_troubles(host.facts), *_hardware_troubles(host)]


def _program_troubles(facts: Mapping[str, Any]) -> Iterator[str]:
    missing = facts.get("missing", [])
    for program in (name for name in missing if name in PACKAGES):
        yield f"The program {program} is missing, and no run works without it: install {PACKAGES[program]} there."
    for program in (name for name in FOR_PERCENTILES if name not in facts.get("tools", {name: ""})):
        yield f"The program {program} is missing, so runs there have no percentiles: install {program} there."
    if unread := [name.replace("_", " ") for name in missing if name not in PACKAGES]:
        yield f"The probe could not read these facts, and leaves them out: {listing(unread)}."
    yield from facts.get("remarks", [])
    if abs(facts.get("time_skew_s") or 0) > LARGEST_SKEW_S:
        yield f"Its clock is {facts['time_skew_s']:+.1f} s apart from this machine's: set it by NTP."


def _build_troubles(facts: Mapping[str, Any]) -> Iterator[str]:
    builds = facts.get("builds", [])
    if not any("postgres_sha256" in build for build in builds):
        yield (
            "No PostgreSQL server was found on the PATH, in /usr/lib/postgresql/*/bin, /usr/pgsql-*/bin or "
            "/usr/local/pgsql*/bin. Install it there, or link its folder as /usr/local/pgsql-NAME, and probe again."
        )
    if not any("pgbench_version" in build for build in builds):
        yield "No pgbench was found, so that no load can be driven from there: install it, and probe again."


def _hardware_troubles(host: Host) -> Iterator[str]:
    cpu, bought = bought_shape(host.facts), host.hardware
    probed = (cpu.get("sockets"), cpu.get("cores_per_socket"))
    if bought and all(probed) and probed != (bought.sockets, bought.cores_per_socket):
        yield (
            f"The probe saw {probed[0]} x {probed[1]} cores, but {bought} has "
            f"{bought.sockets} x {bought.cores_per_socket}. "
            "Prices are counted by the latter: choose other hardware, or revise it, if that is wrong."
        )


def server_builds(host: Host) -> list[dict[str, Any]]:
    """Return the builds there that have a server, newest first."""
    builds = [build for build in host.facts.get("builds", []) if {"postgres_sha256", "version_num"} <= build.keys()]
    return sorted(builds, key=lambda build: build["version_num"], reverse=True)
