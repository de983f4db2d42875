"""Say why a delivered text is no whole output of its load generator: another program's, a log's, or cut off."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from benchhub.analysis.words import listing
from runners import tools
from runners.contract import Outputs, RunResult, RunSpec
from runners.tools import Tool, programs
from runners.tools.printed import added_text, cut_text, printed_text

NO_RESULT = "It is not the output of a run that ended well."
# Lines by which a summary is in English, also where its head is cut off.
ENGLISH = re.compile(
    r"^(?:number of transactions actually processed: |tps = [0-9.]{1,40} \((?:including|excluding|without) )",
    re.MULTILINE,
)
RATE = re.compile(r"^tps = [0-9]{1,15}(,)?", re.MULTILINE)


def faults(output: Outputs, spec: RunSpec, result: RunResult) -> Iterator[tuple[str, str]]:
    """Yield where and why an output is none that can be stored; what stands before its lines hides all else."""
    if sentence := added(output, spec.tool):
        yield "/output/stdout", sentence
    elif sentence := _added_to_messages(output, tools.get(spec.tool)):
        yield "/output/stderr", sentence
    elif result.outcome == "failed":
        text = printed_text(output.stdout)
        yield "/output", _other_program(output, spec) or _other_locale(text) or f"{NO_RESULT} {result.reason}"
    elif sentence := cut_text(printed_text(output.stdout), tools.get(spec.tool).always):
        yield "/output/stdout", sentence


def _added_to_messages(output: Outputs, tool: Tool) -> str:
    """Say what was added before the lines of stderr that the tool writes; "" where nothing was."""
    text = printed_text(output.stderr)
    lines = [line for line in text.split("\n") if tool.message_line and tool.message_line.search(line)]
    return added_text("\n".join(lines), tool.message_beginnings)


def added(output: Outputs, tool: str) -> str:
    """Say what was added before each line, as a log does; "" where nothing was."""
    return added_text(printed_text(output.stdout), tools.get(tool).beginnings)


def added_in(text: str, readers: Iterable[Tool]) -> str:
    """Say what was added before the lines of any of these tools; "" where nothing was."""
    return next(filter(None, (added_text(text, tool.beginnings) for tool in readers)), "")


def readable() -> str:
    """Name the programs whose output can be read without further files."""
    return listing(sorted({tool.program for tool in tools.TOOLS.values() if not tool.needed_files}), "or")


def unread(text: str) -> str:
    """Say why a text is the output of no load generator that can be read without further files."""
    if sentence := _other_locale(text) or added_in(text, tools.TOOLS.values()):
        return sentence
    if name := programs.program_of(text):
        return f"It is the output of {name}, which is not read here. Paste what {readable()} printed."
    return f"No output of a load generator stands in it. Paste all that {readable()} printed."


def _other_locale(text: str) -> str:
    """Say that pgbench printed its summary in another language, of which 'tps' is all that stays, or its decimals."""
    if not (rate := RATE.search(text)):
        return ""
    if rate[1]:
        return "Its numbers have decimal commas, which are not read: run pgbench with LC_ALL=C."
    return (
        ""
        if ENGLISH.search(text)
        else "It is not in English, and no other language is read: run pgbench with LC_ALL=C."
    )


def _other_program(output: Outputs, spec: RunSpec) -> str:
    """Return a sentence where an output is of another program than the workload's; "" where it is not."""
    text = printed_text(output.stdout) or printed_text(output.stderr)
    name, database = programs.program_of(text), programs.database_of(text)
    if name in ("", tools.get(spec.tool).program):
        return ""
    readable = [tool.name for tool in tools.TOOLS.values() if tool.program == name]
    remedy = f"Name a workload of {listing(readable)}" if readable else f"BenchHub reads {listing(tools.TOOLS)}"
    against = f" against {database}" if database else ""
    return f"It is the output of {name}{against}, but the workload is one of {spec.tool}. {remedy}."
