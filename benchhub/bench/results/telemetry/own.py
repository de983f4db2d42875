"""Store what was observed once a second beside a load, out of what its collectors noted. It never fails a run."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.db import DataError, IntegrityError, transaction

from benchhub.bench.models import Run, RunTelemetry
from runners.contract import Outputs, RunSpec
from runners.telemetry import compact, series
from runners.telemetry.collector import LOG_FILE, SERVER_LOG
from runners.tools import UNREADABLE

logger = logging.getLogger(__name__)

UNSTORED = "What was observed beside the load cannot be read; its file is kept as it came."


def is_planned(spec: RunSpec) -> bool:
    return bool(spec.telemetry) and spec.kind == "measure"


def sources(spec: RunSpec, outputs: Outputs) -> tuple[bytes, bytes, float, bytes | None]:
    """Return the arguments of `series.read` for what an attempt left."""
    files = outputs.files
    server = files.get(SERVER_LOG, b"") if spec.telemetry == "elsewhere" else None
    return files.get(LOG_FILE, b""), files.get("step", b""), spec.duration_s, server


def store(run: Run, read: Callable[[], series.Telemetry]) -> list[str]:
    """Store the telemetry of the newest attempt, in place of an earlier one's; return what is missing of it."""
    try:
        with transaction.atomic():
            telemetry = read()
            run.telemetry.all().delete()
            RunTelemetry.objects.bulk_create(rows(run, telemetry))
            return list(telemetry.remarks)
    except (*UNREADABLE, DataError, IntegrityError):
        logger.exception("The telemetry of run %s cannot be stored", run.pk)
        return [UNSTORED]


def rows(run: Run, telemetry: series.Telemetry) -> list[RunTelemetry]:
    """Return a row for each metric, unsaved."""
    return [
        RunTelemetry(
            run=run,
            metric=item.metric,
            unit=item.unit,
            start_epoch_s=telemetry.start_epoch_s,
            step_s=telemetry.step_s,
            packed=compact.pack(item.values),
        )
        for item in telemetry.observations
    ]
