"""Prices beside compared curves, and the tables as files."""

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench import testing
from benchhub.catalog.models import Hardware, LicenceModel
from benchhub.reports.testing import address, both, key, list_price, rows_of, variant

pytestmark = pytest.mark.django_db


def test_prices_follow_the_term(reader, experiment, systems, prices):
    three, five = (reader.get(both(experiment, systems, term=term)) for term in (3, 5))
    assertContains(three, "30.21</span>")  # (5,000 + 3 x 2 x 4,200) / (980 x 1,020) ** 0.5
    assertContains(five, "47.01</span>")  # (5,000 + 5 x 2 x 4,200) / 999.8
    assertNotContains(five, "30.21</span>")
    assertContains(five, "5 years x 20 x 1,800 EUR = 180,000 EUR")
    assertContains(five, "5.00</span>")  # hardware alone does not grow with the term
    assertContains(three, "How was this computed?", count=6)


def test_prices_follow_the_rounding(reader, experiment, systems, prices):
    up, nearest = (reader.get(both(experiment, systems, rounding=rounding)) for rounding in ("up", "nearest"))
    assertContains(nearest, "4.46</span>")  # 5,000 / 1,120 = 4.4643
    assertContains(up, "4.47</span>")
    assertContains(up, "3 years, rounded up")
    assertNotContains(nearest, "3 years, rounded")


def test_licences_can_be_left_out_and_other_terms_are_left_aside(reader, experiment, systems, prices):
    core = prices["core"]
    assertContains(reader.get(both(experiment, systems, licence=core.pk)), "How was this computed?", count=2)
    for odd in ({"term": 6}, {"term": "x"}, {"rounding": "down"}, {"licence": "x"}, {"licence": 99_999}):
        assertContains(reader.get(both(experiment, systems, **odd)), "over 3 years.")


def test_the_terms_keep_the_rest_of_the_address(reader, experiment, systems, prices):
    response = reader.get(both(experiment, systems, baseline=key(experiment, systems[1]), term=5))
    hidden = f'<input type="hidden" name="baseline" value="{key(experiment, systems[1])}">'
    assertContains(response, hidden, count=4)
    assertContains(response, '<input type="hidden" name="term" value="5">', count=4)


def test_the_cheapest_of_a_licence_is_marked(reader, repeated, systems, prices):
    page = reader.get(both(repeated, systems)).content.decode()
    assert page.count(">lowest</span>") == 3
    assert page.index("5.00</span>") < page.index(">lowest</span>")


def test_a_ceiling_that_no_level_keeps_leaves_whole_rows_that_say_why(reader, repeated, systems, prices):
    query = both(repeated, systems, load="latency", ceiling="0.0001")
    refused = rows_of(reader.get(f"{query}&csv=prices"))
    assert [row["clients"] for row in refused] == ["", ""]
    assert all("0.0001 ms" in row["missing"] for row in refused)
    document = reader.get("/api/v1/comparisons/document/?" + query.partition("?")[2])
    assert document.status_code == 200


def test_few_repeats_mark_nothing_cheapest(reader, experiment, systems, prices):
    assertNotContains(reader.get(both(experiment, systems)), ">lowest</span>")


def test_a_missing_price_is_named_and_marks_nothing_cheapest(reader, experiment, systems):
    LicenceModel.objects.create(name="Hardware only", metric="none")
    response = reader.get(both(experiment, systems))
    assertContains(response, "There is no list price for the hardware &#x27;Box&#x27;", count=2)
    assertNotContains(response, ">lowest</span>")


def test_unlike_currencies_are_never_compared(reader, experiment, host, systems, prices):
    abroad = testing.make_system("17", host, Hardware.objects.create(name="Abroad", sockets=1, cores_per_socket=4))
    list_price("6000", "USD", hardware=abroad.hardware)
    other = testing.make_experiment([abroad], name="Abroad")
    testing.succeeded(testing.make_run(other, abroad, 8, 1), 1000.0)
    response = reader.get(address(key(experiment, systems[0]), key(other, abroad)))
    assertContains(response, "Prices in EUR and USD are not compared with each other")
    assertContains(response, "amounts in unlike currencies cannot be added")
    assertNotContains(response, ">lowest</span>")


def test_the_levels_come_as_csv_with_exact_ratios(reader, experiment, systems):
    response = reader.get(both(experiment, systems, csv="levels"))
    assert response["Content-Disposition"] == 'attachment; filename="comparison-levels.csv"'
    rows = rows_of(response)
    assert len(rows) == 4
    assert (rows[3]["curve"], rows[3]["clients"], rows[3]["n"]) == ("PostgreSQL 18", "8", "2")
    assert float(rows[3]["ratio"]) == pytest.approx((1100 * 1140 / 980 / 1020) ** 0.5)
    assert float(rows[3]["ratio_lowest"]) == 1100 / 1020
    assert (rows[2]["is_best"], rows[3]["is_best"]) == ("", "")
    assert (rows[2]["leader"], rows[2]["ratio_verdict"], rows[3]["ratio_verdict"]) == ("", "", "not tested")
    assert rows[3]["leader"] == "not tested against PostgreSQL 16, as that takes 3 repeats of each"


def test_the_prices_come_as_csv_as_shown(reader, experiment, systems, prices):
    rows = rows_of(reader.get(both(experiment, systems, csv="prices", term=5, rounding="up")))
    assert len(rows) == 6
    cells = [
        rows[1][name] for name in ("licence", "terms", "price", "price_low", "price_high", "n", "currency", "unit")
    ]
    assert cells == ["Per socket", "5 years, rounded up", "47.01", "46.08", "47.96", "2", "EUR", "TPS"]
    assert (rows[1]["hardware_total"], rows[1]["licence_total"]) == ("5000.00", "42000.00")


def test_the_systems_come_as_csv_and_an_unknown_table_is_none(reader, experiment, systems):
    rows = rows_of(reader.get(both(experiment, systems, csv="systems")))
    assert {"field": "Cores", "PostgreSQL 16": "20", "PostgreSQL 18": "20"} in rows
    refusal = reader.get(both(experiment, systems, csv="nonsense"))
    assert refusal.status_code == 404
    text = refusal.content.decode()
    names = ("levels", "prices,", "law", "findings", "systems")
    assert sorted(names, key=text.index) == list(names)  # as they stand on the page


def test_names_are_escaped_and_no_cell_is_a_formula(reader, experiment, systems):
    odd = variant(systems[0], label="=<b>x")
    other = testing.make_experiment([odd], name="Odd")
    testing.succeeded(testing.make_run(other, odd, 8, 1), 1000.0)
    keys = [key(other, odd), key(experiment, systems[1])]
    assertNotContains(reader.get(address(*keys)), "<b>x")
    assert rows_of(reader.get(address(*keys, csv="levels")))[-2]["curve"] == "'=<b>x"


def test_the_page_of_an_experiment_follows_the_term_too(reader, experiment, prices):
    page = reverse("experiment", args=[experiment.pk])
    assertContains(reader.get(page), "30.21</span>")
    assertContains(reader.get(page, {"term": 5}), "47.01</span>")
    assertContains(reader.get(page, {"rounding": "up"}), "4.47</span>")
