"""Attacks by what a server logs: its log stays short, and its begin and end alone are read. Only a shell is needed."""

from __future__ import annotations

import subprocess

import pytest

from runners.clusters.script import functions

LONGEST, END = 64 * 2**20, 65_536
MARK = "benchhub 1"
CUT = b"\n[The log was longer than 64 KiB: what stood here is not kept.]\n"


@pytest.fixture
def cluster(tmp_path):
    folder = tmp_path / "cluster"
    folder.mkdir(mode=0o700)
    (folder / "mark").write_text(f"{MARK}\n")
    return folder


def do(cluster, words):
    text = f"cluster='{cluster}' cluster_mark='{MARK}'\n{functions()}\n{words}\n"
    return subprocess.run(["sh", "-c", text], cwd=cluster.parent, capture_output=True, check=False)


def fill(cluster, size_bytes, end=b""):
    """Write a log of one endless line that takes no room on the disk."""
    with (cluster / "server.log").open("wb") as log:
        log.truncate(size_bytes)
        log.seek(0, 2)
        log.write(end)


def test_a_log_beyond_its_limit_is_shortened_to_its_end_and_goes_on_where_it_is_written(cluster):
    fill(cluster, LONGEST + 1, b"last words\n")
    with (cluster / "server.log").open("ab") as server:  # as pg_ctl has it opened
        assert do(cluster, "cluster_shorten_log").returncode == 0
        server.write(b"what came later\n")
    assert (cluster / "server.log").read_bytes() == b"what came later\n"
    assert (cluster / "server.log.old").stat().st_size == END
    log = do(cluster, "cluster_log").stdout
    assert log.endswith(b"last words\nwhat came later\n") and len(log) == END


def test_of_a_long_log_the_begin_and_the_end_are_kept_with_a_line_that_says_so(cluster):
    (cluster / "server.log").write_bytes(b"first words\n" + b"x" * END + b"last words\n")
    log = do(cluster, "cluster_log").stdout
    assert len(log) == END and log.startswith(b"first words\nxxx") and log.endswith(b"xxxlast words\n")
    assert log.count(CUT) == 1
    fill(cluster, LONGEST + 1, b"later words\n")
    (cluster / "server.log.old").write_bytes(log)
    do(cluster, "cluster_shorten_log")
    again = do(cluster, "cluster_log").stdout
    assert again.startswith(b"first words\nxxx") and again.endswith(b"later words\n") and again.count(CUT) == 1


def test_a_log_that_is_not_long_is_kept_whole(cluster):
    (cluster / "server.log.old").write_bytes(b"a" * 9)
    (cluster / "server.log").write_bytes(b"b" * (END - 9))
    assert do(cluster, "cluster_log").stdout == b"a" * 9 + b"b" * (END - 9)


def test_a_log_within_its_limit_is_left_alone(cluster):
    fill(cluster, LONGEST)
    do(cluster, "cluster_shorten_log")
    assert (cluster / "server.log").stat().st_size == LONGEST
    assert not (cluster / "server.log.old").exists()


def test_a_log_in_a_folder_without_the_mark_is_left_alone(cluster):
    (cluster / "mark").write_text("somebody else's\n")
    fill(cluster, LONGEST + 1)
    do(cluster, "cluster_shorten_log")
    assert (cluster / "server.log").stat().st_size == LONGEST + 1


def test_the_end_of_an_attempt_takes_a_bounded_part_of_an_endless_log_along(cluster):
    fill(cluster, 2**33, b"LOG:  shutting down\n")
    do(cluster, "cluster_stop_of() { :; }\ncluster_locked() { :; }\ncluster_end")
    log = cluster.parent / "server.log"
    assert log.stat().st_size == END
    assert log.read_bytes().endswith(b"LOG:  shutting down\n")


def test_where_there_is_no_log_nothing_is_read_and_nothing_said(cluster):
    answer = do(cluster, "cluster_shorten_log; cluster_log")
    assert (answer.stdout, answer.stderr) == (b"", b"")


def test_the_guard_shortens_the_log_while_the_attempt_lasts_and_stops_the_server_after_it(cluster):
    """The attempt's lock is free at the third look; a word of `flock` stands for the real one."""
    fill(cluster, LONGEST + 1)
    guard = """
flock() { looks=$((${looks-0} + 1)); [ "$looks" -ge 3 ]; }
cluster_locked() { echo "$@"; }
"""
    text = functions().replace('if [ "${1-}" = guard ]', f"{guard}\nif [ guard = guard ]")
    words = f"cluster='{cluster}' cluster_mark='{MARK}'\n{text}"
    answer = subprocess.run(["sh", "-c", words], cwd=cluster.parent, capture_output=True, check=False)
    assert answer.stdout.split()[0] == b"cluster_stop_of"
    assert (cluster / "server.log").stat().st_size == 0
