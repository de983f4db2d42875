"""The main job in small: two PostgreSQL builds on one host over SSH, planned, queued, followed to their end."""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser
from datetime import datetime
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.urls import reverse

from benchhub.bench.execute import visits
from benchhub.bench.models import Experiment, Run, System
from benchhub.bench.models.states import State
from benchhub.bench.plan import plan
from benchhub.bench.plan.systems import system_under_test
from benchhub.bench.queue import queue
from benchhub.bench.queue.progress import Progress
from benchhub.catalog.models import Configuration, Hardware, Host, Instance, PgBuild, Workload
from benchhub.celery import wake

HOST_NAME = "Demonstration target"
HARDWARE_NAME = "Demonstration machine"
CLIENT_LEVELS = [1, 2, 4, 8]
REPEATS = 3
DURATION_S = 3
CLIENT_MAJOR = 18
POLL_S = 0.25


class Command(BaseCommand):
    help = "Plan and run the demonstration on the target that a JSON file describes, and follow it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--target", type=Path, required=True, help="JSON file that describes the target")
        parser.add_argument("--anew", action="store_true", help="run it once more, beside what was run before")
        parser.add_argument("--since", type=datetime.fromisoformat, help="what ended before was not run at this start")
        parser.add_argument("--pages", default="", help="address of the pages, if somebody is to watch")
        parser.add_argument("--levels", type=int, nargs="+", default=CLIENT_LEVELS, help="numbers of clients")
        parser.add_argument("--repeats", type=int, default=REPEATS, help="runs at each level of each build")
        parser.add_argument("--seconds", type=int, default=DURATION_S, help="duration of a run")

    def handle(self, *_args: Any, target: Path, anew: bool, since: datetime | None, **options: Any) -> None:
        target_facts = json.loads(target.read_text())
        ensure_user(target_facts["user"])
        self.stdout.write(invitation(options["pages"], target_facts["user"]), ending="")
        self.stdout.flush()
        ensure_host(target_facts)
        earlier = last_demonstration()
        failures = what_failed(earlier) if earlier else []
        if failures:
            self.stdout.write(
                "\n".join(["  Of the start before, these did not succeed:", *failures, "  So all run anew."])
            )
        experiment = earlier if earlier and not (anew or failures) else queue_demonstration(target_facts, options)
        wake()
        path = reverse("experiment", args=[experiment.pk])
        Path(target_facts["result_file"]).write_text(json.dumps({"path": path, "name": experiment.name}))
        if not follow(experiment, Progress(sys.stdout, since)):
            raise CommandError(f"Not every run succeeded: the page {path} gives the reasons.")
        self.stdout.write(f"  Runs of {experiment.duration_s} s on one machine support no verdict on the two builds.")


def ensure_user(user_facts: dict[str, str]) -> None:
    """Make the user who looks at the demonstration, with the right to do everything in it."""
    users = get_user_model().objects
    user, is_new = users.get_or_create(username=user_facts["username"])
    if is_new or not user.is_superuser or not user.check_password(user_facts["password"]):
        user.is_superuser = True
        user.set_password(user_facts["password"])
        user.save()


def invitation(pages_url: str, user_facts: dict[str, str]) -> str:
    """Say where the user can sign in from now on: a line, or nothing where nobody is to watch."""
    user = f"user {user_facts['username']}, password {user_facts['password']}"
    return f"  Watch it at {pages_url}, {user}\n" if pages_url else ""


def last_demonstration() -> Experiment | None:
    return Experiment.objects.filter(is_demonstration=True).order_by("-created_at", "-pk").first()


def what_failed(experiment: Experiment) -> list[str]:
    """Return a line for each run that failed or was cancelled: with them it cannot be taken up again."""
    runs = experiment.runs.filter(state__in=[State.FAILED, State.CANCELLED]).for_table()
    return [f"    {run}: {run.state}. {run.reason}" for run in runs]


@transaction.atomic
def queue_demonstration(target_facts: dict[str, Any], options: dict[str, Any]) -> Experiment:
    host = Host.objects.get(name=HOST_NAME)
    systems = [ensure_system(host, instance) for instance in target_facts["instances"]]
    client = next(instance for instance in target_facts["instances"] if instance["build_major"] == CLIENT_MAJOR)
    experiment = Experiment(
        name="Demonstration: PostgreSQL 16 and 18, select-only",
        is_demonstration=True,
        workload=Workload.objects.current().get(name="pgbench select-only, scale 10"),
        client_build=ensure_build(host, client["bin_directory"]),
        client_bin_directory=client["bin_directory"],
        client_levels=options["levels"],
        repeats=options["repeats"],
        duration_s=options["seconds"],
        telemetry=True,
    )
    plan.queue(experiment, systems)
    return experiment


def ensure_host(target_facts: dict[str, Any]) -> None:
    """Save and probe the demonstration's target. It made its host key itself, so nobody is asked before pinning it."""
    host = Host.objects.filter(name=HOST_NAME).first() or Host(name=HOST_NAME)
    host.address, host.port, host.username = (target_facts[name] for name in ("address", "port", "username"))
    host.work_directory = target_facts["work_directory"]
    host.host_key, host.trust = target_facts["host_key"], Host.Trust.PINNED
    host.hardware = Hardware.objects.current().get(name=HARDWARE_NAME)
    if not host.public_key:
        host.make_key_pair()
    host.save()
    authorize(Path(target_facts["authorize_file"]), host.public_key)
    visits.probe_host(host, [instance["bin_directory"] for instance in target_facts["instances"]])


def authorize(file: Path, public_key: str) -> None:
    lines = file.read_text().splitlines() if file.exists() else []
    if public_key.strip() not in lines:
        with file.open("a") as keys:
            keys.write(public_key.strip() + "\n")


def ensure_build(host: Host, bin_directory: str) -> PgBuild:
    return PgBuild.from_facts(host.build_facts(bin_directory))


def ensure_system(host: Host, instance_facts: dict[str, Any]) -> System:
    instance, _ = Instance.objects.update_or_create(
        name=instance_facts["name"],
        defaults={
            "host": host,
            "build": ensure_build(host, instance_facts["bin_directory"]),
            "configuration": Configuration.objects.current().get(name="Demonstration defaults"),
            "address": "127.0.0.1",
            "port": instance_facts["port"],
            "database": instance_facts["database"],
            "username": instance_facts["username"],
            "password": instance_facts["password"] or "",
            "data_directory": instance_facts["data_directory"],
            "bin_directory": instance_facts["bin_directory"],
        },
    )
    hardware = Hardware.objects.current().get(name=HARDWARE_NAME)
    return system_under_test(
        instance, driver=host, hardware=hardware, path=System.Path.LOOPBACK, label=str(instance.build)
    )


def follow(experiment: Experiment, progress: Progress) -> bool:
    """Show each run as it ends; returns whether all succeeded. A lost run is run again, twice at most."""
    while True:
        if queue.run_lost_again(experiment, attempts=3):
            wake()
        runs = list(Run.objects.filter(experiment=experiment).for_table())
        progress.show(runs)
        if all(run.is_final for run in runs):
            return progress.end(runs)
        time.sleep(POLL_S)
