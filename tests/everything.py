"""One row of everything that has a page, for the tests that look at every page."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.models import Design, Experiment, Notice, Recurrence, Run, System, Webhook, Window
from benchhub.bench.queue import timetable
from benchhub.bench.results import live_log
from benchhub.bench.results.telemetry import sysstat
from benchhub.catalog.models import (
    Cluster,
    ClusterParameters,
    Configuration,
    DataCopy,
    ExchangeRate,
    Hardware,
    Host,
    Inspection,
    Instance,
    LicenceModel,
    ListPrice,
    PriceSheet,
    PriceSheetDiscount,
    PriceSheetLine,
    SourceBuild,
    SourceBuildLog,
)
from benchhub.catalog.testing import make_sheet
from benchhub.reports.models import Comparison
from benchhub.reports.sharing import publish
from runners.builds.recipe import RELEASES, Recipe


def everything() -> dict[str, Any]:
    """The rows by name; the experiment has runs in every state that looks different."""
    catalogue = _priced()
    host = testing.make_host()
    system = testing.make_system("18", host, catalogue["hardware"])
    experiment = testing.make_experiment([system], design=Design.objects.create(name="Ratios", preset="report-a"))
    runs = _runs(experiment, system)
    _times(host, experiment)
    facts = {"builds": [testing.build("18.4")], "username": "bench"}
    Host.objects.update(paused_at=Now(), unreachable_since=Now(), contact_error="It timed out.", facts=facts)
    return {
        **catalogue,
        **runs,
        **_idle(system),
        "own instance": _own(system),
        "source build": _source_build(system),
        **_shared(experiment, system),
        **_webhook(experiment, runs["run"]),
        "sheet": sheet_with_everything(catalogue["hardware"]),
        "host": host,
        "system": system,
        "instance": _tested(system),
        "configuration": system.configuration,
        "workload": experiment.workload,
        "experiment": experiment,
        "design": experiment.design,
    }


def _priced() -> dict[str, Any]:
    hardware = testing.make_box()
    licence = LicenceModel.objects.create(name="Per core", metric="core")
    price = {"currency": "EUR", "priced_on": "2026-01-01", "source": "A list"}
    box_price = ListPrice.objects.create(hardware=hardware, description="Box", amount=2400, **price)
    ListPrice.objects.create(licence_model=licence, description="A core for a year", amount=100, **price)
    ExchangeRate.objects.create(base="EUR", quoted="USD", value="1.25", priced_on="2026-01-01", source="A bank")
    return {"hardware": hardware, "licence": licence, "price": box_price}


def _runs(experiment: Experiment, system: System) -> dict[str, Run]:
    run = testing.make_run(experiment, system, 1, 1)
    testing.succeeded(run, 300.0, doubts=[{"code": "x", "text": "A doubt."}])
    testing.with_everything(run)
    testing.observed(run)
    testing.succeeded(of_sysstat := testing.make_run(experiment, system, 1, 2), 310.0)
    testing.dated(of_sysstat)
    sysstat.store(of_sysstat, testing.sysstat_json(nodename="other"), make_user("tell", Role.RUNNER))
    testing.succeeded(aside := testing.make_run(experiment, system, 1, 3), 30.0)
    Run.objects.filter(pk=aside.pk).update(set_aside_at=Now(), set_aside_reason="A backup ran.")
    testing.ended(testing.make_run(experiment, system, 8, 1), "failed", "pgbench exited with 2.")
    waiting = testing.make_run(experiment, system, 8, 2)
    lost = testing.make_run(experiment, system, 8, 3)
    testing.ended(lost, "failed", "Its host was rebooted.")
    live_log.keep(lost, "err", 0, b"progress: 1.0 s\n")
    return {"run": run, "run of sysstat": of_sysstat, "waiting": waiting, "lost": lost}


def _times(host: Host, experiment: Experiment) -> None:
    for owner in ({"host": host}, {"experiment": experiment}):
        Window.objects.create(weekdays=[0, 5], starts_at="20:00", ends_at="06:00", zone="Europe/Berlin", **owner)
    timetable.expand()
    rule = {"weekdays": [0, 1], "starts_at": "22:00", "zone": "Europe/Berlin", "next_at": timezone.now()}
    Recurrence.objects.create(plan=experiment, skips=[{"at": "2026-01-01T21:00:00+00:00", "experiment": 1}], **rule)


def _idle(system: System) -> dict[str, Any]:
    """Return rows that nothing refers to, so that they may be deleted or retired."""
    server = {"address": "127.0.0.1", "database": "bench", "username": "bench"}
    built = {"build": system.build, "configuration": system.configuration}
    return {
        "idle host": testing.make_host("idle", "192.0.2.2"),
        "idle instance": Instance.objects.create(name="idle", **built, **server),
        "idle configuration": Configuration.objects.create(name="idle"),
    }


def _tested(system: System) -> Instance:
    """Return its instance with a pooler in front of it, whose test found something to mind and something to mend."""
    sight = {"version": "18.4", "version_num": 180004, "may_create": False, "other_tables": 3}
    sight["pooler"] = {"version": "1.23.1", "settings": {"pool_mode": "transaction", "pool_size": "20"}}
    Instance.objects.filter(pk=system.instance_id).update(pooler="PgBouncer", pooler_address="203.0.113.9")
    driver: Any = system.driver
    Inspection.objects.create(instance=system.instance, driver=driver, is_wanted=False, sight=sight, seen_at=Now())
    return system.instance


def _own(system: System) -> Instance:
    """Return the instance of a cluster of BenchHub's own, which runs."""
    rows = {"work_mem": {"kind": "integer", "unit": "kB", "context": "user", "lowest": "64", "highest": "2147483647"}}
    place = {"address": "/data/own", "database": "bench", "username": "bench", "host": system.instance.host}
    instance = Instance.objects.create(
        name="own", build=system.build, configuration=system.configuration, data_directory="/data/own/data", **place
    )
    settings = [{"name": "work_mem", "setting": "8192", "unit": "kB"}]
    facts = {"is_there": True, "is_running": True, "size_bytes": 2**25, "settings": settings}
    cluster = Cluster.objects.create(
        instance=instance, folder="/data/own", wanted="", made_at=Now(), seen_at=Now(), facts=facts
    )
    ClusterParameters.objects.create(cluster=cluster, parameters=rows)
    recipe = {"tool": "pgbench", "scale": 1000}
    times = {"loaded_s": 312.4, "copied_s": 41.8, "restored_s": 39.2}
    DataCopy.objects.create(cluster=cluster, key="c" * 32, recipe=recipe, size_bytes=16 * 2**30, **times)
    return instance


