"""Where two choices change places, each worked out by hand, and what holds for all of them."""

from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchhub.analysis.pricing.laboratory import flips, words
from benchhub.analysis.pricing.laboratory.axis import Axis, nice_above, step_for
from benchhub.analysis.pricing.laboratory.choices import Choice
from benchhub.analysis.pricing.laboratory.handles import (
    CORES,
    DISCOUNT,
    LICENCE_DISCOUNT,
    PRICE,
    TERM,
    THROUGHPUT,
    UTILISATION,
    Handles,
)
from benchhub.analysis.pricing.laboratory.laboratory import Laboratory
from benchhub.analysis.pricing.licences.cost import Licence
from benchhub.analysis.pricing.licences.rules_form import rules_from
from benchhub.analysis.pricing.listed import Price
from benchhub.analysis.pricing.quote import USUAL, Order, measured, quote
from benchhub.analysis.pricing.topology import POOLER, Deployment, Machine, Node
from benchhub.analysis.statistics.spread import summarise

BOX = Machine("Box", 2, 10)
SOCKET = {"metric": "socket"}
CORE = {"metric": "core"}


def price(amount):
    return Price("item", Decimal(amount), "EUR", date(2026, 1, 1), "a list", 1)


def choice(licence, amount, *repeats, system="18", machine=BOX, hardware="5000", **rules):
    """Make a system of so many TPS under a licence by that name, on a box of 2 x 10 cores for 5,000 EUR."""
    throughput = measured(summarise(repeats), repeats, "TPS", f"runs of {system}", 8)
    licences = (Licence(licence, rules_from(rules), (price(amount),)),)
    order = Order(Deployment((Node(machine, prices=(price(hardware),)),)), licences)
    return Choice(system, machine.name, licence, system, licence, order, throughput)


def prices(high, low="0"):
    return Axis(PRICE, Decimal(low), Decimal(high), step_for(Decimal(high)), unit="EUR per core and year")


def cores(low, high):
    return Axis(CORES, Decimal(low), Decimal(high), Decimal(1), noun="core per socket", plural="cores per socket")


def laboratory(axis, *choices, handles=None, terms=USUAL, **keys):
    return Laboratory(choices, terms, handles or Handles(hardware="Box", **keys), axis)


PER_SOCKET = choice("Per socket", "4200", 1000.0, **SOCKET)
PER_CORE = choice("Per core", "1800", 1000.0, **CORE)


def test_the_licence_price_at_which_two_licences_of_one_system_flip():
    # 20 cores x 420 EUR a year are the 2 x 4,200 EUR of the sockets, whatever the throughput.
    lab = laboratory(prices(3600), PER_SOCKET, PER_CORE, licence="Per core")
    [flip] = flips.flips(lab)
    assert (flip.first, flip.other) == (PER_CORE, PER_SOCKET)
    assert (flip.before, flip.value, flip.after) == (Decimal("419.99"), Decimal(420), Decimal("420.01"))
    assert flip.price == Fraction(5000 + 3 * 8400, 1000)
    assert words.sentence(lab.axis, [flip]) == (
        "Break-even at 420 EUR per core and year: below it Per core is the cheaper, above it Per socket for 18."
    )
    stretches = flips.cheapest(lab, [flip])
    assert [stretch.choices for stretch in stretches] == [(PER_CORE,), (PER_SOCKET,)]
    assert words.lead(lab.axis, stretches) == (
        "As measured, 18 under Per core is the cheapest below 420 EUR per core and year; "
        "from 420 EUR per core and year on 18 under Per socket is the cheapest."
    )


def test_a_flip_between_two_systems_weighs_their_throughput():
    # (5,000 + 60 p) / 1,200 = (5,000 + 25,200) / 1,000: p = 520.67
    faster = choice("Per core", "1800", 1200.0, system="faster", **CORE)
    [flip] = flips.flips(laboratory(prices(3600), PER_SOCKET, faster, licence="Per core"))
    assert (flip.before, flip.value, flip.after) == (Decimal("520.66"), Decimal("520.67"), Decimal("520.67"))
    assert flip.first == faster
    assert flip.zone.kind == "not tested"


def test_a_handle_of_one_licence_moves_no_other():
    lab = laboratory(prices(3600), PER_SOCKET, PER_CORE, licence="Per socket")
    assert lab.price(PER_CORE, Decimal(1)) == lab.price(PER_CORE, Decimal(3000)) == Fraction(113_000, 1000)
    # 2 x 3 x p = 108,000 at 18,000 EUR, beyond this axis
    assert flips.flips(lab) == []


