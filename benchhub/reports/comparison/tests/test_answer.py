"""The answer of a comparison: what is cheapest or fastest, by how much, and how sure that is, worked out by hand."""

import json

import pytest
from django.http import QueryDict
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench import testing
from benchhub.catalog.models import Hardware, LicenceModel
from benchhub.reports.comparison.comparison import Comparison
from benchhub.reports.comparison.state import State
from benchhub.reports.sharing import publish
from benchhub.reports.testing import both, key, list_price
from benchhub.ui.templatetags.components import sum_marked

pytestmark = pytest.mark.django_db


def answer_of(*keys, **terms):
    query = QueryDict(mutable=True)
    query.setlist("curve", keys)
    query.update(terms)
    return Comparison.load(State.read(query)).answer


def keys_of(experiment, systems):
    return [key(experiment, system) for system in systems]


def measured(systems, *sides, name="Measured", clients=8):
    experiment = testing.make_experiment(systems, name=name)
    for repeat, values in enumerate(zip(*sides, strict=True), start=1):
        for system, tps in zip(systems, values, strict=True):
            testing.succeeded(testing.make_run(experiment, system, clients, repeat), tps)
    return experiment


def test_the_cheapest_is_named_with_its_total_and_what_it_saves(repeated, systems, prices):
    """Hardware 5,000; per socket 5,000 + 3 x 2 x 4,200 = 30,200, of which 25,200 are 83%."""
    answer = answer_of(*keys_of(repeated, systems))
    assert answer.verdict == "Cheapest: Hardware only on PostgreSQL 18, 5,000 EUR over 3 years"
    assert answer.sentences[:2] == (
        "25,200 EUR (83%) less than Per socket.",
        "Hardware only on PostgreSQL 16 costs as much over the term, and more per TPS.",
    )
    assert answer.sentences[-1].startswith("Throughput at the peaks: PostgreSQL 18 has 1.12x (")
    assert answer.sentences[-1].endswith(") that of PostgreSQL 16.")


def test_its_figures_are_throughput_price_per_unit_and_the_total_in_its_parts(repeated, systems, prices):
    answer = answer_of(*keys_of(repeated, systems), licence=str(prices["socket"].pk))
    throughput, price, total = answer.tiles
    assert (throughput.value, throughput.unit) == ("1,120", "TPS")
    assert throughput.notes[:2] == ("PostgreSQL 18, peak at 8 clients", "PostgreSQL 16: 1,000")
    assert throughput.notes[2].startswith("95% interval 1,")
    assert throughput.notes[2].endswith(", 5 runs")
    assert (price.title, price.value, price.unit) == ("Price per TPS", "26.96", "EUR")  # 30,200 / 1,119.972
    assert price.notes[:2] == ("PostgreSQL 18", "next lowest: 30.20 EUR, PostgreSQL 16")
    assert price.notes[2].startswith("95% interval 26.")
    assert (total.title, total.value) == ("Total over 3 years", "30,200")
    beside = "the same, PostgreSQL 16"
    assert total.notes == ("PostgreSQL 18", beside, "hardware 5,000, licence 25,200", "exact, by the prices below")


def test_the_bars_are_the_totals_the_longest_being_the_dearest(repeated, systems, prices):
    bars = answer_of(*keys_of(repeated, systems)).picture.bars
    assert [bar.value for bar in bars] == ["5,000 EUR"] * 2 + ["30,200 EUR"] * 2 + ["113,000 EUR"] * 2
    assert [bar.width_percent for bar in bars[::2]] == ["4.42", "26.73", "100.00"]
    assert [bar.pattern for bar in bars] == [0, 0, 1, 1, 2, 2] or len({bar.pattern for bar in bars}) == 3
    assert [bar.series for bar in bars] == [1, 0] * 3


def test_two_that_are_not_told_apart_share_the_name_of_cheapest(systems, prices):
    experiment = measured(systems, (1000.0, 1100.0, 1050.0), (1040.0, 1060.0, 1080.0))
    answer = answer_of(*keys_of(experiment, systems))
    assert answer.verdict == "Cheapest: Hardware only, 5,000 EUR over 3 years"
    assert "PostgreSQL 18 has 1.01x (" in " ".join(answer.sentences)
    assert ") that of PostgreSQL 16: no difference shown." in " ".join(answer.sentences)


def test_what_the_next_licence_costs_more_is_said_where_another_system_comes_between(host, systems, prices):
    """3,000 of 8,000 are 38%; per socket 5,000 + 3 x 2 x 4,200 = 30,200, of which 25,200 are 83%."""
    bigger = Hardware.objects.create(name="Bigger", sockets=2, cores_per_socket=10)
    list_price("8000", hardware=bigger)
    pair = [systems[0], testing.make_system("17", host, bigger)]
    experiment = measured(pair, (990.0, 1000.0, 1010.0), (1090.0, 1100.0, 1110.0))
    answer = answer_of(*keys_of(experiment, pair))
    assert answer.sentences[:2] == (
        "3,000 EUR (38%) less than Hardware only on PostgreSQL 17.",
        "25,200 EUR (83%) less than the next licence, Per socket on PostgreSQL 16.",
    )


