"""What was told of outcomes, and the log beside it, taken apart by awk as on a driver."""

from __future__ import annotations

import io
import random
import subprocess
from pathlib import Path

import pytest

from runners.tools import tatp_read
from runners.tools.pgbench_log import read_reduction
from runners.tools.tatp_log import REDUCE_AWK, SPLIT_AWK, Told, read_told


def split(folder: Path, text: str) -> tuple[str, str, list[Told]]:
    """(messages, marks, told)"""
    (folder / "said").write_text(text)
    command = ["awk", "-v", "marks=marks", "-v", "told=told", SPLIT_AWK, "said"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout, (folder / "marks").read_text(), list(read_told((folder / "told").read_text()))


def test_an_outcome_is_told_with_client_transaction_and_script(tmp_path: Path) -> None:
    text = (
        "debug(script=5,command=15): int 1200000350\n"  # transaction 120, client 3, script 5, refused
        "debug(script=6,command=9): int 1210000361\n"  # transaction 121, client 3, script 6, done
        "debug(script=2,command=6): int 300020001000012\n"  # 30 asked, 20 found; 10 destinations asked, 1 found
        "progress: 1.0 s, 20.0 tps, lat 0.100 ms stddev 0.010, 0 failed\n"
        "debug(script=3,command=9): int 99999999999999931\n"
        "progress: 2.0 s, 20.0 tps, lat 0.100 ms stddev 0.010, 0 failed\n"
    )
    messages, marks, told = split(tmp_path, text)
    assert marks == "3 120 5 0\n3 121 6 1\n99999 9999999999 3 1\n"
    assert told == [
        Told(1.0, (0, 1, 0), (0, 0, 1), access_asked=30, access_found=20, destination_asked=10, destination_found=1),
        Told(2.0, (0, 0, 0), (1, 0, 0), 0, 0, 0, 0),
    ]
    assert [line[:13] for line in messages.splitlines()] == ["progress: 1.0", "progress: 2.0"]


def test_what_threads_say_at_the_same_time_is_put_together_again(tmp_path: Path) -> None:
    """Each piece is written in one go, but a line is several pieces."""
    text = (
        "debug(script=5,command=15): debug(script=5,command=15): int 50000051\nint 60000150\n"
        "progress: 1.0 s, 20.0 tps, lat 0.100 ms stddev 0.010debug(script=3,command=9): , 0 failedint 70000030\n\n"
        "pgbench: error: debug(script=3,command=9): client 1 script 2 aborted\nint 80000030\n"
    )
    messages, marks, told = split(tmp_path, text)
    assert marks.splitlines() == ["0 5 5 1", "1 6 5 0", "0 7 3 0", "0 8 3 0"]
    assert messages == (
        "progress: 1.0 s, 20.0 tps, lat 0.100 ms stddev 0.010, 0 failed\npgbench: error: client 1 script 2 aborted\n"
    )
    assert [part.refused for part in told] == [(1, 1, 0)]


def test_of_how_many_reads_one_was_looked_at_is_told_beside_the_counts(tmp_path: Path) -> None:
    (tmp_path / "said").write_text(
        "debug(script=8,command=6): int 300020001000012\nprogress: 1.0 s, 20.0 tps, lat 1 ms\n"
    )
    command = ["awk", "-v", "marks=marks", "-v", "told=told", "-v", "every=19", SPLIT_AWK, "said"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    [told] = read_told((tmp_path / "told").read_text())
    assert (told.access_asked, told.access_found, told.every) == (30, 20, 19)


def test_a_read_that_was_looked_at_is_the_transaction_that_it_is(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "pgbench_log.77").write_text("0 1 10 7 1 0\n0 2 20 1 1 0\n0 3 40 8 1 0\n0 4 80 2 1 0\n")
    (tmp_path / "marks").write_text("")
    found = reduce(tmp_path, clients=1, threads=1, warmup_until=0)
    assert found == {"transactions": 4, "kinds": {}, "scripts": {1: 30, 2: 120}}


def test_what_was_told_and_cut_off_is_not_read() -> None:
    with pytest.raises(ValueError, match="cut off"):
        list(read_told("1.0 0 0 0 0 0 0 0 0 0 0\n"))


def reduce(folder: Path, clients: int, threads: int, warmup_until: int) -> dict[str, object]:
    options = [
        "-v",
        "marks=marks",
        "-v",
        f"clients={clients}",
        "-v",
        f"threads={threads}",
        "-v",
        f"from={warmup_until}",
    ]
    logs = sorted(str(path.relative_to(folder)) for path in (folder / "log").iterdir())
    done = subprocess.run(["awk", *options, REDUCE_AWK, *logs], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    read = read_reduction(done.stdout)
    return {
        "transactions": read.transactions,
        "kinds": dict(read.kinds),
        "scripts": {s: t.sum_us for s, t in read.scripts.items()},
    }


def test_the_warm_up_and_what_was_refused_are_in_no_response_time(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "pgbench_log.77").write_text(
        "0 1 9000 5 1000 1\n"  # warm-up
        "0 2 100 0 1001 1\n"
        "0 3 200 5 1001 2\n"  # done
        "0 5 800 5 1001 3\n"  # refused; transaction 4, refused as well, was not sampled
    )
    (tmp_path / "log" / "pgbench_log.77.1").write_text("1 3 300 6 1001 1\n1 5 50 6 1002 1\n")
    (tmp_path / "marks").write_text("0 1 5 1\n1 3 6 0\n0 3 5 1\n0 4 5 0\n0 5 5 0\n1 5 6 1\n")
    found = reduce(tmp_path, clients=2, threads=2, warmup_until=1001)
    assert found == {"transactions": 3, "kinds": {"refused-5": 1, "refused-6": 1}, "scripts": {0: 100, 5: 200, 6: 50}}


@pytest.mark.parametrize(("clients", "threads"), [(1, 1), (7, 3), (8, 2)])
def test_every_refused_write_is_found_among_many(tmp_path: Path, clients: int, threads: int) -> None:
    """Clients dealt out as pgbench does, logs sampled, marks in the order of time over all clients."""
    chance = random.Random(clients)
    (tmp_path / "log").mkdir()
    dealt, first = {}, 0
    for thread in range(threads):
        own = (clients - first + threads - thread - 1) // (threads - thread)
        dealt |= dict.fromkeys(range(first, first + own), thread)
        first += own
    logs: list[list[str]] = [[] for _ in range(threads)]
    marks, number, refused, kept = [], [0] * clients, 0, 0
    for _ in range(5_000):
        client = chance.randrange(clients)
        number[client] += 1
        script, outcome = chance.choice((0, 1, 2, 3, 4, 5, 6)), chance.choice((0, 1))
        if script in (3, 5, 6):
            marks.append(f"{client} {number[client]} {script} {outcome}")
        if chance.random() < 0.3:
            logs[dealt[client]].append(f"{client} {number[client]} 10 {script} 1001 0")
            is_refused = script in (3, 5, 6) and not outcome
            refused, kept = refused + is_refused, kept + (not is_refused)
    for thread, lines in enumerate(logs):
        name = "pgbench_log.77" + (f".{thread}" if thread else "")
        (tmp_path / "log" / name).write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "marks").write_text("".join(f"{mark}\n" for mark in marks))
    found = reduce(tmp_path, clients, threads, 0)
    assert found["transactions"] == kept
    assert sum(found["kinds"].values()) == refused > 100


def random_log(folder: Path, lines: int) -> tuple[bytes, bytes]:
    """A log of one thread with its marks, in which latencies reach from 0 to minutes."""
    chance, number, log, marks = random.Random(5), [0] * 4, [], []
    for place in range(lines):
        client = chance.randrange(4)
        number[client] += 1
        script, latency_us = chance.randrange(9), chance.choice((0, 7, 1_023, 1_024, 65_535, 65_536, 10**8))
        log.append(f"{client} {number[client]} {latency_us} {script} {1000 + place // 500} {chance.randrange(10**6)}\n")
        if script in (3, 5, 6):
            marks.append(f"{client} {number[client]} {script} {chance.randrange(2)}\n")
    (folder / "log").mkdir()
    (folder / "log" / "pgbench_log.9").write_text("".join(log))
    (folder / "marks").write_text("".join(marks))
    return "".join(log).encode(), "".join(marks).encode()


@pytest.mark.parametrize(("from_epoch_s", "chunk_bytes"), [(0, 1 << 20), (1003, 1 << 20), (1003, 777)])
def test_numpy_reads_what_awk_reads(tmp_path: Path, from_epoch_s: int, chunk_bytes: int) -> None:
    log, marks = random_log(tmp_path, 4_000)
    options = ["-v", "marks=marks", "-v", "clients=4", "-v", "threads=1", "-v", f"from={from_epoch_s}"]
    done = subprocess.run(
        ["awk", *options, REDUCE_AWK, "log/pgbench_log.9"], cwd=tmp_path, capture_output=True, text=True
    )
    by_awk = read_reduction(done.stdout)
    found = tatp_read.reduce(
        tatp_read.chunks(io.BytesIO(log), chunk_bytes), tatp_read.chunks(io.BytesIO(marks), chunk_bytes), from_epoch_s
    )
    assert (found.bins, found.scripts, found.kinds) == (by_awk.bins, by_awk.scripts, by_awk.kinds)
    assert found.lines == by_awk.lines == 4_000
    assert sum(by_awk.kinds.values()) > 100


def test_numpy_leaves_out_lines_that_are_none() -> None:
    log = b"0 1 100 0 1 1\n0 2 100 0 1\nx\n0 3 200 4 1 1\n0 4 1 9 1 1\n\n0 5 300 0 1 1 7\n0  6 3 0 1\n"
    found = tatp_read.reduce([log], [])
    assert {script: totals.sum_us for script, totals in found.scripts.items()} == {0: 100, 4: 200}
    assert found.kinds == {"unreadable": 6}
    assert found.lines == 8
