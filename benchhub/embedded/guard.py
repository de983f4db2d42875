"""Ends the children of a supervisor that was killed: `python -m benchhub.embedded.guard FOLDER MARKER...`.

It waits for the other end of its standard input, which the supervisor alone holds. One that ends in order writes a byte
first. Where none came, nobody is left to stop the children, and the guard does it as the next supervisor would.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent.parent
VARIABLE = "BENCHHUB_GUARD"


@dataclass(frozen=True)
class Guard:
    """A guard that waits; `pipe` is the file that ends with this process."""

    process: subprocess.Popen[bytes]
    pipe: int

    def dismiss(self) -> None:
        """Let it end without doing anything: all children have ended."""
        with contextlib.suppress(BrokenPipeError):  # it was ended from outside
            os.write(self.pipe, b".")
        os.close(self.pipe)
        self.process.wait()


def post(folder: Path, markers: Sequence[str], environment: dict[str, str]) -> Guard:
    """Start a guard for what is noted in `folder` and what carries the markers."""
    theirs, ours = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "benchhub.embedded.guard", str(folder), *markers],
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=PACKAGE,
        env={**environment, VARIABLE: str(folder)},
        start_new_session=True,
    )
    os.close(theirs)
    return Guard(process, ours)


def main() -> None:
    from benchhub.embedded.processes import stop_leftovers

    if not os.read(0, 1):
        stop_leftovers(Path(sys.argv[1]), sys.argv[2:])


if __name__ == "__main__":
    main()
