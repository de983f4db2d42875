import csv
import io
import json
import re
from datetime import date
from decimal import Decimal

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.models import Growth, Protocol
from benchhub.catalog.models import LicenceModel, ListPrice
from benchhub.reports.experiments import page

pytestmark = pytest.mark.django_db
LIST_QUERIES = 5  # session, user, count, page, anything left to run
LIST = "/experiments/"
# Session, user, experiment, tags, systems, levels, runs, protocols, latencies, licence models, prices, rates, sheets;
# count, page; counts by state, repeats that were added; limits
EXPERIMENT_QUERIES = 17


@pytest.fixture
def experiment(systems):
    """16 has a peak of 1,000 TPS (990 and 1,010) at 8 clients; 18 has one of 2,000 there."""
    experiment = testing.make_experiment(systems)
    for system, factor in zip(systems, (1, 2), strict=True):
        for clients, repeat, tps in ((1, 1, 300.0), (1, 2, 310.0), (8, 1, 990.0), (8, 2, 1010.0)):
            testing.succeeded(testing.make_run(experiment, system, clients, repeat), tps * factor)
    return experiment


def page_of(experiment):
    return reverse("experiment", args=[experiment.pk])


def figure_of(response, number=1):
    script = rf'<script id="figure-{number}" type="application/json">(.*?)</script>'
    match = re.search(script, response.content.decode())
    return json.loads(match[1])


@pytest.mark.parametrize("page", ["/", LIST, "/experiments/1/", "/experiments/1/curve.csv"])
def test_nothing_is_shown_without_signing_in(client, page):
    assertRedirects(client.get(page), f"{reverse('login')}?next={page}", fetch_redirect_response=False)


def test_an_empty_list_says_what_to_do_first(reader):
    assertContains(reader.get(LIST), "make demo")
    assertContains(reader.get(LIST), "Plan an experiment")


def test_the_list_shows_progress_and_failures(reader, experiment, systems):
    testing.ended(testing.make_run(experiment, systems[0], 16, 1), "failed", "it broke")
    testing.make_run(experiment, systems[0], 16, 2)
    response = reader.get(LIST)
    assertContains(response, "9 of 10")
    assertContains(response, "1 failed or lost")
    assertContains(response, "PostgreSQL 16; PostgreSQL 18")
    assertContains(response, "every 5s")
    assertNotContains(response, "make demo")


def test_a_plan_that_grows_has_not_ended_before_it_says_so(reader, experiment, systems):
    searching = testing.make_experiment(systems[:1], name="Searching", grows="peak", most_runs=12)
    assertContains(reader.get(f"{LIST}?state=queued"), "Searching")
    run = testing.make_run(searching, systems[0], 8, 1)
    testing.succeeded(run, 990.0)
    assertContains(reader.get(f"{LIST}?state=running"), "Searching")
    assertNotContains(reader.get(f"{LIST}?state=ended"), "Searching")
    growth = Growth.objects.create(experiment=searching)
    assertContains(reader.get(f"{LIST}?state=running"), '<span class="state state-running">under way</span>')
    growth.stopped = Growth.Stopped.KNOWN
    growth.save()
    assertContains(reader.get(f"{LIST}?state=ended"), "Searching")
    assertNotContains(reader.get(f"{LIST}?state=running"), "Searching")


def test_a_list_of_ended_experiments_does_not_refresh_itself(reader, experiment):
    assertNotContains(reader.get(LIST), "every 5s")


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"q": "demonstration other"}, ["Other, a demonstration"]),
        ({"q": "PostgreSQL 18"}, ["Other, a demonstration", "Two builds"]),
        ({"q": "select-only"}, ["Other, a demonstration", "Two builds"]),
        ({"q": "PostgreSQL 17"}, []),
        ({"state": "ended"}, ["Two builds"]),
        ({"state": "queued"}, ["Other, a demonstration"]),
        ({"state": "running"}, []),
        ({"state": "failed"}, []),
        ({"demonstration": "without"}, ["Two builds"]),
        ({"demonstration": "only", "state": "ended"}, []),
        ({"sort": "-name"}, ["Two builds", "Other, a demonstration"]),
    ],
)
def test_the_list_is_searched_filtered_and_sorted_by_its_address(reader, experiment, systems, query, names):
    other = testing.make_experiment(systems, name="Other, a demonstration", is_demonstration=True)
    testing.make_run(other, systems[0], 1, 1)
    response = reader.get(LIST, query)
    assert [row.name for row in response.context["listing"].page] == names


