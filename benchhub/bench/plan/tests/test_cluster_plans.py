"""Plans on a cluster of BenchHub's own: one instance, several configurations, each checked before it is queued."""

import pytest
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench import testing
from benchhub.bench.models import Experiment, Run, System
from benchhub.bench.plan import preview, specs
from benchhub.bench.plan.form import Draft
from benchhub.bench.plan.testing import NEW, PLAN, form_of
from benchhub.catalog.models import Cluster, ClusterParameters, Configuration
from runners.contract import DataCopy
from runners.os_settings.script import VERSION

pytestmark = pytest.mark.django_db
WORK_MEM = {"kind": "integer", "unit": "kB", "context": "user", "lowest": "64", "highest": "2147483647"}


@pytest.fixture
def own(box):
    instance = testing.make_instance(box, "18.1", name="own", address="/data/own", bin_directory="/opt/pg18/bin")
    instance.configuration = Configuration.objects.create(name="As found")
    instance.save()
    cluster = Cluster.objects.create(instance=instance, folder="/data/own", wanted="", made_at=timezone.now())
    ClusterParameters.objects.create(cluster=cluster, parameters={"work_mem": WORK_MEM})
    return instance


def configuration(name, **settings):
    return Configuration.objects.create(name=name, settings=settings)


def planned(recipe, own, *configurations, **changes):
    keys = {f"systems-{number}-configuration": str(row.pk) for number, row in enumerate(configurations)}
    return {**form_of(recipe, *[own] * len(configurations)), **keys, **changes}


def test_one_instance_is_planned_with_several_configurations_in_turn_and_one_load(planner, recipe, own):
    small, large = configuration("small", work_mem="1MB"), configuration("large", work_mem="64MB")
    form = planned(recipe, own, small, large, levels="4")
    page = planner.post(PLAN, form).context["page"].preview
    assert (page.run_count, page.load_count) == (5, 1)
    planner.post(NEW, {**form, "queue": "1"})
    runs = list(Run.objects.order_by("position").select_related("system__configuration"))
    assert [run.kind for run in runs] == ["load", "measure", "measure", "measure", "measure"]
    assert [run.system.configuration.name for run in runs[1:]] == ["small", "large", "large", "small"]
    assert [run.spec["cluster"]["settings"] for run in runs[1:3]] == [{"work_mem": "1MB"}, {"work_mem": "64MB"}]
    assert runs[1].spec["cluster"]["settings_in_force"] == {"work_mem": "1024"}
    assert runs[1].spec["endpoint"]["address"] == "/data/own" and runs[1].spec["endpoint"]["path"] == "socket"
    assert specs.spec_of(runs[1]).cluster.initdb_options[1] == "--auth-local=peer"
    assert runs[1].protocol.form["restart"] is True
    assert runs[1].system.label == "PostgreSQL 18.1, own, small"


def test_its_own_configuration_is_taken_where_none_is_chosen(planner, recipe, own):
    planner.post(NEW, {**form_of(recipe, own), "queue": "1"})
    system = Experiment.objects.get().systems.get()
    assert (system.configuration, system.label) == (own.configuration, "PostgreSQL 18.1, own")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"systems-0-path": "loopback"}, "own listens on its socket alone."),
        ({"systems-0-driver": "other"}, "own listens on its socket alone: box itself drives it."),
    ],
)
def test_a_cluster_is_driven_by_its_own_host_over_its_socket(planner, recipe, own, changes, sentence):
    other = testing.make_host("other", "192.0.2.5")
    changes = {name: str(other.pk) if value == "other" else value for name, value in changes.items()}
    assertContains(planner.post(NEW, {**form_of(recipe, own), **changes, "queue": "1"}), sentence)
    assert not Experiment.objects.exists()


