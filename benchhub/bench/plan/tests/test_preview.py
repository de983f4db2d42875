from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.analysis.protocol import digest as digests
from benchhub.bench import testing
from benchhub.bench.models import Experiment, Run, System
from benchhub.bench.plan.testing import FREE_FORM, NEW, PLAN, form_of, look
from benchhub.catalog.models import Configuration, DataSet, Hardware, Host, Instance, Workload

pytestmark = pytest.mark.django_db
PREVIEW_QUERIES = 18  # session, user; what the form offers (4); a system; standbys, data sets, tests, queue, periods


@pytest.fixture
def filled(servers, recipe):
    """Return what a browser sends of a form filled in for both instances: 2 loads, and 2 x 3 x 2 runs."""
    return form_of(recipe, *servers)


def test_nothing_is_planned_without_signing_in(client, filled):
    for address in (NEW, PLAN):
        for response in (client.get(address), client.post(address, {**filled, "queue": "1"})):
            assert response.url.startswith(reverse("login"))
    assert not Experiment.objects.exists()


def test_an_empty_form_has_sensible_values_and_says_what_is_missing_in_the_catalogue(planner):
    response = planner.get(FREE_FORM)
    assertContains(response, 'value="1, 2, 4, 8"')
    assertContains(response, "There is no instance to measure yet")
    assertContains(response, "There is no workload yet")


def test_an_untouched_form_is_asked_for_what_is_missing_and_accused_of_nothing(planner, filled):
    untouched = {**filled, "workload": "", "systems-0-instance": ""}
    page = planner.post(PLAN, untouched)
    assertContains(page, "Still to be chosen or filled in:")
    assertContains(page, "<li>Workload</li><li>Instance of system 1</li>", html=True)
    assertNotContains(page, "Choose one.")
    assertContains(planner.post(PLAN, {**untouched, "levels": "x"}), "There is no plan to show yet:")


def test_the_plan_shows_runs_loads_time_and_order_and_saves_nothing(planner, filled):
    response = planner.post(PLAN, filled)
    preview = response.context["page"].preview
    assert (preview.run_count, preview.load_count) == (14, 2)
    assert preview.total_s == pytest.approx(12 * (60 + 10 + 0.7) + 2 * 10)
    assert [(block.repeat, block.levels, len(block.systems)) for block in preview.blocks] == [
        (0, (0,), 2), (1, (1, 2, 8), 2), (2, (1, 2, 8), 2),
    ]  # fmt: skip
    assertContains(response, "Repeat 1: 1, 2, 8 clients; at each level PostgreSQL 16.4, pg 16.4, then PostgreSQL 18.1")
    assertContains(response, "<dd>14 min 28 s</dd>", html=True)
    assertNotContains(response, "<html")
    assertContains(response, "and 2 initialisations")
    assert not Experiment.objects.exists() and not System.objects.exists() and not Run.objects.exists()


def test_what_is_queued_is_what_the_plan_showed(planner, filled):
    preview = planner.post(PLAN, filled).context["page"].preview
    response = planner.post(NEW, {**filled, "queue": "1"})
    experiment = Experiment.objects.get()
    assertRedirects(response, reverse("experiment", args=[experiment.pk]))
    assert (experiment.name, experiment.created_by.username) == ("Two builds", "ada")
    assert experiment.client_levels == [1, 2, 8]
    assert (experiment.client_build.version, experiment.client_bin_directory) == ("18.1", "/opt/pg18/bin")
    runs = list(experiment.runs.order_by("position"))
    assert len(runs) == preview.run_count
    order = [(block.repeat, level) for block in preview.blocks for level in block.levels for _ in block.systems]
    assert [(run.repeat, run.clients) for run in runs] == order
    assert [system.path for system in System.objects.all()] == ["loopback", "loopback"]


def test_the_deadlines_of_the_plan_are_those_of_the_queued_runs(planner, filled, settings):
    settings.LEAST_DEADLINE_SECONDS = 60
    preview = planner.post(PLAN, filled).context["page"].preview
    assert (preview.costs.deadline_s, preview.costs.load_deadline_s) == (5 * (70 + 10), 5 * (10 + 10))
    planner.post(NEW, {**filled, "queue": "1"})
    queued = Run.objects.values_list("kind", "spec__deadline_s").distinct()
    assert dict(queued) == {"measure": 400, "load": 100}


