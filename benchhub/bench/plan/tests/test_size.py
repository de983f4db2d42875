"""Attacks by the size of a plan: what it may have is reckoned before anything of it is written out."""

import pytest
from pytest_django.asserts import assertContains

from benchhub.analysis.planning import design
from benchhub.bench.models import Design, Experiment, Run
from benchhub.bench.plan.fields import size
from benchhub.bench.plan.testing import NEW, PLAN, form_of

pytestmark = pytest.mark.django_db
HUGE = {"levels": "1..200", "repeats": "100", "thread_rule": ",".join(map(str, range(1, 30)))}


@pytest.fixture
def filled(servers, recipe):
    return form_of(recipe, *servers)


def forbid(*_, **__):
    raise AssertionError("The matrix was written out.")


def test_a_matrix_of_a_million_runs_is_refused_before_it_is_written_out(planner, filled, monkeypatch):
    monkeypatch.setattr(design, "slots", forbid)
    for address in (NEW, PLAN):
        answer = planner.post(address, {**filled, **HUGE, "queue": "1"})
        assertContains(answer, "These are 1,160,000 runs before conditions leave any out, at most 20,000 may be: use")
    assert not (Experiment.objects.exists() or Run.objects.exists())


def test_thousands_of_parts_are_refused_before_one_is_made(planner, filled, monkeypatch):
    monkeypatch.setattr(design, "narrowed", forbid)
    many = {"scales": "1..20", "thread_rule": ",".join(map(str, range(1, 35)))}
    answer = planner.post(NEW, {**filled, **many, "queue": "1"})
    assertContains(answer, "These are 680 workloads, scales and thread rules, at most 600 may be: use fewer.")
    assert not (Design.objects.exists() or Run.objects.exists())


def test_a_plan_with_more_runs_than_allowed_queues_nothing_and_says_what_to_do(planner, filled, monkeypatch):
    monkeypatch.setattr(size, "MOST_RUNS", 11)
    answer = planner.post(NEW, {**filled, "queue": "1"})
    assertContains(answer, "These are 12 runs, and a plan has at most 11: use fewer levels, repeats or systems")
    assert not Run.objects.exists()
    assert planner.post(NEW, {**filled, "left_out": "clients=8; repeat=2; system=1", "queue": "1"}).status_code == 302
    assert Run.objects.filter(kind="measure").count() == 11


def test_repeats_are_refused_that_would_make_an_experiment_too_large(planner, filled, monkeypatch):
    planner.post(NEW, {**filled, "queue": "1"})
    experiment = Experiment.objects.get()
    monkeypatch.setattr(size, "MOST_RUNS", 12 + 7)
    address = f"/experiments/{experiment.pk}/repeats"
    answer = planner.post(address, {"levels": "1, 2", "repeats": "2"})
    assertContains(answer, "These are 20 runs, and a plan has at most 19: use fewer levels")
    assert experiment.runs.filter(kind="measure").count() == 12
    assert planner.post(address, {"levels": "1, 2", "repeats": "1"}).status_code == 302


@pytest.mark.parametrize("lines", [["clients=1..100000"] * 3, ["clients=1"] * 41, ["clients=1..90000;" * 3]])
def test_conditions_of_more_numbers_or_lines_than_allowed_are_refused(lines):
    with pytest.raises(design.DesignError, match="Write at most 40 lines, of 200,000 numbers together"):
        design.rules(lines)


def test_an_older_plan_that_is_too_large_today_is_not_queued_once_more(planner, filled, monkeypatch):
    planner.post(NEW, {**filled, "queue": "1"})
    experiment = Experiment.objects.get()
    monkeypatch.setattr(size, "MOST_RUNS", 11)
    answer = planner.post(f"/experiments/{experiment.pk}/again", follow=True)
    assertContains(answer, "Not run again. These are 12 runs, and a plan has at most 11: use fewer levels")
    assert Experiment.objects.count() == 1
    monkeypatch.setattr(size, "MOST_RUNS", 12)
    planner.post(f"/experiments/{experiment.pk}/again")
    assert Experiment.objects.count() == 2


def test_the_parts_of_an_older_design_are_counted_together(planner, filled, monkeypatch):
    planner.post(NEW, {**filled, "scales": "1, 2", "queue": "1"})
    row = Design.objects.get()
    monkeypatch.setattr(size, "MOST_RUNS", 23)
    answer = planner.post(f"/designs/{row.pk}/again", follow=True)
    assertContains(answer, "Not run again. These are 24 runs, and a plan has at most 23")
    assert Design.objects.count() == 1
