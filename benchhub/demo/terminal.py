"""Tell the person who started the demonstration what happens: short lines, no control characters."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

WIDTH = 58


def say(text: str = "", end: str = "\n") -> None:
    """Write to the terminal; when nobody reads any more, to nowhere, since stopping must go on."""
    try:
        print(text, end=end, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def step(text: str) -> Iterator[None]:
    """Say what happens while it happens, and then how long it took."""
    start = time.monotonic()
    say(f"  {text} ".ljust(WIDTH, "."), end=" ")
    try:
        yield
    except BaseException:
        say("not done")
        raise
    say(f"{time.monotonic() - start:.1f} s")
