"""Where a job lies is not changed under it."""

import asyncio

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains

from benchhub.bench import testing
from benchhub.bench.execute import jobs, tidy, visits
from benchhub.bench.models import Attempt, Run, Watch
from benchhub.bench.models.states import State
from benchhub.bench.queue import queue
from benchhub.catalog.hosts.forms import HostForm
from benchhub.catalog.instances.forms import InstanceForm
from benchhub.catalog.models import Hardware, Host, Instance
from runners.job import Attempt as Place

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


def test_an_attempt_lies_where_it_began_wherever_others_of_its_run_begin_by_now(run, monkeypatch):
    run = testing.make_run(run.experiment, run.system, 2, 2, state=State.RESERVED, spec=testing.whole_spec())
    Watch.objects.create(run=run)
    for work_directory in ("/old", "/new"):
        Host.objects.update(work_directory=work_directory)
        claim = queue.Claim(run.pk, Watch.objects.get().fence)
        job_ = jobs.prepare_step(claim)
        if work_directory == "/old":
            with queue.fenced(claim) as row:
                queue.give_back(row, claim, "Its time was over.")
                queue.move(row, State.RESERVED)
    assert job_.attempt == Place(str(run.uuid), 2, "/new")
    assert job_.earlier == (Place(str(run.uuid), 1, "/old"),)
    tidied = []
    monkeypatch.setattr(tidy.end, "tidy", lambda _target, place: noted(tidied, place))
    for attempt in Attempt.objects.select_related("run__system__driver").order_by("number"):
        asyncio.run(tidy._tidy(attempt))
    assert tidied == [*job_.earlier, job_.attempt]


def test_an_attempt_of_an_older_release_lies_in_the_work_directory_of_its_host(run):
    attempt = Attempt.objects.create(run=run, number=1)
    assert attempt.work_directory == ""
    assert visits.place_of(run, attempt) == Place(str(run.uuid), 1, Host.objects.get().work_directory)


async def noted(notes, value):
    notes.append(value)


def test_what_no_job_is_found_by_may_be_edited_at_any_time(run):
    Attempt.objects.create(run=run, number=1)
    assert not edit(Host.objects.get(), name="another name").errors


def test_a_run_that_waits_in_the_queue_keeps_no_host_from_moving(run):
    assert not edit(Host.objects.get(), address="192.0.2.9").errors


def test_a_host_that_is_away_may_have_another_address_and_its_folder_stays(run):
    Attempt.objects.create(run=run, number=1)
    Host.objects.update(unreachable_since=timezone.now())
    assert not edit(Host.objects.get(), address="192.0.2.9", port=2200).errors
    assert list(edit(Host.objects.get(), work_directory="/w").errors) == ["work_directory"]


def test_an_edit_and_a_start_at_the_same_moment_take_turns(run):
    form = edit(Host.objects.get(), work_directory="/w")
    assert form.is_valid()
    Attempt.objects.create(run=run, number=1)  # it begins after the form was looked at
    assert form.saved() is None
    assert "would not be found any more" in str(form.errors)
    assert Host.objects.get().work_directory != "/w"


def test_a_start_and_an_edit_of_its_hosts_take_turns(run):
    Run.objects.filter(pk=run.pk).delete()
    waiting = testing.make_run(run.experiment, run.system, 2, 1)
    queue.reserve()
    [claim] = queue.claim(1)
    with CaptureQueriesContext(connection) as queries, queue.fenced(claim) as locked:
        assert jobs._enter_starting(locked, claim)
    texts = [query["sql"] for query in queries]
    locking = next(at for at, text in enumerate(texts) if "catalog_host" in text and "FOR UPDATE" in text)
    assert locking < next(at for at, text in enumerate(texts) if "INSERT" in text and "bench_attempt" in text)
    assert Run.objects.get(pk=waiting.pk).state == State.STARTING


def test_a_key_pair_is_not_replaced_under_a_job_by_page_or_api_and_may_be_afterwards(run, client):
    client.force_login(get_user_model().objects.create_superuser("ada"))
    attempt, host = Attempt.objects.create(run=run, number=1), Host.objects.get()
    pair = (host.private_key, host.public_key)
    sentence = f"nobody could reach run {run.pk} until the new one is installed"
    assertContains(client.post(reverse("host-new-key", args=[host.pk]), follow=True), sentence)
    answer = client.post(f"/api/v1/hosts/{host.pk}/new-key/")
    assert answer.status_code == 409 and sentence in answer.json()["detail"]
    assert (Host.objects.get().private_key, Host.objects.get().public_key) == pair
    Attempt.objects.filter(pk=attempt.pk).update(ended_at=timezone.now())
    page = client.post(reverse("host-new-key", args=[host.pk]), follow=True)
    assertContains(page, "install it there")
    after = Host.objects.get()
    assert after.public_key != host.public_key and "PRIVATE KEY" in after.private_key
    assertContains(page, after.public_key)
    assert page.context["page"].steps["install"].state == "next"
    answer = client.post(f"/api/v1/hosts/{host.pk}/new-key/")
    assert (answer.status_code, answer.json()["public_key"]) == (200, Host.objects.get().public_key)
    assert answer.json()["public_key"] != after.public_key


def test_the_api_refuses_what_the_page_refuses(run, client):
    client.force_login(get_user_model().objects.create_superuser("ada"))
    Attempt.objects.create(run=run, number=1)
    host = Host.objects.get()
    address = f"/api/v1/hosts/{host.pk}/"
    tag = client.get(address)["ETag"]
    sent = {"data": {"work_directory": "/w"}, "content_type": "application/json", "headers": {"If-Match": tag}}
    answer = client.patch(address, **sent)
    assert answer.status_code in (400, 422) and f"Run {run.pk} would not be found" in answer.content.decode()
    assert Host.objects.get().work_directory == host.work_directory


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


def test_a_key_pair_that_nobody_can_read_any_more_is_replaced_under_a_job_which_is_found_by_the_new_one(
    run, client, settings
):
    Attempt.objects.create(run=run, number=1)
    host = Host.objects.get()
    settings.FIELD_KEYS = ["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]
    client.force_login(get_user_model().objects.create_superuser("ada"))
    answer = client.post(f"/api/v1/hosts/{host.pk}/new-key/")
    assert (answer.status_code, answer.json()["public_key"]) == (200, Host.objects.get().public_key)
    assert "PRIVATE KEY" in Host.objects.get().private_key
    assert client.post(f"/api/v1/hosts/{host.pk}/new-key/").status_code == 409
