"""Plans that change somebody's server: checked before they are queued, frozen, shown, and held when the grant ends."""

import pytest
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench import testing
from benchhub.bench.execute import jobs
from benchhub.bench.models import Experiment, Run, Watch
from benchhub.bench.plan import specs
from benchhub.bench.plan.fields.systems import system_refusals
from benchhub.bench.plan.testing import NEW, PLAN, form_of
from benchhub.bench.queue import gates, queue
from benchhub.catalog.models import Configuration, Host, Inspection, Instance
from runners.contract import ServerSettings

pytestmark = pytest.mark.django_db
PARAMETERS = {
    "work_mem": {"kind": "integer", "unit": "kB", "context": "user", "lowest": "64", "highest": "2147483647"},
    "shared_buffers": {"kind": "integer", "unit": "8kB", "context": "postmaster", "lowest": "16"},
}


@pytest.fixture
def theirs(box):
    instance = testing.make_instance(box, "16.4", name="theirs", grant="reload")
    Inspection.objects.create(instance=instance, driver=box, is_wanted=False, parameters=PARAMETERS)
    return instance


def planned(recipe, theirs, **settings):
    row = Configuration.objects.create(name="other", settings=settings)
    return {**form_of(recipe, theirs, theirs), "systems-1-configuration": str(row.pk), "levels": "4"}


def test_one_server_is_planned_with_its_own_configuration_and_another(planner, recipe, theirs):
    form = planned(recipe, theirs, work_mem="8MB")
    page = planner.post(PLAN, form)
    assertContains(page, "Changed on the server during each run")
    assertContains(page, "theirs, for PostgreSQL 16.4, theirs, other: work_mem = 8MB.")
    planner.post(NEW, {**form, "queue": "1"})
    runs = list(Run.objects.filter(kind="measure").order_by("pk").select_related("system__configuration"))
    changes = {run.system.configuration.name: specs.spec_of(run).server_settings for run in runs}
    assert changes == {"defaults": None, "other": ServerSettings({"work_mem": "8MB"}, {"work_mem": "8192"})}
    assert len({run.protocol_id for run in runs}) == 1 and "restart" not in runs[0].protocol.form


def test_where_runs_restart_the_server_all_of_them_do_under_one_protocol(planner, recipe, theirs):
    Instance.objects.update(grant="restart", restart_command="/bin/restart it")
    planner.post(NEW, {**planned(recipe, theirs, shared_buffers="1GB"), "queue": "1"})
    runs = list(Run.objects.filter(kind="measure"))
    assert {specs.spec_of(run).server_settings.restart for run in runs} == {("/bin/restart", "it")}
    assert {run.protocol.form["restart"] for run in runs} == {True} and len({run.protocol_id for run in runs}) == 1
    Instance.objects.update(restart_command="/bin/other")
    assert specs.spec_now(Run.objects.last()).server_settings.restart == ("/bin/other",)


def test_what_takes_a_restart_is_refused_by_name_where_a_reload_is_granted(planner, recipe, theirs):
    page = planner.post(NEW, {**planned(recipe, theirs, shared_buffers="1GB"), "queue": "1"})
    assertContains(page, "shared_buffers takes effect at a restart alone, and the grant of theirs is for a reload.")
    assertNotContains(page, "Changed on the server during each run")
    assert not Experiment.objects.exists()


def test_another_host_does_not_drive_what_changes_a_server(planner, recipe, theirs):
    other = testing.make_host("driver", "192.0.2.9")
    form = {**planned(recipe, theirs, work_mem="8MB"), "systems-1-driver": str(other.pk), "queue": "1"}
    assertContains(planner.post(NEW, form), "Runs change settings of theirs: box itself drives them.")


def test_another_host_drives_what_changes_nothing_also_where_runs_may_restart_the_server(planner, recipe, theirs):
    Instance.objects.update(grant="restart", restart_command="/bin/restart it")
    other = testing.make_host("driver", "192.0.2.9")
    planner.post(NEW, {**planned(recipe, theirs, shared_buffers="1GB"), "queue": "1"})
    system = Run.objects.filter(system__configuration__name="defaults").first().system
    assert specs._server_settings(system) is not None and specs._begins_with_a_start(system)
    system.driver = other
    assert specs._server_settings(system) is None and not specs._begins_with_a_start(system)
    values = {"configuration": system.configuration, "driver": other, "path": "loopback"}
    assert system_refusals(system.instance, values) == {}


@pytest.mark.parametrize(
    ("grant", "is_restarted", "is_held"),
    [("none", False, True), ("reload", False, False), ("reload", True, True), ("restart", True, False)],
)
def test_a_run_beyond_what_is_granted_now_stays_in_the_queue_and_holds_nothing(
    planner, recipe, theirs, grant, is_restarted, is_held
):
    if is_restarted:
        Instance.objects.update(grant="restart", restart_command="/bin/restart it")
    planner.post(NEW, {**planned(recipe, theirs, work_mem="8MB"), "queue": "1"})
    Instance.objects.update(grant=grant)
    run = Run.objects.filter(system__configuration__name="other").first()
    [gated] = gates.with_gates(Run.objects.filter(pk=run.pk))
    assert gated.gate_ungranted is is_held
    assert any("does not grant any more" in sentence for sentence in gates.sentences(gated)) is is_held


def test_another_key_of_the_host_names_the_runs_that_wait_for_the_grant_and_no_others(planner, recipe, theirs):
    planner.post(NEW, {**planned(recipe, theirs, work_mem="8MB"), "queue": "1"})
    Host.objects.update(host_key="ssh-ed25519 AAAAold", offered_host_key="ssh-ed25519 AAAAnew")
    changing = Run.objects.filter(system__configuration__name="other", state="queued").order_by("pk")
    changing = [run.pk for run in changing if run.spec["server_settings"]]
    approval = theirs.host.approve("ssh-ed25519 AAAAnew")
    assert approval.withdrawn == (theirs.name,)
    assert approval.waiting_runs == tuple(changing) and 0 < len(changing) < Run.objects.count()


def test_a_run_that_changes_nothing_waits_for_no_grant(planner, recipe, theirs):
    planner.post(NEW, {**planned(recipe, theirs, work_mem="8MB"), "queue": "1"})
    Instance.objects.update(grant="none")
    runs = gates.with_gates(Run.objects.filter(system__configuration__name="defaults"))
    assert {run.gate_ungranted for run in runs} == {False}


def test_a_run_waits_with_the_reason_while_its_change_is_not_granted_any_more(planner, recipe, theirs):
    planner.post(NEW, {**planned(recipe, theirs, work_mem="8MB"), "queue": "1"})
    run = Run.objects.get(kind="measure", system__configuration__name="other", repeat=1)
    assert "is not granted" not in blocked(run)
    Instance.objects.update(grant="none")
    assert blocked(Run.objects.get(pk=run.pk)).startswith(
        "It would change settings of theirs, which its owner does not"
    )


def blocked(run):
    """Return why a start of the run is held back."""
    run.state = "starting"
    watch, _ = Watch.objects.get_or_create(run=run)
    attempt = run.attempts.get_or_create(number=1)[0]
    return jobs.make_job(run, queue.Claim(run.pk, watch.fence), attempt).blocked