def test_no_deadline_is_below_the_least_of_the_installation(planner, filled):
    page = planner.post(PLAN, filled)
    assertContains(page, "fails after 30 min, the loading of a data set after 30 min: five times")


def test_without_the_button_queue_nothing_is_queued(planner, filled):
    response = planner.post(NEW, {**filled, "show": "1"})
    assertContains(response, "<dd>12</dd>", html=True)
    assert not Experiment.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("name", "", "This field is required."),
        ("levels", "1, many", "&#x27;many&#x27; is no client level"),
        ("levels", "8..1", "runs backwards"),
        ("repeats", "0", "greater than or equal to 1"),
        ("duration_s", "soon", "Enter a whole number."),
        ("thread_rule", "many", "write clients, clients/2 or a number"),
        ("workload", "999", "Select a valid choice."),
        ("client", "/elsewhere", "Select a valid choice."),
        ("systems-1-instance", "", "Choose one."),
        ("systems-1-instance", "first", "This system is in the plan already"),
    ],
)
def test_a_refused_form_says_why_beside_the_field_and_keeps_what_was_typed(planner, filled, field, value, sentence):
    value = filled["systems-0-instance"] if value == "first" else value
    response = planner.post(NEW, {**filled, "remark": "a remark kept", field: value, "queue": "1"})
    page = response.content.decode()
    place = page.index(f'id="id_{field}_error"')
    assert sentence in page[place : place + 300]
    assertContains(response, "a remark kept")
    assertContains(response, 'value="1, 2..8*4"' if field != "levels" else f'value="{value}"')
    assertContains(response, "Not queued")
    assert not Experiment.objects.exists()


@pytest.mark.parametrize(
    ("tool", "parameters"),
    [("tatp", {"subscribers": 1_000, "mix": "80/20"}), ("sysbench", {"script": "oltp_point_select"})],
)
def test_a_workload_without_a_scale_is_planned_once_whatever_scales_there_are(planner, filled, tool, parameters):
    unscaled = Workload.objects.create(name="unscaled", tool=tool, parameters=parameters)
    page = planner.post(NEW, {**filled, "workload": str(unscaled.pk), "show": "1"})
    assertContains(page, "<dd>12</dd>", html=True)
    assertContains(page, "and 2 initialisations")
    fields = {"workload": str(unscaled.pk), "more_workloads": filled["workload"], "scales": "1, 2", "queue": "1"}
    planner.post(NEW, {**filled, **fields})
    parts = Experiment.objects.order_by("pk")
    workloads = [(part.workload.tool, part.workload.parameters.get("scale")) for part in parts]
    assert workloads == [(tool, None), ("pgbench", 1), ("pgbench", 2)]
    assert unscaled in {part.workload for part in Experiment.objects.all()}


def test_tatp_with_a_pgbench_older_than_13_is_refused_beside_the_workload(planner):
    instance = testing.make_instance(testing.probed_host("12.22"), "12.22")
    tatp = Workload.objects.create(name="tatp", tool="tatp", parameters={"subscribers": 1_000, "mix": "80/20"})
    page = planner.post(NEW, {**form_of(tatp, instance), "queue": "1"}).content.decode()
    place = page.index('id="id_workload_error"')
    assert "TATP needs pgbench 13 or newer; 12.22 cannot tell" in page[place : place + 200]
    assert not Experiment.objects.exists()


def test_the_plan_of_a_form_that_is_not_complete_says_what_is_missing_and_needs_no_name(planner, filled):
    response = planner.post(PLAN, {**filled, "name": "", "levels": "", "systems-1-instance": ""})
    assertContains(response, "<li>Client levels</li><li>Instance of system 2</li>", html=True)
    assertNotContains(response, "Name")
    assert planner.post(PLAN, {**filled, "name": ""}).context["page"].preview


