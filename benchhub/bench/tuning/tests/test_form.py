import pytest
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.accounts.models import Permit
from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.models import Experiment, Run, System, TuningSeries
from benchhub.bench.plan.specs import load_spec
from benchhub.bench.plan.systems import system_under_test
from benchhub.bench.tuning.testing import NEW, PLAN, form_of
from benchhub.catalog.models import Configuration, Workload

pytestmark = pytest.mark.django_db
MEMORY, WAL, SYNC = (
    ("memory", "shared_buffers = 2GB"),
    ("wal", "max_wal_size = 16GB\ncheckpoint_timeout = 30min"),
    ("sync", "synchronous_commit = off"),
)


def queued(runner, form):
    response = runner.post(NEW, {**form, "queue": "1"})
    series = TuningSeries.objects.get()
    assertRedirects(response, f"/tuning/{series.pk}/")
    return series


def test_cumulative_steps_become_one_experiment_on_one_cluster_in_turns(runner, cluster, workload):
    series = queued(runner, form_of(cluster, workload, MEMORY, WAL))
    treatments = list(series.treatments.select_related("system__configuration", "system__instance"))
    assert [row.step_numbers for row in treatments] == [[], [1], [1, 2]]
    assert {row.system.instance for row in treatments} == {cluster}
    assert treatments[0].system.configuration == cluster.configuration == series.baseline
    assert treatments[2].system.configuration.settings == {
        "fsync": "on",
        "shared_buffers": "2GB",
        "max_wal_size": "16GB",
        "checkpoint_timeout": "30min",
    }
    assert treatments[2].system.configuration.name == "Night / wal"
    places = {row.system_id: row.place for row in treatments}
    runs = series.experiment.runs.filter(kind=Run.Kind.MEASURE).order_by("position")
    assert [places[run.system_id] for run in runs] == [0, 1, 2, 2, 1, 0, 0, 1, 2]
    assert {run.clients for run in runs} == {8}


def test_a_series_gives_its_systems_no_names_that_mean_nothing_to_other_plans(runner, cluster, workload):
    series = queued(runner, form_of(cluster, workload, MEMORY, WAL))
    labels = list(series.treatments.values_list("system__label", flat=True))
    assert labels == ["PostgreSQL 18, own", "PostgreSQL 18, own, Night / memory", "PostgreSQL 18, own, Night / wal"]
    assert not any("baseline" in label for label in labels)


def test_a_system_that_others_measure_keeps_its_label_in_a_series(runner, cluster, workload):
    theirs = system_under_test(
        cluster, driver=cluster.host, hardware=cluster.host.hardware, path=System.Path.SOCKET, label="the usual server"
    )
    series = queued(runner, form_of(cluster, workload, MEMORY))
    assert series.treatments.get(place=0).system == theirs
    theirs.refresh_from_db()
    assert theirs.label == "the usual server"


def test_empty_steps_at_the_end_are_no_steps_but_one_between_others_is_asked_for(runner, cluster, workload):
    blank, sent = ("", ""), {"steps-INITIAL_FORMS": "3"}
    gap = runner.post(PLAN, form_of(cluster, workload, MEMORY, blank, WAL, **sent))
    assertContains(gap, "<li>Name of step 2</li>")
    assertNotContains(gap, "of step 3")
    plan = runner.post(PLAN, form_of(cluster, workload, MEMORY, blank, blank, **sent))
    assertContains(plan, "Order of each repeat")
    assertNotContains(plan, "Still to be chosen")
    assert queued(runner, form_of(cluster, workload, MEMORY, blank, blank, **sent)).steps.count() == 1


def test_a_series_without_any_step_says_that_the_first_is_missing(runner, cluster, workload):
    sent = {"steps-INITIAL_FORMS": "3"}
    plan = runner.post(PLAN, form_of(cluster, workload, ("", ""), ("", ""), ("", ""), **sent))
    assertContains(plan, "Name of step 1")
    assertNotContains(plan, "of step 2")


def test_a_data_set_that_all_steps_share_is_loaded_once(runner, cluster, workload):
    series = queued(runner, form_of(cluster, workload, MEMORY, WAL))
    assert series.experiment.runs.filter(kind=Run.Kind.LOAD).count() == 1


def test_a_data_set_is_loaded_or_restored_anew_before_each_run_where_the_form_says_so(runner, cluster, workload):
    series = queued(runner, form_of(cluster, workload, MEMORY, WAL, loading="each"))
    runs = list(series.experiment.runs.filter(kind__in=(Run.Kind.LOAD, Run.Kind.MEASURE)).order_by("position"))
    kinds = [run.kind for run in runs]
    assert kinds.count(Run.Kind.LOAD) == kinds.count(Run.Kind.MEASURE) == 9
    first = next(run for run in runs if run.kind == Run.Kind.LOAD)
    assert load_spec(series.experiment, first.system).cluster.copy.keeps
    assertContains(runner.get(f"{NEW}?like={series.pk}"), '<option value="each" selected>')


