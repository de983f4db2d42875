from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from benchhub.analysis.protocol import digest as digests
from benchhub.bench import testing
from benchhub.bench.models import Experiment, Result, Run, RunTally, System, Watch
from benchhub.bench.plan import plan, specs
from benchhub.bench.plan.systems import asked_system, system_under_test
from benchhub.bench.queue.progress import clock, expected_end, run_seconds_late, run_seconds_left, seconds_left, tallies
from benchhub.catalog.models import DataSet, Hardware, Workload

pytestmark = pytest.mark.django_db

RECIPE = {"tool": "pgbench", "scale": 10}


@pytest.fixture
def systems():
    host, hardware = testing.make_host(), Hardware.objects.create(name="h", sockets=1, cores_per_socket=4)
    return [testing.make_system(version, host, hardware) for version in ("16", "18")]


def queued(systems, **fields):
    defaults = {"client_levels": [1, 8], "repeats": 2, "duration_s": 3}
    client = {"client_build": systems[0].build, "client_bin_directory": "/opt/pg/bin"}
    workload = fields.pop("workload", None) or testing.make_experiment(systems).workload
    experiment = Experiment(name="e", workload=workload, **{**client, **defaults, **fields})
    plan.queue(experiment, systems)
    return list(experiment.runs.order_by("position"))


def test_loads_come_first_and_then_all_systems_at_each_level_of_each_repeat(systems):
    runs = queued(systems)
    assert [(run.kind, run.system.build.version) for run in runs[:2]] == [("load", "16"), ("load", "18")]
    assert [(run.repeat, run.clients, run.system.build.version) for run in runs[2:]] == [
        (1, 1, "16"), (1, 1, "18"), (1, 8, "16"), (1, 8, "18"),
        (2, 1, "18"), (2, 1, "16"), (2, 8, "18"), (2, 8, "16"),
    ]  # fmt: skip


def test_a_data_set_that_is_there_is_not_loaded_again_but_another_scale_is(systems):
    DataSet.objects.create(
        instance=systems[0].instance,
        build=systems[0].build,
        recipe=RECIPE,
        recipe_digest=digests.digest(RECIPE),
        size_bytes=1,
        checksum="x",
    )
    loads = [run.system for run in queued(systems) if run.kind == Run.Kind.LOAD]
    assert loads == [systems[1]]


def test_a_data_set_that_a_load_in_the_queue_will_replace_is_loaded_again(systems):
    data_set = {"recipe": RECIPE, "recipe_digest": digests.digest(RECIPE), "size_bytes": 1, "checksum": "x"}
    DataSet.objects.create(instance=systems[0].instance, build=systems[0].build, **data_set)
    parameters = {"script": "select-only", "query_mode": "simple", "scale": 20}
    larger = Workload.objects.create(name="larger", tool="pgbench", parameters=parameters)
    waiting = testing.make_experiment(systems[:1], workload=larger)
    experiment = testing.make_experiment(systems[:1])
    assert plan.without_data_set(experiment, systems[:1]) == []
    load = testing.make_run(waiting, systems[0], 0, 0, kind=Run.Kind.LOAD)
    assert plan.without_data_set(experiment, systems[:1]) == systems[:1]
    testing.ended(load, "cancelled")
    assert plan.without_data_set(experiment, systems[:1]) == []


@pytest.mark.parametrize(
    ("rule", "clients", "threads"),
    [("clients", 7, 7), ("clients/2", 8, 4), ("clients/2", 1, 1), ("clients/4", 6, 1), ("4", 2, 2), ("4", 9, 4)],
)
def test_threads_follow_the_rule_and_are_never_more_than_clients(rule, clients, threads):
    assert specs.resolve_threads(rule, clients) == threads


@pytest.mark.parametrize("rule", ["", "0", "many", "clients/", "clients/x", "clients/0", "-1", "999999999"])
def test_a_rule_that_is_none_says_what_to_write(rule):
    with pytest.raises(ValueError, match="write clients, clients/2 or a number"):
        specs.resolve_threads(rule, 4)


def test_a_plan_that_cannot_be_run_leaves_nothing_behind(systems):
    count = Experiment.objects.count()
    with pytest.raises(ValueError, match="thread rule"):
        queued(systems, thread_rule="many")
    assert Experiment.objects.count() == count + 1  # the one that holds the workload
    assert not Run.objects.exists()


def test_two_builds_share_a_protocol_and_are_different_systems(systems):
    runs = queued(systems)
    assert len({run.protocol_id for run in runs}) == 1
    assert len({run.system.digest for run in runs}) == 2


def test_another_duration_is_another_protocol(systems):
    assert queued(systems)[-1].protocol_id != queued(systems, duration_s=4)[-1].protocol_id


