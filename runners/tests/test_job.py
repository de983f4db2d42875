"""The detached job over a real OpenSSH daemon: start once, look, wait, collect, acknowledge."""

import asyncio
import hashlib
import json
import os
import stat
import time
from dataclasses import replace
from pathlib import Path

import pytest

from runners import job, script
from runners.conftest import HELD, PATIENCE_S, fake_spec
from runners.job import CHUNK_BYTES, Attempt, StartOutcome
from runners.ssh import Connections, RemoteFailure
from runners.tests.processes import is_written
from runners.verdict import judge

pytestmark = [pytest.mark.long, pytest.mark.target]


async def test_a_run_is_started_waited_for_and_collected(bench):
    assert await bench.start(f"{HELD}; echo result; echo progress >&2; exit 3") is StartOutcome.STARTED
    running = await bench.look()
    assert (running.started, running.lock_held, running.returncode) == (True, True, None)
    bench.release()
    assert await bench.ended()
    look, collected = await bench.look(), await bench.collect()
    assert (look.returncode, look.lock_held, look.step) == (3, False, "after")
    assert (look.out_size, look.err_size, look.chunk) == (7, 9, b"progress\n")
    assert collected.outputs.returncode == 3
    assert (collected.outputs.stdout, collected.outputs.stderr) == (b"result\n", b"progress\n")
    assert collected.remarks == {}
    assert bench.executions() == ["1"]


async def test_starting_twice_starts_once(bench):
    assert await bench.start("sleep 0.2") is StartOutcome.STARTED
    assert await bench.start("sleep 0.2") is StartOutcome.ALREADY_STARTED
    assert await bench.ended()
    assert await bench.start("sleep 0.2") is StartOutcome.ALREADY_STARTED
    assert bench.executions() == ["1"]


async def test_eight_starts_at_once_from_eight_connections_start_once(bench):
    workers = [replace(bench, connections=Connections()) for _ in range(8)]
    outcomes = await asyncio.gather(*(worker.start("sleep 0.2") for worker in workers))
    await asyncio.gather(*(worker.connections.close() for worker in workers))
    assert await bench.ended()
    assert outcomes.count(StartOutcome.STARTED) == 1
    assert outcomes.count(StartOutcome.ALREADY_STARTED) == 7
    assert bench.executions() == ["1"]


async def test_a_second_attempt_is_refused_while_the_host_is_busy_and_can_see_with_what(bench):
    second = bench.of(2)
    await bench.start(HELD)
    assert await second.start("true") is StartOutcome.BUSY
    look = await second.look()
    assert (look.started, look.holder) == (False, f"{bench.attempt.run} 1")
    bench.release()
    assert await bench.ended()
    assert await second.start("true") is StartOutcome.STARTED
    assert await second.ended()
    assert bench.executions() == ["1", "2"]


async def test_looking_and_waiting_never_stand_in_the_way_of_the_next_start(bench):
    for number in range(1, 8):
        attempt = bench.of(number)
        looks = [asyncio.create_task(bench.look()) for _ in range(3)]
        assert await attempt.start("true") is StartOutcome.STARTED
        await asyncio.gather(attempt.ended(), *looks)
    assert bench.executions() == list("1234567")


async def test_waiting_for_what_was_never_started_or_goes_on_says_so(bench):
    assert not await bench.ended()
    await bench.start("sleep 300")
    assert not await job.wait_for_end(bench.connections, bench.target, bench.attempt, timeout_s=1)
    await bench.cancel()


async def test_who_waits_is_told_that_the_wrapper_lives_and_how_far_its_files_are(bench):
    signs = []

    def note(sign):
        signs.append(sign)
        if len(signs) == 3:
            bench.release()

    await bench.start(f"echo four; {HELD}")
    await bench.until(lambda: is_written(bench.folder / "out.log"))
    before = time.monotonic()
    place = (bench.connections, bench.target, bench.attempt)
    assert await job.wait_for_end(*place, timeout_s=PATIENCE_S, on_sign=note, every_s=1)
    assert {(sign.err_size, sign.out_size) for sign in signs} == {(0, 5)}
    assert 3 <= len(signs) <= time.monotonic() - before + 1, "one a second"


