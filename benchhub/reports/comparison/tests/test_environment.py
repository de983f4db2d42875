"""What was found on the hosts of compared curves: side by side, with what is unlike, missing or contradicts itself."""

from types import SimpleNamespace

import pytest
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench import testing
from benchhub.bench.models import Found, System
from benchhub.catalog.models import Cluster, Host, Instance
from benchhub.reports.comparison.answers import environment
from benchhub.reports.comparison.answers.mounts import GROUNDS
from benchhub.reports.testing import both
from runners.facts.storage import ELSEWHERE

pytestmark = pytest.mark.django_db
MOUNTS = [
    {"folder": "/", "type": "ext4", "disks": ["sda"]},
    {"folder": "/pg", "type": "xfs", "layers": ["LVM", "dm-crypt"], "disks": ["nvme0n1", "nvme1n1"]},
]


@pytest.fixture
def page(reader, experiment, systems):
    """Return the page of two curves, of which each has the given facts at its peak; None is none."""

    def load(*facts, settings=None):
        for system, host_facts in zip(systems, facts, strict=True):
            run = experiment.runs.filter(system=system, clients=8).order_by("repeat").first()
            if host_facts is not None:
                Found.objects.create(
                    run=run,
                    host={"box": host_facts},
                    server={"version": "PostgreSQL"},
                    settings=settings or {},
                    facts_digest=testing.sha256(repr(host_facts)),
                )
        return reader.get(both(experiment, systems))

    return load


def test_facts_that_are_alike_need_no_sentence(page):
    alike = {"kernel": "6.1", "memory_bytes": 2**36, "missing": ["dmi_of_another"]}
    response = page(alike, alike)
    assertContains(response, "<td>6.1</td><td>6.1</td>", count=1)
    assertNotContains(response, "Unlike between the curves")
    assertNotContains(response, "not read")


def curve_of_system(key, description):
    system = System(label=key, instance=Instance(), driver=Host(name="box"), path="loopback", description=description)
    return SimpleNamespace(key=key, label=key, system=system)


def test_poolers_stand_beside_each_other_with_what_was_not_read():
    pooled = {"pooler": {"kind": "PgBouncer", "pool_mode": "session"}}
    entries = [curve_of_system("a", pooled), curve_of_system("b", {}), curve_of_system("c", pooled)]
    facts = {"a": Found(pooler={"version": "1.23.1", "pool_mode": "session"}), "b": Found(), "c": Found()}
    sides = {side.name: side.values for side in environment.environment(entries, facts)}
    assert sides["pooler"] == ("PgBouncer", "none", "PgBouncer")
    assert sides["pooler: pool mode"] == ("session", "", "not read")
    assert environment.remarks(entries, facts)[0].startswith("Unlike between the curves: pooler.")
    assert "pooler" not in [side.name for side in environment.environment(entries[1:2], facts)]


def test_facts_that_are_unlike_are_named_once_by_their_group(page):
    first = {"kernel": "6.1", "cpu": {"model": "A", "mhz": 800.0}, "sysctls": {"vm.swappiness": "1", "kernel.sem": "1"}}
    other = {"kernel": "6.1", "cpu": {"model": "B", "mhz": 900.0}, "sysctls": {"vm.swappiness": "9", "kernel.sem": "2"}}
    assertContains(page(first, other), "Unlike between the curves: CPU and sysctls.")


def test_limits_stand_side_by_side_and_none_is_unlike_a_limit(page):
    first, other = ({"limits": {"cpus": "none", "memory_bytes": value}} for value in ("none", 4 << 30))
    response = page(first, other)
    assertContains(
        response, '<tr class="differs"><th scope="row">limits of the driver: memory</th><td>none</td><td>4 GiB</td>'
    )
    assertContains(response, "Unlike between the curves: limits of the driver.")


def test_limits_are_those_of_the_driver_and_of_a_server_that_benchhub_started_on_another_host():
    def curve(key, *, is_own):
        instance = Instance(host=Host(pk=2, name="box"))
        if is_own:
            instance.cluster = Cluster(instance=instance)
        system = System(label=key, instance=instance, driver=Host(pk=1, name="loader"), path="network", description={})
        return SimpleNamespace(key=key, label=key, system=system)

    hosts = {"loader": {"limits": {"cpus": 2}}, "box": {"kernel": "6.1", "limits": {"cpus": 7}}}
    rows = {key: Found(host=hosts) for key in "ab"}
    entries = [curve("a", is_own=True), curve("b", is_own=False)]
    sides = {side.name: side.values for side in environment.environment(entries, rows)}
    limits = {name: values for name, values in sides.items() if name.startswith("limits")}
    assert limits == {"limits of the driver: CPUs": ("2", "2"), "limits of the server: CPUs": ("7", "")}
    assert sides["kernel"] == ("6.1", "6.1")


