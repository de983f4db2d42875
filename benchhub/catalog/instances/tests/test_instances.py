import hashlib

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.catalog.instances import poolers
from benchhub.catalog.instances.forms import managed_build, version_num
from benchhub.catalog.models import Cluster, Configuration, Host, Inspection, Instance, PgBuild
from runners.contract import Pooler

pytestmark = pytest.mark.django_db
LIST_QUERIES = 4  # session, user, count, page
PASSWORD = "s3cret-of-the-server"


@pytest.fixture
def configuration():
    return Configuration.objects.create(name="defaults")


@pytest.fixture
def typed(probed, configuration):
    return {
        "name": "pg18",
        "server": f"{probed.pk}:/opt/pg18/bin",
        "address": "127.0.0.1",
        "port": "5433",
        "database": "bench",
        "username": "bench",
        "password": PASSWORD,
        "data_directory": "/data/18",
        "configuration": configuration.pk,
    }


def add(client, typed, **changes):
    return client.post(reverse("instance-add"), {**typed, **changes})


def edit(client, typed, **changes):
    return client.post(reverse("instance-edit", args=[Instance.objects.get().pk]), {**typed, **changes})


def assert_tested(answer):
    """Assert that it leads to the test of the instance, and that a worker takes it where there is one driver."""
    instance = Instance.objects.get()
    assertRedirects(answer, reverse("instance-test", args=[instance.pk]))
    tests = Inspection.objects.filter(instance=instance, is_wanted=True)
    assert list(tests.values_list("driver", flat=True)) == list(Host.objects.values_list("pk", flat=True))


def test_a_managed_instance_is_tested_at_once_from_the_only_host_or_from_one_that_is_chosen_later(
    engineer, typed, probed
):
    managed = {"server": "managed", "version": "17.1", "address": "db.test"}
    add(engineer, typed, **managed)
    assert list(Inspection.objects.values_list("driver", flat=True)) == [probed.pk]
    Host.objects.create(name="second", address="192.0.2.9", host_key="ssh-ed25519 AAAB", trust=Host.Trust.PINNED)
    add(engineer, typed, name="another", **managed)
    assert Inspection.objects.count() == 1


def test_nothing_says_that_an_instance_can_be_used_before_its_test_has_run(engineer, typed):
    assertNotContains(engineer.post(reverse("instance-add"), typed, follow=True), "can use it now")
    pk = Instance.objects.get().pk
    changed = {**typed, "remark": "of the lab", "password": ""}
    assertContains(engineer.post(reverse("instance-edit", args=[pk]), changed, follow=True), "can use it now")


def test_an_instance_takes_its_build_from_what_the_probe_found(engineer, typed, probed):
    assert_tested(add(engineer, typed))
    instance = Instance.objects.get()
    assert (instance.host, instance.bin_directory, instance.port) == (probed, "/opt/pg18/bin", 5433)
    assert (instance.build.version, instance.build.binary_digest) == ("18.4", "18" * 32)
    assert (instance.password, instance.data_directory) == (PASSWORD, "/data/18")


def test_the_choice_is_of_servers_that_a_probe_found(engineer, typed, probed):
    page = reverse("instance-add")
    answer = engineer.get(page, {"server": f"{probed.pk}:/opt/pg16/bin"})
    assertContains(
        answer, f'<option value="{probed.pk}:/opt/pg16/bin" selected>PostgreSQL 16.4 in /opt/pg16/bin</option>'
    )
    assertNotContains(answer, "/opt/client/bin")  # has pgbench only
    errors = add(engineer, typed, server=f"{probed.pk}:/opt/nowhere").context["page"].form.errors
    assert errors.keys() == {"server", "password"}
    assert not Instance.objects.exists()


def test_two_instances_of_the_same_programs_share_their_build(engineer, typed):
    add(engineer, typed)
    add(engineer, typed, name="second", port="5434")
    assert (Instance.objects.count(), PgBuild.objects.count()) == (2, 1)


def test_a_password_is_sent_back_to_no_page(engineer, typed):
    add(engineer, typed)
    pk = Instance.objects.get().pk
    refused = add(engineer, typed)
    pages = [reverse("instances"), reverse("instance-edit", args=[pk]), reverse("host", args=[Host.objects.get().pk])]
    for answer in (refused, *map(engineer.get, pages)):
        assertNotContains(answer, PASSWORD)
    assert "Type the password again" in refused.context["page"].form.errors["password"][0]


def test_an_edit_without_a_password_keeps_the_old_one_and_with_one_takes_it(engineer, typed):
    add(engineer, typed)
    assertRedirects(edit(engineer, typed, password="", name="renamed"), reverse("instances"))
    assert (Instance.objects.get().password, Instance.objects.get().name) == (PASSWORD, "renamed")
    edit(engineer, typed, password=" new ")
    assert Instance.objects.get().password == " new "


