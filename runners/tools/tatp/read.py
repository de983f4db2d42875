"""Reduce a log as `REDUCE_AWK` does, in numpy, for logs that are at hand: millions of lines a second on one core.

A log is read in chunks of whole lines. Numbers are put together column by column: the last digits of all lines, then
those before them. Memory holds one chunk, 8 bytes for each write that succeeded, and the counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from gzip import GzipFile
from typing import IO, TYPE_CHECKING

from runners.tools import histogram
from runners.tools.pgbench.log import UNREADABLE, Reduction, ScriptTotals

from .log import LOOKED_AT, REFUSED, UNTOLD
from .parameters import ACCEPTING, TRANSACTIONS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Integers = NDArray[np.int64]

CHUNK_BYTES = 2 << 20
COLUMNS, MARK_COLUMNS = 6, 4
CLIENT, NUMBER, LATENCY, SCRIPT, EPOCH, AND_US = range(6)
MARK_SCRIPT, OUTCOME = 2, 3
NEWLINE, SPACE, ZERO, NINE = b"\n 09"
# Latencies below this are counted by their value at once; the few others one by one.
DENSE_US = 1 << 16
# Of a number; its digits are read eight at a time, so that there is room for 16 before the first.
MOST_DIGITS, ROOM = 15, 16
LINES = {
    n: re.compile(rb"(?:\d{1,%d} ){%d}\d{1,%d}" % (MOST_DIGITS, n - 1, MOST_DIGITS)) for n in (COLUMNS, MARK_COLUMNS)
}
# Each digit, pair and four of digits that is the first of two: times a factor, added to the second, moved to its place.
JOINS = (
    (10 << 8 | 1, 8, 0x00FF00FF00FF00FF),
    (100 << 16 | 1, 16, 0x0000FFFF0000FFFF),
    (10_000 << 32 | 1, 32, 0x00000000FFFFFFFF),
)
# Room for a transaction's number beside its client's in one integer.
NUMBER_BITS = 40


def chunks(stream: IO[bytes] | GzipFile, size: int = CHUNK_BYTES) -> Iterator[bytes]:
    """Yield the stream in pieces of whole lines."""
    rest = b""
    while piece := stream.read(size):
        lines, newline, after = piece.rpartition(b"\n")
        if newline:
            yield rest + lines + newline
            rest = after
        else:
            rest += piece
    if rest:
        yield rest


def reduce(log: Iterable[bytes], marks: Iterable[bytes], from_epoch_s: int = 0) -> Reduction:
    """Return the reduction of a log without what ended before that time, and writes that were refused or not told.

    `log` and `marks` are chunks of whole lines. The times of the log are not kept.
    """
    counts = _Counts(_Outcomes(marks), from_epoch_s)
    for chunk in log:
        counts.add(chunk)
    return counts.reduction()


def _tabled(chunk: bytes, columns: int) -> _Table | None:
    """Return the lines of so many numbers; others are left out, and looked for only where there are some."""
    if table := _Table.of(chunk, columns):
        return table
    return _Table.of(b"".join(line + b"\n" for line in chunk.splitlines() if LINES[columns].fullmatch(line)), columns)


class _Outcomes:
    """Outcomes of writes by lines "client transaction script outcome": keys of successes, and where a client's end."""

    def __init__(self, marks: Iterable[bytes]) -> None:
        import numpy as np

        above_all = np.iinfo(np.int64).max
        outcomes, told_until = [np.array([above_all])], dict[int, int]()
        for table in filter(None, (_tabled(chunk, MARK_COLUMNS) for chunk in marks)):
            rows = np.flatnonzero(table.column(OUTCOME) == 1)
            outcomes.append(_key(table.column(CLIENT, rows), table.column(NUMBER, rows)))
            ends = np.flatnonzero(table.column(MARK_SCRIPT) == 0)
            last = table.column(NUMBER, ends).tolist()
            told_until |= zip(table.column(CLIENT, ends).tolist(), last, strict=True)
        self.successes = np.sort(np.concatenate(outcomes))
        # By client; the last stands for all others, of which everything was told.
        self.told_until = np.full(max(told_until, default=-1) + 2, above_all)
        self.told_until[list(told_until)] = list(told_until.values())

    def without_success(self, table: _Table, rows: Integers) -> tuple[Integers, Integers]:
        """Return those of these rows of a log that were refused, and those after the last that their client told."""
        import numpy as np

        client, number = table.column(CLIENT, rows), table.column(NUMBER, rows)
        is_untold = number > self.told_until[np.minimum(client, len(self.told_until) - 1)]
        keys = _key(client, number)
        has_succeeded = self.successes[np.searchsorted(self.successes, keys)] == keys
        return rows[~is_untold & ~has_succeeded], rows[is_untold]


