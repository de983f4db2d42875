"""A price of a million transactions in the place of that of a unit: the same money, told in another measure."""

from decimal import Decimal

import pytest
from django.http import QueryDict

from benchhub.reports.comparison.comparison import Comparison
from benchhub.reports.comparison.state import State
from benchhub.reports.testing import key

pytestmark = pytest.mark.django_db


def comparison(experiment, systems, **terms):
    query = QueryDict(mutable=True)
    query.setlist("curve", [key(experiment, system) for system in systems])
    query.update(terms)
    return Comparison.load(State.read(query))


def test_all_that_is_said_of_a_price_is_of_a_million_transactions_where_the_terms_ask_for_it(repeated, systems, prices):
    usual, per_million = (comparison(repeated, systems, **terms) for terms in ({}, {"per": "million"}))
    (_, of_unit), (_, of_million) = usual.prices.quoted[0], per_million.prices.quoted[0]
    # 3 years of 31,536,000 s at half of the throughput are 47,304,000 s of it: 47.304 million transactions a TPS.
    assert of_million.amounts.price == pytest.approx(of_unit.quote.quotient / Decimal("47.304"), rel=Decimal("0.01"))
    for end in ("lowest", "highest"):
        expected = getattr(of_unit.amounts, end) / Decimal("47.304")
        assert getattr(of_million.amounts, end) == pytest.approx(expected, rel=Decimal("0.01"))
    assert (of_million.price, of_million.lowest) == (of_unit.price, of_unit.lowest)  # as tables for programs have it
    tile = per_million.answer.tiles[1]
    assert (tile.title, tile.value) == ("Price per million transactions", f"{_best(per_million):,}")
    assert usual.answer.tiles[1].title == "Price per TPS"
    texts = " ".join(per_million.answer.sentences)
    assert "per TPS" not in texts
    assert per_million.answer.verdict == usual.answer.verdict


def test_another_measure_is_refused_with_a_sentence(repeated, systems, prices):
    terms = comparison(repeated, systems, per="dozen").prices.terms
    assert terms.problems["per"].startswith("Choose the price of a unit of throughput or of a million transactions.")
    assert terms.per == "unit"


def _best(comparison):
    return min(cell.amounts.price for _, cell in comparison.prices.quoted)
