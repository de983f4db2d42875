"""A pasted output is read, shown and stored; what contradicts it stands beside its field and nothing is stored."""

import re
from datetime import timedelta

import pytest
from django import forms
from django.contrib.auth import get_user_model
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench.models import Experiment, Result, Run
from benchhub.catalog.models import Configuration, Hardware, Workload
from runners.tools.pgbench.testing import PGBENCH

pytestmark = pytest.mark.django_db
PAGE = "/results/import"
PRINTED = """pgbench (18.1, server 16.4)
transaction type: <builtin: select only>
scaling factor: 10
query mode: simple
number of clients: {clients}
number of threads: {clients}
maximum number of tries: 1
duration: 60 s
number of transactions actually processed: {transactions}
number of failed transactions: 0 (0.000%)
latency average = 0.400 ms
initial connection time = 12.000 ms
tps = {tps}.000000 (without initial connection time)
"""
EIGHT = PRINTED.format(clients=8, transactions=1_200_000, tps=20_004)
FOUR = PRINTED.format(clients=4, transactions=600_000, tps=10_002)
COUNTED = EIGHT.replace("duration: 60 s", "number of transactions per client: 150000").replace(
    "processed: 1200000", "processed: 1200000/1200000"
)
LONGER = COUNTED.replace("tps = 20004", "tps = 10002")


@pytest.fixture
def fields():
    parameters = {"script": "select-only", "query_mode": "simple", "scale": 10}
    workload = Workload.objects.create(name="select-only", tool="pgbench", parameters=parameters)
    box = Hardware.objects.create(name="Box", sockets=2, cores_per_socket=10)
    configuration = Configuration.objects.create(name="as it was", settings={})
    return {
        "text": EIGHT, "experiment": "From a laptop", "workload": workload.pk, "hardware": box.pk,
        "configuration": configuration.pk, "host": "laptop", "path": "socket", "source": "pasted by ada",
        "measured_at": "2026-01-31T02:00",
    }  # fmt: skip


@pytest.fixture
def runner(client):
    client.force_login(make_user("ada", Role.RUNNER))
    return client


def test_what_was_read_is_shown_before_anything_is_stored(runner, fields):
    page = runner.post(PAGE, fields)
    assertContains(page, "What was read: 1 run")
    assertContains(page, "<b>20,004</b> TPS")
    assertContains(page, "0.400 ms")
    assert not Experiment.objects.exists()
    answer = runner.post(PAGE, {**fields, "save": "1"})
    result = Result.objects.get()
    assert answer.url == f"/experiments/{result.run.experiment_id}/"
    assert (result.throughput, result.run.clients, result.run.system.build.version) == (20_004.0, 8, "16.4")
    assert result.run.experiment.created_by == get_user_model().objects.get(username="ada")
    assert result.run.experiment.client_build.version == "18.1"


def test_several_runs_in_one_text_become_several_results(runner, fields):
    page = runner.post(PAGE, {**fields, "text": FOUR + "\n" + EIGHT})
    assertContains(page, "What was read: 2 runs")
    runner.post(PAGE, {**fields, "text": FOUR + "\n" + EIGHT, "save": "1"})
    assert sorted(Result.objects.values_list("run__clients", "throughput")) == [(4, 10_002.0), (8, 20_004.0)]


def test_several_runs_without_a_time_are_taken_for_the_last_ones_that_have_ended(runner, fields):
    runner.post(PAGE, {**fields, "text": FOUR + "\n" + EIGHT, "measured_at": "", "save": "1"})
    first, second = Run.objects.order_by("started_at")
    assert second.started_at - first.started_at == timedelta(seconds=60)
    assert second.started_at + timedelta(seconds=60) <= timezone.now()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"postgresql": "13.9"}, "The output is of"),
        ({"client_version": "9.6.1"}, "The output is of"),
        ({"duration_s": "600"}, "The output is of"),
        ({"text": EIGHT.replace("select only", "TPC-B (sort of)")}, "The output is of"),
        ({"text": "nothing that a load generator prints"}, "The output does not say it"),
        ({"text": "nothing else either", "workload": ""}, "No output of a load generator stands in it."),
        ({"text": EIGHT.replace("\n", "\n> "), "workload": ""}, "before &#x27;transaction type:&#x27; stands"),
        ({"text": "TEST RESULT : System achieved 1 NOPM", "workload": ""}, "It is the output of HammerDB"),
        ({"text": EIGHT[:150]}, "marked field"),
        ({"text": "x" * 1_000_001}, "at most"),
        ({"measured_at": "2999-01-01T00:00"}, "marked field"),
        ({"experiment": ""}, "This field is required."),
    ],
)
def test_what_contradicts_itself_is_refused_beside_its_field(runner, fields, changes, sentence):
    page = runner.post(PAGE, {**fields, **changes, "save": "1"})
    assertContains(page, sentence)
    assertContains(page, "Nothing was stored")
    assertContains(page, 'name="save"')
    assertNotContains(page, "Save these results")
    assert not Experiment.objects.exists()