def test_a_system_is_added_and_removed_with_everything_typed_kept(planner, filled):
    typed = {**filled, "levels": "nonsense", "systems-1-label": "the second", "vacuum": "on"}
    more = planner.post(NEW, {**typed, "add": "1"})
    assert len(more.context["page"].draft.systems.forms) == 3
    assertContains(more, 'value="nonsense"')
    assertContains(more, "checked")
    assertNotContains(more, 'role="alert"')
    fewer = planner.post(NEW, {**typed, "remove": "0"})
    assert [form["label"].value() for form in fewer.context["page"].draft.systems] == ["the second"]
    assert len(planner.post(NEW, {**typed, "remove": "9" * 5000}).context["page"].draft.systems.forms) == 2


def test_a_form_of_no_systems_or_of_a_broken_count_is_refused(planner, filled):
    for count in ("0", "", "-1", "100000", "9" * 5000):
        response = planner.post(NEW, {**filled, "systems-TOTAL_FORMS": count, "queue": "1"})
        assert response.status_code == 200
        assert planner.post(NEW, {**filled, "systems-TOTAL_FORMS": count, "add": "1"}).status_code == 200
    assert not Experiment.objects.exists()


def test_a_similar_plan_starts_from_the_experiment_and_is_the_same_when_queued(planner, filled):
    planner.post(NEW, {**filled, "queue": "1"})
    first = Experiment.objects.get()
    draft = planner.get(NEW, {"like": first.pk}).context["page"].draft
    fields = (*draft.plan, *(field for form in draft.systems for field in form))
    values = {field.html_name: field.value() for field in fields}
    form = {name: "" if value is None else str(value) for name, value in values.items() if value != []}
    management = {f"systems-{name}_FORMS": "2" for name in ("TOTAL", "INITIAL")}
    planner.post(NEW, {**form, **management, "queue": "1"})
    second = Experiment.objects.latest("pk")
    assert second.pk != first.pk
    columns = ("protocol", "system", "clients")
    first_runs, second_runs = (experiment.runs.order_by("position") for experiment in (first, second))
    assert list(first_runs.values_list(*columns)) == list(second_runs.values_list(*columns))


def test_the_plan_takes_the_same_queries_whatever_the_warehouse_holds(
    planner, servers, recipe, django_assert_num_queries
):
    form = form_of(recipe, servers[0])
    with django_assert_num_queries(PREVIEW_QUERIES, exact=False) as first:
        assert planner.post(PLAN, form).context["page"].preview
    box = servers[0].host
    for number in range(20):
        testing.make_instance(box, "18.1", name=f"more {number}", port=6000 + number)
        Workload.objects.create(name=f"more {number}", tool="pgbench", parameters=testing.PARAMETERS)
    with django_assert_num_queries(len(first)):
        planner.post(PLAN, {**form, "repeats": "50", "levels": "1..60"})


# --- what is filled in ---------------------------------------------------------------------------------------------


def test_a_managed_instance_needs_a_driver_and_hardware(planner, box, recipe):
    managed = testing.make_instance(None, "16.4", name="managed", address="db.example")
    response = planner.post(NEW, {**form_of(recipe, managed), "queue": "1"})
    assertContains(response, "managed has no host of its own: choose the host that runs the load.")
    assertContains(response, "The hardware of managed&#x27;s host is not known: choose it.")
    choices = {"systems-0-driver": str(box.pk), "systems-0-hardware": str(box.hardware_id), "queue": "1"}
    planner.post(NEW, {**form_of(recipe, managed), **choices})
    assert System.objects.get().path == "network"


# --- the estimate --------------------------------------------------------------------------------------------------


def test_data_sets_that_are_there_are_not_counted_as_loads(filled, servers):
    recipe = {"tool": "pgbench", "scale": 10}
    data_set = {"recipe": recipe, "recipe_digest": digests.digest(recipe), "size_bytes": 1, "checksum": "x"}
    DataSet.objects.create(instance=servers[0], build=servers[0].build, **data_set)
    assert look(filled).load_count == 1


