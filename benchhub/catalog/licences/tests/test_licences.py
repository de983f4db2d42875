from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils.html import escape
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.analysis.pricing.licences.metrics import METRICS
from benchhub.analysis.pricing.licences.rules import UNDER_METRIC, UNDER_PAYMENT, defaults
from benchhub.analysis.pricing.licences.words import price_of, words
from benchhub.catalog.licences.fields import GROUPS, LABELS
from benchhub.catalog.licences.forms import LicenceModelForm
from benchhub.catalog.models import Hardware, LicenceModel, ListPrice

pytestmark = pytest.mark.django_db
PER_CORE = {"name": "Per core", "metric": "core", "product": "A product"}
FACTORS = {
    "factors-count": "2",
    "factors-0-processor": "POWER8",
    "factors-0-factor": "0.5",
    "factors-0-since": "2015-01-01",
    "factors-1-factor": "1",
}
TIERS = {"tiers-count": "2", "tiers-0-from_units": "11", "tiers-0-percent_off": "10", "tiers-1-from_units": ""}


@pytest.fixture
def power():
    return Hardware.objects.create(name="Power", sockets=2, cores_per_socket=10, threads_per_core=8, processor="POWER8")


def add(client, **typed):
    return client.post(reverse("licence-model-add"), {**PER_CORE, **typed})


def trial(client, machine, **typed):
    tried = {"trial-hardware": machine.pk, "trial-price": "1800", "trial-years": "3", "trial-currency": "EUR"}
    return client.post(reverse("licence-model-preview"), {**PER_CORE, **tried, **typed})


def test_every_parameter_of_the_engine_has_a_field_and_a_group():
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(defaults())
    assert LABELS.keys() | {"factors", "tiers"} == set(grouped)
    assert UNDER_METRIC.keys() | UNDER_PAYMENT.keys() == set(grouped)


def test_a_price_that_was_typed_to_try_the_rules_fills_the_form_of_the_price(engineer):
    answer = add(engineer, **{"trial-price": "9500.50", "trial-currency": "usd", "trial-years": "3"})
    model = LicenceModel.objects.get()
    assertRedirects(answer, f"{reverse('price-add')}?of=licence_model%3A{model.pk}&amount=9500.5&currency=USD")
    page = engineer.get(answer.url)
    assertContains(page, 'value="9500.5"')
    assert not ListPrice.objects.exists()


def test_a_price_is_taken_along_whatever_else_of_the_trial_is_wrong(engineer):
    wrong = {"trial-years": "0", "trial-hardware": "999999"}
    answer = add(engineer, **{"trial-price": "9500.50", "trial-currency": "usd", **wrong})
    assert answer.url.endswith("&amount=9500.5&currency=USD")
    answer = add(engineer, name="Other", **{"trial-price": "9500.50", "trial-currency": "dollars"})
    assertRedirects(answer, reverse("licence-models"))


def test_rules_are_stored_as_the_engine_reads_them(engineer):
    typed = {"pack": "2", "minimum_per_server": "16", "exempt_roles": "standby, pooler", "counts_disabled_cores": "no"}
    assertRedirects(add(engineer, **typed, **FACTORS, **TIERS), reverse("licence-models"))
    rules = LicenceModel.objects.get().licence_rules()
    assert (rules.pack, rules.minimum_per_server, rules.counts_disabled_cores) == (2, 16, False)
    assert rules.exempt_roles == {"standby", "pooler"}
    assert [(factor.processor, factor.factor, str(factor.since)) for factor in rules.factors] == [
        ("POWER8", Decimal("0.5"), "2015-01-01"),
        ("", Decimal(1), "None"),
    ]
    assert [(tier.from_units, tier.percent_off) for tier in rules.tiers] == [(11, Decimal(10))]


def test_what_holds_its_default_is_not_stored(engineer):
    add(engineer, pack="1", payment="subscription", counts_disabled_cores="yes", hours_per_month="730")
    assert LicenceModel.objects.get().rules == {"version": 1}


@pytest.mark.parametrize(
    ("typed", "field", "sentence"),
    [
        ({"pack": "0"}, "pack", "1 or more"),
        ({"pack": "1.5"}, "pack", "whole number"),
        ({"pack": "two"}, "pack", "Write a number"),
        ({"memory_block_gb": "1e999999"}, "memory_block_gb", "Write a number"),
        ({"support_percent": "20"}, "support_percent", "choose payment perpetual"),
        ({"memory_block_gb": "64"}, "memory_block_gb", "count by memory"),
        ({"discount_percent": "x"}, "discount_percent", "Write a number"),
        ({"discount_percent": "10", "contracted_price": "5"}, "contracted_price", "either a discount"),
        ({"payment": "barter"}, "payment", "valid choice"),
        ({"name": ""}, "name", "required"),
    ],
)
def test_what_the_engine_refuses_is_said_beside_the_field_and_nothing_is_lost(engineer, typed, field, sentence):
    answer = add(engineer, **typed, **FACTORS)
    [(at, errors)] = answer.context["page"].draft.form.errors.items()
    assert at == field
    assert sentence in errors[0]
    assertContains(answer, "Not saved")
    assertContains(answer, 'value="POWER8"')
    assert not LicenceModel.objects.exists()


