"""Contact with a run while it runs, and what is not done where there is none: real SSH and pgbench."""

import base64
import fcntl
import socket
import threading
import time
from concurrent.futures import wait
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from django.db.models import F
from django.db.models.functions import Now
from django.urls import reverse
from pytest_django.asserts import assertContains

from benchhub.accounts.models import Entry
from benchhub.bench.conftest import PATIENCE_S
from benchhub.bench.execute import answers, jobs, looks, loop, tidy, visits
from benchhub.bench.execute.steps import end
from benchhub.bench.execute.steps.contract import Ended
from benchhub.bench.execute.steps.step import step
from benchhub.bench.models import Attempt, Hold, LiveLog, Reservation, Watch
from benchhub.bench.models.states import State
from benchhub.bench.queue import queue, timetable
from benchhub.catalog.models import Host
from runners.job import StartOutcome

pytestmark = [pytest.mark.long, pytest.mark.django_db, pytest.mark.target]
OTHER_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ"
# Messages of SSH before anything is encrypted (RFC 4253, RFC 5656): what may be sent to a host that is not trusted.
DISCONNECT, KEXINIT, KEX_ECDH_INIT = 1, 20, 30


@dataclass
class Wire:
    """A relay to the target that keeps every byte which BenchHub sends; `cut` closes it to everybody.

    While `flows` is clear it passes nothing on, like a target that has fallen silent.
    """

    to_port: int
    sent: list[bytearray] = field(default_factory=list)
    open_sockets: list[socket.socket] = field(default_factory=list)
    senders: list[threading.Thread] = field(default_factory=list)
    flows: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self):
        self.flows.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                here, _ = self.listener.accept()
            except OSError:
                return
            there = socket.create_connection(("127.0.0.1", self.to_port))
            self.open_sockets += [here, there]
            self.sent.append(bytearray())
            self.senders.append(
                threading.Thread(target=_relay, args=(here, there, self.sent[-1], self.flows), daemon=True)
            )
            self.senders[-1].start()
            threading.Thread(target=_relay, args=(there, here, bytearray(), self.flows), daemon=True).start()

    def cut(self):
        self.flows.set()
        for open_socket in (self.listener, *self.open_sockets):
            try:
                open_socket.shutdown(socket.SHUT_RDWR)
                open_socket.close()
            except OSError:
                continue  # closed before, or by the other side


def _relay(source, sink, record, flows):
    while True:
        try:
            data = source.recv(65536)
            flows.wait()
            record += data
            sink.sendall(data) if data else sink.shutdown(socket.SHUT_WR)
        except OSError:
            return
        if not data:
            return


def messages(sent):
    """Return the SSH messages in what a client sent without encryption, as (number, payload)."""
    _, _, packets = bytes(sent).partition(b"\r\n")
    numbered = []
    while packets:
        length, padding = int.from_bytes(packets[:4], "big"), packets[4]
        payload = packets[5 : 4 + length - padding]
        numbered.append((payload[0], payload))
        packets = packets[4 + length :]
    return numbered


@pytest.fixture
def wire(target, host):
    """Reach the host by the wire, in both senses; afterwards no kept connection is left to it."""
    relay = Wire(target.port)
    Host.objects.update(port=relay.port)
    yield relay
    relay.cut()


def next_look_in(run):
    return Watch.objects.annotate(wait=F("next_look_at") - Now()).get(run=run).wait


def due(*runs):
    Watch.objects.update(next_look_at=Now(), lease_until=None)


