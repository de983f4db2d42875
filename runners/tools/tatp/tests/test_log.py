"""What was told of outcomes, and the log beside it, taken apart by awk as on a driver."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from runners.tools.pgbench.log import read_reduction
from runners.tools.pgbench.testing import AWKS
from runners.tools.tatp import read as tatp_read
from runners.tools.tatp.log import SPAN_AWK, SPLIT_AWK, Told, is_sample, read_told
from runners.tools.tatp.testing import awk, random_log

RECORDED = Path(__file__).resolve().parents[2] / "recorded"


def split(folder: Path, text: str, program: Sequence[str] = ("awk",), **values: object) -> tuple[str, str, str]:
    """Return messages, marks and reads."""
    (folder / "said").write_text(text)
    variables = {"marks": "marks", "reads": "reads", "clients": 4, "at_once": 1, **values}
    options = [word for name, value in variables.items() for word in ("-v", f"{name}={value}")]
    command = [*program, *options, SPLIT_AWK, "said"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout, (folder / "marks").read_text(), (folder / "reads").read_text()


def test_a_success_is_told_with_client_and_with_the_transactions_since_the_one_before(tmp_path: Path) -> None:
    text = (
        "debug(script=5,command=15): int 482000031\n"  # client 3, of script 5: its transaction 482 / 4 = 120
        "debug(script=6,command=9): int 487000011\n"  # client 1, of script 6: 487 = 4 x 121 + 3
        "debug(script=2,command=6): int 300020001000012\n"  # 30 asked, 20 found; 10 destinations asked, 1 found
        "pgbench: warning: what is said beside it stays\n"
        "debug(script=1,command=6): int 40003000000002\n"  # 4 asked, 3 found
        "debug(script=3,command=9): int 5000031\n"  # client 3, of script 3: the next one
    )
    messages, marks, reads = split(tmp_path, text)
    assert marks == "3 120 5 1\n1 121 6 1\n3 121 3 1\n"
    assert reads == "34 23 10 1\n"
    assert messages == "pgbench: warning: what is said beside it stays\n"


def test_successes_that_are_told_together_lie_as_far_apart_as_they_say(tmp_path: Path) -> None:
    """Of client 2 four, 5, 249, 1 and 20 apart; then two, and 3,000 later a third, before which the two are told."""
    four = f"{4 * 5 + 1:03}{4 * 249 + 3:03}{4 * 1 + 2:03}{4 * 20 + 1:03}"
    two = f"{4 * 7 + 2:03}{4 * 30 + 2:03}"
    text = (
        f"debug(script=3,command=9): int {int(four)}000021\n"
        "debug(script=6,command=9): int 1\n"  # client 0 held none before one that came late
        "debug(script=6,command=9): int 1000000006\n"
        f"debug(script=6,command=9): int {int(two)}000021\ndebug(script=6,command=9): int 3000000026\n"
    )
    _, marks, _ = split(tmp_path, text, clients=4, at_once=4)
    done = "2 5 3 1\n2 254 6 1\n2 255 5 1\n2 275 3 1\n0 1000 6 1\n2 282 5 1\n2 312 5 1\n2 3312 6 1\n"
    assert marks == done + "0 1000 0 0\n1 0 0 0\n2 3312 0 0\n3 0 0 0\n"


@pytest.mark.parametrize("program", AWKS, ids=" ".join)
def test_every_awk_here_reads_the_largest_marks(tmp_path: Path, program: list[str]) -> None:
    text = "".join(
        f"debug(script=3,command=9): int {mark}\n" for mark in ("999998997999999991", "9000000000999993", "80012")
    )
    _, marks, reads = split(tmp_path, text, program)
    writes = ("249 6", "498 5", "747 3", "996 6", "9000000996 3")
    assert marks == "".join(f"99999 {write} 1\n" for write in writes)
    assert reads == "0 0 0 8001\n"


def test_what_threads_say_at_the_same_time_is_put_together_again(tmp_path: Path) -> None:
    """Each piece is written in one go, but a line is several pieces."""
    text = (
        "debug(script=5,command=15): debug(script=5,command=15): int 22000001\nint 26000011\n"
        "pgbench: warning: 1debug(script=3,command=9): , 2int 9000001\n\n"
        "pgbench: error: debug(script=3,command=9): client 1 script 2 aborted\nint 5000001\n"
    )
    messages, marks, _ = split(tmp_path, text)
    assert marks.splitlines() == ["0 5 5 1", "1 6 5 1", "0 7 3 1", "0 8 3 1"]
    assert messages == "pgbench: warning: 1, 2\npgbench: error: client 1 script 2 aborted\n"


def test_what_was_told_and_cut_off_is_not_read() -> None:
    with pytest.raises(ValueError, match="cut off"):
        list(read_told("1.0 0 0 0 0 0 0 0 0 0 0\n"))


def test_what_was_told_in_other_columns_is_not_read() -> None:
    for line in ("1.0 0 0 0 0 0 0 0 0 0", "1.0 0 0 0 0 0 0 0 0 0 0 1 4"):
        with pytest.raises(ValueError, match="counts of reads"):
            list(read_told(f"{line}\nend 0\n"))


SCRIPT = "SQL script 1: script_0.sql\n - 2000 transactions (33.3% of total, tps = 666.0)\n"


def spanned(summary: str, *last_lines: str) -> str:
    text = summary + "".join(f"{line}\n" for line in last_lines)
    return subprocess.run(["awk", SPAN_AWK], input=text, capture_output=True, text=True, check=True).stdout


def test_a_run_began_as_long_before_its_last_line_as_pgbench_says_it_took() -> None:
    summary = "number of transactions actually processed: 6000\ntps = 2000.000000 (without initial connection time)\n"
    span = spanned(summary + SCRIPT, "0 3000 100 0 1003 100000", "1 2990 100 0 1003 250000")
    assert span == "-v transactions=6000 -v seconds=3.000000 -v rows=3 -v start=1000.250000 -v ran=0,0,0\n"


def test_how_often_each_write_ran_is_from_the_summary() -> None:
    summary = "number of transactions actually processed: 6000\ntps = 2000.000000 (without initial connection time)\n"
    for number, ran in enumerate((1, 2, 3, 120, 5, 110, 130, 8, 9)):
        summary += f"SQL script {number + 1}: script_{number}.sql\n - weight: 1 (targets 11.1% of total)\n"
        summary += f" - {ran} transactions (11.1% of total, tps = 1.0)\n - latency average = 0.100 ms\n"
    assert spanned(summary, "0 3000 100 0 1003 100000").endswith(" -v ran=120,110,130\n")


@pytest.mark.parametrize("version", [13, 14, 15, 16, 18])
def test_every_pgbench_says_how_often_a_script_ran(version: int) -> None:
    """Its own summary of two scripts, as if they were the fourth and the sixth."""
    summary = (RECORDED / str(version) / "several_scripts" / "out.log").read_text()
    ran = re.findall(r"^ - (\d+) transactions", summary, re.MULTILINE)
    renamed = summary.replace("SQL script 1:", "SQL script 4:").replace("SQL script 2:", "SQL script 6:")
    assert spanned(renamed, "0 3000 100 0 1003 100000").endswith(f" -v ran={ran[0]},{ran[1]},0\n")


def test_older_pgbench_says_how_long_it_took_without_connecting() -> None:
    summary = "number of transactions actually processed: 6000\ntps = 1500.0 (including connections establishing)\n"
    summary += "tps = 2000.0 (excluding connections establishing)\n"
    assert "seconds=3.000000" in spanned(summary + SCRIPT, "0 3000 100 0 1003 100000")


def test_without_a_summary_nothing_is_made_up() -> None:
    summary = "number of transactions actually processed: 6000\ntps = 2000.000000 (without initial connection time)\n"
    for cut_off in ("", summary, SCRIPT):
        with pytest.raises(subprocess.CalledProcessError):
            spanned(cut_off, "0 3000 100 0 1003 100000")


def reduce(folder: Path, clients: int, threads: int, warmup_until: int) -> dict[str, object]:
    read = read_reduction(awk(folder, clients=clients, threads=threads, start=warmup_until))
    return {
        "transactions": read.transactions,
        "kinds": dict(read.kinds),
        "scripts": {s: t.sum_us for s, t in read.scripts.items()},
    }


def seconds(folder: Path, **values: object) -> tuple[list[tuple[float, float]], list[Told]]:
    """Time and TPS of each second, and what was told in it."""
    awk(folder, **values)
    lines = [line.split() for line in (folder / "progress").read_text().splitlines()]
    return [(float(line[1]), float(line[3])) for line in lines], list(read_told((folder / "told").read_text()))


def test_a_second_has_the_transactions_that_its_clients_had_ended_by_then(tmp_path: Path) -> None:
    """Between lines they are evenly spread: 10 at 0.5 s and 30 at 1.5 s are 20 at 1 s; 50 at 2.5 s are 40 at 2 s."""
    (tmp_path / "log").mkdir()
    lines = ("0 10 100 0 1000 500000", "0 30 300 0 1001 500000", "0 50 200 0 1002 500000")
    (tmp_path / "log" / "pgbench_log.77").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "marks").write_text("0 20 6 1\n0 30 6 1\n0 55 3 1\n")
    variables = {"start": 1000, "rows": 3, "seconds": 3.5, "transactions": 60, "reads": "9 5 4 1", "every": 19}
    rates, outcomes = seconds(
        tmp_path, **variables, ran="3,3,2"
    )  # a third each of 20, so that of script 5 one each was refused
    assert rates == [(1.0, 20.0), (2.0, 20.0), (3.5, 13.333)]  # 20 that remain, over the last 1.5 s
    assert outcomes == [
        Told(1.0, (1, 1, 0), (0, 0, 1), 0, 0, 0, 0, 19),
        Told(2.0, (1, 1, 0), (0, 0, 1), 0, 0, 0, 0, 19),
        Told(3.5, (0, 1, 0), (1, 0, 0), 9, 5, 4, 1, 19),
    ]


def test_what_a_thread_told_counts_though_none_of_its_transactions_was_logged(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "pgbench_log.77").write_text("0 10 100 0 1000 900000\n")
    (tmp_path / "log" / "pgbench_log.77.1").write_text("")
    (tmp_path / "marks").write_text("0 4 5 1\n1 5 6 1\n")
    rates, outcomes = seconds(tmp_path, clients=2, threads=2, start=1000, transactions=20, every=40, ran="0,3,1")
    assert rates == [(1.0, 20.0)]
    assert (outcomes[0].refused, outcomes[0].done) == ((0, 2, 0), (0, 1, 1))


def test_a_damaged_line_moves_no_second(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    lines = "0 10 100 0 1000 500000", "0 x99 100 0 1000 600000", "7 900 100 0 1000 700000", "0 20 100 0 1001 500000"
    (tmp_path / "log" / "pgbench_log.77").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "marks").write_text("")
    rates, _ = seconds(tmp_path, start=1000, rows=2, seconds=2, transactions=25)
    assert rates == [(1.0, 15.0), (2.0, 10.0)]
    assert read_reduction(awk(tmp_path, start=1000)).kinds == {"unreadable": 2}


def test_a_read_that_was_looked_at_is_the_transaction_that_it_is(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "pgbench_log.77").write_text("0 1 10 7 1 0\n0 2 20 1 1 0\n0 3 40 8 1 0\n0 4 80 2 1 0\n")
    (tmp_path / "marks").write_text("")
    reduction = reduce(tmp_path, clients=1, threads=1, warmup_until=0)
    assert reduction == {"transactions": 4, "kinds": {}, "scripts": {1: 30, 2: 120}}


def test_where_every_transaction_was_logged_the_log_tells_when_writes_were_refused(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    lines = ("0 1 900 5 1000 300000", "0 2 700 3 1000 500000", "0 3 800 5 1001 600000", "0 4 900 6 1001 900000")
    (tmp_path / "log" / "pgbench_log.77").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "marks").write_text("0 2 3 1\n")
    _, outcomes = seconds(tmp_path, start=1000, rows=2, seconds=2, transactions=4)
    assert [(outcome.refused, outcome.done) for outcome in outcomes] == [((0, 1, 0), (1, 0, 0)), ((0, 1, 1), (0, 0, 0))]


def test_the_warm_up_and_what_was_refused_are_in_no_response_time(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "pgbench_log.77").write_text(
        "0 1 9000 5 1000 1\n"  # warm-up
        "0 2 100 0 1001 1\n"
        "0 3 200 5 1001 2\n"  # done
        "0 5 800 5 1001 3\n"  # refused; transaction 4, refused as well, was not sampled
    )
    (tmp_path / "log" / "pgbench_log.77.1").write_text("1 3 300 6 1001 1\n1 5 50 6 1002 1\n")
    (tmp_path / "marks").write_text("0 1 5 1\n0 3 5 1\n1 5 6 1\n")
    reduction = reduce(tmp_path, clients=2, threads=2, warmup_until=1001)
    assert reduction == {
        "transactions": 3,
        "kinds": {"refused-5": 1, "refused-6": 1},
        "scripts": {0: 100, 5: 200, 6: 50},
    }


@pytest.mark.parametrize(("clients", "threads"), [(1, 1), (7, 3), (8, 2)])
def test_every_refused_write_is_found_among_many(tmp_path: Path, clients: int, threads: int) -> None:
    """Clients dealt out as pgbench does, logs sampled, marks in the order of time over all clients."""
    chance = random.Random(clients)
    (tmp_path / "log").mkdir()
    thread_of_client, first = {}, 0
    for thread in range(threads):
        client_count = (clients - first + threads - thread - 1) // (threads - thread)
        thread_of_client |= dict.fromkeys(range(first, first + client_count), thread)
        first += client_count
    logs: list[list[str]] = [[] for _ in range(threads)]
    marks, number, refused, counted = [], [0] * clients, 0, 0
    for _ in range(5_000):
        client = chance.randrange(clients)
        number[client] += 1
        script, outcome = chance.choice((0, 1, 2, 3, 4, 5, 6)), chance.choice((0, 1))
        if script in (3, 5, 6) and outcome:
            marks.append(f"{client} {number[client]} {script} 1")
        if chance.random() < 0.3:
            logs[thread_of_client[client]].append(f"{client} {number[client]} 10 {script} 1001 0")
            is_refused = script in (3, 5, 6) and not outcome
            refused, counted = refused + is_refused, counted + (not is_refused)
    for thread, lines in enumerate(logs):
        name = "pgbench_log.77" + (f".{thread}" if thread else "")
        (tmp_path / "log" / name).write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "marks").write_text("".join(f"{mark}\n" for mark in marks))
    reduction = reduce(tmp_path, clients, threads, 0)
    assert reduction["transactions"] == counted
    assert sum(reduction["kinds"].values()) == refused > 100


def test_a_success_is_of_the_second_that_its_number_falls_in(tmp_path: Path) -> None:
    """Transactions 10 and 30 at 0.5 and 2.5 s are 15 at 1 s, and 25 at 2 s."""
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "pgbench_log.77").write_text("0 10 100 0 1000 500000\n0 30 100 0 1002 500000\n")
    (tmp_path / "marks").write_text("0 14 5 1\n0 15 3 1\n0 16 5 1\n0 31 3 1\n")
    _, outcomes = seconds(tmp_path, start=1000, rows=3, seconds=3, transactions=40, every=40, ran="2,2,0")
    assert [(outcome.refused, outcome.done) for outcome in outcomes] == [
        ((0, 0, 0), (1, 1, 0)),
        ((0, 0, 0), (0, 1, 0)),
        ((0, 0, 0), (1, 0, 0)),
    ]


def test_refusals_are_what_ran_less_what_succeeded_and_never_below_none(tmp_path: Path) -> None:
    """Of 80 writes 20 should have run in the first of four equal seconds, where all 30 successes came: 10 early."""
    (tmp_path / "log").mkdir()
    lines = (f"0 {1000 * n} 100 0 {1000 + n} 0\n" for n in range(1, 5))
    (tmp_path / "log" / "pgbench_log.77").write_text("".join(lines))
    (tmp_path / "marks").write_text("".join(f"0 {number} 6 1\n" for number in range(1, 31)))
    _, outcomes = seconds(tmp_path, start=1000, rows=4, seconds=4, transactions=4_000, every=40, ran="0,0,80")
    assert [outcome.refused for outcome in outcomes] == [(0, 0, 0), (0, 0, 10), (0, 0, 20), (0, 0, 20)]
    assert [outcome.done for outcome in outcomes] == [(0, 0, 30), (0, 0, 0), (0, 0, 0), (0, 0, 0)]


def test_what_clients_hold_back_at_the_end_is_as_much_as_they_hold_on_average(tmp_path: Path) -> None:
    """Four at once, so 0, 1, 2 or 3 alike, by two clients: 3, of which two thirds are of script 6."""
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "pgbench_log.77").write_text("0 900 100 0 1000 500000\n")
    marks = "".join(f"{number % 2} {number} {6 if number % 3 else 5} 1\n" for number in range(1, 31))
    (tmp_path / "marks").write_text(f"{marks}0 30 0 0\n1 29 0 0\n")
    variables = {"clients": 2, "start": 1000, "transactions": 2_000, "every": 40, "at_once": 4}
    _, [outcome] = seconds(tmp_path, **variables, ran="0,20,40")
    assert outcome.done == (0, 10 + 1, 20 + 2)
    assert outcome.refused == (0, 20 - 11, 40 - 22)


def test_of_clients_that_had_few_successes_most_were_held_back(tmp_path: Path) -> None:
    """Poisson's numbers of mean 2: 3 or fewer 0.8571 of all, 4 to 7 0.1418, 8 to 11 0.0011: 0.5759 each are told."""
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "pgbench_log.77").write_text("0 900 100 0 1000 500000\n")
    (tmp_path / "marks").write_text("".join(f"{n // 4} {n} 6 1\n" for n in range(576)))
    variables = {"clients": 1_000, "start": 1000, "transactions": 90_000, "every": 40, "at_once": 4}
    _, [outcome] = seconds(tmp_path, **variables, ran="0,0,6000")
    assert outcome.done == (0, 0, pytest.approx(2_000, abs=3))


