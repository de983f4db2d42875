"""Peaks over time: worked out by hand, then from the page of a plan that recurs."""

import csv
from datetime import UTC, datetime, time, timedelta
from io import StringIO

import pytest
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.analysis.statistics.spread import summarise
from benchhub.bench import testing
from benchhub.bench.models import Experiment, Protocol, Recurrence
from benchhub.reports.recurrences.trend import BROKEN, TOO_FEW, UNLIKE, Occasion, trend

DAY = timedelta(days=1)
START = datetime(2026, 11, 1, 22, tzinfo=UTC)
PAGE_QUERIES = 9


def occasion(day, values, *, series=0, protocol="a", unit="TPS"):
    return Occasion(START + day * DAY, day + 1, f"system {series}", series, protocol, 8, unit, summarise(values))


def test_a_row_for_each_occasion_has_the_peak_its_interval_its_range_or_neither():
    panel = trend([occasion(0, (990.0, 1000.0, 1010.0)), occasion(1, (900.0, 1000.0)), occasion(2, (1100.0,))])
    interval, repeats, single = (row.values for row in panel.rows)
    assert interval[:5] == ("2026-11-01 22:00", "1", "system 0", 1000, "TPS")
    assert [str(value) for value in interval[5:]] == ["975", "1030", "95% interval", "3", "8", "1"]
    assert [str(value) for value in repeats[5:9]] == ["900", "1000", "range", "2"]
    assert single[5:9] == (None, None, "one run", 1)


def test_a_line_for_each_system_goes_from_time_to_time():
    panel = trend([occasion(day, (1000.0 + series,), series=series) for day in (0, 1) for series in (0, 1)])
    first, second = panel.figure["data"]
    assert first["x"] == ["2026-11-01T22:00:00+00:00", "2026-11-02T22:00:00+00:00"]
    assert (first["y"], second["y"]) == ([1000.0, 1000.0], [1001.0, 1001.0])
    assert [trace["meta"]["series"] for trace in (first, second)] == [0, 1]
    assert BROKEN not in panel.sentences


def test_a_line_breaks_where_the_conditions_changed_and_says_so():
    panel = trend([occasion(0, (1000.0,)), occasion(1, (1001.0,)), occasion(2, (2000.0,), protocol="b")])
    assert [trace["y"] for trace in panel.figure["data"]] == [[1000.0, 1001.0], [2000.0]]
    assert [trace["showlegend"] for trace in panel.figure["data"]] == [True, False]
    assert [row.values[-1] for row in panel.rows] == [1, 1, 2]
    assert panel.sentences == (BROKEN,)


def test_systems_under_conditions_of_their_own_break_no_line():
    protocols = {0: "a", 1: "b"}
    panel = trend([occasion(day, (1000.0,), series=n, protocol=protocols[n]) for day in (0, 1) for n in (0, 1)])
    assert [row.values[-1] for row in panel.rows] == [1, 1, 1, 1]
    assert panel.sentences == ()


def test_one_occasion_is_no_trend_and_unlike_units_share_no_axis():
    assert trend([occasion(0, (1000.0,)), occasion(0, (900.0,), series=1)]).refusal == TOO_FEW
    assert trend([]).refusal == TOO_FEW
    assert trend([occasion(0, (1000.0,)), occasion(1, (900.0,), unit="MQTh")]).refusal == UNLIKE


def test_plotly_takes_the_figure():
    from plotly.graph_objects import Figure

    assert len(Figure(trend([occasion(0, (1.0, 2.0, 3.0)), occasion(1, (1.0, 2.0))]).figure).data) == 2


@pytest.fixture
def plan(systems):
    """A plan with a peak of 1,120 TPS on 18, and the occasion after it, where that was 1,200 of another protocol."""
    experiment = testing.make_experiment(systems, name="Nightly")
    rule = {"weekdays": [0], "starts_at": time(22), "zone": "UTC", "next_at": timezone.now()}
    recurrence = Recurrence.objects.create(plan=experiment, **rule)
    later = testing.make_experiment(systems, name="Nightly")
    Experiment.objects.filter(pk=later.pk).update(occasion_of=recurrence)
    other = Protocol.stored({"path": "socket", "duration_s": 300})
    for made, tps, protocol in ((experiment, 1120.0, {}), (later, 1200.0, {"protocol": other})):
        testing.succeeded(testing.make_run(made, systems[1], 8, 1, **protocol), tps)
        testing.succeeded(testing.make_run(made, systems[1], 1, 1, **protocol), 300.0)
    return experiment


@pytest.mark.django_db
def test_the_page_draws_the_peaks_of_plan_and_occasions_and_offers_them_as_csv(reader, plan, django_assert_num_queries):
    page = reverse("recurrence", args=[plan.pk])
    response = reader.get(page)
    assertContains(response, 'data-figure="figure-trend"')
    assertContains(response, BROKEN)
    with django_assert_num_queries(PAGE_QUERIES):
        reader.get(page)
    rows = list(csv.DictReader(StringIO(reader.get(f"{page}?csv=trend").content.decode())))
    assert [(row["System"], row["Peak"], row["Conditions"]) for row in rows] == [
        ("PostgreSQL 18", "1120", "1"),
        ("PostgreSQL 18", "1200", "2"),
    ]
    assert "300" not in {row["Peak"] for row in rows}


@pytest.mark.django_db
def test_a_plan_that_has_not_come_again_has_no_chart_and_says_why(reader, plan):
    Experiment.objects.filter(occasion_of__isnull=False).update(occasion_of=None)
    response = reader.get(reverse("recurrence", args=[plan.pk]))
    assertContains(response, TOO_FEW)
    assertNotContains(response, "figure-trend")
