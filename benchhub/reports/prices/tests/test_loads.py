from datetime import date

import pytest
from django.http import QueryDict

from benchhub.analysis.curves import curve
from benchhub.analysis.curves.curve import RunPoint
from benchhub.analysis.curves.latencies import Histogram
from benchhub.analysis.pricing.money import PricingError
from benchhub.reports.prices.loads import at
from benchhub.reports.prices.terms import terms


def point(run, clients, tps, average=None, p95_us=None):
    histogram = Histogram([p95_us], [p95_us + 1], [500], p95_us, p95_us) if p95_us else None
    return RunPoint(run, clients, tps, "TPS", "p", "s", latency_average_ms=average, histogram=histogram)


CURVE = curve.build(
    [
        point(1, 1, 300.0, average=3.0),
        point(2, 8, 1000.0, average=8.0, p95_us=12_000),
        point(3, 8, 1020.0, average=7.8, p95_us=15_000),
        point(4, 16, 900.0, average=18.0, p95_us=40_000),
    ]
)


def found(query):
    return at(CURVE, terms(QueryDict(query), date(2026, 6, 30)))


def test_the_peak_is_the_highest_geometric_mean_and_its_runs_are_named():
    level = found("")
    assert level.words == "peak at 8 clients"
    assert level.throughput.evidence == "geometric mean of runs 2 and 3 at 8 clients, the peak of the curve"


def test_a_peak_at_the_edge_says_so():
    edge = curve.build([point(1, 1, 300.0)])
    assert at(edge, terms(QueryDict(""), date(2026, 6, 30))).words == "peak at 1 client, the edge of what was run"


def test_a_number_of_clients_is_a_level_that_was_measured_and_nothing_in_between():
    assert found("load=16").throughput.value == 900
    with pytest.raises(PricingError, match=r"12 clients were not measured. Choose a level that was: 1, 8, 16."):
        found("load=12")


def test_a_ceiling_holds_the_p95_of_all_transactions_where_it_is_known_and_says_which():
    assert found("load=latency&ceiling=15").words == "at 8 clients, p95 latency 15 ms"
    below = found("load=latency&ceiling=14.9")  # half of the transactions at 8 clients took 12 ms, half 15 ms
    assert below.words == "at 1 client, average latency 3 ms"
    assert below.throughput.value == 300


def test_a_ceiling_that_no_level_keeps_names_the_lowest_latency():
    with pytest.raises(PricingError, match=r"No level keeps 2 ms: the lowest latency measured is 3 ms\."):
        found("load=latency&ceiling=2")
