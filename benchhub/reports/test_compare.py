import csv
import io
import json
import re
from datetime import date
from decimal import Decimal

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.bench import testdata
from benchhub.bench.models import Found, Protocol, System
from benchhub.catalog.models import Hardware, LicenceModel, ListPrice

pytestmark = pytest.mark.django_db
COMPARE = "/compare/"
COMPARISON_QUERIES = 6  # session, user, curves, runs, licence models, prices
REFUSAL_QUERIES = 5  # session, user, curves, runs, protocols
PICK_QUERIES = 7  # session, user, hosts, workloads, count, page, peaks


@pytest.fixture
def reader(client):
    client.force_login(get_user_model().objects.create_user("ada"))
    return client


@pytest.fixture
def hardware():
    return Hardware.objects.create(name="Box", sockets=2, cores_per_socket=10)


@pytest.fixture
def host():
    return testdata.make_host()


@pytest.fixture
def systems(host, hardware):
    return [testdata.make_system(version, host, hardware) for version in ("16", "18")]


@pytest.fixture
def experiment(systems):
    """16 has a peak of 1,000 TPS (980 and 1,020) at 8 clients; 18 has one of 1,120 (1,100 and 1,140) there."""
    made = testdata.make_experiment(systems)
    for system, at_8 in zip(systems, ((980.0, 1020.0), (1100.0, 1140.0)), strict=True):
        for clients, repeat, tps in ((1, 1, 300.0), (1, 2, 310.0), (8, 1, at_8[0]), (8, 2, at_8[1])):
            testdata.succeeded(testdata.make_run(made, system, clients, repeat), tps)
    return made


@pytest.fixture
def prices(hardware):
    LicenceModel.objects.create(name="Hardware only", metric="none")
    socket = LicenceModel.objects.create(name="Per socket", metric="socket")
    core = LicenceModel.objects.create(name="Per core", metric="core")
    list_price("5000", hardware=hardware)
    list_price("4200", licence_model=socket)
    list_price("1800", licence_model=core)
    return {"socket": socket, "core": core}


def list_price(amount, currency="EUR", **of):
    what = str(next(iter(of.values())))
    listed = {"description": what, "priced_on": date(2026, 1, 1), "source": "a quote", "currency": currency}
    return ListPrice.objects.create(amount=Decimal(amount), **listed, **of)


def variant(system, **changes):
    """The same system but for these fields; a system is never changed in place."""
    values = {field.attname: getattr(system, field.attname) for field in System._meta.concrete_fields}
    return System.objects.create(**{**values, "id": None, "digest": testdata.sha256(str(changes)), **changes})


def key(experiment, system):
    return f"{experiment.pk}-{system.pk}"


def address(*keys, **more):
    named = "&".join([*(f"curve={one}" for one in keys), *(f"{name}={value}" for name, value in more.items())])
    return f"{COMPARE}?{named}"


def both(experiment, systems, **more):
    return address(*(key(experiment, system) for system in systems), **more)


def figure_of(response):
    found = re.search(r'<script id="figure-compare" type="application/json">(.*?)</script>', response.content.decode())
    return json.loads(found[1]) if found else None


def rows_of(response):
    return list(csv.DictReader(io.StringIO(response.content.decode())))


def test_nothing_is_compared_without_signing_in(client, experiment, systems):
    page = both(experiment, systems)
    assert client.get(page).status_code == 302
    assert client.get(both(experiment, systems, csv="levels")).status_code == 302


def test_a_warehouse_without_a_curve_says_what_to_do_first(reader):
    assertContains(reader.get(COMPARE), "There is no finished curve yet")


def test_finished_curves_are_listed_with_their_peak_and_can_be_ticked(reader, experiment, systems):
    response = reader.get(COMPARE)
    assertContains(response, f'name="curve" value="{key(experiment, systems[0])}"')
    assertContains(response, "1,120")
    assertContains(response, "at 8 clients")
    assertNotContains(response, " checked")


def test_a_curve_that_is_still_being_run_is_not_listed(reader, experiment, systems):
    testdata.make_run(experiment, systems[0], 16, 1)
    response = reader.get(COMPARE)
    assertNotContains(response, f'value="{key(experiment, systems[0])}"')
    assertContains(response, f'value="{key(experiment, systems[1])}"')


