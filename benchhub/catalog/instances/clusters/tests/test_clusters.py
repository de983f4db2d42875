"""Pages of clusters of BenchHub's own, made by a short form from a build that a probe found; nothing is sent here."""

from importlib import import_module

import pytest
from django.apps import apps
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing as bench
from benchhub.bench.plan.systems import system_under_test
from benchhub.catalog.instances.clusters import copies
from benchhub.catalog.instances.clusters.settings import asked_cluster, initdb_options, refusals
from benchhub.catalog.models import Cluster, ClusterParameters, Configuration, Instance, PgBuild
from runners.contract import DataCopy, Outputs

pytestmark = pytest.mark.django_db
CLUSTER_QUERIES = 5  # session, user, cluster, configurations, permits
PARAMETERS = {
    "shared_buffers": {
        "kind": "integer",
        "unit": "8kB",
        "context": "postmaster",
        "lowest": "16",
        "highest": "1073741823",
    },
    "work_mem": {"kind": "integer", "unit": "kB", "context": "user", "lowest": "64", "highest": "2147483647"},
}


@pytest.fixture
def as_found():
    return Configuration.objects.create(name="As found")


@pytest.fixture
def typed(probed, as_found):
    return {
        "name": "tuned", "build": "/opt/pg18/bin", "configuration": as_found.pk, "has_checksums": "on",
        "wal_segment_mib": "16", "encoding": "UTF8", "locale": "C",
    }  # fmt: skip


@pytest.fixture
def own(engineer, typed, probed):
    engineer.post(reverse("cluster-add", args=[probed.pk]), typed)
    cluster = Cluster.objects.select_related("instance__build", "instance__host").get()
    ClusterParameters.objects.create(cluster=cluster, parameters=PARAMETERS, libraries=["auto_explain"])
    Cluster.objects.update(made_at=timezone.now(), wanted="", folder="/data/tuned")
    cluster.refresh_from_db()
    return cluster


def test_a_cluster_of_a_build_that_a_probe_found_is_asked_for(engineer, typed, probed):
    form = engineer.get(reverse("cluster-add", args=[probed.pk]), {"build": "/opt/pg16/bin"})
    assertContains(form, '<option value="/opt/pg16/bin" selected>PostgreSQL 16.4 in /opt/pg16/bin</option>')
    assertContains(form, "As found</option>")
    answer = engineer.post(reverse("cluster-add", args=[probed.pk]), typed)
    cluster = Cluster.objects.get()
    assertRedirects(answer, reverse("cluster", args=[cluster.instance_id]))
    assert (cluster.wanted, cluster.made_at) == ("make", None)
    assert cluster.folder == f"clusters/tuned-{cluster.mark[:6]}"  # below the work directory of the host
    instance = cluster.instance
    assert (instance.host, instance.build.version, instance.username) == (probed, "18.4", probed.username)
    assert instance.own_cluster == cluster and not instance.has_password()


@pytest.mark.parametrize(
    ("changes", "field", "text"),
    [
        ({"name": ""}, "name", "required"),
        ({"build": "/opt/nowhere"}, "build", "not one of the available choices"),
        ({"build": "/opt/client/bin"}, "build", "not one of the available choices"),  # has pgbench only
        ({"configuration": "0"}, "configuration", "not one of the available choices"),
        ({"folder": "data"}, "folder", "Write the whole path"),
        ({"folder": "/"}, "folder", "Write the whole path"),
        ({"folder": "/data"}, "folder", "Write the whole path"),
        ({"folder": "/data/../etc"}, "folder", "Write the whole path"),
        ({"folder": "/data/a b"}, "folder", "Write the whole path"),
        ({"folder": "/data/$(id)"}, "folder", "Write the whole path"),
        ({"folder": "/data/" + "x" * 90}, "folder", "at most 85 characters"),
        ({"wal_segment_mib": "17"}, "wal_segment_mib", "not one of the available choices"),
        ({"encoding": "EBCDIC"}, "encoding", "not one of the available choices"),
        ({"locale": "C --auth=trust"}, "locale", "not one of the available choices"),
    ],
)
def test_what_is_no_cluster_is_refused_beside_its_field(engineer, typed, probed, changes, field, text):
    answer = engineer.post(reverse("cluster-add", args=[probed.pk]), {**typed, **changes})
    assert text in " ".join(answer.context["page"].form.errors[field])
    assert not Cluster.objects.exists() and not Instance.objects.exists()


