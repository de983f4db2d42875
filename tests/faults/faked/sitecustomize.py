"""Let Python sleep under libfaketime: its clock_nanosleep() refuses every sleep of a process with a monotonic clock."""

import select
import time


def sleep(seconds: float) -> None:
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    select.select([], [], [], seconds)


time.sleep = sleep
