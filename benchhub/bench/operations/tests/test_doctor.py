"""The doctor: each thing that is wrong gets one line that says so and what to do."""

import json
import subprocess
import sys
from datetime import timedelta

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.models.functions import Now

from benchhub.bench import testing
from benchhub.bench.execute import examine, workers
from benchhub.bench.models import Run, Watch, Webhook, Worker
from benchhub.bench.operations import doctor, vitals
from benchhub.catalog.models import Hardware, Host
from benchhub.release import release
from benchhub.ui.findings import worst

pytestmark = pytest.mark.django_db


@pytest.fixture
def broker(monkeypatch):
    """Its depth as a test wants it."""
    depth = [0]
    monkeypatch.setattr(vitals, "broker_depth", lambda: depth[0])
    return depth


def found(name, level):
    return [finding for finding in doctor.quick() if finding.name == name and finding.level == level]


def test_nothing_is_wrong_with_what_is_well(broker):
    workers.note()
    findings = list(doctor.quick())
    assert worst(findings) == "ok", findings
    assert {"broker", "database", "migrations", "secrets", "ticks", "leases", "runs", "host keys"} <= {
        finding.name for finding in findings
    }
    assert all(finding.text and not finding.remedy for finding in findings)


def test_messages_that_wait_mean_that_a_worker_is_missing_and_none_that_the_ticker_is(broker):
    broker[0] = 12
    [finding] = found("ticks", "bad")
    assert finding.remedy == "Start a worker."
    broker[0] = 0
    [finding] = found("ticks", "bad")
    assert "Start the ticker" in finding.remedy


def test_without_a_broker_the_rest_is_still_told(broker):
    broker[0] = None
    workers.note()
    assert "BROKER_URL" in found("broker", "bad")[0].remedy
    assert found("database", "ok") and found("ticks", "ok")


def test_a_worker_of_another_release_and_one_with_a_wrong_clock_are_named(broker):
    Worker.objects.create(name="old-7", release="0.0.9+aaaa", clock_ahead_s=3600)
    assert "old-7 (0.0.9+aaaa)" in found("releases", "warn")[0].text
    assert "+3600.0 s" in found("clock of a worker", "warn")[0].text


def test_a_worker_whose_loop_of_ssh_stands_still_is_bad_however_well_it_ticks(broker):
    workers.note()
    assert found("ssh", "ok")
    Worker.objects.create(name="spun-9", release=release(), clock_ahead_s=0, loop_silent_s=47)
    [finding] = found("ssh", "bad")
    assert "spun-9 (47 s)" in finding.text
    assert "again" in finding.remedy


def test_a_quarantined_host_an_overdue_run_and_a_stuck_one_are_named(broker):
    hardware = Hardware.objects.create(name="Box", sockets=2, cores_per_socket=10)
    host = testing.make_host()
    system = testing.make_system("18", host, hardware)
    run = testing.make_run(testing.make_experiment([system]), system, 8, 1)
    for state in ("reserved", "starting", "running"):
        Run.objects.filter(pk=run.pk).update(state=state, started_at=Now() - timedelta(days=1))
    Watch.objects.create(run=run, next_look_at=Now() - timedelta(hours=1))
    Host.objects.update(trust=Host.Trust.QUARANTINED)
    assert str(run.pk) in found("leases", "bad")[0].text
    assert str(run.pk) in found("runs", "warn")[0].text
    assert host.name in found("host keys", "bad")[0].text


def test_a_secret_that_no_key_opens_is_bad(broker, settings):
    testing.make_host()
    settings.FIELD_KEYS = ["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]
    assert "FIELD_KEYS" in found("secrets", "bad")[0].remedy


def test_the_command_says_it_in_lines_or_json_and_ends_with_1_only_if_something_is_bad(broker, capsys):
    workers.note()
    broker[0] = None
    with pytest.raises(SystemExit) as end:
        call_command("doctor", "--no-targets")
    assert end.value.code == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("bad   broker: The broker cannot be reached")
    assert any(line.startswith("ok    database: PostgreSQL ") for line in lines)
    with pytest.raises(SystemExit):
        call_command("doctor", "--no-targets", "--json")
    report = json.loads(capsys.readouterr().out)
    assert report["status"] == "bad"
    assert report["checks"][0].keys() == {"name", "level", "text", "remedy"}


def test_without_a_database_the_command_says_so_in_a_line_and_shows_no_traceback():
    environment = {"DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none", "BROKER_URL": "redis://127.0.0.1:9/0"}
    keys = {"SECRET_KEY": "x", "FIELD_KEYS": settings.FIELD_KEYS[0]}
    command = [sys.executable, "manage.py", "doctor"]
    done = subprocess.run(
        command, env={**environment, **keys}, cwd=settings.BASE_DIR, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "bad   database: The warehouse cannot be used: " in done.stdout
    assert "check DATABASE_URL" in done.stdout and "bad   broker:" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


@pytest.fixture
def target_host(target):
    return Host.objects.create(
        name="real",
        address=target.address,
        port=target.port,
        username=target.username,
        host_key=target.host_key,
        trust=Host.Trust.PINNED,
        private_key=target.private_key,
        work_directory=str(target.work_directory / "not" / "made" / "yet"),
    )


@pytest.mark.target
def test_a_host_is_asked_for_its_clock_and_its_room(target_host):
    [answer] = examine.examine([target_host]).values()
    assert abs(answer.clock_ahead_s) < 5
    assert answer.free_bytes > 1_000_000


@pytest.mark.target
def test_a_host_that_does_not_answer_is_bad_and_the_others_are_told_of(target_host):
    gone = Host.objects.get(pk=target_host.pk)
    gone.pk, gone.name, gone.port = None, "gone", 9
    gone.save()
    findings = list(doctor._targets())
    assert [(f.name, f.level) for f in findings] == [("host gone", "bad"), ("hosts", "ok")]
    assert "refused the connection" in findings[0].text
    assert findings[1].text.startswith("1 of 2")


def test_little_room_warns_and_next_to_none_is_bad():
    levels = [
        [finding.level for finding in doctor._host("h", examine.Examined(0.0, size))]
        for size in (1 << 31, 1 << 29, 1 << 20)
    ]
    assert levels == [[], ["warn"], ["bad"]]


def test_a_table_that_is_not_there_yet_is_told_as_migrations_and_nothing_else(broker, monkeypatch):
    class Plan:
        def __init__(self, _connection):
            self.loader = type("L", (), {"graph": type("G", (), {"leaf_nodes": lambda _self: []})()})()

        def migration_plan(self, _targets):
            return [(type("M", (), {"app_label": "bench", "name": "0009_next"})(), False)]

    monkeypatch.setattr(doctor, "MigrationExecutor", Plan)
    findings = list(doctor.quick())
    assert [finding.name for finding in findings] == ["broker", "database", "migrations"]
    assert "bench.0009_next" in findings[-1].text
    assert connection.is_usable()


def test_webhooks_whose_addresses_nobody_could_open_are_told_until_they_are_whole(broker, settings, django_user_model):
    settings.PUBLIC_URL = ""
    assert not found("webhooks", "warn")
    user = django_user_model.objects.create_superuser("ada")
    Webhook.objects.create(name="ci", url="https://ci.test/", events=["run.ended"], secret="hush", created_by=user)
    assert found("webhooks", "warn")[0].remedy == "Set PUBLIC_URL to where people open BenchHub, or save them again."
    settings.PUBLIC_URL = "https://bench.test"
    assert not found("webhooks", "warn")
    settings.PUBLIC_URL = ""
    Webhook.objects.update(origin="https://bench.test")
    assert not found("webhooks", "warn")
