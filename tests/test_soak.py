"""How the soak judges recovery: by the installation's own ticks, anew after each fault of the host."""

from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.soak.recovery import Activity, Recovery, Wait
from benchmarks.soak.troubles import Trouble, Troubles

LEASE_S = 6.0
HOST = "host1"


@pytest.fixture
def recovery():
    return Recovery(Troubles(), LEASE_S)


def healed(recovery, name="refuse_line", *, timeouts_s=0.0, ago_s=1.0):
    trouble = Trouble(name, frozenset({HOST}), blocks=True, timeouts_s=timeouts_s)
    trouble.begun_at = timezone.now() - timedelta(seconds=ago_s + 1)
    recovery.troubles.begin(trouble)
    trouble.healed_at = timezone.now() - timedelta(seconds=ago_s)
    return Wait(trouble, HOST)


def at_work(moved_ago_s, *, paused=()):
    return Activity({HOST: timezone.now() - timedelta(seconds=moved_ago_s)}, {HOST: "running"}, set(paused))


def test_a_host_that_moved_after_the_healing_has_recovered(recovery):
    wait = healed(recovery)
    assert recovery._still_waits(wait, at_work(10)) is True
    recovery.ticked_s = LEASE_S
    assert recovery._still_waits(wait, at_work(0)) is False
    assert (recovery.longest["refuse_line"], recovery.late) == ([LEASE_S], [])


def test_a_host_that_stands_still_for_more_than_two_leases_of_ticks_is_late(recovery):
    wait = healed(recovery)
    assert recovery._still_waits(wait, at_work(10))
    recovery.ticked_s = 2 * LEASE_S
    assert recovery._still_waits(wait, at_work(10)) and not recovery.late
    recovery.ticked_s = 2 * LEASE_S + 1
    assert not recovery._still_waits(wait, at_work(10))
    assert "host1 was not at work 13 s after refuse_line had healed" in recovery.late[0]


def test_time_outs_of_a_fault_that_healed_just_before_come_on_top_and_old_ones_do_not(recovery):
    healed(recovery, "part_line", timeouts_s=37, ago_s=500)
    wait = healed(recovery)
    assert recovery._still_waits(wait, at_work(600))
    assert recovery._bound_s(wait) == 2 * LEASE_S
    healed(recovery, "part_line", timeouts_s=37, ago_s=10)
    assert recovery._bound_s(wait) == 2 * LEASE_S + 37


@pytest.mark.parametrize("is_paused", [True, False])
def test_while_a_host_waits_for_a_person_or_another_fault_blocks_it_nothing_counts(recovery, is_paused):
    wait = healed(recovery)
    assert recovery._still_waits(wait, at_work(10))
    if not is_paused:
        recovery.troubles.begin(Trouble("stop_broker", frozenset({HOST}), blocks=True, timeouts_s=0))
    recovery.ticked_s = 100 * LEASE_S
    assert recovery._still_waits(wait, at_work(10, paused=[HOST] if is_paused else []))
    assert not recovery.late


def test_a_host_without_anything_left_to_do_is_not_waited_for(recovery):
    assert not recovery._still_waits(healed(recovery), Activity({}, {}, set()))
    assert (recovery.idle, recovery.late, dict(recovery.longest)) == (1, [], {})


def test_time_between_two_moments_is_that_of_the_ticks_between_them(recovery):
    start = timezone.now()
    recovery.ticks = [(start + timedelta(seconds=second), ticked_s) for second, ticked_s in ((1, 0.5), (9, 1.0))]
    assert recovery.ticked_between_s(start, start + timedelta(seconds=100)) == 1.0
    assert recovery.ticked_between_s(start + timedelta(seconds=2), start + timedelta(seconds=8)) == 0.0
    assert recovery.ticked_between_s(start + timedelta(seconds=2), start + timedelta(seconds=9)) == 0.5