async def test_nul_bytes_bad_utf8_and_files_come_back_verbatim(bench):
    await bench.start(r"printf 'a\000b\377\n'; printf '\376\n\nfile out.log 9\n' > raw.bin; : > empty.txt")
    await bench.ended()
    outputs = (await bench.collect()).outputs
    assert outputs.stdout == b"a\x00b\xff\n"
    assert outputs.files["raw.bin"] == b"\xfe\n\nfile out.log 9\n"
    assert outputs.files["empty.txt"] == b""
    assert {"spec.json", "command.sh"} <= outputs.files.keys()
    assert not outputs.files.keys() & {"pid", "rc", "hb", "out.log", "manifest.json"}


async def test_every_collected_file_agrees_with_the_manifest(bench):
    await bench.start("seq 1000; seq 5 > five.txt")
    await bench.ended()
    collected = await bench.collect()
    listed = {entry["name"]: entry for entry in collected.manifest["files"]}
    for name, content in {"out.log": collected.outputs.stdout, **collected.outputs.files}.items():
        assert listed[name]["bytes"] == len(content)
        assert listed[name]["sha256"] == hashlib.sha256(content).hexdigest()


async def test_an_output_over_the_cap_is_left_out_and_said_and_the_others_are_not(bench):
    await bench.start("echo summary; head -c 300000 /dev/zero > big.bin; echo small > small.txt")
    await bench.ended()
    collected = await bench.collect(cap_bytes=100_000)
    assert collected.outputs.stdout == b"summary\n"
    assert collected.outputs.files["small.txt"] == b"small\n"
    assert "big.bin" not in collected.outputs.files
    assert list(collected.remarks) == ["big.bin"]
    assert "300000 bytes" in collected.remarks["big.bin"] and "100000 bytes" in collected.remarks["big.bin"]


async def test_a_file_that_changed_after_the_end_is_left_out_and_one_that_only_grew_is_cut(bench):
    await bench.start("echo one > changed.txt; echo two > grown.txt")
    await bench.ended()
    (bench.folder / "changed.txt").write_text("eno\n")
    with (bench.folder / "grown.txt").open("a") as stream:
        stream.write("three\n")
    collected = await bench.collect()
    assert "changed.txt" not in collected.outputs.files
    assert "SHA-256" in collected.remarks["changed.txt"]
    assert collected.outputs.files["grown.txt"] == b"two\n"


async def test_a_missing_manifest_gives_the_exit_code_and_a_remark(bench):
    await bench.start("echo result")
    await bench.ended()
    (bench.folder / "manifest.json").unlink()
    collected = await bench.collect()
    assert (collected.outputs.returncode, collected.outputs.stdout) == (0, b"")
    assert "missing or damaged" in collected.remarks["manifest.json"]


async def test_nothing_is_collected_before_the_end(bench):
    await bench.start("sleep 300")
    with pytest.raises(RemoteFailure, match="no exit code"):
        await bench.collect()
    await bench.cancel()


async def test_a_live_log_is_read_on_from_an_offset(bench):
    await bench.start(f"echo first >&2; {HELD}; echo second >&2")
    await bench.until(lambda: is_written(bench.folder / "err.log"))
    first = await bench.look()
    assert (first.chunk, first.step) == (b"first\n", "measure")
    bench.release()
    await bench.ended()
    assert (await bench.look(offset=len(first.chunk))).chunk == b"second\n"
    assert (await bench.look(offset=13)).chunk == b""


async def test_of_a_log_that_grew_too_much_only_the_last_part_comes(bench):
    await bench.start("printf '%300000s' early; echo late >&2")
    await bench.ended()
    look = await bench.look()
    assert (look.out_size, look.out_from, len(look.out_chunk)) == (300_000, 300_000 - CHUNK_BYTES, CHUNK_BYTES)
    assert (look.err_from, look.chunk) == (0, b"late\n")
    again = await bench.look(offset=5, out_offset=299_997)
    assert (again.out_from, again.out_chunk, again.chunk) == (299_997, b"rly", b"")


async def test_a_log_that_got_shorter_is_read_from_its_start(bench):
    await bench.start("echo one >&2")
    await bench.ended()
    again = await bench.look(offset=100)
    assert (again.err_from, again.chunk) == (0, b"one\n")