def test_every_bad_setting_is_refused_before_anything_is_queued(planner, recipe, own):
    bad = configuration("bad", work_mem="1mb", wurk_mem="1MB", port="1")
    response = planner.post(NEW, {**planned(recipe, own, bad), "queue": "1"})
    assert sorted(response.context["page"].draft.systems[0].errors["configuration"]) == [
        "port is not applied: BenchHub sets it itself, so that the cluster stays in its folder and on its socket.",
        "work_mem takes the units B, kB, MB, GB, TB, not 'mb': small and capital letters differ.",
        "wurk_mem is no setting of PostgreSQL 18.1. Is work_mem meant?",
    ]
    assert not Experiment.objects.exists()


def test_a_server_of_somebody_else_keeps_its_settings(planner, recipe, box):
    foreign = testing.make_instance(box, "16.4")
    other = configuration("other", work_mem="1MB")
    response = planner.post(NEW, {**planned(recipe, foreign, other), "queue": "1"})
    assertContains(response, "pg 16.4 has settings of its own, and its owner lets BenchHub change none of them")
    assert not Experiment.objects.exists()


@pytest.mark.parametrize("changes", [{"made_at": None}, {"wanted": "remove"}])
def test_a_cluster_that_is_not_there_is_not_planned_on(planner, recipe, own, changes):
    Cluster.objects.update(**changes)
    response = planner.post(NEW, {**form_of(recipe, own), "queue": "1"})
    assertContains(response, "BenchHub has not made this cluster yet: its page says how far it is.")
    assert not Experiment.objects.exists()


def test_a_plan_like_another_has_its_configurations(planner, recipe, own):
    small = configuration("small", work_mem="1MB")
    planner.post(NEW, {**planned(recipe, own, small), "queue": "1"})
    _, systems = preview.like(Experiment.objects.get())
    assert systems[0]["configuration"] == small.pk
    assert Draft(initial=preview.DEFAULTS, systems=systems).systems[0]["configuration"].value() == small.pk


def copied(own, recipe, **times):
    experiment = Experiment(workload=recipe)
    key = specs.copy_key(experiment, System(instance=own, configuration=own.configuration))
    values = {"recipe": {"tool": "pgbench"}, "size_bytes": 2**26, "loaded_s": 40, "copied_s": 3, **times}
    return own.cluster.copies.create(key=key, **values)


def test_a_plan_that_loads_before_each_run_restores_by_a_copy_and_says_what_either_takes(planner, recipe, own):
    form = planned(recipe, own, own.configuration, levels="4", repeats="3", loading="each")
    costs = planner.post(PLAN, form).context["page"].preview.costs
    assert [(row.loads, row.restores, row.times.is_measured) for row in costs.restorings] == [(1, 2, False)]
    copied(own, recipe)
    response = planner.post(PLAN, form)
    assertContains(response, "The data of own are restored by a copy of their files, 3 times in 3 s (as measured")
    assert response.context["page"].preview.costs.loads_s < 9.1
    planner.post(NEW, {**form, "queue": "1"})
    load = Run.objects.filter(kind="load").select_related("system__instance__cluster", "experiment").first()
    assert specs.spec_of(load).cluster.copy.keeps and not specs.spec_of(load).cluster.copy.restores
    assert specs.spec_now(load).cluster.copy == DataCopy(own.cluster.copies.get().key, restores=True, keeps=True)
    assert specs.spec_of(Run.objects.filter(kind="measure").first()).cluster.copy is None


@pytest.mark.parametrize(
    ("times", "restores", "keeps"),
    [
        ({"is_there": False}, False, True),
        ({"copied_s": 41}, False, False),
        ({"copied_s": 41, "restored_s": 39}, True, True),
        ({"restored_s": 41}, False, False),
    ],
)
def test_a_load_restores_by_the_times_of_when_it_starts(planner, recipe, own, times, restores, keeps):
    planner.post(NEW, {**planned(recipe, own, own.configuration, levels="4", loading="each"), "queue": "1"})
    copied(own, recipe, **times)
    load = Run.objects.filter(kind="load").first()
    copy = specs.spec_now(load).cluster.copy
    assert (copy.restores, copy.keeps) == (restores, keeps)


