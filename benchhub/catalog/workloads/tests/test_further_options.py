"""The options of pgbench that most workloads leave at their defaults: form, API, digests, and what is shown."""

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.analysis.protocol import digest
from benchhub.catalog.models import Workload
from benchhub.catalog.workloads.forms import forms_by_kind
from runners import tools

pytestmark = pytest.mark.django_db
PLAIN = {"script": "tpcb-like", "query_mode": "simple", "scale": 10}
TYPED = {"name": "own", "tool": "pgbench", **PLAIN}
# What a browser sends of the folded fields when nothing was changed in them.
UNCHANGED = {"fillfactor": "100", "partitions": "0", "partition_method": "range", "max_tries": "1"}
OPTIONS = {
    "fillfactor": 90,
    "foreign_keys": True,
    "unlogged": True,
    "partitions": 4,
    "partition_method": "hash",
    "connect_each": True,
    "max_tries": 3,
    "failures_detailed": True,
    "statement_latencies": True,
}
APART = (
    "fill factor 90%; foreign keys; unlogged tables; 4 partitions; partitioned by hash; "
    "a connection for each transaction; up to 3 tries of a transaction; failures by their cause; "
    "latencies by statement"
)


def test_each_option_is_typed_kept_and_shown(engineer):
    typed = {name: "on" if value is True else str(value) for name, value in OPTIONS.items()}
    engineer.post(reverse("workload-add"), {**TYPED, **typed})
    made = Workload.objects.get()
    assert made.parameters == {**PLAIN, **OPTIONS}
    assertContains(engineer.get(reverse("workloads")), APART)
    page = engineer.get(reverse("workload", args=[made.pk]))
    assertContains(page, APART)
    assertContains(page, "<dt>Tries of a transaction at most</dt>", html=True)
    form = engineer.get(reverse("workload-revise", args=[made.pk]))
    assertContains(form, '<details id="further" open>')
    assertContains(form, '<option value="hash" selected>hash</option>', html=True)


def test_each_option_is_taken_by_the_api_and_a_change_leaves_the_others(engineer):
    sent = {"kind": "pgbench", "name": "own", "script": "tpcb-like", "query_mode": "simple", "scale": 10, **OPTIONS}
    answer = engineer.post("/api/v1/workloads/", sent, content_type="application/json")
    assert (answer.status_code, answer.json()["parameters"]) == (201, {**PLAIN, **OPTIONS})
    address = f"/api/v1/workloads/{answer.json()['id']}/revise/"
    answer = engineer.post(address, {"connect_each": False, "fillfactor": 100}, content_type="application/json")
    left = {name: value for name, value in OPTIONS.items() if name not in ("connect_each", "fillfactor")}
    assert (answer.status_code, answer.json()["parameters"]) == (201, {**PLAIN, **left})


def test_what_stays_at_its_default_is_not_kept_so_that_no_digest_changes(engineer):
    engineer.post(reverse("workload-add"), {**TYPED, **UNCHANGED})
    made = Workload.objects.get()
    assert made.parameters == PLAIN
    assert tools.get("pgbench").data_set(made.parameters) == {"tool": "pgbench", "scale": 10}
    # As the digests were before the form had these fields.
    assert digest.digest(made.parameters) == "5385d0f60455d3eaefa43875aaf223c309cc365c34b1496e61e8980733053e4a"
    assertNotContains(engineer.get(reverse("workload-revise", args=[made.pk])), '<details id="further" open>')


def test_a_default_that_was_written_out_stays_so_and_a_value_goes_back_to_it(engineer):
    written = {**PLAIN, "fillfactor": 100, "partition_method": "hash", "max_tries": 3}
    own = Workload.objects.create(name="own", tool="pgbench", parameters=written)
    page = reverse("workload-revise", args=[own.pk])
    same = {**TYPED, **UNCHANGED, "max_tries": "3", "partition_method": "hash"}
    assertContains(engineer.post(page, same, follow=True), "Nothing was changed, so there is no new revision")
    engineer.post(page, {**same, "max_tries": "1"})
    assert Workload.objects.current().get().parameters == {**PLAIN, "fillfactor": 100, "partition_method": "hash"}


def test_a_partition_method_without_partitions_makes_no_difference(engineer):
    engineer.post(reverse("workload-add"), {**TYPED, **UNCHANGED, "partition_method": "hash"})
    assert Workload.objects.get().parameters == PLAIN


