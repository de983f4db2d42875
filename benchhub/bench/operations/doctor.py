"""Find what is wrong with this installation, and how to mend it: one line for each thing that is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from benchhub.analysis import words
from benchhub.bench.execute import examine, workers
from benchhub.bench.execute.examine import Examined
from benchhub.bench.models import ArchiveRule, Run, Webhook, Worker
from benchhub.bench.models.states import ACTIVE
from benchhub.bench.queue import exclusive
from benchhub.catalog.models import Host, Instance
from benchhub.celery import app
from benchhub.release import release
from benchhub.ui.findings import Finding, Level

from . import releases, vitals

MOST_SKEW_S = 2.0
MOST_SILENCE_S = 15.0
LITTLE_BYTES, LEAST_BYTES = 1 << 30, 100 << 20
PING_S = 1.5
NAMED = 5


def quick() -> Iterator[Finding]:
    """Yield what the warehouse and the broker tell, without a word to a worker or a host."""
    broker = _broker()
    yield broker
    yield from _with_database(lambda: _warehouse(broker))


def thorough(*, with_targets: bool = True) -> Iterator[Finding]:
    """Yield all findings: workers are asked through the broker, hosts over SSH."""
    broker = _broker()
    yield broker
    if broker.level == "ok":
        yield _answering()
    yield from _with_database(lambda: _warehouse(broker), *([_targets] if with_targets else []))


# --- the warehouse ---------------------------------------------------------------------------------------------


def _with_database(*checks: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Yield what the checks find; without the warehouse, from which all is known, that is the one thing to say."""
    try:
        for check in checks:
            yield from check()
    except DatabaseError as error:
        messages = str(error).strip().splitlines()
        connection.close()
        yield Finding(
            "database",
            "bad",
            f"The warehouse cannot be used: {messages[0] if messages else error!r}.",
            "Start PostgreSQL, and check DATABASE_URL; targets go on meanwhile, and nothing is lost.",
        )


def _warehouse(broker: Finding) -> Iterator[Finding]:
    yield _database()
    migrations = _migrations()
    yield migrations
    if migrations.level == "ok":
        yield from _tables(broker)


def _tables(broker: Finding) -> Iterator[Finding]:
    yield _secrets()
    yield _clock("clock here", "this machine", workers.clock_ahead_s(), "the warehouse's")
    yield _ticks(broker)
    yield from _worker_rows()
    yield _stuck()
    yield _overdue()
    yield from _exclusive()
    yield from _trust()
    yield from _addresses()
    yield from _archive()


def _archive() -> Iterator[Finding]:
    """Yield whether files move to the archive, where a rule says that they do."""
    for rule in ArchiveRule.objects.all():
        if rule.trouble:
            yield Finding("archive", "warn", rule.trouble, "It is tried again every hour.")
        else:
            yield Finding("archive", "ok", f"By its rule {rule}.")


def _database() -> Finding:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        [version] = cursor.fetchone()
    return Finding("database", "ok", f"PostgreSQL {version} answers.")


def _migrations() -> Finding:
    if names := releases.strangers(releases.applied()):
        text = f"The warehouse has tables of another release: {names}."
        return Finding("migrations", "bad", text, "Install that release, or restore a backup of this one.")
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if not missing:
        return Finding("migrations", "ok", "The tables are those of this release.")
    names = _some(f"{migration.app_label}.{migration.name}" for migration, _ in missing)
    return Finding("migrations", "bad", f"Not applied: {names}.", "Stop the ticker and run `python manage.py prepare`.")


def _secrets() -> Finding:
    try:
        count = len([host.private_key for host in Host.objects.only("private_key")])
        count += len([instance.password for instance in Instance.objects.only("password")])
    except ImproperlyConfigured as error:
        return Finding("secrets", "bad", str(error), "Put the old key behind the new one in FIELD_KEYS.")
    return Finding("secrets", "ok", f"{words.count(count, 'stored secret')} can be read with FIELD_KEYS.")


