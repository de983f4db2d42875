"""The ticker's Celery application: it sends ticks by the clock and does nothing else.

It counts by a clock that nobody sets: by the wall clock, a step of it back would silence the ticker for as long.

It reads the settings without setting up Django, models and SSH, which it would never use: half of its memory.
"""

import os
import time
from pathlib import Path
from typing import Any

from celery import Celery
from celery.beat import Scheduler

from benchhub import heartbeat

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchhub.settings")

app = Celery("benchhub", fixups=set())
app.config_from_object("django.conf:settings", namespace="CELERY")
if "HEARTBEAT_FILE" in os.environ:
    heartbeat.keep(Path(os.environ["HEARTBEAT_FILE"]))


class MonotonicScheduler(Scheduler):  # type: ignore[misc]  # Celery has no types
    """Sends each task of the schedule at its interval; what was missed, as by a paused process, is sent once."""

    clock = staticmethod(time.monotonic)

    def __init__(self, *args: Any, **options: Any) -> None:
        self.due_s: dict[str, float] = {}
        super().__init__(*args, **options)

    def tick(self) -> float:
        """Send what is due; return the seconds until something is due again."""
        now_s = self.clock()
        for name, entry in self.schedule.items():
            if self.due_s.get(name, now_s) <= now_s:
                self.apply_entry(entry, producer=self.producer)
                self.due_s[name] = now_s + entry.schedule.run_every.total_seconds()
        next_s = min(self.due_s.values(), default=now_s + self.max_interval)
        return float(next_s - self.clock())
