"""The log of a load shape by segment and by second, reduced by awk on the target.

A transaction is of the segment in which it was due; pgbench's latency counts from then. `AWK` before another program
puts the number of that segment, from 0, where the log has the script. `SEGMENTS_AWK` prints

    second 0 98 97              transactions due, and ended, in a second of the run
    segment 0 980 975 3 51200 1800    due, ended, skipped, and the sum and maximum of schedule lag in us
    end                         its absence tells a truncated file

A skipped transaction has no latency: it was due when the log has it, or shortly before.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from .shape import Shape

START_FILE, SEGMENTS_FILE = "shape.start", "shape.segments"
DUE_AWK = """\
function segment_at(at_s,    place) {
    if (!segments) segments = split(bounds, ends, " ")
    for (place = 1; place < segments && at_s >= ends[place]; place++);
    return place - 1
}
"""
AWK = (
    DUE_AWK
    + """\
NF >= 6 && $3 ~ /^[0-9]+$/ && $5 ~ /^[0-9]+$/ && $6 ~ /^[0-9]+$/ && length($3) < 13 && length($5) < 13 {
    $4 = segment_at($5 - start + ($6 - $3) / 1000000)
}
"""
)
SEGMENTS_AWK = (
    DUE_AWK
    + """\
function within(at_s) { return at_s > 0 ? int(at_s) : 0 }
NF < 6 || $5 !~ /^[0-9]+$/ || $6 !~ /^[0-9]+$/ || length($5) > 12 { next }
{
    ended_s = $5 - start + $6 / 1000000
    due_s = $3 ~ /^[0-9]+$/ && length($3) < 13 ? ended_s - $3 / 1000000 : ended_s
    due[within(due_s)]++
    segment = segment_at(due_s)
    offered[segment]++
    if ($3 == "skipped") { skipped[segment]++; next }
    if ($3 !~ /^[0-9]+$/) next
    ended[within(ended_s)]++
    achieved[segment_at(ended_s)]++
    if ($7 ~ /^[0-9]+$/) {
        lag[segment] += $7
        if ($7 + 0 > longest[segment]) longest[segment] = $7 + 0
    }
}
END {
    segment_at(0)
    for (second = 0; second < ends[segments]; second++)
        printf "second %d %.0f %.0f\\n", second, due[second], ended[second]
    for (place = 0; place < segments; place++)
        printf "segment %d %.0f %.0f %.0f %.0f %.0f\\n", place, offered[place], achieved[place], skipped[place], \\
            lag[place], longest[place]
    print "end"
}
"""
)


@dataclass(frozen=True, slots=True)
class Counts:
    """The logged transactions of a segment: due, ended and skipped in it, and the lag of those due, in us."""

    offered: int
    achieved: int
    skipped: int
    lag_sum_us: int
    lag_max_us: int


@dataclass(frozen=True, slots=True)
class Log:
    """Logged transactions by second, due and ended, and the counts of each segment."""

    due: tuple[int, ...]
    ended: tuple[int, ...]
    segments: tuple[Counts, ...]


def awk_values(shape: Shape) -> str:
    """Return the words, for sh, that give the programs their values."""
    bounds = " ".join(map(str, shape.ends_s))
    return f"-v start=\"$(cat {START_FILE})\" -v bounds='{bounds}'"


def lines_by_segment(lines: Iterable[bytes], shape: Shape, start_epoch_s: float | None) -> Iterator[bytes]:
    """Yield the lines of a log as AWK changes them: with the segment's number in place of the script's.

    All have 0 there where nobody knows when the run started: no line can be said to be of one segment.
    """
    for line in lines:
        columns = line.split()
        if len(columns) >= 6 and all(word.isdigit() and len(word) < 13 for word in (columns[2], *columns[4:6])):
            latency_us, epoch_s, epoch_us = map(int, (columns[2], *columns[4:6]))
            at_s = 0.0 if start_epoch_s is None else epoch_s - start_epoch_s + (epoch_us - latency_us) / 1_000_000
            columns[3] = b"%d" % bisect_right(shape.ends_s[:-1], at_s)
            yield b" ".join(columns)
        else:
            yield line


def read(text: str, shape: Shape) -> Log:
    """Return what SEGMENTS_AWK printed. Raises ValueError for text that is cut off or something else."""
    lines = text.splitlines()
    if not lines or lines[-1] != "end":
        raise ValueError("The counts by segment are cut off.")
    rows: Mapping[str, list[list[int]]] = {"second": [], "segment": []}
    for line in lines[:-1]:
        name, *numbers = line.split()
        if name not in rows or not all(number.isdigit() and len(number) < 19 for number in numbers):
            raise ValueError(f"The counts by segment have a line that cannot be read: {line[:80]!r}.")
        rows[name].append([int(number) for number in numbers])
    seconds, segments = rows["second"], rows["segment"]
    widths = {len(row) for row in seconds}, {len(row) for row in segments}
    if widths != ({3}, {6}) or (len(seconds), len(segments)) != (shape.duration_s, len(shape.segments)):
        raise ValueError("The counts by segment are of another load shape.")
    due, ended = zip(*(row[1:] for row in seconds), strict=True)
    return Log(due, ended, tuple(Counts(*row[1:]) for row in segments))
