"""Snapshots and their projections refuse TRUNCATE, as they refuse to be changed or deleted."""

from django.db import migrations


def never_emptied(table: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"CREATE TRIGGER never_emptied BEFORE TRUNCATE ON reports_{table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION benchhub_append_only();",
        f"DROP TRIGGER never_emptied ON reports_{table};",
    )


class Migration(migrations.Migration):
    dependencies = [("reports", "0001_what_is_shared")]

    operations = [never_emptied("snapshot"), never_emptied("projection")]