def test_the_list_takes_the_same_queries_for_one_experiment_and_for_four(
    reader, experiment, systems, django_assert_num_queries
):
    waiting = testing.make_run(experiment, systems[0], 16, 1)
    assert waiting.state == "queued"
    with django_assert_num_queries(LIST_QUERIES):
        reader.get(LIST)
    for name in "abc":
        other = testing.make_experiment(systems, name=name)
        testing.make_run(other, systems[0], 1, 1)
        testing.succeeded(testing.make_run(other, systems[1], 1, 1), 10.0)
    with django_assert_num_queries(LIST_QUERIES):
        reader.get(LIST)


def test_the_page_takes_the_same_queries_however_many_runs_there_are(
    reader, experiment, systems, prices, django_assert_num_queries
):
    with django_assert_num_queries(EXPERIMENT_QUERIES):
        reader.get(page_of(experiment))
    for clients in range(20, 40):
        testing.succeeded(testing.make_run(experiment, systems[0], clients, 1), 500.0)
    with django_assert_num_queries(EXPERIMENT_QUERIES):
        reader.get(page_of(experiment))


def test_the_curve_has_every_repeat_and_the_geometric_means_of_both_systems(reader, experiment):
    traces = figure_of(reader.get(page_of(experiment)))["data"]
    by_name = {trace["name"]: trace for trace in traces}
    assert [name for name in by_name if "," not in name] == ["PostgreSQL 16", "PostgreSQL 18"]
    assert traces[0]["y"] == [300.0, 310.0, 990.0, 1010.0]
    assert by_name["PostgreSQL 18"]["y"] == pytest.approx([(600 * 620) ** 0.5, (1980 * 2020) ** 0.5])


def test_three_repeats_show_an_interval_of_their_mean_and_say_so(reader, systems):
    experiment = testing.make_experiment(systems[:1])
    for repeat, tps in enumerate((90.0, 100.0, 110.0), start=1):
        testing.succeeded(testing.make_run(experiment, systems[0], 8, repeat), tps)
    response = reader.get(page_of(experiment))
    assertContains(
        response,
        "A bar with caps is a 95% interval. Intervals are of the geometric mean (t distribution",
    )
    assertContains(response, "no run resembles the one before it, and that none stalls")
    for text in (
        ">95% interval</td>",
        "lowest run 90, highest 110",
        'title="median 100.0, arithmetic mean 100.0"',
        ">99.7</data>",  # (90 x 100 x 110) ** (1/3)
        ">77.7</data>",
        ">128</data>",
    ):
        assertContains(response, text)
    assertContains(response, "the number in bold is the geometric mean of the runs")
    assertNotContains(response, ">range</td>")
    bar = figure_of(response)["data"][1]["error_y"]
    # s of the logarithms 0.100383; a factor of exp(4.302653 x 0.100383 / sqrt(3)) = 1.283192 about 99.6655
    assert (bar["array"], bar["arrayminus"]) == (
        [pytest.approx(28.22452, rel=1e-4)],
        [pytest.approx(21.99555, rel=1e-4)],
    )


def test_two_repeats_show_their_range_and_say_so(reader, experiment):
    response = reader.get(page_of(experiment))
    assertContains(response, "A dotted bar is the range of 2 repeats.")
    assertContains(response, ">range</td>", count=4)
    assertNotContains(response, "95% interval")
    assertNotContains(response, ">mean <")


def test_latency_is_drawn_from_the_same_runs(reader, experiment):
    response = reader.get(page_of(experiment))
    script = r'<script id="latency-1" type="application/json">(.*?)</script>'
    traces = json.loads(re.search(script, response.content.decode())[1])["data"]
    assert traces[0]["y"] == pytest.approx([1000 / 300, 1000 / 310, 8000 / 990, 8000 / 1010])
    assert traces[0]["customdata"] == figure_of(response)["data"][0]["customdata"]


def test_an_experiment_under_way_can_be_cancelled_and_one_that_ended_cannot(reader, experiment, systems):
    address = reverse("experiment-cancel", args=[experiment.pk])
    assertNotContains(reader.get(page_of(experiment)), address)
    waiting = testing.make_run(experiment, systems[0], 16, 1)
    response = reader.get(page_of(experiment))
    assertContains(response, address)
    assertContains(response, reverse("run-cancel", args=[waiting.pk]), count=1)


