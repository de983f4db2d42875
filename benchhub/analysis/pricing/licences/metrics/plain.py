"""Count what needs no look into the machine: nothing, servers, named users, or one price for all."""

from __future__ import annotations

from benchhub.analysis.pricing.steps import step
from benchhub.analysis.pricing.topology import Machine

from .metric import OF_A_LICENCE, OF_CORES, OF_UNITS, CountRules, Log, Metric


def _servers(name: str, _: CountRules, machine: Machine, log: Log) -> int:
    template = "Units: {licence} is counted per server; {machine} is {result}"
    log.append(step("count", template, 1, licence=name, machine=machine.name))
    return 1


NONE = Metric(name="none", label="hardware only", rules=())
SERVER = Metric(name="server", label="per server", singular="server", several="servers", rules=OF_UNITS, count=_servers)
# People count once in the order; a server says how many they are at least.
USER = Metric(
    name="user",
    label="per named user",
    singular="named user",
    several="named users",
    rules=(*OF_UNITS, *OF_CORES, "counts_disabled_cores", "users_per_processor", "user_processor"),
)
FLAT = Metric(name="flat", label="one price for all", singular="site", several="sites", rules=OF_A_LICENCE)
