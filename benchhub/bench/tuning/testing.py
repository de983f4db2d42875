"""A cluster of BenchHub's own, and forms of tuning series as browsers send them."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from benchhub.bench import testing
from benchhub.catalog.models import Cluster, ClusterParameters, Host, Instance, Workload
from runners.os_settings.script import VERSION

NEW, PLAN = "/tuning/new", "/tuning/plan"
PARAMETERS: dict[str, dict[str, Any]] = {
    "shared_buffers": {
        "kind": "integer", "unit": "8kB", "context": "postmaster", "lowest": "16", "highest": "1073741823",
    },
    "max_wal_size": {"kind": "integer", "unit": "MB", "context": "sighup", "lowest": "2", "highest": "2147483647"},
    "work_mem": {"kind": "integer", "unit": "kB", "context": "user", "lowest": "64", "highest": "2147483647"},
    "min_wal_size": {"kind": "integer", "unit": "MB", "context": "sighup", "lowest": "2", "highest": "2147483647"},
    "effective_cache_size": {"kind": "integer", "unit": "8kB", "context": "user", "lowest": "1"},
    "synchronous_commit": {"kind": "enum", "context": "user", "choices": ["local", "on", "off"]},
    "fsync": {"kind": "bool", "context": "sighup"},
    "checkpoint_timeout": {"kind": "integer", "unit": "s", "context": "sighup", "lowest": "30", "highest": "86400"},
}  # fmt: skip


def make_cluster(host: Host) -> Instance:
    """Make a cluster that BenchHub has made on a probed host, with the settings that it knows."""
    instance = testing.make_instance(host, "18", name="own", address="/srv/own/socket", bin_directory="/opt/pg18/bin")
    cluster = Cluster.objects.create(instance=instance, folder="/srv/own", wanted="", made_at=timezone.now())
    ClusterParameters.objects.create(cluster=cluster, parameters=PARAMETERS)
    return Instance.objects.select_related("cluster", "host__hardware", "build").get(pk=instance.pk)


def make_workload() -> Workload:
    return Workload.objects.create(name="TPC-B", tool="pgbench", parameters={"script": "tpcb-like", "scale": 10})


def with_helper(host: Host, *absent: str) -> Host:
    """Let runs on the host change settings of its operating system, but for those that its kernel does not have."""
    host.facts = {**host.facts, "os_settings": VERSION, "os_settings_absent": absent, "memory_bytes": 8 << 30}
    host.save()
    return host


def form_of(instance: Instance, workload: Workload, *steps: tuple[str, ...], **fields: Any) -> dict[str, str]:
    """Return a form with these steps (name, settings, those of the operating system) as a browser sends it."""
    rows = {f"steps-{i}-{field}": text for i, step in enumerate(steps) for field, text in zip(
        ("name", "settings", "os_settings"), step, strict=False)}  # fmt: skip
    management = {"steps-TOTAL_FORMS": str(len(steps)), "steps-INITIAL_FORMS": "0"}
    typed = {
        "name": "Night", "kind": "cumulative", "instance": str(instance.pk), "workload": str(workload.pk),
        "levels": "8", "repeats": "3", "duration_s": "60", "warmup_s": "10", "rest_s": "0", "thread_rule": "clients",
    }  # fmt: skip
    return {**management, **rows, **typed, **fields}
