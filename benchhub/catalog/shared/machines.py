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
    return str(cpu.get("hypervisor") or cpu.get("virtualization_type") or (machine if is_guest else ""))


def shape(facts: Mapping[str, Any]) -> dict[str, int]:
    """Return sockets, cores and threads where all three are there and make up the CPUs that were counted."""
    cpu = facts.get("cpu", {})
    counts = {name: cpu[name] for name in COUNTS if isinstance(cpu.get(name), int)}
    is_whole = len(counts) == len(COUNTS) and math.prod(counts.values()) == cpu.get("cpus", math.prod(counts.values()))
    return counts if is_whole else {}


def cpu_count(facts: Mapping[str, Any]) -> int | None:
    """Return how many CPUs the host sees; None where that was not read."""
    counts = shape(facts)
    return facts.get("cpu", {}).get("cpus") or (math.prod(counts.values()) if counts else None)
