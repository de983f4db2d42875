"""Runs that snapshots rest on are noted, so that their files stay in the warehouse."""

from typing import Any

from django.db import migrations

from benchhub.analysis.snapshot import canonical, citations


def cite(apps: Any, _schema_editor: Any) -> None:
    snapshots = apps.get_model("reports", "Snapshot").objects.values_list("content", flat=True)
    cited: set[int] = set()
    for content in snapshots.iterator(chunk_size=1):
        cited |= citations.runs(canonical.from_bytes(bytes(content)))
    keys = apps.get_model("bench", "Run").objects.filter(pk__in=cited).values_list("pk", flat=True)
    row = apps.get_model("bench", "CitedRun")
    row.objects.bulk_create([row(run_id=key) for key in keys], ignore_conflicts=True)


class Migration(migrations.Migration):
    dependencies = [("reports", "0004_password_tries_by_place"), ("bench", "0025_files_move_to_an_archive")]

    operations = [migrations.RunPython(cite, migrations.RunPython.noop)]