def test_a_search_keeps_what_was_ticked_even_where_it_is_not_found(reader, experiment, systems):
    response = reader.get(both(experiment, systems[:1], pick=1, q="PostgreSQL 18"))
    assertContains(response, "Also chosen")
    assertContains(response, f'value="{key(experiment, systems[0])}" checked')
    assertContains(response, f'id="curve-{key(experiment, systems[1])}"')
    assertNotContains(response, f'id="curve-{key(experiment, systems[0])}"')
    assertContains(response, f'href="?curve={key(experiment, systems[0])}&amp;pick=1">Show all')


def test_the_list_narrows_by_host_and_says_when_nothing_matches(reader, experiment, host):
    assertContains(reader.get(COMPARE, {"host": host.pk}), "PostgreSQL 16")
    assertContains(reader.get(COMPARE, {"q": "no such thing"}), "Nothing matches")


def test_the_button_leads_to_an_address_without_the_search(reader, experiment, systems):
    asked = both(experiment, systems, pick=1, q="Two", sort="date", go=1, term=5)
    assertRedirects(reader.get(asked), both(experiment, systems, term=5))


def test_comparing_nothing_asks_to_tick_first(reader, experiment):
    assertContains(reader.get(COMPARE, {"pick": 1, "go": 1}), "Tick the curves to compare first.")


def test_an_experiment_leads_to_all_its_curves(reader, experiment, systems):
    assertRedirects(reader.get(COMPARE, {"experiment": experiment.pk}), both(experiment, systems))


def test_an_experiment_without_a_result_has_nothing_to_compare(reader, systems):
    made = testdata.make_experiment(systems, name="Empty")
    assertContains(reader.get(COMPARE, {"experiment": made.pk}), "Empty&#x27; has no result yet")
    assert reader.get(COMPARE, {"experiment": "x"}).status_code == 404


def test_the_list_takes_the_same_queries_however_many_curves_there_are(
    reader, experiment, systems, django_assert_num_queries
):
    with django_assert_num_queries(PICK_QUERIES):
        reader.get(COMPARE)
    other = testdata.make_experiment(systems, name="Again")
    for system in systems:
        testdata.succeeded(testdata.make_run(other, system, 1, 1), 300.0)
    with django_assert_num_queries(PICK_QUERIES):
        reader.get(COMPARE)


def test_a_comparison_takes_the_same_queries_however_many_runs_there_are(
    reader, experiment, systems, prices, django_assert_num_queries
):
    with django_assert_num_queries(COMPARISON_QUERIES):
        reader.get(both(experiment, systems))
    for clients in range(20, 40):
        testdata.succeeded(testdata.make_run(experiment, systems[0], clients, 1), 500.0)
    with django_assert_num_queries(COMPARISON_QUERIES):
        reader.get(both(experiment, systems))


def test_the_page_says_first_what_was_found_and_how_sure_it_is(reader, experiment, systems):
    said = (
        "PostgreSQL 18 gives 1.12x the throughput of PostgreSQL 16 at 8 clients "
        "(range of repeats 1.08 to 1.16, 2 repeats each): no interval below 3 repeats."
    )
    response = reader.get(both(experiment, systems))
    assertContains(response, said)
    assertContains(response, "goes from 1.00x at 1 client to 1.12x at 8 clients; the ranges of repeats lie apart at 1")
    assert response.content.decode().index(said) < response.content.decode().index("latency against clients")


def test_the_baseline_is_the_reader_s(reader, experiment, systems):
    response = reader.get(both(experiment, systems, baseline=key(experiment, systems[1])))
    assertContains(response, "PostgreSQL 16 gives 0.89x the throughput of PostgreSQL 18")
    assertContains(response, '<span class="under">0.89x, 0.86 to 0.93</span>')
    assertNotContains(response, "1.12x")


def test_a_baseline_that_was_not_chosen_is_left_aside(reader, experiment, systems):
    assertContains(reader.get(both(experiment, systems, baseline="9-9")), "throughput of PostgreSQL 16 at 8")


