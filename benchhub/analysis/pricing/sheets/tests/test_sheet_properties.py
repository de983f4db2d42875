from dataclasses import replace
from decimal import Decimal, localcontext

from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.pricing.money import EXACT
from benchhub.analysis.pricing.sheets.sheet import Discount, Line, Maintenance, Sheet
from benchhub.analysis.pricing.sheets.total import total

cents = st.decimals("-1000", "100000", places=2)
lines_of_any_kind = st.lists(
    st.builds(
        Line,
        st.sampled_from("abc"),
        cents,
        st.integers(0, 50),
        kind=st.sampled_from(["hardware", "support", "other"]),
        category=st.sampled_from("XYZ"),
        seller=st.sampled_from(["1", "2"]),
        maintenance=st.none() | st.builds(Maintenance, st.just("year"), cents, st.none() | st.integers(0, 60)),
        is_discountable=st.booleans(),
        charged=st.sampled_from(["once", "year", "month"]),
    ),
    min_size=1,
    max_size=8,
)
any_discounts = st.lists(
    st.builds(
        Discount,
        st.just("d"),
        st.decimals(0, 100, places=2),
        columns=st.sampled_from(["price", "maintenance", "both"]),
        rounding=st.sampled_from(["nearest", "up", "down", "exact"]),
        is_on_rest=st.booleans(),
    ),
    max_size=3,
)
sheets = st.builds(
    lambda lines, discounts, **changes: Sheet(
        "s", "USD", (*lines, Line("always", Decimal(1))), tuple(discounts), **changes
    ),
    lines_of_any_kind,
    any_discounts,
    rounded_per=st.sampled_from(["unit", "line", "column", "total"]),
    places=st.sampled_from([0, 2]),
    total_places=st.sampled_from([None, 0]),
)


@given(sheets)
def test_subtotals_less_discounts_and_rounding_add_up_to_the_total(made):
    sheet_total = total(made)
    with localcontext(EXACT):
        subtotals = sum((subtotal.price + subtotal.maintenance for subtotal in sheet_total.subtotals), Decimal(0))
        assert subtotals - sheet_total.discounts + sheet_total.rounding == sheet_total.total
    assert sum(sheet_total.by_kind.values(), Decimal(0)) == sheet_total.total


@given(sheets, st.randoms(use_true_random=False))
def test_the_order_of_lines_does_not_change_the_total(made, shuffled):
    lines = list(made.lines)
    shuffled.shuffle(lines)
    assert total(replace(made, lines=tuple(lines))).total == total(made).total


@given(sheets)
def test_rounding_a_sheet_up_never_lowers_its_total(made):
    if all(line.unit_price >= 0 and (not line.maintenance or line.maintenance.price >= 0) for line in made.lines):
        bare = replace(made, discounts=())
        assert total(replace(bare, rounding="up")).total >= total(bare).total
