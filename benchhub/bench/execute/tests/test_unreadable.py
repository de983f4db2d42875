"""A key of BenchHub's own that FIELD_KEYS does not open stops its own host, and nothing that is done on others."""

import time
from concurrent.futures import Future
from dataclasses import replace
from datetime import timedelta

import pytest
from cryptography.fernet import Fernet
from django.db.models.functions import Now

from benchhub.bench import testing
from benchhub.bench.execute import answers, examine, jobs, tidy, visits
from benchhub.bench.execute.builds import visits as builds
from benchhub.bench.execute.steps.contract import Cancelled, Withdrawn
from benchhub.bench.execute.steps.step import STEP_TIMEOUT_S
from benchhub.bench.models import Attempt, Hold, Run, Watch
from benchhub.bench.models.states import State
from benchhub.bench.queue import queue
from benchhub.catalog.models import Hardware, Host, Instance, SourceBuild

pytestmark = pytest.mark.django_db
UNREADABLE, REFUSED = "not in FIELD_KEYS", "127.0.0.2:9"


@pytest.fixture
def hosts(settings):
    """The key of the first was stored with a key that is gone; the second can be read, and refuses connections."""
    made = [testing.make_host("first", "127.0.0.1"), testing.make_host("second", "127.0.0.2")]
    right = settings.FIELD_KEYS
    for host, keys in zip(made, ([Fernet.generate_key().decode()], right), strict=True):
        settings.FIELD_KEYS = keys
        host.make_key_pair()
        host.port = 9
        host.save()
    return list(Host.objects.order_by("pk"))


def errors(rows):
    return list(rows.order_by("pk").values_list("contact_error", flat=True))


def test_visits_to_other_hosts_take_place_and_each_says_why_it_failed(hosts):
    for host in hosts:
        host.ask(Host.Wanted.FACTS)
    assert visits.visit_hosts() == 2
    first, second = errors(Host.objects)
    assert UNREADABLE in first and REFUSED in second
    assert not Host.objects.exclude(wanted="").exists()


def test_the_host_key_of_such_a_host_is_looked_at_as_that_needs_no_key(hosts):
    hosts[0].ask(Host.Wanted.KEY)
    visits.visit_hosts()
    assert "127.0.0.1:9" in errors(Host.objects)[0]


def test_builds_on_other_hosts_go_on(hosts):
    for host in hosts:
        SourceBuild.objects.create(host=host, kind="git", revision="a" * 40, digest="d", state="building")
    assert builds.visit_builds() == 2
    first, second = errors(SourceBuild.objects)
    assert UNREADABLE in first and REFUSED in second
    assert set(SourceBuild.objects.values_list("state", flat=True)) == {"building"}


def test_other_hosts_are_tidied_up(hosts):
    machine = Hardware.objects.create(name="Box", sockets=1, cores_per_socket=8)
    for host, version in zip(hosts, ("17", "18"), strict=True):
        system = testing.make_system(version, host, machine)
        run = testing.make_run(testing.make_experiment([system]), system, 8, 1)
        ended = {"outcome": State.FAILED, "returncode": 1, "ended_at": Now() - timedelta(days=1)}
        Attempt.objects.create(run=run, number=1, **ended)
    assert tidy.tidy() == 2
    assert [bool(host.unreachable_since) for host in Host.objects.order_by("pk")] == [False, True]


def test_the_doctor_hears_of_each_host(hosts):
    first, second = examine.examine(hosts).values()
    assert UNREADABLE in first and REFUSED in second


def run_on(driver):
    """Plan a run; unlike any that a form makes, its plan has no endpoint."""
    machine = Hardware.objects.create(name="Box", sockets=1, cores_per_socket=8)
    system = testing.make_system("17", driver, machine)
    return testing.make_run(testing.make_experiment([system]), system, 8, 1)


def refused(run):
    """Reserve the run, try to start it, and return it with what holds there are."""
    queue.reserve()
    assert jobs.prepare(queue.claim(9)) == []
    run = Run.objects.select_related("experiment").get(pk=run.pk)
    assert (run.state, run.attempts.count(), Hold.objects.count()) == (State.QUEUED, 0, 0)
    return run


