"""The host of a server, where it is not the driver, spoils neither a load that has begun nor a cancel."""

from __future__ import annotations

import pytest
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.utils import timezone

from benchhub.bench.models import Hold, Run
from benchhub.bench.queue import queue
from benchhub.bench.queue.promises import AWAY_SERVER
from benchhub.catalog.models import Host
from runners.keys import make_key_pair

from . import rows
from .rig import kill, until

pytestmark = pytest.mark.target
FOREVER_S = 300
GRACE_S = 10  # of a busy machine
DEAD_LINE_S = 60  # until a line that went silent is noticed, and tried again


@pytest.fixture
def other(rig):
    return rig.site("beta")


@pytest.fixture
def apart(system, site, other, server):
    return rows.enrol_apart(site, other, server)


def refuse(rig, other) -> None:
    rig.stop_daemon(other)
    rig.start_daemon(other, "ForceCommand exit 1\n")


def change_key(rig, other) -> None:
    key = " ".join(make_key_pair("other").public_key.split()[:2])
    Host.objects.filter(name=other.name).update(host_key=key)
    other.proxy.drop()


def spoil_secret(rig, other) -> None:
    Host.objects.filter(name=other.name).update(private_key=Concat(Value("x"), F("private_key")))


FAULTS = pytest.mark.parametrize("fault", [refuse, change_key, spoil_secret])


@FAULTS
def test_a_load_that_has_begun_is_adopted_and_collected(rig, site, other, apart, fault):
    first = rig.both()
    own = {"client_bin_directory": str(site.bin_directory)}
    run = rows.start_whose_answer_is_held_back(rig, site, apart, **own)
    kill(first)
    fault(rig, other)
    site.proxy.drop()
    site.proxy.mend()
    rig.worker()
    [ended] = rows.until_final([run])
    assert (ended.state, site.executions(run)) == ("succeeded", 1), ended.reason
    assert ended.attempts.count() == 1
    assert any("host gave no counters" in remark for remark in ended.result.remarks)
    assert not Hold.objects.exists()


def test_a_load_that_another_worker_adopts_has_no_counters_from_before_it(rig, site, apart):
    """Those that the second worker could have read would have counted the load."""
    first = rig.both()
    run = rows.start_whose_answer_is_held_back(rig, site, apart, client_bin_directory=str(site.bin_directory))
    kill(first)
    site.proxy.drop()
    site.proxy.mend()
    rig.worker()
    [ended] = rows.until_final([run])
    assert (ended.state, ended.attempts.count(), site.executions(run)) == ("succeeded", 1, 1), ended.reason
    assert ended.attempts.get().host_before is None
    assert any("host gave no counters" in remark for remark in ended.result.remarks)
    assert not Hold.objects.exists()


@FAULTS
def test_a_run_under_way_is_cancelled(rig, site, other, apart, fault):
    rig.both()
    [run] = rows.queue(apart, duration_s=FOREVER_S, client_bin_directory=str(site.bin_directory))
    rows.until_state(run, "running")
    until(lambda: site.executions(run) == 1)
    fault(rig, other)
    assert queue.ask_to_cancel(Run.objects.filter(pk=run.pk)) == 1
    rows.until_state(run, "cancelled", patience_s=2 * rig.lease_s + GRACE_S)
    assert not hasattr(Run.objects.get(pk=run.pk), "result")
    assert not Hold.objects.exists()


def test_a_run_that_has_not_begun_goes_back_to_the_queue_until_the_key_is_approved(rig, site, other, apart):
    pinned = Host.objects.get(name=other.name).host_key
    change_key(rig, other)
    rig.both()
    [run] = rows.queue(apart, client_bin_directory=str(site.bin_directory))
    until(lambda: Host.objects.filter(name=other.name, trust=Host.Trust.QUARANTINED).exists())
    rows.until_state(run, "queued")
    assert not site.count()
    Host.objects.filter(name=other.name).update(host_key=pinned, trust=Host.Trust.PINNED)
    [ended] = rows.until_final([run])
    assert (ended.state, site.executions(run)) == ("succeeded", 1), ended.reason


def stop_answering(rig, other) -> None:
    del rig
    other.proxy.stop()


def fall_silent(rig, other) -> None:
    del rig
    other.proxy.part()


