"""Folders that were moved, under a load or after it: what it left is found where it is, and nothing begins again."""

import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from runners.conftest import HELD, Bench
from runners.job import StartOutcome
from runners.tests.processes import all_in_folder, in_folder, is_alive, is_written, until_wrapper_ended
from runners.verdict import judge

pytestmark = [pytest.mark.long, pytest.mark.target]
# What is moved, and where its folder is in that; its own may get any name.
PLACES = {"work directory": ".", "folders of all attempts": "runs", "its own folder": "runs/{run}/1"}


@pytest.fixture
def elsewhere(bench):
    folder = bench.work.with_name(f"{bench.work.name}-moved")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=PLACES)
def place(request) -> str:
    return PLACES[request.param]


def move(bench: Bench, elsewhere: Path, place: str) -> Path:
    """Return where the attempt's folder is now."""
    path = bench.work / place.format(run=bench.attempt.run)
    path.rename(elsewhere)
    return elsewhere / bench.folder.relative_to(path)


async def begun(bench: Bench) -> None:
    await bench.start(f"{HELD}; echo result")
    await bench.until(lambda: is_written(bench.folder / "hb"))


async def let_end(folder: Path) -> None:
    (folder / "released").touch()
    await until_wrapper_ended(folder)


def witness(folder: Path) -> int:
    return int((folder / "witness").read_text())


@pytest.mark.parametrize("is_over", [False, True], ids=["under the load", "after it"])
async def test_what_a_load_left_is_collected_from_where_its_folder_was_moved_to(bench, elsewhere, place, is_over):
    await begun(bench)
    if is_over:
        await let_end(bench.folder)
    folder = move(bench, elsewhere, place)
    if not is_over:
        look = await bench.look()
        assert (look.started, look.lock_held, look.is_hidden) == (True, True, True)
        assert judge(look, suspected=False, boot_id_at_start=None).state == "running"
        await let_end(folder)
    look = await bench.look()
    assert (look.returncode, look.lock_held, look.is_hidden) == (0, False, True)
    assert (await bench.collect()).outputs.stdout == b"result\n"
    await bench.acknowledge()
    await bench.until(lambda: not is_alive(witness(folder)))
    assert (bench.work.exists(), bench.folder.exists()) == (place != ".", False)
    [ledger] = [path for path in (bench.work / "ledger", elsewhere / "ledger") if path.exists()]
    assert ledger.read_text().startswith(f"{bench.attempt.run} 1 0 ")
    assert (folder / "out.log").read_text() == "result\n"


async def test_nothing_that_was_moved_is_deleted_when_it_is_acknowledged(bench, elsewhere):
    await bench.start("head -c 2000000 /dev/zero > big.bin")
    await bench.ended()
    folder = move(bench, elsewhere, ".")
    await bench.acknowledge()
    assert (folder / "big.bin").exists() and (folder / "ack").exists()


async def test_what_has_ended_and_was_moved_begins_no_second_time_where_the_answer_to_its_start_was_lost(
    bench, elsewhere, place
):
    await begun(bench)
    await let_end(bench.folder)
    folder = move(bench, elsewhere, place)
    assert await bench.start("true") is StartOutcome.ALREADY_STARTED
    assert not bench.folder.exists()
    assert (await bench.collect()).outputs.stdout == b"result\n"
    assert is_alive(witness(folder))


async def test_a_cancel_ends_a_load_where_its_folder_is_and_what_it_left_is_collected_there(bench, elsewhere, place):
    await bench.start('setsid sh -c \'cd /; echo $$ > "$0"/escaped; exec sleep 300\' "$PWD" & echo some; sleep 300')
    await bench.until(lambda: is_written(bench.folder / "escaped"))
    processes = [*await all_in_folder(bench, 5), int((bench.folder / "escaped").read_text())]
    folder = move(bench, elsewhere, place)
    await bench.cancel()
    await until_wrapper_ended(folder)
    assert not any(map(is_alive, processes))
    look = await bench.look()
    assert (look.returncode, look.lock_held, look.cancelled) == (143, False, True)
    assert (await bench.collect()).outputs.stdout == b"some\n"
    assert await bench.start("true") is not StartOutcome.STARTED


async def test_who_stays_by_what_a_load_left_has_none_of_its_locks_and_goes_once_that_is_acknowledged(bench):
    await begun(bench)
    await let_end(bench.folder)
    assert in_folder(bench) and not (await bench.look()).lock_held
    assert await bench.of(2).start("true") is StartOutcome.STARTED
    await bench.of(2).ended()
    await bench.acknowledge()
    await bench.until(lambda: not in_folder(bench))


async def test_what_a_load_left_and_was_deleted_is_gone_and_nobody_stays(bench):
    await begun(bench)
    await let_end(bench.folder)
    processes = in_folder(bench)
    pause = next(pid for pid in processes if pid != witness(bench.folder))
    shutil.rmtree(bench.folder)
    assert judge(await bench.look(), suspected=False, boot_id_at_start=None).state == "absent"
    os.kill(pause, signal.SIGKILL)
    await bench.until(lambda: not in_folder(bench))
    assert len(processes) == 2


async def test_an_attempt_of_the_same_name_in_another_work_directory_is_not_taken_for_a_moved_one(bench):
    await begun(bench)
    work = bench.work.with_name(f"{bench.work.name}-other")
    other = replace(bench, attempt=replace(bench.attempt, work_directory=str(work)), work=work)
    try:
        assert not (await other.look()).started
        assert await other.start("echo other") is StartOutcome.STARTED
        assert await other.ended()
        assert (await other.collect()).outputs.stdout == b"other\n"
    finally:
        await let_end(bench.folder)
        shutil.rmtree(work, ignore_errors=True)
    assert (await bench.collect()).outputs.stdout.endswith(b"result\n")
