"""A tuning series on somebody's server: its steps within what the owner grants, under one protocol."""

import pytest
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench import testing
from benchhub.bench.models import Run, TuningSeries
from benchhub.bench.plan import specs
from benchhub.bench.tuning.testing import NEW, PARAMETERS, PLAN, form_of
from benchhub.catalog.models import Inspection

pytestmark = pytest.mark.django_db
MEMORY, WAL = ("memory", "work_mem = 64MB"), ("WAL", "max_wal_size = 4GB")


@pytest.fixture
def theirs(host):
    instance = testing.make_instance(host, "18", name="theirs", grant="reload")
    Inspection.objects.create(instance=instance, driver=host, is_wanted=False, parameters=PARAMETERS)
    return instance


def test_each_step_is_applied_on_top_of_what_the_server_has(runner, theirs, workload):
    form = form_of(theirs, workload, MEMORY, WAL)
    assertContains(runner.post(PLAN, form), "Changed on the server during each run")
    runner.post(NEW, {**form, "queue": "1"})
    assert TuningSeries.objects.count() == 1
    runs = Run.objects.filter(kind="measure", repeat=1).order_by("system")
    changes = [specs.spec_of(run).server_settings for run in runs]
    assert [change.settings if change else {} for change in changes] == [
        {}, {"work_mem": "64MB"}, {"work_mem": "64MB", "max_wal_size": "4GB"},
    ]  # fmt: skip
    assert len({run.protocol_id for run in runs}) == 1
    assert {run.system.path for run in runs} == {"loopback"}


def test_a_step_that_the_owner_does_not_grant_is_refused_beside_it(runner, theirs, workload):
    answer = runner.post(PLAN, form_of(theirs, workload, MEMORY, ("buffers", "shared_buffers = 1GB")))
    assertContains(answer, "shared_buffers takes effect at a restart alone, and the grant of theirs is for a reload.")


def test_a_step_of_the_operating_system_is_refused_there(runner, theirs, workload):
    answer = runner.post(PLAN, form_of(theirs, workload, ("swap", "", "vm.swappiness = 1")))
    assertContains(answer, "Settings of the operating system are changed for clusters of BenchHub")


@pytest.mark.parametrize(
    ("sight", "sentence"),
    [
        ({"is_standby": True}, "theirs is a standby, whose data set is loaded on its primary"),
        ({"standbys": 2}, "theirs has 2 standbys, and to load anew for each run would measure a server that is still"),
    ],
)
def test_on_a_standby_or_beside_one_no_data_set_is_loaded_for_each_run(runner, theirs, workload, sight, sentence):
    Inspection.objects.filter(instance=theirs).update(sight=sight)
    answer = runner.post(NEW, {**form_of(theirs, workload, MEMORY), "loading": "each", "queue": "1"})
    assertContains(answer, sentence)
    assertNotContains(runner.post(PLAN, form_of(theirs, workload, MEMORY)), sentence)
    assert not TuningSeries.objects.exists() and not Run.objects.exists()


def test_without_a_standby_a_data_set_is_loaded_for_each_run_of_a_series(runner, theirs, workload):
    Inspection.objects.filter(instance=theirs).update(sight={"is_standby": False, "standbys": 0})
    runner.post(NEW, {**form_of(theirs, workload, MEMORY), "loading": "each", "queue": "1"})
    assert TuningSeries.objects.count() == 1
