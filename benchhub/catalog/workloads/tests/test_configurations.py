import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertRedirects

from benchhub.bench import testing
from benchhub.catalog.models import Configuration, Instance, Workload
from benchhub.catalog.shared.forms import MEANWHILE
from benchhub.catalog.workloads.forms import forms_by_kind

pytestmark = pytest.mark.django_db
LIST_QUERIES = 4  # session, user, count, page
SETTINGS = "shared_buffers = 8GB\nsearch_path = 'a, b' # two"
READS = {"name": "reads", "tool": "pgbench", "script": "select-only", "query_mode": "prepared", "scale": "100"}


def test_a_configuration_is_typed_as_lines(engineer):
    typed = {"name": "large", "settings": SETTINGS, "os_settings": "vm.swappiness = 1", "volatile_storage": "on"}
    assertRedirects(engineer.post(reverse("configuration-add"), typed), reverse("configurations"))
    made = Configuration.objects.get()
    assert made.settings == {"shared_buffers": "8GB", "search_path": "a, b"}
    assert (made.os_settings, made.volatile_storage) == ({"vm.swappiness": "1"}, True)
    assertContains(engineer.get(reverse("configurations")), "shared_buffers = 8GB")


def test_a_configuration_may_ask_for_nothing(engineer):
    engineer.post(reverse("configuration-add"), {"name": "defaults"})
    assert Configuration.objects.get().settings == {}
    assertContains(engineer.get(reverse("configurations")), "PostgreSQL's defaults")


def test_a_line_that_is_wrong_is_named_and_what_was_typed_is_kept(engineer):
    typed = {"name": "large", "settings": "fsync = on\nshared_buffers 8GB"}
    answer = engineer.post(reverse("configuration-add"), typed)
    assert answer.context["page"].form.errors == {"settings": ["Line 2: write name = value, not 'shared_buffers 8GB'."]}
    assertContains(answer, "fsync = on\nshared_buffers 8GB")
    assert not Configuration.objects.exists()


def test_a_revision_is_used_by_the_instances_and_not_by_what_was_measured(engineer):
    hardware = testing.make_box()
    system = testing.make_system("18", testing.make_host(), hardware)
    old = system.configuration
    page = reverse("configuration-revise", args=[old.pk])
    answer = engineer.get(page)
    assertContains(answer, "fsync = on\nshared_buffers = 256MB")
    assertContains(answer, "(1 instance)")
    engineer.post(page, {"settings": "shared_buffers = 1GB"})
    new = Configuration.objects.current().get()
    assert (new.name, new.revision, new.settings) == ("defaults", 2, {"shared_buffers": "1GB"})
    assert Instance.objects.get().configuration == new
    system.refresh_from_db()
    assert (system.configuration, system.configuration.settings["fsync"]) == (old, "on")


def test_a_workload_holds_the_parameters_that_the_load_generator_reads(engineer):
    assertRedirects(engineer.post(reverse("workload-add"), READS), reverse("workloads"))
    made = Workload.objects.get()
    assert made.parameters == {"script": "select-only", "query_mode": "prepared", "scale": 100}
    assert made.tool == "pgbench"


def test_a_revision_of_a_workload_starts_from_the_old_one_and_leaves_it_to_what_was_measured(engineer):
    hardware = testing.make_box()
    experiment = testing.make_experiment([testing.make_system("18", testing.make_host(), hardware)])
    old = experiment.workload
    page = reverse("workload-revise", args=[old.pk])
    assert engineer.get(page).context["page"].form["scale"].value() == 10
    assertRedirects(engineer.post(page, {**READS, "name": "ignored"}), reverse("workloads"))
    new = Workload.objects.current().get()
    assert (new.name, new.revision) == ("select-only", 2)
    assert new.parameters == {"script": "select-only", "query_mode": "prepared", "scale": 100}
    experiment.refresh_from_db()
    assert experiment.workload == old
    assert experiment.workload.parameters["scale"] == 10


