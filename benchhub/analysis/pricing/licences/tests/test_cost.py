"""What licences cost: each parameter of payment by hand. The comment of a row is its arithmetic."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.pricing.licences.cost import Licence, price_licence, suspicion
from benchhub.analysis.pricing.licences.rules import LicenceRules
from benchhub.analysis.pricing.licences.rules_form import rules_from
from benchhub.analysis.pricing.licences.units import NotEligible
from benchhub.analysis.pricing.listed import MissingPriceError, Price
from benchhub.analysis.pricing.topology import Deployment, Machine, Node

# 20 cores in 2 sockets.
BOX = Deployment((Node(Machine("box", 2, 10)),))


def listed(amount, on=date(2026, 1, 1), currency="EUR", row=5):
    return Price("item", Decimal(amount), currency, on, "a list", row)


def priced(amount="100", term_years=3, deployment=BOX, **rules):
    licence = Licence("it", rules_from({"metric": "core", **rules}), (listed(amount),))
    return price_licence(licence, deployment, term_years)


TIERS = [{"from_units": 11, "percent_off": "10"}, {"from_units": 16, "price": "70"}]
RESERVED = {"payment": "hourly", "reserved_years": 1}


@pytest.mark.parametrize(
    ("amount", "rules", "paid", "support"),
    [
        # Subscription: 20 cores, 3 years
        ("100", {}, "6000", "0"),  # 3 x 20 x 100
        ("100", {"metric": "socket"}, "600", "0"),  # 3 x 2 x 100
        ("100", {"metric": "flat"}, "300", "0"),  # 3 x 1 x 100
        ("100", {"metric": "none"}, "0", "0"),
        ("10", {"period": "month"}, "7200", "0"),  # 3 x 12 x 20 x 10
        ("100", {"yearly_uplift_percent": "10"}, "6620", "0"),  # 2,000 + 2,200 + 2,420
        ("10", {"period": "month", "yearly_uplift_percent": "10"}, "7944", "0"),  # 12 x (200 + 220 + 242)
        # Packs
        ("100", {"pack": 16}, "9600", "0"),  # 3 x 32 x 100: 20 cores take 2 packs of 16
        ("1000", {"pack": 16, "is_price_per_pack": True}, "6000", "0"),  # 3 x 2 packs x 1,000
        # Tiers count packs: 5 x 100 + 5 x 50 a year
        (
            "100",
            {"pack": 2, "is_price_per_pack": True, "tiers": [{"from_units": 6, "percent_off": "50"}]},
            "2250",
            "0",
        ),
        # Discount and contract
        ("100", {"discount_percent": "15"}, "5100", "0"),  # 3 x 2,000 x 0.85
        ("100", {"contracted_price": "80"}, "4800", "0"),  # 3 x 20 x 80
        # Tiers: 10 x 100 + 5 x 90 + 5 x 70 = 1,800; at the tier reached 20 x 70 = 1,400
        ("100", {"tiers": TIERS}, "5400", "0"),  # 3 x 1,800
        ("100", {"tiers": TIERS, "tiers_apply": "all_units"}, "4200", "0"),  # 3 x 1,400
        ("100", {"tiers": TIERS, "discount_percent": "50"}, "2700", "0"),  # 3 x 900
        ("100", {"tiers": [{"from_units": 1, "price": "40"}]}, "2400", "0"),  # 3 x 20 x 40: the first tier is for all
        ("100", {"tiers": [{"from_units": 21, "price": "1"}]}, "6000", "0"),  # 20 do not reach it
        ("100", {"tiers": [{"from_units": 20, "price": "1"}]}, "5703", "0"),  # 3 x (19 x 100 + 1 x 1)
        ("100", {"tiers": [{"from_units": 20, "price": "1"}], "tiers_apply": "all_units"}, "60", "0"),  # 3 x 20 x 1
        # Perpetual: 20 x 100 = 2,000 once
        ("100", {"payment": "perpetual"}, "2000", "0"),
        ("100", {"payment": "perpetual", "support_percent": "22"}, "2000", "1320"),  # 3 x 440
        ("100", {"payment": "perpetual", "support_percent": "22", "is_first_year_included": True}, "2000", "880"),
        # 440 + 453.20 + 466.796 = 1,359.996, to the cent
        ("100", {"payment": "perpetual", "support_percent": "22", "yearly_uplift_percent": "3"}, "2000", "1360.00"),
        # The first year included: 440 x 1.1 + 440 x 1.21 = 484 + 532.40
        (
            "100",
            {
                "payment": "perpetual",
                "support_percent": "22",
                "yearly_uplift_percent": "10",
                "is_first_year_included": True,
            },
            "2000",
            "1016.40",
        ),
        # Support on the list price, although the licence has 25% off: 1,500 and 3 x 440
        ("100", {"payment": "perpetual", "support_percent": "22", "discount_percent": "25"}, "1500", "1320"),
        # On the discounted price: 3 x 0.22 x 1,500
        (
            "100",
            {"payment": "perpetual", "support_percent": "22", "discount_percent": "25", "support_on": "discounted"},
            "1500",
            "990",
        ),
        # Contracted: 20 x 80 once; support on the list price 3 x 0.22 x 2,000, on what is paid 3 x 0.22 x 1,600
        ("100", {"payment": "perpetual", "support_percent": "22", "contracted_price": "80"}, "1600", "1320"),
        (
            "100",
            {"payment": "perpetual", "support_percent": "22", "contracted_price": "80", "support_on": "discounted"},
            "1600",
            "1056",
        ),
        # By the hour: 730 x 12 x 3 = 26,280 h
        ("0.10", {"payment": "hourly"}, "52560", "0"),  # 26,280 x 20 x 0.10
        ("0.10", {"payment": "hourly", "hours_per_month": "720"}, "51840", "0"),  # 25,920 x 2
        ("0.10", {"payment": "hourly", "utilisation_percent": "50"}, "26280", "0"),  # 13,140 x 2
        ("0.10", {"payment": "hourly", "discount_percent": "10"}, "47304", "0"),  # 26,280 x 1.80
        ("0.0001", {"payment": "hourly", "metric": "flat"}, "2.63", "0"),  # 26,280 x 0.0001 = 2.628
        # Reserved by the year: 3 x 8,760 h x 2 x 0.6
        ("0.10", {**RESERVED, "reserved_percent_off": "40"}, "31536", "0"),
        # Part upfront in per cent does not change what is paid
        ("0.10", {**RESERVED, "reserved_percent_off": "40", "reserved_upfront_percent": "50"}, "31536", "0"),
        # Part upfront as an amount: 3 x (20 x 200 + 8,760 x 2 x 0.5) = 3 x (4,000 + 8,760)
        ("0.10", {**RESERVED, "reserved_percent_off": "50", "reserved_upfront": "200"}, "38280", "0"),
        # A discount is off both parts: 3 x (0.9 x 4,000 + 8,760 x 1.80) = 3 x (3,600 + 15,768)
        ("0.10", {**RESERVED, "reserved_upfront": "200", "discount_percent": "10"}, "58104", "0"),
        # Two years cover three only twice: 2 x 17,520 h x 2
        ("0.10", {"payment": "hourly", "reserved_years": 2}, "70080", "0"),
        ("0.10", {"payment": "hourly", "reserved_years": 3}, "52560", "0"),  # 1 x 26,280 h x 2
    ],
)
def test_what_is_paid_over_three_years(amount, rules, paid, support):
    licence_cost = priced(amount, **rules)
    assert (licence_cost.paid, licence_cost.paid_support) == (Decimal(paid), Decimal(support))


@pytest.mark.parametrize(
    ("term_years", "rules", "paid", "support"),
    [
        (1, {}, "2000", "0"),
        (5, {}, "10000", "0"),
        (1, {"payment": "perpetual", "support_percent": "22"}, "2000", "440"),
        (1, {"payment": "perpetual", "support_percent": "22", "is_first_year_included": True}, "2000", "0"),
        (5, {"payment": "perpetual", "support_percent": "22"}, "2000", "2200"),
        (1, {"payment": "hourly", "reserved_years": 3}, "52560000", "0"),  # all three years: 26,280 h x 2,000
    ],
)
def test_what_is_paid_over_other_terms(term_years, rules, paid, support):
    licence_cost = priced("100", term_years, **rules)
    assert (licence_cost.paid, licence_cost.paid_support) == (Decimal(paid), Decimal(support))


def test_list_and_discount_are_kept_apart_and_both_are_known():
    licence_cost = priced(payment="perpetual", support_percent="20", discount_percent="25", support_on="discounted")
    assert (licence_cost.listed, licence_cost.paid) == (2000, 1500)
    assert (licence_cost.listed_support, licence_cost.paid_support) == (1200, 900)  # 3 x 0.2 x 2,000 and x 1,500
    contracted = priced(contracted_price="80")
    assert (contracted.listed, contracted.paid) == (6000, 4800)


def test_report_a_is_priced_by_the_sockets_and_cores_that_were_bought():
    pure = Licence("PURE", LicenceRules("socket"), (listed("4200"),))
    ppas = Licence("PPAS", LicenceRules("core"), (listed("1800"),))
    x86 = Deployment((Node(Machine("x86", 4, 15)),))
    assert price_licence(pure, BOX, 3).paid == 25_200  # 3 x 2 x 4,200
    assert price_licence(ppas, x86, 3).paid == 324_000  # 3 x 60 x 1,800


def test_the_steps_name_list_price_tier_discount_term_and_support():
    licence_cost = priced(
        tiers=TIERS,
        discount_percent="10",
        payment="perpetual",
        support_percent="22",
        yearly_uplift_percent="3",
        is_first_year_included=True,
    )
    cited = "(list price 5, 2026-01-01, source: a list)"
    assert [str(step) for step in licence_cost.steps[1:]] == [
        f"Tier: 10 x 100 EUR + 5 x 90 EUR + 5 x 70 EUR = 1,800 EUR, each unit at the price of its tier {cited}.",
        "Discount: 1,800 EUR less 10% is 1,620 EUR.",
        "Licence: 1,620 EUR, for good.",
        # 1,800 x 0.22 = 396; x 1.03 + x 1.0609 = 2.0909 times
        "Support: 2 years x 22% of 1,800 EUR, the list price; the first year is included; each year 3% dearer than the "
        "one before: 827.9964 EUR.",
        "Rounded to the cent: support 827.9964 EUR is 828 EUR.",
    ]


def test_a_plain_subscription_is_one_sentence_with_its_citation():
    assert [str(step) for step in priced().steps[1:]] == [
        "Licence: 3 years x 20 x 100 EUR = 6,000 EUR (list price 5, 2026-01-01, source: a list)."
    ]


def test_a_contract_names_the_list_price_beside_it():
    sentences = [str(step) for step in priced(contracted_price="80").steps[1:]]
    assert sentences[0].startswith("List: 20 x 100 EUR = 2,000 EUR (list price 5")
    assert sentences[1] == "Contract: 20 x 80 EUR = 1,600 EUR, instead of 2,000 EUR."
    assert sentences[2] == "Licence: 3 years x 1,600 EUR = 4,800 EUR."


def test_what_is_reserved_says_what_is_paid_upfront():
    text = str(priced("0.10", **RESERVED, reserved_percent_off="40", reserved_upfront_percent="50").steps[-1])
    assert "3 reservations of 1 year, each 8,760 h x 20 x 0.10 EUR less 40%" in text
    assert "5,256 EUR of each is paid upfront" in text  # half of 8,760 x 2 x 0.6 = 10,512


def test_the_newest_price_not_later_than_the_day_counts():
    prices = (listed("100", date(2025, 1, 1)), listed("120", date(2026, 1, 1)), listed("90", date(2027, 1, 1)))
    licence = Licence("it", LicenceRules("flat"), prices)
    for on, paid in ((date(2025, 12, 31), 100), (date(2026, 1, 1), 120), (None, 90)):
        assert price_licence(licence, BOX, 1, on).paid == paid


def test_of_two_prices_of_one_day_the_later_row_counts():
    licence = Licence("it", LicenceRules("flat"), (listed("100", row=8), listed("120", row=7)))
    assert price_licence(licence, BOX, 1).paid == 100


def test_a_missing_price_is_an_error_that_names_it_and_the_day_from_which_there_is_one():
    with pytest.raises(MissingPriceError, match="the licence 'it': add one") as missing:
        price_licence(Licence("it", LicenceRules("core")), BOX, 3)
    assert (missing.value.kind, missing.value.first_on) == ("licence", None)
    later = Licence("it", LicenceRules("core"), (listed("1", date(2026, 3, 1)), listed("1", date(2026, 5, 1))))
    with pytest.raises(MissingPriceError, match="on 2026-02-01: the first is of 2026-03-01") as missing:
        price_licence(later, BOX, 3, date(2026, 2, 1))
    assert missing.value.first_on == date(2026, 3, 1)


def test_what_is_not_eligible_has_no_price():
    assert isinstance(priced(max_sockets=1), NotEligible)


@pytest.mark.parametrize(
    ("percent", "is_large", "is_suspicious"),
    [("25", False, False), ("25.1", False, True), ("50", True, False), ("50.1", True, True), ("26", True, False)],
)
def test_large_discounts_are_suspicious(percent, is_large, is_suspicious):
    assert bool(suspicion("it", Decimal(percent), is_large)) == is_suspicious


def test_a_suspicious_discount_on_a_licence_is_flagged_contract_or_not():
    assert priced(discount_percent="25").flags == ()
    assert "30% on the licence it is over 25%" in priced(discount_percent="30").flags[0]
    assert "60% on the licence it" in priced(contracted_price="40").flags[0]


percents = st.decimals(0, 100, places=2)
models = st.builds(
    lambda payment, support_percent, period, **rules: LicenceRules(
        "core",
        payment=payment,
        support_percent=support_percent if payment == "perpetual" else Decimal(0),
        period=period if payment == "subscription" else "year",
        **rules,
    ),
    payment=st.sampled_from(["subscription", "perpetual", "hourly"]),
    support_percent=percents,
    period=st.sampled_from(["year", "month"]),
    pack=st.sampled_from([1, 2, 8]),
    minimum_per_socket=st.integers(0, 20),
    minimum_per_server=st.integers(0, 40),
    minimum_per_order=st.integers(0, 80),
    discount_percent=percents,
)


@given(models, st.integers(1, 8), st.integers(1, 128), st.integers(1, 128), st.integers(1, 5))
def test_without_tiers_more_cores_never_cost_less_under_any_model_per_core(rules, sockets, fewer, more, term_years):
    licence = Licence("it", rules, (listed("123.45"),))
    fewer, more = sorted((fewer, more))
    few, many = (
        price_licence(licence, Deployment((Node(Machine("m", sockets, cores)),)), term_years) for cores in (fewer, more)
    )
    assert few.paid <= many.paid
    assert few.paid_support <= many.paid_support


@given(st.integers(1, 8), st.integers(1, 128), st.integers(1, 128))
def test_more_cores_cost_the_same_per_socket(sockets, fewer, more):
    licence = Licence("it", LicenceRules("socket"), (listed("4200"),))
    few, many = (price_licence(licence, Deployment((Node(Machine("m", sockets, n)),)), 3) for n in (fewer, more))
    assert few.paid == many.paid


@given(models, st.integers(1, 64), st.integers(1, 5))
def test_what_is_paid_is_never_more_than_list(rules, cores, term_years):
    licence_cost = price_licence(
        Licence("it", rules, (listed("123.45"),)), Deployment((Node(Machine("m", 1, cores)),)), term_years
    )
    assert licence_cost.paid <= licence_cost.listed
    assert licence_cost.paid_support <= licence_cost.listed_support


@given(st.integers(1, 60), st.integers(1, 60))
def test_graduated_tiers_never_make_more_units_cheaper(fewer, more):
    fewer, more = sorted((fewer, more))
    licence = Licence("it", rules_from({"metric": "core", "tiers": TIERS}), (listed("100"),))
    few, many = (price_licence(licence, Deployment((Node(Machine("m", 1, n)),)), 3).paid for n in (fewer, more))
    assert few <= many
