import json
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.pricing.licences import words as rule_words
from benchhub.analysis.pricing.licences.rules import CHOICES, Factor, LicenceRules, RulesError, Tier, defaults
from benchhub.analysis.pricing.licences.rules_form import rules_from, to_mapping

FULL = LicenceRules(
    "core",
    exempt_roles=frozenset({"standby", "pooler"}),
    counts_disabled_cores=False,
    minimum_per_socket=4,
    minimum_per_server=16,
    minimum_per_order=72,
    factors=(Factor("Xeon", Decimal("0.50"), date(2026, 1, 1)), Factor("", Decimal(1))),
    factor_rounded_per="order",
    pack=2,
    packs_pooled_per="order",
    is_price_per_pack=True,
    max_sockets=2,
    max_memory_gb=Decimal("0128"),
    tiers=(Tier(11, percent_off=Decimal(10)), Tier(101, price=Decimal("1234.50"))),
    tiers_apply="all_units",
    discount_percent=Decimal("12.5"),
    payment="perpetual",
    support_percent=Decimal(22),
    support_on="discounted",
    is_first_year_included=True,
    yearly_uplift_percent=Decimal(3),
)
# The warehouse keeps this text: it must never change.
FULL_MAPPING = {
    "version": 1,
    "metric": "core",
    "exempt_roles": ["pooler", "standby"],
    "counts_disabled_cores": False,
    "minimum_per_socket": 4,
    "minimum_per_server": 16,
    "minimum_per_order": 72,
    "factors": [
        {"processor": "Xeon", "factor": "0.5", "since": "2026-01-01"},
        {"processor": "", "factor": "1"},
    ],
    "factor_rounded_per": "order",
    "pack": 2,
    "packs_pooled_per": "order",
    "is_price_per_pack": True,
    "max_sockets": 2,
    "max_memory_gb": "128",
    "tiers": [{"from_units": 11, "percent_off": "10"}, {"from_units": 101, "price": "1234.5"}],
    "tiers_apply": "all_units",
    "discount_percent": "12.5",
    "payment": "perpetual",
    "support_percent": "22",
    "support_on": "discounted",
    "is_first_year_included": True,
    "yearly_uplift_percent": "3",
}


def wrong(**mapping):
    with pytest.raises(RulesError) as error:
        rules_from({"metric": "core", **mapping})
    return error.value.messages


def test_the_stored_form_leaves_defaults_out_and_is_plain_json():
    assert to_mapping(LicenceRules("socket")) == {"version": 1, "metric": "socket"}
    assert to_mapping(FULL) == FULL_MAPPING
    assert json.loads(json.dumps(to_mapping(FULL))) == FULL_MAPPING


def test_the_stored_form_is_read_again():
    assert rules_from(FULL_MAPPING) == FULL
    assert rules_from({"metric": "socket"}) == LicenceRules("socket")


def test_a_written_default_is_the_same_as_none():
    assert to_mapping(rules_from({"metric": "core", "pack": 1, "discount_percent": "0.00"})) == {
        "version": 1,
        "metric": "core",
    }


def test_numbers_are_read_from_text_as_a_form_sends_them():
    rules = rules_from({"metric": "core", "pack": " 16 ", "discount_percent": "12.50"})
    assert (rules.pack, rules.discount_percent) == (16, Decimal("12.5"))


def test_unknown_fields_and_versions_are_refused_by_name():
    assert wrong(cores="2") == {"cores": "There is no such field: leave it out."}
    assert "reads version 1" in wrong(version=2)["version"]


def test_every_field_that_cannot_be_read_is_named_at_once():
    messages = wrong(
        pack="two", discount_percent=0.5, is_price_per_pack="yes", payment="never", tiers=[{}], factors="x"
    )
    assert messages.keys() == {"pack", "discount_percent", "is_price_per_pack", "payment", "tiers", "factors"}
    assert messages["pack"] == "Write a whole number."
    assert messages["discount_percent"] == "Write a number as text, such as '0.5'."
    assert messages["payment"] == "Choose one of: subscription, perpetual, hourly."
    assert wrong(pack="9" * 5000) == {"pack": "Write a whole number."}