def test_a_series_may_load_its_data_set_without_a_copy(runner, cluster, workload):
    series = queued(runner, form_of(cluster, workload, MEMORY, loading="each", no_copies="on"))
    assert series.experiment.no_copies
    run = series.experiment.runs.filter(kind=Run.Kind.LOAD).first()
    assert load_spec(series.experiment, run.system).cluster.copy is None


def test_a_factorial_measures_combinations_in_the_design_that_was_shown(runner, cluster, workload):
    steps = [MEMORY, WAL, SYNC, ("work", "work_mem = 64MB")]
    series = queued(runner, form_of(cluster, workload, *steps, kind="factorial"))
    assert [row.step_numbers for row in series.treatments.all()] == [
        [], [1, 4], [2, 4], [1, 2], [3, 4], [1, 3], [2, 3], [1, 2, 3, 4],
    ]  # fmt: skip
    assert Configuration.objects.filter(name="Night / 1+2+3+4").exists()


def test_the_plan_says_runs_time_and_what_is_not_told_apart_before_anything_is_saved(runner, cluster, workload):
    steps = [MEMORY, WAL, SYNC, ("work", "work_mem = 64MB")]
    testing.make_worker()
    before = Configuration.objects.count()
    response = runner.post(PLAN, form_of(cluster, workload, *steps, kind="factorial"))
    assertContains(response, "<dd>24</dd>", html=True)
    assertContains(response, "2^(4-1), resolution IV")
    assertContains(response, "These interactions are not told apart: memory with wal; sync with work.")
    assertContains(response, "Not as durable as the baseline, and so no candidate for the best: sync + work")
    assertNotContains(response, "not compared")
    assert (Experiment.objects.count(), TuningSeries.objects.count(), Configuration.objects.count()) == (0, 0, before)


def test_a_smaller_fraction_says_which_step_is_mixed_with_which_interaction(runner, cluster, workload):
    form = form_of(cluster, workload, MEMORY, WAL, SYNC, kind="factorial", size="4")
    response = runner.post(PLAN, form)
    assertContains(response, "The effect of memory is not told from the interaction of wal with sync.")


def test_all_that_is_wrong_is_said_at_once_beside_its_step(runner, cluster, workload):
    steps = [("memory", "shared_bufers = 2GB"), ("memory", "max_wal_size = 1"), ("idle", "fsync = on"), ("", "x")]
    response = runner.post(NEW, {**form_of(cluster, workload, *steps, repeats="0"), "queue": "1"})
    assertContains(response, "shared_bufers is no setting of PostgreSQL 18. Is shared_buffers meant?")
    assertContains(response, "is the name of a step before it")
    assertContains(response, "max_wal_size is from 2 to 2147483647 MB, not 1.")
    assertContains(response, "It changes nothing")
    assertContains(response, "Line 1: write name = value, not &#x27;x&#x27;.")
    assertContains(response, "Ensure this value is greater than or equal to 1.")
    assert TuningSeries.objects.count() == Experiment.objects.count() == 0


def test_errors_of_the_whole_plan_are_shown_together_with_those_of_its_steps(runner, cluster, workload):
    Configuration.objects.create(name="Night / memory", settings={"fsync": "off"})
    steps = [MEMORY, ("wal", "max_wal_size = 1")]
    form = form_of(cluster, workload, *steps, levels="1..200", repeats="100", duration_s="0")
    draft = runner.post(NEW, {**form, "queue": "1"}).context["page"].draft
    assert set(draft.series.errors) == {"name", "repeats", "duration_s"}
    assert "max_wal_size is from 2" in str(draft.steps[1].errors["settings"])
    assert not draft.steps[0].errors
    assert TuningSeries.objects.count() == Experiment.objects.count() == 0


def test_a_load_that_its_tool_refuses_is_refused_beside_other_errors(runner, cluster):
    other = Workload.objects.create(name="Odd", tool="pgbench", parameters={"script": "no-such", "scale": 10})
    draft = runner.post(PLAN, form_of(cluster, other, ("idle", "fsync = on"))).context["page"].draft
    assert draft.series.errors["workload"]
    assert "It changes nothing" in str(draft.steps[0].errors["settings"])


def test_a_baseline_that_the_cluster_refuses_is_an_error_of_its_field(runner, cluster, workload):
    odd = Configuration.objects.create(name="Odd", settings={"shared_bufers": "2GB"})
    draft = runner.post(PLAN, form_of(cluster, workload, MEMORY, baseline=str(odd.pk))).context["page"].draft
    assert "shared_bufers is no setting" in str(draft.series.errors["baseline"])
    assert "instance" not in draft.series.errors


def test_a_baseline_without_a_cluster_asks_for_the_cluster_alone(runner, cluster, workload):
    form = form_of(cluster, workload, MEMORY, baseline=str(cluster.configuration_id))
    draft = runner.post(PLAN, {**form, "instance": ""}).context["page"].draft
    assert set(draft.series.errors) == {"instance"}


