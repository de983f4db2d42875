"""Options of pgbench that not every client has, from the plan to what is shown of it."""

import pytest
from django.db.models import Q
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.analysis.protocol import digest as digests
from benchhub.bench import testing
from benchhub.bench.models import Experiment, ExperimentSystem, Run
from benchhub.bench.plan import plan, specs
from benchhub.bench.plan.testing import NEW, PLAN, form_of
from benchhub.catalog.models import Hardware, Workload
from benchhub.reports.curves import curves
from benchhub.reports.leaderboard import queries as leaderboard_queries

pytestmark = pytest.mark.django_db
SHAPE = "100 for 2, 300 for 1"
PLAIN = {"script": "tpcb-like", "query_mode": "simple", "scale": 10}


@pytest.fixture
def workload():
    def make(**options):
        return Workload.objects.create(name="own", tool="pgbench", parameters={**PLAIN, **options})

    return make


def queued(own, system, clients=1, duration_s=3):
    client = {"client_build": system.build, "client_bin_directory": "/opt/pg/bin"}
    experiment = Experiment(
        name="e", workload=own, client_levels=[clients], repeats=1, duration_s=duration_s, warmup_run_s=7,
        warmup_run_clients=clients, **client,
    )  # fmt: skip
    plan.queue(experiment, [system])


@pytest.mark.parametrize(
    ("options", "version", "sentence"),
    [
        ({"max_tries": 3}, "14", "pgbench 14 does not know more than one try; use 15 or newer."),
        ({"failures_detailed": True}, "14", "pgbench 14 does not know failures in detail; use 15 or newer."),
        ({"think_ms": 50}, "12", "pgbench 12 does not know think times; use 13 or newer."),
        ({"partitions": 4}, "12", "pgbench 12 does not know partitions; use 13 or newer."),
        ({"partitions": 4, "unlogged": True}, "18", "pgbench 18 makes only the accounts unlogged"),
    ],
)
def test_a_client_that_lacks_an_option_is_refused_before_anything_is_queued(workload, options, version, sentence):
    host, hardware = testing.make_host(), Hardware.objects.create(name="h", sockets=1, cores_per_socket=4)
    system = testing.make_system(version, host, hardware)
    own = workload(**options)
    with pytest.raises(ValueError, match=sentence.split(";")[0]):
        queued(own, system)
    assert not Run.objects.exists()


@pytest.mark.parametrize("version", ["9", "12", "14", "18"])
def test_a_connection_for_each_transaction_is_planned_with_any_client(workload, version):
    host, hardware = testing.make_host(), Hardware.objects.create(name="h", sockets=1, cores_per_socket=4)
    system = testing.make_system(version, host, hardware)
    system.build.version = {"9": "9.3"}.get(version, version)
    system.build.save()
    queued(workload(connect_each=True), system)
    assert Run.objects.filter(kind=Run.Kind.MEASURE).get().spec["parameters"]["connect_each"] is True


def test_the_form_of_a_plan_says_so_beside_the_workload(planner, servers, workload):
    filled = form_of(workload(partitions=4, unlogged=True), *servers)
    assertContains(planner.post(PLAN, filled), "pgbench 18.1 makes only the accounts unlogged")
    planner.post(NEW, {**filled, "queue": "1"})
    assert not Experiment.objects.exists()


def test_plan_experiment_and_run_show_what_sets_a_workload_apart(planner, servers, workload):
    own = workload(max_tries=3, connect_each=True)
    answer = planner.post(PLAN, form_of(own, *servers))
    assertContains(answer, "a connection for each transaction; up to 3 tries of a transaction")
    planner.post(NEW, {**form_of(own, *servers), "queue": "1"})
    experiment = Experiment.objects.get()
    page = planner.get(reverse("experiment", args=[experiment.pk]))
    assertContains(page, "(a connection for each transaction; up to 3 tries of a transaction)")
    run = planner.get(reverse("run", args=[experiment.runs.filter(kind=Run.Kind.MEASURE).first().pk]))
    assertContains(run, "connect each")


def test_the_plan_says_which_throughput_clients_that_think_cannot_exceed(planner, servers, workload):
    """A client that pauses 40 ms on average begins at most 25 transactions a second."""
    answer = planner.post(PLAN, form_of(workload(think_ms=40), *servers))
    assertContains(answer, "they make at most 25 TPS at 1 and 200 TPS at 8 clients")
    assertContains(answer, "thinks 40 ms before each transaction")


