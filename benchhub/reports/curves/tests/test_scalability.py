import pytest
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.analysis.curves import curve
from benchhub.analysis.curves.curve import RunPoint
from benchhub.bench.models import System
from benchhub.reports.curves import scalability as curves_scalability
from benchhub.reports.curves.curves import SystemCurve
from benchhub.reports.testing import both

LEVELS = (1, 2, 4, 8, 16, 32, 64)


def made(throughput, label="PostgreSQL 18", levels=LEVELS):
    points = [
        RunPoint(clients, clients, throughput(clients) * (1 + percent / 100), "TPS", "p", "s")
        for clients in levels
        for percent in (-0.5, 0.0, 0.5)
    ]
    return SystemCurve(System(label=label), 0, curve.build(points))


def usl(clients):
    return 1000 * clients / (1 + 0.02 * (clients - 1) + 0.0005 * clients * (clients - 1))


def test_the_law_is_drawn_over_the_data_and_no_further():
    panel = curves_scalability.panel([made(usl)])
    marks, line = panel.figure["data"]
    assert (min(line["x"]), max(line["x"])) == (1, pytest.approx(64))
    assert marks["x"] == list(LEVELS)
    text = " ".join(panel.sentences)
    assert "PostgreSQL 18: one client gives 1,000 (" in text
    assert "contention is 2 (" in text
    assert "The law puts the peak at 44 clients, within what was run." in text


def test_a_peak_beyond_the_data_is_called_an_extrapolation():
    text = " ".join(curves_scalability.panel([made(usl, levels=(1, 2, 4, 8, 16))]).sentences)
    assert "beyond the 16 that were run: an extrapolation, not a measurement" in text


def test_a_curve_that_does_not_follow_the_law_gets_no_line_and_says_so():
    panel = curves_scalability.panel([made(lambda clients: usl(clients) * (0.6 if clients == 8 else 1))])
    assert [trace["mode"] for trace in panel.figure["data"]] == ["markers"]
    text = " ".join(panel.sentences)
    assert "PostgreSQL 18 does not follow the law" in text
    assert "contention is" not in text


def test_residuals_stand_in_the_table():
    rows = curves_scalability.panel([made(usl)]).rows
    assert [row.values[1] for row in rows] == list(LEVELS)
    assert all(abs(row.values[4]) < 0.01 for row in rows)


@pytest.mark.django_db
def test_a_comparison_of_few_levels_says_why_there_is_no_law(reader, repeated, systems):
    response = reader.get(both(repeated, systems))
    assertContains(response, "The law is fitted to 5 levels or more of one curve.")
    assertNotContains(response, 'id="figure-law"')