@pytest.mark.parametrize(
    "move",
    [
        {"address": "203.0.113.9"},
        {"port": "6000"},
        {"username": "postgres"},
        {"server": "managed", "version": "18.4"},
        {"pooler": "PgBouncer", "pooler_address": "203.0.113.9"},
    ],
)
def test_a_stored_password_goes_to_no_other_server(engineer, typed, move):
    add(engineer, typed)
    before = Instance.objects.values().get()
    errors = edit(engineer, typed, password="", **move).context["page"].form.errors
    assert errors.keys() == {"password"}
    assert "sent to no other" in errors["password"][0]
    assert Instance.objects.values().get() == before
    assert_tested(edit(engineer, typed, password="typed anew", **move))
    assert Instance.objects.get().password == "typed anew"


def test_a_move_to_a_server_without_a_password_forgets_the_stored_one(engineer, typed):
    add(engineer, typed)
    assert edit(engineer, typed, has_no_password="on").context["page"].form.errors.keys() >= {"has_no_password"}
    assert_tested(edit(engineer, typed, password="", port="6000", has_no_password="on"))
    assert (Instance.objects.get().password, Instance.objects.get().port) == ("", 6000)
    assert_tested(edit(engineer, typed, password="", port="6001"))


def test_a_newer_build_in_another_folder_of_the_same_host_keeps_the_password(engineer, typed, probed):
    add(engineer, typed)
    assert_tested(edit(engineer, typed, password="", server=f"{probed.pk}:/opt/pg16/bin"))
    assert (Instance.objects.get().bin_directory, Instance.objects.get().password) == ("/opt/pg16/bin", PASSWORD)


def test_a_refused_form_does_not_ask_for_a_password_that_was_not_typed(engineer, typed):
    assert add(engineer, typed, password="", port="x").context["page"].form.errors.keys() == {"port"}


def test_an_edit_takes_the_build_as_probed_last(engineer, typed, probed):
    add(engineer, typed)
    newer = {**probed.facts["builds"][1], "version": "18.5", "version_num": 180005, "postgres_sha256": "ab" * 32}
    Host.objects.update(facts={**probed.facts, "builds": [newer]})
    edit(engineer, typed)
    assert Instance.objects.get().build.version == "18.5"


def test_an_edit_keeps_a_build_that_no_probe_finds_any_more(engineer, typed, probed):
    add(engineer, typed)
    Host.objects.update(facts={})
    answer = engineer.get(reverse("instance-edit", args=[Instance.objects.get().pk]))
    assertContains(answer, "PostgreSQL 18.4 in /opt/pg18/bin, as before")
    assert_tested(edit(engineer, typed, port="6000"))
    after = Instance.objects.get()
    assert (after.port, after.bin_directory, after.build.version) == (6000, "/opt/pg18/bin", "18.4")


def test_a_managed_server_needs_its_version_only(engineer, typed):
    managed = {"server": "managed", "version": "16.4", "address": "db.test"}
    assert_tested(add(engineer, typed, **managed))
    instance = Instance.objects.get()
    assert (instance.host, instance.bin_directory) == (None, "")
    assert (instance.build.version, instance.build.version_num) == ("16.4", 160004)
    answer = engineer.get(reverse("instance-edit", args=[instance.pk]))
    assertContains(answer, 'value="16.4"')
    assert managed_build("16.4") == instance.build
    assert managed_build("16.5") != instance.build


def test_a_host_that_claims_the_digest_of_a_managed_server_gives_it_no_other_version():
    digest = hashlib.sha256(b"managed PostgreSQL 16.4").hexdigest()
    for version, number in (("9.6.1", 90601), ("10.1", 100001)):
        PgBuild.from_facts({"postgres_sha256": digest, "version": version, "version_num": number})
    assert (managed_build("16.4").version, managed_build("16.4").version_num) == ("16.4", 160004)


@pytest.mark.parametrize(("version", "number"), [("16.4", 160004), ("9.6.24", 90624), ("10.1", 100001)])
def test_versions_count_as_postgresql_counts_them(version, number):
    assert version_num(version) == number


