"""The wrapper on the target ends what has not ended in time, or prints without end, whoever looks on or not."""

import signal
import subprocess

import pytest

from runners import job
from runners.conftest import HELD, fake_spec
from runners.job import StartOutcome
from runners.tests.processes import end_pause, is_written, wake_heart

pytestmark = pytest.mark.target

STUBBORN = "trap '' TERM; echo some; while :; do sleep 0.1; done"


# Long enough for a busy machine to come as far as the load; nothing of that counts where only the end is looked at.
SOON_S, AT_ONCE_S = 25, 6


def in_time(deadline_s):
    return {"spec": fake_spec(deadline_s=deadline_s)}


async def test_what_hangs_is_ended_at_its_deadline_and_the_host_is_free_for_the_next(bench):
    await bench.start("echo some; sleep 300", **in_time(SOON_S))
    await bench.connections.close()
    assert await bench.ended()
    collected = await bench.collect()
    assert collected.outputs.returncode == 128 + signal.SIGTERM
    assert int(collected.outputs.files["overdue"]) == SOON_S
    assert (collected.outputs.stdout, collected.outputs.files["step"].split()[-2]) == (b"some\n", b"measure")
    assert (await bench.look()).lock_held is False
    assert await bench.of(2).start("true", **in_time(600)) is StartOutcome.STARTED
    await bench.of(2).ended()
    assert "overdue" not in (await bench.of(2).collect()).outputs.files


async def test_what_ignores_term_is_killed_before_an_end_is_written_down(bench):
    await bench.start(f'sh -c "{STUBBORN}" & wait', **in_time(AT_ONCE_S))
    assert await bench.ended()
    look = await bench.look()
    assert (look.returncode, look.lock_held) == (128 + signal.SIGTERM, False)


async def test_a_job_without_a_deadline_and_one_that_ends_in_time_are_left_alone(bench):
    await bench.start("sleep 2", **in_time(0))
    await bench.ended()
    await bench.of(2).start("sleep 1", **in_time(600))
    await bench.of(2).ended()
    for attempt in (bench, bench.of(2)):
        collected = await attempt.collect()
        assert (collected.outputs.returncode, "overdue" in collected.outputs.files) == (0, False)


@pytest.mark.parametrize("file", ["out.log", "err.log", "warmup.err"])
async def test_messages_without_end_end_what_writes_them_down_before_the_disk_is_full(bench, monkeypatch, file):
    monkeypatch.setitem(job.LIMITS, "most_bytes", 1 << 20)
    await bench.start(f"head -c 2M /dev/zero >> {file}; sleep 300", **in_time(0))
    await until_it_overflows(bench)
    assert await bench.ended()
    outputs = (await bench.collect(4 << 20)).outputs
    assert (outputs.returncode, int(outputs.files["overflow"]) > 1 << 20) == (128 + signal.SIGTERM, True)
    assert "overdue" not in outputs.files
    assert (await bench.look()).lock_held is False


async def until_it_overflows(bench):
    def is_so():
        end_pause(bench)
        return (bench.folder / "overflow").exists()

    await bench.until(is_so)


async def test_only_messages_count_and_only_what_they_take_of_the_disk(bench, monkeypatch):
    monkeypatch.setitem(job.LIMITS, "most_bytes", 1 << 20)
    sparse = "truncate -s 50M big.log warmup.err"
    others = "for name in log/pgbench_log.1 pgbench_log.2 server.log pilot.out; do head -c 2M /dev/zero > $name; done"
    await bench.start(f"{sparse}; mkdir log; {others}; echo all > written; {HELD}", **in_time(0))
    await bench.until(lambda: is_written(bench.folder / "written") and is_written(bench.folder / "hb"))
    beats = len((bench.folder / "hb").read_text().split())
    wake_heart(bench)
    await bench.until(lambda: len((bench.folder / "hb").read_text().split()) > beats + 1 or wake_heart(bench))
    bench.release()
    assert await bench.ended()
    outputs = (await bench.collect()).outputs
    assert (outputs.returncode, "overdue" in outputs.files, "overflow" in outputs.files) == (0, False, False)


async def test_messages_are_bounded_by_half_of_what_is_free_and_the_end_is_told_on_a_full_disk(bench, login):
    if not login.is_scratch:
        pytest.skip("only root can mount a small file system")
    bench.work.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m,mode=0777", "tmpfs", str(bench.work)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this machine mounts nothing")
    try:
        await bench.start("head -c 8M /dev/zero >&2; sleep 300", **in_time(0))
        await until_it_overflows(bench)
        assert await bench.ended()
        outputs = (await bench.collect()).outputs
        assert (outputs.returncode, int(outputs.files["overflow"]) > 1 << 20) == (128 + signal.SIGTERM, True)
    finally:
        subprocess.run(["umount", "-l", str(bench.work)], check=True)