def test_what_most_mean_is_chosen_already_and_a_machine_never_is(runner, fields):
    Configuration.objects.get_or_create(name="As found")
    Configuration.objects.get_or_create(name="tuned")
    form = runner.get(PAGE).context["page"].form
    assert form["experiment"].value().startswith("Imported on 20")
    assert form.fields["configuration"].initial.name == "As found"
    assert form.fields["hardware"].initial is None
    assert form["path"].value() == "socket"
    assert not form.has_open_folded


def test_an_output_alone_is_enough_to_be_read_and_finds_its_workload(runner, fields):
    parameters = {"script": "select-only", "query_mode": "simple", "scale": 100}
    Workload.objects.create(name="a larger one", tool="pgbench", parameters=parameters)
    page = runner.post(PAGE, {"text": EIGHT})
    assertContains(page, "What was read: 1 run")
    assertContains(page, "select-only is the workload that agrees with this output.")
    form = page.context["page"].form
    assert (form["workload"].value(), form["postgresql"].value()) == (str(fields["workload"]), "16.4")
    assert form["duration_s"].value() == "60"
    assertNotContains(page, "This field is required.")


def test_a_banner_without_a_server_is_of_a_server_of_the_same_version(runner, fields):
    page = runner.post(PAGE, {"text": EIGHT.replace("(18.1, server 16.4)", "(18.1 (Debian 18.1-1.pgdg12+2))")})
    assertContains(page, "What was read: 1 run")
    assert page.context["page"].form["postgresql"].value() == "18.1"
    odd = runner.post(PAGE, {"text": EIGHT.replace("server 16.4", "server of the vendor")})
    assert odd.context["page"].form["postgresql"].value() is None


def test_an_output_that_was_copied_with_its_margin_and_colours_is_read_alike(runner, fields):
    text = "".join(f"    \x1b[0m{line}\r\n" for line in EIGHT.splitlines())
    page = runner.post(PAGE, {"text": text})
    assertContains(page, "What was read: 1 run")
    assert page.context["page"].form["postgresql"].value() == "16.4"


def test_an_output_of_no_workload_names_what_is_missing_or_the_nearest_and_how_it_differs(runner, fields):
    page = runner.post(PAGE, {"text": EIGHT.replace("builtin: select only", "builtin: nobody's")})
    assertContains(page, "The nearest is select-only, but: ")
    assertNotContains(page, "not in the catalogue")
    page = runner.post(PAGE, {**fields, "workload": "", "text": EIGHT.replace("factor: 10", "factor: 20"), "save": "1"})
    assertContains(page, "not in the catalogue: <b>pgbench select-only, scale 20, simple</b>")
    assertNotContains(page, "The nearest is")
    assertContains(page, "This field is required.")
    assert not Experiment.objects.exists()


def test_an_output_of_a_program_without_a_workload_says_so_beside_the_workload(runner, fields):
    Workload.objects.all().delete()
    page = runner.post(PAGE, {"text": EIGHT})
    sentence = "There is no workload of pgbench to read it by: add one, then read it again."
    assert page.context["page"].form.errors["workload"] == [sentence]
    assertNotContains(page, "What was read")


def test_of_several_workloads_that_agree_none_is_chosen(runner, fields):
    parameters = Workload.objects.get(pk=fields["workload"]).parameters
    Workload.objects.create(name="the same again", tool="pgbench", parameters=parameters)
    page = runner.post(PAGE, {"text": EIGHT})
    assertContains(page, "2 workloads agree with this output: select-only, the same again.")
    assert page.context["page"].form["workload"].value() is None
    assertContains(page, "What was read: 1 run")