def _clock(name: str, whose: str, ahead_s: float, than: str) -> Finding:
    if abs(ahead_s) <= MOST_SKEW_S:
        return Finding(name, "ok", f"The clock of {whose} is within {MOST_SKEW_S:g} s of {than}.")
    text = f"The clock of {whose} is {ahead_s:+.1f} s apart from {than}."
    return Finding(name, "warn", text, "Set it by NTP: runs are safe, but times that people compare are not.")


# --- broker, ticker and workers ----------------------------------------------------------------------------------


def _broker() -> Finding:
    depth = vitals.broker_depth()
    if depth is None:
        text = "The broker cannot be reached, so that no worker is woken."
        return Finding("broker", "bad", text, "Start it, and check BROKER_URL; what runs on targets goes on.")
    return Finding("broker", "ok", f"The broker answers; {words.count(depth, 'message')} waiting.")


def _answering() -> Finding:
    """Ask the workers through the broker, which tells a missing ticker from missing workers."""
    answers = app.control.ping(timeout=PING_S) or []
    if answers:
        names = _some(name for answer in answers for name in answer)
        return Finding("workers", "ok", f"{words.count(len(answers), 'worker')} answering: {names}.")
    return Finding("workers", "bad", "No worker answers.", "Start one: `celery -A benchhub worker -P threads -c 12`.")


def _ticks(broker: Finding) -> Finding:
    lag_s, limit_s = vitals.tick_lag_s(), settings.LEASE_SECONDS
    if lag_s is not None and lag_s <= limit_s:
        return Finding("ticks", "ok", f"The last tick was {lag_s:.0f} s ago.")
    text = "No tick was ever done." if lag_s is None else f"The last tick was {_ago(lag_s)} ago."
    if broker.level != "ok":
        return Finding("ticks", "bad", text, "Start the broker first; then look again.")
    waiting = vitals.broker_depth()
    text += (
        f" {words.count(waiting, 'message')} waiting for a worker." if waiting else " No message waits for a worker."
    )
    return Finding(
        "ticks", "bad", text, "Start a worker." if waiting else "Start the ticker: `celery -A benchhub.ticker beat`."
    )


def _worker_rows() -> Iterator[Finding]:
    """Yield what the workers alive have written of themselves."""
    alive = list(Worker.objects.alive())
    outdated = [worker for worker in alive if worker.release != release()]
    if outdated:
        names = _some(f"{worker} ({worker.release})" for worker in outdated)
        text = f"Other code than here ({release()}) runs: {names}."
        yield Finding("releases", "warn", text, "Start them again from this release.")
    elif alive:
        yield Finding("releases", "ok", f"{words.count(len(alive), 'worker')} of {release()}, as here.")
    if alive:
        yield _loops(alive)
    for worker in alive:
        if abs(worker.clock_ahead_s) > MOST_SKEW_S:
            yield _clock("clock of a worker", str(worker), worker.clock_ahead_s, "the warehouse's")


def _loops(alive: Iterable[Worker]) -> Finding:
    silent = [worker for worker in alive if worker.loop_silent_s > MOST_SILENCE_S]
    if not silent:
        return Finding("ssh", "ok", "The event loops that speak to hosts turn.")
    names = _some(f"{worker} ({_ago(worker.loop_silent_s)})" for worker in silent)
    text = f"The event loop that speaks to all hosts stands still: {names}. No run there is started, seen or collected."
    return Finding("ssh", "bad", text, "Start that worker again, and keep its log: what runs on hosts goes on.")


def _stuck() -> Finding:
    stuck = list(vitals.stuck().values_list("run", flat=True))
    if not stuck:
        return Finding("leases", "ok", "Nobody waits for a worker that holds a lease and is gone.")
    text = f"Runs under way that nobody looks at: {_some(map(str, stuck))}."
    return Finding("leases", "bad", text, "Start a worker and the ticker: any worker takes them over.")