def test_limits_that_an_older_probe_did_not_read_are_no_difference(page):
    response = page({"kernel": "6.1"}, {"kernel": "6.1", "limits": {"cpus": 2.5, "memory_bytes": 4 << 30}})
    assertContains(response, '<th scope="row">limits of the driver: CPUs</th><td>not read</td><td>2.50</td>')
    assertNotContains(response, "Unlike between the curves")


def test_a_clock_of_the_moment_is_no_difference(page):
    assertNotContains(page({"cpu": {"mhz": 800.0}}, {"cpu": {"mhz": 900.0}}), "Unlike between the curves")


def test_what_was_not_read_is_named_and_is_no_difference(page):
    response = page(
        {"kernel": "6.1", "memory_bytes": 2**36}, {"kernel": "6.1", "missing": ["memory_bytes", "sockets", "x"]}
    )
    assertContains(response, "PostgreSQL 18: not read on the server&#x27;s host: memory bytes and sockets.")
    assertContains(response, "<td>not read</td>")
    assertNotContains(response, "Unlike between the curves")


def test_a_curve_without_any_facts_is_named(page):
    response = page({"kernel": "6.1"}, None)
    assertContains(response, "PostgreSQL 18: no facts of the server&#x27;s host were stored with the run.")
    assertNotContains(response, "<td>not read</td>")


def test_facts_that_contradict_themselves_are_named_once_for_all_curves_of_a_host(page):
    doubtful = {"cpu": {"cpus": 20}, "remarks": ["lscpu counts 20 CPUs."]}
    assertContains(page(doubtful, doubtful), "PostgreSQL 16 and PostgreSQL 18: lscpu counts 20 CPUs.", count=1)


def test_a_product_that_does_not_add_up_is_not_shown(page):
    cpu = {"cpus": 20, "sockets": 1, "cores_per_socket": 14, "threads_per_core": 2}
    kinds = [{"name": "performance", "cores": 6, "cpus": 12}, {"name": "efficiency", "cores": 8, "cpus": 8}]
    counted = {"cpus": 20, "cores": 14, "sockets": 1, "cores_per_socket": 14, "core_kinds": kinds}
    response = page({"cpu": cpu}, {"cpu": counted})
    assertNotContains(response, "threads per core")
    assertContains(response, "<td>not read</td><td>14</td>", count=2)
    assertContains(response, "<td>6 performance and 8 efficiency</td>")


def test_the_data_directory_is_followed_to_its_disks(page):
    settings = {"data_directory": {"setting": "/pg/16/main"}}
    response = page({"filesystems": MOUNTS}, {"filesystems": MOUNTS[:1]}, settings=settings)
    assertContains(response, "xfs over LVM and dm-crypt on nvme0n1 and nvme1n1")
    assertContains(response, "<td>ext4 on sda</td>")


def test_every_ground_without_disks_that_the_probe_knows_is_published():
    assert set(ELSEWHERE.values()) <= set(GROUNDS)


def test_a_file_system_is_told_without_what_names_its_host(page):
    own = {
        "folder": "/srv/acme",
        "type": "zfs",
        "device": "tank/acme",
        "options": ["acme"],
        "rests_on": "ZFS pool acme",
    }
    facts = {"filesystems": [*MOUNTS[:1], own]}
    response = page(facts, facts, settings={"data_directory": {"setting": "/srv/acme/16"}})
    assertContains(response, "filesystems other 1: type")
    assertContains(response, "zfs on a ZFS pool")
    assertNotContains(response, "acme")


@pytest.mark.parametrize("setting", [None, {}, {"setting": ""}, {"setting": "pg"}, "/pg"])
def test_without_its_folder_nothing_is_said_of_the_data_directory(page, setting):
    facts = {"filesystems": MOUNTS}
    assertNotContains(page(facts, facts, settings={"data_directory": setting}), "data directory")


@pytest.mark.parametrize(
    "facts",
    [
        {"cpu": "x", "missing": "x", "remarks": {"a": 1}, "filesystems": [1, {"type": "xfs"}]},
        {"cpu": {"cpus": "x", "core_kinds": ["x", {}], "sockets": "2"}, "missing": [1, None], "remarks": [None, 3]},
        "text",
        [1],
    ],
)
def test_imported_facts_of_any_form_are_shown_or_left_out(page, facts):
    assert page(facts, facts, settings={"data_directory": {"setting": "/pg"}}).status_code == 200
