"""Wall clocks of single processes that are apart from the machine's, and can be set while they work.

libfaketime is not used: it replaces the waits on conditions as well, by which Python hands on its lock. A worker of
twelve threads under it got a fortieth of its work done, and spun.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from benchhub.embedded.account import Account

SOURCE = Path(__file__).with_name("wall_clock.c")


def can_be_set() -> bool:
    """Tell whether the library can be built here."""
    return shutil.which("cc") is not None


def settable(account: Account, file: Path, hours: int = 0) -> dict[str, str]:
    """Return the environment of a process whose wall clock `file` sets, so many hours apart; `account` may read all."""
    library = file.parent / "wall_clock.so"
    if not library.exists():
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", str(library), str(SOURCE)], check=True)
    account.write(file, "")
    set_apart(file, hours)
    return {"LD_PRELOAD": str(library), "WALL_CLOCK": str(file)}


def set_apart(file: Path, hours: int) -> None:
    """Set the clock of the processes that have the file so many hours apart from the machine's."""
    file.write_text(f"{hours * 3600}\n")