@pytest.mark.parametrize(
    ("changes", "field", "sentence"),
    [
        ({"server": ""}, "server", "required"),
        ({"server": "managed"}, "version", "Say which version"),
        ({"server": "managed", "version": "sixteen"}, "version", "numbers only"),
        ({"server": "managed", "version": "16.4 beta"}, "version", "numbers only"),
        ({"server": "managed", "version": "at least 9.6"}, "version", "numbers only"),
        ({"address": "a b"}, "address", "without blanks"),
        ({"port": "70000"}, "port", "less than or equal"),
        ({"data_directory": "data"}, "data_directory", "whole path"),
        ({"configuration": ""}, "configuration", "required"),
        ({"database": "a\x01b"}, "database", "on one line"),
        ({"pooler": "PgBouncer"}, "pooler_address", "where the driver reaches the pooler"),
        ({"pooler": "Odyssey", "pooler_address": "h"}, "pooler", "Select a valid choice"),
        ({"pooler": "PgBouncer", "pooler_address": "a b"}, "pooler_address", "without blanks"),
    ],
)
def test_a_mistake_is_told_beside_its_field(engineer, typed, changes, field, sentence):
    answer = add(engineer, typed, password="", **changes)
    [(at, errors)] = answer.context["page"].form.errors.items()
    assert at == field
    assert sentence in errors[0]
    assertContains(answer, 'value="pg18"')
    assert not Instance.objects.exists()


def test_a_second_instance_of_a_name_is_refused_beside_the_field(engineer, typed):
    add(engineer, typed)
    errors = add(engineer, typed, password="").context["page"].form.errors
    assert errors == {"name": ["There is already an instance of this name: choose another one."]}


def test_without_a_configuration_the_form_says_to_add_one(engineer):
    assertContains(engineer.get(reverse("instance-add")), "There is no configuration yet")


def test_the_list_is_searched_and_filtered(engineer, typed):
    add(engineer, typed)
    add(engineer, typed, name="cloud", server="managed", version="17.1", address="db.test")

    def names(**query):
        return [row.name for row in engineer.get(reverse("instances"), query).context["listing"].page]

    assert names() == ["cloud", "pg18"]
    assert names(sort="-build") == ["pg18", "cloud"]
    assert names(kind="managed") == ["cloud"]
    assert names(q="box") == ["pg18"]


@pytest.mark.parametrize("count", [1, 9])
def test_the_list_asks_the_database_as_often_for_many_as_for_one(engineer, typed, count, django_assert_num_queries):
    for number in range(count):
        add(engineer, typed, name=f"i{number}")
    engineer.get(reverse("instances"))  # shows the messages of the forms
    with django_assert_num_queries(LIST_QUERIES):
        engineer.get(reverse("instances"))


def test_a_server_that_a_probe_saw_running_is_offered_until_it_is_an_instance(engineer, typed, probed):
    Host.objects.filter(pk=probed.pk).update(
        facts=probed.facts | {"servers": [{"socket_directory": "/run/postgresql", "port": 5433}]}
    )
    page = engineer.get(reverse("host", args=[probed.pk]))
    assertContains(page, "address=%2Frun%2Fpostgresql&amp;port=5433")
    query = {"server": f"{probed.pk}:/opt/pg16/bin", "address": "/run/postgresql", "port": "5433"}
    form = engineer.get(reverse("instance-add"), query).context["page"].form
    assert (form["address"].value(), form["port"].value(), form["database"].value()) == (
        "/run/postgresql",
        "5433",
        "bench",
    )
    add(engineer, typed)
    assertNotContains(engineer.get(reverse("host", args=[probed.pk])), "address=%2Frun%2Fpostgresql")


def test_only_what_was_seen_of_the_chosen_host_is_offered(engineer, typed, probed):
    add(engineer, typed)
    Inspection.objects.update(is_wanted=False, sight={"databases": ["bench"]})
    servers = [{"socket_directory": "/run/postgresql", "port": 5440}]
    Host.objects.filter(pk=probed.pk).update(facts={**probed.facts, "servers": servers})
    other = Host.objects.create(name="other", address="192.0.2.9")
    form = reverse("instance-add")
    for query in ({}, {"server": f"{probed.pk}:/opt/pg18/bin"}):
        assertContains(engineer.get(form, query), '<option value="5440">a server runs there on box</option>', html=True)
        assertContains(engineer.get(form, query), '<option value="bench">of pg18</option>', html=True)
    elsewhere = engineer.get(form, {"server": f"{other.pk}:/opt/pg18/bin"})
    assertNotContains(elsewhere, "5440")
    assertNotContains(elsewhere, '<option value="bench"')


def test_databases_of_a_server_that_nobody_has_described_are_offered_by_what_the_probe_saw(engineer, probed):
    servers = [{"socket_directory": "/run/postgresql", "port": 5440, "databases": ["postgres", "shop"]}]
    servers += [{"socket_directory": "/srv/a", "port": 5441}]
    Host.objects.filter(pk=probed.pk).update(facts={**probed.facts, "servers": servers})
    other = Host.objects.create(name="other", address="192.0.2.9")
    page = engineer.get(reverse("instance-add"), {"server": f"{probed.pk}:/opt/pg18/bin"})
    for option in (
        '<option value="shop">of port 5440 of box</option>',
        '<option value="/srv/a">sockets of a server on box</option>',
    ):
        assertContains(page, option, html=True)
    elsewhere = engineer.get(reverse("instance-add"), {"server": f"{other.pk}:/opt/pg18/bin"})
    assertNotContains(elsewhere, "shop")
    assertNotContains(elsewhere, "/srv/a")