def test_a_load_shape_cannot_be_imported(runner, fields):
    parameters = {"script": "select-only", "scale": 10, "load_shape": "100 for 30, 400 for 30"}
    shaped = Workload.objects.create(name="burst", tool="pgbench", parameters=parameters)
    page = runner.post(PAGE, {**fields, "workload": shaped.pk, "save": "1"})
    assertContains(page, "burst: a load shape is measured by BenchHub itself, and cannot be imported.")
    assert not Experiment.objects.exists()


def test_a_viewer_may_not(client, fields):
    client.force_login(make_user("grace", Role.VIEWER))
    assert client.post(PAGE, fields).status_code == 403


def test_a_workload_that_cannot_be_read_is_none_of_an_output_and_stops_nothing(runner, fields):
    Workload.objects.create(name="of another version", tool="pgbench", parameters={"script": "unheard of"})
    page = runner.post(PAGE, {name: value for name, value in fields.items() if name != "workload"})
    assertContains(page, "What was read: 1 run")
    assert [match.workload.name for match in page.context["page"].matches] == ["select-only"]


def test_a_long_output_is_held_against_workloads_by_its_head_and_its_summary(runner, fields):
    progress = "progress: 1.0 s, 20004.0 tps, lat 0.400 ms stddev 0.100, 0 failed\n" * 2000
    head, summary = EIGHT.split("transaction type", 1)
    page = runner.post(PAGE, {**fields, "text": f"{head}{progress}transaction type{summary}"})
    assertContains(page, "What was read: 1 run")


def test_a_workload_that_is_missing_is_added_by_an_administrator_from_what_the_output_states(client, fields):
    text = EIGHT.replace("factor: 10", "factor: 50").replace("mode: simple", "mode: prepared")
    client.force_login(make_user("grete", Role.ADMINISTRATOR))
    assertContains(client.post(PAGE, {"text": text}), "<b>pgbench select-only, scale 50, prepared</b>")
    page = client.post(PAGE, {**fields, "workload": "", "hardware": "", "host": "", "text": text, "add-workload": "1"})
    workload = Workload.objects.get(name="pgbench select-only, scale 50, prepared")
    assert workload.parameters == {"script": "select-only", "scale": 50, "query_mode": "prepared"}
    assertContains(page, "What was read: 1 run")
    assertContains(page, "Still to be filled before you can save: Hardware, Host of the server.")
    assertNotContains(page, "not in the catalogue")


def test_a_runner_is_sent_to_an_administrator_for_a_missing_workload(runner, fields):
    text = EIGHT.replace("factor: 10", "factor: 50")
    page = runner.post(PAGE, {"text": text})
    assertContains(page, "Ask an administrator to add it")
    assertNotContains(page, "add-workload")
    assert runner.post(PAGE, {"text": text, "add-workload": "1"}).status_code == 403
    assert Workload.objects.count() == 1


@pytest.mark.parametrize("change", [("<builtin: select only>", "own.sql"), ("scaling factor: 10\n", "")])
def test_an_output_that_does_not_state_its_workload_proposes_none(runner, fields, change):
    page = runner.post(PAGE, {"text": EIGHT.replace(*change)})
    assert page.context["page"].missing_workload is None


def test_a_fact_that_the_form_has_no_field_for_is_passed_over(client, fields, monkeypatch):
    monkeypatch.setattr(
        PGBENCH, "stated", {**PGBENCH.stated, "clients": re.compile(r"^number of clients: (\d+)", re.M)}
    )
    client.force_login(make_user("ada", Role.RUNNER))
    assertContains(client.post(PAGE, fields), "select-only")


@pytest.mark.parametrize(
    ("changes", "is_open"), [({}, False), ({"postgresql": "sixteen"}, True), ({"configuration": ""}, True)]
)
def test_what_is_filled_already_stands_folded_unless_something_there_is_wrong_or_open(runner, fields, changes, is_open):
    page = runner.post(PAGE, {**fields, **changes})
    assertContains(page, f'<details id="more"{" open" if is_open else ""}>')


