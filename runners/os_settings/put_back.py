"""Put back, between runs, what an attempt changed of a host's operating system and could not put back itself."""

from __future__ import annotations

from runners.ssh import Connections, Target

from .script import put_back_function

TIMEOUT_S = 30.0
MOST_BYTES, LONGEST_REASON = 1 << 16, 600
HELD = "another run on this host has settings changed"  # whoever holds them put back what was left before


async def put_back(connections: Connections, target: Target) -> str:
    """Return why something could not be put back, as a sentence; empty where nothing is left.

    May be repeated at any time. Raises as `Connections.run`.
    """
    text = f"{{\n{put_back_function()}\nos_put_back 2>&1\nexit 0\n}}\n"
    answer = await connections.run(
        target, "exec /bin/sh -s", input=text.encode(), timeout_s=TIMEOUT_S, most_bytes=MOST_BYTES
    )
    reason = answer.replace(b"\0", b"").decode(errors="replace").strip()[:LONGEST_REASON]
    return "" if HELD in reason else reason
