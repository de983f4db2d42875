import re

import pytest
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench import testing
from benchhub.bench.models import LatencyHistogram, Run

pytestmark = pytest.mark.django_db


def page_of(experiment):
    return f"/experiments/{experiment.pk}/"


def test_a_unit_follows_its_own_number_where_another_stands_below_it(reader, experiment, systems):
    """On a phone both stand in one line: 0.450 ms of 11,600, not 0.450 of 11,600 ms."""
    testing.succeeded(testing.make_run(experiment, systems[0], 8, 3), 990.0)
    for run in experiment.runs.filter(system=systems[0], clients=8):
        bins = {"lower_us": [450], "upper_us": [451], "counts": [5800], "sum_us": 1, "min_us": 450, "max_us": 450}
        LatencyHistogram.objects.create(run=run, name="latency", **bins)
    response = reader.get(page_of(experiment))
    assertContains(response, '</span><span class="under">of ')
    cells = re.findall(r"<td[^>]*data-unit[^>]*>(.*?)</td>", response.content.decode(), re.DOTALL)
    assert cells and not any("under" in cell for cell in cells)


def test_where_all_runs_failed_the_page_says_so_and_offers_nothing_to_download(reader, systems):
    """A load that succeeded before them changes nothing."""
    experiment = testing.make_experiment(systems)
    testing.ended(testing.make_run(experiment, systems[0], 1, 1, kind="load"), "succeeded")
    for system in systems:
        testing.ended(testing.make_run(experiment, system, 1, 1), "failed", "pgbench aborted")
    response = reader.get(page_of(experiment))
    assertContains(response, "All runs failed: there is nothing to draw.")
    for absent in ("No run has ended with a result yet.", "Download CSV", 'data-picture="png"', "data-switches"):
        assertNotContains(response, absent)


def test_where_no_run_has_ended_yet_there_is_a_place_for_the_figure_and_nothing_to_download(reader, systems):
    experiment = testing.make_experiment(systems)
    testing.make_run(experiment, systems[0], 1, 1)
    response = reader.get(page_of(experiment))
    assertContains(response, "No run has ended with a result yet.")
    assertContains(response, 'id="chart-1"')
    assertNotContains(response, 'data-picture="png"')


def test_where_some_were_cancelled_they_are_not_said_to_have_failed(reader, systems):
    experiment = testing.make_experiment(systems)
    testing.ended(testing.make_run(experiment, systems[0], 1, 1), "failed", "pgbench aborted")
    run = testing.make_run(experiment, systems[0], 8, 1)
    Run.objects.filter(pk=run.pk).update(state="cancelled", ended_at=run.created_at)
    response = reader.get(page_of(experiment))
    assertContains(response, "All runs have ended, and none with a result")
    assertNotContains(response, "All runs failed")
