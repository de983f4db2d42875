"""A run never measures on another data set than its own, whatever comes into the queue; and every run ends."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchhub.analysis.protocol import digest as digests
from benchhub.bench import testing
from benchhub.bench.additions import data_sets, due
from benchhub.bench.models import Experiment, Run, Tenancy
from benchhub.bench.models.states import State
from benchhub.bench.plan import plan
from benchhub.bench.queue import gates, queue
from benchhub.catalog.models import DataSet, Hardware, Workload
from runners import tools

pytestmark = pytest.mark.django_db
BETWEEN, WAIT = Experiment.DataSetPolicy.BETWEEN, Experiment.DataSetPolicy.WAIT
MOST_STEPS = 400


@pytest.fixture
def systems():
    host, hardware = testing.make_host(), Hardware.objects.create(name="h", sockets=1, cores_per_socket=4)
    return [testing.make_system(version, host, hardware) for version in ("16", "18")]


def workload_of(scale):
    parameters = {**testing.PARAMETERS, "scale": scale}
    workload, _ = Workload.objects.get_or_create(name=f"scale {scale}", tool="pgbench", parameters=parameters)
    return workload


def planned(systems, scale=10, **fields):
    values = {"client_levels": [1, 2], "repeats": 1, "duration_s": 60, **fields}
    build = systems[0].build
    experiment = Experiment(
        name=f"scale {scale}", workload=workload_of(scale), client_build=build, client_bin_directory="/b", **values
    )
    plan.queue(experiment, systems)
    return experiment


def load_data(system, scale):
    recipe = tools.get("pgbench").data_set({**testing.PARAMETERS, "scale": scale})
    DataSet.objects.filter(instance=system.instance).delete()
    fields = {"recipe": dict(recipe), "recipe_digest": digests.digest(recipe), "size_bytes": 1, "checksum": "x"}
    return DataSet.objects.create(instance=system.instance, build=system.build, **fields)


def kinds(experiment):
    return list(experiment.runs.order_by("position").values_list("kind", "clients"))


def execute(run, end=State.SUCCEEDED):
    """Take a reserved run to its end as a target would, and tell the data set that it met."""
    met = DataSet.objects.filter(instance=run.system.instance_id).first()
    for state in (State.STARTING, State.RUNNING, State.COLLECTING, end):
        queue.move(run, state)
    queue.release(run)
    if run.kind == Run.Kind.LOAD and end == State.SUCCEEDED:
        load_data(run.system, run.experiment.workload.parameters["scale"])
    return met.recipe_digest if met else ""


def test_a_run_whose_server_has_other_data_by_now_gets_a_load_before_it(systems):
    load_data(systems[0], 10)
    experiment = planned(systems[:1])
    assert kinds(experiment) == [("measure", 1), ("measure", 2)]
    load_data(systems[0], 77)
    assert data_sets.load_anew(gates.free_drivers()) == 1
    assert kinds(experiment) == [("load", 0), ("measure", 1), ("measure", 2)]
    assert list(experiment.runs.order_by("position").values_list("position", flat=True)) == [1, 2, 3]
    assert data_sets.load_anew(gates.free_drivers()) == 0


def test_the_warm_up_of_a_plan_comes_again_after_the_load_and_counts_on(systems):
    load_data(systems[0], 10)
    experiment = planned(systems[:1], warmup_run_s=5, warmup_run_clients=2)
    for run in experiment.runs.filter(kind="warmup"):
        Run.objects.filter(pk=run.pk).update(state=State.RESERVED)
        run.refresh_from_db()
        execute(run)
    load_data(systems[0], 77)
    assert data_sets.load_anew(gates.free_drivers()) == 2
    assert kinds(experiment) == [("warmup", 2), ("load", 0), ("warmup", 2), ("measure", 1), ("measure", 2)]
    assert list(experiment.runs.filter(kind="warmup").order_by("position").values_list("repeat", flat=True)) == [1, 2]


def test_nothing_is_loaded_where_the_data_are_right_or_not_known(systems):
    experiment = planned(systems[:1])
    assert kinds(experiment)[0] == ("load", 0)
    assert data_sets.load_anew(gates.free_drivers()) == 0
    load_data(systems[0], 10)
    again = planned(systems[:1])
    assert data_sets.load_anew(gates.free_drivers()) == 0
    DataSet.objects.all().delete()
    assert data_sets.load_anew(gates.free_drivers()) == 0
    assert kinds(again)[0] == ("measure", 1)


def test_after_a_load_that_failed_no_other_is_planned_and_what_waits_fails_with_it(systems):
    load_data(systems[0], 77)
    experiment = planned(systems[:1])
    [key] = due.reserve()
    execute(Run.objects.get(pk=key), State.FAILED)
    due.reserve()
    assert [run.state for run in experiment.runs.order_by("position")] == [State.FAILED] * 3
    assert queue.run_again(experiment.runs.filter(kind="measure")) == 2
    due.reserve()
    assert "Its data set was not loaded" in experiment.runs.filter(kind="measure").first().reason


def test_a_run_that_lacks_its_data_is_not_overtaken_where_its_host_ends_while_loads_are_planned(systems):
    load_data(systems[0], 10)
    load_data(systems[1], 10)
    under_way = planned(systems[1:])
    [key] = due.reserve()
    lacks = planned(systems[:1], priority=9)
    load_data(systems[0], 77)
    drivers = gates.free_drivers()
    execute(Run.objects.get(pk=key))
    assert data_sets.load_anew(drivers) == 0
    assert queue.reserve(drivers) == []
    [key] = due.reserve()
    assert key == lacks.runs.get(kind="load").pk
    assert under_way.runs.queued().exists()


EXPERIMENTS = st.lists(
    st.tuples(
        st.sampled_from([10, 20, 30]),
        st.sampled_from([(0,), (1,), (0, 1), (1, 0)]),
        st.integers(0, 2),
        st.sampled_from([WAIT, BETWEEN]),
        st.sampled_from(["once", "once", "each"]),
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=5,
)


@pytest.mark.whole
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plans=EXPERIMENTS, bad_load=st.sampled_from([None, None, 0, 1, 2]))
def test_whatever_is_queued_and_when_every_run_ends_well_on_its_own_data(systems, plans, bad_load):
    """Where the load of that number fails, what waits for it fails with it, and all else goes on."""
    coming = sorted(plans, key=lambda row: row[-1])
    foreign, steps, loads = [], 0, 0
    while coming or Run.objects.unfinished().exists():
        while coming and coming[0][-1] <= steps:
            scale, places, priority, policy, loading, _ = coming.pop(0)
            fields = {"priority": priority, "data_set_policy": policy, "loading": loading}
            planned([systems[place] for place in places], scale, **fields)
        due.reserve()
        for run in Run.objects.active().select_related("system", "experiment__workload"):
            is_bad = run.kind == Run.Kind.LOAD and loads == bad_load
            loads += run.kind == Run.Kind.LOAD
            recipe = execute(run, State.FAILED if is_bad else State.SUCCEEDED)
            if run.kind != Run.Kind.LOAD and recipe != run.experiment.recipe_digest:
                foreign.append(run)
        steps += 1
        assert steps < MOST_STEPS, gates.with_gates(Run.objects.queued()).values()
    assert foreign == []
    ends = set(Run.objects.values_list("state", flat=True))
    assert ends == {State.SUCCEEDED} or (bad_load is not None and ends <= {State.SUCCEEDED, State.FAILED})
    due.reserve()
    assert not Tenancy.objects.exists()
    _forget_all()


def _forget_all():
    """Leave nothing to the next example, which has the same transaction."""
    Run.objects.all().delete()
    Experiment.objects.all().delete()
    DataSet.objects.all().delete()