def test_the_cores_from_which_another_licence_is_cheaper():
    # 2 x 1,800 x n against 8,400: with 2 cores 7,200, with 3 cores 10,800
    lab = laboratory(cores(1, 32), PER_SOCKET, PER_CORE)
    [flip] = flips.flips(lab)
    assert (flip.before, flip.value, flip.after) == (2, 3, 3)
    assert words.sentence(lab.axis, [flip]) == "From 3 cores per socket on Per socket is cheaper than Per core for 18."


def test_the_cores_of_a_server_move_none_of_its_pooler_and_both_ways_have_their_own_price():
    small = Node(Machine("Small", 1, 4), role=POOLER, prices=(price("700"),))
    order = PER_CORE.order
    deployment = replace(order.deployment, nodes=(*order.deployment.nodes, small))
    pooled = replace(PER_CORE, system="pooled", order=replace(order, deployment=deployment), pooler="Small")
    lab = laboratory(cores(1, 20), PER_CORE, pooled)
    # 5,000 + 2 x 4 cores x 3 years x 1,800, and 700 + 4 cores x 3 years x 1,800 for the pooler.
    assert lab.price(PER_CORE, Decimal(4)) == Fraction(5000 + 8 * 5400, 1000)
    assert lab.price(pooled, Decimal(4)) == Fraction(5700 + 12 * 5400, 1000)


def test_packs_and_minimums_make_steps_and_none_of_their_flips_is_missed():
    """At least 4 cores a socket, in packs of 8 cores a server: 8, 8, 8, 8, 16 (5 to 8), 24 (9 to 12) ... cores."""
    packed = choice("Packed", "100", 1000.0, metric="core", minimum_per_socket=4, pack=8)
    plain = choice("Plain", "150", 1000.0, **CORE)
    lab = laboratory(cores(1, 16), packed, plain)
    # Packed 800 | 800 | 800 | 800 | 1,600 ... 1,600 | 2,400 ...; plain 300, 600, 900, 1,200, 1,500, 1,800, 2,100, 2,400
    rows = [(flip.first.licence, int(flip.value)) for flip in flips.flips(lab)]
    assert rows == [("Plain", 3), ("Packed", 5), ("Plain", 6)]
    assert [len(stretch.choices) for stretch in flips.cheapest(lab, flips.flips(lab))] == [1, 1, 1, 1]


def test_costs_that_meet_for_a_while_flip_once_and_are_said_to_be_the_same():
    # 4 cores a server at least: 2 sockets of 1 or 2 cores cost 400; by the pair of cores 200, 400 and 600
    least = choice("At least four", "100", 1000.0, metric="core", minimum_per_server=4)
    plain = choice("Plain", "120", 1000.0, **CORE)
    lab = laboratory(cores(1, 4), least, plain)
    [flip] = flips.flips(lab)
    assert (flip.before, flip.value, flip.after) == (1, 2, 2)
    even = choice("Even", "100", 1000.0, **CORE)
    lab = laboratory(cores(1, 4), least, even)
    assert flips.flips(lab) == []
    stretches = flips.cheapest(lab, [])
    assert [(int(part.low), int(part.high), len(part.choices)) for part in stretches] == [(1, 1, 1), (2, 4, 2)]
    assert "from 2 cores per socket on 18 under At least four and 18 under Even cost the same" in words.lead(
        lab.axis, stretches
    )


def test_a_licence_that_ends_leaves_the_other_alone():
    small = choice("Small", "10", 1000.0, metric="core", max_cores=16)
    lab = laboratory(cores(1, 16), small, PER_CORE)
    [flip] = flips.flips(lab)
    assert (flip.first, flip.other, flip.is_end) == (small, PER_CORE, True)
    assert (flip.before, flip.value) == (8, 9)
    assert "only Per core can be bought" in words.sentence(lab.axis, [flip])
    assert lab.point(small, Decimal(9)).price is None
    assert "at most 16 physical cores" in lab.point(small, Decimal(9)).why


def test_the_term_from_which_buying_for_good_is_cheaper():
    # 20 x 1,800 each year against 100,000 once: 72,000 after 2 years, 108,000 after 3
    bought = choice("Bought", "5000", 1000.0, metric="core", payment="perpetual")
    years = Axis(TERM, Decimal(1), Decimal(5), Decimal(1), noun="year")
    [flip] = flips.flips(laboratory(years, bought, PER_CORE))
    assert (flip.first, flip.other, int(flip.after)) == (PER_CORE, bought, 3)


def test_the_discount_on_one_licence_at_which_it_is_the_cheaper():
    # 36,000 a year less d% is 8,400 at 76.67%
    percents = Axis(LICENCE_DISCOUNT, Decimal(0), Decimal(100), Decimal("0.01"), unit="%")
    lab = laboratory(percents, PER_SOCKET, PER_CORE, licence="Per core")
    [flip] = flips.flips(lab)
    assert (flip.before, flip.value) == (Decimal("76.66"), Decimal("76.67"))
    assert words.sentence(lab.axis, [flip]).startswith("Break-even at 76.67%: below it Per socket is the cheaper")


