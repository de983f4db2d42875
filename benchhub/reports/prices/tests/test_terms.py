from datetime import date
from decimal import Decimal

import pytest
from django.http import QueryDict

from benchhub.reports.prices.terms import terms

TODAY = date(2026, 6, 30)


def asked(query):
    return terms(QueryDict(query), TODAY)


def test_terms_are_as_usual_unless_asked_otherwise():
    price_terms = asked("")
    assert (price_terms.years, price_terms.rounding, price_terms.licences, price_terms.hidden_parameters) == (
        3,
        "nearest",
        frozenset(),
        (),
    )
    assert (price_terms.load, price_terms.day, price_terms.currency, price_terms.standbys) == ("peak", TODAY, "", 0)
    assert (price_terms.discount_percent, price_terms.utilisation_percent, price_terms.users) == (0, 50, None)
    assert price_terms.words == "3 years"
    assert price_terms.problems == {}
    assert not price_terms.has_unusual


def test_terms_are_read_from_the_address_and_the_rest_of_it_is_kept():
    price_terms = asked("curve=1-2&curve=1-3&term=1&rounding=up&licence=7&licence=8&baseline=1-2&drawn=7")
    assert (price_terms.years, price_terms.rounding, price_terms.licences) == (1, "up", frozenset({7, 8}))
    assert price_terms.hidden_parameters == (("curve", "1-2"), ("curve", "1-3"), ("baseline", "1-2"), ("drawn", "7"))
    assert price_terms.words == "1 year, rounded up"


def test_the_less_usual_terms_are_read_too_and_said():
    price_terms = asked(
        "day=2026-01-31&discount=12.5&support=18&standbys=2&utilisation=30&load=latency&ceiling=2.5&currency=USD&users=40"
    )
    assert (price_terms.day, price_terms.discount_percent, price_terms.standbys) == (
        date(2026, 1, 31),
        Decimal("12.5"),
        2,
    )
    assert (price_terms.utilisation_percent, price_terms.load, price_terms.ceiling_ms) == (
        30,
        "latency",
        Decimal("2.5"),
    )
    assert (price_terms.currency, price_terms.users, price_terms.support_percent) == ("USD", 40, 18)
    words = "3 years, 12.5% off everything, support at 18% a year, with 2 standbys"
    words += ", by the prices of 2026-01-31"
    assert price_terms.words == words
    assert price_terms.has_unusual


def test_a_load_may_be_a_number_of_clients():
    assert asked("load=16").clients == 16
    assert asked("load=peak").clients is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("term", "0"),
        ("term", "6"),
        ("term", "3.0"),
        ("term", "٣"),
        ("term", "x"),
        ("rounding", "down"),
        ("licence", "x"),
        ("licence", "²"),
        ("load", "most"),
        ("load", "0"),
        ("ceiling", "0"),
        ("ceiling", "-1"),
        ("ceiling", "10 ms"),
        ("ceiling", "NaN"),
        ("day", "31.1.2026"),
        ("day", "2026-02-30"),
        ("day", "2026-07-01"),
        ("currency", "euro"),
        ("discount", "101"),
        ("discount", "-5"),
        ("discount", "1e1"),
        ("discount", "12,5"),
        ("support", "101"),
        ("support", "x"),
        ("standbys", "10"),
        ("standbys", "1.5"),
        ("utilisation", "0"),
        ("utilisation", "100.1"),
        ("users", "0"),
    ],
)
def test_what_is_not_understood_gets_a_sentence_beside_its_control_and_changes_nothing(name, text):
    price_terms = asked(f"{name}={text}")
    assert list(price_terms.problems) == [name]
    assert price_terms.problems[name].endswith((".", "these."))
    usual = asked("")
    for field in ("years", "rounding", "licences", "load", "ceiling_ms", "day", "currency", "standbys", "words"):
        assert getattr(price_terms, field) == getattr(usual, field)


def test_what_was_typed_wrongly_is_not_lost():
    assert asked("discount=101").typed["discount"] == "101"
    assert "is still to come" in asked("day=2026-07-01").problems["day"]


@pytest.mark.parametrize("query", ["discount=0", "discount=100", "standbys=9", "utilisation=100", "day=2026-06-30"])
def test_the_ends_of_each_range_belong_to_it(query):
    assert asked(query).problems == {}