def test_the_best_of_a_level_is_marked_and_overlapping_repeats_are_said(reader, experiment, systems):
    page = reader.get(both(experiment, systems)).content.decode()
    at_1, at_8 = re.findall(r'<tr>\s*<th scope="row" class="n">.*?</tr>', page, re.S)
    assert at_1.count("best</span>") == 2  # the medians are the same
    assert at_8.count("best</span>") == 1
    assert at_8.index("1,000") < at_8.index("best</span>") < at_8.index("1,120")
    assert "overlap</span>" in at_1
    assert "overlap</span>" not in at_8


def test_every_repeat_of_every_curve_is_drawn(reader, experiment, systems):
    traces = figure_of(reader.get(both(experiment, systems)))["data"]
    names = {trace["name"] for trace in traces}
    assert {"PostgreSQL 16", "PostgreSQL 18"} <= names
    assert traces[0]["y"][2:] == [980.0, 1020.0]


def test_equal_labels_of_two_experiments_are_told_apart(reader, experiment, systems):
    again = testdata.make_experiment(systems, name="Next day")
    testdata.succeeded(testdata.make_run(again, systems[0], 8, 1), 1000.0)
    response = reader.get(address(key(experiment, systems[0]), key(again, systems[0])))
    assertContains(response, "PostgreSQL 16, Next day gives 1.00x the throughput of PostgreSQL 16, Two builds")
    assertContains(response, "Nothing that was asked of these systems differs.")
    assert System.objects.get(pk=systems[0].pk).label == "PostgreSQL 16"


def test_a_level_that_the_baseline_lacks_has_no_ratio(reader, experiment, systems):
    testdata.succeeded(testdata.make_run(experiment, systems[1], 16, 1), 1300.0)
    response = reader.get(both(experiment, systems))
    assertContains(response, "not in the baseline")
    assertContains(response, "at their peaks, 16 clients against 8 (")


@pytest.fixture
def other_protocol(systems):
    made = testdata.make_experiment(systems, name="Longer")
    for system in systems:
        run = testdata.make_run(made, system, 8, 1, protocol=Protocol.of({"path": "socket", "duration_s": 300}))
        testdata.succeeded(run, 1234.5)
    return made


def test_different_protocols_are_refused_and_the_fields_are_named(reader, experiment, systems, other_protocol, prices):
    keys = [key(experiment, systems[0]), key(other_protocol, systems[1])]
    response = reader.get(address(*keys))
    assertContains(response, "Runs of different protocols are not comparable. They differ in: duration_s.")
    assertContains(response, "<td>300</td>")
    assertContains(response, f'href="?curve={keys[0]}">Show this one alone')
    assertContains(response, f'href="?curve={keys[0]}">Leave out PostgreSQL 18')
    assert figure_of(response) is None
    assertNotContains(response, "x the throughput")
    assertNotContains(response, "How was this computed?")


def test_what_may_be_compared_is_offered(reader, experiment, systems, other_protocol):
    odd = key(other_protocol, systems[0])
    response = reader.get(address(odd, *(key(experiment, system) for system in systems)))
    alike = "&amp;".join(f"curve={key(experiment, system)}" for system in systems)
    assertContains(response, f'href="?{alike}">Compare these 2')
    assertContains(response, f'href="?{alike}">Leave out PostgreSQL 16')


def test_a_refusal_gives_no_csv_either(reader, experiment, systems, other_protocol):
    response = reader.get(address(key(experiment, systems[0]), key(other_protocol, systems[1]), csv="levels"))
    assert response["Content-Type"].startswith("text/html")


def test_a_refusal_takes_few_queries(reader, experiment, systems, other_protocol, django_assert_num_queries):
    with django_assert_num_queries(REFUSAL_QUERIES):
        reader.get(address(key(experiment, systems[0]), key(other_protocol, systems[1])))


def test_unlike_units_are_refused(reader, experiment, systems):
    made = testdata.make_experiment(systems, name="Orders")
    testdata.succeeded(testdata.make_run(made, systems[0], 8, 1), 1000.0, unit="NOPM")
    response = reader.get(address(key(experiment, systems[0]), key(made, systems[0])))
    assertContains(response, "Throughput in NOPM and TPS is not comparable")
    assert figure_of(response) is None


def test_a_demonstration_among_them_is_said(reader, experiment, systems):
    shown = testdata.make_experiment(systems, name="Show", is_demonstration=True)
    testdata.succeeded(testdata.make_run(shown, systems[0], 8, 1), 900.0)
    warning = "A demonstration is among these curves."
    assertContains(reader.get(address(key(experiment, systems[0]), key(shown, systems[0]))), warning)
    assertNotContains(reader.get(both(experiment, systems)), warning)


