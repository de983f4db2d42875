"""Tell the runs of a load generator apart that stand in one text.

A run prints each line of its summary once, and always in the same order; the times of its reports of progress never
fall. A line that is out of this order is of another run, also where the end of one or the head of the next is missing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

# Beyond this many a text is refused anyway, and its beginnings are not all named.
MOST_NAMED = 20
BANNER = 1


@dataclass(frozen=True, slots=True)
class Part:
    """The text of one run, the number of the line at which it begins, and the clients and threads that it says."""

    line: int
    text: str
    clients: int | None = None
    threads: int | None = None


class Layout:
    """The lines by which a load generator's runs are told apart; all are regular expressions.

    `banner` names the program, also where it ran nothing. `once` are the beginnings of lines that a run prints once, in
    their order; its summary begins with that at the place `summary`. `progress` ends with the time of a report, of
    which the number is a group; `clients` and `threads` have those of clients and threads ("": it has no such line).
    """

    def __init__(
        self, banner: str, once: Sequence[str], progress: str, summary: int, clients: str, threads: str = ""
    ) -> None:
        self._marks = re.compile("|".join(f"({line})" for line in (banner, *once)))
        self._progress = re.compile(progress)
        self._summary = summary + 2
        self._clients = re.compile(f"^{clients}", re.MULTILINE)
        self._threads = re.compile(f"^{threads}", re.MULTILINE) if threads else None

    def parts(self, text: str) -> tuple[Part, ...]:
        """Return the text of each run in it; empty where there is no line of a run."""
        lines = text.split("\n")
        if not (begins := list(self._beginnings(lines))):
            return ()
        # What stands before the first run, as a shell's own lines, stays with it.
        bounds = pairwise([0, *begins[1:], len(lines)])
        texts = ("\n".join(lines[start:end]) for start, end in bounds)
        return tuple(
            Part(begin + 1, text, _number(self._clients, text), _number(self._threads, text))
            for begin, text in zip(begins, texts, strict=True)
        )

    def _beginnings(self, lines: Sequence[str]) -> Iterator[int]:
        reader = _Reader(self._summary)
        for number, line in enumerate(lines):
            if match := self._marks.match(line):
                begin = reader.begin_by_place(number, match.lastindex or 0)
            elif match := self._progress.match(line):
                begin = reader.begin_by_time(number, float(match[1]))
            else:
                continue
            if begin is not None:
                yield begin


def _number(line: re.Pattern[str] | None, text: str) -> int | None:
    match = line.search(text) if line else None
    return int(match[1]) if match else None


class _Reader:
    """The place in a run that the lines so far have come to; each line says where a run begins with it, or None."""

    def __init__(self, summary: int) -> None:
        self.summary = summary
        self.banner: int | None = None
        self.place, self.at_s = 0, -math.inf
        self.is_begun = self.has_progress_before = False

    def begin_by_place(self, number: int, place: int) -> int | None:
        if place == BANNER:
            self.banner = number
            return None
        begin = self._begin(number, is_new=place <= self.place)
        self.place = place
        return begin

    def begin_by_time(self, number: int, at_s: float) -> int | None:
        # Reports that stand after a summary are its own where none stood before it: stderr was appended.
        is_second = self.place >= self.summary and self.has_progress_before
        begin = self._begin(number, is_new=at_s < self.at_s or is_second)
        self.at_s = at_s
        self.has_progress_before = self.has_progress_before or self.place < self.summary
        return begin

    def _begin(self, number: int, *, is_new: bool) -> int | None:
        banner, self.banner = self.banner, None
        is_after_banner = banner is not None and self.place >= self.summary
        if self.is_begun and not is_new and not is_after_banner:
            return None
        self.place, self.at_s = 0, -math.inf
        self.is_begun, self.has_progress_before = True, False
        return number if banner is None else banner


def places(parts: Sequence[Part]) -> str:
    """Say of how many runs a text is, and at which lines they begin."""
    *lines, last = [f"{part.line:,}" for part in parts[:MOST_NAMED]]
    more = " and further on" if len(parts) > MOST_NAMED else ""
    return f"{len(parts):,} runs, beginning at lines {', '.join(lines)} and {last}{more}"


def refusal(layout: Layout, texts: Mapping[str, str]) -> str:
    """Say in a sentence which of the texts, by their names, is of several runs; "" where none is."""
    parts_by_name = {name: layout.parts(text) for name, text in texts.items()}
    name = next((name for name, parts in parts_by_name.items() if len(parts) > 1), "")
    return f"{name} holds {places(parts_by_name[name])}: which of them this run is cannot be told." if name else ""
