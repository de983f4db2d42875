"""Tell the runs apart that a delivered output holds, so that each becomes a result of its own or is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchhub.analysis.words import listing
from runners.contract import Outputs
from runners.tools import Tool
from runners.tools.parts import Part, places
from runners.tools.printed import printed_text

REMEDY = "deliver each on its own."


@dataclass(frozen=True, slots=True)
class PrintedRun:
    """One run of an output: the line at which it begins, its streams, and the clients and threads that it prints."""

    line: int
    output: Outputs
    clients: int | None
    threads: int | None


def printed_runs(tool: Tool, output: Outputs, clients: int | None) -> list[PrintedRun]:
    """Return the runs of an output, in their order. `clients` is what was sent.

    Raises ValueError with a sentence where it holds several and some of them have another number of clients, or where
    files or what went to stderr cannot be shared out among them.
    """
    parts = tool.parts(printed_text(output.stdout))
    if len(parts) < 2:
        clients_and_threads = next(((part.clients, part.threads) for part in parts), (None, None))
        return [PrintedRun(1, output, *clients_and_threads)]
    if output.files:
        raise ValueError(f"It holds {places(parts)}, and its files are of one: {REMEDY}")
    runs = [
        PrintedRun(part.line, single, part.clients, part.threads)
        for part, single in zip(parts, _shared_out(tool, output, parts), strict=True)
    ]
    if clients is not None and any(run.clients not in (None, clients) for run in runs):
        numbers = listing([str(run.clients or "unknown") for run in runs])
        raise ValueError(f"It holds {places(parts)}, of {numbers} clients, not all of {clients:,}: {REMEDY}")
    return runs


def _shared_out(tool: Tool, output: Outputs, parts: Sequence[Part]) -> list[Outputs]:
    stderr = printed_text(output.stderr)
    messages = tool.parts(stderr) if stderr.strip() else [Part(1, "")] * len(parts)
    if len(messages) != len(parts):
        raise ValueError(f"It holds {places(parts)}, and stderr cannot be told apart alike: {REMEDY}")
    return [
        replace(output, stdout=part.text.encode(), stderr=message.text.encode())
        for part, message in zip(parts, messages, strict=True)
    ]