def test_how_long_a_number_of_transactions_took_is_read_from_their_count_and_rate(runner, fields):
    page = runner.post(PAGE, {"text": COUNTED})
    assertContains(page, "What was read: 1 run")
    assert page.context["page"].form["duration_s"].value() == "60"
    assertContains(runner.post(PAGE, {"text": f"{COUNTED}\n{COUNTED}"}), "What was read: 2 runs")
    page = runner.post(PAGE, {"text": f"{COUNTED}\n{LONGER}"})
    assert not page.context["page"].form["duration_s"].value()
    assertContains(page, "What was read: 2 runs")


@pytest.mark.parametrize(
    "other",
    [LONGER, EIGHT.replace("60 s", "120 s").replace("1200000", "2400480")],
)
def test_runs_of_unlike_lengths_in_one_text_have_each_its_own(runner, fields, other):
    text = f"{EIGHT}\n{other}\n{EIGHT}"
    runner.post(PAGE, {**fields, "text": text, "save": "1"})
    runs = list(Run.objects.order_by("started_at").values_list("spec__duration_s", "started_at__minute", "repeat"))
    assert runs == [(60, 0, 1), (120, 1, 1), (60, 3, 2)]
    durations_s = Experiment.objects.order_by("duration_s").values_list("name", "duration_s")
    assert list(durations_s) == [("From a laptop", 60), ("From a laptop", 120)]


def test_durations_that_were_planned_a_second_apart_are_two_and_a_counted_run_that_took_so_long_is_like_one(
    runner, fields
):
    other = EIGHT.replace("60 s", "61 s").replace("1200000", "1220244")
    runner.post(PAGE, {**fields, "text": f"{EIGHT}\n{other}", "save": "1"})
    assert set(Experiment.objects.values_list("duration_s", flat=True)) == {60, 61}
    counted = COUNTED.replace("tps = 20004", "tps = 19800")
    page = runner.post(PAGE, {**fields, "text": f"{counted}\n{EIGHT}"})
    assert page.context["page"].form["duration_s"].value() == "60"
    assertContains(page, "What was read: 2 runs")


def test_runs_of_unlike_lengths_without_a_time_are_taken_for_the_last_ones_that_have_ended(runner, fields):
    text = f"{EIGHT}\n{LONGER}"
    runner.post(PAGE, {**fields, "text": text, "measured_at": "", "save": "1"})
    first = Run.objects.order_by("started_at").first()
    assert timedelta(minutes=3) <= timezone.now() - first.started_at < timedelta(minutes=5)


def test_a_run_among_several_that_does_not_say_its_length_needs_it(runner, fields):
    page = runner.post(PAGE, {**fields, "text": f"{EIGHT}\n{FOUR.replace('duration: 60 s', '')}"})
    assert page.context["page"].form.errors == {"duration_s": ["The output does not say it: write it here."]}


def test_the_page_of_an_imported_run_says_nothing_of_what_nobody_told(runner, fields):
    runner.post(PAGE, {**fields, "save": "1"})
    page = runner.get(f"/runs/{Run.objects.get().pk}/")
    names = {fact.name for fact in page.context["page"].spec}
    assert {"clients", "scale", "duration"} <= names
    assert not names & {"port", "vacuum", "checkpoint", "warmup", "settle", "drop caches"}
    assertContains(page, "<dt>logged</dt><dd>no transaction</dd>", html=True)
    assertNotContains(page, "every transaction")


def test_rates_without_end_are_refused_before_any_is_read(runner, fields, monkeypatch):
    cleaned = []
    clean = forms.IntegerField.clean
    monkeypatch.setattr(forms.IntegerField, "clean", lambda self, value: cleaned.append(value) or clean(self, value))
    answer = runner.post(PAGE, {**fields, "rate_tps": "1 " * 100_000})
    assert "at most 5000 characters" in answer.content.decode()
    assert len(cleaned) < 1_000


@pytest.mark.parametrize("tps", ["0.000001", "0.000000", f"0.{'0' * 322}5"])
def test_a_duration_that_no_calendar_has_is_refused_with_a_sentence(runner, fields, tps):
    text = COUNTED.replace("150000", "9" * 17).replace("1200000/1200000", f"{'9' * 17}/{'9' * 17}")
    text = text.replace("tps = 20004.000000", f"tps = {tps}")
    both = text + text.replace("latency", "latency ")
    for pasted in (text, text + text, both, text + EIGHT):
        answer = runner.post(PAGE, {**fields, "text": pasted, "measured_at": ""})
        assert answer.status_code == 200
        assert not Run.objects.exists()