def test_a_folder_where_an_instance_lies_is_refused(engineer, typed, probed):
    instance = bench.make_instance(probed, "18.4", data_directory="/data/18")
    answer = engineer.post(reverse("cluster-add", args=[probed.pk]), {**typed, "folder": "/data/18"})
    assert answer.context["page"].form.errors["folder"] == ["An instance lies there already: choose another folder."]
    assert list(Instance.objects.all()) == [instance]


def test_a_host_where_benchhub_is_root_is_told_so(engineer, typed, probed):
    probed.facts = {**probed.facts, "username": "root"}
    probed.save()
    answer = engineer.post(reverse("cluster-add", args=[probed.pk]), typed)
    assertContains(answer, "PostgreSQL does not run as root")
    assert not Cluster.objects.exists()


def test_only_who_has_a_permit_for_its_host_makes_and_removes_it(client, own, probed):
    client.force_login(make_user("rob", Role.RUNNER))
    addresses = [
        reverse("cluster-add", args=[probed.pk]),
        reverse("cluster-ask", args=[own.instance_id]),
        reverse("cluster-remove", args=[own.instance_id]),
    ]
    assert [client.post(address, {"purpose": "look"}).status_code for address in addresses] == [403] * 3
    assert client.get(reverse("cluster", args=[own.instance_id])).status_code == 200
    assertNotContains(client.get(reverse("cluster", args=[own.instance_id])), "Look at it again")
    own.refresh_from_db()
    assert own.wanted == ""


def test_its_page_says_what_is_in_force_and_which_configurations_it_can_have(engineer, own, django_assert_num_queries):
    Configuration.objects.create(name="big", settings={"shared_buffers": "1000GB", "wurk_mem": "1MB"})
    Configuration.objects.create(name="fine", settings={"shared_buffers": "128MB", "work_mem": "8MB"})
    rows = [{"name": "shared_buffers", "setting": "16384", "unit": "8kB"}]
    facts = {"is_there": True, "is_running": True, "size_bytes": 2**25, "settings": rows}
    Cluster.objects.update(facts=facts, seen_at=timezone.now())
    with django_assert_num_queries(CLUSTER_QUERIES, exact=False):
        page = engineer.get(reverse("cluster", args=[own.instance_id]))
    assertContains(page, "128 MB")
    assertContains(page, "Stop it")
    assertContains(page, "shared_buffers = 1000GB is more than the memory of the host, 64.0 GiB.")
    assertContains(page, "wurk_mem is no setting of PostgreSQL 18.4. Is work_mem meant?")
    assertContains(page, "Can be applied; shared_buffers by the start before each run.")


def test_it_is_asked_for_once_at_a_time_and_only_for_what_can_be_done(engineer, own, probed):
    ask = reverse("cluster-ask", args=[own.instance_id])
    for purpose, request in (("remove", ""), ("drop", ""), ("look", "look"), ("stop", "look")):
        engineer.post(ask, {"purpose": purpose})
        own.refresh_from_db()
        assert own.wanted == request


def test_it_is_removed_after_a_question_and_not_while_a_run_needs_it(engineer, own, probed):
    remove = reverse("cluster-remove", args=[own.instance_id])
    assertContains(engineer.get(remove), "/data/tuned on box is deleted with all data in it.")
    own.refresh_from_db()
    assert own.wanted == ""
    box = bench.Hardware.objects.create(name="Box", sockets=1, cores_per_socket=1)
    system = system_under_test(own.instance, driver=probed, hardware=box, path="socket", label="tuned")
    run = bench.make_run(bench.make_experiment([system]), system, 1, 1)
    assertContains(engineer.post(remove, follow=True), f"It is not removed: run {run.pk} needs it.")
    own.refresh_from_db()
    assert own.wanted == ""
    bench.ended(run, "succeeded")
    engineer.post(remove)
    own.refresh_from_db()
    assert own.wanted == "remove"


