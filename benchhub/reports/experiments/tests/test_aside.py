"""A run that a person set aside stays to be seen, and is part of no figure, mean or price."""

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.bench import testing
from benchhub.bench.models import Run
from benchhub.bench.results import aside
from benchhub.reports.curves import csv as curves_csv
from benchhub.reports.curves import verdicts
from benchhub.reports.experiments import page, queries

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada():
    return get_user_model().objects.create_superuser("ada")


@pytest.fixture
def reader(client, ada):
    client.force_login(ada)
    return client


@pytest.fixture
def runs():
    """Three runs of 100, 110 and 30 TPS at one level: median 100, mean 80."""
    hardware = testing.make_box()
    system = testing.make_system("18", testing.make_host(), hardware)
    experiment = testing.make_experiment([system], client_levels=[8])
    runs = [testing.make_run(experiment, system, 8, repeat) for repeat in (1, 2, 3)]
    for run, tps in zip(runs, (100.0, 110.0, 30.0), strict=True):
        testing.succeeded(run, tps)
        run.refresh_from_db()
    return runs


def groups(experiment):
    systems = queries.systems(experiment)
    return page.groups(experiment, queries.curve_runs(experiment), systems)


def curve_of(experiment):
    [group] = groups(experiment)
    [system_curve] = group.curves
    return system_curve


def test_a_run_set_aside_leaves_the_curve_and_its_spread_and_comes_back(runs, ada):
    experiment = runs[0].experiment
    assert curve_of(experiment).curve.levels[0].throughput.median == 100
    assert aside.set_aside(runs[2], ada, "A backup ran.")
    system_curve = curve_of(experiment)
    assert (system_curve.curve.levels[0].throughput.n, system_curve.curve.levels[0].throughput.mean) == (
        2,
        104.880884817,
    )  # (100 x 110) ** 0.5
    assert [run.run for run in system_curve.aside] == [runs[2].pk]
    assert runs[2] not in Run.objects.measured()
    assert "30.0" not in curves_csv.curves_csv(groups(experiment))
    assert aside.put_back(Run.objects.get(pk=runs[2].pk), ada)
    assert curve_of(experiment).curve.levels[0].throughput.n == 3
    assert curve_of(experiment).aside == ()


def test_a_run_set_aside_has_a_result_and_the_verdict_on_its_curve_does_not_call_it_lost(runs, ada):
    experiment = runs[0].experiment

    def codes():
        return verdicts.of_curve(queries.curve_runs(experiment)).codes

    aside.set_aside(runs[2], ada, "A backup ran.")
    assert "runs-lost" not in codes()
    testing.ended(testing.make_run(experiment, runs[0].system, 8, 4), "failed")
    assert "runs-lost" in codes()


def test_who_did_it_when_and_why_stays_in_the_history_whatever_is_done_later(runs, ada):
    aside.set_aside(runs[2], ada, "A backup ran.")
    run = Run.objects.get(pk=runs[2].pk)
    assert (run.set_aside_by, run.set_aside_reason, run.state) == (ada, "A backup ran.", "succeeded")
    assert run.set_aside_at
    aside.put_back(run, ada)
    reasons = [event.reason for event in run.events.all()][-2:]
    assert reasons == ["By ada: A backup ran.", "Put back by ada."]


def test_only_a_point_is_set_aside_and_only_once(runs, ada):
    other = testing.make_run(runs[0].experiment, runs[0].system, 8, 4)
    testing.ended(other, "failed")
    assert not aside.set_aside(other, ada, "It failed.")
    assert aside.set_aside(runs[0], ada, "One.")
    assert not aside.set_aside(runs[0], ada, "Two.")
    assert Run.objects.get(pk=runs[0].pk).set_aside_reason == "One."
    assert not aside.put_back(runs[1], ada)


def test_it_is_set_aside_by_a_form_that_wants_a_reason_and_marked_wherever_it_is_shown(reader, runs):
    address = reverse("run-set-aside", args=[runs[2].pk])
    page = reader.post(address, {"reason": " "})
    assertContains(page, "This field is required.")
    assert Run.objects.measured().count() == 3
    assertRedirects(reader.post(address, {"reason": "A backup ran."}), reverse("run", args=[runs[2].pk]))
    assertContains(reader.get(reverse("run", args=[runs[2].pk])), "It counts in no figure, mean or price.")
    page = reader.get(reverse("experiment", args=[runs[2].experiment_id]))
    assertContains(page, "A backup ran.")
    assertContains(page, "18, set aside")
    assertContains(page, "1 of them</a> counts in no line")
    reader.post(reverse("run-put-back", args=[runs[2].pk]))
    page = reader.get(reverse("experiment", args=[runs[2].experiment_id]))
    assertNotContains(page, "A backup ran.")
    assertNotContains(page, "18, set aside")


def test_a_comparison_says_how_many_of_its_runs_were_set_aside(reader, runs, ada):
    aside.set_aside(runs[2], ada, "A backup ran.")
    key = f"{runs[0].experiment_id}-{runs[0].system_id}"
    page = reader.get(reverse("compare"), {"curve": key})
    assertContains(page, "1 of 3 runs was set aside by a person, and counts in no figure.")
    assertNotContains(page, "failed, so the curve")


def test_the_home_page_has_no_finding_of_it(reader, runs, ada):
    aside.set_aside(runs[2], ada, "A backup ran.")
    [finding] = reader.get(reverse("home")).context["page"].findings
    assert "reaches 105 TPS" in finding.verdict.words