def _source_build(system: System) -> SourceBuild:
    """Return a PostgreSQL that BenchHub built on the host, at the second attempt."""
    recipe = Recipe("release", "17.2", RELEASES, ("--without-icu", "CFLAGS=-O3"))
    fields = {"revision": recipe.revision, "place": recipe.place, "options": list(recipe.options)}
    facts = {"version": "17.2", "version_num": 170002, "bin_directory": "/data/builds/1/bin"}
    build = SourceBuild.objects.create(
        host=system.driver,
        kind="release",
        digest=recipe.digest,
        state="built",
        facts=facts,
        log_tail="== make",
        **fields,
    )
    sums = {"sha256": "a" * 64, "whole_sha256": "a" * 64}
    SourceBuildLog.objects.create(build=build, number=1, content=b"make", size_bytes=4, whole_bytes=4, **sums)
    return build


def _shared(experiment: Experiment, system: System) -> dict[str, Any]:
    query = f"curve={experiment.pk}-{system.pk}"
    comparison = Comparison.objects.create(title="How it scales", query=query, remarks="One box.")
    snapshot = publish.comparison_snapshot(comparison, AnonymousUser())
    link, _ = publish.link(snapshot, ["host"], "correct horse", None, name="A reader")
    return {"comparison": comparison, "snapshot": snapshot, "link": link}


def _webhook(experiment: Experiment, run: Run) -> dict[str, Any]:
    colleague = get_user_model().objects.create_user("grace")
    webhook = Webhook.objects.create(
        name="Chat", url="https://example.org/hook", events=["run.ended"], secret="s", created_by=colleague
    )
    Notice.objects.create(webhook=webhook, event="run.ended", experiment=experiment, run=run)
    return {"colleague": colleague, "webhook": webhook}


def sheet_with_everything(hardware: Hardware) -> PriceSheet:
    """A revision whose form has every kind of row, and whose discount is suspicious."""
    with transaction.atomic():
        sheet = make_sheet(hardware=hardware).revise()
        row = {"of_sheet": sheet, "position": 1, "description": "Server", "category": "Hardware"}
        PriceSheetLine.objects.create(**row, unit_price=100, maintenance_per="year", maintenance_price=5)
        PriceSheetDiscount.objects.create(of_sheet=sheet, position=1, description="Volume", percent=30)
    return sheet