def test_where_it_lies_is_not_edited(engineer, own, as_found):
    edit = reverse("instance-edit", args=[own.instance_id])
    assertNotContains(engineer.get(edit), "Port")
    engineer.post(edit, {"name": "renamed", "configuration": as_found.pk, "address": "192.0.2.9", "port": "1"})
    instance = Instance.objects.get()
    assert (instance.name, instance.address, instance.port) == ("renamed", "", 5432)
    bad = Configuration.objects.create(name="bad", settings={"port": "1"})
    answer = engineer.post(edit, {"name": "renamed", "configuration": bad.pk})
    assert "port is not applied" in answer.context["page"].form.errors["configuration"][0]


def test_a_run_is_told_of_the_settings_as_typed_and_as_the_server_shows_them(own):
    fine = Configuration.objects.create(name="fine", settings={"shared_buffers": "128MB", "work_mem": "8MB"})
    spec = asked_cluster(own, fine)
    assert (spec.folder, spec.mark, spec.database) == ("/data/tuned", own.mark, "bench")
    assert spec.settings == {"shared_buffers": "128MB", "work_mem": "8MB"}
    assert spec.settings_in_force == {"shared_buffers": "16384", "work_mem": "8192"}
    with pytest.raises(ValueError, match="listen_addresses is not applied: BenchHub sets it itself"):
        asked_cluster(own, Configuration.objects.create(name="open", settings={"listen_addresses": "*"}))


def test_what_one_host_says_of_a_build_is_not_believed_of_another_host(own):
    liar = bench.make_host("liar", "192.0.2.66")
    claimed = {"postgres_sha256": own.instance.build.binary_digest, "version_num": 90600, "version": "9.6.1"}
    assert PgBuild.from_facts(claimed) != own.instance.build
    twin = Instance.objects.create(
        name="twin", host=liar, build=own.instance.build, configuration=own.instance.configuration, database="bench"
    )
    false = Cluster.objects.create(instance=twin, folder="/data/twin", wanted="", made_at=timezone.now())
    ClusterParameters.objects.create(cluster=false, parameters={"work_mem": {"kind": "bool", "context": "user"}})
    fine = Configuration.objects.create(name="fine", settings={"work_mem": "8MB"})
    assert refusals(Cluster.objects.get(pk=own.pk), fine) == [] != refusals(false, fine)


def test_clusters_of_a_build_that_several_hosts_have_are_asked_anew_and_no_others(own):
    migration = import_module("benchhub.catalog.migrations.0014_what_a_host_says_of_builds_is_its_own")
    migration.read_shared_ones_anew(apps, None)
    assert Cluster.objects.get().wanted == ""
    copied = {"build": own.instance.build, "configuration": own.instance.configuration, "database": "bench"}
    twin = Instance.objects.create(name="twin", host=bench.make_host("other", "192.0.2.66"), **copied)
    Cluster.objects.create(instance=twin, folder="/data/twin", wanted="remove", made_at=timezone.now())
    migration.read_shared_ones_anew(apps, None)
    assert [cluster.wanted for cluster in Cluster.objects.order_by("pk")] == ["make", "remove"]


def test_builds_that_differ_in_their_version_alone_have_a_digest_each_in_the_release_before():
    migration = import_module("benchhub.catalog.migrations.0014_what_a_host_says_of_builds_is_its_own")
    for version in ("16.4", "9.6.1"):
        PgBuild.from_facts({"postgres_sha256": "same", "version_num": 1, "version": version})
    migration.tell_builds_apart(apps, None)
    first, second = PgBuild.objects.order_by("pk").values_list("binary_digest", flat=True)
    assert first == "same" != second


def test_a_new_cluster_is_checked_by_what_earlier_ones_of_its_build_and_host_know(engineer, own, typed):
    typed = {**typed, "name": "next", "configuration": Configuration.objects.create(name="x", settings={"no": "1"}).pk}
    add = reverse("cluster-add", args=[own.instance.host_id])
    assert "configuration" in engineer.post(add, typed).context["page"].form.errors
    Instance.objects.update(host=bench.make_host("elsewhere", "192.0.2.67"))
    assert engineer.post(add, typed).status_code == 302


