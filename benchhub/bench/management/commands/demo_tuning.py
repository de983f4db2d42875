"""A tuning series in small: a cluster of BenchHub's own, a baseline and four steps in turns, followed to their end."""

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

from benchhub.bench.models import TuningSeries
from benchhub.bench.queue.progress import Progress
from benchhub.bench.tuning.draft import PREFIX, SeriesDraft
from benchhub.bench.tuning.queue import queue
from benchhub.catalog.instances.clusters.form import AS_FOUND, ClusterForm
from benchhub.catalog.models import Cluster, Configuration, Host, Instance, Workload
from benchhub.celery import wake

from .demo_experiment import (
    CLIENT_MAJOR,
    HOST_NAME,
    POLL_S,
    ensure_host,
    ensure_user,
    follow,
    invitation,
    what_failed,
)

NAME, CLUSTER_NAME = "Demonstration: tuning", "Demonstration cluster"
PATIENCE_S = 120
STEPS = (
    ("memory", "shared_buffers = 512MB\neffective_cache_size = 1536MB"),
    ("WAL", "max_wal_size = 2GB\nmin_wal_size = 512MB"),
    ("checkpoints", "checkpoint_timeout = 30min"),
    ("commits that may be lost", "synchronous_commit = off"),
)
RUNS = {
    "levels": "8",
    "repeats": "3",
    "duration_s": "8",
    "warmup_s": "2",
    "rest_s": "0",
    "thread_rule": "2",
    "telemetry": "on",
}


class Command(BaseCommand):
    help = "Plan and run a tuning series on the target that a JSON file describes, and follow it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--target", type=Path, required=True, help="JSON file that describes the target")
        parser.add_argument("--anew", action="store_true", help="run it once more, beside what was run before")
        parser.add_argument("--since", type=datetime.fromisoformat, help="what ended before was not run at this start")
        parser.add_argument("--pages", default="", help="address of the pages, if somebody is to watch")

    def handle(self, *_args: Any, target: Path, anew: bool, since: datetime | None, **options: Any) -> None:
        target_facts = json.loads(target.read_text())
        ensure_user(target_facts["user"])
        self.stdout.write(invitation(options["pages"], target_facts["user"]), ending="")
        self.stdout.flush()
        ensure_host(target_facts)
        build = next(row for row in target_facts["instances"] if row["build_major"] == CLIENT_MAJOR)
        instance = ensure_cluster(Host.objects.get(name=HOST_NAME), build["bin_directory"])
        earlier = TuningSeries.objects.filter(experiment__is_demonstration=True).order_by("-pk").first()
        is_usable = earlier is not None and not anew and not what_failed(earlier.experiment)
        series = earlier if earlier and is_usable else queue_series(instance, target_facts["user"]["username"])
        wake()
        path = reverse("tuning-series", args=[series.pk])
        Path(target_facts["result_file"]).write_text(json.dumps({"path": path, "name": series.name}))
        if not follow(series.experiment, Progress(sys.stdout, since)):
            raise CommandError(f"Not every run succeeded: the page of {series.experiment} gives the reasons.")


def ensure_cluster(host: Host, bin_directory: str) -> Instance:
    """Return the cluster of BenchHub's own, made. Raises CommandError where a worker cannot make it."""
    cluster = Cluster.objects.filter(instance__name=CLUSTER_NAME, removed_at=None).first() or _new(host, bin_directory)
    if not cluster.made_at and not cluster.wanted:
        cluster.ask(Cluster.Wanted.MAKE)
    wake()
    deadline = time.monotonic() + PATIENCE_S
    while cluster.made_at is None:
        if time.monotonic() > deadline:
            raise CommandError(f"{CLUSTER_NAME} was not made: {cluster.contact_error or 'no worker did it'}")
        time.sleep(POLL_S)
        cluster.refresh_from_db()
    return cluster.instance


def _new(host: Host, bin_directory: str) -> Cluster:
    configuration = Configuration.objects.current().get(name=AS_FOUND)
    values = {"name": CLUSTER_NAME, "build": bin_directory, "configuration": str(configuration.pk), "folder": ""}
    usual = {"has_checksums": "on", "wal_segment_mib": "16", "encoding": "UTF8", "locale": "C"}
    form = ClusterForm({**values, **usual}, host=host)
    if not form.is_valid():
        raise CommandError(" ".join(str(error) for errors in form.errors.values() for error in errors))
    return form.save()


@transaction.atomic
def queue_series(instance: Instance, username: str) -> TuningSeries:
    """Queue the series by the form that people use, so that it refuses what it refuses them."""
    count = TuningSeries.objects.filter(name__startswith=NAME).count()
    workload = Workload.objects.current().get(name="pgbench tpcb-like, scale 10")
    rows = {f"{PREFIX}-{i}-{field}": text for i, step in enumerate(STEPS) for field, text in zip(
        ("name", "settings"), step, strict=True)}  # fmt: skip
    values = {
        "name": f"{NAME} {count + 1}" if count else NAME, "kind": "cumulative", "instance": str(instance.pk),
        "workload": str(workload.pk), f"{PREFIX}-TOTAL_FORMS": str(len(STEPS)), f"{PREFIX}-INITIAL_FORMS": "0",
    }  # fmt: skip
    user = get_user_model().objects.get(username=username)
    draft = SeriesDraft({**values, **rows, **RUNS}, user=user)  # type: ignore[arg-type]  # a mapping is enough
    if draft.request is None:
        raise CommandError(" ".join(draft.problems))
    draft.request.plan_request.experiment.is_demonstration = True
    return queue(draft.request, user)