def test_the_metric_is_needed():
    with pytest.raises(RulesError, match="metric: Say what is counted: none, server, socket"):
        rules_from({})


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1,5", "", True, None, [1]])
def test_only_finite_numbers_are_numbers(value):
    assert "discount_percent" in wrong(discount_percent=value)


@pytest.mark.parametrize("value", [True, 1.0, "1.0", "-1", "²", None])
def test_only_whole_numbers_are_whole(value):
    assert wrong(pack=value)["pack"].startswith("Write a whole number")


@pytest.mark.parametrize(
    ("mapping", "field", "message"),
    [
        ({"pack": 0}, "pack", "1 or more"),
        ({"max_sockets": 0}, "max_sockets", "1 or more"),
        ({"minimum_per_server": -1}, "minimum_per_server", "0 or more"),
        ({"discount_percent": "101"}, "discount_percent", "from 0 to 100"),
        ({"contracted_price": "-1"}, "contracted_price", "0 or more"),
        ({"metric": "memory", "memory_block_gb": "0"}, "memory_block_gb", "above 0"),
        ({"payment": "hourly", "hours_per_month": "745"}, "hours_per_month", "up to 744"),
        ({"payment": "hourly", "reserved_years": 4}, "reserved_years", "1, 2 or 3"),
        ({"factors": [{"factor": "0"}]}, "factors", "above 0"),
        ({"factors": [{"factor": "1"}, {"factor": "2"}]}, "factors", "one factor for each"),
        ({"factors": [{"factor": "1", "since": "soon"}]}, "factors", "2026-01-31"),
        ({"tiers": [{"from_units": 5, "price": "1"}, {"from_units": 5, "price": "2"}]}, "tiers", "rising"),
        ({"tiers": [{"from_units": 0, "price": "1"}]}, "tiers", "1 or more"),
        ({"tiers": [{"from_units": 5}]}, "tiers", "either a price or per cent"),
        ({"tiers": [{"from_units": 5, "price": "1", "percent_off": "5"}]}, "tiers", "either a price or per cent"),
        ({"tiers": [{"from_units": 5, "percent_off": "500"}]}, "tiers", "from 0 to 100"),
        ({"tiers_apply": "all_units"}, "tiers_apply", "Add tiers"),
        ({"discount_percent": "5", "contracted_price": "9"}, "contracted_price", "either a discount"),
        ({"is_price_per_pack": True}, "is_price_per_pack", "how many units a pack has"),
        ({"packs_pooled_per": "order"}, "packs_pooled_per", "how many units a pack has"),
        ({"factor_rounded_per": "order"}, "factor_rounded_per", "Add factors"),
        ({"payment": "hourly", "reserved_percent_off": "30"}, "reserved_percent_off", "for how many years"),
        (
            {"payment": "hourly", "reserved_years": 1, "reserved_upfront": "5", "reserved_upfront_percent": "5"},
            "reserved_upfront_percent",
            "either as an amount or in per cent",
        ),
        (
            {"payment": "hourly", "reserved_years": 1, "utilisation_percent": "50"},
            "utilisation_percent",
            "whether it is used or not",
        ),
        ({"metric": "user", "factors": [{"factor": "1"}]}, "factors", "let user_processor be core"),
        (
            {"metric": "socket", "sockets_per_licence": 2, "minimum_per_socket": 2},
            "minimum_per_socket",
            "several sockets",
        ),
        (
            {"metric": "socket", "sockets_per_licence": 2, "maximum_per_socket": 2},
            "maximum_per_socket",
            "several sockets",
        ),
        ({"minimum_per_server": 16, "maximum_per_server": 8}, "maximum_per_server", "Write 16 or more"),
        ({"maximum_per_order": -1}, "maximum_per_order", "0 or more"),
        ({"exempt_roles": "standby"}, "exempt_roles", "list of roles"),
    ],
)
def test_what_is_out_of_range_or_contradicts_itself_is_refused_beside_its_field(mapping, field, message):
    messages = wrong(**mapping)
    assert messages.keys() == {field}
    assert message in messages[field]


