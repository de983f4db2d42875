"""The machine of a pooler in the prices and tables of a snapshot."""

import csv
import io
from dataclasses import replace

import pytest
from django.http import QueryDict

from benchhub.bench.models import System
from benchhub.catalog.models import Hardware
from benchhub.reports.comparison import csv as comparison_csv
from benchhub.reports.comparison.answers import systems as sides
from benchhub.reports.prices.pricing import Pricing
from benchhub.reports.prices.testing import BOX, TODAY, drawn, listed, price_book
from benchhub.reports.sharing.frozen import pricing as frozen
from benchhub.reports.testing import list_price, variant

SMALL = Hardware(pk=4, name="Small box", sockets=1, cores_per_socket=4)


def totals(priced):
    return [[cell.quote.total for cell in row.cells] for row in priced.table.rows]


@pytest.fixture
def priced():
    """A system with a pooler on a machine of its own, and one without."""
    pooled = replace(drawn(1000.0), system=System(label="pooled", hardware=BOX, pooler_hardware=SMALL))
    machines = {3: (listed("5000"),), 4: (listed("700", pk=2),)}
    licences = {7: (listed("4200", pk=3),), 8: (listed("1800", pk=4),)}
    book = replace(price_book(), of_hardware=machines, of_licence_model=licences)
    return Pricing([pooled, drawn(1000.0, series=1)], ["1-1", "1-2"], QueryDict("term=1"), book, TODAY)


def test_a_snapshot_prices_the_machine_of_a_pooler_as_the_comparison_did(priced):
    document = {"source": {"prices": [{}], "pricing": frozen.freeze(priced)}}
    assert totals(frozen.pricing(document, QueryDict("term=1"))) == totals(priced)
    with_pooler, without = totals(priced)
    assert with_pooler[1] - without[1] == 700 + 4 * 1800


def test_the_tables_name_the_machine_of_a_pooler_beside_that_of_the_server(priced):
    rows = {side.name: side.values for side in sides.hardware(priced.curves)}
    assert (rows["Machine of the pooler"], rows["Cores of the pooler"]) == (("Small box", ""), (4, ""))
    lines = csv.DictReader(io.StringIO(comparison_csv.prices(priced.table)))
    names = {(line["curve"], line["hardware"], line["pooler_hardware"]) for line in lines}
    assert names == {("pooled", "Box", "Small box"), ("PostgreSQL 18", "Box", "")}


def test_no_row_is_about_poolers_where_none_has_a_machine(priced):
    assert not [side.name for side in sides.hardware(priced.curves[1:]) if "pooler" in side.name]


@pytest.fixture
def systems(systems):
    """Two systems, of which the second has a pooler on a machine of its own."""
    machine = Hardware.objects.create(name="Contoso P2", sockets=1, cores_per_socket=4)
    list_price("700", hardware=machine)
    return [systems[0], variant(systems[1], pooler_hardware_id=machine.pk)]


@pytest.mark.django_db
def test_the_machine_of_a_pooler_is_hidden_with_the_names_of_vendors(client, share):
    for hidden, is_shown in (((), True), (("vendor",), False)):
        _, address = share(hidden)
        for name in ("", "data.json", "systems.csv", "prices.csv"):
            assert ("Contoso" in client.get(address + name).content.decode()) is is_shown, (hidden, name)
