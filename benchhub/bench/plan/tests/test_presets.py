import tomllib
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.http import QueryDict
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.bench.models import Design, Experiment, Run
from benchhub.bench.plan import presets
from benchhub.bench.plan.testing import FREE_FORM, NEW, PLAN, form_of, look
from benchhub.catalog.models import Workload

pytestmark = pytest.mark.django_db


@pytest.fixture
def filled(servers, recipe):
    return form_of(recipe, *servers)


def started(planner, preset, *servers):
    """Return what a browser would send of a preset's form, once the systems are chosen."""
    address = planner.post(reverse("presets"), {"preset": preset}).url
    draft = planner.get(address).context["page"].draft
    form = {}
    for field in draft.plan:
        value = field.value()
        form[field.html_name] = (
            value if isinstance(value, list) else "" if value is None or value is False else str(value)
        )
    systems = {f"systems-{i}-instance": str(instance.pk) for i, instance in enumerate(servers)}
    count = str(len(servers))
    return {**form, **systems, "systems-TOTAL_FORMS": count, "systems-INITIAL_FORMS": count}


def test_the_method_of_report_a_is_1280_runs_and_6400_minutes_of_load_with_initialisation_apart(planner, servers):
    form = started(planner, "report-a", *servers)
    preview = look(QueryDict(urlencode(form, doseq=True)))
    costs = preview.costs
    # 2 systems x 4 scales x 2 ratios x 80 levels; 300 s each.
    assert costs.runs == 2 * 4 * 2 * 80 == 1280
    assert costs.load_s == 1280 * 300 == 6400 * 60
    # Each scale is loaded once into each instance: the second ratio finds it there.
    assert [part.load_count for part in preview.parts] == [2, 0] * 4
    assert (costs.loads, costs.warmup_runs, costs.restarts, costs.warmup_s) == (8, 0, 0, 0)
    assert [part.run_count for part in preview.parts] == [160] * 8
    assert {part.experiment.workload.parameters["scale"] for part in preview.parts} == {100, 300, 1000, 3000}
    assert [part.experiment.thread_rule for part in preview.parts] == ["clients/2", "clients"] * 4
    page = planner.post(PLAN, form)
    assertContains(page, "6,400")
    assertContains(page, "160 clients may be more than pg 16.4 lets in")
    assertNotContains(page, "At 2..160:2 clients the threads do not divide")


@pytest.mark.whole
def test_the_queued_design_of_report_a_has_its_runs_in_eight_experiments_and_its_translation(planner, servers):
    response = planner.post(NEW, {**started(planner, "report-a", *servers), "queue": "1"})
    design = Design.objects.get()
    assertRedirects(response, reverse("design", args=[design.pk]))
    assert design.experiments.count() == 8
    assert Run.objects.filter(kind=Run.Kind.MEASURE).count() == 1280
    assert Run.objects.filter(kind=Run.Kind.LOAD).count() == 8
    first = design.experiments.order_by("pk").first().runs.order_by("position")
    assert [(run.clients, run.threads) for run in first[2:5]] == [(2, 1), (4, 2), (6, 3)]
    page = planner.get(reverse("design", args=[design.pk]))
    assertContains(page, "Client:thread ratios of 2:1 and 1:1")
    assertContains(page, "The method of report A: select-only, scale 3,000, threads clients")


def test_the_method_of_report_b_is_five_trials_at_random_after_a_warm_up_on_data_that_is_loaded_once(planner, servers):
    form = started(planner, "report-b", servers[1])
    costs = look(QueryDict(urlencode(form, doseq=True))).costs
    assert (costs.runs, costs.load_s) == (2 * 9 * 5, 90 * 300)
    assert (costs.loads, costs.warmup_runs) == (1, 2)
    assert costs.rest_s == 90 * 60
    planner.post(NEW, {**form, "queue": "1"})
    runs = list(Experiment.objects.order_by("pk").first().runs.order_by("position"))
    assert [run.kind for run in runs[:3]] == ["load", "warmup", "measure"]
    assert (runs[1].clients, runs[1].spec["duration_s"], runs[1].spec["warmup_s"]) == (1, 600, 0)
    trials = [[run.clients for run in runs[2:] if run.repeat == repeat] for repeat in range(1, 6)]
    assert all(sorted(trial) == [2, 4, 8, 16, 32, 48, 64, 80, 128] for trial in trials)
    assert len({tuple(trial) for trial in trials}) > 1
    assert [run.repeat for run in runs[2:]] == sorted(run.repeat for run in runs[2:])


def test_a_preset_adds_the_workloads_that_are_missing_once_and_queues_nothing(planner):
    for _ in range(2):
        planner.post(reverse("presets"), {"preset": "report-b"})
    assert sorted(Workload.objects.values_list("name", flat=True)) == ["range count (report B)", "select-only"]
    assert not Experiment.objects.exists()
    assertContains(planner.get(reverse("presets")), r"\set aid random(1, :naccounts - 10000)")


def test_a_preset_that_is_opened_by_its_link_has_its_workloads_and_adds_them_once(planner):
    for _ in range(2):
        draft = planner.get(NEW, {"preset": "report-b"}).context["page"].draft
    keys = list(Workload.objects.order_by("pk").values_list("pk", flat=True))
    assert [draft.plan["workload"].value(), *draft.plan["more_workloads"].value()] == keys and len(keys) == 2
    assert not Experiment.objects.exists()


def test_the_levels_of_report_a_leave_out_three_of_its_own_peaks_which_a_grid_of_fours_has(planner):
    content = tomllib.loads((settings.BASE_DIR / "fixtures/published/report-a.toml").read_text())
    peaks = [(row["ratio"], int(row["clients"])) for row in content["result"]]
    levels = range(2, 161, 2)
    assert presets.REPORT_A.values["levels"] == "2..160:2"
    assert sorted(clients for _, clients in peaks if clients not in levels) == [244, 260, 292]
    two_to_one = [clients for ratio, clients in peaks if ratio == "2:1"]
    assert len(two_to_one) == 16 and set(two_to_one) <= set(range(4, 321, 4))
    assertContains(planner.get(reverse("presets")), "Inferred, not printed")
    assertContains(planner.get(reverse("presets")), "lie beyond: 244, 260 and 292 clients")


def test_the_form_of_a_preset_shows_its_translation_and_keeps_it_when_something_is_wrong(planner, filled):
    planner.post(reverse("presets"), {"preset": "report-b"})
    assertContains(planner.get(NEW, {"preset": "report-b"}), r"\setrandom is gone")
    assertContains(
        planner.post(NEW, {**filled, "preset": "report-b", "levels": "x", "queue": "1"}), r"\setrandom is gone"
    )
    assertNotContains(planner.get(FREE_FORM), r"\setrandom is gone")
    assert planner.get(NEW, {"preset": "none such"}).status_code == 200