def test_a_load_shape_is_planned_with_clients_for_its_rates_and_with_its_own_duration(workload):
    host, hardware = testing.make_host(), Hardware.objects.create(name="h", sockets=1, cores_per_socket=4)
    system = testing.make_system("16", host, hardware)
    own = workload(load_shape=SHAPE)
    with pytest.raises(ValueError, match="needs at least 2 clients, not 1"):
        queued(own, system)
    with pytest.raises(ValueError, match="takes 3 s: give its runs that duration"):
        queued(own, system, clients=4, duration_s=60)
    assert not Run.objects.exists()
    queued(own, system, clients=4)
    spec = Run.objects.get(kind=Run.Kind.MEASURE).spec
    # Its rate is in the plan: no pilot has to find it.
    warmup = Run.objects.get(kind=Run.Kind.WARMUP).spec
    assert (warmup["duration_s"], warmup["parameters"]) == (7, {**PLAIN, "rate_tps": 100})
    assert (spec["pilot_s"], spec["log_sampling_rate"], spec["expected_tps"]) == (0, 1.0, 600.0)


def test_runs_at_rates_of_their_own_have_no_curve_peak_or_place_and_the_page_says_so_once(planner, workload):
    host, hardware = testing.make_host(), Hardware.objects.create(name="h", sockets=1, cores_per_socket=4)
    system = testing.make_system("16", host, hardware)
    queued(workload(load_shape=SHAPE), system, clients=4)
    run = Run.objects.get(kind=Run.Kind.MEASURE)
    testing.succeeded(run, 200.0)
    assert run.rate_tps == 300
    assert Run.objects.get(kind=Run.Kind.WARMUP).rate_tps == 0
    assert (Run.objects.counted().count(), Run.objects.measured().count(), Run.objects.peaks(Q())) == (1, 0, {})
    assert not ExperimentSystem.objects.filter(result_count__gt=0).exists()
    assert not leaderboard_queries.workloads().exists()
    page = planner.get(reverse("experiment", args=[run.experiment_id]))
    assertContains(page, curves.OFFERED, count=1)
    assertNotContains(page, "Throughput and latency against clients")
    key = f"{run.experiment_id}-{run.system_id}"
    assertContains(planner.get(reverse("compare"), {"curve": [key]}), "is left out. Its workload offers")
    assert planner.get(reverse("experiment-curve", args=[run.experiment_id])).content.count(b"\n") <= 1


def test_a_level_with_too_few_clients_for_a_shape_is_refused_beside_the_workload(planner, servers, workload):
    filled = form_of(workload(load_shape=SHAPE), *servers, levels="1, 8", duration_s="3")
    answer = planner.post(NEW, {**filled, "queue": "1"})
    assertContains(answer, "needs at least 2 clients, not 1")
    assert not Run.objects.exists()


def test_a_warm_up_at_the_first_rate_needs_no_clients_for_the_others(planner, servers, workload):
    warmup = {"warmup_run_s": "7", "warmup_run_clients": "1"}
    filled = form_of(workload(load_shape=SHAPE), *servers, levels="4", duration_s="3", **warmup)
    planner.post(NEW, {**filled, "queue": "1"})
    row = Run.objects.filter(kind=Run.Kind.WARMUP).first()
    assert (row.clients, row.spec["parameters"]) == (1, {**PLAIN, "rate_tps": 100})


def test_the_plan_says_which_duration_a_load_shape_needs(planner, servers, workload):
    own = workload(load_shape="100 for 40, 300 for 10")
    filled = {**form_of(own, *servers), "levels": "2,8"}
    assertContains(planner.post(PLAN, filled), "The load shape takes 50 s: give its runs that duration")
    answer = planner.post(PLAN, {**filled, "duration_s": "50"})
    assertContains(answer, "offered at a rate (TPS) for so many seconds: 100 for 40, 300 for 10")


def test_a_plan_of_defaults_says_nothing_of_them(planner, servers, workload):
    assertNotContains(planner.post(PLAN, form_of(workload(), *servers)), "Other than by default")


def test_options_tell_protocols_and_data_sets_apart_and_defaults_do_not(workload):
    host, hardware = testing.make_host(), Hardware.objects.create(name="h", sockets=1, cores_per_socket=4)
    system = testing.make_system("16", host, hardware)

    def forms(**options):
        own = Workload(name="own", tool="pgbench", parameters={**PLAIN, **options})
        experiment = Experiment(name="e", workload=own, client_levels=[1], duration_s=3, client_build=system.build)
        return digests.digest(specs.protocol_form(experiment, system)), specs.recipe_digest(own)

    protocol, data_set = forms()
    for options in (
        {"connect_each": True},
        {"max_tries": 2},
        {"failures_detailed": True},
        {"statement_latencies": True},
        {"think_ms": 50},
        {"load_shape": SHAPE},
    ):
        assert forms(**options)[0] != protocol
        assert forms(**options)[1] == data_set
    # A think time has the latencies by statement anyway.
    assert forms(think_ms=50, statement_latencies=True) == forms(think_ms=50)
    for options in ({"fillfactor": 90}, {"foreign_keys": True}, {"unlogged": True}, {"partitions": 2}):
        assert forms(**options)[0] != protocol
        assert forms(**options)[1] != data_set
    assert forms(fillfactor=100, partitions=0, unlogged=False)[1] == data_set
