"""Read the facts of a host and of the PostgreSQL builds on it.

What cannot be read is absent and named in `missing`, never guessed.
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from runners.confinement import apart
from runners.facts import limits, processor, storage, texts
from runners.facts.texts import pairs
from runners.facts.topology import Platform
from runners.job import sensible
from runners.os_settings.names import SETTINGS
from runners.os_settings.script import COMMAND, HELPER
from runners.readings import decimal, read_sections, storable_facts, whole
from runners.ssh import Connections, RemoteFailure, Target
from runners.tools.shell import UNSET

PROBE_TIMEOUT_S = 60.0
MOST_REMARKS = 20
MOST_BYTES = 1 << 20
MOST_FOLDERS = 100
MOST_DATABASES, LONGEST_DATABASE = 200, 63  # characters; PostgreSQL allows as many bytes
SCRIPTS = Path(__file__).parent / "target"
SYSCTLS = (
    "vm.swappiness",
    "vm.dirty_ratio",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_background_bytes",
    "vm.overcommit_memory",
    "vm.overcommit_ratio",
    "vm.nr_hugepages",
    "vm.zone_reclaim_mode",
    "vm.min_free_kbytes",
    "kernel.numa_balancing",
    "kernel.sched_autogroup_enabled",
    "kernel.sched_migration_cost_ns",
    "kernel.shmmax",
    "kernel.shmall",
    "kernel.sem",
    "kernel.io_uring_disabled",
    "net.core.somaxconn",
    "net.ipv4.tcp_congestion_control",
    "fs.aio-max-nr",
)
TOOLS = ("flock", "setsid", "sha256sum", "timeout", "awk", "gzip", "psql", "pgbench", "perf", "sysbench")
REQUIRED_TOOLS = ("flock", "setsid", "sha256sum", "timeout")
# Change from one moment or boot to the next without anything having been changed.
UNSTABLE_CPU = ("mhz", "bogomips")
# Of the kernel's command line only what bears on speed: the rest is long, differs by boot and may be private.
KERNEL_OPTIONS = re.compile(
    r"(mitigations|nosmt|isolcpus|nohz_full|rcu_nocbs|intel_pstate|amd_pstate|cpufreq\.\w+|intel_idle\.max_cstate"
    r"|processor\.max_cstate|idle|transparent_hugepage|hugepages|hugepagesz|default_hugepagesz|numa|numa_balancing"
    r"|elevator|clocksource|tsc|nopti|pti|maxcpus|nr_cpus|mem)(=.*)?"
)
# A host has these only if it is built so: their absence is no gap in what was read.
MAY_BE_ABSENT = (
    "cpu_governors", "dmi", "kernel_options", "drop_caches", "os_settings", "os_settings_absent", "virtualization",
    "memory_modules", "limits", "servers",
)  # fmt: skip
# A container sees the disks of its host as they are; every other sign is one of a virtual machine.
CONTAINERS = {
    "container", "container-other", "docker", "lxc", "lxc-libvirt", "openvz", "podman", "rkt", "systemd-nspawn",
}  # fmt: skip

Facts = dict[str, Any]


async def probe(connections: Connections, target: Target, *, prefixes: Sequence[str] = ()) -> Facts:
    """Return the facts of a host as plain data; `missing` names what could not be read.

    Sizes are bytes; `time_skew_s` is the target's clock minus this machine's, give or take the round trip.
    `prefixes` are further places where PostgreSQL is installed. Raises as `Connections.run`.
    """
    values = {"sysctls": SYSCTLS, "tools": TOOLS, "prefixes": prefixes, "os_helper": [HELPER], "os_command": [COMMAND]}
    values["libpq_variables"] = [*UNSET.split(), "PGUSER", "PGDATABASE", "PGPORT"]
    answer = await _answer(connections, target, _script("probe.sh", values))
    with sensible(target, answer):
        facts, folders = await apart(_read_probe, answer)
    sent_at = time.time()
    answer = await _answer(connections, target, "date +%s.%N")
    target_time_s = _target_time(answer.decode(errors="replace"))
    if target_time_s is None:
        facts["missing"].append("time_skew_s")
    else:
        facts["time_skew_s"] = round(target_time_s - (sent_at + time.time()) / 2, 3)
    try:
        facts["builds"] = await builds(connections, target, folders)
    except ValueError as error:  # it was the host that named these folders
        raise RemoteFailure(str(error), None) from error
    return storable_facts(facts)


async def _answer(connections: Connections, target: Target, command: str) -> bytes:
    return await connections.run(target, command, timeout_s=PROBE_TIMEOUT_S, most_bytes=MOST_BYTES)


def _read_probe(answer: bytes) -> tuple[Facts, list[str]]:
    """Return the facts, and the folders in which PostgreSQL may lie."""
    sections = dict(read_sections(answer))
    return parse_probe(sections), sections.get("bin_directories", "").splitlines()[:MOST_FOLDERS]


def _target_time(text: str) -> float | None:
    """Return the time that `date` printed. One without nanoseconds (BusyBox) prints %N or nothing for them."""
    seconds, _, rest = text.strip().partition(".")
    return decimal(f"{seconds}.{rest}") if rest.isdecimal() else decimal(seconds)


def parse_probe(sections: Mapping[str, str]) -> Facts:
    """Return the facts from the sections that probe.sh prints, by name. Never raises, whatever stands in them.

    `remarks` are sentences on numbers that cannot be: they are left out of the facts.
    """
    tools, uptime = pairs(sections.get("tools", "")), sections.get("uptime", "")
    platform = Platform(sections.get("architecture", ""), sections.get("kernel", ""))
    cpu, remarks = processor.read(sections, platform)
    memory = texts.memory(sections.get("meminfo", ""))
    tree = storage.devices(sections.get("block_tree", ""))
    facts: Facts = {
        "username": sections.get("username"),
        "os": texts.release(sections.get("os_release", ""), sections.get("os_release_line", "")),
        "kernel": platform.kernel,
        "architecture": platform.architecture,
        "cpu": cpu,
        "block_devices": storage.block_devices(sections.get("block_devices", ""), tree),
        "filesystems": _filesystems(sections, tree),
        "dmi": _by_file(sections.get("dmi", "")),
        "transparent_huge_pages": _choices(sections.get("transparent_huge_pages", "")),
        "cpu_governors": sections.get("cpu_governors", "").split(),
        "clock_source": _by_file(sections.get("clock_source", "")).get("current_clocksource"),
        "kernel_options": list(filter(KERNEL_OPTIONS.fullmatch, sections.get("kernel_command_line", "").split())),
        "sysctls": pairs(sections.get("sysctls", "")),
        "boot_id": sections.get("boot_id"),
        "uptime_s": decimal(uptime.partition(" ")[0]),
        "virtualization": sorted(set(sections.get("virtualization", "").split()) - {"none"})[:8],
        "drop_caches": sections.get("drop_caches", "").strip(),
        "os_settings": whole(sections.get("os_settings", "").strip()),  # the version of the helper
        "os_settings_absent": list(filter(SETTINGS.__contains__, sections.get("os_settings_absent", "").split())),
        "tools": tools,
        "servers": _servers(sections.get("server_sockets", ""), sections.get("server_databases", "")),
        "memory_modules": texts.memory_modules(sections.get("memory_modules", "")),
        "limits": limits.read(sections, cpu.get("cpus"), memory.get("memory_bytes")),
        **memory,
    }
    if cpu.get("hypervisor") or cpu.get("virtualization_type") or set(facts["virtualization"]) - CONTAINERS:
        facts["block_devices"] = [_without_rotation(disk) for disk in facts["block_devices"]]
    read_facts = {name: value for name, value in facts.items() if value or value == 0}
    remarks = list(dict.fromkeys(remarks))[:MOST_REMARKS]
    return {**read_facts, "missing": _missing(facts, read_facts), **({"remarks": remarks} if remarks else {})}


def _filesystems(sections: Mapping[str, str], tree: Mapping[str, storage.Device]) -> list[Facts]:
    """Return what is mounted, with what it lies on."""
    mounts, sizes, numbers = (sections.get(name, "") for name in ("mounts", "filesystem_sizes", "mount_numbers"))
    return storage.filesystems(mounts, sizes, numbers, tree, storage.zfs_pools(sections.get("zfs_pools", "")))


def _servers(text: str, databases_text: str) -> list[Facts]:
    """Return directory and port of each socket of a server that runs there, once.

    With them come the databases of one that let the account in.
    """
    databases: dict[str, list[str]] = {}
    for line in databases_text.splitlines():
        number, _, name = line.partition(" ")
        if name.strip() and len(name) <= LONGEST_DATABASE:
            databases.setdefault(number, []).append(name)
    servers: dict[tuple[str, int], Facts] = {}
    for position, line in enumerate(text.splitlines()[:MOST_FOLDERS], 1):
        match = re.fullmatch(r"(/.{0,200})/\.s\.PGSQL\.([0-9]{1,5})", line)
        if match and 0 < (port := int(match[2])) < 2**16:
            names = databases.get(str(position), [])[:MOST_DATABASES]
            server = {"socket_directory": match[1], "port": port, **({"databases": names} if names else {})}
            servers.setdefault((match[1], port), server)
    return list(servers.values())


def _missing(facts: Facts, read_facts: Facts) -> list[str]:
    """Return the names of what a probe should tell and this one did not."""
    tools, cpu = facts["tools"], facts["cpu"]
    missing = [name for name in facts if name not in read_facts and name not in MAY_BE_ABSENT]
    missing += [name for name in REQUIRED_TOOLS if tools and name not in tools]
    missing += [name for name in ("memory_bytes", "swap_bytes") if name not in read_facts]
    return missing + [name for name in ("sockets", "cores") if cpu and name not in cpu]


def _without_rotation(disk: Mapping[str, Any]) -> Facts:
    """Leave out that a guest's disk rotates: hypervisors set the flag without knowing, whatever they name the disk."""
    return _without(disk, ("is_rotational",)) if disk.get("is_rotational") else dict(disk)


