"""The last part of the logs of a run under way, as the looks at it bring them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchhub.analysis.doubts.log_text import readable, whole_characters
from benchhub.bench.models import LiveLog, Run

KEPT_BYTES = 128 * 1024
SHOWN_BYTES = 32 * 1024
RATE = re.compile(rb"progress: [^ ]{1,20} s, (?:about )?([0-9]{1,12}(?:\.[0-9]{1,9})?) tps")


@dataclass(frozen=True, slots=True)
class Part:
    """Text of a log up to the byte `end`; `skipped_bytes` before it were not shown."""

    stream: str
    title: str
    text: str
    end: int
    skipped_bytes: int


def keep(run: Run, stream: str, start: int, chunk: bytes) -> None:
    """Store what a look brought of a log from byte `start` on, inside the caller's fenced transaction.

    Chunks join where one begins at the end of the other; after a gap only the later one is kept.
    """
    if not chunk:
        return
    attempt = run.attempts.latest("number")
    before = LiveLog.objects.filter(attempt=attempt, stream=stream, end_offset=start).first()
    content = (bytes(before.content) if before else b"") + chunk
    LiveLog.objects.update_or_create(
        attempt=attempt, stream=stream, defaults={"content": content[-KEPT_BYTES:], "end_offset": start + len(chunk)}
    )


def part(log: LiveLog, after: int) -> Part:
    """Return the text beyond the byte `after`, at most the last 32 KiB; characters cut at the end wait."""
    content = bytes(log.content)
    first = log.end_offset - len(content)
    start = max(first, log.end_offset - SHOWN_BYTES, after if after <= log.end_offset else 0)
    piece = content[start - first :]
    piece = piece[: whole_characters(piece)]
    end = start + len(piece)
    return Part(log.stream, log.get_stream_display(), readable(piece), end, max(0, start - after))


def rates(log: bytes) -> list[float]:
    """Return the throughputs that a load generator printed as it went, the oldest first."""
    return [float(value) for value in RATE.findall(log)]