def test_a_write_after_the_last_that_its_client_told_is_neither_done_nor_refused(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    lines = ("0 7 10 5", "0 8 20 5", "0 9 40 6", "0 10 80 0", "1 3 160 3")
    (tmp_path / "log" / "pgbench_log.77").write_text("".join(f"{line} 1000 1\n" for line in lines))
    marks = "0 8 5 1\n0 8 0 0\n1 0 0 0\n"
    (tmp_path / "marks").write_text(marks)
    reduction = reduce(tmp_path, clients=2, threads=1, warmup_until=1000)
    kinds = {"refused-5": 1, "untold-6": 1, "untold-3": 1}
    assert reduction == {"transactions": 2, "kinds": kinds, "scripts": {0: 80, 5: 20}}
    read = tatp_read.reduce([(tmp_path / "log" / "pgbench_log.77").read_bytes()], [marks.encode()])
    assert (read.transactions, read.kinds) == (2, kinds)


def test_a_share_of_the_log_is_held_against_what_was_told() -> None:
    """Of 400 at 1/2 the standard deviation is 10; with 1% and 1 that makes 200 -+ 55."""
    assert is_sample(255, 400, 0.5) and is_sample(145, 400, 0.5)
    assert not is_sample(256, 400, 0.5) and not is_sample(144, 400, 0.5)
    assert is_sample(0, 0, 0.5)


@pytest.mark.parametrize("program", AWKS, ids=" ".join)
def test_every_awk_here_reads_the_same(tmp_path: Path, program: list[str]) -> None:
    random_log(tmp_path, 1_000)
    variables = {"clients": 4, "start": 1000, "rows": 30, "seconds": 30.4, "transactions": 1_000, "every": 40}
    variables |= {"at_once": 4, "ran": "80,90,100"}
    first, *others = (
        (sorted(awk(tmp_path, awk_program, **variables).splitlines()), (tmp_path / "told").read_text())
        for awk_program in (("awk",), program)
    )
    assert others == [first]
