"""The files that the attempts of a run left, and the command among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from benchhub.bench.models import Attempt, Evidence, Run
from runners import tools
from runners.tools.kinds import StatementLatency

COMMAND_FILE, PRINTED_FILE = "command.sh", "out.log"
MOST_STATEMENTS = 1000


@dataclass(frozen=True, slots=True)
class Statements:
    """How long the statements of an attempt took, without those that are too many; none once `file` is archived."""

    file: Evidence
    rows: Sequence[StatementLatency] = ()
    left_out: int = 0

    @property
    def has_retries(self) -> bool:
        return any(row.retries is not None for row in self.rows)


def newest_first(run: int, name: str, attempt: int | None = None) -> QuerySet[Evidence]:
    """Return the files of that name of a run: of one attempt, or of all, the newest first."""
    files = Evidence.objects.filter(attempt__run=run, name=name).select_related("attempt")
    files = files.order_by("-attempt__number")
    return files if attempt is None else files.filter(attempt__number=attempt)


def command_text(attempts: Sequence[Attempt], files: Iterable[Evidence]) -> str:
    """Return the newest attempt's command as it ran on the driver; empty until its evidence is here."""
    keys = [file.pk for file in files if file.name == COMMAND_FILE and file.attempt_id == attempts[-1].pk]
    return Evidence.objects.get(pk=keys[0]).text if keys else ""


def command_line(script: str, program: str) -> str:
    """Return the line of command.sh that calls the load generator: the last of the measured step, or of the load."""
    _, _, step = script.rpartition("\nstep load\n" if "\nstep load\n" in script else "\nstep measure\n")
    lines = [line for line in step.partition("\ncode=$?")[0].splitlines() if program and program in line]
    return lines[-1].removesuffix(" || rc=$?") if lines else ""


def timed_statements(run: Run, attempt: Attempt, files: Iterable[Evidence]) -> Statements | None:
    """Return the statements of an attempt; None where none was timed."""
    tool = tools.get(run.spec["tool"])
    printed = [file for file in files if file.name == PRINTED_FILE and file.attempt_id == attempt.pk]
    if not printed or not tool.times_statements(run.spec.get("parameters") or {}):
        return None
    if printed[0].archived_at:
        return Statements(printed[0])
    rows = tool.statement_latencies(Evidence.objects.get(pk=printed[0].pk).text)
    return Statements(printed[0], rows[:MOST_STATEMENTS], len(rows[MOST_STATEMENTS:])) if rows else None
