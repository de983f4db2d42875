from datetime import date
from decimal import Decimal

import pytest
from django.http import QueryDict

from benchhub.analysis import curve
from benchhub.analysis.curve import RunPoint
from benchhub.bench.models import System
from benchhub.catalog.models import Hardware, LicenceModel, ListPrice
from benchhub.reports import prices
from benchhub.reports.curves import SystemCurve
from benchhub.reports.queries import Prices

BOX = Hardware(pk=3, name="Box", sockets=2, cores_per_socket=10)
PER_SOCKET = LicenceModel(pk=7, name="Per socket", metric="socket")
PER_CORE = LicenceModel(pk=8, name="Per core", metric="core")


def listed(amount, currency="EUR"):
    words = {"description": "line", "source": "a quote", "priced_on": date(2026, 1, 1)}
    return ListPrice(pk=1, amount=Decimal(amount), currency=currency, **words)


def drawn(*tps, unit="TPS"):
    built = curve.build(RunPoint(number, 8, value, unit, "p", "s") for number, value in enumerate(tps))
    return SystemCurve(System(label="PostgreSQL 18", hardware=BOX), 0, built)


def known(box="5000", socket="4200", core="1800"):
    models = {7: socket, 8: core}
    return Prices(
        (PER_SOCKET, PER_CORE),
        {3: listed(box)} if box else {},
        {pk: listed(amount) for pk, amount in models.items() if amount},
    )


def asked(query):
    return prices.terms(QueryDict(query))


def shown(query="", curves=None, **amounts):
    table = prices.table(curves or [drawn(1000.0)], known(**amounts), asked(query))
    return [[str(cell.price) for cell in row.cells] for row in table.rows]


def test_terms_are_three_years_to_nearest_under_all_licences_unless_asked_otherwise():
    terms = asked("")
    assert (terms.years, terms.rounding, terms.licences, terms.kept) == (3, "nearest", frozenset(), ())
    assert terms.words == "3 years, rounded to nearest"


def test_terms_are_read_from_the_address_and_the_rest_of_it_is_kept():
    terms = asked("curve=1-2&curve=1-3&term=1&rounding=up&licence=7&licence=8&baseline=1-2")
    assert (terms.years, terms.rounding, terms.licences) == (1, "up", frozenset({7, 8}))
    assert terms.kept == (("curve", "1-2"), ("curve", "1-3"), ("baseline", "1-2"))
    assert terms.words == "1 year, rounded up"


@pytest.mark.parametrize(
    "query", ["term=0", "term=6", "term=-1", "term=3.0", "term=٣", "term=x", "rounding=down", "licence=x", "licence=²"]
)
def test_what_an_address_does_not_mean_is_left_aside(query):
    assert asked(query) == asked("")


@pytest.mark.parametrize(
    ("query", "per_socket", "per_core"),
    [
        ("term=1", "13.40", "41.00"),  # 5,000 + 1 x 2 x 4,200 = 13,400; 5,000 + 1 x 20 x 1,800 = 41,000
        ("term=2", "21.80", "77.00"),
        ("term=3", "30.20", "113.00"),
        ("term=4", "38.60", "149.00"),
        ("term=5", "47.00", "185.00"),
    ],
)
def test_each_term_has_its_price(query, per_socket, per_core):
    assert shown(query) == [[per_socket, per_core]]


def test_the_range_is_rounded_the_way_the_price_is():
    table = prices.table([drawn(900.0, 1100.0)], known(), asked("rounding=up&term=1"))
    cell = table.rows[0].cells[0]  # 13,400 / 1,000, / 1,100 = 12.1818, / 900 = 14.8889
    assert [str(value) for value in (cell.price, cell.lowest, cell.highest)] == ["13.40", "12.19", "14.89"]


def test_only_the_licences_asked_for_are_shown_and_all_where_none_of_them_exists():
    assert shown("licence=8") == [["113.00"]]
    assert shown("licence=99") == [["30.20", "113.00"]]


def test_a_missing_price_names_what_to_add_and_leaves_the_others_alone():
    cells = prices.table([drawn(1000.0)], known(core=None), asked("")).rows[0].cells
    assert (str(cells[0].price), cells[1].quote, cells[1].missing) == ("30.20", None, "licence_model:8")
    cells = prices.table([drawn(1000.0)], known(box=None), asked("")).rows[0].cells
    assert [cell.missing for cell in cells] == ["hardware:3", "hardware:3"]


def test_the_cheapest_is_marked_in_each_column_and_nothing_where_there_is_no_choice():
    marks = [
        [cell.is_cheapest for cell in row.cells]
        for row in prices.table([drawn(1000.0), drawn(2000.0)], known(), asked("")).rows
    ]
    assert marks == [[False, False], [True, True]]
    assert not prices.table([drawn(1000.0)], known(), asked("")).rows[0].cells[0].is_cheapest


def test_there_is_nothing_to_price_without_licence_models_or_curves():
    assert prices.table([], known(), asked("")).rows == ()
    assert prices.table([drawn(1000.0)], Prices((), {}, {}), asked("")).licence_models == ()