def test_a_discount_on_everything_and_the_utilisation_flip_nothing():
    percents = Axis(DISCOUNT, Decimal(0), Decimal(99), Decimal("0.01"), unit="%")
    assert flips.flips(laboratory(percents, PER_SOCKET, PER_CORE)) == []
    shares = Axis(UTILISATION, Decimal(5), Decimal(100), Decimal("0.01"), unit="%")
    lab = laboratory(shares, PER_SOCKET, PER_CORE)
    assert flips.flips(lab) == []
    # 30,200 EUR over 1,000 TPS x 50% x 94,608,000 s
    assert lab.price(PER_SOCKET, Decimal(50)) == Fraction(30_200 * 1_000_000, 500 * 94_608_000)


def test_the_throughput_at_which_a_dearer_system_pays():
    # 113,000 / x = 30,200 / 1,000 at 3,741.72 TPS
    other = choice("Per core", "1800", 1000.0, system="moved", **CORE)
    axis = Axis(THROUGHPUT, Decimal(500), Decimal(5000), Decimal("0.01"), unit="TPS")
    [flip] = flips.flips(laboratory(axis, PER_SOCKET, other, system="moved"))
    assert (flip.before, flip.value) == (Decimal("3741.72"), Decimal("3741.73"))
    assert flip.other == other


def test_a_zone_of_doubt_lies_around_a_flip_of_two_systems():
    scatter = (0.99, 1.0, 1.01, 1.005, 0.995)
    socket = choice("Per socket", "4200", *(1000 * part for part in scatter), **SOCKET)
    core = choice("Per core", "1800", *(1200 * part for part in scatter), system="faster", **CORE)
    lab = laboratory(prices(3600), socket, core, licence="Per core")
    [flip] = flips.flips(lab)
    assert flip.zone.kind == "tested"
    assert 480 < flip.zone.low < flip.value < flip.zone.high < 560
    for value, verdict in ((flip.zone.low, "cheaper"), (flip.value, "not distinguishable"), (flip.zone.high, "dearer")):
        assert lab.ratio(core, socket, value).verdict == verdict
    assert "the runs do not tell them apart" in words.sentence(lab.axis, [flip])
    lab.withheld = frozenset({frozenset({"18", "faster"})})
    assert flips.flips(lab)[0].zone.kind == "withheld"


def test_one_system_under_two_licences_leaves_no_doubt_whatever_its_runs_scatter():
    socket, core = (
        replace(part, throughput=measured(summarise((900.0, 1000.0, 1100.0)), (900.0, 1000.0, 1100.0), "TPS", "runs"))
        for part in (PER_SOCKET, PER_CORE)
    )
    [flip] = flips.flips(laboratory(prices(3600), socket, core, licence="Per core"))
    assert flip.zone.kind == "same runs on both sides"


def test_systems_that_flip_alike_share_a_sentence_and_come_first():
    names = ("16", "18")
    pairs = [
        choice(licence, amount, tps, system=name, **rules)
        for name, tps in zip(names, (1000.0, 1200.0), strict=True)
        for licence, amount, rules in (("Per socket", "4200", SOCKET), ("Per core", "1800", CORE))
    ]
    lab = laboratory(prices(3600), *pairs, licence="Per core")
    groups = words.grouped(flips.flips(lab))
    assert len(groups[0]) == 2
    assert words.sentence(lab.axis, groups[0]).endswith("above it Per socket for 16 and 18.")
    assert all(not flip.is_of_one_system for group in groups[1:] for flip in group)
    # 16 under per socket meets 18 under per core at 520.67, and 18 under per socket 16 under per core at 336.11
    assert [round(group[0].value, 2) for group in groups[1:]] == [Decimal("336.12"), Decimal("520.67")]


def test_without_moved_handles_a_price_is_what_the_engine_says():
    lab = laboratory(prices(3600), PER_CORE, licence="Per core")
    assert lab.quote(PER_CORE).total == quote(PER_CORE.order, PER_CORE.throughput, USUAL).total == 113_000
    listed = laboratory(prices(3600), PER_CORE, handles=Handles({PRICE: Decimal(1800)}, licence="Per core"))
    assert [str(step) for step in listed.quote(PER_CORE).steps] == [str(step) for step in lab.quote(PER_CORE).steps]
    moved = laboratory(prices(3600), PER_CORE, handles=Handles({PRICE: Decimal(1000)}, licence="Per core"))
    steps = " ".join(str(step) for step in moved.quote(PER_CORE).steps)
    assert moved.quote(PER_CORE).total == 65_000
    assert "set in the price laboratory" in steps
    assert "list price 1, 2026-01-01, source: set" not in steps