def test_asking_for_the_same_system_again_gives_the_same_row(systems):
    system = systems[0]
    fields = {"driver": system.driver, "hardware": system.hardware, "path": "loopback", "label": "one"}
    first = system_under_test(system.instance, **fields)
    assert system_under_test(system.instance, **{**fields, "label": "another label"}) == first
    assert system_under_test(system.instance, **{**fields, "path": "network"}) != first
    assert System.objects.filter(label="another label").count() == 0


def test_the_frozen_plan_reads_back_as_it_was(systems):
    run = queued(systems)[-1]
    spec = specs.spec_of(run)
    assert (spec.clients, spec.threads, spec.duration_s, spec.expected_s) == (8, 8, 3, 3)
    assert spec.application_name == f"benchhub-{run.uuid}"
    assert (spec.endpoint.path, spec.endpoint.database) == ("socket", "bench")


def succeed(run, tps):
    for step in ("reserved", "starting", "running", "collecting", "succeeded"):
        Run.objects.filter(pk=run.pk).update(state=step)
    attempt = testing.Attempt.objects.create(run=run, number=1)
    values = {"throughput": tps, "unit": "TPS", "measures": {}, "parser": "pgbench/1"}
    testing.Result.objects.create(run=run, attempt=attempt, **values)


def sampled(systems, level, workload):
    """Return the first system's run at this level, and the share of transactions that it will log."""
    fields = {"duration_s": 300, "client_levels": [level], "repeats": 1, "workload": workload}
    [run] = [run for run in queued(systems, **fields) if run.system == systems[0] and run.kind == Run.Kind.MEASURE]
    return run, specs.spec_of(run).log_sampling_rate


def test_what_keeps_no_log_leaves_no_share_of_it_out(systems):
    parameters = {"script": "oltp_point_select", "tables": 1, "table_size": 1_000}
    workload = Workload.objects.create(name="points", tool="sysbench", parameters=parameters)
    assert sampled(systems, 8, workload)[1] == 1.0


def test_logs_are_sampled_by_what_a_system_has_shown_with_the_workload(systems):
    reads, writes = (
        Workload.objects.create(
            name=script, tool="pgbench", parameters={"script": script, "query_mode": "simple", "scale": 1}
        )
        for script in ("select-only", "tpcb-like")
    )
    run, rate = sampled(systems, 1, reads)
    assert (rate, run.spec["pilot_s"]) == (
        1 / 15,
        1,
    )  # one client at 60,000 TPS, 4,000 lines a second, if no pilot tells
    succeed(run, 10_000.0)
    run, rate = sampled(systems, 1, reads)
    assert (rate, run.spec["pilot_s"], run.spec["expected_tps"]) == (1 / 3, 0, 20_000)
    assert sampled(systems, 2, reads)[1] == 1 / 3  # 20,000 TPS on two CPUs
    run, rate = sampled(systems, 4, reads)
    assert (rate, run.spec["pilot_s"]) == (1 / 15, 1)  # four clients may do far more than one: 240,000 TPS on 4 CPUs
    run, rate = sampled(systems, 1, writes)
    assert (rate, run.spec["pilot_s"]) == (1 / 3, 1)  # nothing extras with it: 10,000 TPS


def test_a_line_costs_more_of_fewer_cpus_and_those_that_a_probe_counted_are_there(systems):
    run = next(run for run in queued(systems, client_levels=[4]) if run.system == systems[0] and run.clients)
    succeed(run, 16_000.0)
    assert sampled(systems, 4, run.experiment.workload)[1] == 1.0  # the 4 cores of the hardware: 16,000 lines a second
    for host in {system.driver for system in systems}:
        host.facts = {"cpu": {"cpus": 2}}
        host.save()
    assert sampled([System.objects.get(pk=system.pk) for system in systems], 4, run.experiment.workload)[1] == 0.5


def test_a_run_starts_without_its_pilot_where_the_rate_has_been_seen_since_it_was_planned(systems):
    first, second = (
        run for run in queued(systems, client_levels=[1], repeats=2) if run.system == systems[0] and run.clients
    )
    assert specs.spec_now(second) == specs.spec_of(second)
    assert specs.spec_of(second).pilot_s == 1
    succeed(first, 3_900.0)
    started, planned = specs.spec_now(second), specs.spec_of(second)
    assert (started.log_sampling_rate, started.pilot_s, planned.pilot_s) == (1.0, 0, 1)
    assert started == replace(planned, log_sampling_rate=1.0, pilot_s=0, expected_tps=7_800.0)


