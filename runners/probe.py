"""Read the facts of a host and of the PostgreSQL builds on it.

What cannot be read is absent and named in `missing`, never guessed.
"""

from __future__ import annotations

import math
import re
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from runners.readings import LARGEST, count, decimal, whole
from runners.ssh import Connections, Target

PROBE_TIMEOUT_S = 60.0
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
CPU_NAMES = {
    "Model name": "model",
    "Vendor ID": "vendor",
    "CPU(s)": "cpus",
    "Socket(s)": "sockets",
    "Core(s) per socket": "cores_per_socket",
    "Thread(s) per core": "threads_per_core",
    "CPU MHz": "mhz",
    "CPU max MHz": "max_mhz",
    "CPU min MHz": "min_mhz",
    "BogoMIPS": "bogomips",
    "NUMA node(s)": "numa_nodes",
    "Hypervisor vendor": "hypervisor",
    "Virtualization type": "virtualization_type",
    "L1d cache": "cache_l1d",
    "L1i cache": "cache_l1i",
    "L2 cache": "cache_l2",
    "L3 cache": "cache_l3",
}
WHOLE_NUMBERS = ("cpus", "sockets", "cores_per_socket", "threads_per_core", "numa_nodes")
DECIMALS = ("mhz", "max_mhz", "min_mhz", "bogomips")
# Change from one moment or boot to the next without anything having been changed.
UNSTABLE_CPU = ("mhz", "bogomips")
PSEUDO_FILESYSTEMS = re.compile(
    r"autofs|binfmt_misc|bpf|cgroup2?|configfs|debugfs|devpts|devtmpfs|efivarfs|fusectl|hugetlbfs|mqueue|nsfs"
    r"|proc|pstore|ramfs|rpc_pipefs|securityfs|selinuxfs|squashfs|sysfs|tracefs"
)
# Of the kernel's command line only what bears on speed: the rest is long, differs by boot and may be private.
KERNEL_OPTIONS = re.compile(
    r"(mitigations|nosmt|isolcpus|nohz_full|rcu_nocbs|intel_pstate|amd_pstate|cpufreq\.\w+|intel_idle\.max_cstate"
    r"|processor\.max_cstate|idle|transparent_hugepage|hugepages|hugepagesz|default_hugepagesz|numa|numa_balancing"
    r"|elevator|clocksource|tsc|nopti|pti|maxcpus|nr_cpus|mem)(=.*)?"
)
# A host has these only if it is built so: their absence is no gap in what was read.
MAY_BE_ABSENT = ("cpu_governors", "dmi", "kernel_options", "drop_caches", "virtualization")

LONGEST_NAME = 256
LARGEST_KIB = LARGEST // 1024
VIRTUAL_DISK = re.compile(
    r"^(vd[a-z]|xvd[a-z])|qemu|virtual|vbox|vmware|msft|virtio|persistentdisk|elastic block store|bhyve|\bxen\b",
    re.IGNORECASE,
)

Facts = dict[str, Any]


async def probe(connections: Connections, target: Target, *, prefixes: Sequence[str] = ()) -> Facts:
    """Return the facts of a host as plain data; `missing` names what could not be read.

    Sizes are bytes; `time_skew_s` is the target's clock minus this machine's, give or take the round trip.
    `prefixes` are further places where PostgreSQL is installed. Raises as `Connections.run`.
    """
    values = {"sysctls": SYSCTLS, "tools": TOOLS, "prefixes": prefixes}
    answer = await connections.run(target, _script("probe.sh", values), timeout_s=PROBE_TIMEOUT_S)
    sections = dict(_sections(answer))
    facts = parse_probe(sections)
    sent_at = time.time()
    answer = await connections.run(target, "date +%s.%N", timeout_s=PROBE_TIMEOUT_S)
    target_time_s = _target_time(answer.decode(errors="replace"))
    if target_time_s is None:
        facts["missing"].append("time_skew_s")
    else:
        facts["time_skew_s"] = round(target_time_s - (sent_at + time.time()) / 2, 3)
    folders = sections.get("bin_directories", "").splitlines()
    facts["builds"] = await builds(connections, target, folders)
    return facts


def _target_time(text: str) -> float | None:
    """Return the time that `date` printed. One without nanoseconds (BusyBox) prints %N or nothing for them."""
    seconds, _, rest = text.strip().partition(".")
    return decimal(f"{seconds}.{rest}") if rest.isdecimal() else decimal(seconds)


