"""Read what `sadf -j` printed: of which machine it is, and its samples. It may say anything, and is never believed.

Samples are read one by one, each in time that grows with its own length, so that a whole day takes little memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from runners.readings import storable

from .metrics import numbers

MOST_BYTES = 32 << 20
MOST_SAMPLES = 200_000  # two days of seconds
LONGEST_SAMPLE_S = 86_400
LONGEST_NAME = 100
MAGIC = (b"\x96\xd5", b"\xd5\x96")
STATISTICS = re.compile(r'"statistics":? ?\[|"statistics" :? ?\[')
BETWEEN = re.compile(r"[\s,]{0,1000}")
UTC_NAMES = ("UTC", "GMT", "UCT")
CONVERT = "convert it with: sadf -j -- -A {}"
TOO_LARGE = f"The file has more than {MOST_BYTES >> 20} MiB: cut it to the time of the run, as the line above does."
BINARY = f"This is a file of sadc, which only sysstat reads: {CONVERT.format('saNN')}"
OTHER = f"This is no output of sadf -j. If you have a file of sadc, {CONVERT.format('saNN')}"
CUT_SHORT = "The output of sadf is cut short, or damaged, after its sample {:,}: convert the file again."
NO_SAMPLE = "sadf printed no sample: see that the file is of the time of the run."
LOCAL = "Its times are local ones, which cannot be placed: convert the file without -T and -t, so that they are in UTC."
OUT_OF_TIME = "A sample of it has no time that can be read: convert the file again with sadf -j."


class UnfitError(ValueError):
    """What was brought cannot be used; the text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What sysstat noted of the `interval_s` seconds that end at a time, by 'group.name'."""

    end_epoch_s: int
    interval_s: int
    values: Mapping[str, float]

    @property
    def begin_epoch_s(self) -> int:
        return self.end_epoch_s - self.interval_s


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine as the file names it; `cpus` is 0 where it does not say how many."""

    host: str = ""
    kernel: str = ""
    cpus: int = 0
    version: str = ""


def read(content: bytes) -> tuple[Machine, Iterator[Sample]]:
    """Return the machine, and its samples as they are read. Raises UnfitError, while samples are read too."""
    if len(content) > MOST_BYTES:
        raise UnfitError(TOO_LARGE)
    if content.startswith(MAGIC) or b"\0" in content[:4096]:
        raise UnfitError(BINARY)
    text = content.decode("utf-8", errors="replace")
    begin = STATISTICS.search(text)
    head = _head(text[: begin.end()]) if begin else None
    if begin is None or head is None:
        raise UnfitError(OTHER)
    return _machine(head), _samples(text, begin.end())


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
    cpus = host.get("number-of-cpus")
    version = file.get("sysdata-version", "")
    return Machine(
        host=_word(host.get("nodename")),
        kernel=_word(host.get("release")),
        cpus=cpus if isinstance(cpus, int) and 0 < cpus < 2**20 else 0,
        version=_word(str(version)) if isinstance(version, int | float | str) else "",
    )


def _word(value: Any) -> str:
    return " ".join(str(storable(value[:LONGEST_NAME])).split()) if isinstance(value, str) else ""


def _samples(text: str, place: int) -> Iterator[Sample]:
    """Yield the samples of a list that begins at a place of the text. One without numbers, or before a restart,
    is left out."""
    decoder = json.JSONDecoder()
    for number in range(MOST_SAMPLES):
        between = BETWEEN.match(text, place)
        place = between.end() if between else place
        if text[place : place + 1] == "]":
            return
        try:
            sample, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            raise UnfitError(CUT_SHORT.format(number)) from error
        if isinstance(sample, Mapping) and (read := _sample(sample)) is not None:
            yield read


def _sample(sample: Mapping[str, Any]) -> Sample | None:
    time = sample.get("timestamp")
    values = numbers(sample)
    if not isinstance(time, Mapping) or not values:
        return None
    interval_s = time.get("interval")
    if not isinstance(interval_s, int) or not 0 < interval_s <= LONGEST_SAMPLE_S:
        return None
    return Sample(_epoch_s(time), interval_s, values)


def _epoch_s(time: Mapping[str, Any]) -> int:
    """Return the time of a sample, which has to be in UTC: a local one does not say where it is local.

    Raises UnfitError.
    """
    if time.get("utc") != 1 and time.get("tz") not in UTC_NAMES:
        raise UnfitError(LOCAL)
    try:
        moment = datetime.strptime(f"{time['date']} {time['time']}"[:40], "%Y-%m-%d %H:%M:%S")
    except (KeyError, ValueError) as error:
        raise UnfitError(OUT_OF_TIME) from error
    return int(moment.replace(tzinfo=UTC).timestamp())