def _key(client: Integers, number: Integers) -> Integers:
    return (client << NUMBER_BITS) | number


@dataclass
class _Counts:
    outcomes: _Outcomes
    from_epoch_s: int
    lines: int = 0
    dense: Integers | None = None
    slow: Counter[tuple[int, int]] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)

    def add(self, chunk: bytes) -> None:
        table = _tabled(chunk, COLUMNS)
        lost = chunk.count(b"\n") + (not chunk.endswith(b"\n")) - (table.lines if table else 0)
        self.kinds[UNREADABLE] += lost
        self.lines += lost
        if table:
            self._count(table)

    def _count(self, table: _Table) -> None:
        import numpy as np

        self.lines += table.lines
        script, latency = table.column(SCRIPT), table.column(LATENCY)
        for looked, transaction in LOOKED_AT.items():
            script[script == looked] = transaction
        is_known = script < len(TRANSACTIONS)
        self.kinds[UNREADABLE] += int(np.count_nonzero(~is_known))
        is_counted = is_known & table.is_from(self.from_epoch_s) if self.from_epoch_s else is_known
        self._leave_out_writes(table, script, is_counted)
        script, latency = script[is_counted], latency[is_counted]
        is_dense = latency < DENSE_US
        places = script[is_dense] * DENSE_US + latency[is_dense]
        counted = np.bincount(places, minlength=len(TRANSACTIONS) * DENSE_US)
        self.dense = counted if self.dense is None else self.dense + counted
        self.slow.update(zip(script[~is_dense].tolist(), latency[~is_dense].tolist(), strict=True))

    def _leave_out_writes(self, table: _Table, script: Integers, is_counted: NDArray[np.bool_]) -> None:
        """Take out of `is_counted` the writes of which it was not told that they succeeded."""
        import numpy as np

        rows = np.flatnonzero(((script == 3) | (script == 5) | (script == 6)) & is_counted)
        for kind, without in zip((REFUSED, UNTOLD), self.outcomes.without_success(table, rows), strict=True):
            is_counted[without] = False
            for number in ACCEPTING:
                self.kinds[f"{kind}{number}"] += int(np.count_nonzero(script[without] == number))

    def reduction(self) -> Reduction:
        bins: Counter[tuple[int, int, int]] = Counter()
        totals: dict[int, list[ScriptTotals]] = {}
        for script, row in enumerate(() if self.dense is None else self.dense.reshape(-1, DENSE_US)):
            bins.update({(script, *place): number for place, number in _binned(row)})
            totals[script] = _dense_totals(row)
        for (script, latency_us), number in self.slow.items():
            bins[script, *histogram.bin_of(latency_us)] += number
            totals[script].append(ScriptTotals(latency_us * number, latency_us, latency_us))
        scripts = {script: _sum_totals(parts) for script, parts in totals.items() if parts}
        kinds = {kind: number for kind, number in self.kinds.items() if number}
        return Reduction(self.lines, dict(bins), scripts, kinds, None, None)


def _binned(row: Integers) -> Iterator[tuple[histogram.Bin, int]]:
    """Yield the bins of latencies counted by their value: those of one shift lie in a row and are of one size."""
    import numpy as np

    for shift in range(histogram.bin_of(DENSE_US - 1)[0] + 1):
        first = 1 << histogram.VALUE_BITS - 1 if shift else 0
        summed = row[first << shift : 1 << histogram.VALUE_BITS + shift].reshape(-1, 1 << shift).sum(axis=1)
        held = np.flatnonzero(summed)
        for value in held.tolist():
            yield (shift, first + value), int(summed[value])


