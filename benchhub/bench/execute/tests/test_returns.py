"""Runs that found no server: how often they try again, and what comes after the last try. Rows only."""

import pytest
from django.db.models.functions import Now

from benchhub.bench import testing
from benchhub.bench.execute import jobs, returns
from benchhub.bench.models import Experiment, Hold, Run, Watch
from benchhub.bench.models.states import State
from benchhub.bench.queue import queue
from benchhub.bench.results.ingest import missing_server
from benchhub.catalog.models import Hardware
from runners.contract import Outputs
from runners.tools import layers
from runners.tools.shell import NO_ANSWER

pytestmark = pytest.mark.django_db
AWAY = f'{NO_ANSWER}: psql: error: connection to server at "db", port 5432 failed: Connection refused\n'
GONE = f'{NO_ANSWER}: psql: error: connection to server failed: FATAL:  database "gone" does not exist\n'


@pytest.fixture
def systems():
    host, hardware = testing.make_host(), Hardware.objects.create(name="h", sockets=1, cores_per_socket=4)
    return [testing.make_system(version, host, hardware) for version in ("16", "17")]


def collecting(*systems):
    """Give a run of the first system that has ended on its host."""
    experiment = testing.make_experiment(list(systems))
    run = testing.make_run(experiment, systems[0], 2, 1, spec=testing.whole_spec())
    for state in (State.RESERVED, State.STARTING, State.RUNNING, State.COLLECTING):
        queue.move(run, state)
    Watch.objects.create(run=run)
    run.attempts.create(number=1)
    return run


def goes_back(run, stderr):
    claim = queue.Claim(run.pk, Watch.objects.get(run=run).fence)
    job = jobs.make_job(run, claim, run.attempts.latest("number"))
    outputs = Outputs(97, b"", stderr.encode())
    return returns.goes_back(returns.Failed(run, job, outputs, layers.with_layer(stderr)))


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
    again = Run.objects.get()
    for state in (State.RESERVED, State.STARTING, State.RUNNING, State.COLLECTING):
        queue.move(again, state)
    again.attempts.create(number=tries + 1)
    Hold.objects.all().delete()
    assert goes_back(again, stderr)
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
