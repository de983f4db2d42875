"""Read what `sadf -j` printed: of which machine it is, and its samples. It may say anything, and is never believed.

Samples are read one by one, and no more than a few MiB are JSON at a time, so that a whole day takes little memory,
and so does a file that only looks like one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from runners.readings import storable

from .metrics import GROUPS, numbers

MOST_BYTES = 32 << 20
MOST_SAMPLES = 200_000  # two days of seconds
LONGEST_HEAD_BYTES = 64 << 10
LONGEST_SAMPLE_BYTES = 2 << 20  # 512 CPUs take a fifth of it
# The shortest rows of sadf have twice as many; what has fewer is made to cost memory and time.
FEWEST_BYTES_PER_LIST = 16
LONGEST_SAMPLE_S = 86_400
YEARS = range(1970, 2201)
LONGEST_NAME = 100
MAGIC = (b"\x96\xd5", b"\xd5\x96")
STATISTICS = re.compile(rb'"statistics"\s?:\s?\[')
MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}")
BETWEEN = re.compile(r"[\s,]{0,1000}")
UTC_NAMES = ("UTC", "GMT", "UCT")
CONVERT = "convert it with: sadf -j -- -A {}"
TOO_LARGE = f"The file has more than {MOST_BYTES >> 20} MiB: cut it to the time of the run, as -s and -e of sadf do."
TOO_MANY = f"The file has more than {MOST_SAMPLES:,} samples: cut it to the time of the run, as -s and -e of sadf do."
BINARY = f"This is a file of sadc, which only sysstat reads: {CONVERT.format('saNN')}"
OTHER = f"This is no output of sadf -j. If you have a file of sadc, {CONVERT.format('saNN')}"
TOO_LONG = (
    f"The output of sadf is damaged after its sample {{:,}}, or the next one has more than {LONGEST_SAMPLE_BYTES >> 20}"
    " MiB: convert the file again, with -bBdqruwW -n DEV instead of -A."
)
CUT_SHORT = "The output of sadf is cut short, or damaged, after its sample {:,}: convert the file again."
NO_SAMPLE = "sadf printed no sample: see that the file is of the time of the run."
LOCAL = "Its times are local ones, which cannot be placed: convert the file without -T and -t, so that they are in UTC."
OUT_OF_TIME = "A sample of it has no time that can be read: convert the file again with sadf -j."


class UnfitError(ValueError):
    """What was brought cannot be used; the text says why, and what to do."""


@dataclass(frozen=True)
class Sample:
    """What sysstat noted of the `interval_s` seconds that end at a time, as it stands in the file."""

    end_epoch_s: int
    interval_s: int
    groups: Mapping[str, Any]

    @cached_property
    def values(self) -> Mapping[str, float]:
        """Return its numbers by 'group.name'. Most samples of a long file lie outside the load: nobody asks them."""
        return numbers(self.groups)

    @property
    def begin_epoch_s(self) -> int:
        return self.end_epoch_s - self.interval_s


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine as the file names it."""

    host: str = ""
    kernel: str = ""
    version: str = ""


def read(content: bytes) -> tuple[Machine, Iterator[Sample]]:
    """Return the machine, and its samples as they are read. Raises UnfitError, while samples are read too."""
    if len(content) > MOST_BYTES:
        raise UnfitError(TOO_LARGE)
    if content.startswith(MAGIC) or b"\0" in content[:4096]:
        raise UnfitError(BINARY)
    begin = STATISTICS.search(content, 0, LONGEST_HEAD_BYTES)
    head = _head(content[: begin.end()].decode("utf-8", errors="replace")) if begin else None
    if begin is None or head is None:
        raise UnfitError(OTHER)
    return _machine(head), _samples(_Elements(content, begin.end()))


def _head(text: str) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    """Return what stands before the samples: of the file, and of its host. None for any other text."""
    try:
        sysstat = json.loads(text + "]}]}}")["sysstat"]
        host = sysstat["hosts"][-1]
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
    return (sysstat, host) if isinstance(host, Mapping) else None


