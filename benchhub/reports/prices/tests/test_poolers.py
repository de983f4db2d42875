"""The price of a system with a pooler on a machine of its own, by hand."""

from dataclasses import replace
from decimal import Decimal

import pytest

from benchhub.analysis.pricing.money import trimmed
from benchhub.bench.models import System
from benchhub.catalog.models import Hardware, LicenceModel
from benchhub.reports.prices.orders import Costs, NoPrice
from benchhub.reports.prices.terms import Terms
from benchhub.reports.prices.testing import BOX, PER_CORE, TODAY, listed, price_book

SMALL = Hardware(pk=4, name="Small box", sockets=1, cores_per_socket=4)
EXEMPT = LicenceModel(pk=8, name="Per core", metric="core", rules={"exempt_roles": ["pooler"]})
POOLED = System(label="pooled", hardware=BOX, pooler_hardware=SMALL)


def costs(standbys=0, small="700"):
    book = price_book()
    of_hardware = {**book.of_hardware, **({4: (listed(small),)} if small else {})}
    return Costs(replace(book, of_hardware=of_hardware), Terms(TODAY, years=1, standbys=standbys), TODAY)


@pytest.mark.parametrize(
    ("system", "model", "standbys", "total"),
    [
        (System(label="direct", hardware=BOX), PER_CORE, 0, "41000"),  # 5,000 + 20 cores x 1,800
        (POOLED, EXEMPT, 0, "41700"),  # and 700
        (POOLED, PER_CORE, 0, "48900"),  # and 4 cores more: the licence does not exempt the role
        (POOLED, EXEMPT, 1, "82700"),  # a standby has no pooler of its own
    ],
)
def test_the_machine_of_a_pooler_is_bought_once_and_licensed_unless_the_licence_exempts_it(
    system, model, standbys, total
):
    price = costs(standbys).price(system, model)
    assert trimmed(price.cost.total) == Decimal(total)


def test_systems_that_differ_by_their_pooler_alone_have_prices_of_their_own():
    both = costs()
    direct, pooled = (both.price(system, EXEMPT) for system in (System(label="direct", hardware=BOX), POOLED))
    assert pooled.cost.total - direct.cost.total == 700
    assert "Pooler: Small box is bought for it" in " ".join(step.sentence for step in pooled.steps)
    assert "Pooler" not in " ".join(step.sentence for step in direct.steps)


def test_a_pooler_without_a_price_leaves_the_system_without_one_and_says_which_row_lacks_it():
    price = costs(small="").price(POOLED, EXEMPT)
    assert isinstance(price, NoPrice)
    assert (price.missing, "'Small box'" in price.sentence) == ("hardware:4", True)
