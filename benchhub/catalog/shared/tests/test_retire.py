import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.bench import testing
from benchhub.bench.plan.testing import FREE_FORM
from benchhub.catalog.models import Configuration, Hardware, Host, Instance, LicenceModel, Workload
from benchhub.catalog.testing import make_sheet

pytestmark = pytest.mark.django_db
LISTS = {
    "hardware": "hardware-list",
    "licence-model": "licence-models",
    "price-sheet": "price-sheets",
    "configuration": "configurations",
    "workload": "workloads",
    "instance": "instances",
}


@pytest.fixture
def rows(probed):
    """One row of each kind that can be retired; nothing uses them."""
    configuration = Configuration.objects.create(name="large")
    build = testing.make_system(
        "18", testing.make_host("other", "192.0.2.2"), Hardware.objects.create(**BOX, name="Rack")
    ).build
    fields = {"address": "127.0.0.1", "database": "bench", "username": "bench"}
    return {
        "hardware": Hardware.objects.create(**BOX, name="Box"),
        "licence-model": LicenceModel.objects.create(name="Per core", metric="core"),
        "price-sheet": make_sheet(),
        "configuration": configuration,
        "workload": Workload.objects.create(name="reads", tool="pgbench", parameters={"script": "select-only"}),
        "instance": Instance.objects.create(
            name="idle", host=probed, build=build, configuration=Configuration.objects.create(name="own"), **fields
        ),
    }


BOX = {"sockets": 1, "cores_per_socket": 8}


def retire(client, kind, row, **options):
    return client.post(reverse(f"{kind}-retire", args=[row.pk]), **options)


def is_retired(row):
    row.refresh_from_db()
    return row.retired_at is not None


@pytest.mark.parametrize("kind", LISTS)
def test_a_row_is_retired_after_a_question_and_shown_again(engineer, rows, kind):
    row, page = rows[kind], reverse(LISTS[kind])
    address = reverse(f"{kind}-retire", args=[row.pk])
    assertContains(engineer.get(page), address)
    assertContains(engineer.get(address), f"Retire {row}?")
    assert not is_retired(row)
    assertContains(retire(engineer, kind, row, follow=True), f"{row} is retired.")
    assert is_retired(row)
    retired = engineer.get(page, {"revisions": "retired", "retired": "yes"})
    assertContains(retired, reverse(f"{kind}-show-again", args=[row.pk]))
    assertNotContains(retired, address)
    assertRedirects(engineer.post(reverse(f"{kind}-show-again", args=[row.pk])), page)
    assert not is_retired(row)


@pytest.mark.parametrize("kind", LISTS)
def test_a_link_shows_nothing_again(engineer, rows, kind):
    retire(engineer, kind, rows[kind])
    assert engineer.get(reverse(f"{kind}-show-again", args=[rows[kind].pk])).status_code == 405
    assert is_retired(rows[kind])


def test_what_a_host_or_an_instance_uses_is_not_retired_and_its_users_are_named(engineer, rows):
    Host.objects.filter(name="box").update(hardware=rows["hardware"])
    assertContains(retire(engineer, "hardware", rows["hardware"], follow=True), "in use: change box first")
    configuration = rows["instance"].configuration
    assertContains(retire(engineer, "configuration", configuration, follow=True), "in use: change idle first")
    assert not is_retired(rows["hardware"]) and not is_retired(configuration)
    retire(engineer, "instance", rows["instance"])
    retire(engineer, "configuration", configuration)
    assert is_retired(configuration)


def test_the_machine_of_a_pooler_is_not_retired_until_no_load_goes_through_that(engineer, rows):
    hardware, instances = rows["hardware"], Instance.objects.filter(name="idle")
    instances.update(pooler="PgBouncer", pooler_address="203.0.113.9", pooler_hardware=hardware)
    assertContains(retire(engineer, "hardware", hardware, follow=True), "in use: change idle first")
    assert not is_retired(hardware)
    instances.update(pooler="")
    retire(engineer, "hardware", hardware)
    assert is_retired(hardware)


def test_what_has_a_newer_revision_is_not_shown_again(engineer, rows):
    old = rows["hardware"]
    old.revise(sockets=2)
    answer = engineer.post(reverse("hardware-show-again", args=[old.pk]), follow=True)
    assertContains(answer, "Box has a newer revision")
    assert is_retired(old)


