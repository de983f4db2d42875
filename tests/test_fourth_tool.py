"""A load generator of one module and one line in the registry is planned, run, read, compared and shared."""

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.asserts import assertContains

from benchhub.bench.models import Experiment, Run
from benchhub.bench.models.states import State
from benchhub.bench.plan.testing import NEW, PLAN, form_of
from benchhub.catalog.models import Instance, Workload
from benchhub.reports.models import Comparison
from runners import tools
from tests.fourth_tool import Counting

pytestmark = [pytest.mark.django_db, pytest.mark.target]


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(tools, "TOOLS", {**tools.TOOLS, "counting": Counting()})


@pytest.fixture
def counting(planner):
    """The workload, as somebody adds it in the browser."""
    address = reverse("workload-add") + "?kind=counting"
    assertContains(planner.get(address), "Counting")
    sent = {"name": "counting", "tool": "counting", "rows": "500", "order": "backward"}
    assert planner.post(address, sent).status_code == 302
    return Workload.objects.get()


def test_its_workload_is_asked_for_listed_and_found_by_what_it_says_of_itself(planner, counting):
    assert (counting.tool, counting.parameters) == ("counting", {"rows": 500, "order": "backward"})
    assertContains(planner.get(reverse("workloads"), {"script": "backward"}), "500 counted rows")
    assertContains(planner.get(reverse("workload", args=[counting.pk])), "<dt>order</dt>", html=True)
    refused = planner.post(
        reverse("workload-add") + "?kind=counting", {"name": "none", "tool": "counting", "rows": "0"}
    )
    assertContains(refused, "At least 1 rows.")
    answer = planner.post(
        "/api/v1/workloads/",
        {"kind": "counting", "name": "by program", "rows": 7, "order": "forward"},
        content_type="application/json",
    )
    assert (answer.status_code, answer.json()["parameters"]) == (201, {"rows": 7, "order": "forward"})


def test_it_is_planned_run_read_compared_and_shared(planner, worker, system, machine, counting, cluster16, cluster18):
    for cluster in (cluster16, cluster18):
        system(cluster)
    sent = form_of(counting, *Instance.objects.order_by("name"), levels="1, 2", repeats="1")
    hardware = {f"systems-{place}-hardware": str(machine.pk) for place in (0, 1)}
    sent |= {**hardware, "duration_s": "2", "warmup_s": "0"}
    assertContains(planner.post(PLAN, {**sent, "levels": "1, 8"}), "Counting is done by at most 4 clients")
    assert planner.post(NEW, {**sent, "queue": "1"}).status_code == 302

    experiment = Experiment.objects.get()
    runs = worker.finish(experiment)
    assert [run.state for run in runs] == [State.SUCCEEDED] * 6, [run.reason for run in runs]
    measured = [run for run in runs if run.kind == Run.Kind.MEASURE]
    assert all(run.result.unit == "QPS" and run.result.throughput > 0 for run in measured)
    assertContains(planner.get(reverse("run", args=[measured[0].pk])), "QPS")

    query = "curve=" + "&curve=".join(f"{experiment.pk}-{system.pk}" for system in experiment.systems.all())
    page = planner.get(f"{reverse('compare')}?{query}")
    for text in ("QPS", "cluster16", "cluster18"):
        assertContains(page, text)
    planner.post(f"{reverse('comparison-new')}?{query}", {"title": "Which counts faster"})
    comparison = Comparison.objects.get()
    planner.post(reverse("comparison-publish", args=[comparison.pk]))
    address = reverse("link-new", args=[comparison.snapshots.get().pk])
    review = planner.post(address, {"name": "a reader"}).context["page"].review
    answer = planner.post(address, {"name": "a reader", "reviewed": review.digest})
    reader = Client().get(answer.context["address"])
    assertContains(reader, "Which counts faster")
    assertContains(reader, "QPS")
