import csv

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench import testing
from benchhub.bench.models import Protocol
from benchhub.catalog.models import Hardware, Workload

pytestmark = pytest.mark.django_db
ADDRESS = "/leaderboard/"
REPEATS = (-1.0, 1.0, 0.0, 0.5, -0.5)


def page(reader, **query):
    return reader.get(ADDRESS, query).context["page"]


def places(reader, **query):
    return [(standing.place, standing.entry.label) for standing in page(reader, **query).standings]


def measured(system, tps, *, name="Again", protocol=None, **fields):
    """An experiment with five repeats at 8 clients that scatter by a per cent."""
    experiment = testing.make_experiment([system], name=name, **fields)
    kwargs = {"protocol": Protocol.stored(protocol)} if protocol else {}
    for repeat, percent in enumerate(REPEATS, start=1):
        testing.succeeded(testing.make_run(experiment, system, 8, repeat, **kwargs), tps * (1 + percent / 100))
    return experiment


def test_nothing_is_ranked_before_there_is_a_result(reader):
    assertContains(reader.get(ADDRESS), "nothing to rank")


def test_systems_are_ranked_by_their_peaks_with_interval_and_ratio(reader, repeated):
    assert places(reader) == [(1, "PostgreSQL 18"), (2, "PostgreSQL 16")]
    response = reader.get(ADDRESS)
    for text in (
        "Fastest: PostgreSQL 18, 1,120 TPS at 8 clients",
        "1,120",
        "at 8 clients",
        "0.89x (0.8",  # 1,000 of 1,120
        "Compare the first 2",
        reverse("experiment", args=[repeated.pk]),
    ):
        assertContains(response, text)
    assertNotContains(response, "1.12x</")
    standing = page(reader).standings[1]
    assert standing.verdict == "less"


def test_systems_that_are_not_told_apart_share_a_place(reader, systems, host, hardware):
    third = testing.make_system("17", host, hardware)
    for system, tps in zip((*systems, third), (1000.0, 1001.0, 500.0), strict=True):
        measured(system, tps)
    assert places(reader) == [(1, "PostgreSQL 18"), (1, "PostgreSQL 16"), (3, "PostgreSQL 17")]


def test_the_newest_finished_curve_of_a_system_counts(reader, systems):
    for system in systems:
        measured(system, 1000.0)
    newest = measured(systems[0], 500.0)
    under_way = measured(systems[0], 9000.0)
    testing.make_run(under_way, systems[0], 16, 1)
    last = page(reader).standings[-1]
    assert (last.entry.label, last.entry.experiment) == ("PostgreSQL 16", newest)


def test_protocols_are_never_ranked_together(reader, systems):
    measured(systems[0], 1000.0)
    measured(systems[1], 9000.0, protocol={"path": "socket", "duration_s": 5})
    board = page(reader)
    assert len(board.standings) == 1
    assert sorted(words for _, words in board.protocols) == ["duration 5 s (1 system)", "duration default (1 system)"]
    other = next(digest for digest in board.newest if digest != board.protocol)
    assert places(reader, protocol=other) != places(reader)
    assert places(reader, protocol="nonsense") == places(reader)


def test_workloads_are_chosen_and_those_without_a_curve_are_not_offered(reader, systems):
    Workload.objects.create(name="never run", tool="pgbench", parameters=testing.PARAMETERS)
    tpcb = Workload.objects.create(name="tpcb", tool="pgbench", parameters=testing.PARAMETERS)
    measured(systems[0], 1000.0)
    measured(systems[1], 200.0, workload=tpcb)
    assertNotContains(reader.get(ADDRESS), "never run")
    assert places(reader, workload=tpcb.pk) == [(1, "PostgreSQL 18")]
    assert places(reader, workload="9" * 30) == places(reader)


def test_by_price_each_system_stands_under_each_licence(reader, repeated, prices):
    board = page(reader, by="price")
    assert [(row.place, row.entry.label, row.cell.licence) for row in board.standings][:2] == [
        (1, "PostgreSQL 18", "Hardware only"),
        (2, "PostgreSQL 16", "Hardware only"),
    ]
    quotients = [row.cell.quote.quotient for row in board.standings]
    assert quotients == sorted(quotients) and len(quotients) == 6
    assertContains(reader.get(ADDRESS, {"by": "price"}), "4.46")


def test_the_terms_change_the_order_by_price(reader, systems, prices):
    big = Hardware.objects.create(name="Small", sockets=1, cores_per_socket=1)
    measured(systems[0], 1000.0)
    three = page(reader, by="price", term="3").standings[0].cell.quote.total
    assert page(reader, by="price", licence=str(prices["core"].pk)).standings[0].cell.licence == "Per core"
    assert page(reader, by="price", discount="50").standings[0].cell.quote.total < three
    assert big.pk


def test_what_has_no_price_is_named_with_the_reason(reader, systems):
    measured(systems[0], 1000.0)
    response = reader.get(ADDRESS, {"by": "price"})
    assertContains(response, "Nothing here has a price")


def test_csv_has_the_exact_values_of_the_page(reader, repeated, prices):
    text = reader.get(reverse("leaderboard-csv"), {"by": "price"}).content.decode()
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) == 6
    assert (rows[0]["place"], rows[0]["system"], rows[0]["unit"]) == ("1", "PostgreSQL 18", "TPS")
    assert float(rows[0]["price"]) == pytest.approx(5000 / 1120, rel=0.001)
    plain = list(csv.DictReader(reader.get(reverse("leaderboard-csv")).content.decode().splitlines()))
    assert [row["licence"] for row in plain] == ["", ""]


def test_the_first_systems_lead_to_their_comparison(reader, repeated, systems):
    keys = [f"curve={repeated.pk}-{system.pk}" for system in reversed(systems)]
    assert page(reader).compare_address == f"/compare/?{'&'.join(keys)}"


def test_more_systems_take_no_more_queries(reader, systems, host, hardware, django_assert_max_num_queries):
    measured(systems[0], 1000.0)
    with django_assert_max_num_queries(20):
        reader.get(ADDRESS, {"by": "price"})
    for number in range(19, 23):
        measured(testing.make_system(str(number), host, hardware), 1000.0 + number)
    with django_assert_max_num_queries(20):
        reader.get(ADDRESS, {"by": "price"})