def test_a_revision_of_a_workload_keeps_what_its_form_does_not_ask_for(engineer):
    parameters = {"script": "select-only", "scale": 7, "rate_tps": 90}
    own = Workload.objects.create(name="own", tool="pgbench", parameters=parameters)
    engineer.post(reverse("workload-revise", args=[own.pk]), READS)
    revised = Workload.objects.current().get()
    assert revised.parameters == {**parameters, "scale": 100, "query_mode": "prepared"}


def test_a_revision_that_is_refused_keeps_what_was_typed(engineer):
    engineer.post(reverse("workload-add"), READS)
    page = reverse("workload-revise", args=[Workload.objects.get().pk])
    answer = engineer.post(page, {**READS, "scale": "0", "remark": "larger"})
    assert answer.context["page"].form.errors.keys() == {"scale"}
    assertContains(answer, "larger")
    assert Workload.objects.get().revision == 1


@pytest.mark.parametrize(
    ("typed", "field", "sentence"),
    [
        ({"scale": "0"}, "scale", "At least 1 for the scale."),
        ({"scale": "2000001"}, "scale", "At most 2,000,000 for the scale."),
        ({"scale": "1.5"}, "scale", "whole number"),
        ({"script": "custom"}, "script", "valid choice"),
        ({"query_mode": "fast"}, "query_mode", "valid choice"),
        ({"tool": "hammer"}, "tool", "valid choice"),
    ],
)
def test_a_workload_that_cannot_be_run_is_refused_beside_the_field(engineer, typed, field, sentence):
    answer = engineer.post(reverse("workload-add"), {**READS, **typed})
    [(at, errors)] = answer.context["page"].form.errors.items()
    assert at == field
    assert sentence in errors[0]
    assertContains(answer, 'value="reads"')
    assert not Workload.objects.exists()


@pytest.mark.parametrize(("name", "typed"), [("configuration-add", {"name": "reads"}), ("workload-add", READS)])
def test_a_name_that_is_taken_is_refused(engineer, name, typed):
    engineer.post(reverse(name), typed)
    errors = engineer.post(reverse(name), typed).context["page"].form.errors
    assert errors == {"name": ["There is already one named reads: choose another name, or revise that one."]}


def test_what_somebody_else_saved_between_check_and_save_is_told_and_nothing_is_lost(db):
    form = forms_by_kind()["pgbench"](READS)
    assert form.is_valid()
    Workload.objects.create(name="reads", tool="pgbench")
    assert form.saved() is None
    assert form.non_field_errors() == [MEANWHILE]
    assert form["scale"].value() == "100"


def test_the_lists_are_searched_filtered_and_sorted(engineer):
    for name, script, scale in (("a", "select-only", 100), ("b", "tpcb-like", 9), ("c", "tpcb-like", 20)):
        engineer.post(reverse("workload-add"), {**READS, "name": name, "script": script, "scale": scale})
    Configuration.objects.create(name="x", settings={"shared_buffers": "8GB"})
    Configuration.objects.create(name="y", volatile_storage=True)

    def names(page, **query):
        return [row.name for row in engineer.get(reverse(page), query).context["listing"].page]

    assert names("workloads", script="tpcb-like") == ["b", "c"]
    assert names("workloads", sort="scale") == ["b", "c", "a"]
    assert names("workloads", q="select") == ["a"]
    assert names("configurations", q="shared_buffers") == ["x"]
    assert names("configurations", storage="volatile") == ["y"]


@pytest.mark.parametrize("name", ["configurations", "workloads"])
def test_an_empty_list_says_what_to_do_first(engineer, name):
    assertContains(engineer.get(reverse(name)), "yet</h2>")


@pytest.mark.parametrize("count", [1, 9])
def test_the_lists_ask_the_database_as_often_for_many_rows_as_for_one(engineer, count, django_assert_num_queries):
    for number in range(count):
        Configuration.objects.create(name=f"c{number}")
        Workload.objects.create(name=f"w{number}", tool="pgbench", parameters={"script": "select-only", "scale": 1})
    for name in ("configurations", "workloads"):
        with django_assert_num_queries(LIST_QUERIES):
            engineer.get(reverse(name))