def test_a_plan_can_do_without_copies(planner, recipe, own):
    copied(own, recipe)
    form = planned(recipe, own, own.configuration, levels="4", loading="each", no_copies="on")
    response = planner.post(PLAN, form)
    assertNotContains(response, "restored by a copy")
    planner.post(NEW, {**form, "queue": "1"})
    assert {run.spec["cluster"]["copy"] for run in Run.objects.all()} == {None}
    assert preview.like(Experiment.objects.get())[0]["no_copies"] is True


def test_settings_that_shape_the_files_have_copies_of_their_own(recipe, own):
    def key(**settings):
        system = System(instance=own, configuration=Configuration(settings=settings))
        return specs.copy_key(Experiment(workload=recipe), system)

    assert key(work_mem="1MB") == key() == key(shared_buffers="1GB")
    assert key(default_statistics_target="500") != key() and len(key()) == 32


SWAPPINESS = {"vm.swappiness": "01", "transparent_hugepage": "never"}


def changing_os(name, **changes):
    return Configuration.objects.create(name=name, os_settings={**SWAPPINESS, **changes})


def granted(own, version=VERSION):
    own.host.facts = {**own.host.facts, "os_settings": version}
    own.host.save()


def test_a_plan_says_what_is_changed_on_the_host_and_that_it_is_put_back(planner, recipe, own):
    granted(own)
    form = planned(recipe, own, changing_os("calm"), levels="4")
    response = planner.post(PLAN, form)
    assertContains(response, "Changed on the host during each run")
    assertContains(response, "vm.swappiness = 01, transparent_hugepage = never.")
    assertContains(response, "is put back when a run has ended")
    planner.post(NEW, {**form, "queue": "1"})
    load, run, *_ = Run.objects.order_by("position")
    assert run.spec["cluster"]["os_settings"] == {"vm.swappiness": "1", "transparent_hugepage": "never"}
    assert specs.spec_of(run).cluster.os_settings == load.spec["cluster"]["os_settings"]


def test_a_plan_that_changes_nothing_on_the_host_says_nothing_of_it(planner, recipe, own):
    granted(own)
    response = planner.post(PLAN, planned(recipe, own, configuration("small", work_mem="1MB")))
    assertNotContains(response, "Changed on the host")


@pytest.mark.parametrize("version", [None, 0, 99])
def test_nothing_is_planned_that_the_account_may_not_change(planner, recipe, own, version):
    granted(own, version)
    response = planner.post(NEW, {**planned(recipe, own, changing_os("calm")), "queue": "1"})
    [sentence] = response.context["page"].draft.systems[0].errors["configuration"]
    assert sentence.startswith("bench may not change settings of the operating system on box, as its last probe found")
    assert ("with the helper of another release" in sentence) is bool(version)
    assert not Experiment.objects.exists()


def test_a_setting_of_the_operating_system_that_is_not_on_the_list_is_refused(planner, recipe, own):
    granted(own)
    bad = changing_os("bad", **{"kernel.core_pattern": "|/bin/sh", "vm.swappiness": "300"})
    response = planner.post(NEW, {**planned(recipe, own, bad), "queue": "1"})
    sentences = response.context["page"].draft.systems[0].errors["configuration"]
    assert sentences[0] == "vm.swappiness takes a whole number from 0 to 200."
    assert sentences[1].startswith("BenchHub does not set kernel.core_pattern of the operating system")
    assert not Experiment.objects.exists()


def test_a_plan_on_somebody_elses_server_says_that_its_operating_system_stays_as_it_is(planner, recipe, box):
    foreign = testing.make_instance(box, "16.4")
    foreign.configuration = changing_os("calm")
    foreign.save()
    warnings = planner.post(PLAN, form_of(recipe, foreign)).context["page"].preview.warnings
    assert (
        "vm.swappiness, transparent_hugepage of calm must be set on the host of pg 16.4 already: settings of the "
        "operating system are changed for clusters of BenchHub's own alone."
    ) in warnings
