"""Tell the runs apart that a delivered output holds, so that each becomes a result of its own or is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchhub.analysis.words import listing
from runners.contract import Outputs
from runners.tools import Tool
from runners.tools.claims import DURATION
from runners.tools.parts import Part, places
from runners.tools.printed import printed_text

DAY_S = 86_400
REMEDY = "deliver each on its own."


@dataclass(frozen=True, slots=True)
class PrintedRun:
    """One run of an output: the line at which it begins, its streams, and what it prints of clients, threads and
    duration.
    """

    line: int
    output: Outputs
    clients: int | None
    threads: int | None
    duration_s: int | None = None


def stated_duration_s(tool: Tool, text: str) -> int | None:
    """Return how long the run of a text was to last by its own lines, or how long a number of transactions took.

    None for more than a day as well: no run of this warehouse lasts so long, and some texts say more than any calendar.
    """
    planned_s = planned_duration_s(tool, text)
    duration_s = tool.stated_duration_s(text) if planned_s is None else planned_s
    return duration_s if duration_s is not None and duration_s <= DAY_S else None


def planned_duration_s(tool: Tool, text: str) -> int | None:
    """Return how long the run of a text was to last, which is printed as it was given; None where no line says it."""
    line = tool.stated.get(DURATION)
    match = line.search(text) if line else None
    return int(match[1]) if match else None


def printed_runs(tool: Tool, output: Outputs, clients: int | None) -> list[PrintedRun]:
    """Return the runs of an output, in their order. `clients` is what was sent.

    Raises ValueError with a sentence where it holds several and some of them have another number of clients, or where
    files or what went to stderr cannot be shared out among them.
    """
    parts = tool.parts(printed_text(output.stdout))
    if len(parts) < 2:
        clients_and_threads = next(((part.clients, part.threads) for part in parts), (None, None))
        duration_s = stated_duration_s(tool, printed_text(output.stdout))
        return [PrintedRun(1, output, *clients_and_threads, duration_s)]
    if output.files:
        raise ValueError(f"It holds {places(parts)}, and its files are of one: {REMEDY}")
    runs = [
        PrintedRun(part.line, single, part.clients, part.threads, stated_duration_s(tool, part.text))
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
