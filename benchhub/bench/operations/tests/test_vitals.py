"""/health, /metrics and the numbers behind them."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import OperationalError
from django.db.models.functions import Now
from django.urls import reverse

from benchhub.bench import testing
from benchhub.bench.execute import workers
from benchhub.bench.models import Run, Watch, Worker
from benchhub.bench.operations import metrics, vitals
from benchhub.catalog.models import Hardware, Host

pytestmark = pytest.mark.django_db
TOKEN = "a-token-of-the-tests"
VITALS_QUERIES = 9


@pytest.fixture
def token(settings):
    settings.METRICS_TOKEN = TOKEN
    return {"HTTP_AUTHORIZATION": f"Bearer {TOKEN}"}


@pytest.fixture(autouse=True)
def broker(monkeypatch):
    """Its depth as these tests want it; tests/faults stops a real one."""
    monkeypatch.setattr(vitals, "broker_depth", lambda: 3)


@pytest.fixture
def running():
    hardware = Hardware.objects.create(name="Box", sockets=2, cores_per_socket=10)
    system = testing.make_system("18", testing.make_host(), hardware)
    run = testing.make_run(testing.make_experiment([system]), system, 8, 1)
    for state in ("reserved", "starting", "running"):
        Run.objects.filter(pk=run.pk).update(state=state, started_at=Now())
    Watch.objects.create(run=run, last_contact_at=Now() - timedelta(hours=7))
    return run


def values(text):
    return dict(re.findall(r"^(benchhub_\S+) (\S+)$", text, re.MULTILINE))


def get(client, name, **headers):
    return client.get(reverse(name), **headers)


def test_metrics_say_runs_by_state_queue_lag_ssh_errors_and_ages_of_contact(client, token, running):
    Worker.objects.create(name="w-1", release="r", ticked_at=Now() - timedelta(hours=4), clock_ahead_s=0, ssh_errors=2)
    answer = get(client, "metrics", **token)
    assert answer["Content-Type"].startswith("text/plain; version=0.0.4")
    numbers = values(answer.content.decode())
    assert numbers['benchhub_runs{state="running"}'] == "1"
    assert numbers['benchhub_runs{state="lost"}'] == "0"
    assert numbers["benchhub_queue_depth"] == "0"
    assert numbers['benchhub_ssh_errors_total{worker="w-1"}'] == "2"
    assert 4 <= float(numbers["benchhub_tick_lag_seconds"]) / 3600 < 5
    assert 7 <= float(numbers['benchhub_contact_age_seconds{quantile="0.95"}']) / 3600 < 8
    assert numbers["benchhub_broker_messages"] == "3"
    assert numbers["benchhub_warehouse_up"] == numbers["benchhub_broker_up"] == "1"


def test_every_metric_has_its_help_and_type_before_it(client, token, running):
    text = get(client, "metrics", **token).content.decode()
    for name in {line.partition("{")[0].partition(" ")[0] for line in text.splitlines() if not line.startswith("#")}:
        assert text.index(f"# HELP {name} ") < text.index(f"# TYPE {name} ") < text.index(f"\n{name}")


def test_the_numbers_take_the_same_few_queries_however_many_runs_there_are(django_assert_num_queries, running):
    with django_assert_num_queries(VITALS_QUERIES):
        vitals.vitals()


@pytest.mark.parametrize("name", ["metrics", "health"])
@pytest.mark.parametrize("sent", ["", "Bearer wrong", "Bearer ", f"Basic {TOKEN}"])
def test_without_the_token_or_a_session_nothing_is_told(client, token, name, sent):
    answer = get(client, name, HTTP_AUTHORIZATION=sent)
    assert answer.status_code == 401
    assert b"METRICS_TOKEN" in answer.content and b"benchhub_" not in answer.content


@pytest.mark.parametrize("name", ["metrics", "health"])
def test_without_a_token_of_the_installation_no_token_fits(client, settings, name):
    settings.METRICS_TOKEN = ""
    assert get(client, name, HTTP_AUTHORIZATION="Bearer ").status_code == 401


def test_whoever_has_signed_in_may_look(client):
    client.force_login(get_user_model().objects.create_superuser("ada"))
    assert get(client, "metrics").status_code == 200


def test_health_is_bad_while_nothing_ticks_and_well_when_it_does(client, token):
    answer = get(client, "health", **token)
    assert (answer.status_code, answer.json()["status"]) == (503, "bad")
    assert any("No tick was ever done" in check["text"] for check in answer.json()["checks"])
    workers.note()
    answer = get(client, "health", **token)
    assert (answer.status_code, answer.json()["status"]) == (200, "ok"), answer.json()


def test_without_a_warehouse_both_say_so_to_whoever_has_the_token(client, token, monkeypatch):
    def down(*_args):
        raise OperationalError("connection refused")

    monkeypatch.setattr(vitals, "vitals", down)
    monkeypatch.setattr("benchhub.bench.operations.doctor._database", down)
    numbers = values(get(client, "metrics", **token).content.decode())
    assert numbers["benchhub_warehouse_up"] == "0" and "benchhub_queue_depth" not in numbers
    answer = get(client, "health", **token)
    assert answer.status_code == 503
    assert "Start PostgreSQL" in answer.content.decode()


def test_a_quantile_is_a_value_that_so_many_do_not_exceed():
    # Ages 1..20: 19 of 20, that is 95%, do not exceed 19.
    ages = tuple(map(float, range(1, 21)))
    assert [metrics._quantile(ages, share) for share in (0.5, 0.95, 1.0)] == [10.0, 19.0, 20.0]
    assert metrics._quantile((5.0,), 0.5) == 5.0


def test_a_worker_tells_of_itself_once_however_often_it_ticks():
    workers.note()
    workers.note()
    [worker] = Worker.objects.all()
    assert abs(worker.clock_ahead_s) < 1800
    assert worker.release.startswith("0.1.0+")


def test_a_worker_that_ended_long_ago_is_forgotten():
    Worker.objects.create(name="old", release="r", ticked_at=Now() - timedelta(days=2), clock_ahead_s=0)
    workers.note()
    assert not Worker.objects.filter(name="old").exists()


def test_a_run_that_should_have_ended_long_ago_is_overdue_and_others_are_not(running):
    assert not vitals.overdue().exists()
    # Planned: 60 s. Twice that and ten minutes are 720 s.
    Run.objects.filter(pk=running.pk).update(started_at=Now() - timedelta(seconds=360))
    assert not vitals.overdue().exists()
    Run.objects.filter(pk=running.pk).update(started_at=Now() - timedelta(seconds=721))
    assert list(vitals.overdue()) == [running]


def test_a_run_under_way_that_nobody_looks_at_is_stuck_and_one_with_a_lease_is_not(running):
    assert not vitals.stuck().exists()
    Watch.objects.update(next_look_at=Now() - timedelta(hours=1), lease_until=Now() + timedelta(seconds=30))
    assert not vitals.stuck().exists()
    Watch.objects.update(lease_until=Now() - timedelta(hours=1))
    assert [watch.run_id for watch in vitals.stuck()] == [running.pk]


@pytest.mark.parametrize(("state", "is_forgotten"), [("running", False), ("succeeded", True), ("failed", False)])
def test_the_watch_of_a_run_that_ended_for_good_goes_after_a_day_a_failed_one_later(running, state, is_forgotten):
    if state == "succeeded":
        Run.objects.filter(pk=running.pk).update(state="collecting")
    if state != "running":
        Run.objects.filter(pk=running.pk).update(state=state)
    Watch.objects.update(next_look_at=Now() - timedelta(hours=23))
    assert Watch.objects.forget() == 0
    Watch.objects.update(next_look_at=Now() - timedelta(hours=25))
    assert Watch.objects.forget() == is_forgotten
    assert Watch.objects.exists() != is_forgotten
    Watch.objects.update(next_look_at=Now() - timedelta(days=61))  # nobody worked for so long
    assert Watch.objects.forget() == (state == "failed")
    assert Watch.objects.exists() == (state == "running")


def test_hosts_that_cannot_be_reached_are_counted(client, token, running):
    Host.objects.update(unreachable_since=Now())
    numbers = values(get(client, "metrics", **token).content.decode())
    assert numbers["benchhub_hosts_unreachable"] == "1"
    assert numbers['benchhub_hosts{trust="pinned"}'] == "1"