async def test_the_folder_is_private_and_the_spec_canonical(bench):
    spec = fake_spec(clients=4, parameters={"b": 1, "a": "ü"})
    await bench.start("true", spec=spec)
    await bench.ended()
    written = (bench.folder / "spec.json").read_text()
    assert stat.S_IMODE(bench.folder.stat().st_mode) == 0o700
    assert json.loads(written)["version"] == 1
    assert written == script.spec_json(spec)
    assert '"parameters":{"a":"ü","b":1}' in written


async def test_the_password_is_on_no_command_line_and_gone_at_the_end(bench):
    password = "pa:ss\\word'$(id)"
    await bench.start(f"cp .pgpass ../../../seen; {HELD}", password=password)
    await bench.until(lambda: is_written(bench.work / "seen"))
    assert stat.S_IMODE((bench.folder / ".pgpass").stat().st_mode) == 0o600
    for process in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            assert password.encode() not in _readable(process / name)
    bench.release()
    await bench.ended()
    assert (bench.work / "seen").read_text() == "127.0.0.1:1:nowhere:nobody:pa\\:ss\\\\word'$(id)\n"
    assert not (bench.folder / ".pgpass").exists()
    for file in bench.folder.iterdir():
        assert password not in file.read_text()


def _readable(path: Path) -> bytes:
    try:
        return b"" if path.parent.name == str(os.getpid()) else path.read_bytes()
    except OSError:
        return b""


async def test_a_password_of_two_lines_is_refused_before_anything_is_sent(bench):
    with pytest.raises(ValueError, match="one line"):
        await bench.start("true", password="a\n*:*:*:*:b")
    assert not bench.work.exists()


async def test_acknowledging_keeps_small_evidence_and_one_ledger_line_and_drops_what_is_big(bench):
    await bench.start("echo result; head -c 2000000 /dev/zero > big.bin")
    await bench.ended()
    await bench.acknowledge()
    await bench.acknowledge()
    assert not (bench.folder / "big.bin").exists()
    assert (bench.folder / "out.log").read_text() == "result\n"
    (line,) = (bench.work / "ledger").read_text().splitlines()
    assert line.startswith(f"{bench.attempt.run} 1 0 ")
    assert (await bench.look()).acknowledged


async def test_what_was_acknowledged_long_ago_is_deleted_and_still_never_run_again(bench):
    await bench.start("true")
    await bench.ended()
    await bench.acknowledge()
    old = time.time() - 15 * 86400
    os.utime(bench.folder / "ack", (old, old))
    second = bench.of(2)
    await second.start("true")
    await second.ended()
    await second.acknowledge()
    assert not bench.folder.exists() and second.folder.exists()

    assert await bench.start("true") is StartOutcome.ALREADY_STARTED
    assert bench.executions() == ["1", "2"]
    verdict = judge(await bench.look(), suspected=False, boot_id_at_start=None)
    assert verdict.state == "lost" and "cleaned up" in verdict.reason


async def test_a_running_attempt_is_not_cleaned_up(bench):
    await bench.start("sleep 300")
    with pytest.raises(RemoteFailure, match="still runs"):
        await bench.acknowledge()
    assert not (bench.folder / "ack").exists()
    await bench.cancel()


async def test_a_wrapper_of_an_older_release_stays_where_it_is(bench):
    await bench.start("true")
    await bench.ended()
    older = bench.work / "bin" / "job-0000000000000000.sh"
    older.write_text("# older\n")
    second = bench.of(2)
    await second.start("true")
    await second.ended()
    assert older.read_text() == "# older\n"
    assert len(list((bench.work / "bin").iterdir())) == 2


async def test_a_home_relative_work_directory_is_found(bench):
    name = f"bhtest-{bench.work.name}"
    attempt = Attempt(bench.attempt.run, 1, f"$HOME/{name}")
    home_bench = replace(bench, attempt=attempt)
    try:
        assert await home_bench.start("pwd") is StartOutcome.STARTED
        assert await home_bench.ended()
        assert f"/{name}/runs/".encode() in (await home_bench.collect()).outputs.stdout
    finally:
        await bench.connections.run(bench.target, f'rm -rf "$HOME/{name}"', timeout_s=PATIENCE_S)


@pytest.mark.parametrize("run", ["../x", "", "a b", "a'b"])
def test_an_odd_run_id_is_refused(run):
    with pytest.raises(ValueError, match="not the id of a run"):
        Attempt(run, 1)
