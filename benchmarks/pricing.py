"""Measure quotes with their full derivation per minute on one core, beside a bare quotient in Decimal.

The order is a primary and an exempt standby, under a licence per core with factor, minimum, packs, tiers, discount and
support with uplift, priced in another currency: every stage of the pipeline. Limit: at least 100,000 a minute. The
peer does nothing but divide and round the same numbers. Best of several rounds, as a shared machine only adds time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import date
from decimal import ROUND_HALF_UP, Decimal

from benchhub.analysis.pricing.licences.cost import Licence
from benchhub.analysis.pricing.licences.rules_form import rules_from
from benchhub.analysis.pricing.listed import Price
from benchhub.analysis.pricing.money import Rate
from benchhub.analysis.pricing.quote import Order, Quote, Terms, Throughput, quote
from benchhub.analysis.pricing.topology import Deployment, Machine, Node

LIMIT_PER_MINUTE = 100_000
QUOTES = 2_000
BARE = 200_000
ROUNDS = 5
DAY = date(2026, 1, 1)
RULES = {
    "metric": "core",
    "exempt_roles": ["standby"],
    "minimum_per_socket": 4,
    "factors": [{"processor": "Xeon", "factor": "0.5", "since": "2020-01-01"}],
    "minimum_per_server": 16,
    "pack": 2,
    "tiers": [{"from_units": 11, "percent_off": "10"}, {"from_units": 21, "percent_off": "20"}],
    "discount_percent": "12.5",
    "payment": "perpetual",
    "support_percent": "22",
    "yearly_uplift_percent": "3",
}
THROUGHPUT = Throughput(Decimal(123_456), Decimal(120_000), Decimal(125_000), "TPS", "median of runs 1, 2 and 3")
TERMS = Terms(on=DAY, rates=(Rate("EUR", "USD", Decimal("1.0875"), DAY, "a bank"),))


def main() -> int:
    order = sample()
    example = quote(order, THROUGHPUT, TERMS)
    assert isinstance(example, Quote)
    print("\n".join(f"  {step}" for step in example.steps))
    structured = per_minute(lambda: quote(order, THROUGHPUT, TERMS), QUOTES)
    read = per_minute(lambda: sentences(order), QUOTES)
    bare = per_minute(lambda: quotient(example.total), BARE)
    print(f"{len(example.steps)} steps each, on one core, best of {ROUNDS} rounds:")
    print(
        f"{'structured steps':24} {structured:12,.0f} quotes a minute, {bare / structured:6.0f}x the time of the peer"
    )
    print(f"{'sentences written out':24} {read:12,.0f} quotes a minute, {bare / read:6.0f}x the time of the peer")
    print(f"{'peer: a bare quotient':24} {bare:12,.0f} a minute")
    is_within = read >= LIMIT_PER_MINUTE
    print(
        f"limit {LIMIT_PER_MINUTE:,} a minute, sentences included: {'within' if is_within else 'NOT within'} the limit"
    )
    return 0 if is_within else 1


def sample() -> Order:
    machine = Machine("server", 2, 24, 2, Decimal(512), "Xeon")
    hardware = (Price("server", Decimal("18364.50"), "EUR", DAY, "a quotation", 1),)
    nodes = (Node(machine, prices=hardware), Node(machine, role="standby", prices=hardware))
    licence = Licence("per core", rules_from(RULES), (Price("core", Decimal(7000), "USD", DAY, "a price list", 2),))
    return Order(Deployment(nodes), (licence,))


def sentences(order: Order) -> list[str]:
    quoted = quote(order, THROUGHPUT, TERMS)
    assert isinstance(quoted, Quote)
    return [str(step) for step in quoted.steps]


def quotient(total: Decimal) -> Decimal:
    return (total / THROUGHPUT.value).quantize(Decimal("0.01"), ROUND_HALF_UP)


def per_minute(work: Callable[[], object], times: int) -> float:
    best_s = min(timed_s(work, times) for _ in range(ROUNDS))
    return 60 * times / best_s


def timed_s(work: Callable[[], object], times: int) -> float:
    start = time.process_time()
    for _ in range(times):
        work()
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main())