def _machine(head: tuple[Mapping[str, Any], Mapping[str, Any]]) -> Machine:
    file, host = head
    version = file.get("sysdata-version", "")
    return Machine(
        host=_word(host.get("nodename")),
        kernel=_word(host.get("release")),
        version=_word(str(version)) if isinstance(version, int | float | str) else "",
    )


def _word(value: Any) -> str:
    return " ".join(str(storable(value[:LONGEST_NAME])).split()) if isinstance(value, str) else ""


@dataclass(slots=True)
class _Elements:
    """The elements of a JSON list in a content, read through a window that moves along with them.

    `place` is that of the next element in the window's text. A character is a byte, so that both count alike.
    """

    content: bytes
    begin: int
    text: str = ""
    place: int = 0
    count: int = 0

    def __iter__(self) -> Iterator[Any]:
        """Yield them. Raises UnfitError at one that is no JSON, or longer than LONGEST_SAMPLE_BYTES."""
        decoder = json.JSONDecoder()
        self._move()
        while not self._is_at_end():
            try:
                element, self.place = decoder.raw_decode(self.text, self.place)
            except (ValueError, RecursionError) as error:
                self._require_more(error)
                self._move()
                continue
            self.count += 1
            yield element

    def _is_at_end(self) -> bool:
        between = BETWEEN.match(self.text, self.place)
        self.place = between.end() if between else self.place
        return self.text.startswith("]", self.place)

    def _require_more(self, error: Exception) -> None:
        """Raise UnfitError unless the text ends within the length of a sample, and the content goes on."""
        if len(self.text) - self.place >= LONGEST_SAMPLE_BYTES:
            raise UnfitError(TOO_LONG.format(self.count)) from error
        if self.begin + len(self.text) >= len(self.content):
            raise UnfitError(CUT_SHORT.format(self.count)) from error

    def _move(self) -> None:
        """Begin the window at the next element: by the length of a sample at least, so all is read twice at most."""
        self.begin, self.place = self.begin + self.place, 0
        self.text = self.content[self.begin : self.begin + 2 * LONGEST_SAMPLE_BYTES].decode("latin-1")
        lists = self.text.count("[") + self.text.count("{")
        if lists * FEWEST_BYTES_PER_LIST > max(len(self.text), LONGEST_SAMPLE_BYTES):
            raise UnfitError(OTHER)


def _samples(elements: _Elements) -> Iterator[Sample]:
    """Yield the samples among elements. One without any group, or before a restart, is left out."""
    for element in elements:
        if elements.count > MOST_SAMPLES:
            raise UnfitError(TOO_MANY)
        if isinstance(element, Mapping) and (sample := _sample(element)) is not None:
            yield sample


def _sample(sample: Mapping[str, Any]) -> Sample | None:
    time = sample.get("timestamp")
    if not isinstance(time, Mapping) or GROUPS.isdisjoint(sample):
        return None
    interval_s = time.get("interval")
    if not isinstance(interval_s, int) or not 0 < interval_s <= LONGEST_SAMPLE_S:
        return None
    return Sample(_epoch_s(time), interval_s, sample)


def _epoch_s(time: Mapping[str, Any]) -> int:
    """Return the time of a sample, which has to be in UTC: a local one does not say where it is local.

    Raises UnfitError.
    """
    if time.get("utc") != 1 and time.get("tz") not in UTC_NAMES:
        raise UnfitError(LOCAL)
    text = f"{time.get('date')} {time.get('time')}"
    if not MOMENT.fullmatch(text):
        raise UnfitError(OUT_OF_TIME)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UnfitError(OUT_OF_TIME) from error
    if moment.year not in YEARS:
        raise UnfitError(OUT_OF_TIME)
    return int(moment.replace(tzinfo=UTC).timestamp())