def facts_digest_input(facts: Mapping[str, Any]) -> Facts:
    """Return those of a host's facts that stay as they are from boot to boot unless someone changes the machine.

    Without names of devices, which may swap at a boot, and with memory in whole 64 MiB, as kernels keep some back.
    """
    keys = ("os", "kernel", "architecture", "dmi", "transparent_huge_pages", "cpu_governors", "clock_source")
    stable = {name: facts[name] for name in (*keys, "kernel_options", "sysctls") if name in facts}
    if "cpu" in facts:
        # Cores are in the digest as sockets and cores per socket, where these say the same.
        left_out = (*UNSTABLE_CPU, "cores") if "cores_per_socket" in facts["cpu"] else UNSTABLE_CPU
        stable["cpu"] = _without(facts["cpu"], left_out)
    if "memory_bytes" in facts:
        stable["memory_mib"] = round(facts["memory_bytes"] / 2**26) * 64
    if "swap_bytes" in facts:
        stable["swap_bytes"] = facts["swap_bytes"]
    disks = [_without(disk, ("name", "is_virtual")) for disk in facts.get("block_devices", ())]
    stable["block_devices"] = sorted(disks, key=repr)
    mounts = [
        _without(mount, ("device", "disks", "size_bytes", "free_bytes")) for mount in facts.get("filesystems", ())
    ]
    stable["filesystems"] = sorted(mounts, key=repr)
    return stable


