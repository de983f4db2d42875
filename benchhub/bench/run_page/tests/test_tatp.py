"""The page of a run of TATP, where a planner recomputes its rates and sees what is an estimate."""

import pytest
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench import testing
from benchhub.bench.models import Run, Series, Watch
from benchhub.bench.run_page.types import types
from benchhub.catalog.models import Hardware, Workload

pytestmark = pytest.mark.django_db

RATES = {
    "mqth": 4646.0,
    "ended_transactions": 45_910.0,
    "refused_transactions": 1_625.0,
    "measured_s": 9.532,
    "strict_mqth": 3649.0,
    "empty_reads": 9_502.0,
}
EXECUTIONS = {"get_access_data": 15_402, "update_location": 7_387, "delete_call_forwarding": 968}
SAMPLED = {"tool": "tatp", "log_sampling_rate": 1 / 60}


def measures(**values):
    return {name: {"value": value, "unit": ""} for name, value in values.items()}


def histogram(run, name, logged, share=1 / 60):
    bins = {"lower_us": [100], "upper_us": [101], "counts": [logged], "sum_us": 1, "min_us": 1, "max_us": 1}
    return run.histograms.create(name=name, sampling_rate=share, **bins)


@pytest.fixture
def run():
    hardware = Hardware.objects.create(name="Box", sockets=2, cores_per_socket=10)
    system = testing.make_system("18", testing.make_host(), hardware)
    spec = {
        "tool": "tatp",
        "parameters": {"subscribers": 100_000, "seed": 12345},
        "duration_s": 10,
        "log_sampling_rate": 1 / 60,
    }
    workload = Workload.objects.create(name="tatp", tool="tatp", parameters=spec["parameters"])
    return testing.make_run(testing.make_experiment([system], workload=workload), system, 4, 1, spec=spec)


def shown(planner, run, **values):
    testing.succeeded(run, 4646.0, unit="MQTh", measures=measures(**values))
    return planner.get(reverse("run", args=[run.pk]))


def test_writes_that_may_be_refused_are_no_estimate():
    [row] = types(measures(executions_delete_call_forwarding=968), [], SAMPLED)
    assert (row.is_estimate, row.executions_known) == (False, 968)


def test_the_strict_rate_stands_beside_mqth_with_the_way_both_were_computed(planner, run):
    page = shown(planner, run, **RATES)
    assertContains(page, "<dt>By the strict rule</dt><dd>~<data", count=1)
    assertContains(page, "How was this computed?", count=1)
    assertNotContains(page, "<dt>strict MQTh</dt>")
    assertNotContains(page, "the load generator ended before it reported")


def test_executions_from_a_sampled_log_are_rounded_to_what_is_known_and_told_writes_are_not(run):
    """271 of a type that were logged tell its number to 12%, 130 to 17%."""
    executions = measures(**{f"executions_{name}": value for name, value in EXECUTIONS.items()})
    logged = [histogram(run, "GET_ACCESS_DATA", 271), histogram(run, "UPDATE_LOCATION", 130)]
    access, location, deletes = types(executions, logged, SAMPLED)
    assert (access.is_estimate, access.executions_known) == (True, 15_000)
    assert (location.is_estimate, location.executions_known) == (True, 7_000)
    assert (deletes.is_estimate, deletes.executions_known) == (False, 968)
    assert [row.is_estimate for row in types(executions, [], SAMPLED)] == [True, True, False]
    whole = [histogram(run, "GET_SUBSCRIBER_DATA", 15_402, share=1.0)]
    assert not any(row.is_estimate for row in types(executions, whole, SAMPLED))


def test_a_run_that_logged_more_than_was_planned_says_what_it_logged(planner, run):
    """The pilot found a load slow enough to log it all; of the reads it looked at 1 in 64."""
    histogram(run, "GET_ACCESS_DATA", 15_402, share=1.0)
    executions = {f"executions_{name}": value for name, value in EXECUTIONS.items()}
    page = shown(planner, run, **RATES, **executions, reads_per_look=64.0)
    assertContains(page, "Every transaction was logged.")
    assertContains(page, "<dt>logged</dt><dd>every transaction</dd>", html=True)
    assertNotContains(page, "Executions with a ~ are estimates")
    assertContains(page, "<dt>By the strict rule</dt><dd>~<data", count=1)
    assertContains(page, "reads, by those that were looked at, found nothing")


def test_the_table_says_which_executions_are_estimates_and_how_its_bands_are_made(planner, run):
    histogram(run, "GET_ACCESS_DATA", 271)
    page = shown(planner, run, **{f"executions_{name}": value for name, value in EXECUTIONS.items()})
    assertContains(page, '~<data value="15000.0"', count=1)
    assertContains(page, "Executions with a ~ are estimates")
    assertContains(page, '<td data-label="Executions" class="n"><data value="968.0"', count=1)
    assertContains(page, "four standard deviations of chance")


def under_way(run):
    for state in ("reserved", "starting", "running"):
        Run.objects.filter(pk=run.pk).update(state=state, started_at=timezone.now())
    Watch.objects.create(run=run, step="measuring", live_tps=6447.0)


def test_while_it_runs_every_page_says_that_its_rate_counts_refused_writes(planner, run):
    """Neither TPS nor MQTh: what is refused is known when the run has ended."""
    under_way(run)
    for page in ("/", "/queue/", f"/experiments/{run.experiment_id}/", f"/runs/{run.pk}/"):
        response = planner.get(page)
        assertContains(response, "6,447</data> transactions/s, refused writes included", count=1)
        assertNotContains(response, "TPS")


def test_the_rate_of_a_run_of_pgbench_is_one_of_tps(planner, run):
    run = testing.make_run(testing.make_experiment([run.system]), run.system, 4, 1)
    under_way(run)
    assertContains(planner.get(f"/runs/{run.pk}/"), "6,447</data> TPS", count=1)


def test_types_with_too_few_logged_to_draw_are_named_beside_the_figure_with_their_number(planner, run):
    for name, logged in (("latency", 780), ("GET_ACCESS_DATA", 271), ("INSERT_CALL_FORWARDING", 5)):
        histogram(run, name, logged)
    page = shown(planner, run, **RATES)
    assertContains(page, "Not drawn, as fewer than 30 were logged: INSERT_CALL_FORWARDING (5). The table has them.")
    assertContains(page, '<td class="line">INSERT_CALL_FORWARDING</td>', count=1)


def test_how_it_was_run_writes_amounts_with_separators_and_gives_the_weights_the_whole_width(planner, run):
    page = planner.get(reverse("run", args=[run.pk]))
    assertContains(page, "<dt>subscribers</dt><dd>100,000</dd>")
    assertContains(page, "<dt>seed</dt><dd>12345</dd>")
    assertContains(page, '<div class="wide"><dt>weights</dt>', count=1)
    assertContains(page, "<div><dt>mix</dt>", count=1)


def test_what_was_0_in_every_second_is_said_and_not_drawn(planner, run):
    shown(planner, run, **RATES)
    for metric, values in (("failed", [0.0, 0.0]), ("skipped", [0.0, 2.0]), ("retried", [None, None])):
        Series.objects.create(run=run, metric=metric, unit="x", start_epoch_s=1.0, step_s=1.0, values=values)
    page = planner.get(reverse("run", args=[run.pk]))
    assertContains(page, "0 in every second, and so not drawn: failed.")
    assertContains(page, "Retried, skipped over time")
    assertNotContains(page, "Failed, ")
