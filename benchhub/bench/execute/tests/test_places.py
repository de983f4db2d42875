"""Where a job lies is not changed under it."""

import pytest
from django.utils import timezone

from benchhub.bench import testing
from benchhub.bench.models import Attempt, Run
from benchhub.bench.models.states import State
from benchhub.catalog.hosts.forms import HostForm
from benchhub.catalog.instances.forms import InstanceForm
from benchhub.catalog.models import Hardware, Host, Instance

pytestmark = pytest.mark.django_db


@pytest.fixture
def run():
    host, hardware = testing.make_host(), Hardware.objects.create(name="h", sockets=1, cores_per_socket=4)
    system = testing.make_system("16", host, hardware)
    return testing.make_run(testing.make_experiment([system]), system, 2, 1, state=State.RUNNING)


def edit(host, **changes):
    names = ("name", "address", "port", "username", "work_directory")
    return HostForm({**{name: getattr(host, name) for name in names}, **changes}, instance=host)


@pytest.mark.parametrize(
    ("name", "value"), [("address", "192.0.2.9"), ("port", 2200), ("username", "b"), ("work_directory", "/w")]
)
def test_a_host_is_not_moved_away_from_a_job_under_way_and_may_be_afterwards(run, name, value):
    attempt = Attempt.objects.create(run=run, number=1)
    host = Host.objects.get()
    form = edit(host, **{name: value})
    sentence = f"Run {run.pk} would not be found any more: wait for the end, or cancel."
    assert form.errors == {name: [sentence]}
    Attempt.objects.filter(pk=attempt.pk).update(ended_at=attempt.started_at)
    assert not edit(Host.objects.get(), **{name: value}).errors


def test_what_no_job_is_found_by_may_be_edited_at_any_time(run):
    Attempt.objects.create(run=run, number=1)
    assert not edit(Host.objects.get(), name="another name").errors


def test_a_run_that_waits_in_the_queue_keeps_no_host_from_moving(run):
    assert not edit(Host.objects.get(), address="192.0.2.9").errors


def edit_instance(**changes):
    instance = Instance.objects.get()
    names = ("name", "address", "port", "database", "username", "data_directory")
    typed = {name: getattr(instance, name) for name in names} | {"configuration": instance.configuration_id}
    server = f"{instance.host_id}:{instance.bin_directory}"
    values = {**typed, "server": server, "password": "new", **changes}
    return InstanceForm(values, instance=instance, hosts=Host.objects.all())


@pytest.mark.parametrize("state", [State.QUEUED, State.RUNNING])
@pytest.mark.parametrize(
    ("name", "value"), [("address", "192.0.2.9"), ("port", 5433), ("database", "other"), ("username", "other")]
)
def test_an_instance_is_not_moved_under_runs_that_were_planned_with_its_place(run, state, name, value):
    Run.objects.filter(pk=run.pk).delete()
    waiting = testing.make_run(run.experiment, run.system, 2, 1, state=state)
    sentence = f"Run {waiting.pk} would go to where it is now: wait for their end, or cancel."
    assert edit_instance(**{name: value}).errors[name] == [sentence]
    assert Instance.objects.get().port == 5432
    Run.objects.filter(pk=waiting.pk).update(ended_at=timezone.now())
    assert name not in edit_instance(**{name: value}).errors


def test_a_new_name_or_password_of_an_instance_may_be_typed_at_any_time(run):
    assert not edit_instance(name="renamed").errors
