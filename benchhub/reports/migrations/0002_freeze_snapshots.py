"""What was published is never rewritten nor deleted: neither a snapshot nor what a link shows of it."""

from django.db import migrations

TABLES = ("snapshot", "projection")


def _trigger(table: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON reports_{table} "
        "FOR EACH ROW EXECUTE FUNCTION benchhub_append_only();",
        f"DROP TRIGGER append_only ON reports_{table};",
    )


class Migration(migrations.Migration):
    dependencies = [
        ("reports", "0001_share_comparisons"),
        ("catalog", "0002_refuse_rewriting_what_results_cite"),
    ]
    operations = [_trigger(table) for table in TABLES]