def test_where_the_smaller_sum_buys_dearer_transactions_both_are_named(host, systems, prices):
    """5,000 / 1,000 TPS = 5.00 on the box; 8,000 / 4,000 TPS = 2.00 on the bigger one."""
    bigger = Hardware.objects.create(name="Bigger", sockets=2, cores_per_socket=10)
    list_price("8000", hardware=bigger)
    pair = [systems[0], testing.make_system("17", host, bigger)]
    experiment = measured(pair, (990.0, 1000.0, 1010.0), (3960.0, 4000.0, 4040.0))
    free = LicenceModel.objects.get(metric="none")
    answer = answer_of(*keys_of(experiment, pair), licence=str(free.pk))
    assert answer.verdict == "Lowest price per TPS: PostgreSQL 17, 2.00 EUR"
    assert answer.sentences[:2] == (
        "PostgreSQL 17 costs 8,000 EUR, 2.00 EUR per TPS.",
        "The smallest sum is that of PostgreSQL 16: 5,000 EUR, 5.00 EUR per TPS.",
    )


def test_without_prices_it_says_which_is_fastest(repeated, systems):
    answer = answer_of(*keys_of(repeated, systems))
    assert answer.verdict == "Fastest: PostgreSQL 18, 1,120 TPS at 8 clients"
    assert [tile.title for tile in answer.tiles] == ["Peak throughput", "Against the next", "Runs behind it"]
    assert answer.tiles[0].notes[0] == "PostgreSQL 18, peak at 8 clients"
    assert answer.tiles[1].value == "1.12x"
    assert answer.tiles[1].notes[0] == "PostgreSQL 18 over PostgreSQL 16"
    assert answer.tiles[1].notes[1].startswith("95% interval 1.")
    assert (answer.tiles[2].value, answer.tiles[2].notes) == ("15", ("PostgreSQL 18", "3 levels, 5 runs at the peak"))
    assert [bar.value for bar in answer.picture.bars] == ["1,120 TPS", "1,000 TPS"]


def test_a_missing_price_is_said_beside_the_cheapest(repeated, systems, hardware):
    LicenceModel.objects.create(name="Hardware only", metric="none")
    LicenceModel.objects.create(name="Per core", metric="core")
    list_price("5000", hardware=hardware)
    answer = answer_of(*keys_of(repeated, systems))
    assert answer.verdict.startswith("Cheapest of those with a price: ")
    assert "2 of 4 have no price, so that another may be cheaper: the table of prices says why." in answer.sentences


def test_two_repeats_test_nothing_and_the_card_offers_the_third(reader, experiment, systems, prices):
    answer = answer_of(*keys_of(experiment, systems))
    assert answer.confidence.level == "low"
    assert answer.confidence.reason == "Only 2 repeats at 8 clients: a test takes 3."
    assert answer.confidence.remedy.words.startswith("Add 1 repeat, about ")
    assert not any(word in answer.verdict for word in ("Fastest", "Lowest price"))
    page = reader.get(both(experiment, systems))
    assertContains(page, f"/experiments/{experiment.pk}/repeats?repeats=1")
    assertContains(reader.get(f"/experiments/{experiment.pk}/repeats?repeats=1"), 'value="1"')


def test_a_number_of_a_run_that_must_be_wrong_leaves_no_confidence_and_a_busy_host_some(reader, repeated, systems):
    run = repeated.runs.filter(clients=8).first()
    busy = {"code": "host-busy", "text": "Just before the load 30% of the CPU time of the host went to other work."}
    wrong = {"code": "rate", "text": "Count and time give another rate."}
    levels = {}
    for name, doubts in (("busy", [busy]), ("wrong", [busy, wrong])):
        type(run.result).objects.filter(pk=run.result.pk).update(doubts=doubts)
        levels[name] = answer_of(*keys_of(repeated, systems)).confidence
    assert levels["busy"].level == "fair"
    assert (levels["wrong"].level, levels["wrong"].reason) == ("none", f"PostgreSQL 16: {wrong['text']}")


def test_one_curve_is_no_winner(experiment, systems):
    answer = answer_of(key(experiment, systems[1]))
    assert answer.verdict == "PostgreSQL 18 reaches 1,120 TPS at 8 clients"
    assert answer.sentences == ()


def test_page_and_document_show_the_same_card_and_a_link_hides_names_in_it(reader, repeated, systems, prices):
    query = QueryDict(mutable=True)
    query.setlist("curve", keys_of(repeated, systems))
    state = State.read(query)
    answer = Comparison.load(state).answer
    document = json.loads(publish.comparison_now(state))
    card = document["sections"][0]["blocks"][0]
    assert (card["kind"], card["verdict"]) == ("answer", answer.verdict)
    assert document["summary"].startswith(f"{answer.verdict}. 25,200 EUR (83%) less than Per socket.")
    page = reader.get(both(repeated, systems))
    for text in (
        sum_marked(answer.verdict),
        *answer.sentences,
        answer.confidence.reason,
        *(t.value for t in answer.tiles),
    ):
        assertContains(page, text)
    assertNotContains(page, "repeats?repeats=")