def take_the_key_away(rig, other) -> None:
    del rig
    keys = other.machine.authorized_keys
    keys.with_name("taken-away").write_text(keys.read_text())
    keys.write_text("")


def mend(rig, other, fault) -> None:
    if fault is stop_answering:
        other.proxy.start()
    elif fault is fall_silent:
        other.proxy.mend()
    elif fault is take_the_key_away:
        keys = other.machine.authorized_keys
        keys.write_text(keys.with_name("taken-away").read_text())
    else:
        rig.stop_daemon(other)
        rig.start_daemon(other)


@pytest.mark.parametrize("fault", [stop_answering, fall_silent, take_the_key_away, refuse])
def test_a_servers_host_that_is_away_before_a_load_holds_neither_its_driver_nor_its_queue(
    rig, site, other, system, apart, fault
):
    """Runs of the driver's own server, which wait behind it, end meanwhile; it starts once that host is back."""
    fault(rig, other)
    own = {"client_bin_directory": str(site.bin_directory)}
    [first] = rows.queue(apart, priority=9, **own)
    behind = rows.queue(system, 3)
    rig.both()
    rows.until_final(behind)
    until(lambda: first.attempts.filter(outcome="cancelled").count() >= 2)
    assert [rows.state(run) for run in behind] == ["succeeded"] * 3
    assert rows.state(first) != "running" and not site.executions(first)
    assert AWAY_SERVER in first.attempts.get(number=1).reason
    assert not Host.objects.filter(name=site.name).exclude(paused_at=None).exists()
    mend(rig, other, fault)
    [ended] = rows.until_final([first], patience_s=DEAD_LINE_S + 2 * rig.lease_s + GRACE_S)
    assert (ended.state, ended.reason) == ("succeeded", "")
    assert [site.executions(run) for run in (first, *behind)] == [1] * 4
    assert sum(site.count().values()) == 4 and not other.count()
    assert ended.attempts.exclude(outcome="cancelled").count() == 1
    assert not Hold.objects.exists()


def test_a_worker_killed_while_it_takes_a_start_back_starts_nothing_twice(rig, site, other, system, apart):
    other.proxy.stop()
    [first] = rows.queue(apart, priority=9, client_bin_directory=str(site.bin_directory))
    behind = rows.queue(system, 2)
    worker = rig.both()
    for number in (1, 2, 3):
        until(lambda number=number: first.attempts.filter(number=number).exists())
        kill(worker)
        worker = rig.worker()
    other.proxy.start()
    ended = rows.until_final([first, *behind])
    assert [run.state for run in ended] == ["succeeded"] * 3, [run.reason for run in ended]
    assert [site.executions(run) for run in ended] == [1] * 3
    assert not Hold.objects.exists()


def test_attempts_that_have_ended_are_not_asked_again_at_each_try_of_a_run_whose_server_is_away(
    rig, site, other, apart
):
    """The driver's own count of what it was asked: one attempt was taken back, the others were collected."""
    questions, shell = site.bin_directory / "questions", site.bin_directory / "shell"
    text = f'#!/bin/sh\nprintf "%s\\n" "$SSH_ORIGINAL_COMMAND" >> {questions}\nexec sh -c "$SSH_ORIGINAL_COMMAND"\n'
    rig.account.write(shell, text).chmod(0o700)
    rig.stop_daemon(site)
    rig.start_daemon(site, f"ForceCommand {shell}\n")
    [run] = rows.queue(apart, client_bin_directory=str(site.bin_directory))
    ends = [("failed", 1)] * 4 + [("cancelled", None)]
    for number, (outcome, code) in enumerate(ends, 1):
        run.attempts.create(number=number, outcome=outcome, returncode=code, ended_at=timezone.now())
    other.proxy.stop()
    rig.both()
    until(lambda: questions.exists() and questions.read_text().count("look.new") >= 4)  # so many starts were taken back
    other.proxy.start()
    [ended] = rows.until_final([run])
    assert (ended.state, site.executions(run)) == ("succeeded", 1), ended.reason
    taken_back = run.attempts.filter(outcome="cancelled").count()
    assert questions.read_text().count("put_up_tombstone()") == taken_back == run.attempts.count() - len(ends)
