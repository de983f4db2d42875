"""Runs that found no server: how often they try again, and what comes after the last try. Rows only."""

from concurrent.futures import Future
from dataclasses import replace

import pytest
from django.db.models.functions import Now

from benchhub.bench import testing
from benchhub.bench.additions import data_sets
from benchhub.bench.execute import answers, jobs, returns
from benchhub.bench.execute.steps.contract import ServerAway
from benchhub.bench.models import Experiment, Hold, Run, Watch
from benchhub.bench.models.states import State
from benchhub.bench.queue import queue
from benchhub.bench.queue.promises import AWAY_SERVER
from benchhub.bench.results.ingest import missing_server
from benchhub.catalog.models import Hardware, Host
from runners.contract import VERIFY_FAILED, Outputs
from runners.tools import layers
from runners.tools.shell import NO_ANSWER

pytestmark = pytest.mark.django_db
AWAY = f'{NO_ANSWER}: psql: error: connection to server at "db", port 5432 failed: Connection refused\n'
GONE = f'{NO_ANSWER}: psql: error: connection to server failed: FATAL:  database "gone" does not exist\n'


@pytest.fixture
def systems():
    host, hardware = testing.make_host(), Hardware.objects.create(name="h", sockets=1, cores_per_socket=4)
    return [testing.make_system(version, host, hardware) for version in ("16", "17")]


def collecting(*systems, **fields):
    """Give a run of the first system that has ended on its host."""
    experiment = testing.make_experiment(list(systems))
    run = testing.make_run(experiment, systems[0], 2, 1, spec=testing.whole_spec(), **fields)
    for state in (State.RESERVED, State.STARTING, State.RUNNING, State.COLLECTING):
        queue.move(run, state)
    Watch.objects.create(run=run)
    run.attempts.create(number=1)
    return run


def goes_back(run, stderr, returncode=97):
    claim = queue.Claim(run.pk, Watch.objects.get(run=run).fence)
    job = jobs.make_job(run, claim, run.attempts.latest("number"))
    outputs = Outputs(returncode, b"", stderr.encode())
    return returns.goes_back(returns.Failed(run, job, outputs, layers.with_layer(stderr)))


def again(run, number):
    """Have the run end on its host once more, as its attempt of that number."""
    run.refresh_from_db()
    for state in (State.RESERVED, State.STARTING, State.RUNNING, State.COLLECTING):
        queue.move(run, state)
    run.attempts.create(number=number)
    Hold.objects.all().delete()


def failed_before(run, count, stderr):
    """Have so many tries behind it, of which the open attempt is the last."""
    run.attempts.update(number=count + 1)
    for number in range(1, count + 1):
        reason = layers.with_layer(stderr)
        run.attempts.create(number=number, outcome=State.FAILED, reason=reason, ended_at=Now())


def test_a_run_whose_server_is_away_waits_for_it_and_keeps_no_host(systems):
    run = collecting(systems[0])
    assert goes_back(run, AWAY)
    assert Run.objects.get().state == State.QUEUED
    assert list(Hold.objects.values_list("resource", "rest_s")) == [(f"instance:{systems[0].instance_id}", 5)]
    assert not Experiment.objects.get().paused_at


@pytest.mark.parametrize(("stderr", "tries"), [(AWAY, returns.MOST_TRIES), (GONE, returns.MOST_REFUSALS)])
def test_the_last_try_pauses_the_experiment_and_a_person_who_resumes_it_starts_the_count_anew(systems, stderr, tries):
    run = collecting(systems[0])
    failed_before(run, tries - 1, stderr)
    assert goes_back(run, stderr)
    assert "see that its server takes connections" in Experiment.objects.get().pause_reason
    assert queue.resume(Experiment.objects.get())
    again(run, tries + 1)
    assert goes_back(run, stderr)
    assert not Experiment.objects.get().paused_at


def test_an_experiment_of_several_systems_goes_on_with_the_others_after_the_last_try(systems):
    run = collecting(*systems)
    failed_before(run, returns.MOST_REFUSALS - 1, GONE)
    assert not goes_back(run, GONE)
    assert not Experiment.objects.get().paused_at


def test_a_try_that_a_pooler_or_a_keeper_speaks_of_first_counts_as_any_other(systems):
    run = collecting(systems[0])
    assert goes_back(run, f"{GONE}The check of the pooler failed.\n")
    assert run.attempts.get().reason.startswith(layers.REFUSED.sentence)


def test_tries_that_failed_for_another_reason_in_between_do_not_count(systems):
    run = collecting(systems[0])
    failed_before(run, returns.MOST_REFUSALS, GONE)
    run.attempts.filter(number=returns.MOST_REFUSALS).update(reason="Its disk was full.")
    assert goes_back(run, GONE)
    assert not Experiment.objects.get().paused_at


@pytest.mark.parametrize("text", ["pgbench: error: connection refused\n", f"{NO_ANSWER}: something else\n"])
def test_a_load_that_lost_its_server_and_a_check_that_says_something_else_are_failures(text):
    assert missing_server(Outputs(2, b"", AWAY.encode())) is None
    assert missing_server(Outputs(97, b"", text.encode())) is None


def lacks_data(run):
    return goes_back(run, "There is no pgbench data set\n", VERIFY_FAILED)