def test_curves_that_are_not_there_are_named(reader, experiment, systems):
    response = reader.get(address(key(experiment, systems[0]), "998-999", "nonsense"))
    assertContains(response, "not there: 998-999.")
    assertContains(response, "Add a second curve to compare it with.")


def test_an_address_without_any_curve_that_exists_is_no_error(reader):
    assertContains(reader.get(address("998-999")), "There is nothing to show.")


def test_more_curves_than_can_be_told_apart_are_cut_with_a_word(reader, experiment, systems):
    many = [key(experiment, systems[0]), *(f"998-{number}" for number in range(12))]
    assertContains(reader.get(address(*many)), "At most 12 curves are compared")


def test_facts_that_changed_between_runs_of_a_curve_are_a_doubt(reader, experiment, systems):
    first, second, *_ = runs = list(experiment.runs.filter(system=systems[0]).order_by("position"))
    for run in runs:
        Found.objects.create(run=run, facts_digest=testdata.sha256("old" if run is first else "new"))
    response = reader.get(both(experiment, systems))
    assertContains(response, f"found in 2 states during this curve: run {first.pk}; runs {second.pk}")
    assertContains(response, "found in 2 states", count=1)


def test_doubts_of_runs_and_missing_results_are_gathered(reader, experiment, systems):
    doubt = [{"code": "x", "text": "The client may be the limit."}]
    testdata.succeeded(testdata.make_run(experiment, systems[0], 16, 1), 800.0, doubts=doubt)
    testdata.ended(testdata.make_run(experiment, systems[0], 16, 2), "failed", "it broke")
    response = reader.get(both(experiment, systems))
    assertContains(response, "The client may be the limit. (at 16 clients)")
    assertContains(response, "1 of 6 runs ended without a result; no point comes of that.")


def test_hardware_and_what_was_asked_of_the_systems_stand_side_by_side(reader, systems):
    form = {"path": "socket", "settings": {"shared_buffers": "256MB"}, "build": {"version": "16"}}
    other = {"path": "socket", "settings": {"shared_buffers": "1GB"}, "build": {"version": "18"}}
    systems = [variant(systems[0], description=form), variant(systems[1], description=other)]
    experiment = testdata.make_experiment(systems)
    for system in systems:
        testdata.succeeded(testdata.make_run(experiment, system, 8, 1), 1000.0)
    page = reader.get(both(experiment, systems)).content.decode()
    differences = page[page.index("What differs between the systems") :]
    assert re.search(r"shared_buffers</th><td>256MB</td><td>1GB</td>", differences)
    assert "build version</th><td>16</td><td>18</td>" in differences
    assert ">path</th>" not in differences
    assert re.search(r"Cores</th><td>20</td><td>20</td>", page)


def test_prices_follow_the_term(reader, experiment, systems, prices):
    three, five = (reader.get(both(experiment, systems, term=term)) for term in (3, 5))
    assertContains(three, "30.20</span>")  # (5,000 + 3 x 2 x 4,200) / 1,000
    assertContains(five, "47.00</span>")  # (5,000 + 5 x 2 x 4,200) / 1,000
    assertNotContains(five, "30.20</span>")
    assertContains(five, "5 years x 20 x 1,800 EUR = 180,000 EUR")
    assertContains(five, "5.00</span>")  # hardware alone does not grow with the term
    assertContains(three, "How was this computed?", count=6)


def test_prices_follow_the_rounding(reader, experiment, systems, prices):
    up, nearest = (reader.get(both(experiment, systems, rounding=rounding)) for rounding in ("up", "nearest"))
    assertContains(nearest, "4.46</span>")  # 5,000 / 1,120 = 4.4643
    assertContains(up, "4.47</span>")
    assertContains(up, "rounded up")


def test_licences_can_be_left_out_and_other_terms_are_left_aside(reader, experiment, systems, prices):
    core = prices["core"]
    assertContains(reader.get(both(experiment, systems, licence=core.pk)), "How was this computed?", count=2)
    for odd in ({"term": 6}, {"term": "x"}, {"rounding": "down"}, {"licence": "x"}, {"licence": 99_999}):
        assertContains(reader.get(both(experiment, systems, **odd)), "over 3 years, rounded to nearest")


