"""Open loops on the page of an experiment: by the offered rate, with the capacity, and never on the axis of clients."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse
from django.utils import timezone
from plotly.graph_objects import Figure
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.analysis.curves.open_loop import Rate
from benchhub.analysis.protocol import digest as digests
from benchhub.bench import testing
from benchhub.bench.models import Experiment, Run, levels
from benchhub.bench.plan import plan, repeats, specs
from benchhub.catalog.models import DataSet
from benchhub.reports.board import trends
from benchhub.reports.comparison import queries as comparison_queries
from benchhub.reports.comparison.comparison import Comparison
from benchhub.reports.comparison.state import State
from benchhub.reports.curves import sweeps
from benchhub.reports.experiments import queries

pytestmark = pytest.mark.django_db


@pytest.fixture
def system():
    hardware = testing.make_box()
    return testing.make_system("18", testing.make_host(), hardware)


@pytest.fixture
def experiment(system):
    """1,000 to 3,000 TPS from 16 clients within 5 ms: the highest rate was not held in its one run."""
    template = testing.make_experiment([system])
    values = {"client_levels": [16], "rates_tps": [1000, 2000, 3000], "latency_limit_us": 5000, "duration_s": 100}
    experiment = Experiment(
        name="e", workload=template.workload, client_build=template.client_build, client_bin_directory="/b", **values
    )
    plan.queue(experiment, [system])
    recipe = {"tool": "pgbench", "scale": 10}
    fields = {"recipe": recipe, "recipe_digest": digests.digest(recipe), "size_bytes": 1, "checksum": "x"}
    DataSet.objects.create(instance=system.instance, build=system.build, **fields)
    return experiment


def end(run, late):
    sent = run.rate_tps * 100
    counts = {"transactions": sent, "late_transactions": late, "skipped_transactions": 0}
    measures = {name: {"value": value, "unit": "transactions"} for name, value in counts.items()}
    measures["rate_limit_lag_average_ms"] = {"value": 0.25, "unit": "ms"}
    testing.succeeded(run, float(run.rate_tps), measures=measures, latency_p99_ms=4.5)


@pytest.fixture
def measured(experiment):
    for run in experiment.runs.filter(kind="measure"):
        end(run, late=run.rate_tps * 50 if run.rate_tps == 3000 else 0)
    return experiment


@pytest.fixture
def reader(client):
    client.force_login(get_user_model().objects.create_user("ada"))
    return client


def test_each_rate_is_a_run_from_the_same_clients_under_one_protocol_which_no_closed_loop_has(experiment, system):
    runs = list(experiment.runs.filter(kind="measure").order_by("position"))
    assert [(run.clients, run.rate_tps) for run in runs] == [(16, 1000), (16, 2000), (16, 3000)]
    assert [run.spec["parameters"]["rate_tps"] for run in runs] == [1000, 2000, 3000]
    assert {run.spec["parameters"]["latency_limit_ms"] for run in runs} == {5.0}
    [protocol] = {run.protocol for run in runs}
    assert protocol.form["open_loop"] == {"clients": 16, "latency_limit_us": 5000}
    closed = specs.protocol_form(testing.make_experiment([system], client_levels=[16], duration_s=100), system)
    assert "open_loop" not in closed
    assert digests.differing_fields(protocol.form, closed) == ["open_loop"]


def test_the_page_says_the_capacity_and_that_latency_includes_the_lag_and_has_no_axis_of_clients(reader, measured):
    page = reader.get(reverse("experiment", args=[measured.pk]))
    assertContains(page, "the capacity lies between 2,000 TPS, held in one run, and 3,000 TPS.")
    assertContains(page, "so it includes the schedule lag")
    assertContains(page, "offered rate (TPS)")
    assertContains(page, "50% were late or skipped")
    assertNotContains(page, "Throughput and latency against clients")
    assert queries.protocols(measured) == []


def test_a_comparison_never_puts_them_on_the_axis_of_clients(reader, measured):
    assert not Run.objects.measured().exists()
    assert Run.objects.counted().count() == 3
    assert comparison_queries.of_experiment(measured.pk) == []
    key = f"{measured.pk}-{measured.systems.get().pk}"
    assertContains(reader.get(reverse("compare"), {"curve": key}), "is left out")


def test_no_peak_place_price_or_trend_comes_of_an_offered_rate(reader, measured):
    """The PDF and the prices are made of a comparison, too: they have what it has."""
    key = f"{measured.pk}-{measured.systems.get().pk}"
    assert {row["peak_throughput"] for row in reader.get("/api/v1/curves/").json()["results"]} <= {None}
    comparison = Comparison.load(State.of_curves([key]))
    assert comparison.curves == () and len(comparison.left_out) == 1
    assert list(trends.trends(timezone.now())) == []
    assertNotContains(reader.get(reverse("leaderboard")), key)


def test_the_figures_are_figures_to_plotly(measured):
    system_sweeps = sweeps.sweeps(measured, queries.systems(measured))
    assert Figure(sweeps.throughput_figure(system_sweeps)).data[1].x == (1000, 2000, 3000)
    assert Figure(sweeps.latency_figure(system_sweeps)).data[0].y == (4.5, 4.5, 4.5)


def test_the_line_joins_the_medians_and_never_one_repeat_to_another(measured):
    [sweep] = sweeps.sweeps(measured, queries.systems(measured))
    slower = [replace(run, run=run.run + 100, achieved_tps=run.achieved_tps - 100) for run in sweep.rates[0].runs]
    twice = replace(sweep, rates=(Rate(1000, (*sweep.rates[0].runs, *slower)), *sweep.rates[1:]))
    done = sweep.rates[0].runs[0].achieved_tps
    _, each, line = Figure(sweeps.throughput_figure([twice])).data
    assert (each.mode, each.x, each.y[:2]) == ("markers", (1000, 1000, 2000, 3000), (done, done - 100))
    assert (line.mode, line.x, line.y[0]) == ("lines", (1000, 2000, 3000), done - 50)
    _, percentiles = Figure(sweeps.latency_figure([twice])).data
    assert percentiles.x == (2000, 3000), "without their histograms two percentiles are not put together"


def test_the_download_has_a_line_per_run(reader, measured):
    lines = reader.get(reverse("experiment-curve", args=[measured.pk])).content.decode().splitlines()
    assert lines[0].startswith("system,limit_ms,is_held,run,offered_tps,achieved_tps")
    assert [line.split(",")[1:3] for line in lines[1:]] == [["5.0", "True"], ["5.0", "True"], ["5.0", "False"]]


def test_a_rate_is_made_of_its_newest_runs_and_page_and_file_say_how_many_are_left_out(reader, measured, monkeypatch):
    monkeypatch.setattr(levels, "MOST_REPEATS", 1)
    first = measured.runs.get(rate_tps=2000)
    [added] = repeats.add(measured, [2000], 1)
    end(added, late=0)
    Run.objects.filter(pk=added.pk).update(started_at=timezone.now() + timedelta(days=1))
    [sweep] = sweeps.sweeps(measured, queries.systems(measured))
    assert [(rate.offered_tps, [run.run for run in rate.runs], rate.left_out) for rate in sweep.rates][1] == (
        2000, [added.pk], 1,
    )  # fmt: skip
    assert first.pk not in {run.run for rate in sweep.rates for run in rate.runs}
    assertContains(
        reader.get(reverse("experiment", args=[measured.pk])),
        "1 older run is in the list of runs alone: a rate is made of its newest 1.",
    )
    lines = reader.get(reverse("experiment-curve", args=[measured.pk])).content.decode().splitlines()
    assert [line.split(",")[-1] for line in lines] == ["left_out", "0", "1", "0"]


def test_repeats_are_added_at_rates(measured):
    added = repeats.add(measured, [2000], 2)
    assert [(run.clients, run.rate_tps, run.repeat) for run in added] == [(16, 2000, 2), (16, 2000, 3)]


def test_a_run_without_a_result_is_no_rate(experiment):
    first, *_ = experiment.runs.filter(kind="measure")
    testing.ended(first, "failed")
    assert sweeps.sweeps(experiment, queries.systems(experiment)) == []
