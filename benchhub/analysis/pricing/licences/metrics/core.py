"""Count physical cores as bought, socket by socket."""

from __future__ import annotations

from benchhub.analysis.pricing.steps import step
from benchhub.analysis.pricing.topology import Machine

from .clamps import clamped_sockets, sum_words
from .metric import OF_CORES, OF_SOCKETS, OF_UNITS, CountRules, Log, Metric


def _cores(name: str, rules: CountRules, machine: Machine, log: Log) -> int:
    cores_by_socket = machine.socket_cores(rules.counts_disabled_cores)
    is_alike = len(set(cores_by_socket)) == 1
    product = "{sockets} x {cores}" if is_alike else "{sum}"
    template = f"Units: {{licence}} is counted per physical core as bought; {{machine}} has {product} = {{result}}"
    if machine.disabled_cores_per_socket:
        template += ", with" if rules.counts_disabled_cores else ", without"
        template += " those disabled in firmware"
    words = {"licence": name, "machine": machine.name}
    total = sum(cores_by_socket)
    if is_alike:
        log.append(step("count", template, total, **words, sockets=machine.sockets, cores=cores_by_socket[0]))
    else:
        log.append(step("count", template, total, **words, sum=sum_words(cores_by_socket)))
    return clamped_sockets(rules, cores_by_socket, log)


CORE = Metric(
    name="core",
    label="per core",
    singular="physical core",
    several="physical cores",
    rules=(*OF_UNITS, *OF_CORES, *OF_SOCKETS),
    count=_cores,
)