def test_to_a_host_with_another_key_no_byte_of_a_credential_is_sent(
    worker, system, experiment, cluster16, wire, target
):
    planned = experiment(system(cluster16))
    before = len(wire.sent)
    Host.objects.update(host_key=OTHER_KEY)
    worker.tick()
    host = Host.objects.get()
    assert host.trust == Host.Trust.QUARANTINED
    assert host.offered_host_key.split()[:2] == target.host_key.split()[:2]
    connections = wire.sent[before:]
    assert len(connections) == 1
    wire.senders[before].join(PATIENCE_S)  # the last bytes may be on their way
    assert [number for number, _ in messages(connections[0])] == [KEXINIT, KEX_ECDH_INIT, DISCONNECT]
    public_half = base64.b64decode(host.public_key.split()[1]) if host.public_key else b"never in clear"
    for secret in (target.username.encode(), b"ssh-userauth", public_half, b"PRIVATE KEY"):
        assert secret not in bytes(connections[0])
    # From now on not even a connection is made; the run stays as it is.
    due()
    worker.tick()
    assert len(wire.sent) == before + 1
    run = planned.runs.first()
    assert (run.state, run.attempts.count()) == (State.STARTING, 1)
    assert "Compare and approve it" in run.watch.contact_error
    [entry] = Entry.objects.filter(username="worker")
    assert entry.action == f"host key of {host.name} changed"
    assert (entry.detail, entry.outcome) == (f"offered: {host.offered_host_key}", "not done")


def test_a_quarantined_host_says_what_to_do_and_its_run_starts_once_a_person_approved(
    worker, system, experiment, cluster16, target, planner
):
    planned = experiment(system(cluster16))
    Host.objects.update(host_key=OTHER_KEY)
    worker.tick()
    host = Host.objects.get()
    response = planner.get(reverse("host", args=[host.pk]))
    for text in ("Compare the fingerprints", "Approve the new key", "ssh-keygen -lf", "Offered now"):
        assertContains(response, text)
    assert host.approve(host.offered_host_key)
    due()
    assert [run.state for run in worker.finish(planned)] == [State.SUCCEEDED] * 2
    assert Attempt.objects.count() == 2


@pytest.mark.whole
def test_a_worker_that_compared_with_a_key_of_the_past_does_not_quarantine(
    worker, system, experiment, cluster16, target
):
    planned = experiment(system(cluster16))
    real = Host.objects.get().host_key
    Host.objects.update(host_key=OTHER_KEY)
    queue.reserve()
    [claim] = queue.claim(1)
    job = jobs.prepare_step(claim)
    Host.objects.update(host_key=real)  # a person approved the new key while the worker was asleep
    future = loop.submit(step(job))
    with pytest.raises(Exception, match="was approved"):
        future.result(timeout=PATIENCE_S)
    answers.write(job, future, worker.woken.put)
    assert Host.objects.get().trust == Host.Trust.PINNED
    due()
    assert [run.state for run in worker.finish(planned)] == [State.SUCCEEDED] * 2


@pytest.mark.whole
def test_a_host_that_is_away_says_since_when_and_its_run_goes_on(
    worker, system, experiment, cluster16, wire, target, planner
):
    server = system(cluster16)
    worker.finish(experiment(server))
    planned = experiment(server, duration_s=6)
    worker.tick()
    run = planned.runs.get()
    assert run.state == State.RUNNING
    wire.cut()
    worker.tick(run.pk)
    first = Watch.objects.get(run=run).unreachable_since
    assert first is not None
    host = Host.objects.get()
    assert host.unreachable_since is not None
    assert next_look_in(run) <= looks.FIRST_RETRY_AFTER
    due()
    worker.tick()
    assert looks.FIRST_RETRY_AFTER < next_look_in(run) <= looks.RETRY_AFTER
    run.refresh_from_db()
    watch = Watch.objects.get(run=run)
    assert (run.state, watch.unreachable_since) == (State.RUNNING, first)
    assert Host.objects.get().unreachable_since == host.unreachable_since
    for address in (reverse("run", args=[run.pk]), reverse("host", args=[host.pk]), reverse("queue")):
        assertContains(planner.get(address), "ot reached since" if "runs" not in address else "not been reached since")
    assertContains(planner.get("/"), first.strftime("%H:%M"))
    Host.objects.update(port=target.port)  # the network is back
    due()
    worker.tick()
    assert (Watch.objects.get(run=run).unreachable_since, Host.objects.get().unreachable_since) == (None, None)
    assert Host.objects.get().contact_error == ""
    [ended] = worker.finish(planned)
    assert (ended.state, ended.attempts.count()) == (State.SUCCEEDED, 1)


