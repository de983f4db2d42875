import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertRedirects

from benchhub.analysis.protocol import digest as digests
from benchhub.bench import testing
from benchhub.bench.models import Experiment, Run
from benchhub.bench.plan import plan, repeats
from benchhub.catalog.models import DataSet, Hardware

pytestmark = pytest.mark.django_db


@pytest.fixture
def systems():
    host, hardware = testing.make_host(), Hardware.objects.create(name="h", sockets=1, cores_per_socket=4)
    return [testing.make_system(version, host, hardware) for version in ("16", "18")]


@pytest.fixture
def experiment(systems):
    """Queue 2 systems at 1, 4 and 8 clients, twice; the second not at 8. Their data sets are loaded."""
    workload = testing.make_experiment(systems).workload
    values = {"client_levels": [1, 4, 8], "repeats": 2, "duration_s": 60, "left_out": ["system=2; clients=8"]}
    build = systems[0].build
    experiment = Experiment(name="e", workload=workload, client_build=build, client_bin_directory="/b", **values)
    plan.queue(experiment, systems)
    for system in systems:
        load_data(system)
    return experiment


def load_data(system, scale=10):
    recipe = {"tool": "pgbench", "scale": scale}
    fields = {"recipe": recipe, "recipe_digest": digests.digest(recipe), "size_bytes": 1, "checksum": "x"}
    DataSet.objects.filter(instance=system.instance).delete()
    return DataSet.objects.create(instance=system.instance, build=system.build, **fields)


def summaries(runs):
    return [(run.system.build.version, run.kind, run.clients, run.repeat) for run in runs]


def test_repeats_are_added_after_all_others_where_a_system_has_runs_and_counted_on(experiment):
    last = experiment.runs.count()
    added = repeats.add(experiment, [4, 8], 2)
    assert summaries(added) == [
        ("16", "measure", 4, 3), ("18", "measure", 4, 3), ("16", "measure", 8, 3),
        ("18", "measure", 4, 4), ("16", "measure", 4, 4), ("16", "measure", 8, 4),
    ]  # fmt: skip
    assert [run.position for run in added] == list(range(last + 1, last + 7))
    assert summaries(repeats.add(experiment, [1], 1)) == [("16", "measure", 1, 3), ("18", "measure", 1, 3)]


def test_they_are_of_the_same_protocol_and_spec_as_those_that_are_there(experiment):
    [added, *_] = repeats.add(experiment, [4], 1)
    earlier = experiment.runs.get(system=added.system, clients=4, repeat=1)
    assert added.protocol_id == earlier.protocol_id
    assert {**added.spec, "application_name": ""} == {**earlier.spec, "application_name": ""}
    assert added.spec["application_name"] == f"benchhub-{added.uuid}"


def test_a_data_set_that_was_replaced_since_is_loaded_again_each_time(experiment, systems):
    for _ in range(2):
        load_data(systems[1], scale=20)
        added = repeats.add(experiment, [1], 1)
        assert [run.kind for run in added] == ["load", "measure", "measure"]
        assert added[0].system == systems[1]


def test_where_data_are_loaded_anew_before_each_run_so_they_are_before_these(experiment):
    Experiment.objects.filter(pk=experiment.pk).update(loading="each")
    added = repeats.add(experiment, [8], 1)
    assert summaries(added) == [("16", "load", 8, 3), ("16", "measure", 8, 3)]


def test_a_person_adds_them_at_chosen_levels_by_a_form(planner, experiment):
    address = reverse("experiment-repeats", args=[experiment.pk])
    assertContains(planner.get(address), 'value="1, 4, 8"')
    count = Run.objects.count()
    response = planner.post(address, {"levels": "4, 16", "repeats": "1"})
    assertContains(response, "16 is no level of it: it has 1, 4, 8.")
    assertContains(planner.post(address, {"levels": "4", "repeats": "0"}), "greater than or equal to 1")
    assert Run.objects.count() == count
    assertRedirects(planner.post(address, {"levels": "4", "repeats": "3"}), reverse("experiment", args=[experiment.pk]))
    assert Run.objects.count() == count + 2 * 3


def test_repeats_that_would_push_others_out_of_their_level_are_refused(experiment, monkeypatch):
    monkeypatch.setattr(repeats, "MOST_REPEATS", 5)
    failed, *_ = experiment.runs.filter(clients=8)
    testing.ended(failed, "failed")

    def errors(levels, number):
        form = repeats.RepeatsForm({"levels": levels, "repeats": number}, experiment=experiment)
        return form.errors.get("repeats", [])

    assert errors("1, 4", 3) == errors("8", 4) == []  # there are 2 at each, of which one failed at 8
    assert errors("8, 4", 4) == ["Level 4 has 2 repeats, and of a level the newest 5 count: add at most 3 there."]
    repeats.add(experiment, [4], 3)
    assert errors("1, 4, 8", 1) == [
        "Level 4 has 5 repeats, and of a level the newest 5 count: choose other levels, or plan an experiment like it."
    ]
    assert errors("1, 8", 3) == []


def test_nothing_is_added_on_a_server_that_is_retired(planner, experiment, systems):
    type(systems[0].instance).objects.filter(pk=systems[0].instance_id).retire()
    count = Run.objects.count()
    planner.post(reverse("experiment-repeats", args=[experiment.pk]), {"levels": "4", "repeats": "1"})
    assert Run.objects.count() == count