def test_a_failed_run_is_listed_with_its_reason_and_is_no_point(reader, experiment, systems):
    failed = testing.make_run(experiment, systems[0], 16, 1)
    testing.ended(failed, "failed", "pgbench aborted: connection lost")
    response = reader.get(page_of(experiment))
    assertContains(response, "pgbench aborted: connection lost")
    assertContains(response, reverse("run", args=[failed.pk]))
    traces = figure_of(response)["data"]
    assert all(16 not in trace["x"] and failed.pk not in trace.get("customdata", []) for trace in traces)


def test_a_demonstration_says_that_it_supports_no_verdict(reader, experiment, systems):
    demonstration = testing.make_experiment(systems, is_demonstration=True, duration_s=3)
    response = reader.get(page_of(demonstration))
    assertContains(response, "Runs of 3 s on a shared machine support no verdict")
    assertContains(response, f'href="{reverse("host-add")}">add your own server')
    assertNotContains(reader.get(page_of(experiment)), "support no verdict")
    reader.force_login(make_user("vera", Role.VIEWER))
    assertNotContains(reader.get(page_of(demonstration)), "add your own server")


def test_prices_at_the_peak_come_with_their_derivation(reader, experiment, prices):
    response = reader.get(page_of(experiment))
    assertContains(response, "5.00</span>")  # 5,000 / 1,000 TPS
    assertContains(response, "30.20</span>")  # (5,000 + 3 x 2 x 4,200) / 1,000
    assertContains(response, "113.01</span>")  # (5,000 + 3 x 20 x 1,800) / (990 x 1,010) ** 0.5
    assertContains(response, "3 years x 20 x 1,800 EUR = 108,000 EUR")
    assertContains(response, "range of repeats 4.95 to 5.05")
    assertContains(response, "How was this computed?", count=6)
    assertContains(response, "8 clients, the edge of what was run")


def test_a_missing_price_is_named_and_is_not_zero(reader, experiment):
    LicenceModel.objects.create(name="Hardware only", metric="none")
    response = reader.get(page_of(experiment))
    assertContains(response, "There is no list price for the hardware &#x27;Box&#x27;")
    assertNotContains(response, "per TPS</span>")


def test_the_newest_price_counts_and_one_of_a_later_day_does_not(reader, experiment, prices, hardware):
    fields = {"hardware": hardware, "currency": "EUR", "source": "another quote"}
    ListPrice.objects.create(description="Box", amount=Decimal("6000"), priced_on=date(2026, 2, 1), **fields)
    ListPrice.objects.create(description="Box", amount=Decimal("9000"), priced_on=date(2999, 1, 1), **fields)
    response = reader.get(page_of(experiment))
    assertContains(response, "Box costs 6,000 EUR")
    assertNotContains(response, "9,000 EUR")


def test_doubts_stand_beside_the_number(reader, experiment, systems):
    doubts = [{"code": "client_bound", "text": "The client may be the limit."}]
    testing.succeeded(testing.make_run(experiment, systems[0], 16, 1), 800.0, doubts=doubts)
    assertContains(reader.get(page_of(experiment)), "<li>The client may be the limit.</li>")


def test_runs_of_different_protocols_are_never_drawn_on_one_curve(reader, hardware):
    host = testing.make_host()
    systems = [
        testing.make_system("16", host, hardware),
        testing.make_system("18", host, hardware, path="loopback"),
    ]
    experiment = testing.make_experiment(systems)
    for system in systems:
        run = testing.make_run(experiment, system, 1, 1, protocol=Protocol.stored({"path": system.path}))
        testing.succeeded(run, 100.0)
    response = reader.get(page_of(experiment))
    assertContains(response, "run under 2 protocols, which differ in: connection path.")
    for number in (1, 2):
        assert len({trace["name"].split(",")[0] for trace in figure_of(response, number)["data"]}) == 1


def test_unlike_units_are_refused_with_a_sentence_and_nothing_is_drawn_or_priced(reader, experiment, systems, prices):
    testing.succeeded(testing.make_run(experiment, systems[0], 16, 1), 800.0, unit="NOPM")
    response = reader.get(page_of(experiment))
    assertContains(response, "Throughput in NOPM and TPS is not comparable: the units differ. Nothing is drawn.")
    assert figure_of(response)["data"] == []
    assertNotContains(response, "How was this computed?")


