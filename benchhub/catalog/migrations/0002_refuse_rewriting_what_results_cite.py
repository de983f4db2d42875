"""Rows that results cite are never rewritten: an edit makes a revision, a price is appended."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION benchhub_refuse_rewrite() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF to_jsonb(NEW) - 'retired_at' IS DISTINCT FROM to_jsonb(OLD) - 'retired_at' THEN
        RAISE EXCEPTION 'a row of % is cited as it stands: make a new revision instead', TG_TABLE_NAME
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION benchhub_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: add a new row instead', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON catalog_listprice
    FOR EACH ROW EXECUTE FUNCTION benchhub_append_only();
"""
REVISED = ("hardware", "licencemodel", "configuration", "workload")


def _trigger(table: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"CREATE TRIGGER refuse_rewrite BEFORE UPDATE ON catalog_{table} "
        "FOR EACH ROW EXECUTE FUNCTION benchhub_refuse_rewrite();",
        f"DROP TRIGGER refuse_rewrite ON catalog_{table};",
    )


class Migration(migrations.Migration):
    dependencies = [("catalog", "0001_warehouse")]
    operations = [
        migrations.RunSQL(
            FORWARD,
            "DROP TRIGGER append_only ON catalog_listprice; "
            "DROP FUNCTION benchhub_append_only; DROP FUNCTION benchhub_refuse_rewrite;",
        ),
        *(_trigger(table) for table in REVISED),
    ]
