"""Count the smaller of a virtual machine's vCPUs and its host's physical cores."""

from __future__ import annotations

from benchhub.analysis.pricing.steps import step
from benchhub.analysis.pricing.topology import Machine

from .metric import OF_CORES, OF_UNITS, CountRules, Log, Metric


def _vm_cores(name: str, rules: CountRules, machine: Machine, log: Log) -> int:
    cores = machine.cores(rules.counts_disabled_cores)
    if machine.vm is None:
        template = "Units: {licence} is counted per physical core without a virtual machine; {machine} has {result}"
        log.append(step("count", template, cores, licence=name, machine=machine.name))
        return cores
    units, vcpus = min(machine.vm.vcpus, cores), machine.vm.vcpus
    template = "Units: {licence} is counted by the smaller of vCPUs and physical cores; "
    template += "{machine} has {vcpus} vCPUs on {cores} cores: {result}"
    log.append(step("count", template, units, licence=name, machine=machine.name, vcpus=vcpus, cores=cores))
    return units


VM_CORE = Metric(
    name="vm_core",
    label="per vCPU, at most the host's cores",
    singular="vCPU or host core, whichever are fewer",
    several="vCPUs or host cores, whichever are fewer",
    rules=(*OF_UNITS, *OF_CORES, "counts_disabled_cores", "minimum_per_vm"),
    count=_vm_cores,
    is_of_vm=lambda _: True,
)
