"""Signs of life for health checks: a file whose age says when the last tick was done, or sent.

A check that starts Django or asks every worker through the broker costs seconds and memory each time; the age of a
file costs nothing, and says more: a worker that has done a tick has reached broker and warehouse.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from celery import signals


def keep(file: Path) -> None:
    """Touch `file` whenever this process, if it is a worker, has done a task, or, if it is the ticker, has sent one."""

    def touch(**_: Any) -> None:
        file.touch()

    def watch_worker(**_: Any) -> None:
        signals.task_success.connect(touch, weak=False)

    def watch_ticker(**_: Any) -> None:
        signals.after_task_publish.connect(touch, weak=False)

    signals.worker_ready.connect(watch_worker, weak=False)
    signals.beat_init.connect(watch_ticker, weak=False)