def test_a_cluster_that_was_not_made_yet_can_have_no_configuration(own):
    ClusterParameters.objects.all().delete()
    own = Cluster.objects.get()
    assert refusals(own, own.instance.configuration) == [
        "BenchHub has not made this cluster yet: its page says how far it is."
    ]


@pytest.mark.parametrize(
    ("version_num", "has_checksums", "word"),
    [(180004, True, "--data-checksums"), (180004, False, "--no-data-checksums"), (160004, True, "--data-checksums")],
)
def test_initdb_lets_in_the_account_alone_and_has_the_checksums_asked_for(own, version_num, has_checksums, word):
    PgBuild.objects.update(version_num=version_num)
    Cluster.objects.update(has_checksums=has_checksums)
    options = initdb_options(Cluster.objects.get())
    assert {"--auth-local=peer", "--auth-host=reject", "--wal-segsize=16", word} <= set(options)
    PgBuild.objects.update(version_num=160004)
    Cluster.objects.update(has_checksums=False)
    assert not [option for option in initdb_options(Cluster.objects.get()) if "checksums" in option]


def test_a_setting_with_capitals_is_taken_as_the_server_takes_it_and_told_to_a_run_by_its_own_name(own):
    zone = {"TimeZone": {"kind": "string", "context": "user"}}
    ClusterParameters.objects.update(parameters={**PARAMETERS, **zone})
    cluster = Cluster.objects.get()
    for name in ("timezone", "TimeZone", "TIMEZONE"):
        configuration = Configuration(settings={name: "UTC", "WORK_MEM": "1MB"})
        assert refusals(cluster, configuration) == []
        request = asked_cluster(cluster, configuration)
        assert dict(request.settings) == {"TimeZone": "UTC", "work_mem": "1MB"}
        assert dict(request.settings_in_force) == {"TimeZone": "UTC", "work_mem": "1024"}


def test_copies_that_a_load_removed_are_listed_no_more_and_its_reason_says_so(own):
    row = {"recipe": {"tool": "pgbench"}, "size_bytes": 2**26, "loaded_s": 40, "copied_s": 3}
    keys = [letter * 32 for letter in "abc"]
    for key in keys:
        own.copies.create(key=key, **row)
    times = b"copied_s 2\nloaded_s 30\nkilobytes 1000\n"
    outputs = Outputs(0, b"", b"", {"copy.txt": times, "copies.txt": f"{keys[0]}\n{keys[2]}\n".encode()})
    reason = copies.note(own, DataCopy(keys[0], keeps=True), row["recipe"], outputs)
    assert reason.endswith("1 other copy is gone: a load removes those used longest ago where it needs their room.")
    assert [copy.key for copy in own.copies.filter(is_there=True).order_by("key")] == [keys[0], keys[2]]
    silent = Outputs(0, b"", b"", {"copy.txt": times})
    assert "gone" not in copies.note(own, DataCopy(keys[0], keeps=True), row["recipe"], silent)
    assert own.copies.filter(is_there=True).count() == 2


class Endless(bytes):
    """Bytes of which only a part may be read as text."""

    def decode(self, *_args, **_options):
        raise AssertionError("It was read whole.")


def test_of_what_a_load_says_of_copies_only_the_beginning_is_read_however_long_it_is(own):
    own.copies.create(key="a" * 32, recipe={}, size_bytes=1, loaded_s=40, copied_s=3)
    ends = {"copy.txt": b"shared 1\n", "copy.refused": b" no room" + b" a\n" * 2000, "copies.txt": b"b" * 32 + b"\n"}
    outputs = Outputs(0, b"", b"", {name: Endless(content + b" a\n" * 4000) for name, content in ends.items()})
    reason = copies.note(own, DataCopy("b" * 32, keeps=True), {}, outputs)
    assert reason.startswith("no room")
    assert "1 other copy is gone" in reason
    assert len(reason) < 700
    assert copies.read_times(outputs) == {"shared": 1.0}