def test_a_run_whose_plan_cannot_be_read_pauses_its_experiment_and_holds_nothing(hosts):
    assert "cannot be read: KeyError('endpoint')" in refused(run_on(hosts[1])).experiment.pause_reason


def test_a_password_that_cannot_be_read_pauses_the_experiment_and_holds_nothing(hosts, monkeypatch):
    sentence = "The password of it cannot be used."
    monkeypatch.setattr(jobs, "_unread_plan", lambda _: "")
    monkeypatch.setattr(jobs, "_password", lambda _: (None, sentence))
    assert refused(run_on(hosts[1])).experiment.pause_reason.startswith(sentence)


@pytest.mark.parametrize(("driver", "server"), [(0, 1), (1, 0)])
def test_a_key_that_cannot_be_read_pauses_its_host_and_holds_no_other(hosts, driver, server):
    run = run_on(hosts[driver])
    Instance.objects.update(host=hosts[server])
    refused(run)
    paused, free = Host.objects.order_by("pk")
    assert UNREADABLE in paused.pause_reason and free.paused_at is None


def claim_starting(run):
    """Claim the run once it is committed as starting; its plan, or a key, cannot be read any more."""
    queue.reserve()
    [claim] = queue.claim(9)
    with queue.fenced(claim) as row:
        jobs._enter_starting(row, claim)
    return claim


def written(job_, answer):
    """Write the answer of a step; return the run as it is then."""
    future: Future[object] = Future()
    future.set_result(answer)
    answers.write(job_, future, print)
    return Run.objects.select_related("experiment").get(pk=job_.claim.run_id)


def test_a_start_whose_plan_cannot_be_read_any_more_is_taken_back_and_holds_nothing(hosts):
    [job_] = jobs.prepare([claim_starting(run_on(hosts[1]))])
    assert "cannot be read: KeyError('endpoint')" in job_.blocked
    run = written(job_, Withdrawn())
    assert (run.state, Hold.objects.count()) == (State.QUEUED, 0)
    assert job_.blocked in run.experiment.pause_reason


def test_a_start_that_was_merely_too_late_is_no_reason_to_pause_anything(hosts):
    [job_] = jobs.prepare([claim_starting(run_on(hosts[1]))])
    run = written(replace(job_, blocked="", too_late="Not in its hours."), Withdrawn())
    assert (run.state, run.reason, run.experiment.paused_at) == (State.QUEUED, "Not in its hours.", None)


@pytest.mark.parametrize("states", [[], [State.RUNNING], [State.RUNNING, State.COLLECTING]])
def test_a_cancel_waits_for_no_plan_that_nobody_can_read(hosts, states):
    claim = claim_starting(run_on(hosts[1]))
    with queue.fenced(claim) as run:
        for state in states:
            queue.move(run, state)
    queue.ask_to_cancel(Run.objects.all())
    [job_] = jobs.prepare(queue.claim(9))
    assert (
        job_.cancel_asked and not job_.has_plan and job_.spec.server_settings is not None
    )  # what it may have changed is put back
    assert (written(job_, Cancelled()).state, Hold.objects.count()) == (State.CANCELLED, 0)


@pytest.mark.parametrize("state", [State.STARTING, State.RUNNING])
def test_a_drivers_key_that_cannot_be_read_under_a_run_pauses_the_driver_and_says_so(hosts, state):
    claim = claim_starting(run_on(hosts[0]))
    if state == State.RUNNING:
        with queue.fenced(claim) as run:
            queue.move(run, state)
    assert jobs.prepare([claim]) == []
    run = Run.objects.select_related("watch", "system__driver").get()
    assert (run.state, run.watch.contact_error.split(":")[0]) == (state, "Nothing is sent to first")
    assert UNREADABLE in run.system.driver.pause_reason


