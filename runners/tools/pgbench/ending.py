"""Tell how a run of pgbench ended, from whatever came along of it: its exit code, its messages, or its summary alone.

A summary is printed also where clients have died. In a stream that both outputs went into, the messages are in it.
"""

from __future__ import annotations

import re

from runners.contract import Outputs
from runners.tools.printed import END_UNSEEN, main_errors, printed_text

from .output import Summary, read_summary, unwrapped

ABORTED = re.compile(r"Run was aborted(?:; the above results are incomplete\.| due to an error in thread )")
# Up to 10 a client that aborts shows in no exit code, only in a line of stderr.
ABORTED_CLIENT = re.compile(r"(?:^|pgbench: error: )client \d{1,9} .{0,200}\baborted\b", re.IGNORECASE)
ERROR = re.compile(r"^(?:pgbench: (?:error|fatal): |(?:ERROR|FATAL|PANIC): |client \d{1,9} )", re.IGNORECASE)
MESSAGE = re.compile(r"^(?:progress: |starting vacuum|pgbench: warning: )", re.MULTILINE)
# "pgbench: Fehler: ...": what a translation calls an error, a warning or the end of a run.
# What the linker writes there has the path of a library instead.
TRANSLATED = re.compile(
    r"^pgbench: (?!error|warning|fatal|detail|hint|info|debug)[^\s:/.]{1,40} ?[:\uff1a] ", re.MULTILINE
)
IN_ANOTHER_LANGUAGE = (
    "pgbench's messages are not in English, so that nothing tells whether the run was aborted: send its exit code, or "
    "run it with LC_ALL=C."
)
# When threads begin and end, on a machine that has other things to do.
SLACK_S, SLACK_SHARE = 0.1, 0.01
# A gap between transactions offered at random that is this many times the average comes once in 500 million.
LONGEST_GAPS = 20


def failure(outputs: Outputs, messages: str | None = None) -> str:
    """Return in one sentence why a run has failed; "" where nothing says so.

    `messages` stand for stderr where they went elsewhere. An exit code that is not known says nothing.
    """
    stdout, stderr = printed_text(outputs.stdout), printed_text(outputs.stderr) if messages is None else messages
    returncode = outputs.returncode
    aborted = is_aborted(stdout) or is_aborted(stderr)
    if not returncode and not aborted:
        if returncode is None and TRANSLATED.search(f"{stdout}\n{stderr}"):
            return IN_ANOTHER_LANGUAGE
        incomplete = _incomplete(read_summary(stdout))
        return f"pgbench was aborted: {incomplete}." if incomplete else ""
    errors = main_errors(all_errors(stdout, stderr))
    event = "pgbench was aborted" if aborted or returncode == 2 else f"pgbench ended with code {returncode}"
    return f"{event}: {errors}." if errors else f"{event} and said nothing about it."


def is_aborted(text: str) -> bool:
    return bool(ABORTED.search(text)) or any(ABORTED_CLIENT.search(line) for line in text.splitlines())


def all_errors(stdout: str, stderr: str) -> str:
    """Return what went to stderr, and what of stdout is an error where both went into one."""
    return "\n".join([stderr, *(line for line in stdout.splitlines() if ERROR.match(line))])


def _incomplete(summary: Summary) -> str:
    """Say which number tells that clients died before the end; "" where none does."""
    return _too_few(summary) or _too_short(summary)


def _too_few(summary: Summary) -> str:
    """Compare a planned number of transactions with those that ended, failed or were skipped."""
    name = "number of transactions actually processed"
    printed = re.fullmatch(r"\d{1,15}/(-?\d{1,15})", summary.values.get(name, ""))
    if not printed:
        return ""
    each, clients = map(summary.number, ("number of transactions per client", "number of clients"))
    planned = unwrapped(int(printed[1]), each, clients)
    others = ("number of failed transactions", "number of transactions skipped")
    ended = summary.transactions + sum(summary.number(other) or 0 for other in others)
    return f"only {ended:,.0f} of {planned:,.0f} transactions ended" if ended < planned else ""


def _too_short(summary: Summary) -> str:
    """Compare how long the run lasted, by its own count and rate, with its duration, which it always keeps to."""
    duration_s, lasted_s = summary.number("duration"), summary.lasted_s
    if duration_s is None or lasted_s is None:
        return ""
    idle_s = 0.0
    if "rate limit schedule lag" in summary.values:
        due = summary.transactions + (summary.number("number of transactions skipped") or 0)
        idle_s = LONGEST_GAPS * lasted_s * (summary.number("number of threads") or 1) / due
    if lasted_s + idle_s >= duration_s * (1 - SLACK_SHARE) - SLACK_S:
        return ""
    return f"by its count and rate it ended after {lasted_s:,.3g} of {duration_s:,.0f} s, as where all clients fail"


def end_remarks(outputs: Outputs) -> list[str]:
    """Return a remark where nothing that came along would tell an aborted run: neither exit code nor messages."""
    is_seen = outputs.returncode is not None or outputs.stderr or MESSAGE.search(printed_text(outputs.stdout))
    return [] if is_seen else [END_UNSEEN]


def code_words(returncode: int | None, errors: str) -> str:
    """Return the rest of a sentence on a missing summary: the code, where it is known, and what was said."""
    code = f", although it ended with code {returncode}" if returncode is not None else ""
    return f"{code}: {errors}" if errors else code