def test_a_think_time_is_typed_kept_and_shown_with_how_it_is_distributed(engineer):
    engineer.post(reverse("workload-add"), {**TYPED, **UNCHANGED, "think_ms": "200"})
    made = Workload.objects.get()
    assert made.parameters == {**PLAIN, "think_ms": 200}
    page = engineer.get(reverse("workload", args=[made.pk]))
    assertContains(page, "<dt>Think time, ms</dt><dd>200</dd>", html=True)
    assertContains(page, "<dt>Think times are</dt><dd>exponential</dd>", html=True)
    sent = {"kind": "pgbench", "name": "other", **PLAIN, "think_ms": 200, "max_tries": 2}
    answer = engineer.post("/api/v1/workloads/", sent, content_type="application/json")
    assert (answer.status_code, "retry would think again" in answer.content.decode()) == (422, True)


def test_a_load_shape_is_typed_in_any_form_and_kept_in_one(engineer):
    engineer.post(reverse("workload-add"), {**TYPED, **UNCHANGED, "load_shape": "100 TPS for 60 s\n400 for 20"})
    made = Workload.objects.get()
    assert made.parameters == {**PLAIN, "load_shape": "100 for 60, 400 for 20"}
    page = engineer.get(reverse("workload", args=[made.pk]))
    assertContains(page, "<dt>Load shape</dt><dd>100 for 60, 400 for 20</dd>", html=True)
    sent = {"kind": "pgbench", "name": "other", **PLAIN, "load_shape": "a lot"}
    answer = engineer.post("/api/v1/workloads/", sent, content_type="application/json")
    assert (answer.status_code, "is no segment" in answer.content.decode()) == (422, True)


@pytest.mark.parametrize("preset", ["steps", "ramp", "burst"])
def test_presets_write_a_shape_of_three_minutes(engineer, preset):
    form = engineer.get(reverse("workload-add"), {"kind": "pgbench", "preset": preset}).context["page"].form
    text = form["load_shape"].value()
    assert sum(int(part.split()[-1]) for part in text.split(",")) == 180


def test_a_distribution_without_a_think_time_makes_no_difference(engineer):
    engineer.post(reverse("workload-add"), {**TYPED, **UNCHANGED, "think_distribution": "constant"})
    assert Workload.objects.get().parameters == PLAIN


@pytest.mark.parametrize(
    ("typed", "field", "sentence"),
    [
        ({"fillfactor": "9"}, "fillfactor", "At least 10 per cent."),
        ({"fillfactor": "101"}, "fillfactor", "At most 100 per cent."),
        ({"partitions": "-1"}, "partitions", "At least 0 partitions."),
        ({"partitions": "10001"}, "partitions", "At most 10,000 partitions."),
        ({"partition_method": "list"}, "partition_method", "valid choice"),
        ({"max_tries": "-1"}, "max_tries", "At least 0 for the tries."),
    ],
)
def test_what_pgbench_cannot_take_is_refused_beside_the_field_which_is_unfolded(engineer, typed, field, sentence):
    answer = engineer.post(reverse("workload-add"), {**TYPED, **UNCHANGED, **typed})
    [(at, [error])] = answer.context["page"].form.errors.items()
    assert (at, sentence in error) == (field, True), error
    assertContains(answer, '<details id="further" open>')
    assert not Workload.objects.exists()


def test_custom_scripts_have_the_same_options(engineer):
    options = {option.name for option in tools.get("pgbench").kinds[0].fields if option.is_rare}
    assert options == OPTIONS.keys() | {"think_ms", "think_distribution", "load_shape"}
    assert options <= forms_by_kind()["scripts"].base_fields.keys()
    form = forms_by_kind()["scripts"](
        {"name": "own", "tool": "pgbench", "script_1": "SELECT 1;", "query_mode": "simple", "scale": "10",
         "max_tries": "5", "connect_each": "on"}
    )  # fmt: skip
    assert form.is_valid(), form.errors
    assert form.saved().parameters == {
        "script": "custom",
        "scripts": [{"text": "SELECT 1;", "weight": 1}],
        "query_mode": "simple",
        "scale": 10,
        "connect_each": True,
        "max_tries": 5,
    }