DEADLINE_S, SETTINGS = 600, {"settings": {"work_mem": "8MB"}, "settings_in_force": {}, "restart": []}


@pytest.fixture
def unseen(hosts, monkeypatch):
    """Return what has a run from the first host, on the server of the second, that many seconds and looks later."""
    monkeypatch.setattr(jobs, "_unseen_since_s", {})
    now_s = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])

    def begin(*states, **spec):
        machine = Hardware.objects.create(name="Box", sockets=1, cores_per_socket=8)
        system = testing.make_system("17", hosts[0], machine, path="network")
        Instance.objects.update(host=hosts[1], grant=Instance.Grant.RELOAD)
        system.refresh_from_db()
        whole = testing.whole_spec(**{"deadline_s": DEADLINE_S, **spec})
        claim = claim_starting(testing.make_run(testing.make_experiment([system]), system, 8, 1, spec=whole))
        Attempt.objects.update(host_before={"cpu": 1})
        with queue.fenced(claim) as run:
            for state in states:
                queue.move(run, state)

    def looked_at(after_s):
        now_s[0] += after_s
        Watch.objects.update(lease_until=None)
        assert jobs.prepare(queue.claim(9, list(Run.objects.values_list("pk", flat=True)))) == []
        return Run.objects.select_related("watch").get()

    return begin, looked_at


def held():
    return {row.partition(":")[0] for row in Hold.objects.values_list("resource", flat=True)}


def test_a_run_whose_driver_nobody_can_reach_any_more_holds_its_server_until_its_load_must_have_ended(hosts, unseen):
    begin, looked_at = unseen
    begin(State.RUNNING)
    looked_at(0)
    run = looked_at(DEADLINE_S)
    assert held() == {"host", "instance"} and Hold.objects.count() == 3
    assert UNREADABLE in run.watch.contact_error and jobs.UNSEEN in run.watch.contact_error
    run = looked_at(jobs.AFTER_DEADLINE_S + 1)
    assert list(Hold.objects.values_list("resource", flat=True)) == [f"host:{hosts[0].pk}"]
    assert UNREADABLE in run.watch.contact_error and jobs.ENDED_UNSEEN in run.watch.contact_error
    assert (run.state, run.attempts.get().ended_at, run.attempts.get().host_before) == (State.RUNNING, None, None)
    assert Host.objects.get(pk=hosts[0].pk).paused_at and not Host.objects.get(pk=hosts[1].pk).paused_at


def test_its_cancel_waits_so_long_however_often_it_is_asked_for_and_no_longer(unseen):
    begin, looked_at = unseen
    begin(State.RUNNING)
    for _ in range(20):
        queue.ask_to_cancel(Run.objects.all())
        assert looked_at(0).state == State.RUNNING
    assert Hold.objects.count() == 3
    run = looked_at(DEADLINE_S + jobs.AFTER_DEADLINE_S + 1)
    assert (run.state, Hold.objects.count()) == (State.CANCELLED, 0)
    assert UNREADABLE in run.reason


@pytest.mark.parametrize("changes", [{"server_settings": SETTINGS}, {}])
def test_a_cancel_sets_a_server_apart_that_may_still_have_the_settings_of_its_run(unseen, changes):
    begin, looked_at = unseen
    begin(State.RUNNING, State.COLLECTING, **changes)
    queue.ask_to_cancel(Run.objects.all())
    run = looked_at(0)
    assert run.state == State.CANCELLED
    apart = run.system.instance.host
    assert apart.pk != run.system.driver_id
    assert ("former settings" in apart.pause_reason, apart.paused_at is not None) == (bool(changes), bool(changes))


def test_a_start_of_which_nobody_knows_whether_it_began_is_waited_for_as_long_as_a_step_may_take_besides(unseen):
    begin, looked_at = unseen
    begin()
    looked_at(0)
    looked_at(DEADLINE_S + jobs.AFTER_DEADLINE_S + STEP_TIMEOUT_S)
    assert Hold.objects.count() == 3
    assert looked_at(1).state == State.STARTING
    assert held() == {"host"} and Hold.objects.count() == 1