def limits_digest_input(hosts: Mapping[str, Mapping[str, Any]]) -> Facts:
    """Return the limits of each host's account by its name; empty where those of one are not known.

    Apart from the other facts, as a run whose probe did not read limits is neither like nor unlike one whose did.
    """
    rows = {name: facts.get("limits") for name, facts in hosts.items()}
    return rows if all(rows.values()) else {}


async def builds(connections: Connections, target: Target, folders: Sequence[str]) -> list[Facts]:
    """Return version, build options and SHA-256 of the programs in each of these directories that has any.

    `missing` names what is not there of a build. Raises ValueError for a directory that the shell would take apart, and
    as `Connections.run`.
    """
    distinct = list(dict.fromkeys(folders))
    if not distinct:
        return []
    if unsafe := [folder for folder in distinct if re.search(r"[\s*?\[]", folder)]:
        raise ValueError(f"A directory of programs may hold no blanks or wildcards: {unsafe[0]!r}.")
    command = _script("build.sh", {"bin_directories": distinct})
    answer = await _answer(connections, target, command)
    with sensible(target, answer):
        return await apart(_read_builds, answer)


def _read_builds(answer: bytes) -> list[Facts]:
    return list(_parse_builds(answer))[:MOST_FOLDERS]


def _parse_builds(answer: bytes) -> Iterator[Facts]:
    """Yield one build per bin_directory section; the sections after it, up to the next, are its own."""
    build: dict[str, str] = {}
    for name, text in [*read_sections(answer), ("bin_directory", "")]:
        if name == "bin_directory" and name in build:
            yield _build(build)
        if name == "bin_directory":
            build = {}
        build[name] = text


