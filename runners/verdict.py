"""What one look at an attempt on its target shows, and what state that makes it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from runners.collection import exit_code, size

HOLDER = re.compile("[0-9A-Za-z-]{1,64} [0-9]{1,9}")
LONGEST_WORD = 40
# All of it is read on the one loop of all hosts; an honest target takes some hundred bytes.
MOST_HEAD_BYTES = 16 << 10
UNWRITABLE = "Its host could not write down how it ended: the work directory there is full or has become read-only."
# So long the guard on the target has for its own work: TERM, ten seconds, KILL, and what a busy machine takes for it.
OVERDUE_GRACE_S = 30


@dataclass(frozen=True, slots=True)
class Look:
    """An attempt as it stood at one moment.

    `lock_held` tells of this attempt alone: something of it is alive. `uptime_s` and `begin_uptime_s`, at which its
    command began, are on the target's monotonic clock. `chunk` holds bytes of err.log from `err_from` on, which is the
    offset that was asked for unless more was written than one look brings; `out_chunk` is the same of out.log. `holder`
    is the attempt that last took the host, as 'run number'. `acknowledged` is also true when all but the ledger's line
    has been cleaned up. `is_writable` is asked only of one that is not alive and left no exit code. `is_hidden`: its
    folder is not where it was, and was read where something of it works in it by now.
    """

    boot_id: str
    uptime_s: float
    started: bool
    lock_held: bool
    returncode: int | None
    step: str
    begin_uptime_s: float | None
    out_size: int
    err_size: int
    cancelled: bool
    acknowledged: bool
    boot_id_at_start: str | None
    holder: str
    chunk: bytes
    err_from: int = 0
    out_chunk: bytes = b""
    out_from: int = 0
    is_writable: bool = True
    is_hidden: bool = False

    def is_overdue(self, deadline_s: int) -> bool:
        """Tell whether it lives on long after its deadline, at which its own guard would have ended it."""
        if not self.lock_held or self.returncode is not None or self.begin_uptime_s is None:
            return False
        return is_over(self.uptime_s - self.begin_uptime_s, deadline_s)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The state of an attempt. `reason` is a sentence where it is lost or absent, else empty.

    `suspected`: all looks dead; only a second look that sees the same makes it lost.
    """

    state: Literal["absent", "running", "finished", "lost"]
    reason: str = ""
    suspected: bool = False


def is_over(age_s: float, deadline_s: int) -> bool:
    """Tell whether a command of this age is past its deadline and the time that its guard has (0: it has none)."""
    return 0 < deadline_s < age_s - OVERDUE_GRACE_S


def judge(look: Look, *, suspected: bool, boot_id_at_start: str | None) -> Verdict:
    """Return the state of an attempt, by the last look and whether the one before made it `suspected` of being lost.

    An exit code decides. Without one, another boot than at the start means lost; so does a free lock, but only if
    the look before saw it as well: the first may have fallen between two lines of the wrapper.
    """
    if look.returncode is not None:
        return Verdict("finished")
    if not look.started and look.acknowledged:
        return Verdict("lost", "The attempt was collected before, and its host has cleaned up its evidence.")
    if not look.started:
        return Verdict("absent", "The attempt has not been started on this target.")
    if look.boot_id != (boot_id_at_start or look.boot_id_at_start):
        return Verdict("lost", "Its host was rebooted before the attempt ended.")
    if look.lock_held:
        return Verdict("running")
    if suspected and not look.is_writable:
        return Verdict("lost", UNWRITABLE)
    if suspected:
        return Verdict(
            "lost", "Nothing of the attempt is alive on its host and it left no exit code: it was killed there."
        )
    return Verdict("running", suspected=True)


def parse_look(answer: bytes) -> Look:
    """Read what look.sh answers. Raises KeyError or ValueError for what no honest target says."""
    head, _, logs = answer.partition(b"\n\n")
    if len(head) > MOST_HEAD_BYTES:
        raise ValueError(f"its facts take more than {MOST_HEAD_BYTES:,} bytes")
    lines = head.replace(b"\0", b"").decode(errors="replace").splitlines()
    facts = dict(line.split("=", 1) for line in lines)
    sizes = {name: size(facts[name].encode()) for name in ("err_from", "err_size", "out_from", "out_size")}
    err_from, out_from = sizes["err_from"], sizes["out_from"]
    err_bytes = max(0, sizes["err_size"] - err_from)
    returncode = facts.get("returncode", "").strip()
    return Look(
        boot_id=_word(facts["boot_id"]),
        uptime_s=_seconds(facts["uptime"]),
        started=facts["started"] == "1",
        lock_held=facts.get("lock") == "held",
        returncode=exit_code(returncode.encode()) if returncode.isdigit() else None,
        step=_word(facts.get("step", "").partition(" ")[0]),
        begin_uptime_s=_seconds(facts["begin"]) if facts.get("begin") else None,
        out_size=sizes["out_size"],
        err_size=sizes["err_size"],
        cancelled=facts["cancelled"] == "1",
        acknowledged="acknowledged" in facts,
        boot_id_at_start=_word(facts.get("boot_id_at_start", "")) or None,
        holder=facts["holder"] if HOLDER.fullmatch(facts["holder"]) else "",
        chunk=logs[:err_bytes],
        err_from=err_from,
        out_chunk=logs[err_bytes:],
        out_from=out_from,
        is_writable="unwritable" not in facts,
        is_hidden="hidden" in facts,
    )


def _seconds(text: str) -> float:
    seconds = float(text)
    if not math.isfinite(seconds):
        raise ValueError(f"{text!r} is no time")
    return seconds


def _word(text: str) -> str:
    """Return a short name as it is stored. Raises ValueError for what no honest target calls anything."""
    if len(text) > LONGEST_WORD or not text.isprintable():
        raise ValueError(f"{text[:LONGEST_WORD]!r} is no name")
    return text
