"""Other runs beside a run: lines from the start of each load, and what differs between the environments."""

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.models import Found, RunTelemetry
from benchhub.bench.results.telemetry import sysstat
from benchhub.bench.run_page.beside import numbers_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair():
    """Two runs of two builds with telemetry; their kernels differ."""
    hardware, host = testing.make_box(), testing.make_host()
    systems = [testing.make_system(version, host, hardware) for version in ("16", "18")]
    experiment = testing.make_experiment(systems)
    made = []
    for system, kernel in zip(systems, ("6.1", "6.8"), strict=True):
        run = testing.make_run(experiment, system, 8, 1)
        testing.succeeded(run, 1000.0)
        testing.with_everything(run)
        testing.observed(run)
        Found.objects.filter(run=run).update(host={"kernel": kernel, "boot_epoch_s": run.pk, "cpu_mhz": run.pk})
        server = {"epoch_s": run.pk, "postmaster_start_epoch_s": run.pk}
        Found.objects.filter(run=run).update(server=server)
        made.append(run)
    return made


def test_numbers_are_read_each_once_and_at_most_four():
    assert numbers_in(" 3, x, 3,, -1, 5") == [3, 5]
    assert numbers_in("1,2,3,4,5") == [1, 2, 3, 4]
    assert numbers_in("9" * 400) == []


def test_the_other_run_has_its_lines_and_the_page_says_what_differs_first(planner, pair):
    one_run, other = pair
    response = planner.get(reverse("run", args=[one_run.pk]), {"with": str(other.pk)})
    page = response.context["page"]
    lines = {panel.title: [line.name for line in panel.lines] for panel in page.timeline.first}
    assert lines["Throughput"] == ["TPS", f"run {other.pk}"]
    assert f"run {other.pk} busy" in lines["CPU"]
    assert not page.timeline.has_ghosts
    names = [difference.name for difference in page.environment_differences]
    assert names[0] == "Build"
    assert any("kernel" in name for name in names)
    assert not any("boot" in name or "mhz" in name.lower() or name.startswith("Server, ") for name in names)
    assertContains(response, "What differs:")


def test_runs_that_nobody_observed_are_drawn_on_one_axis_by_their_load(planner, pair):
    one_run, other = pair
    RunTelemetry.objects.all().delete()
    address = reverse("run", args=[one_run.pk])
    alone = planner.get(address)
    assert alone.context["page"].timeline is None
    assertContains(alone, "Other runs on the same axis", count=1)
    assertContains(alone, 'id="timeline"', count=1)
    response = planner.get(address, {"with": str(other.pk)})
    lines = {panel.title: [line.name for line in panel.lines] for panel in response.context["page"].timeline.first}
    assert lines["Throughput"] == ["TPS", f"run {other.pk}"]
    assert "CPU" not in lines
    assertContains(response, reverse("run-series", args=[one_run.pk]))
    assertContains(response, "Load over time")
    assertNotContains(response, "machine and server over time")
    part = planner.get(reverse("run-part", args=[one_run.pk, "series"]), headers={"HX-Request": "true"})
    assertContains(part, "Download CSV")
    assertNotContains(part, "runs-beside")


def test_a_run_that_is_not_there_or_itself_is_left_out(planner, pair):
    response = planner.get(reverse("run", args=[pair[0].pk]), {"with": f"{pair[0].pk}, 999999"})
    assert response.context["page"].beside == []
    assertNotContains(response, "What differs:")


def test_runs_beside_take_a_fixed_number_of_queries(planner, pair, django_assert_max_num_queries):
    address = reverse("run", args=[pair[0].pk])
    with django_assert_max_num_queries(14):
        planner.get(address, {"with": str(pair[1].pk)})


def test_a_line_out_of_sysstat_says_so_beside_another_run(planner, pair):
    run, other = pair
    other.telemetry.all().delete()
    other.series.all().delete()
    testing.dated(other)
    sysstat.store(other, testing.sysstat_json(nodename="db7"), make_user("ann", Role.RUNNER))
    response = planner.get(reverse("run", args=[run.pk]), {"with": str(other.pk)})
    names = {source.name for source in response.context["page"].timeline.sources}
    assert f"run {other.pk} busy, by sysstat on db7" in names
