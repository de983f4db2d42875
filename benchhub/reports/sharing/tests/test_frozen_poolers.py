"""The machine of a pooler in what a snapshot froze of its prices."""

from dataclasses import replace

from django.http import QueryDict

from benchhub.bench.models import System
from benchhub.catalog.models import Hardware
from benchhub.reports.prices.pricing import Pricing
from benchhub.reports.prices.testing import BOX, TODAY, drawn, listed, price_book
from benchhub.reports.sharing.frozen import pricing as frozen

SMALL = Hardware(pk=4, name="Small box", sockets=1, cores_per_socket=4)


def totals(priced):
    return [[cell.quote.total for cell in row.cells] for row in priced.table.rows]


def test_a_snapshot_prices_the_machine_of_a_pooler_as_the_comparison_did():
    pooled = replace(drawn(1000.0), system=System(label="pooled", hardware=BOX, pooler_hardware=SMALL))
    machines = {3: (listed("5000"),), 4: (listed("700", pk=2),)}
    licences = {7: (listed("4200", pk=3),), 8: (listed("1800", pk=4),)}
    book = replace(price_book(), of_hardware=machines, of_licence_model=licences)
    priced = Pricing([pooled, drawn(1000.0, series=1)], ["1-1", "1-2"], QueryDict("term=1"), book, TODAY)
    document = {"source": {"prices": [{}], "pricing": frozen.freeze(priced)}}
    assert totals(frozen.pricing(document, QueryDict("term=1"))) == totals(priced)
    with_pooler, without = totals(priced)
    assert with_pooler[1] - without[1] == 700 + 4 * 1800