@pytest.mark.parametrize(
    ("metric", "field", "value"),
    [
        ("core", "cores_per_licence", 32),
        ("core", "sockets_per_licence", 2),
        ("socket", "vcpus_per_licence_smt", 2),
        ("core", "memory_block_gb", "64"),
        ("core", "users_per_processor", 25),
        ("vcpu", "minimum_per_socket", 4),
        ("core", "minimum_per_vm", 4),
        ("flat", "minimum_per_server", 4),
        ("flat", "maximum_per_order", 4),
        ("vcpu", "maximum_per_socket", 4),
        ("memory", "factors", [{"factor": "2"}]),
        ("flat", "pack", 2),
        ("none", "discount_percent", "5"),
        ("none", "payment", "perpetual"),
        ("server", "counts_disabled_cores", False),
    ],
)
def test_a_field_that_says_nothing_under_a_metric_is_refused(metric, field, value):
    message = wrong(metric=metric, **{field: value})[field]
    assert message.startswith("Leave this out, or count by ")
    assert f"the metric is {metric}" in message


@pytest.mark.parametrize(
    ("payment", "field", "value"),
    [
        ("subscription", "support_percent", "22"),
        ("hourly", "yearly_uplift_percent", "3"),
        ("perpetual", "period", "month"),
        ("perpetual", "hours_per_month", "700"),
        ("subscription", "reserved_years", 1),
    ],
)
def test_a_field_that_says_nothing_in_a_way_to_pay_is_refused(payment, field, value):
    assert wrong(payment=payment, **{field: value})[field].startswith("Leave this out, or choose payment ")


def test_rules_that_contradict_themselves_cannot_be_made_in_code_either():
    with pytest.raises(RulesError, match="pack: Write a whole number"):
        LicenceRules("core", pack=0)
    with pytest.raises(RulesError, match="metric: Choose one of"):
        LicenceRules("cores")


def test_every_choice_is_known_and_every_default_is_sound():
    assert set(CHOICES) - {"metric"} <= defaults().keys()
    for metric in CHOICES["metric"]:
        assert to_mapping(LicenceRules(metric)) == {"version": 1, "metric": metric}


percents = st.decimals(0, 100, places=2)


@given(
    st.builds(
        LicenceRules,
        st.just("core"),
        exempt_roles=st.frozensets(st.text(min_size=1)),
        minimum_per_socket=st.integers(0, 99),
        minimum_per_order=st.integers(0, 99),
        pack=st.integers(1, 99),
        max_cores=st.none() | st.integers(1, 999),
        factors=st.lists(
            st.builds(Factor, st.text(), st.decimals("0.01", 9, places=2)), unique_by=lambda f: f.processor
        ).map(tuple),
        payment=st.just("perpetual"),
        support_percent=percents,
        discount_percent=percents,
    )
)
def test_writing_and_reading_gives_the_same_rules(rules):
    assert rules_from(json.loads(json.dumps(to_mapping(rules)))) == rules


def test_a_rate_reads_as_what_an_amount_is_for():
    rates = (
        ({"metric": "core"}, "physical core and year"),
        ({"metric": "socket", "payment": "perpetual"}, "occupied socket, for good"),
        ({"metric": "vcpu", "payment": "hourly"}, "vCPU and hour"),
        (
            {"metric": "core", "pack": 2, "is_price_per_pack": True, "period": "month"},
            "pack of 2 physical cores and month",
        ),
    )
    for fields, words in rates:
        assert rule_words.per(rules_from(fields)) == words