def _dense_totals(row: Integers) -> list[ScriptTotals]:
    """Return the totals of latencies that are counted by their value; none where there are none."""
    places = row.nonzero()[0]
    return [ScriptTotals(int(places @ row[places]), int(places[0]), int(places[-1]))] if len(places) else []


def _sum_totals(totals: list[ScriptTotals]) -> ScriptTotals:
    sums, lows, highs = zip(*((total.sum_us, total.min_us, total.max_us) for total in totals), strict=True)
    return ScriptTotals(sum(sums), min(lows), max(highs))


class _Table:
    """A chunk whose every line has so many columns of digits: its bytes by eights, and where each number ends."""

    def __init__(self, chunk: bytes, ends: Integers, columns: int) -> None:
        import numpy as np

        # The eight bytes before each place of the chunk; those before its beginning are never a number's.
        room = b"0" * ROOM + chunk
        self.bytes = np.frombuffer(room, np.uint8)
        self.before = np.ndarray((len(room) - 7,), "<u8", room, strides=(1,))
        self.ends, self.columns = ends, columns
        self.lines = len(ends) // columns

    @classmethod
    def of(cls, chunk: bytes, columns: int = COLUMNS) -> _Table | None:
        """Return the table of a chunk; None where a line is another."""
        import numpy as np

        data = np.frombuffer(chunk, np.uint8)
        ends = np.flatnonzero(data < ZERO)
        if not chunk or len(ends) % columns or data.max() > NINE:
            return None
        between = data[ends].reshape(-1, columns)
        is_whole = (between[:, -1] == NEWLINE).all() and (between[:, :-1] == SPACE).all() and chunk.endswith(b"\n")
        steps = np.diff(ends)
        is_short = max(steps.max(initial=0) - 1, ends[0]) <= MOST_DIGITS
        return cls(chunk, ends, columns) if is_whole and is_short and ends[0] and steps.min(initial=2) > 1 else None

    def column(self, place: int, rows: Integers | None = None) -> Integers:
        """Return the numbers of one column, of these rows or of all."""
        import numpy as np

        ends, sizes = self._numbers(place, rows)
        if sizes.max(initial=0) == 1:
            return (self.bytes[ends + (ROOM - 1)] & 0x0F).astype(np.int64)
        values = self._digits(ends, sizes)
        if sizes.max(initial=0) > 8:
            values += 10**8 * self._digits(ends - 8, np.maximum(sizes - 8, 0))
        return values

    def is_from(self, epoch_s: int) -> NDArray[np.bool_]:
        """Tell which lines are of this second or later, by its last eight digits, which recur after three years."""
        is_late: NDArray[np.bool_] = (self._digits(*self._numbers(EPOCH)) - epoch_s) % 10**8 < 10**8 // 2
        return is_late

    def _numbers(self, place: int, rows: Integers | None = None) -> tuple[Integers, Integers]:
        """Return where the numbers of a column end, and how many digits they have."""
        import numpy as np

        ends, last = self.ends[place :: self.columns], self.columns - 1
        before = self.ends[place - 1 :: self.columns] if place else np.append(-1, self.ends[last : -1 : self.columns])
        if rows is not None:
            ends, before = ends[rows], before[rows]
        return ends, ends - before - 1

    def _digits(self, ends: Integers, sizes: Integers) -> Integers:
        """Return the last eight digits at most before these places, put together by twos, fours and eights."""
        import numpy as np

        masks = np.array([0x0F0F0F0F0F0F0F0F << 8 * (8 - size) & 2**64 - 1 for size in range(9)], np.uint64)
        digits = self.before[ends + (ROOM - 8)] & masks[np.minimum(sizes, 8)]
        for factor, shift, mask in JOINS:
            digits = ((digits * np.uint64(factor)) >> np.uint64(shift)) & np.uint64(mask)
        return digits.astype(np.int64)
