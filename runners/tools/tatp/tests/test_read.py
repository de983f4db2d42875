"""Logs of TATP that were kept, read by numpy as awk reads them on a driver."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from runners.tools.pgbench.log import read_reduction
from runners.tools.tatp import read
from runners.tools.tatp.testing import awk, random_log


@pytest.mark.parametrize(("from_epoch_s", "chunk_bytes"), [(0, 1 << 20), (1003, 1 << 20), (1003, 777)])
def test_numpy_reads_what_awk_reads(tmp_path: Path, from_epoch_s: int, chunk_bytes: int) -> None:
    log, marks = random_log(tmp_path, 4_000)
    by_awk = read_reduction(awk(tmp_path, clients=4, start=from_epoch_s))
    reduction = read.reduce(
        read.chunks(io.BytesIO(log), chunk_bytes), read.chunks(io.BytesIO(marks), chunk_bytes), from_epoch_s
    )
    assert (reduction.bins, reduction.scripts, reduction.kinds) == (by_awk.bins, by_awk.scripts, by_awk.kinds)
    assert reduction.lines == by_awk.lines == 4_000
    assert sum(by_awk.kinds.values()) > 100


@pytest.mark.parametrize("client", [1, 7, 999_999_999_999_999])
def test_numpy_takes_a_client_of_which_nothing_is_told_as_one_without_success(client: int) -> None:
    log = f"0 1 100 5 1 1\n{client} 2 200 5 1 1\n0 2 300 5 1 1\n".encode()
    assert read.reduce([log], [b"0 1 5 1\n0 1 0 0\n"]).kinds == {"refused-5": 1, "untold-5": 1}


def test_numpy_leaves_out_only_the_marks_that_are_damaged() -> None:
    log = b"0 1 100 5 1 1\n0 2 200 5 1 1\n0 3 300 5 1 1\n"
    assert read.reduce([log], [b"0 1 5 1\n0 2 5 1 7\n0 3 5 1\n0 4"]).kinds == {"refused-5": 1}


def test_numpy_reads_numbers_of_one_to_fifteen_digits() -> None:
    numbers = [int("987654321012345"[:size]) for size in range(1, 16)]
    table = read._Table.of("".join(f"{number} 7\n" for number in numbers).encode(), columns=2)
    assert table is not None
    assert table.column(0).tolist() == numbers
    assert table.column(1).tolist() == [7] * len(numbers)


def test_a_line_with_a_number_that_is_too_long_to_be_one_is_left_out_alone() -> None:
    reduction = read.reduce([b"0 1 120 0 1700000001 5\n0 2 1234567890123456 0 1700000001 6\n"], [])
    assert (reduction.lines, reduction.transactions, reduction.kinds) == (2, 1, {"unreadable": 1})


def test_numpy_leaves_out_lines_that_are_none() -> None:
    log = b"0 1 100 0 1 1\n0 2 100 0 1\nx\n0 3 200 4 1 1\n0 4 1 9 1 1\n\n0 5 300 0 1 1 7\n0  6 3 0 1\n"
    reduction = read.reduce([log], [])
    assert {script: totals.sum_us for script, totals in reduction.scripts.items()} == {0: 100, 4: 200}
    assert reduction.kinds == {"unreadable": 6}
    assert reduction.lines == 8
