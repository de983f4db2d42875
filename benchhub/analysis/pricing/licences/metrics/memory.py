"""Count blocks of memory, of the machine as bought or of its virtual machine."""

from __future__ import annotations

from benchhub.analysis.pricing.money import PricingError, ceiling
from benchhub.analysis.pricing.steps import step
from benchhub.analysis.pricing.topology import Machine

from .metric import OF_UNITS, CountRules, Log, Metric


def _memory(name: str, rules: CountRules, machine: Machine, log: Log) -> int:
    is_vm = machine.vm is not None and rules.counts_vm_memory
    memory_gb = machine.vm.memory_gb if is_vm and machine.vm else machine.memory_gb
    if memory_gb is None:
        raise PricingError(f"{name} is counted by memory, and that of '{machine.name}' is not known: fill it in.")
    units = ceiling(memory_gb / rules.memory_block_gb)
    words = {"licence": name, "machine": machine.name, "of": "in the virtual machine" if is_vm else "as bought"}
    template = "Units: {licence} is counted per {block} GB of memory {of}; {machine} has {memory} GB: {result}"
    log.append(step("count", template, units, memory=memory_gb, block=rules.memory_block_gb, **words))
    return units


MEMORY = Metric(
    name="memory",
    label="by memory",
    singular="GB of memory",
    several="GB of memory",
    rules=(*OF_UNITS, "memory_block_gb", "counts_vm_memory", "minimum_per_vm"),
    count=_memory,
    covered=lambda rules: rules.memory_block_gb,
    is_of_vm=lambda rules: rules.counts_vm_memory,
)