def parse_probe(sections: Mapping[str, str]) -> Facts:
    """Return the facts from the sections that probe.sh prints, by name. Never raises, whatever stands in them.

    `remarks` are sentences on numbers that cannot be: they are left out of the facts.
    """
    tools, uptime = _pairs(sections.get("tools", "")), sections.get("uptime", "")
    facts: Facts = {
        "username": sections.get("username"),
        "os": _os(sections.get("os_release", "")),
        "kernel": sections.get("kernel"),
        "architecture": sections.get("architecture"),
        "cpu": _cpu(sections.get("lscpu", "")),
        "block_devices": _block_devices(sections.get("block_devices", "")),
        "filesystems": _filesystems(sections.get("mounts", ""), sections.get("filesystem_sizes", "")),
        "dmi": _by_file(sections.get("dmi", "")),
        "transparent_huge_pages": _choices(sections.get("transparent_huge_pages", "")),
        "cpu_governors": sections.get("cpu_governors", "").split(),
        "clock_source": _by_file(sections.get("clock_source", "")).get("current_clocksource"),
        "kernel_options": list(filter(KERNEL_OPTIONS.fullmatch, sections.get("kernel_command_line", "").split())),
        "sysctls": _pairs(sections.get("sysctls", "")),
        "boot_id": sections.get("boot_id"),
        "uptime_s": decimal(uptime.partition(" ")[0]),
        "virtualization": sorted(set(sections.get("virtualization", "").split()) - {"none"})[:8],
        "drop_caches": sections.get("drop_caches", "").strip(),
        "tools": tools,
        **_memory(sections.get("meminfo", "")),
    }
    read_facts = {name: value for name, value in facts.items() if value or value == 0}
    missing = [name for name in facts if name not in read_facts and name not in MAY_BE_ABSENT]
    missing += [name for name in REQUIRED_TOOLS if tools and name not in tools]
    missing += [name for name in ("memory_bytes", "swap_bytes") if name not in read_facts]
    remarks = list(_remarks(sections, read_facts))
    return {**read_facts, "missing": missing, **({"remarks": remarks} if remarks else {})}


def _remarks(sections: Mapping[str, str], facts: Mapping[str, Any]) -> Iterator[str]:
    pairs, cpu = _pairs(sections.get("lscpu", ""), ":"), facts.get("cpu", {})
    for theirs, ours in CPU_NAMES.items():
        if ours in (*WHOLE_NUMBERS, *DECIMALS) and pairs.get(theirs, "-") != "-" and ours not in cpu:
            yield f"lscpu prints {pairs[theirs][:40]!r} as {theirs}, which is no such number: it is left out."
    counts = [cpu.get(name) for name in ("sockets", "cores_per_socket", "threads_per_core")]
    if "cpus" in cpu and None not in counts and math.prod(counts) != cpu["cpus"]:
        sockets, cores, threads = counts
        yield (
            f"lscpu counts {cpu['cpus']} CPUs, but {sockets} x {cores} x {threads} as sockets, cores and threads: "
            "these do not add up, as where CPUs are offline or cores are of unlike kinds."
        )


def facts_digest_input(facts: Mapping[str, Any]) -> Facts:
    """Return those of a host's facts that stay as they are from boot to boot unless someone changes the machine.

    Without names of devices, which may swap at a boot, and with memory in whole 64 MiB, as kernels keep some back.
    """
    keys = ("os", "kernel", "architecture", "dmi", "transparent_huge_pages", "cpu_governors", "clock_source")
    stable = {name: facts[name] for name in (*keys, "kernel_options", "sysctls") if name in facts}
    if "cpu" in facts:
        stable["cpu"] = {name: value for name, value in facts["cpu"].items() if name not in UNSTABLE_CPU}
    if "memory_bytes" in facts:
        stable["memory_mib"] = round(facts["memory_bytes"] / 2**26) * 64
    if "swap_bytes" in facts:
        stable["swap_bytes"] = facts["swap_bytes"]
    disks = [_without(disk, ("name", "is_virtual")) for disk in facts.get("block_devices", ())]
    stable["block_devices"] = sorted(disks, key=repr)
    mounts = [_without(mount, ("device", "size_bytes", "free_bytes")) for mount in facts.get("filesystems", ())]
    stable["filesystems"] = sorted(mounts, key=repr)
    return stable


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
    answer = await connections.run(target, command, timeout_s=PROBE_TIMEOUT_S)
    return list(_parse_builds(answer))


def _parse_builds(answer: bytes) -> Iterator[Facts]:
    """Yield one build per bin_directory section; the sections after it, up to the next, are its own."""
    build: dict[str, str] = {}
    for name, text in [*_sections(answer), ("bin_directory", "")]:
        if name == "bin_directory" and build:
            yield _build(build)
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
        "postgres_sha256": texts.get("postgres_sha256", "").partition(" ")[0],
        "pgbench_sha256": texts.get("pgbench_sha256", "").partition(" ")[0],
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


def _sections(answer: bytes) -> Iterator[tuple[str, str]]:
    for part in answer.replace(b"\0", b"").decode(errors="replace").split("\x1e")[1:]:
        name, _, text = part.partition("\n")
        yield name, text.strip()


