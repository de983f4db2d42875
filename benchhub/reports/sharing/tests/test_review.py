"""Whatever text of a host, a server or a load generator stands in a shared page, its maker has read before."""

import json
import re

import pytest
from django.db import connection

from benchhub.bench.models import Found, Result, System
from benchhub.catalog.models import Hardware, LicenceModel, ListPrice, PgBuild
from benchhub.reports.models import Comparison
from benchhub.reports.sharing import publish
from benchhub.reports.sharing.review import Review
from benchhub.reports.sharing.testing import contents

pytestmark = [pytest.mark.django_db]

FACTS = {
    "os": {"name": "Debian", "id": "debian", "corp_note": "x"},
    "kernel": "6.1.0-x",
    "architecture": "x86_64",
    "cpu": {"model": "Xeon", "vendor": "Intel", "flags": ["a"], "core_kinds": [{"name": "P", "cores": 4, "cpus": 8}]},
    "dmi": {"sys_vendor": "QEMU", "product_name": "pc"},
    "block_devices": [{"name": "sda", "model": "Disk", "scheduler": "none", "size_bytes": 1}],
    "filesystems": [{"folder": "/", "type": "ext4", "layers": ["LVM"], "disks": ["sda"]}],
    "cpu_governors": ["performance"],
    "clock_source": "tsc",
    "transparent_huge_pages": {"enabled": "madvise"},
    "kernel_options": ["mitigations=off"],
    "sysctls": {"vm.swappiness": "1", "net.ipv4.tcp_congestion_control": "cubic"},
    "remarks": ["something odd"],
    "missing": ["dmi"],
}
SETTINGS = ("shared_buffers", "TimeZone", "lc_messages", "shared_preload_libraries", "work_mem")
SETTING = {"setting": "x", "unit": "8kB", "source": "configuration file"}


class Marks:
    """Adds a word of its own to each text of a tree; the names of facts stay as they are."""

    def __init__(self):
        self.count = 0

    def mark(self, text, kind=""):
        self.count += 1
        return f"{text} canary{kind}{self.count}z"

    def settings(self):
        """Return settings of which one part each is marked: as values, which are published, or as what never is."""
        marked = {name: {**SETTING, "setting": self.mark("x", "value")} for name in SETTINGS}
        refused = {"jit": {**SETTING, "unit": self.mark("kB", "refused")}}
        refused["fsync"] = {**SETTING, "source": self.mark("default", "refused")}
        refused["archive_command"] = {**SETTING, "setting": self.mark("x", "refused")}
        return marked | refused

    def tree(self, value):
        if isinstance(value, str):
            return self.mark(value)
        if isinstance(value, list):
            return [self.tree(inner) for inner in value]
        return {name: self.tree(inner) for name, inner in value.items()} if isinstance(value, dict) else value


def canaries(text):
    return set(re.findall("canary[a-z]*[0-9]+z", text))


@pytest.fixture
def snapshot(comparison, publisher):
    marks = Marks()
    with connection.cursor() as cursor:  # what is cited refuses to be changed
        cursor.execute("SET LOCAL session_replication_role = replica")
    for row in Found.objects.all():
        row.host = {name: marks.tree(FACTS) | {marks.mark("free"): "1"} for name in row.host}
        row.settings, row.server = marks.settings(), marks.tree(row.server)
        row.pooler = marks.tree({"version": "1.23", "pool_mode": "transaction"})
        row.save()
    for result in Result.objects.all():
        doubts = [{"code": "server-settings-left", "text": marks.mark("doubt")}]
        Result.objects.filter(pk=result.pk).update(doubts=doubts, remarks=[marks.mark("remark")])
    System.objects.update(description={"version": 1, "pooler": marks.tree({"kind": "PgBouncer", "machine": "Box"})})
    for model, field in ((PgBuild, "version"), (PgBuild, "configure_options"), (Hardware, "name"), (Hardware, "disks")):
        for row in model.objects.all():
            model.objects.filter(pk=row.pk).update(**{field: marks.mark("x")})
    for model, field in ((LicenceModel, "name"), (ListPrice, "source")):
        row = model.objects.first()
        model.objects.filter(pk=row.pk).update(**{field: marks.mark("x")})
    return publish.comparison_snapshot(Comparison.objects.get(), publisher)


def test_no_text_of_a_host_or_server_is_published_that_nobody_has_read(snapshot, publisher):
    _, token = publish.link(snapshot, (), "", publisher, name="all of it")
    published = {name: canaries(content.decode("latin-1")) for name, content in contents(f"/s/{token}/")}
    reviewed = canaries(json.dumps([text.text for text in Review(snapshot, ()).texts]))
    everything = set().union(*published.values())
    assert len(everything) > 20
    for name in ("", "settings.csv", "repeat-1/settings-as-found.csv"):
        assert len([mark for mark in published[name] if "value" in mark]) >= len(SETTINGS), name
    assert not [mark for mark in everything if "refused" in mark]
    assert {name: marks - reviewed for name, marks in published.items() if marks - reviewed} == {}
