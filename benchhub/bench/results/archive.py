"""Move files of old runs to the archive, and fetch them back. Both may be repeated, and stopped at any moment.

The archive has a file whole, on its disk and read back, before the warehouse lets go of its bytes by one UPDATE.
Whoever else moves the same file writes the same bytes and updates nothing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, F, QuerySet, Sum
from django.db.models.functions import Now
from django.utils import timezone

from benchhub import archive
from benchhub.archive import ArchiveError
from benchhub.bench.models import ArchiveRule, Evidence

logger = logging.getLogger(__name__)

BATCH_FILES, BATCH_S = 100, 5.0
# Between two passes.
REST = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Extent:
    """Files, and their bytes as they are uncompressed."""

    files: int = 0
    size_bytes: int = 0

    def __add__(self, other: Extent) -> Extent:
        return Extent(self.files + other.files, self.size_bytes + other.size_bytes)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was moved, for each file that was not, why; and the key of the last file that had its turn, 0 if none."""

    extent: Extent
    failures: tuple[str, ...]
    last_file: int


def movable(after_days: int, most: int | None = None) -> Extent:
    """Return what a rule of so many days would move now, of `most` files at most where a number is given."""
    return _extent(Evidence.objects.movable(_cutoff(after_days)), most)


def archived(most: int | None = None) -> Extent:
    """Return what the archive holds, of `most` files at most where a number is given."""
    return _extent(Evidence.objects.archived().order_by("pk"), most)


def _extent(files: QuerySet[Evidence], most: int | None) -> Extent:
    files = files[:most]
    return Extent(**files.aggregate(files=Count("pk"), size_bytes=Sum("size_bytes", default=0)))


def move(after_days: int) -> Outcome:
    """Move all files of runs that ended so many days ago, the oldest first."""
    return _each(Evidence.objects.movable(_cutoff(after_days)), _move)


def fetch_back(run: int | None = None) -> Outcome:
    """Bring files back into the warehouse, all or those of a run. The archive keeps its own: backups may need them."""
    files = Evidence.objects.archived()
    files = files if run is None else files.filter(attempt__run=run)
    return _each(files.order_by("pk"), _fetch)


def move_due() -> None:
    """Move the next small batch of a pass over all files, where the rule says so.

    A file that cannot be moved waits for the next pass, an hour after the end of this one; so do all while none can.
    """
    if (rule := ArchiveRule.objects.claim()) is None:
        return
    files = Evidence.objects.movable(_cutoff(rule.after_days)).filter(pk__gt=rule.last_file)
    outcome = _each(files[:BATCH_FILES], _move, BATCH_S)
    is_over = not outcome.extent.files
    trouble = next(iter(outcome.failures), rule.trouble if rule.last_file else "")
    # A rule that was set while the batch moved begins anew.
    ArchiveRule.objects.filter(pk=rule.pk, after_days=rule.after_days).update(
        last_file=0 if is_over else outcome.last_file,
        next_look_at=Now() + (REST if is_over else timedelta()),
        trouble=trouble,
        **({} if is_over else {"moved_at": Now(), "moved_files": F("moved_files") + outcome.extent.files}),
    )


def _each(files: QuerySet[Evidence], take: Callable[[Evidence], bool], most_s: float = float("inf")) -> Outcome:
    extent, failures, key, end_s = Extent(), [], 0, time.monotonic() + most_s
    for key in list(files.values_list("pk", flat=True)):
        file = Evidence.objects.select_related("attempt").get(pk=key)
        try:
            extent += Extent(1, file.size_bytes) if take(file) else Extent()
        except ArchiveError as error:
            failures.append(f"{file.name} of run {file.attempt.run_id}: {error}")
            logger.warning("The archive: %s", failures[-1])
        if time.monotonic() > end_s:
            break
    return Outcome(extent, tuple(failures), key)


def _move(file: Evidence) -> bool:
    if file.archived_at:
        return False
    archive.put(bytes(file.content), file.sha256)
    here = Evidence.objects.filter(pk=file.pk, archived_at=None)
    return bool(here.update(content=b"", archived_at=Now()))


def _fetch(file: Evidence) -> bool:
    content = file.read()
    there = Evidence.objects.archived().filter(pk=file.pk)
    return bool(there.update(content=content, archived_at=None))


def _cutoff(after_days: int) -> datetime:
    return timezone.now() - timedelta(days=after_days)
