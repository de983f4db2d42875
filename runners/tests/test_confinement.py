"""Readings in a process of their own: what they return, and what ends them."""

import ast
import asyncio
import os
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import util
from pathlib import Path

import pytest

import runners
from runners import confinement
from runners.confinement import Unread, read
from runners.conftest import HELD
from runners.job import CHUNK_BYTES, LOOK_BYTES
from runners.verdict import parse_look


def test_a_reading_returns_and_raises_as_it_would_here():
    assert read(divmod, 7, 2) == (3, 1)
    with pytest.raises(ValueError, match="invalid literal"):
        read(int, "x")


def test_a_reading_that_never_ends_is_ended_by_the_kernel(monkeypatch):
    monkeypatch.setattr(confinement, "MOST_CPU_S", 1)
    with pytest.raises(Unread, match="more than 1 s of CPU time"):
        read(sum, range(10**15))


def test_a_reading_that_wants_too_much_memory_is_refused_it():
    with pytest.raises(Unread, match="more than 2 GiB of memory"):
        read(bytes, confinement.MOST_MEMORY_BYTES)


def test_a_reading_that_dies_takes_nothing_along():
    with pytest.raises(Unread, match="ended without an answer"):
        read(os._exit, 1)
    assert read(len, b"abc") == 3


@pytest.mark.parametrize("remove", [shutil.rmtree, lambda folder: [path.unlink() for path in folder.iterdir()]])
def test_who_tidies_up_temporary_files_ends_no_reading(remove):
    assert read(len, b"abc") == 3
    remove(Path(util.get_temp_dir()))
    assert [read(len, b"abc"), read(len, b"abcd")] == [3, 4]


def test_who_tidies_up_makes_all_readings_wait_for_one_new_server_and_none_for_another_reading(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(9) as pool:
        reading = pool.submit(read, Path.read_bytes, pipe)
        with pipe.open("wb") as writer:  # opens once the reading has begun
            shutil.rmtree(util.get_temp_dir())
            servers = set(pool.map(lambda _: read(os.getppid), range(8)))
            writer.write(b"abc")
        assert reading.result() == b"abc"
    assert len(servers) == 1


def test_a_server_that_was_killed_is_followed_by_another():
    server = read(os.getppid)
    os.kill(server, signal.SIGKILL)
    assert read(os.getppid) != server


async def test_the_loop_turns_while_a_reading_goes_on(tmp_path):
    reading = asyncio.create_task(confinement.apart(subprocess.call, ["sh", "-c", f"cd {tmp_path}; {HELD}"]))
    for _ in range(3):
        await asyncio.sleep(0.01)
    assert not reading.done()
    (tmp_path / "released").touch()
    assert await reading == 0


# Readings that a loop may do itself: they split a few fixed lines, and take milliseconds for the most that is taken.
OF_A_FEW_WORDS = {"parse_look"}


def readings_on_the_loop():
    """Yield module and name of each reading that a coroutine calls itself."""
    for path in sorted(Path(runners.__path__[0]).rglob("*.py")):
        for coroutine in ast.walk(ast.parse(path.read_text())):
            if isinstance(coroutine, ast.AsyncFunctionDef) and "tests" not in path.parts:
                for call in ast.walk(coroutine):
                    name = ast.unparse(call.func).rpartition(".")[2] if isinstance(call, ast.Call) else ""
                    if name.lstrip("_").startswith(("read_", "parse", "loads")) and name not in OF_A_FEW_WORDS:
                        yield path.name, name


def test_no_coroutine_reads_itself_what_a_target_answered():
    assert [(module, name) for module, name in readings_on_the_loop() if name != "read_text"] == []


def test_a_look_with_facts_without_end_is_refused_before_the_loop_splits_them():
    facts = b"boot_id=b\nuptime=1\nstarted=0\nerr_size=0\nerr_from=0\nout_size=0\nout_from=0\ncancelled=0\nholder="
    logs = b"\n\n" + b"a=1\n" * (CHUNK_BYTES // 4)
    assert not parse_look(facts + logs).started
    with pytest.raises(ValueError, match="its facts take more than 16,384 bytes"):
        parse_look(b"a=1\n" * (LOOK_BYTES // 4 - 100) + facts)