def test_what_was_seen_to_end_frees_its_server_at_once(unseen):
    begin, looked_at = unseen
    begin(State.RUNNING, State.COLLECTING)
    assert looked_at(0).state == State.COLLECTING
    assert held() == {"host"} and Hold.objects.count() == 1


@pytest.mark.parametrize("states", [[State.RUNNING], [State.RUNNING, State.COLLECTING]])
def test_a_server_that_may_still_have_the_settings_of_its_run_is_not_freed(unseen, states):
    begin, looked_at = unseen
    begin(*states, server_settings=SETTINGS)
    assert not jobs._unread_plan(Run.objects.get())
    looked_at(0)
    looked_at(2 * DEADLINE_S)
    assert Hold.objects.count() == 3


def test_a_run_without_a_deadline_is_not_taken_to_have_ended(unseen):
    begin, looked_at = unseen
    begin(State.RUNNING, deadline_s=0)
    looked_at(0)
    looked_at(10**6)
    assert Hold.objects.count() == 3


def test_a_run_is_looked_at_once_the_key_can_be_read_again_and_a_second_fault_is_timed_anew(hosts, unseen, settings):
    begin, looked_at = unseen
    begin(State.RUNNING)
    looked_at(0)
    run, driver = Run.objects.get(), Host.objects.filter(pk=hosts[0].pk)
    Watch.objects.update(lease_until=None)
    driver.update(trust=Host.Trust.PINNED)
    hosts[0].make_key_pair()
    hosts[0].save()
    [job_] = jobs.prepare(queue.claim(9, [run.pk]))
    assert (job_.state, job_.attempt.number) == (State.RUNNING, 1)
    settings.FIELD_KEYS = [Fernet.generate_key().decode()]
    looked_at(2 * DEADLINE_S)
    assert Hold.objects.count() == 3


def reached_again(driver):
    """Let the key of the driver be read again, and return the job that is due then."""
    Host.objects.update(paused_at=None)
    driver.make_key_pair()
    driver.trust = Host.Trust.PINNED
    driver.save()
    Watch.objects.update(lease_until=None)
    [job_] = jobs.prepare(queue.claim(9, list(Run.objects.values_list("pk", flat=True))))
    return job_


def test_a_start_whose_server_was_freed_meanwhile_is_taken_back_and_never_loads_it_beside_another(hosts, unseen):
    begin, looked_at = unseen
    begin()
    looked_at(0)
    looked_at(DEADLINE_S + jobs.AFTER_DEADLINE_S + STEP_TIMEOUT_S + 1)
    Hold.objects.create(resource=f"host:{hosts[1].pk}")  # of another run by now
    job_ = reached_again(hosts[0])
    assert (job_.state, job_.too_late) == (State.STARTING, jobs.SERVER_FREED)
    assert written(job_, Withdrawn()).state == State.QUEUED
    assert list(Hold.objects.values_list("resource", flat=True)) == [f"host:{hosts[1].pk}"]


def test_a_start_that_still_has_its_server_goes_on_once_the_key_can_be_read_again(hosts, unseen):
    begin, looked_at = unseen
    begin()
    looked_at(0)
    looked_at(DEADLINE_S)
    job_ = reached_again(hosts[0])
    assert (job_.state, job_.too_late) == (State.STARTING, "")
    assert Hold.objects.count() == 3


def test_a_fault_is_timed_anew_where_another_worker_has_reached_the_host_since(hosts, unseen):
    begin, looked_at = unseen
    begin()
    looked_at(0)
    Watch.objects.update(contact_error="Another job still runs on the host.")  # by a worker with a clock of its own
    looked_at(DEADLINE_S + jobs.AFTER_DEADLINE_S + STEP_TIMEOUT_S + 1)
    assert Hold.objects.count() == 3
    looked_at(DEADLINE_S + jobs.AFTER_DEADLINE_S + STEP_TIMEOUT_S + 1)
    assert held() == {"host"} and Hold.objects.count() == 1
