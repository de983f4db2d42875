"""Put back, between runs, what an attempt changed of somebody's server and could not put back itself."""

from __future__ import annotations

import shlex
from pathlib import Path

from runners.ssh import Connections, Target

from .script import put_back_function

SCRIPTS = Path(__file__).parent.parent / "target"
TIMEOUT_S = 30.0
UNDER_WAY = "UNDER_WAY"
MOST_BYTES, LONGEST_REASON = 1 << 16, 600


async def put_back(connections: Connections, target: Target, work_directory: str) -> str:
    """Return why something could not be put back, as a sentence; empty where nothing is left.

    It is UNDER_WAY while somebody else is at it: that is not an end, so ask again.
    May be repeated at any time. Raises as `Connections.run`.
    """
    work = work_directory.removeprefix("$HOME/").removeprefix("~/")
    values = [f"work={shlex.quote(work)}", "run=none", "number=0"]
    scripts = [(SCRIPTS / name).read_text() for name in ("common.sh", "server_restored.sh")]
    text = "\n".join(["{", *values, put_back_function(), *scripts, "exit", "}", ""])
    answer = await connections.run(
        target, "exec /bin/sh -s", input=text.encode(), timeout_s=TIMEOUT_S, most_bytes=MOST_BYTES
    )
    return answer.replace(b"\0", b"").decode(errors="replace").strip()[:LONGEST_REASON]