def test_a_row_that_cannot_be_is_refused_at_its_place(engineer):
    answer = add(engineer, **{**FACTORS, "factors-1-factor": "much"})
    assertContains(answer, "Write a number with a point")
    answer = add(engineer, **{**FACTORS, "factors-1-factor": "0"})
    assertContains(answer, "Write factors above 0.")
    answer = add(engineer, **{**TIERS, "tiers-0-price": "5"})
    assertContains(answer, "Write either a price or per cent off for each tier.")
    assert not LicenceModel.objects.exists()


def test_rows_are_added_and_removed_without_script_and_nothing_is_saved(engineer):
    longer = add(engineer, add="factors", **FACTORS).context["page"].draft
    assert [row.texts["processor"] for row in longer.tables["factors"].rows] == ["POWER8", "", ""]
    shorter = add(engineer, remove="factors:0", **FACTORS).context["page"].draft
    assert [row.texts["factor"] for row in shorter.tables["factors"].rows] == ["1"]
    assert not LicenceModel.objects.exists()


def test_the_trial_shows_count_and_cost_as_sentences(engineer, power):
    # 2 x 10 cores x 0.5 = 10 licences; 3 years x 10 x 1,800
    answer = trial(engineer, power, **FACTORS)
    assertContains(answer, "Power has 2 x 10 = 20")
    assertContains(answer, "Factor: 20 x 0.5 for POWER8 = 10")
    assertContains(answer, "54,000.00 EUR")
    assertNotContains(answer, "<html")
    assert not LicenceModel.objects.exists()


def test_standbys_count_unless_their_role_is_exempt(engineer, power):
    assertContains(trial(engineer, power, **{"trial-standbys": "2"}), "Order: 1 x 20 + 2 x 20 = 60")
    exempt = trial(engineer, power, exempt_roles="standby", **{"trial-standbys": "2"})
    assertContains(exempt, "Power needs none of Per core, as its role is standby")
    assertContains(exempt, "108,000.00 EUR")


def test_not_eligible_is_an_answer_with_its_reason(engineer, power):
    answer = trial(engineer, power, max_sockets="1")
    assertContains(answer, "Not eligible.")
    assertContains(answer, "at most 1 socket, and Power has 2")


def test_a_licence_per_vcpu_counts_the_virtual_machine_and_one_per_socket_what_was_bought(engineer, power):
    power = power.revise(vm_vcpus=160)
    assertContains(trial(engineer, power, metric="vcpu"), "Power (revision 2) has 160")
    # 2 sockets x 3 years x 1,800
    assertContains(trial(engineer, power, metric="socket"), "10,800.00 EUR")


def test_a_trial_says_what_it_lacks(engineer, power):
    assertContains(trial(engineer, power, **{"trial-price": ""}), "Type a price")
    assertContains(trial(engineer, power, **{"trial-hardware": ""}), "Choose a machine")
    assertContains(trial(engineer, power, metric="memory"), "that of &#x27;Power&#x27; is not known: fill it in")
    assertNotContains(trial(engineer, power, payment="barter"), "Licences</dt>")
    assertContains(trial(engineer, power, pack="0"), "Units in a pack: Write a whole number of 1 or more.")
    assertContains(trial(engineer, power, name="", **{"trial-currency": "USD"}), "USD")
    assert engineer.get(reverse("licence-model-preview")).status_code == 405


def test_a_revision_begins_with_the_rules_and_the_newest_price(engineer, power):
    old = LicenceModel.objects.create(
        name="l", metric="core", rules={"pack": 2, "factors": [{"processor": "POWER8", "factor": "0.5"}]}
    )
    priced = {"description": "core", "amount": Decimal(1800), "currency": "USD", "priced_on": "2026-01-01"}
    ListPrice.objects.create(licence_model=old, source="a list", **priced)
    page = reverse("licence-model-revise", args=[old.pk])
    answer = engineer.get(page)
    assertContains(answer, 'name="pack" value="2"')
    assertContains(answer, 'value="POWER8"')
    assert answer.context["page"].draft.trial_form["currency"].value() == "USD"
    engineer.post(page, {"metric": "core", "pack": "4"})
    new = LicenceModel.objects.current().get()
    assert (new.revision, new.rules) == (2, {"version": 1, "pack": 4})
    old.refresh_from_db()
    assert old.rules["pack"] == 2