@pytest.mark.whole
def test_a_host_that_another_job_holds_is_asked_again_soon_and_then_less_often(
    worker, system, experiment, cluster16, target
):
    planned = experiment(system(cluster16))
    target.work_directory.mkdir(exist_ok=True)
    with (target.work_directory / "host.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        worker.tick()
        run = planned.runs.first()
        assert (run.state, run.watch.contact_error) == (State.STARTING, answers.BUSY)
        assert next_look_in(run) <= looks.FIRST_RETRY_AFTER
        due()
        worker.tick()
        assert looks.FIRST_RETRY_AFTER < next_look_in(run) <= looks.RETRY_AFTER
    due()
    assert [run.state for run in worker.finish(planned)] == [State.SUCCEEDED] * 2


@pytest.mark.whole
def test_the_log_of_a_run_is_read_on_while_it_runs_and_gives_way_to_its_evidence(
    worker, system, experiment, cluster16, planner
):
    server = system(cluster16)
    worker.finish(experiment(server))
    planned = experiment(server, duration_s=120)
    worker.tick()
    run = planned.runs.get()
    address = reverse("run-log", args=[run.pk, "err"])

    def has_progress():
        due()
        worker.tick()
        return Watch.objects.filter(run=run, live_tps__gt=0).exists()

    worker.until(has_progress)
    first = planner.get(address).json()
    assert "progress: " in first["part"]["text"]
    assert not first["is_over"]
    assert Watch.objects.get(run=run).live_tps > 0
    assertContains(planner.get(reverse("run", args=[run.pk])), 'data-after="')
    end = first["part"]["end"]
    worker.until(lambda: has_progress() and LiveLog.objects.filter(stream="err", end_offset__gt=end).exists())
    second = planner.get(address, {"after": end}).json()
    assert second["part"]["text"].startswith("progress: ")
    assert second["part"]["skipped_bytes"] == 0
    queue.ask_to_cancel(planned.runs.all())
    [ended] = worker.finish(planned)
    assert ended.state == State.CANCELLED
    assert not LiveLog.objects.exists()
    assert planner.get(address).json() == {"part": None, "is_over": True}
    log = bytes(ended.attempts.get().evidence.get(name="err.log").content).decode()
    assert log.startswith(first["part"]["text"] + second["part"]["text"])


@pytest.mark.whole
def test_a_start_whose_time_has_passed_is_withdrawn_and_starts_later_as_a_new_attempt(
    worker, system, experiment, cluster16, wire, target
):
    server = system(cluster16)
    worker.finish(experiment(server))
    planned = experiment(server)
    wire.cut()
    worker.tick()
    run = planned.runs.get()
    assert run.state == State.STARTING
    queue.pause(planned, "Paused by ada.")
    Host.objects.update(port=target.port)
    due()
    worker.tick()
    run.refresh_from_db()
    assert (run.state, run.reason) == (State.QUEUED, "The experiment is paused.")
    assert list(run.attempts.values_list("number", "outcome")) == [(1, "cancelled")]
    assert (target.work_directory / "runs" / str(run.uuid) / "1" / "cancel").exists()
    assert not (target.work_directory / "runs" / str(run.uuid) / "1" / "started").exists()
    queue.resume(planned)
    [ended] = worker.finish(planned)
    assert (ended.state, ended.attempts.count()) == (State.SUCCEEDED, 2)


@pytest.mark.whole
def test_a_start_that_was_in_time_goes_on_although_its_answer_was_lost(worker, system, experiment, cluster16):
    server = system(cluster16)
    worker.finish(experiment(server))
    planned = experiment(server)
    queue.reserve()
    [claim] = queue.claim(1)
    job = jobs.prepare_step(claim)
    assert loop.submit(step(job)).result(timeout=PATIENCE_S).outcome is StartOutcome.STARTED
    queue.pause(planned, "Paused by ada.")  # the worker died before it wrote anything
    due()
    [ended] = worker.finish(planned)
    assert (ended.state, ended.attempts.count()) == (State.SUCCEEDED, 1)


@pytest.mark.whole
def test_a_run_that_was_reserved_before_its_window_closed_goes_back_to_the_queue(worker, system, experiment, cluster16):
    planned = experiment(system(cluster16))
    queue.reserve()
    run = planned.runs.first()
    assert run.state == State.RESERVED
    Watch.objects.update(next_look_at=Now() - timedelta(minutes=1))  # the worker sleeps
    now = Host.objects.values_list(Now(), flat=True)[0]
    timetable.reserve_once(Host.objects.get(), now, now + timedelta(hours=1), zone="UTC", reason="")
    worker.tick()
    assert set(planned.runs.values_list("state", flat=True)) == {State.QUEUED}
    assert not Attempt.objects.exists()
    Reservation.objects.all().delete()
    assert [run.state for run in worker.finish(planned)] == [State.SUCCEEDED] * 2


def test_a_visit_that_answers_late_does_not_overwrite_what_was_asked_since(worker, host):
    host.ask(Host.Wanted.FACTS)
    host.refresh_from_db()
    host = visits._claim_visit(host)
    assert host
    future = loop.submit(visits._visit(host, []))
    future.result(timeout=PATIENCE_S)
    Host.objects.get(pk=host.pk).ask(Host.Wanted.KEY)
    visits._note_visit(host, future)
    now = Host.objects.get(pk=host.pk)
    assert (now.wanted, now.facts) == (Host.Wanted.KEY, {})


@pytest.mark.whole
def test_an_end_is_written_although_its_target_falls_silent_and_is_acknowledged_later(
    worker, system, experiment, cluster16, wire, target, monkeypatch
):
    server = system(cluster16)
    worker.finish(experiment(server))
    assert not Attempt.objects.filter(acknowledged_at=None).exists()
    monkeypatch.setattr(end, "ACKNOWLEDGE_TIMEOUT_S", 0.5)
    silent = experiment(server)
    job, future = collected(silent, worker)
    wire.flows.clear()
    following = answers.write(job, future, worker.woken.put)
    run = silent.runs.get()
    assert (run.state, run.result.throughput > 0) == (State.SUCCEEDED, True)
    assert not Hold.objects.exists()
    late = loop.submit(step(following))
    wait([late])
    assert answers.write(following, late, worker.woken.put) is None
    assert Attempt.objects.get(run=run).acknowledged_at is None
    assert silent.runs.get().state == State.SUCCEEDED
    assert tidy.tidy() == 0  # it may be under way with another worker
    Attempt.objects.filter(run=run).update(ended_at=Now() - 2 * tidy.PATIENCE)
    assert tidy.tidy() == 1
    assert Attempt.objects.get(run=run).acknowledged_at is None
    assert Host.objects.get().unreachable_since is not None
    assert tidy.tidy() == 0  # a host that is away costs no tick its time
    wire.flows.set()
    monkeypatch.undo()
    Host.objects.update(unreachable_since=None)  # it was reached
    assert tidy.tidy() == 1
    assert Attempt.objects.get(run=run).acknowledged_at is not None
    assert (target.work_directory / "runs" / str(run.uuid) / "1" / "ack").exists()


def collected(planned, worker):
    """The collection of the only run of a plan, as it has arrived and before it is written."""
    queue.reserve()
    for _ in range(600):
        [claim] = queue.claim(1, [planned.runs.get().pk])
        job = jobs.prepare([claim])[0]
        future = loop.submit(step(job))
        wait([future])
        if isinstance(future.result(), Ended):
            return job, future
        if following := answers.write(job, future, worker.woken.put):
            future = loop.submit(step(following))
            wait([future])
            return following, future
        time.sleep(0.1)  # a real load runs on the target: it is asked again until it has ended
    raise AssertionError("It did not end.")
