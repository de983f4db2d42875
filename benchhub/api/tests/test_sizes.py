"""How large a plan may be, asked through the API: refused with what to do, and nothing is queued."""

import pytest

from benchhub.bench.models import Design, Experiment, Run
from benchhub.bench.plan.fields import size

pytestmark = pytest.mark.django_db
REMEDY = "use fewer levels, repeats or systems"


def test_a_matrix_that_is_too_large_is_refused_at_its_field(runner, plan):
    before = Run.objects.count()
    answer = runner.send("post", "experiments/", {**plan, "levels": "1..200", "repeats": 100, "thread_rule": "1, 2"})
    [error] = answer.json()["errors"]
    assert answer.status_code == 422
    assert "These are 40,000 runs" in error["detail"] and REMEDY in error["detail"]
    assert Run.objects.count() == before


def test_a_plan_with_more_runs_than_allowed_queues_nothing(runner, plan, monkeypatch):
    monkeypatch.setattr(size, "MOST_RUNS", 1)
    before = Experiment.objects.count()
    answer = runner.send("post", "experiments/", plan)
    assert (answer.status_code, REMEDY in answer.json()["errors"][0]["detail"]) == (422, True)
    assert Experiment.objects.count() == before


def test_what_was_planned_before_the_limit_is_not_queued_once_more(runner, plan, monkeypatch):
    complete = runner.send("post", "experiments/", {**plan, "scales": "10, 20"}).json()
    monkeypatch.setattr(size, "MOST_RUNS", 1)
    counts = Experiment.objects.count(), Design.objects.count()
    for address in (f"experiments/{complete['id']}/again/", f"designs/{complete['design']}/again/"):
        answer = runner.send("post", address)
        assert (answer.status_code, REMEDY in answer.json()["detail"]) == (409, True)
    assert (Experiment.objects.count(), Design.objects.count()) == counts