def test_a_page_under_way_refreshes_itself_and_estimates_what_is_left(reader, experiment, systems):
    assertNotContains(reader.get(page_of(experiment)), "every 5s")
    testing.make_run(experiment, systems[0], 16, 1)
    testing.make_worker()
    response = reader.get(page_of(experiment))
    assertContains(response, "every 5s")
    assertContains(response, "<span data-left>about 1 min left</span>")


def test_an_experiment_without_a_result_yet_says_so(reader, systems):
    experiment = testing.make_experiment(systems)
    testing.make_run(experiment, systems[0], 1, 1)
    assertContains(reader.get(page_of(experiment)), "No run has ended with a result yet.")


def test_the_csv_holds_exact_values(reader, experiment):
    response = reader.get(reverse("experiment-curve", args=[experiment.pk]))
    assert response["Content-Disposition"] == f'attachment; filename="experiment-{experiment.pk}-curve.csv"'
    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert len(rows) == 4
    assert (rows[1]["system"], rows[1]["clients"], rows[1]["n"]) == ("PostgreSQL 16", "8", "2")
    assert (rows[1]["median"], rows[1]["lowest"], rows[1]["highest"]) == ("1000.0", "990.0", "1010.0")
    assert (rows[1]["latency_p99_ms"], rows[1]["latency_samples"]) == ("", "")


def test_a_page_has_no_inline_script_but_data(reader, experiment):
    page = reader.get(page_of(experiment)).content.decode()
    scripts = re.findall(r"<script([^>]*)>", page)
    assert scripts
    assert all("src=" in attributes or "application/json" in attributes for attributes in scripts)
    assert not re.search(r"\son\w+=", page)


def test_names_are_escaped_in_the_page_and_in_the_data_of_the_chart(reader, systems):
    experiment = testing.make_experiment(systems, name="</script><b>x")
    assertNotContains(reader.get(page_of(experiment)), "</script><b>x")


def test_a_page_that_is_not_there_says_so(reader):
    assertContains(reader.get("/experiments/999/"), "There is no such page", status_code=404)


def test_the_sign_in_page_says_what_was_wrong_and_keeps_the_name(client):
    response = client.post(reverse("login"), {"username": "ada", "password": "wrong"})
    assertContains(response, "do not match an account")
    assertContains(response, 'value="ada"')


def test_verdicts_are_said_to_be_so_far_while_runs_are_outstanding(reader, repeated, systems, prices):
    ended = reader.get(page_of(repeated))
    assertContains(ended, '<span class="tag">lowest</span>')
    assertNotContains(ended, "so far")
    testing.make_run(repeated, systems[0], 48, 1)
    live = reader.get(page_of(repeated))
    for text in (">peak so far", "So far: The cheapest is"):
        assertContains(live, text)
    assertNotContains(live, '<span class="tag">lowest</span>')


def test_an_edge_is_said_to_be_so_far_while_runs_are_outstanding(reader, experiment, systems, prices):
    assertNotContains(reader.get(page_of(experiment)), "so far")
    testing.make_run(experiment, systems[0], 16, 1)
    assertContains(reader.get(page_of(experiment)), "the edge of what was run, so far")


def test_cancelled_runs_are_counted_apart_and_are_no_failure(reader, experiment, systems):
    testing.ended(testing.make_run(experiment, systems[0], 16, 1), "cancelled", "ada cancelled it")
    page, experiments = reader.get(page_of(experiment)), reader.get(LIST)
    for response in (page, experiments):
        assertContains(response, "1 cancelled")
        assertContains(response, "8 of 9")
        assertNotContains(response, "failed or lost</")
    assertNotContains(page, "without a result")
    assertContains(experiments, ">ended</span>")


def test_all_who_look_on_have_an_experiment_drawn_once_for_each_change(reader, experiment, systems, monkeypatch):
    testing.make_run(experiment, systems[0], 64, 1)
    drawn_pages = []
    whole = page.ExperimentPage
    monkeypatch.setattr(page, "ExperimentPage", lambda *words: drawn_pages.append(1) or whole(*words))
    looking_on = {"BenchHub-Refresh": "1", "BenchHub-Version": "an earlier one"}
    answers = [reader.get(page_of(experiment), headers=looking_on) for _ in range(5)]
    assert {response.status_code for response in answers} == {200}
    assert len(drawn_pages) == 1
    reader.get(page_of(experiment))  # who opens it sees it as it is now
    assert len(drawn_pages) == 2
