"""Say why a delivered text is no whole output of its load generator: another program's, a log's, or cut off."""

from __future__ import annotations

from collections.abc import Iterator

from benchhub.analysis.words import listing
from runners import tools
from runners.contract import Outputs, RunResult, RunSpec
from runners.tools import programs
from runners.tools.printed import added_text, cut_text, text_of

NO_RESULT = "It is not the output of a run that ended well."


def faults(output: Outputs, spec: RunSpec, result: RunResult) -> Iterator[tuple[str, str]]:
    """Yield where and why an output is none that can be stored; what stands before its lines hides all else."""
    if sentence := added(output, spec):
        yield "/output/stdout", sentence
    elif result.outcome == "failed":
        yield "/output", _other_program(output, spec) or f"{NO_RESULT} {result.reason}"
    elif sentence := cut_text(text_of(output.stdout), tools.get(spec.tool).always):
        yield "/output/stdout", sentence


def added(output: Outputs, spec: RunSpec) -> str:
    """Say what was added before each line, as a log does; "" where nothing was."""
    return added_text(text_of(output.stdout), tools.get(spec.tool).beginnings)


def _other_program(output: Outputs, spec: RunSpec) -> str:
    """Return a sentence where an output is of another program than the workload's; "" where it is not."""
    text = text_of(output.stdout) or text_of(output.stderr)
    name, database = programs.program_of(text), programs.database_of(text)
    if name in ("", tools.get(spec.tool).program):
        return ""
    readable = [tool.name for tool in tools.TOOLS.values() if tool.program == name]
    remedy = f"Name a workload of {listing(readable)}" if readable else f"BenchHub reads {listing(tools.TOOLS)}"
    against = f" against {database}" if database else ""
    return f"It is the output of {name}{against}, but the workload is one of {spec.tool}. {remedy}."
