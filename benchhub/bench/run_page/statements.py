"""How long each statement of a load took, as its load generator printed it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchhub.bench.models import Attempt, Evidence, Run
from runners import tools
from runners.tools.kinds import StatementLatency

PRINTED_FILE = "out.log"


def statement_rows(run: Run, attempt: Attempt, files: Iterable[Evidence]) -> Sequence[StatementLatency]:
    """Return the statements of an attempt; empty where none was timed, or its output has moved to the archive."""
    tool = tools.get(run.spec["tool"])
    if not tool.times_statements(run.spec.get("parameters") or {}):
        return ()
    keys = [file.pk for file in files if file.name == PRINTED_FILE and file.attempt_id == attempt.pk]
    printed = Evidence.objects.filter(pk__in=keys, archived_at=None).first()
    return tool.statement_latencies(printed.text) if printed else ()
