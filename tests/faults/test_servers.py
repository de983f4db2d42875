"""The host of a server, where it is not the driver, spoils neither a load that has begun nor a cancel."""

from __future__ import annotations

import pytest
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.utils import timezone

from benchhub.bench.models import Hold, Run
from benchhub.bench.queue import queue
from benchhub.catalog.models import Host
from runners.keys import make_key_pair

from . import rows
from .rig import kill, until

pytestmark = pytest.mark.target
FOREVER_S = 300
GRACE_S = 10  # of a busy machine


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
    until(lambda: questions.exists() and questions.read_text().count("look.new") >= 4)  # so many tries have looked
    other.proxy.start()
    [ended] = rows.until_final([run])
    assert (ended.state, site.executions(run)) == ("succeeded", 1), ended.reason
    assert questions.read_text().count("put_up_tombstone()") == 1