def test_a_rate_that_was_offered_tells_nothing_of_how_fast_a_closed_loop_is(systems):
    run = next(run for run in queued(systems, client_levels=[1]) if run.system == systems[0] and run.clients)
    Run.objects.filter(pk=run.pk).update(rate_tps=100)
    succeed(run, 100.0)
    assert Result.objects.tps_by_clients(systems[0], run.experiment.workload) == {}


def test_the_time_left_counts_loads_loads_of_data_sets_and_rests(systems):
    runs = queued(systems, client_levels=[1], repeats=1, rest_s=60)
    # Two data sets at 10 s, and two runs of 3 s of load, 0.7 s of steps and a rest of 60 s.
    rows = tallies(RunTally.objects.filter(experiment=runs[0].experiment))
    assert seconds_left(rows, rest_s=60) == pytest.approx(2 * 10 + 2 * (3 + 0.7 + 60))
    assert seconds_left([]) == 0


def test_an_experiment_run_again_is_one_of_its_own_with_the_same_plan(systems):
    first = queued(systems)[0].experiment
    copy = plan.again(first)
    assert copy.pk != first.pk
    columns = ("clients", "repeat", "protocol", "system")
    assert list(first.runs.values_list(*columns)) == list(copy.runs.values_list(*columns))
    assert first.runs.count() == 10


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (95, "1:35"), (3700, "1:01:40"), (59.6, "1:00")])
def test_a_time_is_shown_as_on_a_clock(seconds, text):
    assert clock(seconds) == text


def test_looking_at_a_system_that_is_new_saves_nothing(systems):
    system, count = systems[0], System.objects.count()
    fields = {"driver": system.driver, "hardware": system.hardware, "path": "loopback", "label": "one"}
    assert asked_system(system.instance, **fields).pk is None
    assert System.objects.count() == count
    saved = system_under_test(system.instance, **fields)
    assert asked_system(system.instance, **fields) == saved
    assert (saved.label, saved.build, saved.path) == ("one", system.build, "loopback")


def test_steps_are_the_order_of_the_runs_that_are_queued(systems):
    runs = queued(systems)
    steps = plan.steps(runs[0].experiment, systems, systems)
    assert [(step.system, step.clients, step.repeat) for step in steps] == [
        (run.system, run.clients, run.repeat) for run in runs
    ]


def test_the_time_that_one_run_still_takes_counts_from_its_start(systems):
    run = queued(systems)[-1]
    now = timezone.now()
    assert run_seconds_left(run, now, {}) == pytest.approx(3.7)
    run.started_at = now - timedelta(seconds=2)
    assert run_seconds_left(run, now, {}) == pytest.approx(1.7)
    assert run_seconds_late(run, now, {}) == 0
    run.started_at = now - timedelta(minutes=11)
    assert run_seconds_left(run, now, {}) == 0
    assert run_seconds_late(run, now, {}) == pytest.approx(656.3)


def test_what_runs_took_beside_their_loads_counts_for_the_next_of_their_kind(systems):
    load, run, second = queued(systems)[0], *queued(systems)[-2:]
    now = timezone.now()
    assert Run.objects.extras_s([run.experiment_id]) == {}
    testing.ended(second, "succeeded")
    Run.objects.filter(pk=second.pk).update(started_at=now - timedelta(seconds=100), ended_at=now)  # 3 under load
    extras = Run.objects.extras_s([run.experiment_id])
    assert extras == {(run.experiment_id, "measure"): 97}
    run.started_at = now - timedelta(seconds=60)
    assert (run_seconds_left(run, now, extras), run_seconds_late(run, now, extras)) == (40, 0)
    load.started_at = now
    assert run_seconds_left(load, now, extras) < 40  # of loads nothing is known yet


def test_a_run_is_not_late_before_its_load_begins_nor_for_minutes_while_it_is_the_first(systems):
    run = queued(systems)[-1]
    now = timezone.now()
    run.started_at = now - timedelta(seconds=300)
    extras = {(run.experiment_id, run.kind): 10.0}
    run.watch = Watch(run=run, step="vacuum")
    assert (run_seconds_left(run, now, extras), run_seconds_late(run, now, extras)) == (3, 0)
    run.watch.step = "measure"
    assert run_seconds_late(run, now, extras) == 300 - 3 - 10
    assert (expected_end(run, now, {}), run_seconds_late(run, now, {})) == (None, 0)


def test_what_ends_within_seconds_of_its_expected_end_is_not_late(systems):
    run = queued(systems)[-1]
    run.started_at = timezone.now()
    extras = {(run.experiment_id, run.kind): 2.0}
    end = expected_end(run, run.started_at, extras)
    assert run_seconds_late(run, end + timedelta(seconds=10), extras) == 0
    assert run_seconds_late(run, end + timedelta(seconds=11), extras) == 11
