"""A saved price sheet stays as it was: an edit makes a revision, with lines and discounts of its own."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION benchhub_saved_with_its_sheet() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT created_at FROM catalog_pricesheet WHERE id = NEW.of_sheet_id) IS DISTINCT FROM CURRENT_TIMESTAMP THEN
        RAISE EXCEPTION 'price sheet % is saved and whole: make a new revision instead', NEW.of_sheet_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER refuse_rewrite BEFORE UPDATE ON catalog_pricesheet
    FOR EACH ROW EXECUTE FUNCTION benchhub_refuse_rewrite();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON catalog_exchangerate
    FOR EACH ROW EXECUTE FUNCTION benchhub_append_only();
"""
PARTS = ("pricesheetline", "pricesheetdiscount")


def _triggers(table: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON catalog_{table} "
        "FOR EACH ROW EXECUTE FUNCTION benchhub_append_only(); "
        f"CREATE TRIGGER saved_with_its_sheet BEFORE INSERT ON catalog_{table} "
        "FOR EACH ROW EXECUTE FUNCTION benchhub_saved_with_its_sheet();",
        f"DROP TRIGGER append_only ON catalog_{table}; DROP TRIGGER saved_with_its_sheet ON catalog_{table};",
    )


class Migration(migrations.Migration):
    dependencies = [("catalog", "0004_price_sheets_and_all_licence_rules")]
    operations = [
        migrations.RunSQL(
            FORWARD,
            "DROP TRIGGER refuse_rewrite ON catalog_pricesheet; DROP TRIGGER append_only ON catalog_exchangerate; "
            "DROP FUNCTION benchhub_saved_with_its_sheet;",
        ),
        *(_triggers(table) for table in PARTS),
    ]