def test_rows_that_are_left_blank_are_no_steps(runner, cluster, workload):
    series = queued(runner, form_of(cluster, workload, MEMORY, ("", ""), WAL))
    assert [step.name for step in series.steps.all()] == ["memory", "wal"]


def test_a_series_without_a_step_is_refused(runner, cluster, workload):
    response = runner.post(NEW, {**form_of(cluster, workload, ("", "")), "queue": "1"})
    assert response.status_code == 200
    assert not TuningSeries.objects.exists()


def test_a_factorial_of_one_step_is_refused_in_words(runner, cluster, workload):
    response = runner.post(PLAN, form_of(cluster, workload, MEMORY, kind="factorial"))
    assertContains(response, "A factorial design has 2 to 12 steps, and these are 1.")


def test_a_server_that_somebody_else_runs_is_not_offered(runner, host, workload):
    other = testing.make_instance(host, "16", name="theirs")
    response = runner.get(NEW)
    assertNotContains(response, "theirs")
    assertContains(response, '<a href="/hosts/">Choose a host</a>')
    refused = runner.post(PLAN, form_of(other, workload, MEMORY))
    assertContains(refused, "Select a valid choice")


def test_a_cluster_that_is_not_made_yet_is_refused(runner, cluster, workload):
    cluster.cluster.made_at = None
    cluster.cluster.save()
    assertContains(runner.post(PLAN, form_of(cluster, workload, MEMORY)), "BenchHub has not made this cluster yet")


def test_a_name_is_given_once(runner, cluster, workload):
    queued(runner, form_of(cluster, workload, MEMORY))
    response = runner.post(NEW, {**form_of(cluster, workload, WAL), "queue": "1"})
    assertContains(response, "There is a series called &#x27;Night&#x27; already")


def test_what_was_typed_stays_when_a_step_is_added_or_removed(runner, cluster, workload):
    form = form_of(cluster, workload, MEMORY, WAL)
    added = runner.post(NEW, {**form, "add": "1"})
    assertContains(added, 'name="steps-2-name"')
    assertContains(added, "shared_buffers = 2GB")
    removed = runner.post(NEW, {**form, "remove": "0"})
    assertNotContains(removed, "shared_buffers = 2GB</textarea>")
    assertContains(removed, "max_wal_size = 16GB")


def test_a_series_is_planned_again_with_a_configuration_of_it_as_the_baseline(runner, cluster, workload):
    series = queued(runner, form_of(cluster, workload, MEMORY, WAL))
    best = series.treatments.get(place=1).system.configuration
    again = runner.get(f"{NEW}?like={series.pk}&baseline=1")
    assertContains(again, f'<option value="{best.pk}" selected>Night / memory</option>', html=True)
    assertNotContains(again, "max_wal_size = 16GB")
    similar = runner.get(f"{NEW}?like={series.pk}")
    assertContains(similar, "max_wal_size = 16GB")


def test_a_viewer_plans_no_series(client, django_user_model, cluster, workload):
    client.force_login(django_user_model.objects.create_user("eve"))
    assert client.get(NEW).status_code == 403
    assert client.post(NEW, {**form_of(cluster, workload, MEMORY), "queue": "1"}).status_code == 403
    assert not TuningSeries.objects.exists()


@pytest.mark.parametrize("changes", [{}, {"retired_at": "2026-01-01T00:00Z"}])
def test_a_series_never_revises_a_configuration_of_somebody_else(client, cluster, workload, changes):
    user = make_user("eve", Role.RUNNER)
    Permit.objects.create(user=user, is_on_all_hosts=True)
    client.force_login(user)
    theirs = Configuration.objects.create(name="prod / memory", settings={"fsync": "on"}, **changes)
    response = client.post(NEW, {**form_of(cluster, workload, MEMORY, name="prod"), "queue": "1"})
    assertContains(response, "There is a configuration called &#x27;prod / memory&#x27; already: choose another name.")
    assert list(Configuration.objects.filter(name="prod / memory")) == [theirs]
    assert not TuningSeries.objects.exists() and not Experiment.objects.exists()


def test_a_series_without_end_is_refused_before_any_run_is_made(runner, cluster, workload):
    form = form_of(cluster, workload, MEMORY, WAL, levels="1..200", repeats="100")
    assertContains(runner.post(NEW, {**form, "queue": "1"}), "runs, and a plan has at most 10,000:")
    assert not Experiment.objects.exists()


def test_a_runner_of_another_host_plans_no_series_on_a_cluster(client, cluster, workload):
    user = make_user("eve", Role.RUNNER)
    Permit.objects.create(user=user).hosts.add(testing.make_host("other", "192.0.2.5"))
    client.force_login(user)
    response = client.post(NEW, {**form_of(cluster, workload, MEMORY), "queue": "1"})
    assert response.context["page"].draft.series.errors["instance"]
    assert not TuningSeries.objects.exists() and not Experiment.objects.exists()
