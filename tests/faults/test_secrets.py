"""Keys and passwords are not seen in process lists, logs, tracebacks, files and pages during runs good and bad."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse

from benchhub.bench.models import Event, Evidence, Experiment, Run, Watch
from benchhub.bench.queue.queue import ask_to_cancel
from benchhub.catalog.models import Instance
from benchhub.embedded import proc
from tests.faults import rows
from tests.faults.rig import until

pytestmark = pytest.mark.target


def words_of_everyone() -> str:
    """Return all command lines on this machine, targets included, as ps shows them to every user."""
    return "\n".join(" ".join(proc.command_line(pid)) for pid in proc.pids())


class Watchman:
    """Looks at the process list again and again until it is told to stop."""

    def __init__(self, secrets: list[str]) -> None:
        self.secrets, self.leaks, self.looks = secrets, set(), 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Watchman:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.02):
            words = words_of_everyone()
            self.leaks |= {secret for secret in self.secrets if secret in words}
            self.looks += 1


@pytest.fixture
def secrets(rig, site, system) -> list[str]:
    """Return those that BenchHub was given: they must be on no line that anybody else reads."""
    key_lines = [line for line in site.private_key.splitlines() if len(line) > 40]
    environment = rig.environment
    return [*key_lines[:3], rig.server.password, environment["SECRET_KEY"], environment["FIELD_KEYS"]]


def logs(rig) -> str:
    names = ("worker", "ticker", "web", "sshd-alpha")
    return "\n".join(
        file.read_text(errors="replace") for name in names if (file := rig.processes.logs / f"{name}.log").exists()
    )


def test_the_watchman_sees_a_secret_on_a_command_line():
    command = ["sh", "-c", "read -r _; : open-sesame"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as careless, Watchman(["open-sesame"]) as watchman:
        until(lambda: watchman.leaks)
        careless.kill()
    assert watchman.leaks


def _refused(runs: list[Run]) -> str:
    """Wait until the experiment is paused, as its server refuses the log-in; return why, and end it."""
    experiment = Experiment.objects.filter(pk=runs[0].experiment_id)
    until(lambda: experiment.filter(paused_at__isnull=False).exists())
    ask_to_cancel(Run.objects.filter(pk__in=[run.pk for run in runs]))
    return experiment.get().pause_reason


def check_password_file(rig, site, run):
    """While the run is measured its password lies in a file for its owner alone."""
    file: Path = site.folder(run) / ".pgpass"
    until(lambda: site.executions(run))
    assert (file.stat().st_mode & 0o777, file.stat().st_uid) == (0o600, rig.account.uid)
    assert rig.server.password.replace(":", "\\:") in file.read_text()


def check_that_no_password_is_left(rig, site, runs):
    assert not any((site.folder(run) / ".pgpass").exists() for run in runs)
    everything = [path for path in site.machine.work_directory.rglob("*") if path.is_file()]
    assert everything
    assert [path for path in everything if rig.server.password.encode() in path.read_bytes()] == []


def check_pages(client, system, run, secrets):
    client.force_login(get_user_model().objects.create_superuser("ada"))
    host, instance = system.driver, system.instance
    addresses = ["/", "/hosts/", f"/hosts/{host.pk}/", f"/instances/{instance.pk}/edit", reverse("run", args=[run.pk])]
    pages = [client.get(address, follow=True) for address in [*addresses, "/health", "/metrics"]]
    text = "".join(page.content.decode(errors="replace") for page in pages)
    assert host.name in text
    assert [secret for secret in secrets if secret in text] == []


def test_no_secret_is_in_a_process_list_a_log_or_what_is_stored_of_runs_good_and_bad(
    rig, site, system, secrets, client, ends_once
):
    worker = rig.both()
    with Watchman(secrets) as watchman:
        runs = rows.queue(system, 2)
        check_password_file(rig, site, runs[0])
        ends_once(runs)
        check_that_no_password_is_left(rig, site, runs)
        check_pages(client, system, runs[0], secrets)
        Instance.objects.update(password="wrong-password-of-the-tests")
        secrets.append("wrong-password-of-the-tests")
        assert "password authentication failed" in _refused(rows.queue(system))
        Instance.objects.update(password=rig.server.password, database="nowhere")
        assert '"nowhere" does not exist' in _refused(rows.queue(system))
    assert watchman.looks > 50
    assert watchman.leaks == set()
    text = logs(rig) + worker.log.read_text()
    text += str(list(Event.objects.values())) + str(list(Watch.objects.values())) + str(list(Run.objects.values()))
    text += "".join(bytes(row.content).decode(errors="replace") for row in Evidence.objects.all())
    assert [secret for secret in secrets if secret in text] == []


def test_a_traceback_of_the_worker_shows_no_secret(rig, site, system, secrets):
    """The warehouse refuses an answer: what is logged names the run and the error, not what was at hand."""
    from django.db import connection

    worker = rig.both()
    with connection.cursor() as cursor:
        cursor.execute("CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'a fault'; END $$")
        cursor.execute("CREATE TRIGGER fault BEFORE INSERT ON bench_evidence FOR EACH ROW EXECUTE FUNCTION fault()")
    try:
        [run] = rows.queue(system, duration_s=1)
        until(lambda: "Traceback" in worker.log.read_text())
        text = worker.log.read_text() + Watch.objects.get(run=run).contact_error
        assert [secret for secret in secrets if secret in text] == []
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TRIGGER fault ON bench_evidence")
            cursor.execute("DROP FUNCTION fault")
    [ended] = rows.until_final([run])
    assert (ended.state, site.executions(run)) == ("succeeded", 1)
