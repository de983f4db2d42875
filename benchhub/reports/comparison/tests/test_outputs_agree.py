"""Page, API, CSV and document are made from one comparison: they show the same numbers, to the digit."""

import json

import pytest
from django.http import QueryDict

from benchhub.reports.comparison.comparison import Comparison
from benchhub.reports.comparison.state import State
from benchhub.reports.sharing import publish
from benchhub.reports.testing import both, rows_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def state(experiment, systems, prices):
    """The second system as baseline, a latency ceiling, and prices over five years."""
    keys = [f"{experiment.pk}-{system.pk}" for system in systems]
    query = QueryDict(mutable=True)
    query.setlist("curve", keys)
    query.update({"baseline": keys[1], "ceiling_ms": "50", "term": "5"})
    return State.read(query)


def test_page_api_csv_and_document_show_the_same_ratios_and_prices(reader, state):
    comparison = Comparison.load(state)
    ratios = {
        (cell.entry.key, row.clients): cell.ratio.value
        for row in comparison.levels
        for cell in row.cells
        if cell and cell.ratio
    }
    prices = {row.system_curve.system.label: [cell.price for cell in row.cells] for row in comparison.prices.rows}
    assert ratios and all(prices.values())

    api = json.loads(reader.get(f"/api/v1/comparisons/{state.address()}").content)
    assert {(row["key"], row["clients"]): row["ratio"] for row in api["ratios"] if row["ratio"]} == ratios
    assert [row["price"] for row in api["prices"]["rows"]] == [f"{p:f}" for cells in prices.values() for p in cells]

    levels = rows_of(reader.get(f"/compare/{state.address(csv=['levels'])}"))
    assert sorted(float(row["ratio"]) for row in levels if row["ratio"]) == sorted(ratios.values())

    document = json.loads(publish.comparison_now(state))
    table = next(table for table in document["tables"] if table["id"] == "prices")
    place = [column["name"] for column in table["columns"]].index("price")
    assert [row[place] for row in table["rows"]] == [f"{p}" for cells in prices.values() for p in cells]

    page = reader.get(f"/compare/{state.address()}").content.decode()
    for cells in prices.values():
        assert all(f"{price:,f}" in page for price in cells)
    for text in [str(claim) for _, claims in comparison.claims for claim in claims[1:]]:
        assert text in page
        assert text in json.dumps(document)
        assert text in api["findings"][0]["sentences"] + api["findings"][1]["sentences"]


def test_what_is_missing_is_said_in_the_same_words_everywhere(reader, experiment, systems):
    address = f"{both(experiment, systems)}&curve=998-999"
    sentence = "There is no curve 998-999."
    assert sentence in reader.get(address).content.decode()
    api = reader.get(address.replace("/compare/", "/api/v1/comparisons/"))
    assert json.loads(api.content)["problems"] == [sentence]
    for refusing in ("/api/v1/tuning-steps/", "/api/v1/comparisons/document/"):
        answer = reader.get(address.replace("/compare/", refusing))
        assert (answer.status_code, json.loads(answer.content)["detail"]) == (409, sentence)