def test_the_time_is_estimated_from_what_runs_and_loads_took_before(planner, filled, recipe):
    planner.post(NEW, {**filled, "queue": "1"})
    load, run = Run.objects.get(position=1), Run.objects.get(position=3)
    for ended_run in (load, run):
        testing.ended(ended_run, "succeeded")
    now = timezone.now()
    Run.objects.filter(pk=load.pk).update(ended_at=now, started_at=now - timedelta(seconds=40))
    Run.objects.filter(pk=run.pk).update(ended_at=now, started_at=now - timedelta(seconds=75))
    recipe.revise(parameters={**testing.PARAMETERS, "scale": 30})
    larger = {**filled, "workload": str(Workload.objects.current().get().pk), "rest_s": "20"}
    preview = look(larger)
    assert preview.total_s == pytest.approx(12 * (60 + 10 + 5 + 20) + 2 * 3 * 40, abs=1)
    assert (preview.ahead, preview.wait_s) == (12, 11 * 70 + 10)  # a load of this scale is guessed at 10 s


# --- what is odd ---------------------------------------------------------------------------------------------------


def warnings_text(form, **changes):
    return " ".join(look({**form, **changes}).warnings)


def test_a_sound_plan_on_two_machines_raises_no_doubt(box, recipe):
    driver = Host.objects.create(name="driver", address="192.0.2.7", username="b", host_key="k", trust="pinned",
                                 facts=box.facts, facts_at=timezone.now())  # fmt: skip
    form = form_of(recipe, testing.make_instance(box, "16.4", address="192.0.2.1"))
    assert warnings_text(form, **{"systems-0-driver": str(driver.pk)}) == ""


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"thread_rule": "3", "levels": "3, 4, 6, 8"}, "At 4, 8 clients the threads do not divide the clients"),
        ({"levels": "1, 128"}, "does not set it, so it has PostgreSQL's default of 100 max_connections"),
        ({"duration_s": "29"}, "Runs shorter than 30 s"),
        ({"repeats": "1"}, "A single run at each level shows no spread"),
        ({"systems-1-path": "network"}, "differ in their protocol (connection path): they will not share a plot"),
        ({}, "Client and server share one machine (box)"),
    ],
)
def test_what_is_odd_is_said(filled, changes, sentence):
    assert sentence in warnings_text(filled, **changes)


def test_one_host_described_by_two_machines_is_odd(filled):
    other = Hardware.objects.create(name="Larger box", sockets=4, cores_per_socket=8)
    text = warnings_text(filled, **{"systems-1-hardware": str(other.pk)})
    assert "One host, box, is described by different hardware (Box" in text
    assert "never both measured" in text
    assert "described by different hardware" not in warnings_text(filled)


def test_one_instance_by_two_paths_is_two_systems_with_labels_of_their_own_and_doubts_said_once(filled, servers):
    fields = {"systems-1-instance": str(servers[0].pk), "systems-1-path": "network", "levels": "128"}
    preview = look({**filled, **fields})
    labels = [system.label for system in preview.plan_request.systems]
    assert labels == ["PostgreSQL 16.4, pg 16.4", "PostgreSQL 16.4, pg 16.4, network"]
    assert " ".join(preview.warnings).count("max_connections") == 1


@pytest.mark.parametrize(
    ("changes", "unsaid"),
    [
        ({"thread_rule": "clients/2", "levels": "1, 2, 4"}, "divide"),
        ({"levels": "97"}, "max_connections"),
        ({"duration_s": "30"}, "shorter"),
        ({"repeats": "2"}, "single run"),
        ({"levels": "64"}, "branch"),
        ({}, "protocol"),
        ({}, "approved"),
    ],
)
def test_what_is_not_odd_is_not_said(filled, changes, unsaid):
    assert unsaid not in warnings_text(filled, **changes)


def test_connections_that_the_configuration_asks_for_count(filled, servers):
    configuration = Configuration.objects.create(name="many", settings={"max_connections": "20"})
    Instance.objects.filter(pk=servers[0].pk).update(configuration=configuration)
    text = warnings_text(filled, levels="18")
    assert "pg 16.4 lets in: its configuration asks for 20 max_connections, of which 3 are reserved" in text
    assert "pg 18.1 lets in" not in text


