"""The part of the new-experiment form that lets a plan grow."""

import pytest

from benchhub.bench import testing
from benchhub.bench.models import Experiment
from benchhub.bench.plan import preview
from benchhub.bench.plan.testing import NEW, form_of
from benchhub.catalog.models import Workload

pytestmark = pytest.mark.django_db


@pytest.fixture
def instances():
    host = testing.probed_host("16.4", "18.1")
    return [testing.make_instance(host, version) for version in ("16.4", "18.1")]


@pytest.fixture
def workload():
    return Workload.objects.create(name="select-only", tool="pgbench", parameters=testing.PARAMETERS)


def test_a_search_is_queued_with_its_budget_and_nothing_of_the_grid(planner, instances, workload):
    form = form_of(workload, instances[0], levels="2..160:2", grows="peak", precision_percent="2")
    planner.post(NEW, {**form, "queue": "1"})
    experiment = Experiment.objects.get()
    assert (experiment.grows, experiment.most_runs, experiment.noisy_runs) == ("peak", 12, 24)
    assert (experiment.precision, experiment.repeats) == (0.02, 1)
    assert [run.kind for run in experiment.runs.all()] == ["load"]


def test_the_plan_shows_what_a_search_takes_at_most(planner, instances, workload):
    page = planner.post("/experiments/plan", form_of(workload, instances[0], levels="2..160:2", grows="peak"))
    text = page.content.decode()
    assert "at most 12, or 24 where they scatter widely" in text
    assert '<dt>Runs, at most</dt><dd>24</dd><dd class="within">and 1 initialisation</dd>' in text


def test_a_decision_takes_two_systems_and_one_level(planner, instances, workload):
    form = form_of(workload, *instances, levels="8", grows="decide")
    planner.post(NEW, {**form, "queue": "1"})
    experiment = Experiment.objects.get()
    assert (experiment.grows, experiment.most_runs, experiment.noisy_runs) == ("decide", 40, 40)
    assert experiment.precision == 0.02


@pytest.mark.parametrize(
    ("fields", "count", "sentence"),
    [
        ({"grows": "peak", "levels": "2..160:2"}, 2, "A search is for one system"),
        ({"grows": "peak", "levels": "2, 4"}, 1, "at least 3 levels"),
        ({"grows": "ceiling", "levels": "2..160:2"}, 1, "Say which average latency"),
        ({"grows": "decide", "levels": "8"}, 1, "between two systems"),
        ({"grows": "decide", "levels": "4, 8"}, 2, "made at one level"),
        ({"grows": "peak", "levels": "2..160:2", "left_out": "clients=4"}, 1, "remove the conditions"),
        ({"grows": "peak", "levels": "2..160:2", "canary": "on"}, 1, "has no canary"),
        ({"grows": "peak", "levels": "2..160:2", "scales": "1, 10"}, 1, "one workload, one scale"),
        ({"grows": "peak", "levels": "2..160:2", "precision_percent": "0"}, 1, "Precision"),
        ({"grows": "all"}, 1, "Which levels are run"),
    ],
)
def test_what_cannot_grow_is_refused_beside_its_field_and_nothing_is_lost(
    planner, instances, workload, fields, count, sentence
):
    form = form_of(workload, *instances[:count], **fields)
    page = planner.post(NEW, {**form, "queue": "1"})
    assert not Experiment.objects.exists()
    assert sentence in page.content.decode()
    assert page.context["page"].draft.plan["levels"].value() == form["levels"]


def test_a_similar_plan_grows_alike(planner, instances, workload):
    form = form_of(workload, instances[0], levels="2..160:2", grows="ceiling", ceiling_ms="2.5", most_runs="20")
    planner.post(NEW, {**form, "queue": "1"})
    values, _ = preview.like(Experiment.objects.get())
    assert (values["grows"], values["most_runs"], values["ceiling_ms"]) == ("ceiling", 20, 2.5)
    assert values["precision_percent"] == 1