def test_another_server_on_the_form_of_an_instance_is_offered_what_its_own_host_has(engineer, typed, probed):
    add(engineer, typed)
    Host.objects.create(name="other", address="192.0.2.9", facts={"servers": [{"socket_directory": "/s", "port": 1}]})
    form = reverse("instance-edit", args=[Instance.objects.get().pk])
    assertNotContains(engineer.get(form), 'value="/s"')
    elsewhere = engineer.get(form, {"server": f"{Host.objects.get(name='other').pk}:/opt/pg18/bin"})
    assertContains(elsewhere, '<option value="/s">sockets of a server on other</option>', html=True)


def test_the_databases_that_a_test_saw_are_offered_with_their_server(engineer, typed):
    engineer.post(reverse("instance-add"), typed)
    assertNotContains(engineer.get(reverse("instance-add")), "shop")
    Inspection.objects.update(is_wanted=False, sight={"databases": ["bench", "shop"]})
    name = Instance.objects.get().name
    assertContains(engineer.get(reverse("instance-add")), f'<option value="shop">of {name}</option>', html=True)
    Inspection.objects.update(sight={"errors": "refused", "databases": []})
    assertNotContains(engineer.get(reverse("instance-add")), "shop")


def test_an_instance_that_was_only_tested_can_be_deleted(engineer, typed):
    add(engineer, typed)
    instance = Instance.objects.get()
    Inspection.objects.update(is_wanted=False, sight={"errors": "FATAL: no such role"})
    engineer.post(reverse("instance-delete", args=[instance.pk]))
    assert not Instance.objects.exists() and not Inspection.objects.exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"password": "", "has_no_password": "on"},
        {"database": "other"},
        {"pooler": "PgBouncer", "pooler_address": "127.0.0.1"},
    ],
)
def test_another_log_in_is_tested_anew(engineer, typed, changes):
    add(engineer, typed)
    Inspection.objects.update(is_wanted=False, sight={"errors": "FATAL: no such role"})
    assert_tested(edit(engineer, typed, **changes))
    assert Inspection.objects.get().sight is None


def test_a_pooler_listens_at_its_usual_port_and_goes_without_the_password_being_typed_again(engineer, typed):
    add(engineer, typed, pooler="PgBouncer", pooler_address="127.0.0.1")
    instance = Instance.objects.get()
    assert poolers.asked_pooler(instance) == Pooler("PgBouncer", "127.0.0.1", 6432)
    assert "is being tested" in poolers.refusal(Instance.objects.get())
    Inspection.objects.update(is_wanted=False)
    assert "did not get to its pooler" in poolers.refusal(Instance.objects.get())
    Inspection.objects.update(sight={"pooler": {"version": "1.23.1", "settings": {"pool_mode": "transaction"}}})
    described = {"kind": "PgBouncer", "version": "1.23.1", "pool_mode": "transaction"}
    assert (poolers.planned(instance), poolers.refusal(instance)) == (described, "")
    assert_tested(edit(engineer, typed, password=""))
    instance = Instance.objects.get()
    assert (poolers.asked_pooler(instance), poolers.planned(instance), instance.password) == (None, {}, PASSWORD)


@pytest.mark.parametrize(
    ("changes", "is_open"), [({}, False), ({"pooler": "PgBouncer"}, True), ({"pooler_port": "none"}, True)]
)
def test_a_pooler_is_folded_away_unless_there_is_something_of_it_to_see(engineer, typed, changes, is_open):
    answer = engineer.post(reverse("instance-add"), typed | {"name": ""} | changes)
    assertContains(answer, f'<details id="pooler"{" open" if is_open else ""}>')


def test_a_server_on_the_port_of_a_cluster_of_its_own_is_offered(engineer, typed, probed):
    add(engineer, typed, port="5432", address="/srv/own/socket")
    Cluster.objects.create(instance=Instance.objects.get(), folder="/srv/own")
    sockets = ["/run/postgresql", "/srv/own/socket"]
    servers = [{"socket_directory": folder, "port": 5432} for folder in sockets]
    Host.objects.filter(pk=probed.pk).update(facts=probed.facts | {"servers": servers})
    page = engineer.get(reverse("host", args=[probed.pk]))
    assert [server.port for server in page.context["page"].servers] == [5432]
    assertContains(page, "address=%2Frun%2Fpostgresql&amp;port=5432")