def test_more_clients_than_branches_is_odd_for_tpcb_alone(filled):
    writing = Workload.objects.create(
        name="tpcb", tool="pgbench", parameters={"script": "tpcb-like", "scale": 10, "query_mode": "simple"}
    )
    assert "10 branches (its scale) for 11 clients" in warnings_text(filled, workload=str(writing.pk), levels="11")
    assert "branch" not in warnings_text(filled, workload=str(writing.pk), levels="10")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"trust": "quarantined"}, "box is quarantined"),
        ({"trust": "offered"}, "The host key of box is not approved"),
        ({"facts_at": None}, "box has not been probed"),
        ({"contact_error": "No route."}, "box could not be reached last time: No route."),
    ],
)
def test_a_host_that_is_not_ready_is_named_once(filled, box, changes, sentence):
    Host.objects.filter(pk=box.pk).update(**changes)
    assert warnings_text(filled).count(sentence) == 1


def test_all_that_is_wrong_with_a_plan_is_said_at_once(planner, filled, box):
    fields = {"name": "", "levels": "2, 4", "repeats": "0", "grows": "ceiling", "canary": "on", "restart": "on"}
    draft = planner.post(NEW, {**filled, **fields, "systems-1-instance": "", "queue": "1"}).context["page"].draft
    assert draft.plan.errors.keys() == {"name", "levels", "repeats", "grows", "canary", "ceiling_ms", "restart"}
    assert [set(form.errors) for form in draft.systems] == [set(), {"instance"}]
    assert not draft.is_only_unfinished


def test_systems_and_their_client_are_looked_at_although_the_plan_is_wrong(planner, filled, box):
    Host.objects.filter(pk=box.pk).update(facts={})
    fields = {"systems-1-instance": filled["systems-0-instance"], "levels": "many", "duration_s": ""}
    draft = planner.post(NEW, {**filled, **fields, "queue": "1"}).context["page"].draft
    assert draft.plan.errors.keys() == {"levels", "duration_s", "client"}
    assert [set(form.errors) for form in draft.systems] == [set(), {"instance"}]


def test_what_the_load_generator_refuses_is_said_together_with_a_missing_name(planner, filled):
    parameters = {**testing.PARAMETERS, "rate_tps": -1}
    workload = Workload.objects.create(name="refused", tool="pgbench", parameters=parameters)
    form = {**filled, "name": "", "priority": "x", "workload": str(workload.pk), "queue": "1"}
    draft = planner.post(NEW, form).context["page"].draft
    assert draft.plan.errors.keys() == {"name", "priority", "workload"}
    assert draft.plan_request is None and not Experiment.objects.exists()


def test_a_system_that_a_browser_calls_new_and_leaves_empty_is_asked_for_its_instance(planner, filled):
    form = {**filled, "systems-INITIAL_FORMS": "0", "systems-1-instance": "", "queue": "1"}
    draft = planner.post(NEW, form).context["page"].draft
    assert [set(form.errors) for form in draft.systems] == [set(), {"instance"}]


@pytest.mark.parametrize("number", ["999", "9" * 30, "9" * 5000])
def test_an_experiment_or_a_design_that_is_not_there_has_no_similar_plan(planner, number):
    assert [planner.get(NEW, {name: number}).status_code for name in ("like", "design")] == [404, 404]


def test_a_system_that_is_known_by_another_label_is_shown_by_that(planner, filled):
    planner.post(NEW, {**filled, "queue": "1"})
    assert "is known already" not in warnings_text(filled)
    text = warnings_text(filled, **{"systems-0-label": "new name"})
    assert "'new name' is known already, and will be shown as 'PostgreSQL 16.4, pg 16.4'." in text


def test_an_instance_that_has_gone_since_is_said_beside_its_field(planner):
    data = {"systems-TOTAL_FORMS": "1", "systems-INITIAL_FORMS": "0", "systems-0-instance": "999", "queue": ""}
    response = planner.post(reverse("experiment-new"), data)
    assert response.status_code == 200
    assert "not one of the available choices" in response.content.decode()