@pytest.mark.parametrize(("value", "above"), [("1800", "2000"), ("1001", "1200"), ("0.034", "0.04"), ("10", "10")])
def test_axes_end_at_round_numbers(value, above):
    assert nice_above(Decimal(value)) == Decimal(above)


amounts = st.decimals("0.01", "20000", places=2)
rules = st.fixed_dictionaries(
    {"metric": st.sampled_from(["core", "socket"])},
    optional={
        "pack": st.integers(2, 24),
        "minimum_per_server": st.integers(1, 40),
        "maximum_per_server": st.integers(41, 60),
        "discount_percent": st.decimals("0", "60", places=1).filter(bool),
        "yearly_uplift_percent": st.decimals("0", "10", places=1).filter(bool),
    },
)
throughputs = st.floats(50, 50_000)
axes = st.sampled_from(
    (
        prices(20_000),
        Axis(LICENCE_DISCOUNT, Decimal(0), Decimal(100), Decimal("0.01"), unit="%"),
        Axis(THROUGHPUT, Decimal(10), Decimal(90_000), Decimal("0.01"), unit="TPS"),
        cores(1, 40),
        Axis(TERM, Decimal(1), Decimal(5), Decimal(1), noun="year"),
    )
)


@settings(deadline=None, max_examples=80)
@given(axes, st.lists(st.tuples(amounts, rules, throughputs, st.sampled_from("AB")), min_size=2, max_size=4))
def test_on_the_two_sides_of_a_flip_the_order_of_the_two_is_turned(axis, parts):
    choices = [
        choice(f"Licence {number}", amount, tps, system=system, **fields)
        for number, (amount, fields, tps, system) in enumerate(parts)
    ]
    lab = laboratory(axis, *choices, licence="Licence 0", system="A")
    rows = flips.flips(lab)
    for flip in rows:
        assert axis.low <= flip.before < flip.value <= flip.after <= axis.high
        assert lab.price(flip.first, flip.before) < lab.price(flip.other, flip.before)
        assert lab.price(flip.first, flip.value) >= lab.price(flip.other, flip.value)
        assert lab.price(flip.first, flip.after) > lab.price(flip.other, flip.after)
        assert flip.value - flip.before <= axis.step or axis.is_whole
    for first, other in ((first, other) for first in choices for other in choices if first is not other):
        ends = [flips.sign(lab, first, other, value) for value in (axis.low, axis.high)]
        turns = sum({flip.first, flip.other} == {first, other} for flip in rows)
        if ends[0] * ends[1]:
            assert (ends[0] != ends[1]) == bool(turns % 2)
    stretches = flips.cheapest(lab, rows)
    assert all(before.high <= after.low for before, after in pairwise(stretches))
    assert all(stretch.choices for stretch in stretches)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(amounts, rules), min_size=2, max_size=2))
def test_no_flip_by_cores_is_missed(parts):
    first, other = (
        choice(f"Licence {number}", amount, 1000.0, **fields) for number, (amount, fields) in enumerate(parts)
    )
    axis = cores(1, 40)
    lab = laboratory(axis, first, other)
    signs = [flips.sign(lab, first, other, value) for value in axis.values()]
    decided = [sign for sign in signs if sign]
    assert len(flips.flips(lab)) == sum(before != after for before, after in pairwise(decided))


@settings(deadline=None, max_examples=60)
@given(
    axes,
    st.lists(st.tuples(amounts, rules, throughputs, st.sampled_from("AB")), min_size=2, max_size=2),
    st.lists(st.floats(0, 1), min_size=5, max_size=20),
)
def test_between_flips_the_cheaper_of_two_stays_the_cheaper(axis, parts, shares):
    """Wherever one looks along the axis, as many flips lie below as the order has turned: none is missed."""
    first, other = (
        choice(f"Licence {number}", amount, tps, system=system, **fields)
        for number, (amount, fields, tps, system) in enumerate(parts)
    )
    lab = laboratory(axis, first, other, licence="Licence 0", system="A")
    rows = flips.flips(lab)
    values = [axis.on_step(axis.low + (axis.high - axis.low) * Decimal(share)) for share in shares]
    signs = {value: flips.sign(lab, first, other, value) for value in sorted({*values, *axis.values()})}
    start = next((sign for sign in signs.values() if sign), 0)
    for value, sign in signs.items():
        turns = sum(flip.after <= value for flip in rows)
        if sign and not any(flip.before < value < flip.after for flip in rows):
            assert sign == start * (-1) ** turns, value
