import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench import testing
from benchhub.bench.models import Run

pytestmark = pytest.mark.django_db
# Session, user, experiment, tags, systems, levels, runs, protocols, latencies, licence models, prices, rates, sheets;
# count, page; counts by state, repeats that were added; limits
PAGE_QUERIES = 17


@pytest.fixture
def page(reader, experiment):
    """The experiment's page for an address: with 8 runs, 4 of each system, at 1 and 8 clients."""

    def get(**query):
        return reader.get(reverse("experiment", args=[experiment.pk]), query)

    return get


def runs(answer):
    """What the table shows of each run: (its place in the plan, system, clients)."""
    page = answer.context["page"].listing.page
    return [(run.position, run.system.label.removeprefix("PostgreSQL "), run.clients) for run in page]


def test_all_runs_stand_in_the_order_of_the_plan(page):
    assert [position for position, _, _ in runs(page())] == list(range(1, 9))


def test_runs_are_found_by_system_and_by_state(page, experiment, systems):
    testing.ended(testing.make_run(experiment, systems[0], 16, 1), "failed", "it broke")
    assert {system for _, system, _ in runs(page(q="postgresql 18"))} == {"18"}
    assert runs(page(q="failed")) == runs(page(q="broke")) == [(9, "16", 16)]
    assert runs(page(q="18 failed")) == []
    assertContains(page(q="18 failed"), "No run matches.")


def test_runs_are_filtered_by_system_clients_state_and_doubts(page, experiment, systems):
    doubts = [{"code": "x", "text": "The client may be the limit."}]
    testing.succeeded(testing.make_run(experiment, systems[1], 1, 3), 300.0, doubts=doubts)
    waiting = testing.make_run(experiment, systems[0], 8, 3)
    of_16 = str(systems[0].pk)
    assert [run for run in runs(page(system=of_16)) if run[1] != "16"] == []
    assert runs(page(system=of_16, clients="8", state="succeeded")) == [(3, "16", 8), (4, "16", 8)]
    assert runs(page(doubts="with")) == [(9, "18", 1)]
    assert len(runs(page(doubts="without"))) == 9
    assert runs(page(state="queued")) == [(10, "16", 8)]
    assert runs(page(state="active")) == []
    Run.objects.filter(pk=waiting.pk).update(state="reserved")
    assert runs(page(state="active")) == [(10, "16", 8)]


def test_runs_are_sorted_and_those_without_a_result_stand_last_either_way(page, experiment, systems):
    testing.make_run(experiment, systems[0], 16, 1)
    slow, fast = runs(page(sort="throughput")), runs(page(sort="-throughput"))
    assert (slow[0], slow[-1]) == ((1, "16", 1), (9, "16", 16))  # 300 TPS
    assert (fast[0], fast[-1]) == ((8, "18", 8), (9, "16", 16))  # 1,140 TPS


def test_what_an_address_does_not_mean_is_left_aside(page):
    odd = page(system="999", clients="x", state="lost in space", doubts="?", sort="price", page="99")
    assert len(runs(odd)) == 8
    assertNotContains(odd, "Show all")


def test_a_filter_changes_neither_curve_nor_prices_and_keeps_their_terms(page, prices):
    plain, narrow = page(term="5"), page(term="5", q="failed")
    assert runs(narrow) == []
    assert plain.context["page"].sections[0].figure == narrow.context["page"].sections[0].figure
    assertContains(narrow, "47.01</span>")  # (5,000 + 5 x 2 x 4,200) / (980 x 1,020) ** 0.5
    assertContains(narrow, '<input type="hidden" name="term" value="5">')
    assertContains(narrow, '<input type="hidden" name="q" value="failed">')
    assertContains(narrow, 'href="?term=5#runs"')


def test_the_table_comes_in_pages(page, experiment, systems):
    for repeat in range(3, 60):
        testing.make_run(experiment, systems[0], 1, repeat)
    assert len(runs(page())) == 50
    assert len(runs(page(page="2"))) == 8 + 57 - 50
    assertContains(page(page="2"), "Page 2 of 2, 65 in all")


@pytest.mark.parametrize("query", [{}, {"q": "18", "state": "succeeded", "doubts": "without", "sort": "-latency"}])
def test_the_table_takes_the_same_queries_however_it_is_narrowed(page, query, django_assert_num_queries):
    with django_assert_num_queries(PAGE_QUERIES):
        page(**query)


def test_a_page_under_way_asks_again_for_what_it_shows(page, experiment, systems):
    assertNotContains(page(state="queued"), "every 5s")
    testing.make_run(experiment, systems[0], 16, 1)
    attributes = f'hx-get="{reverse("experiment", args=[experiment.pk])}?state=queued" hx-trigger="every 5s"'
    assertContains(page(state="queued"), attributes)
