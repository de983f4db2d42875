"""Read what PostgreSQL's programs and load generators print as text, and find the errors in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import dedent

from runners.contract import Doubt

NOT_AN_ERROR = re.compile(r"^(?:progress: |starting vacuum|pgbench: warning: |(?:pgbench: error: )?Run was aborted;)")
# Threads write at the same time, so that the prefix of a line may stand before it twice, or in part.
MESSAGE_PREFIX = re.compile(r"^(?:(?:pgbench|error|fatal): )+")
END_UNSEEN = (
    "Its end was not seen: neither an exit code nor what it wrote to stderr came with it. Send both: otherwise a run "
    "that lost clients may pass for a whole one."
)
REASON_LINES = 3
REASON_LENGTH = 500


# What a terminal makes of a text that was copied from it: colours, titles, sets of characters, and times of Buildkite.
ESCAPES = re.compile(
    r"\x1b(?:\[[0-9;:?]{0,40}[@-~]|[]_P^X][^\x07\x1b\n]{0,400}(?:\x07|\x1b\\)|[()][0-9A-Z]|[=>78cDEHM])"
)
BYTE_ORDER_MARK, NO_BREAK, UTF_16_MARKS = "\ufeff", "\u00a0", (b"\xff\xfe", b"\xfe\xff")
LONGEST_PREFIX, LONGEST_LINE, MOST_LINES = 60, 80, 10
# What systems of CI, containers and logs put before every line: a time, or the name of a container; and a quotation.
TIME_OF_DAY = r"\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?"
DATED = rf"\[?\d{{4}}-\d{{2}}-\d{{2}}[T ]{TIME_OF_DAY}(?: ?(?:Z|UTC|[+-]\d{{2}}:?\d{{2}}))?\]?"
# GitHub's command line adds job and step before it, GitLab the number of the stream after it.
TIMES = rf"(?:[^\t]{{1,100}}\t[^\t]{{1,100}}\t)?{DATED}(?: \d{{2}}[OE]\+?)?|\[{TIME_OF_DAY}\]|{TIME_OF_DAY}"
# syslog, journalctl and ts.
OF_SYSTEM = rf"[A-Z][a-z]{{2}} [ \d]\d {TIME_OF_DAY}(?: [\w.-]{{1,64}} [\w./-]{{1,64}}\[\d{{1,9}}\]:)?"
# By pattern, on how many lines it must stand: fewer may begin so by chance.
STAMPS = (
    (re.compile(rf"^(?:{TIMES}|{OF_SYSTEM})(?= |$) ?"), 1),
    (re.compile(r"^(?:[\w.-]{1,64} {1,64}\||>)(?= |$) ?"), 4),
)
# Of several, one after the other, as where docker adds both.
MOST_STAMPS = 3
# Of a quotation, a list or a comment, and how many lines of it follow on each other where it is of a run.
MARKS, MARKED_LINES = " \t>|*#-", 4
MARK = re.compile(rf"[{MARKS}]+")


def text_of(output: bytes) -> str:
    """Return output as text; NUL and what is not UTF-8 show as replacement characters and break nothing.

    Lines may end as Windows or a terminal ends them; colours, blanks at their ends and a margin of all are no part of
    them. Times at their beginnings are: a server's messages and files of a target may begin so.
    """
    return _without_margin(_lines(_decoded(output)))


def printed_text(output: bytes) -> str:
    """Return as text what a load generator printed, which somebody may have copied out of a page or a log.

    What a log adds before each of its lines is no part of it, and blanks of any kind are plain ones.
    """
    return _without_margin(_without_stamps(_lines(_decoded(output).replace(NO_BREAK, " "))))


def _decoded(output: bytes) -> str:
    # PowerShell writes what it redirects so.
    encoding = "utf-16" if output[:2] in UTF_16_MARKS else "utf-8"
    text = output.decode(encoding, errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    return ESCAPES.sub("", text.replace(BYTE_ORDER_MARK, ""))


def _lines(text: str) -> list[str]:
    lines = text.split("\n") if "\n" in text else text.split("\r")
    return [line.rstrip(" \t\r") for line in lines]


def _without_margin(lines: Sequence[str]) -> str:
    text = "\n".join(lines)
    return dedent(text) if text.lstrip("\n")[:1] in (" ", "\t") else text


def _without_stamps(lines: list[str]) -> list[str]:
    """Return lines without what stands before every one of them; one that has it not keeps that of all."""
    for _ in range(MOST_STAMPS):
        stamped = list(filter(None, lines))
        stamp = next((stamp for stamp, least in STAMPS if len(stamped) >= least and stamp.match(stamped[0])), None)
        if stamp is None or not all(map(stamp.match, stamped)):
            break
        lines = [stamp.sub("", line, count=1) for line in lines]
    return lines


def added_text(text: str, beginnings: Sequence[str]) -> str:
    """Say what stands before the lines that a program always begins so, as times of a log; "" where nothing does.

    A mark of a quotation or a list before a run hides it where another has none. A comment of a line or two is no run.
    """
    lines = [line for line in text.split("\n") if line.strip(MARKS)]
    for beginning in beginnings:
        if prefix := _added_prefix(lines, beginning):
            return (
                f"Its lines do not begin as they were printed: before '{beginning.strip()}' stands "
                f"'{prefix[:LONGEST_PREFIX]}'. "
                "Send the text without what was added to its lines."
            )
    return ""


def _added_prefix(lines: Sequence[str], beginning: str) -> str:
    prefixes = {place: line.partition(beginning)[0] for place, line in enumerate(lines) if beginning in line}
    if prefixes and all(prefixes.values()):
        return next(iter(prefixes.values()))
    marks = ((place, prefix) for place, prefix in prefixes.items() if MARK.fullmatch(prefix))
    return next((mark for place, mark in marks if _marked_lines(lines, place, mark) >= MARKED_LINES), "")


def _marked_lines(lines: Sequence[str], place: int, mark: str) -> int:
    """Return how many lines from a place on have the mark, up to as many as tell."""
    following = lines[place : place + MARKED_LINES]
    return next((count for count, line in enumerate(following) if not line.startswith(mark)), len(following))


def cut_text(text: str, always: Sequence[str]) -> str:
    """Say which line a report lacks that all have, each with alternatives by "|"; "" where it is whole."""
    lines = [line.lstrip(" \t") for line in text.split("\n")]
    absent = next((name for name in always if not any(line.startswith(tuple(name.split("|"))) for line in lines)), "")
    if not absent:
        return ""
    return f"It is cut off: it has no line '{absent.partition('|')[0].strip()}', which every version prints."


def main_errors(stderr: str) -> str:
    """Return the first error and the last few, each once, joined; of lines of any kind where none is an error.

    The first is mostly the cause, and the last are what ended it: a thousand may lie between them.
    """
    lines = [line.strip() for line in stderr.splitlines() if line.strip() and not NOT_AN_ERROR.match(line)]
    marked = [line for line in lines if re.search(r"error|fatal|aborted", line, re.IGNORECASE)]
    errors = [MESSAGE_PREFIX.sub("", line) for line in marked or lines]
    last = list(dict.fromkeys(reversed(errors)))[: REASON_LINES - 1]
    return "; ".join(dict.fromkeys([*errors[:1], *reversed(last)]))[:REASON_LENGTH].rstrip(".")


def unread_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Return a remark on each of the first lines whose number cannot be read."""
    words = [line[:LONGEST_LINE] for line in lines[:MOST_LINES]]
    return tuple(f"The line '{line}' cannot be read: its number is left out." for line in words)


def damaged_doubts(lines: Sequence[str]) -> tuple[Doubt, ...]:
    """Return a slight doubt where these lines of progress are damaged; () where none is."""
    if not lines:
        return ()
    words = "1 report" if len(lines) == 1 else f"{len(lines):,} reports"
    first = lines[0][:LONGEST_LINE]
    return (Doubt("progress-unreadable", f"{words} of progress cannot be read, beginning with '{first}'."),)


def unread_remarks(lines: int, read: int) -> tuple[str, ...]:
    """Return a remark on those of so many lines of progress that could not be read; () where all could."""
    if lines == read:
        return ()
    if not read:
        return (f"None of the {lines:,} lines of progress can be read: there are no values over time.",)
    text = f"{lines - read:,} of the {lines:,} lines of progress cannot be read"
    return (f"{text}: their seconds have the values of the next line that can, or none.",)