def test_a_run_that_lacks_its_data_goes_back_behind_a_load_and_asks_a_person_where_loads_do_not_help(systems):
    run = collecting(systems[0])
    run.attempts.update(number=9)
    away = layers.with_layer(AWAY)  # no return for a load
    run.attempts.create(number=8, outcome=State.FAILED, reason=away, ended_at=Now())
    for number in range(1, data_sets.MOST_RETURNS):
        run.attempts.create(number=number, outcome=State.FAILED, reason=data_sets.MISSING, ended_at=Now())
    assert lacks_data(run)
    assert (Run.objects.get(pk=run.pk).state, Experiment.objects.get().paused_at) == (State.QUEUED, None)
    again(run, 10)
    assert lacks_data(run)
    assert Run.objects.get(pk=run.pk).state == State.QUEUED
    assert Experiment.objects.get().pause_reason == data_sets.GONE_AGAIN.format(systems[0].instance)
    load = run.experiment.runs.get(kind="load")
    assert load.position < Run.objects.get(pk=run.pk).position


def test_a_run_that_lacked_its_data_too_often_is_counted_anew_once_a_person_has_resumed_its_experiment(systems):
    run = collecting(systems[0])
    run.attempts.update(number=data_sets.MOST_RETURNS + 1)
    for number in range(1, data_sets.MOST_RETURNS + 1):
        run.attempts.create(number=number, outcome=State.FAILED, reason=data_sets.MISSING, ended_at=Now())
    assert lacks_data(run)
    assert queue.resume(Experiment.objects.get())
    again(run, data_sets.MOST_RETURNS + 2)
    assert lacks_data(run)
    assert (Run.objects.get(pk=run.pk).state, Experiment.objects.get().paused_at) == (State.QUEUED, None)


def test_a_run_that_is_to_be_cancelled_gets_no_load_that_would_run_for_nobody(systems):
    run = collecting(systems[0])
    queue.ask_to_cancel(Run.objects.filter(pk=run.pk))
    run.refresh_from_db()
    assert not lacks_data(run)
    assert not run.experiment.runs.filter(kind="load").exists()


def test_a_load_goes_behind_no_other_load(systems):
    assert not lacks_data(collecting(systems[0], kind="load"))


@pytest.fixture
def starting():
    """Return what takes the next attempt at a run, from a driver of its own, to its start."""
    driver, server = testing.make_host("driver", "127.0.0.1"), testing.make_host("server", "127.0.0.2")
    hardware = Hardware.objects.create(name="h", sockets=1, cores_per_socket=4)
    system = testing.make_system("17", driver, hardware, path="network")
    type(system.instance).objects.update(host=server)
    system.refresh_from_db()
    run = testing.make_run(testing.make_experiment([system]), system, 2, 1, spec=testing.whole_spec())

    def begin():
        Hold.objects.all().delete()
        [key] = queue.reserve()
        [claim] = queue.claim(1, [key])
        job_ = jobs.prepare_step(claim)
        assert job_ and job_.server and Hold.objects.filter(run=run).count() == 3
        return job_

    return begin, server


def written(job_, answer):
    future = Future()
    future.set_result(answer)
    answers.write(job_, future, print)
    return Run.objects.get(pk=job_.claim.run_id)


def pauses():
    return list(Host.objects.exclude(paused_at=None).values_list("name", flat=True))


def test_a_run_whose_servers_host_is_away_keeps_no_host_and_that_one_rests(starting):
    begin, server = starting
    for number in (1, 2):
        run = written(begin(), ServerAway("No route to host.", is_unreached=True))
        assert run.state == State.QUEUED and run.reason.endswith("nothing was begun. No route to host.")
        assert list(Hold.objects.values_list("resource", "rest_s")) == [(f"host:{server.pk}", 5 * number)]
        assert list(run.attempts.order_by("number").values_list("outcome", flat=True)) == [State.CANCELLED] * number
    assert Host.objects.get(pk=server.pk).contact_error == "No route to host."
    assert pauses() == []


def test_a_host_that_refuses_is_not_said_to_be_out_of_reach(starting):
    begin, server = starting
    written(begin(), ServerAway("It ran nothing.", is_unreached=False))
    assert Host.objects.get(pk=server.pk).unreachable_since is None


def test_the_last_try_pauses_the_servers_host_alone_and_once_it_is_resumed_they_are_counted_anew(starting, monkeypatch):
    begin, server = starting
    monkeypatch.setattr(returns, "MOST_TRIES", 3)
    for tries in range(1, 7):
        written(begin(), ServerAway("No route to host.", is_unreached=True))
        assert pauses() == (["server"] if tries in (3, 6) else [])
        if tries == 3:
            reason = Host.objects.get(pk=server.pk).pause_reason
            assert reason.startswith(AWAY_SERVER) and "No route to host." in reason and "3 starts in a row" in reason
            assert queue.reserve() == []
            Host.objects.get(pk=server.pk).resume()


def test_a_cancel_of_a_run_whose_servers_host_is_away_ends_it(starting):
    begin, _ = starting
    job_ = begin()
    queue.ask_to_cancel(Run.objects.all())
    [claim] = queue.claim(1)
    run = written(replace(job_, claim=claim), ServerAway("No route to host.", is_unreached=True))
    assert (run.state, Hold.objects.count()) == (State.CANCELLED, 0)


def test_tries_that_never_began_are_no_attempts_that_were_lost(starting):
    begin, _ = starting
    Experiment.objects.update(attempts_if_lost=2)
    for _ in range(3):
        written(begin(), ServerAway("No route to host.", is_unreached=True))
    for state in (State.QUEUED, State.LOST):
        with queue.fenced(begin().claim) as run:
            queue.move(run, State.RUNNING)
            queue.finish(run, queue.Claim(run.pk, run.watch.fence), State.LOST, "It was killed.")
        assert Run.objects.get().state == state
