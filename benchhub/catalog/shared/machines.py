"""What a host is by its facts: a virtual machine or a container sees its own shape, and not what was bought."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

GUEST = re.compile(
    r"qemu|kvm|vmware|virtualbox|innotek|\bxen\b|virtual machine|amazon ec2|google compute|openstack|ovirt|bhyve"
    r"|digitalocean|hetzner vserver|alibaba cloud|parallels|bochs|nutanix ahv|apple virtualization",
    re.IGNORECASE,
)
COUNTS = ("sockets", "cores_per_socket", "threads_per_core")


def guest_reason(facts: Mapping[str, Any]) -> str:
    """Return by what a host is known for a virtual machine or a container; empty where nothing says so."""
    if signs := facts.get("virtualization"):
        return ", ".join(map(str, signs))
    cpu, dmi = facts.get("cpu", {}), facts.get("dmi", {})
    machine = " ".join(filter(None, (dmi.get("sys_vendor"), dmi.get("product_name"))))
    is_guest = GUEST.search(machine) and not re.search(r"metal\b", machine)
    # Linux runs in a partition of a large IBM machine, never on all of it.
    partition = "a logical partition" if str(facts.get("architecture", "")).startswith("s390") else ""
    return str(cpu.get("hypervisor") or cpu.get("virtualization_type") or (machine if is_guest else partition))


def shape(facts: Mapping[str, Any]) -> dict[str, int]:
    """Return sockets, cores per socket and threads per core, each where it is the same for all and adds up."""
    cpu = facts.get("cpu", {})
    counts = {name: cpu[name] for name in COUNTS if isinstance(cpu.get(name), int)}
    if len(counts) == len(COUNTS):
        product = math.prod(counts.values())
        return counts if product == cpu.get("cpus", product) else {}
    # Where cores are of unlike kinds, sockets and cores were counted, and no number of threads is that of them all.
    is_counted = counts.keys() == {"sockets", "cores_per_socket"} and math.prod(counts.values()) == cpu.get("cores")
    return counts if is_counted else {}


def unlike_sockets(facts: Mapping[str, Any]) -> list[int]:
    """Return the cores of each socket where the probe counted unlike ones; empty where they are alike or unknown."""
    cpu = facts.get("cpu", {})
    numbers = cpu.get("socket_cores")
    is_counted = isinstance(numbers, list) and all(isinstance(number, int) and number > 0 for number in numbers)
    return numbers if is_counted and sum(numbers) == cpu.get("cores") and len(numbers) == cpu.get("sockets") else []


def bought_unlike_sockets(facts: Mapping[str, Any]) -> list[int]:
    """Return the same where it may be compared with what was bought."""
    return [] if guest_reason(facts) or facts.get("cpu", {}).get("cpus_offline") else unlike_sockets(facts)


def bought_shape(facts: Mapping[str, Any]) -> dict[str, int]:
    """Return the shape that may be compared with what was bought: none of a guest, or while CPUs are offline."""
    return {} if guest_reason(facts) or facts.get("cpu", {}).get("cpus_offline") else shape(facts)


def cpu_count(facts: Mapping[str, Any]) -> int | None:
    """Return how many CPUs the host sees, or may use where that is fewer; None where that was not read."""
    cpu, counts = facts.get("cpu", {}), shape(facts)
    product = math.prod(counts.values()) if len(counts) == len(COUNTS) else None
    return cpu.get("cpus_allowed") or cpu.get("cpus") or product
