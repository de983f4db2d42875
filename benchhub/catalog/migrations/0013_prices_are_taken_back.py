"""List prices can be taken back, alone or with all of their import; their rows stay."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

# A price may be taken back once, and in nothing else does a row change.
FUNCTION = """
CREATE FUNCTION benchhub_taken_back_once() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    marks text[] := ARRAY['taken_back_at', 'taken_back_by_id'];
BEGIN
    IF OLD.taken_back_at IS NOT NULL OR NEW.taken_back_at IS NULL
        OR to_jsonb(NEW) - marks IS DISTINCT FROM to_jsonb(OLD) - marks THEN
        RAISE EXCEPTION '% is append-only: take a row back, and add a new one instead', TG_TABLE_NAME
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
"""
TRIGGERS = """
DROP TRIGGER append_only ON catalog_listprice;
CREATE TRIGGER append_only BEFORE DELETE ON catalog_listprice
    FOR EACH ROW EXECUTE FUNCTION benchhub_append_only();
CREATE TRIGGER taken_back_once BEFORE UPDATE ON catalog_listprice
    FOR EACH ROW EXECUTE FUNCTION benchhub_taken_back_once();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON catalog_priceimport
    FOR EACH ROW EXECUTE FUNCTION benchhub_append_only();
"""
TRIGGERS_BEFORE = """
DROP TRIGGER append_only ON catalog_priceimport;
DROP TRIGGER taken_back_once ON catalog_listprice;
DROP TRIGGER append_only ON catalog_listprice;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON catalog_listprice
    FOR EACH ROW EXECUTE FUNCTION benchhub_append_only();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0012_poolers_have_tls_of_their_own"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="PriceImport",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("made_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.RemoveConstraint(
            model_name="listprice",
            name="list_price_natural_key",
        ),
        migrations.AddField(
            model_name="listprice",
            name="taken_back_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="listprice",
            name="taken_back_by",
            field=models.ForeignKey(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="priceimport",
            name="made_by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="listprice",
            name="price_import",
            field=models.ForeignKey(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="prices",
                to="catalog.priceimport",
            ),
        ),
        migrations.AddConstraint(
            model_name="listprice",
            constraint=models.UniqueConstraint(
                condition=models.Q(("taken_back_at", None)),
                fields=("hardware", "licence_model", "description", "source", "priced_on"),
                name="list_price_natural_key",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="listprice",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("taken_back_at", None), ("taken_back_by", None)),
                    models.Q(("taken_back_at__isnull", False), ("taken_back_by__isnull", False)),
                    _connector="OR",
                ),
                name="list_price_taken_back_by_somebody",
            ),
        ),
        migrations.RunSQL(FUNCTION, "DROP FUNCTION benchhub_taken_back_once;"),
        migrations.RunSQL(TRIGGERS, TRIGGERS_BEFORE),
    ]