def _overdue() -> Finding:
    overdue = list(vitals.overdue())
    if not overdue:
        under_way = Run.objects.filter(state__in=ACTIVE).count()
        return Finding("runs", "ok", f"{words.count(under_way, 'run')} under way, none overdue.")
    names = _some(f"{run.pk} ({run})" for run in overdue)
    return Finding(
        "runs", "warn", f"Overdue: {names}.", "Look at what they do on their pages, and cancel them if need be."
    )


def _exclusive() -> Iterator[Finding]:
    """Yield which experiments have their hosts to themselves now, so that runs of others wait."""
    now = timezone.now()
    for row in exclusive.in_force(now):
        if row.reaches_into(now, now + exclusive.BRIEF):
            text = f"{row.name} has its hosts to itself, {row.text}: runs of others wait there."
            yield Finding("exclusive", "ok", text)


# --- hosts -------------------------------------------------------------------------------------------------------


def _trust() -> Iterator[Finding]:
    quarantined = list(Host.objects.filter(trust=Host.Trust.QUARANTINED).order_by("name"))
    if quarantined:
        text = f"In quarantine, because the host key changed: {_some(map(str, quarantined))}."
        yield Finding("host keys", "bad", text, "Compare the fingerprint at the host's console, then approve it.")
    waiting = Run.objects.queued().exclude(system__driver__trust=Host.Trust.PINNED)
    hosts = Host.objects.filter(pk__in=waiting.values("system__driver")).exclude(trust=Host.Trust.QUARANTINED)
    if names := [str(host) for host in hosts.order_by("name")]:
        text = f"Runs wait for hosts whose key nobody approved: {_some(names)}."
        yield Finding("host keys", "warn", text, "Approve it on the host's page.")
    if not quarantined and not names:
        yield Finding("host keys", "ok", "No host is in quarantine or keeps runs waiting for approval.")


def _addresses() -> Iterator[Finding]:
    """Yield that notices of webhooks carry addresses which nobody can open: nothing says where BenchHub is."""
    if not settings.PUBLIC_URL and Webhook.objects.filter(is_active=True, origin="").exists():
        text = "Webhooks are sent addresses without the name of this server."
        yield Finding("webhooks", "warn", text, "Set PUBLIC_URL to where people open BenchHub, or save them again.")


def _targets() -> Iterator[Finding]:
    hosts = {host.pk: host for host in Host.objects.filter(trust=Host.Trust.PINNED).order_by("name")}
    for pk, refusal in exclusive.visit_refusals(hosts.values()).items():
        yield Finding(f"host {hosts.pop(pk)}", "ok", f"Not asked. {refusal}")
    answers = examine.examine(hosts.values())
    for pk, answer in answers.items():
        if isinstance(answer, str):
            yield Finding(f"host {hosts[pk]}", "bad", answer, "Its runs stay as they are until it answers.")
    for pk, examined in answers.items():
        if isinstance(examined, Examined):
            yield from _host(str(hosts[pk]), examined)
    reached = sum(isinstance(answer, Examined) for answer in answers.values())
    yield Finding("hosts", "ok", f"{reached} of {words.count(len(answers), 'approved host')} reached.")


def _host(name: str, examined: Examined) -> Iterator[Finding]:
    if examined.free_bytes < LITTLE_BYTES:
        level: Level = "bad" if examined.free_bytes < LEAST_BYTES else "warn"
        text = f"{examined.free_bytes / 1e6:.0f} MB are free in its work directory."
        yield Finding(f"host {name}", level, text, "Make room: a full disk fails runs and cuts their logs.")
    if abs(examined.clock_ahead_s) > MOST_SKEW_S:
        yield _clock(f"host {name}", name, examined.clock_ahead_s, "this machine's")


def _some(names: Iterable[str]) -> str:
    all_names = list(names)
    rest = f" and {len(all_names) - NAMED} more" if len(all_names) > NAMED else ""
    return ", ".join(all_names[:NAMED]) + rest


def _ago(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
