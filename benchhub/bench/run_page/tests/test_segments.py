"""The segments of a load shape: a table of plan and outcome, its CSV, and the planned rate over time."""

import csv
import io

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench import testing
from benchhub.bench.models import LatencyHistogram, Series
from benchhub.bench.run_page.timeline.panels import of_load

pytestmark = pytest.mark.django_db
MEASURES = {
    "segment_1_offered_tps": 100.5, "segment_1_achieved_tps": 99.5, "segment_1_lag_average_ms": 0.25,
    "segment_1_lag_max_ms": 3.5, "segment_1_skipped": 0.0, "segment_2_offered_tps": 398.0,
}  # fmt: skip


@pytest.fixture
def run():
    hardware = testing.make_box()
    system = testing.make_system("18", testing.make_host(), hardware)
    spec = testing.whole_spec()
    spec["parameters"] = {**spec["parameters"], "load_shape": "100 for 60, 400 for 20"}
    made = testing.make_run(testing.make_experiment([system]), system, 8, 1, spec=spec)
    result = testing.succeeded(made, 160.0)
    result.measures |= {name: {"value": value, "unit": "TPS"} for name, value in MEASURES.items()}
    result.save()
    LatencyHistogram.objects.create(
        run=made, name="latency of segment 1", lower_us=[1000], upper_us=[1002], counts=[5000], sum_us=5_000_000,
        min_us=1000, max_us=1001, sampling_rate=1.0,
    )  # fmt: skip
    return made


def test_each_segment_stands_with_its_plan_and_outcome(planner, run):
    response = planner.get(reverse("run", args=[run.pk]))
    first, second = response.context["page"].segments
    assert (first.start_s, first.end_s, first.planned_tps, first.offered_tps) == (0, 60, 100, 100.5)
    assert (first.logged, first.p99_ms) == (5000, pytest.approx(1.0, abs=0.002))
    assert (second.start_s, second.end_s, second.achieved_tps, second.p50_ms) == (60, 80, None, None)
    assertContains(response, '<td class="line">60 to 80 s</td>', html=True)
    skipped = '<td data-label="Skipped" class="n"><data value="0.0" title="0.0">0</data></td>'
    assertContains(response, skipped, html=True)
    # They stand in the table alone.
    assertNotContains(response, "segment 1 lag average")


def test_segments_are_downloaded_with_empty_cells_for_what_is_not_known(planner, run):
    answer = planner.get(reverse("run-segments", args=[run.pk]))
    heads, first, second = csv.reader(io.StringIO(answer.content.decode()))
    assert heads[:6] == ["segment", "from_s", "to_s", "planned_tps", "offered_tps", "achieved_tps"]
    assert first[:6] == ["1", "0", "60", "100", "100.5", "99.5"]
    assert second[:7] == ["2", "60", "80", "400", "398.0", "", "0"]


def test_a_run_of_one_rate_has_no_segments_and_nothing_to_download(planner, run):
    plain = testing.make_run(run.experiment, run.system, 8, 2)
    testing.succeeded(plain, 160.0)
    assertNotContains(planner.get(reverse("run", args=[plain.pk])), "Segments of the load")
    assert planner.get(reverse("run-segments", args=[plain.pk])).status_code == 404


def test_the_planned_rate_is_drawn_beside_the_throughput():
    rows = [Series(metric=name, unit="TPS", step_s=1.0, values=[1.0]) for name in ("tps", "planned_tps", "offered_tps")]
    assert [(source.panel, source.name) for source in of_load(rows)] == [
        ("Throughput", "TPS"), ("Throughput", "planned"),
    ]  # fmt: skip
