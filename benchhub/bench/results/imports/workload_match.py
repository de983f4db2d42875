"""Hold what an output says of itself against the workloads of the catalogue, so that nobody has to look for its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchhub.catalog.models import Workload
from benchhub.catalog.workloads.forms import form_of
from runners import tools
from runners.contract import Endpoint, Outputs, RunSpec
from runners.tools import programs
from runners.tools.base import Tool
from runners.tools.claims import LATENCY_LIMIT, RATE, Contradiction

from . import rates
from .check import POINTERS

# An output speaks of itself at its head and in its summary; every workload is held against that, not against megabytes.
END_LENGTH = 20_000
ELSEWHERE = Endpoint("socket", "elsewhere", 0, "", "")


@dataclass(frozen=True, slots=True)
class Match:
    """A workload that an output may be of, and in sentences what the output says against it; () where it agrees."""

    workload: Workload
    contradictions: tuple[str, ...]
    remedy: str = ""  # where no workload could agree


def tools_reading(text: str) -> list[Tool]:
    """Return the tools that read a text, by the program that printed it, and need no files beside it."""
    program = programs.program_of(text)
    return [tool for tool in tools.TOOLS.values() if tool.program == program and not tool.needed_files]


def matches(text: str, workloads: Iterable[Workload]) -> list[Match]:
    """Return the workloads of the program that printed a text, those first that its first run contradicts least."""
    outputs = {tool.name: _first_run(tool, text) for tool in tools_reading(text)}
    rows = [
        _match(workload, outputs[workload.tool])
        for workload in workloads
        if workload.tool in outputs and _is_one_load(workload)
    ]
    return sorted(rows, key=lambda match: len(match.contradictions))


def _match(workload: Workload, output: Outputs) -> Match:
    contradictions, spec = list(_contradictions(workload, output)), _spec(workload)
    remedies = filter(None, (rates.remedy(spec, contradiction.name) for contradiction in contradictions))
    return Match(workload, tuple(contradiction.text for contradiction in contradictions), next(remedies, ""))


def _spec(workload: Workload) -> RunSpec:
    return RunSpec(workload.tool, "", "", ELSEWHERE, workload.parameters)


def missing_workload(text: str) -> Workload | None:
    """Return a workload, not saved, with which a text agrees by all that it states; None where it states too little."""
    for tool in tools_reading(text):
        output = _first_run(tool, text)
        if parameters := tool.stated_parameters(output):
            workload = Workload(tool=tool.name, name=_name(tool.name, parameters), parameters=parameters)
            return None if any(_contradictions(workload, output)) else workload
    return None


def _name(tool_name: str, parameters: Mapping[str, Any]) -> str:
    return f"{tool_name} {', '.join(_word(name, value) for name, value in parameters.items())}"


def _word(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return f"{'' if value else 'without '}{name.replace('_', ' ')}"
    return value if isinstance(value, str) else f"{name} {value:,}"


def add(workload: Workload) -> list[str]:
    """Save a workload that the catalogue is missing, as its form does; return what the form refuses, as sentences."""
    start = form_of(workload)(instance=workload)
    form = type(start)({**start.initial, "name": workload.name}, instance=Workload())
    if form.is_valid():
        form.save()
    return [str(sentence) for sentences in form.errors.values() for sentence in sentences]


def _is_one_load(workload: Workload) -> bool:
    """Tell whether runs of a workload print one output; those that this version cannot read print none."""
    tool = tools.get(workload.tool)
    try:
        tool.data_set(workload.parameters)
    except ValueError:
        return False
    return not tool.planned_segments(workload.parameters)


def _first_run(tool: Tool, text: str) -> Outputs:
    parts = tool.parts(text)
    output = parts[0].text if parts else text
    if len(output) > 2 * END_LENGTH:
        output = f"{output[:END_LENGTH]}\n{output[-END_LENGTH:]}"
    return Outputs(None, output.encode(), b"", {})


def _contradictions(workload: Workload, output: Outputs) -> Iterator[Contradiction]:
    tool = tools.get(workload.tool)
    spec = _spec(workload)
    # Clients, duration and versions are no workload's; a rate is, with its limit, where the workload has one.
    others = POINTERS.keys() - {RATE}
    if tool.stated_rate(output) and not tool.rate_tps(workload.parameters):
        others |= {RATE, LATENCY_LIMIT}
    for contradiction in tool.contradictions(spec, output, is_own=False):
        if contradiction.name not in others:
            yield contradiction
