"""Give runs at a rate what their outputs state of it; the rate itself no load generator prints, so it is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from benchhub.catalog.models import Workload
from runners import tools
from runners.contract import RunSpec
from runners.tools.claims import LATENCY_LIMIT

from .lines import Fault, ImportedRun, OpenLoop

POINTER = "/rate_tps"
NUMBERS_ALONE = "Numbers alone say nothing of a rate: send the output that they are of."
OTHER_NUMBER = "The output holds {}: write the rate of all, or that of each in their order."
NO_RATE = (
    "{} goes as fast as it can, and {} takes no rate: a run that was offered {:,} TPS is another load, and cannot "
    "be imported as one of this. Measure it again without; a rate that there was not is to be left out."
)
LIMIT_ALONE = "A latency limit can be imported with a rate only (-R): no workload has one of its own."


def in_open_loop(line: ImportedRun, workload: Workload) -> ImportedRun | Fault:
    """Return a line with the conditions of its sweep of rates, unchanged in a closed loop, or why it cannot be."""
    tool = tools.get(workload.tool)
    if fault := _fault(line, workload):
        return Fault(line.number, POINTER, fault)
    if line.rate_tps and line.rate_tps == tool.rate_tps(workload.parameters):
        return replace(line, rate_tps=None)
    stated = tool.stated_rate(line.output) if line.output and line.rate_tps else None
    if not stated or not line.clients:
        return line
    open_loop = OpenLoop(line.clients, round(1000 * stated.latency_limit_ms))
    return replace(line, conditions=replace(line.conditions, open_loop=open_loop))


def _fault(line: ImportedRun, workload: Workload) -> str:
    """Say why a rate is missing, or why it cannot be; "" where neither is so."""
    tool = tools.get(workload.tool)
    own_tps = tool.rate_tps(workload.parameters)
    if line.rate_tps is None:
        stated = None if own_tps or line.output is None else tool.stated_rate(line.output)
        return f"The output is of {stated.words}; what was asked for it does not say: write it." if stated else ""
    # Clients send what the command says, whether or not the workload says it, too.
    if own_tps:
        own = f"{workload.name} has a rate of its own, {own_tps:,.10g} TPS: leave this one out."
        return "" if line.rate_tps == own_tps else own
    if not tool.takes_rate:
        return NO_RATE.format(workload.name, workload.tool, line.rate_tps)
    return "" if line.output else NUMBERS_ALONE


def remedy(spec: RunSpec, name: str) -> str:
    """Say why a limit that an output states can be no workload's; "" for other contradictions."""
    planned = tools.get(spec.tool).facts(spec, is_own=False).get(LATENCY_LIMIT)
    return LIMIT_ALONE if name == LATENCY_LIMIT and planned and not planned.value else ""


def parameters(line: ImportedRun, workload: Workload) -> Mapping[str, Any]:
    """Return the parameters of a line's run: the workload's, and its own rate and latency limit."""
    planned: Mapping[str, Any] = workload.parameters
    if not line.rate_tps:
        return planned
    open_loop = line.conditions.open_loop
    limit_ms = open_loop.latency_limit_us / 1000 if open_loop else 0
    return tools.get(workload.tool).at_rate(planned, line.rate_tps, limit_ms)