def _build(texts: Mapping[str, str]) -> Facts:
    version = _version(texts.get("postgres_version", ""))
    facts: Facts = {
        "bin_directory": texts["bin_directory"],
        "version": version,
        "version_num": _version_num(version),
        "pgbench_version": _version(texts.get("pgbench_version", "")),
        "configure": _words(texts.get("configure", "")),
        "compiler": texts.get("compiler"),
        "cflags": texts.get("cflags"),
        "postgres_sha256": _sha256(texts.get("postgres_sha256", "")),
        "pgbench_sha256": _sha256(texts.get("pgbench_sha256", "")),
    }
    missing = [name for name, value in facts.items() if not value]
    return {**{name: value for name, value in facts.items() if value}, "missing": missing}


def _words(text: str) -> list[str]:
    """Return words as a shell takes them apart; by blanks where a quotation mark is never closed."""
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _script(name: str, values: Mapping[str, Sequence[str]]) -> str:
    lines = [f"{key}={shlex.quote(' '.join(words))}" for key, words in values.items()]
    # What cannot be read shows as a missing section, not as a failure of the whole.
    return "\n".join(["export LC_ALL=C", *lines, (SCRIPTS / name).read_text(), "true"])


def _by_file(text: str) -> dict[str, str]:
    return {path.rpartition("/")[2]: value for path, value in pairs(text).items()}


def _choices(text: str) -> dict[str, str]:
    """Return, by file, the value that is in force: of 'always [madvise] never' it is madvise."""
    matches = {name: re.search(r"\[([^\[\]\s]{1,60})\]", value) for name, value in _by_file(text).items()}
    return {name: match[1] for name, match in matches.items() if match}


def _version(text: str) -> str:
    """Return the version in text like 'postgres (PostgreSQL) 16.14 (Debian ...)', else ''."""
    match = re.search(r"\(PostgreSQL\) (\S{1,40})(?!\S)", text)
    return match[1] if match else ""


def _sha256(text: str) -> str:
    """Return the digest that sha256sum printed, else ''."""
    match = re.match("[0-9a-f]{64}(?![0-9a-f])", text)
    return match[0] if match else ""


def _version_num(version: str) -> int | None:
    """Return the version as PostgreSQL counts: 16.14 is 160014, 9.6.24 is 90624, 18beta1 is 180000."""
    match = re.match(r"([0-9]{1,3})(?![0-9])(?:\.([0-9]{1,4}))?(?:\.([0-9]{1,4}))?", version)
    if not match:
        return None
    first, second, third = (int(part or 0) for part in match.groups())
    return first * 10000 + second if first >= 10 else first * 10000 + second * 100 + third


def _without(row: Mapping[str, Any], names: Sequence[str]) -> Facts:
    return {name: value for name, value in row.items() if name not in names}