def test_retired_and_replaced_rows_are_told_apart_in_the_list(engineer, rows):
    newer = rows["hardware"].revise(sockets=2)
    retire(engineer, "hardware", newer)

    def listed(revisions):
        answer = engineer.get(reverse("hardware-list"), {"revisions": revisions})
        return [str(row) for row in answer.context["listing"].page], answer

    retired, page = listed("retired")
    assert retired == ["Box (revision 2)"]
    assertContains(page, "retired: no form offers it")
    older, page = listed("older")
    assert older == ["Box"]
    assertContains(page, "revision 1, replaced")
    assertNotContains(page, reverse("hardware-show-again", args=[rows["hardware"].pk]))
    assert listed("current")[0] == ["Rack"]


def test_a_name_whose_row_is_retired_says_so(engineer, rows):
    retire(engineer, "configuration", rows["configuration"])
    errors = engineer.post(reverse("configuration-add"), {"name": "large"}).context["page"].form.errors
    assert errors == {"name": ["One named large is retired: choose another name, or show that one again."]}


def test_what_is_retired_cannot_be_revised(engineer, rows):
    retire(engineer, "configuration", rows["configuration"])
    page = reverse("configuration-revise", args=[rows["configuration"].pk])
    assertContains(engineer.post(page, {"settings": "fsync = on"}), "It is retired, or has a newer revision by now")
    assert Configuration.objects.filter(name="large").count() == 1


def test_a_retired_instance_is_offered_by_no_plan_and_its_page_says_so(engineer, rows):
    assertContains(engineer.get(FREE_FORM), ">idle</option>")
    retire(engineer, "instance", rows["instance"])
    assertNotContains(engineer.get(FREE_FORM), ">idle</option>")
    assertContains(
        engineer.get(reverse("instance-edit", args=[rows["instance"].pk])), "It is retired: no plan offers it."
    )
    assertContains(engineer.get(reverse("host", args=[rows["instance"].host_id])), "retired</span>")


def test_an_experiment_on_a_retired_instance_stays_but_is_not_run_again(engineer, rows):
    instance = Instance.objects.get(name="pg18")
    system = instance.system_set.get()
    experiment = testing.make_experiment([system])
    testing.succeeded(testing.make_run(experiment, system, 1, 1), 300.0)
    retire(engineer, "instance", instance)
    page = reverse("experiment", args=[experiment.pk])
    answer = engineer.post(reverse("again", args=[experiment.pk]), follow=True)
    assertRedirects(answer, page)
    assertContains(answer, "Not run again. An instance of it is retired: pg18")
    assertContains(answer, "PostgreSQL 18")
    assert type(experiment).objects.count() == 1
    assertContains(engineer.get(reverse("experiment-new"), {"like": experiment.pk}), "another has to be chosen: pg18")


def test_an_instance_that_nothing_cites_is_deleted_after_a_question(engineer, rows):
    address = reverse("instance-delete", args=[rows["instance"].pk])
    assertContains(engineer.get(reverse("instances")), address)
    assertContains(engineer.get(address), "Delete idle?")
    assert Instance.objects.filter(name="idle").exists()
    assertContains(engineer.post(address, follow=True), "idle is deleted.")
    assert not Instance.objects.filter(name="idle").exists()


def test_an_instance_that_something_cites_is_not_deleted_and_what_cites_it_is_counted(engineer, rows):
    cited = Instance.objects.get(name="pg18")
    address = reverse("instance-delete", args=[cited.pk])
    assertNotContains(engineer.get(reverse("instances")), address)
    for send in (engineer.get, engineer.post):
        answer = send(address, follow=True)
        assertContains(answer, "pg18 is not deleted, because results or plans need it: 1 system. Retire it instead.")
    assert Instance.objects.filter(pk=cited.pk).exists()


def test_a_host_is_deleted_when_it_has_no_instance_and_drives_nothing(engineer, rows):
    box, other = Host.objects.get(name="box"), Host.objects.get(name="other")
    assertContains(engineer.post(reverse("host-delete", args=[box.pk]), follow=True), "need it: 1 instance.")
    rows["instance"].delete()
    assertContains(engineer.get(reverse("host", args=[box.pk])), reverse("host-delete", args=[box.pk]))
    assertContains(
        engineer.post(reverse("host-delete", args=[other.pk]), follow=True), "need it: 1 instance and 1 system."
    )
    assertContains(engineer.get(reverse("host-delete", args=[box.pk])), "authorized_keys")
    engineer.post(reverse("host-delete", args=[box.pk]))
    assert list(Host.objects.values_list("name", flat=True)) == ["other"]
