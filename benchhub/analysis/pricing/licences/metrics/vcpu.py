"""Count the vCPUs of a virtual machine; without one, the hardware threads."""

from __future__ import annotations

from benchhub.analysis.pricing.steps import step
from benchhub.analysis.pricing.topology import Machine

from .metric import OF_CORES, OF_UNITS, CountRules, Log, Metric


def _vcpus(name: str, rules: CountRules, machine: Machine, log: Log) -> int:
    vcpus_per_licence = rules.vcpus_per_licence_smt if machine.smt else rules.vcpus_per_licence_no_smt
    source = "vCPU of the virtual machine" if machine.vm else "hardware thread"
    smt = "on" if machine.smt else "off"
    template = "Units: {licence} is counted per {of}; {machine} has {vcpus}"
    if (rules.vcpus_per_licence_smt, rules.vcpus_per_licence_no_smt) != (1, 1):
        template += ", and with SMT {smt} a licence covers {covered}: {result}"
    units, vcpus = -(-machine.vcpus // vcpus_per_licence), machine.vcpus
    words = {"licence": name, "machine": machine.name, "of": source, "smt": smt}
    log.append(step("count", template, units, vcpus=vcpus, covered=vcpus_per_licence, **words))
    return units


VCPU = Metric(
    name="vcpu",
    label="per vCPU",
    singular="vCPU",
    several="vCPUs",
    rules=(*OF_UNITS, *OF_CORES, "vcpus_per_licence_smt", "vcpus_per_licence_no_smt", "minimum_per_vm"),
    count=_vcpus,
    covered=lambda rules: rules.vcpus_per_licence_smt,
    is_of_vm=lambda _: True,
)
