"""Deadlines: the wrapper on the target ends what has not ended in time, whoever looks on or not."""

import signal

import pytest

from runners.conftest import fake_spec
from runners.job import StartOutcome

pytestmark = pytest.mark.target

STUBBORN = "trap '' TERM; echo some; while :; do sleep 0.1; done"


def in_time(deadline_s):
    return {"spec": fake_spec(deadline_s=deadline_s)}


async def test_what_hangs_is_ended_at_its_deadline_and_the_host_is_free_for_the_next(bench):
    await bench.start("echo some; sleep 300", **in_time(2))
    await bench.connections.close()
    assert await bench.ended()
    collected = await bench.collect()
    assert collected.outputs.returncode == 128 + signal.SIGTERM
    assert collected.outputs.files["overdue"] == b"2\n"
    assert (collected.outputs.stdout, collected.outputs.files["step"].split()[-2]) == (b"some\n", b"measure")
    assert (await bench.look()).lock_held is False
    assert await bench.of(2).start("true", **in_time(60)) is StartOutcome.STARTED
    await bench.of(2).ended()
    assert "overdue" not in (await bench.of(2).collect()).outputs.files


async def test_what_ignores_term_is_killed_before_an_end_is_written_down(bench):
    await bench.start(f'sh -c "{STUBBORN}" & wait', **in_time(2))
    assert await bench.ended()
    look = await bench.look()
    assert (look.returncode, look.lock_held) == (128 + signal.SIGTERM, False)


async def test_a_job_without_a_deadline_and_one_that_ends_in_time_are_left_alone(bench):
    await bench.start("sleep 2", **in_time(0))
    await bench.ended()
    await bench.of(2).start("sleep 1", **in_time(30))
    await bench.of(2).ended()
    for attempt in (bench, bench.of(2)):
        collected = await attempt.collect()
        assert (collected.outputs.returncode, "overdue" in collected.outputs.files) == (0, False)
