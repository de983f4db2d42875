import csv
import io

import pytest
from django.urls import reverse

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.models import LatencyHistogram

pytestmark = pytest.mark.django_db


@pytest.fixture
def run():
    made = testing.make_measured_run()
    testing.with_everything(made)
    return made


@pytest.fixture
def viewer(client):
    client.force_login(make_user("vera", Role.VIEWER))
    return client


def lines(answer):
    assert "attachment" in answer["Content-Disposition"]
    return list(csv.reader(io.StringIO(answer.content.decode())))


def test_what_is_drawn_over_time_is_downloaded_exactly_with_its_units(viewer, run):
    heads, *rows = lines(viewer.get(reverse("run-series", args=[run.pk])))
    assert heads == ["metric", "unit", "second", "value"]
    # TPS of 900 and 1,100; latencies of 1.5 ms and one that is not known.
    assert [row[1] + row[3] for row in rows] == ["TPS900.0", "TPS1100.0", "ms1.5", "ms"]
    assert [float(row[2]) for row in rows[:2]] == [1.0, 2.0]


def test_latencies_are_downloaded_by_bucket_without_the_empty_ones(viewer, run):
    LatencyHistogram.objects.update(lower_us=[100, 200, 300], upper_us=[101, 201, 301], counts=[75, 0, 25], name="=a")
    heads, *rows = lines(viewer.get(reverse("run-latency", args=[run.pk])))
    assert heads[1:4] == ["lowest_us", "below_us", "transactions"]
    # A name that a spreadsheet would compute is kept as text.
    assert rows == [["'=a", "100", "101", "75", "0.25"], ["'=a", "300", "301", "25", "0.25"]]


def test_the_page_of_a_run_leads_to_both_and_one_without_figures_to_neither(viewer, run):
    page = viewer.get(reverse("run", args=[run.pk])).content.decode()
    assert reverse("run-series", args=[run.pk]) in page and reverse("run-latency", args=[run.pk]) in page
    waiting = testing.make_run(run.experiment, run.system, 8, 2)
    page = viewer.get(reverse("run", args=[waiting.pk])).content.decode()
    assert "series.csv" not in page and "latency.csv" not in page
