import csv
import io

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench import testing

pytestmark = pytest.mark.django_db


def page_of(experiment):
    return reverse("experiment", args=[experiment.pk])


def test_each_curve_says_how_far_to_trust_it_and_what_its_peak_is(reader, repeated):
    response = reader.get(page_of(repeated))
    assertContains(response, "PostgreSQL 16: <b>no reason for doubt was found</b>")
    assertContains(response, "Its best throughput is 1,000 TPS, between 990 and 1,010, at 8 clients.")


def test_two_repeats_leave_no_estimate_of_the_peak_and_a_reason(reader, experiment):
    response = reader.get(page_of(experiment))
    assertContains(response, "No peak is estimated: that needs three repeats", count=2)
    assertContains(response, "Fewer than 3 repeats at every level: no interval, and no test. Add repeats.", count=2)
    assertNotContains(response, "Its best throughput")


def test_where_three_repeats_lie_too_far_apart_for_an_interval_it_is_said_that_a_range_is_shown(reader, systems):
    experiment = testing.make_experiment(systems[:1], name="Wide", repeats=3)
    for clients, values in ((1, (500.0, 510.0, 490.0)), (8, (100.0, 1000.0, 30_000.0))):
        for repeat, tps in enumerate(values, start=1):
            testing.succeeded(testing.make_run(experiment, systems[0], clients, repeat), tps)
    response = reader.get(page_of(experiment))
    assertContains(response, "A bar with caps is a 95% interval; a dotted bar is the range of 3 repeats.")
    assertContains(response, "An interval needs three runs, and is not shown where it says nothing.")
    rows = csv.DictReader(io.StringIO(reader.get(f"{page_of(experiment)}curve.csv").content.decode()))
    assert [(row["clients"], row["low_to_high_is"]) for row in rows] == [
        ("1", "95% interval of the geometric mean"),
        ("8", "range of repeats"),
    ]


def test_an_outlier_is_named_and_kept(reader, repeated, systems):
    odd = testing.make_run(repeated, systems[0], 8, 6)
    testing.succeeded(odd, 500.0)
    response = reader.get(page_of(repeated))
    assertContains(response, f"run {odd.pk} is an outlier</a>", count=1)
    rows = csv.DictReader(io.StringIO(reader.get(f"{page_of(repeated)}curve.csv").content.decode()))
    row = next(row for row in rows if row["clients"] == "8" and row["system"] == "PostgreSQL 16")
    assert (row["n"], row["outlier_run"], row["lowest"]) == ("6", str(odd.pk), "500.0")


def test_an_outlier_that_is_far_off_leaves_its_curve_without_intervals_and_says_so(reader, repeated, systems):
    testing.succeeded(testing.make_run(repeated, systems[0], 8, 6), 500.0)
    response = reader.get(page_of(repeated))
    assertContains(response, "PostgreSQL 16 has no intervals: 1 of 16 runs is 50% below its repeats: a stall", count=1)
    assertContains(response, "No peak is estimated: 1 of 16 runs is 50% below its repeats: a stall", count=1)
    rows = list(csv.DictReader(io.StringIO(reader.get(f"{page_of(repeated)}curve.csv").content.decode())))
    kinds = {(row["system"], row["low_to_high_is"]) for row in rows}
    assert kinds == {("PostgreSQL 16", "range of repeats"), ("PostgreSQL 18", "95% interval of the geometric mean")}


def test_the_csv_has_the_standard_deviation_and_says_what_its_interval_is(reader, repeated):
    rows = list(csv.DictReader(io.StringIO(reader.get(f"{page_of(repeated)}curve.csv").content.decode())))
    # -1, 1, 0, 0.5 and -0.5% of 300: s = 3 x sqrt(2.5 / 4) = 2.372
    assert float(rows[0]["sd"]) == pytest.approx(2.372, abs=0.001)
    assert rows[0]["low_to_high_is"] == "95% interval of the geometric mean"
    assert float(rows[0]["low"]) < float(rows[0]["geometric_mean"]) < float(rows[0]["high"])
