"""The reduction of `REDUCE_AWK` in numpy, for logs that are at hand: millions of lines a second on one core.

A log is read in chunks of whole lines. Numbers are put together column by column: the last digits of all lines, then
those before them. Memory holds one chunk, 8 bytes for each refused write, and the counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from gzip import GzipFile
from typing import IO, TYPE_CHECKING

from runners.tools import histogram
from runners.tools.pgbench_log import UNREADABLE, Reduction, ScriptTotals
from runners.tools.tatp_log import ACCEPTING, LOOKED_AT, REFUSED
from runners.tools.tatp_parameters import TRANSACTIONS
from runners.tools.tatp_scripts import MOMENTS_PER_S, PERIOD_S

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Integers = NDArray[np.int64]

CHUNK_BYTES = 2 << 20
COLUMNS, MARK_COLUMNS = 6, 4
CLIENT, NUMBER, LATENCY, SCRIPT, EPOCH, AND_US = range(6)
OUTCOME = 3
NEWLINE, SPACE, ZERO, NINE = b"\n 09"
# Latencies below this are counted by their value at once; the few others one by one.
DENSE_US = 1 << 16
# Of a number; its digits are read eight at a time, so that there is room for 16 before the first.
MOST_DIGITS, ROOM = 15, 16
LINE = re.compile(rb"(?:\d{1,%d} ){5}\d{1,%d}" % (MOST_DIGITS, MOST_DIGITS))
# Each digit, pair and four of digits that is the first of two: times a factor, added to the second, moved to its place.
JOINS = (
    (10 << 8 | 1, 8, 0x00FF00FF00FF00FF),
    (100 << 16 | 1, 16, 0x0000FFFF0000FFFF),
    (10_000 << 32 | 1, 32, 0x00000000FFFFFFFF),
)
# Room for a transaction's number, or its moment, beside its client's in one integer.
NUMBER_BITS = 40
MOMENT_US, PERIOD = 10**6 // MOMENTS_PER_S, MOMENTS_PER_S * PERIOD_S


def chunks(stream: IO[bytes] | GzipFile, size: int = CHUNK_BYTES) -> Iterator[bytes]:
    """Yield the stream in pieces of whole lines."""
    rest = b""
    while piece := stream.read(size):
        whole, newline, after = piece.rpartition(b"\n")
        if newline:
            yield rest + whole + newline
            rest = after
        else:
            rest += piece
    if rest:
        yield rest


def reduce(
    log: Iterable[bytes],
    marks: Iterable[bytes],
    from_epoch_s: int = 0,
    *,
    by_moment: bool = False,
    all_tell: bool = True,
) -> Reduction:
    """Return the reduction of a log without what ended before that time, and without writes refused or not told.

    `log` and `marks` are chunks of whole lines; `by_moment`: the latter are moments; `all_tell`: of every write. The
    times of the log are not kept.
    """
    if by_moment:
        refused = partial(_by_moment, _keys(marks, 1))
    else:
        refused = partial(_by_number, _keys(marks, 0)) if all_tell else partial(_but_by_number, _keys(marks, 1))
    counts = _Counts(refused, from_epoch_s)
    for chunk in log:
        counts.add(chunk)
    return counts.reduction()


def _keys(marks: Iterable[bytes], outcome: int) -> Integers:
    """Those with this outcome among lines "client transaction script outcome", in rising order, and one above all."""
    import numpy as np

    found = [np.array([np.iinfo(np.int64).max])]
    for chunk in marks:
        if table := _Table.of(chunk, MARK_COLUMNS):
            rows = np.flatnonzero(table.column(OUTCOME) == outcome)
            found.append(_key(table.column(CLIENT, rows), table.column(NUMBER, rows)))
    return np.sort(np.concatenate(found))


def _key(client: Integers, place: Integers) -> Integers:
    return (client << NUMBER_BITS) | place


def _by_number(known: Integers, table: _Table, rows: Integers) -> NDArray[np.bool_]:
    """Which of these rows of a log have a known number: where those of refusals are, which were refused."""
    keys = _key(table.column(CLIENT, rows), table.column(NUMBER, rows))
    return _between(known, keys, keys)


def _but_by_number(done: Integers, table: _Table, rows: Integers) -> NDArray[np.bool_]:
    """All but those whose number is that of a success."""
    return ~_by_number(done, table, rows)


def _by_moment(done: Integers, table: _Table, rows: Integers) -> NDArray[np.bool_]:
    """Those that no success lies within. Moments begin anew every period: a write at its end counts as refused."""
    end_us = table.column(EPOCH, rows) * 10**6 + table.column(AND_US, rows)
    first, last = (us // MOMENT_US % PERIOD + 1 for us in (end_us - table.column(LATENCY, rows), end_us))
    client = table.column(CLIENT, rows)
    return ~_between(done, _key(client, first), _key(client, last))


def _between(known: Integers, low: Integers, high: Integers) -> NDArray[np.bool_]:
    """Where one of the known ones, which rise, is from `low` to `high`."""
    import numpy as np

    found: NDArray[np.bool_] = known[np.searchsorted(known, low)] <= high
    return found


@dataclass
class _Counts:
    refused: Callable[[_Table, Integers], NDArray[np.bool_]]
    from_epoch_s: int
    lines: int = 0
    dense: Integers | None = None
    slow: Counter[tuple[int, int]] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)

    def add(self, chunk: bytes) -> None:
        table = _Table.of(chunk)
        if table is None:
            given = chunk.splitlines()
            whole = [line for line in given if LINE.fullmatch(line)]
            self.kinds[UNREADABLE] += len(given) - len(whole)
            self.lines += len(given) - len(whole)
            table = _Table.of(b"".join(line + b"\n" for line in whole))
        if table is not None and table.lines:
            self._count(table)

    def _count(self, table: _Table) -> None:
        import numpy as np

        self.lines += table.lines
        script, latency = table.column(SCRIPT), table.column(LATENCY)
        for looked, transaction in LOOKED_AT.items():
            script[script == looked] = transaction
        is_known = script < len(TRANSACTIONS)
        self.kinds[UNREADABLE] += int(np.count_nonzero(~is_known))
        kept = is_known & (table.column(EPOCH) >= self.from_epoch_s) if self.from_epoch_s else is_known
        kept &= ~self._is_refused(table, script, kept)
        script, latency = script[kept], latency[kept]
        is_dense = latency < DENSE_US
        places = script[is_dense] * DENSE_US + latency[is_dense]
        counted = np.bincount(places, minlength=len(TRANSACTIONS) * DENSE_US)
        self.dense = counted if self.dense is None else self.dense + counted
        self.slow.update(zip(script[~is_dense].tolist(), latency[~is_dense].tolist(), strict=True))

    def _is_refused(self, table: _Table, script: Integers, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        import numpy as np

        found = np.zeros(table.lines, np.bool_)
        rows = np.flatnonzero(((script == 3) | (script == 5) | (script == 6)) & kept)
        found[rows[self.refused(table, rows)]] = True
        for number in ACCEPTING:
            self.kinds[f"{REFUSED}{number}"] += int(np.count_nonzero(found & (script == number)))
        return found

    def reduction(self) -> Reduction:
        bins: Counter[tuple[int, int, int]] = Counter()
        totals: dict[int, list[ScriptTotals]] = {}
        for script, row in enumerate(() if self.dense is None else self.dense.reshape(-1, DENSE_US)):
            bins.update({(script, *place): number for place, number in _binned(row)})
            totals[script] = _dense_totals(row)
        for (script, latency_us), number in self.slow.items():
            bins[script, *histogram.bin_of(latency_us)] += number
            totals[script].append(ScriptTotals(latency_us * number, latency_us, latency_us))
        scripts = {script: _joined(found) for script, found in totals.items() if found}
        kinds = {kind: number for kind, number in self.kinds.items() if number}
        return Reduction(self.lines, dict(bins), scripts, kinds, None, None)


def _binned(row: Integers) -> Iterator[tuple[histogram.Bin, int]]:
    """The bins of latencies that are counted by their value: those of one shift lie in a row and are of one size."""
    import numpy as np

    for shift in range(histogram.bin_of(DENSE_US - 1)[0] + 1):
        first = 1 << histogram.VALUE_BITS - 1 if shift else 0
        summed = row[first << shift : 1 << histogram.VALUE_BITS + shift].reshape(-1, 1 << shift).sum(axis=1)
        held = np.flatnonzero(summed)
        for value in held.tolist():
            yield (shift, first + value), int(summed[value])


def _dense_totals(row: Integers) -> list[ScriptTotals]:
    """Of latencies that are counted by their value; none where there are none."""
    found = row.nonzero()[0]
    return [ScriptTotals(int(found @ row[found]), int(found[0]), int(found[-1]))] if len(found) else []


def _joined(totals: list[ScriptTotals]) -> ScriptTotals:
    sums, lows, highs = zip(*((one.sum_us, one.min_us, one.max_us) for one in totals), strict=True)
    return ScriptTotals(sum(sums), min(lows), max(highs))


class _Table:
    """A chunk whose every line has so many columns of digits: its bytes by eights, and where each number ends."""

    def __init__(self, chunk: bytes, ends: Integers, columns: int) -> None:
        import numpy as np

        # The eight bytes before each place of the chunk; those before its beginning are never a number's.
        room = b"0" * ROOM + chunk
        self.before = np.ndarray((len(room) - 7,), "<u8", room, strides=(1,))
        self.ends, self.columns = ends, columns
        self.lines = len(ends) // columns

    @classmethod
    def of(cls, chunk: bytes, columns: int = COLUMNS) -> _Table | None:
        """None where a line is another."""
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
        """The numbers of one column, of these rows or of all."""
        import numpy as np

        ends, last = self.ends[place :: self.columns], self.columns - 1
        before = self.ends[place - 1 :: self.columns] if place else np.append(-1, self.ends[last : -1 : self.columns])
        if rows is not None:
            ends, before = ends[rows], before[rows]
        sizes = ends - before - 1
        values = self._digits(ends, sizes)
        if sizes.max(initial=0) > 8:
            values += 10**8 * self._digits(ends - 8, np.maximum(sizes - 8, 0))
        return values

    def _digits(self, ends: Integers, sizes: Integers) -> Integers:
        """The last eight digits at most before these places, put together by twos, fours and eights."""
        import numpy as np

        masks = np.array([0x0F0F0F0F0F0F0F0F << 8 * (8 - size) & 2**64 - 1 for size in range(9)], np.uint64)
        digits = self.before[ends + (ROOM - 8)] & masks[np.minimum(sizes, 8)]
        for factor, shift, kept in JOINS:
            digits = ((digits * np.uint64(factor)) >> np.uint64(shift)) & np.uint64(kept)
        return digits.astype(np.int64)
