"""Runs that are run again: real SSH and pgbench."""

import os
import signal

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains

from benchhub.bench.models import Run
from benchhub.bench.models.states import State

pytestmark = [pytest.mark.django_db, pytest.mark.target]


@pytest.mark.whole
def test_a_lost_run_is_run_again_by_its_policy_and_both_attempts_are_kept(
    worker, system, experiment, cluster16, target, planner
):
    server = system(cluster16)
    worker.finish(experiment(server))
    planned = experiment(server, duration_s=15, attempts_if_lost=2)
    worker.tick()
    run = planned.runs.get()
    folder = target.work_directory / "runs" / str(run.uuid) / "1"
    worker.until(lambda: (folder / "pid").is_file() and len((folder / "pid").read_text().split()) == 5)
    kill_all_of(folder)
    [ended] = worker.finish(planned)
    assert (ended.state, ended.result.attempt.number) == (State.SUCCEEDED, 2)
    assert list(ended.attempts.order_by("number").values_list("outcome", flat=True)) == ["lost", "succeeded"]
    response = planner.get(reverse("run", args=[run.pk]))
    assertContains(response, "Attempt 1 of at most 2 was lost: it is run again.")
    assertContains(response, "Nothing of the attempt is alive")


def kill_all_of(folder):
    _, wrapper, _, command, _ = (folder / "pid").read_text().split()
    os.kill(int(wrapper), signal.SIGKILL)
    os.killpg(int(command), signal.SIGKILL)


def test_a_failed_run_is_run_again_from_its_page(worker, system, experiment, cluster16, planner):
    server = system(cluster16)
    worker.finish(experiment(server))
    planned = experiment(server, client_levels=[500])  # max_connections is 100
    [run] = worker.finish(planned)
    assert run.state == State.FAILED
    address = reverse("run-rerun", args=[run.pk])
    assertContains(planner.get(reverse("run", args=[run.pk])), f'action="{address}"')
    planner.post(address)
    [run] = worker.finish(planned)
    assert (run.state, run.attempts.count()) == (State.FAILED, 2)
    assert Run.objects.get(pk=run.pk).events.filter(reason="To be run again, as ada asked.").exists()
    assert all(attempt.evidence.filter(name="err.log").exists() for attempt in run.attempts.all())