def _pairs(text: str, separator: str = "=") -> dict[str, str]:
    lines = (line.partition(separator) for line in text.splitlines() if separator in line)
    return {key.strip(): " ".join(value.split()) for key, _, value in lines}


def _by_file(text: str) -> dict[str, str]:
    return {path.rpartition("/")[2]: value for path, value in _pairs(text).items()}


def _choices(text: str) -> dict[str, str]:
    """Return, by file, the value that is in force: of 'always [madvise] never' it is madvise."""
    matches = {name: re.search(r"\[([^\[\]\s]{1,60})\]", value) for name, value in _by_file(text).items()}
    return {name: match[1] for name, match in matches.items() if match}


def _os(text: str) -> dict[str, str]:
    names = {"ID": "id", "VERSION_ID": "version_id", "PRETTY_NAME": "name"}
    pairs = _pairs(text)
    return {ours: pairs[theirs].strip("\"'") for theirs, ours in names.items() if theirs in pairs}


def _cpu(text: str) -> Facts:
    pairs = _pairs(text, ":")
    cpu: Facts = {ours: pairs[theirs] for theirs, ours in CPU_NAMES.items() if pairs.get(theirs, "-") != "-"}
    cpu |= {name: count(cpu[name]) for name in WHOLE_NUMBERS if name in cpu}
    cpu |= {name: decimal(cpu[name]) for name in DECIMALS if name in cpu}
    readable = {name: value for name, value in cpu.items() if value is not None and value != ""}
    return {name: value[:LONGEST_NAME] if isinstance(value, str) else value for name, value in readable.items()}


def _memory(text: str) -> dict[str, int]:
    pairs = _pairs(text, ":")
    names = {"MemTotal": "memory_bytes", "SwapTotal": "swap_bytes", "Hugepagesize": "huge_page_bytes"}
    sizes = {
        ours: whole(pairs[theirs].partition(" ")[0], LARGEST_KIB) for theirs, ours in names.items() if theirs in pairs
    }
    return {name: kib * 1024 for name, kib in sizes.items() if kib is not None}


def _block_devices(text: str) -> list[Facts]:
    """Return the whole disks of `lsblk -P`; loop devices are files, and of no account."""
    rows = [dict(re.findall(r'([A-Z]{1,20})="([^"]{0,400})"', line)) for line in text.splitlines()]
    return [_disk(row) for row in rows if row.get("TYPE") == "disk" and count(row.get("SIZE", ""), LARGEST)]


def _disk(row: Mapping[str, str]) -> Facts:
    disk = {
        "name": row.get("NAME", ""),
        "size_bytes": int(row["SIZE"]),
        "is_rotational": row.get("ROTA") == "1",
        "scheduler": row.get("SCHED", ""),
        "model": row.get("MODEL", "").strip(),
    }
    # The flag of a disk that a hypervisor made up says nothing of what lies below it; the kernel sets it as it likes.
    return {**disk, "is_virtual": True} if VIRTUAL_DISK.search(f"{disk['name']} {disk['model']}") else disk


def _filesystems(mounts: str, sizes: str) -> list[Facts]:
    sizes_by_folder = {words[5]: words for words in map(str.split, sizes.splitlines()[1:]) if len(words) == 6}
    by_folder: dict[str, Facts] = {}
    rows = (line.split() for line in mounts.splitlines())
    for device, folder, kind, options, *_ in (words for words in rows if len(words) >= 4):
        if PSEUDO_FILESYSTEMS.fullmatch(kind) or folder.startswith(("/proc/", "/sys/")):
            continue
        mount: Facts = {"device": device, "folder": folder, "type": kind, "options": options.split(",")}
        if folder in sizes_by_folder:
            size_kib, _, free_kib = (whole(word, LARGEST_KIB) for word in sizes_by_folder[folder][1:4])
            if size_kib is not None and free_kib is not None:
                mount |= {"size_bytes": size_kib * 1024, "free_bytes": free_kib * 1024}
        by_folder[folder] = mount  # what is mounted over another hides it
    return list(by_folder.values())


def _version(text: str) -> str:
    """Return the version in text like 'postgres (PostgreSQL) 16.14 (Debian ...)', else ''."""
    match = re.search(r"\(PostgreSQL\) (\S+)", text)
    return match[1] if match else ""


def _version_num(version: str) -> int | None:
    """Return the version as PostgreSQL counts: 16.14 is 160014, 9.6.24 is 90624, 18beta1 is 180000."""
    match = re.match(r"([0-9]{1,3})(?![0-9])(?:\.([0-9]{1,4}))?(?:\.([0-9]{1,4}))?", version)
    if not match:
        return None
    first, second, third = (int(part or 0) for part in match.groups())
    return first * 10000 + second if first >= 10 else first * 10000 + second * 100 + third


def _without(row: Mapping[str, Any], names: Sequence[str]) -> Facts:
    return {name: value for name, value in row.items() if name not in names}