def test_the_terms_keep_the_rest_of_the_address(reader, experiment, systems, prices):
    response = reader.get(both(experiment, systems, baseline=key(experiment, systems[1]), term=5))
    kept = f'<input type="hidden" name="baseline" value="{key(experiment, systems[1])}">'
    assertContains(response, kept, count=1)
    assertContains(response, '<input type="hidden" name="term" value="5">', count=1)


def test_the_cheapest_of_a_licence_is_marked(reader, experiment, systems, prices):
    page = reader.get(both(experiment, systems)).content.decode()
    assert page.count(">lowest</span>") == 3
    assert page.index("5.00</span>") < page.index(">lowest</span>")


def test_a_missing_price_is_named_and_marks_nothing_cheapest(reader, experiment, systems):
    LicenceModel.objects.create(name="Hardware only", metric="none")
    response = reader.get(both(experiment, systems))
    assertContains(response, "There is no list price for the hardware &#x27;Box&#x27;", count=2)
    assertNotContains(response, ">lowest</span>")


def test_unlike_currencies_are_never_compared(reader, experiment, host, systems, prices):
    abroad = testdata.make_system("17", host, Hardware.objects.create(name="Abroad", sockets=1, cores_per_socket=4))
    list_price("6000", "USD", hardware=abroad.hardware)
    made = testdata.make_experiment([abroad], name="Abroad")
    testdata.succeeded(testdata.make_run(made, abroad, 8, 1), 1000.0)
    response = reader.get(address(key(experiment, systems[0]), key(made, abroad)))
    assertContains(response, "Prices in EUR and USD are not compared with each other")
    assertContains(response, "amounts in unlike currencies cannot be added")
    assertNotContains(response, ">lowest</span>")


def test_the_levels_come_as_csv_with_exact_ratios(reader, experiment, systems):
    response = reader.get(both(experiment, systems, csv="levels"))
    assert response["Content-Disposition"] == 'attachment; filename="comparison-levels.csv"'
    rows = rows_of(response)
    assert len(rows) == 4
    assert (rows[3]["curve"], rows[3]["clients"], rows[3]["n"]) == ("PostgreSQL 18", "8", "2")
    assert float(rows[3]["ratio"]) == 1.12
    assert float(rows[3]["ratio_lowest"]) == 1100 / 1020
    assert (rows[2]["is_best"], rows[3]["is_best"]) == ("", "yes")


def test_the_prices_come_as_csv_as_shown(reader, experiment, systems, prices):
    rows = rows_of(reader.get(both(experiment, systems, csv="prices", term=5, rounding="up")))
    assert len(rows) == 6
    shown = [rows[1][name] for name in ("licence", "term_years", "rounding", "price", "currency", "unit")]
    assert shown == ["Per socket", "5", "up", "47.00", "EUR", "TPS"]
    assert (rows[1]["hardware_total"], rows[1]["licence_total"]) == ("5000.0000", "42000.0000")


def test_the_systems_come_as_csv_and_an_unknown_table_is_none(reader, experiment, systems):
    rows = rows_of(reader.get(both(experiment, systems, csv="systems")))
    assert {"field": "Cores", "PostgreSQL 16": "20", "PostgreSQL 18": "20"} in rows
    assert reader.get(both(experiment, systems, csv="nonsense")).status_code == 404


def test_names_are_escaped_and_no_cell_is_a_formula(reader, experiment, systems):
    odd = variant(systems[0], label="=<b>x")
    made = testdata.make_experiment([odd], name="Odd")
    testdata.succeeded(testdata.make_run(made, odd, 8, 1), 1000.0)
    chosen = [key(made, odd), key(experiment, systems[1])]
    assertNotContains(reader.get(address(*chosen)), "<b>x")
    assert rows_of(reader.get(address(*chosen, csv="levels")))[-2]["curve"] == "'=<b>x"


def test_the_page_of_an_experiment_follows_the_term_too(reader, experiment, prices):
    page = reverse("experiment", args=[experiment.pk])
    assertContains(reader.get(page), "30.20</span>")
    assertContains(reader.get(page, {"term": 5}), "47.00</span>")
    assertContains(reader.get(page, {"rounding": "up"}), "4.47</span>")
