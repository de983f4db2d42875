"""Clusters of BenchHub's own on real parts: made, run on with several configurations, removed when asked."""

import os
import secrets
from pathlib import Path

import psycopg
import pytest

from benchhub.bench.execute import clusters
from benchhub.bench.models import Run
from benchhub.bench.models.states import State
from benchhub.bench.plan.systems import system_under_test
from benchhub.catalog.instances.clusters.copies import RESTORED
from benchhub.catalog.instances.clusters.settings import refusals
from benchhub.catalog.models import Cluster, Configuration, DataSet, Host, Instance, Workload
from runners.os_settings import script
from runners.os_settings.testing import RootHelper, settings_guarded, value
from tests import places

pytestmark = [pytest.mark.django_db, pytest.mark.target]


@pytest.fixture
def foreign(system, cluster16):
    """Return a system on somebody's server beside it, whose programs it is made by."""
    return system(cluster16)


@pytest.fixture
def own(foreign, host):
    instance = Instance.objects.create(
        name="own",
        host=host,
        build=foreign.build,
        configuration=Configuration.objects.create(name="as found"),
        address="",
        database="bench",
        username=host.username,
        bin_directory=foreign.instance.bin_directory,
    )
    return Cluster.objects.create(instance=instance, folder=f"clusters/{secrets.token_hex(3)}")


def made(cluster: Cluster) -> Instance:
    assert clusters.visit_clusters() == 1
    cluster.refresh_from_db()
    assert cluster.contact_error == ""
    return Instance.objects.select_related("cluster__server_parameters", "build", "host").get(pk=cluster.instance_id)


def visited(cluster: Cluster, purpose: str) -> Cluster:
    cluster.ask(purpose)
    clusters.visit_clusters()
    cluster.refresh_from_db()
    return cluster


