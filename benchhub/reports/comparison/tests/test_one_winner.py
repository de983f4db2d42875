"""Page, files, API and document name the same winner, by the geometric mean of the repeats."""

import re

import pytest
from django.utils.html import strip_tags

from benchhub.bench import testing
from benchhub.reports.comparison.state import State
from benchhub.reports.sharing import publish
from benchhub.reports.testing import both, figure_of, key, rows_of

pytestmark = pytest.mark.django_db


def measured(systems, *sides, clients=8):
    experiment = testing.make_experiment(systems, name="Close")
    for system, repeats in zip(systems, sides, strict=True):
        for repeat, tps in enumerate(repeats, start=1):
            testing.succeeded(testing.make_run(experiment, system, clients, repeat), tps)
    return experiment


def text_of(response):
    return " ".join(strip_tags(response.content.decode()).split())


def test_where_medians_name_the_other_one_everything_on_the_page_names_the_same(reader, systems, prices):
    """Medians 840 and 696; geometric means (300 x 840 x 850) ** (1/3) = 598.3, (690 x 696 x 1,000) ** (1/3) = 783.1."""
    experiment = measured(systems, (300.0, 840.0, 850.0), (690.0, 696.0, 1000.0))
    response = reader.get(both(experiment, systems))
    lines = [trace["y"] for trace in figure_of(response)["data"][1::2]]
    assert lines == [[pytest.approx(598.4, abs=0.1)], [pytest.approx(783.1, abs=0.1)]]
    page = response.content.decode()
    assert "PostgreSQL 18 and PostgreSQL 16 are not distinguishable at 8 clients: 1.31x" in text_of(response)
    levels = page.partition("Throughput by clients and curve")[2]
    (row,) = re.findall(r'<tr>\s*<th scope="row" class="n">.*?</tr>', levels, re.DOTALL)
    words = (">598</data>", "highest</span>", "no clear winner</span>", ">783</data>")
    assert sorted(words, key=row.index) == list(words)
    assert "No clear winner: PostgreSQL 18 under Hardware only, 6.38 EUR per TPS, is not distinguishable from" in page
    # The one that leads is the cheaper one with more than even chances, and is not called the lowest.
    (chance,) = set(re.findall(r"the cheaper one with a probability of ([0-9.]+)%; the lowest takes", page))
    assert 50 < float(chance) < 97.5
    assert ">lowest</span>" not in page
    assert ">best</span>" not in page


def test_two_repeats_twelvefold_apart_are_not_tested_and_nowhere_not_distinguishable(reader, systems, prices):
    experiment = measured(systems, (1000.0, 1010.0), (12_000.0, 12_120.0))
    page = reader.get(both(experiment, systems))
    assert "not distinguishable" not in text_of(page)
    claim = (
        "12x the throughput of PostgreSQL 16 at 8 clients (range of repeats 11.9 to 12.1, 2 repeats each): not tested"
    )
    assert claim in text_of(page)
    assert "Lowest as measured: PostgreSQL 18 under Hardware only" in text_of(page)
    _, row = rows_of(reader.get(both(experiment, systems, csv="levels")))
    assert (row["ratio_verdict"], row["is_best"]) == ("not tested", "")
    verdicts = {row["verdict"] for row in rows_of(reader.get(both(experiment, systems, csv="prices")))}
    assert verdicts == {"", "not tested against PostgreSQL 16, as that takes 3 repeats of each"}


def test_the_api_has_the_same_verdicts_as_the_page(reader, systems, prices):
    experiment = measured(systems, (1000.0, 1010.0), (12_000.0, 12_120.0))
    query = {"curve": [key(experiment, system) for system in systems]}
    answer = reader.get("/api/v1/comparisons/", query).json()
    assert [ratio["verdict"] for ratio in answer["ratios"]] == [None, "not tested"]
    assert [(ratio["is_highest"], ratio["is_best"]) for ratio in answer["ratios"]] == [(False, False), (True, False)]
    assert {row["verdict"] for row in answer["prices"]["rows"]} == {None, "not tested"}
    level = answer["curves"][1]["levels"][0]
    assert level["geometric_mean"] == pytest.approx((12_000 * 12_120) ** 0.5)


def test_a_clear_winner_is_called_best_and_lowest(reader, systems, prices):
    experiment = measured(systems, (1000.0, 1010.0, 990.0), (2000.0, 2010.0, 1990.0))
    page = reader.get(both(experiment, systems)).content.decode()
    assert page.count(">best</span>") == 1
    assert page.count(">lowest</span>") == 3  # under each licence
    assert "The cheapest is PostgreSQL 18 under Hardware only" in page
    assert "o clear winner" not in page


def test_a_list_of_curves_has_the_peak_that_their_comparison_has(reader, systems):
    experiment = measured(systems, (300.0, 840.0, 850.0), (690.0,))
    rows = reader.get("/api/v1/curves/").json()["results"]
    peaks = {row["key"]: row["peak_throughput"] for row in rows}
    assert [peaks[key(experiment, system)] for system in systems] == [pytest.approx(598.3287, abs=1e-4), 690.0]


def test_a_document_has_the_words_of_the_page(reader, systems, prices):
    experiment = measured(systems, (300.0, 840.0, 850.0), (690.0, 696.0, 1000.0))
    document = publish.comparison_now(State.of_curves([key(experiment, system) for system in systems])).decode()
    assert "No clear winner: PostgreSQL 18 under Hardware only, 6.38 EUR per TPS" in document
    assert '"highest"' in document
    assert '"best"' not in document