@pytest.mark.parametrize(
    ("metric", "rules", "sentence", "unit"),
    [
        ("none", {}, "Nothing is licensed", "nothing: no licence is needed"),
        ("socket", {}, "Per occupied socket. Paid by the year.", "one occupied socket, for a year"),
        (
            "socket",
            {"sockets_per_licence": 2, "period": "month"},
            "covers 2 of them",
            "2 occupied sockets, for a month",
        ),
        (
            "core",
            {"minimum_per_socket": 4, "minimum_per_server": 16, "pack": 2, "is_price_per_pack": True},
            "Per physical core. At least 4 per socket and 16 per server. Sold in packs of 2, pooled per server.",
            "a pack of 2 physical cores, for a year",
        ),
        (
            "user",
            {"users_per_processor": 25, "payment": "perpetual", "support_percent": "22"},
            "Per named user; at least 25 for each socket. Paid once, for good, with support of 22% of the list price",
            "one named user, for good",
        ),
        (
            "core",
            {"minimum_per_server": 16, "maximum_per_socket": 24, "maximum_per_order": 96},
            "At least 16 per server. Paid for at most 24 per socket and 96 per order.",
            "one physical core, for a year",
        ),
        (
            "core",
            {"pack": 2, "is_price_per_pack": True, "tiers": [{"from_units": 6, "percent_off": "10"}]},
            "From 6 packs on 10% off",
            "a pack of 2 physical cores, for a year",
        ),
        ("memory", {"memory_block_gb": "64", "payment": "hourly"}, "64 GB", "64 GB of memory, for an hour"),
        ("flat", {"max_servers": 3}, "One licence for the whole site. For at most 3 servers.", "one site, for a year"),
        ("vcpu", {"tiers": [{"from_units": 9, "price": "5"}]}, "From 9 on 5 each: each unit", "one vCPU, for a year"),
        (
            "core",
            {"exempt_roles": ["standby"], "max_sockets": 2},
            "None for servers in the role of standby.",
            "one phy",
        ),
    ],
)
def test_rules_in_plain_words(metric, rules, sentence, unit):
    licence_rules = LicenceModel(metric=metric, rules=rules).licence_rules()
    assert sentence in words(licence_rules)
    assert price_of(licence_rules).startswith(unit)


def test_the_list_shows_rules_in_words_and_never_as_json(engineer):
    LicenceModel.objects.create(name="l", metric="core", rules={"pack": 2})
    answer = engineer.get(reverse("licence-models"))
    assertContains(answer, "Per physical core. Sold in packs of 2, pooled per server. Paid by the year.")
    assertNotContains(answer, "&#x27;pack")


def test_every_metric_of_the_registry_is_offered_saved_listed_and_found(engineer):
    assert [value for value, _ in LicenceModelForm.base_fields["metric"].choices if value] == list(METRICS)
    for name, metric in METRICS.items():
        answer = engineer.post(reverse("licence-model-add"), {"name": f"By {name}", "metric": name})
        assertRedirects(answer, reverse("licence-models"))
        assertContains(engineer.get(reverse("licence-models"), {"metric": name}), escape(metric.label))
    assert set(LicenceModel.objects.values_list("metric", flat=True)) == set(METRICS)


def test_a_metric_that_is_not_in_the_registry_is_refused_by_form_api_and_model(engineer):
    answer = engineer.post(reverse("licence-model-add"), {"name": "Odd", "metric": "moons"})
    assert "valid choice" in answer.context["page"].draft.form.errors["metric"][0]
    answer = engineer.post("/api/v1/licence-models/", {"name": "Odd", "metric": "moons"}, "application/json")
    assert answer.status_code == 422
    with pytest.raises(ValidationError, match="Choose one of: none, server"):
        LicenceModel(name="Odd", metric="moons").full_clean()
    assert not LicenceModel.objects.exists()


def test_a_trial_counts_the_smaller_of_vcpus_and_cores(engineer):
    machine = Hardware.objects.create(name="Host", sockets=2, cores_per_socket=16, unlike_cores=[16, 8], vm_vcpus=40)
    answer = trial(engineer, machine, metric="vm_core")
    assertContains(answer, "Host has 40 vCPUs on 24 cores: 24")
    assertContains(answer, "129,600")  # 24 x 1,800 x 3


@pytest.mark.parametrize("field", ["metric", "payment", "counts_vm_memory"])
@pytest.mark.parametrize("view", ["licence-model-add", "licence-model-preview"])
def test_what_is_no_choice_is_refused_without_being_repeated(engineer, field, view):
    answer = engineer.post(reverse(view), {**PER_CORE, field: "<" * 300_000})
    assertContains(answer, "Select a valid choice: one of the list.")
    assert len(answer.content) < 200_000
    assert not LicenceModel.objects.exists()