def test_a_cluster_is_made_and_it_is_noted_which_settings_it_knows(own, host, cluster16):
    instance = made(own)
    assert (own.wanted, own.made_at is not None) == ("", True)
    assert own.folder.startswith(f"{host.work_directory}/clusters/") and own.folder == instance.address
    assert Path(own.folder, "mark").read_text().strip() == own.mark
    assert own.facts["is_there"] and not own.facts["is_running"] and own.facts["size_bytes"] > 1_000_000
    rows = instance.cluster.server_parameters.parameters
    shared_buffers = {name: rows["shared_buffers"][name] for name in ("kind", "unit", "context", "lowest")}
    assert shared_buffers == {"kind": "integer", "unit": "8kB", "context": "postmaster", "lowest": "16"}
    assert rows["wal_level"]["choices"] == ["minimal", "replica", "logical"]
    assert rows["search_path"]["default"] == '"$user", public'
    assert "plpgsql" in instance.cluster.server_parameters.libraries
    with psycopg.connect(cluster16.url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.whole
def test_ten_configurations_need_one_cluster_and_one_data_set(worker, own, experiment, machine, host):
    instance, systems = made(own), []
    for number in (1, 2):
        settings = {"work_mem": f"{number}MB", "shared_buffers": f"{16 * number}MB", "fsync": "off"}
        configuration = Configuration.objects.create(name=f"step {number}", settings=settings)
        assert refusals(own, configuration) == []
        place = {"driver": host, "hardware": machine, "path": "socket", "label": f"step {number}"}
        systems.append(system_under_test(instance, configuration=configuration, **place))
    runs = worker.finish(experiment(*systems, repeats=2))
    assert [run.state for run in runs] == [State.SUCCEEDED] * 5, [run.reason for run in runs]
    assert [run.kind for run in runs] == ["load", *["measure"] * 4]
    assert [run.system.label for run in runs[1:]] == ["step 1", "step 2", "step 2", "step 1"]
    assert [run.found.settings["work_mem"]["setting"] for run in runs[1:]] == ["1024", "2048", "2048", "1024"]
    assert {run.found.settings["shared_buffers"]["setting"] for run in runs[1:]} == {"2048", "4096"}
    assert [run.found.differences for run in runs[1:]] == [[]] * 4
    assert runs[1].protocol.form["restart"] is True and runs[1].protocol == runs[2].protocol
    assert visited(own, "look").facts["is_running"] is False


@pytest.mark.whole
def test_as_found_asks_for_nothing_and_so_leaves_nothing_to_doubt(worker, own, experiment, machine, host):
    place = {"driver": host, "hardware": machine, "path": "socket", "label": "as found"}
    run = worker.finish(experiment(system_under_test(made(own), **place)))[-1]
    assert run.state == State.SUCCEEDED, run.reason
    assert run.found.differences == []
    assert "settings_differ" not in {doubt["code"] for doubt in run.result.doubts}


@pytest.mark.whole
def test_a_data_set_is_restored_by_a_copy_where_that_takes_less_time_and_its_age_counts_from_there(
    worker, own, experiment, machine, host
):
    place = {"driver": host, "hardware": machine, "path": "socket", "label": "as found"}
    system = system_under_test(made(own), **place)
    writing = Workload.objects.create(name="w", tool="pgbench", parameters={"script": "tpcb-like", "scale": 1})

    def loads(repeats: int = 1) -> list[Run]:
        runs = worker.finish(experiment(system, workload=writing, loading="each", repeats=repeats))
        assert {run.state for run in runs} == {State.SUCCEEDED}, [run.reason for run in runs]
        return [run for run in runs if run.kind == Run.Kind.LOAD]

    [first] = loads()
    copy = own.copies.get()
    assert first.reason.startswith("Loaded in ") and "and copied in " in first.reason
    assert (copy.is_there, copy.restored_s, copy.recipe["tool"]) == (True, None, "pgbench")
    assert Path(own.folder, "copies", copy.key, "data", "PG_VERSION").exists()
    checksum = DataSet.objects.get(replaced_at=None).checksum

    own.copies.update(loaded_s=1000)
    restored = loads(repeats=2)
    assert [run.reason.split(" in ")[0] for run in restored] == [RESTORED] * 2
    assert "; loading took 16 min 40 s." in restored[0].reason
    data_sets = list(DataSet.objects.order_by("pk"))
    assert {data_set.checksum for data_set in data_sets} == {checksum}
    transactions = [run.result.measures["transactions"]["value"] for run in Run.objects.filter(kind="measure")]
    assert 0 < data_sets[-1].age_write_transactions < sum(transactions)  # of its own run alone
    assert own.copies.get().restored_s > 0

    own.copies.update(loaded_s=0)
    assert not any(RESTORED in run.reason for run in loads())
    assert not own.copies.get().is_there and not Path(own.folder, "copies", copy.key).exists()


def test_copies_are_discarded_when_asked_and_what_is_gone_is_known_after_a_look(own):
    made(own)
    row = {"recipe": {"tool": "pgbench"}, "size_bytes": 1, "loaded_s": 9.0, "copied_s": 1.0}
    for key in ("a" * 32, "b" * 32):
        own.copies.create(key=key, **row)
    folder = Path(own.folder, "copies", "a" * 32, "data")
    folder.mkdir(parents=True)
    for path in (folder, folder.parent, folder.parent.parent):
        os.chown(path, Path(own.folder).stat().st_uid, -1)
    visited(own, "look")
    assert list(own.copies.filter(is_there=True).values_list("key", flat=True)) == ["a" * 32]
    assert visited(own, "discard").contact_error == ""
    assert not own.copies.filter(is_there=True).exists() and not Path(own.folder, "copies").exists()
    assert Path(own.folder, "data", "PG_VERSION").exists()


def test_a_removed_cluster_leaves_nothing_and_its_instance_is_offered_no_more(own):
    instance, folder = made(own), own.folder
    DataSet.objects.create(
        instance=instance, build=instance.build, recipe={}, recipe_digest="0" * 64, size_bytes=1, checksum="0"
    )
    visited(own, "remove")
    assert (own.contact_error, own.made_at, own.removed_at is not None) == ("", None, True)
    assert not Path(folder).exists() and Path(folder).parent.exists()
    assert Instance.objects.get(pk=instance.pk).retired_at is not None
    assert not DataSet.objects.filter(replaced_at=None).exists()


def test_a_cluster_whose_folder_is_somebody_elses_is_neither_made_nor_removed(own, host):
    made(own)
    Path(own.folder, "mark").write_text("somebody else\n")
    for purpose in ("remove", "stop", "make"):
        visited(own, purpose)
        assert "Nothing was touched." in own.contact_error
        assert Path(own.folder, "data", "PG_VERSION").exists() and own.made_at


def test_a_cluster_is_not_removed_while_a_run_waits(own, experiment, machine, host):
    place = {"driver": host, "hardware": machine, "path": "socket", "label": "as found"}
    experiment(system_under_test(made(own), **place))
    assert visited(own, "remove").contact_error == clusters.NEEDED
    assert Path(own.folder, "data", "PG_VERSION").exists()
    Run.objects.update(cancel_asked_at="2026-01-01T00:00:00Z")
    assert own.made_at is not None


@pytest.mark.whole
def test_a_settings_file_of_a_run_is_shown_as_of_its_last_start(own, worker, experiment, machine, host):
    configuration = Configuration.objects.create(name="big", settings={"work_mem": "9MB"})
    place = {"driver": host, "hardware": machine, "path": "socket", "label": "big"}
    system = system_under_test(made(own), configuration=configuration, **place)
    worker.finish(experiment(system))
    assert "work_mem = '9MB'" in visited(own, "look").facts["last_start"]


@pytest.fixture
def os_helper(host, monkeypatch):
    """Return root's helper on the host, and how vm.swappiness stands there; nobody else's test changes it meanwhile."""
    with settings_guarded("vm.swappiness") as before, places.held(places.HELPERS) as folder:
        folder.chmod(0o755)
        helper = RootHelper(folder / f"bhos{secrets.token_hex(4)}", host.username)
        monkeypatch.setattr(script, "COMMAND", helper.command)
        monkeypatch.setattr(script, "STATE_FOLDER", str(helper.state))
        Host.objects.filter(pk=host.pk).update(facts={**host.facts, "os_settings": script.VERSION})
        yield before["vm.swappiness"]
        helper.restore()
        helper.remove()


@pytest.mark.whole
@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes settings")
def test_each_step_finds_its_host_as_it_was_before_the_series(worker, own, experiment, machine, host, os_helper):
    instance, systems, values = made(own), [], [str(int(os_helper) + 3), str(int(os_helper) + 5)]
    for number, swappiness in enumerate(values, start=1):
        configuration = Configuration.objects.create(name=f"step {number}", os_settings={"vm.swappiness": swappiness})
        place = {"driver": host, "hardware": machine, "path": "socket", "label": f"step {number}"}
        systems.append(system_under_test(instance, configuration=configuration, **place))
    runs = [run for run in worker.finish(experiment(*systems)) if run.kind == "measure"]
    assert [run.state for run in runs] == [State.SUCCEEDED] * 2, [run.reason for run in runs]
    for run, swappiness in zip(runs, values, strict=True):
        moments = {"before": os_helper, "applied": swappiness, "end": swappiness, "after": os_helper}
        assert run.found.deltas["os_settings"] == {"vm.swappiness": moments}
        assert not [doubt for doubt in run.result.doubts if doubt["code"].startswith("os-settings")]
    assert value("vm.swappiness") == os_helper
