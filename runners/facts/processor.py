"""The processors of a host: counted by the kernel's own files, described by lscpu, with /proc/cpuinfo behind both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from . import cpuinfo, limits, lscpu, topology
from .counts import Counts, cpu_list, most_threads
from .topology import Platform

PPTT = "/sys/firmware/acpi/tables/PPTT"
NODES, NODES_WITH_CPUS = "/sys/devices/system/node/online", "/sys/devices/system/node/has_cpu"
MOST_PAIRS = 256


def read(sections: Mapping[str, str], platform: Platform) -> tuple[dict[str, Any], list[str]]:
    """Return the facts of the processors, and sentences on what contradicts itself or each other."""
    lists = _lists(sections.get("cpu_lists", ""))
    rows, unplaced = topology.online_places(sections.get("topology", ""), lists)
    platform = replace(platform, has_pptt=PPTT in lists)
    by_kernel = None if unplaced else topology.counts(rows, lists, platform)
    by_lscpu = _by_lscpu(sections)
    by_cpuinfo, description = cpuinfo.parse(sections.get("cpuinfo", ""))
    if by_kernel:
        by_kernel = _with_sockets(by_kernel, by_lscpu.counts, platform)
    counts = by_kernel or (by_lscpu.counts if by_lscpu.counts.cpus else by_cpuinfo)
    description |= by_lscpu.facts
    architecture = platform.architecture or by_lscpu.architecture
    if crowding := _crowding(counts, most_threads(architecture, description.get("model", ""))):
        by_kernel, counts = None, Counts(counts.cpus)
    facts = {**description, **counts.facts(), **_nodes(lists), **_allowance(sections, counts.cpus)}
    if topology.ONLINE in lists:
        facts["cpus_offline"] = topology.offline_count(lists)
    facts = {name: value for name, value in facts.items() if value}
    remarks = _remarks(by_kernel, by_lscpu, facts)
    if by_kernel and topology.has_unlike_packages(rows):
        remarks.append("The kernel gives one number to packages whose lists of CPUs it tells apart: sockets are open.")
    if unplaced:
        remarks.append(f"sysfs does not say where {len(unplaced)} of the CPUs online are: cores are not counted by it.")
    return facts, [*crowding, *remarks, *_limits(facts), *_quota(sections, counts.cpus)]


def _crowding(counts: Counts, most: int) -> list[str]:
    """Say in a sentence that cores are counted of which each would have more threads than any has; [] where not."""
    if not counts.cores or not counts.cpus or counts.cpus <= counts.cores * most:
        return []
    cores = f"{counts.cores} core{'s' if counts.cores > 1 else ''}"
    threads = f"{most} thread{'s' if most > 1 else ''}"
    return [
        f"{counts.cpus} CPUs are said to be of {cores}, but no core of this kind has more than {threads}: the kernel "
        "does not know the cores, so neither they nor sockets are counted."
    ]


def _by_lscpu(sections: Mapping[str, str]) -> lscpu.Lscpu:
    """Read lscpu's text, or its JSON where the text counts nothing, as in a language that is not known here."""
    by_text = lscpu.parse(sections.get("lscpu", ""))
    by_json = None if by_text.counts.cpus else lscpu.parse(lscpu.lines_of_json(sections.get("lscpu_json", "")))
    return by_json if by_json and by_json.counts.cpus else by_text


def _with_sockets(by_kernel: Counts, by_lscpu: Counts, platform: Platform) -> Counts:
    """Take the sockets from lscpu where the kernel's files have none, and both count the same CPUs and cores.

    As many sockets as cores is what lscpu says of a machine about which it knows nothing; several sockets of ARM are
    clusters to it, too.
    """
    sockets, cores = by_lscpu.sockets, by_kernel.cores
    is_same = (by_lscpu.cpus, by_lscpu.cores) == (by_kernel.cpus, cores)
    is_sure = sockets == 1 or (sockets != cores and not platform.may_call_clusters_packages)
    if by_kernel.sockets or not sockets or not by_lscpu.cores_per_socket or not is_same or not is_sure:
        return by_kernel
    return replace(by_kernel, sockets=sockets, cores_per_socket=by_lscpu.cores_per_socket)


def _remarks(by_kernel: Counts | None, by_lscpu: lscpu.Lscpu, facts: Mapping[str, Any]) -> list[str]:
    """Return what lscpu says that cannot be; its sums only where the kernel's files do not say better."""
    if by_kernel is None:
        return list(by_lscpu.remarks)
    return [*by_lscpu.unreadable, *_differences(by_kernel, by_lscpu.counts), *_unlike(facts)]


def _lists(text: str) -> dict[str, str]:
    lines = (line.partition("=") for line in text.splitlines()[:MOST_PAIRS])
    return {path.strip(): value.strip() for path, _, value in lines}


def _nodes(lists: Mapping[str, str]) -> dict[str, int]:
    """Return how many nodes of memory there are, and how many of them have CPUs where that is fewer."""
    nodes, with_cpus = (cpu_list(lists.get(name, "")) for name in (NODES, NODES_WITH_CPUS))
    if not nodes:
        return {}
    has_others = with_cpus is not None and 0 < len(with_cpus) < len(nodes)
    return {"numa_nodes": len(nodes), **({"numa_nodes_with_cpus": len(with_cpus or ())} if has_others else {})}


def _allowance(sections: Mapping[str, str], cpus: int | None) -> dict[str, Any]:
    """Return how many CPUs the account may use, by its set and by the quota of the group that it sees as the root."""
    allowed = cpu_list(sections.get("cpus_allowed", "").rpartition(":")[2])
    facts: dict[str, Any] = {}
    if cpus and allowed and len(allowed) < cpus:
        facts["cpus_allowed"] = len(allowed)
    if quota := limits.quota(sections.get("cpu_quota", ""), cpus):
        facts["cpu_quota"] = quota
    return facts


def _differences(by_kernel: Counts, by_lscpu: Counts) -> Iterator[str]:
    words = {"cpus": "CPUs online", "sockets": "sockets", "cores": "cores"}
    for name, word in words.items():
        ours, theirs = getattr(by_kernel, name), getattr(by_lscpu, name)
        if ours is not None and theirs is not None and ours != theirs:
            yield f"The kernel's files count {ours} {word}, lscpu {theirs}: BenchHub goes by the kernel's files."


def _unlike(facts: Mapping[str, Any]) -> Iterator[str]:
    cpus, cores, sockets = (facts.get(name) for name in ("cpus", "cores", "sockets"))
    if "threads_per_core" not in facts:
        yield f"Not every core has the same number of threads: the {cores} cores have {cpus} in all."
    if sockets and "cores_per_socket" not in facts:
        yield f"Not every socket has the same number of cores: the {sockets} sockets have {cores} in all."


def _limits(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield what limits the counts: CPUs that are offline, and those that may not be used."""
    cpus = facts.get("cpus")
    if offline := facts.get("cpus_offline"):
        yield f"CPUs that are offline: {offline}. Sockets, cores and threads are counted among the {cpus} online."
    if allowed := facts.get("cpus_allowed"):
        yield f"Programs of this account may run on {allowed} of the {cpus} CPUs only."


def _quota(sections: Mapping[str, str], cpus: int | None) -> Iterator[str]:
    if quota := limits.quota(limits.quotas_text(sections), cpus):
        yield f"Programs of this account get the time of {quota:g} CPUs only."
