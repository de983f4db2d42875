"""What is shared: snapshots and their projections are never rewritten, deleted nor emptied."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from benchhub.catalog.models.new_tables import CreateModels

TABLES = ("reports_snapshot", "reports_projection")
APPEND_ONLY = """
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {table}
    FOR EACH ROW EXECUTE FUNCTION benchhub_append_only();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION benchhub_append_only();
"""
NO_TRIGGERS = "DROP TRIGGER never_emptied ON {table}; DROP TRIGGER append_only ON {table};"


class Migration(migrations.Migration):
    # A warehouse that has applied these goes on with what it has not applied of them.
    replaces = [
        ("reports", "0001_share_comparisons"),
        ("reports", "0002_freeze_snapshots"),
        ("reports", "0001_what_is_shared"),
        ("reports", "0002_snapshots_are_never_emptied"),
        ("reports", "0003_choices_of_readers"),
        ("reports", "0004_password_tries_by_place"),
    ]

    initial = True

    dependencies = [
        ("bench", "0001_squashed_0018_loads_go_through_poolers"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateModels(
            migrations.CreateModel(
                name="Comparison",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("title", models.CharField(max_length=160)),
                    ("remarks", models.TextField(blank=True)),
                    ("query", models.TextField()),
                    ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ("changed_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    (
                        "created_by",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="+",
                            to=settings.AUTH_USER_MODEL,
                        ),
                    ),
                ],
            ),
            migrations.CreateModel(
                name="Snapshot",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    (
                        "published",
                        models.CharField(blank=True, help_text="The published report that this is of.", max_length=80),
                    ),
                    ("title", models.CharField(max_length=160)),
                    ("content", models.BinaryField()),
                    ("sha256", models.CharField(max_length=64)),
                    ("taken_at", models.DateTimeField()),
                    (
                        "comparison",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="snapshots",
                            to="reports.comparison",
                        ),
                    ),
                    (
                        "taken_by",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="+",
                            to=settings.AUTH_USER_MODEL,
                        ),
                    ),
                ],
            ),
            migrations.CreateModel(
                name="Projection",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    (
                        "hidden",
                        django.contrib.postgres.fields.ArrayField(
                            base_field=models.CharField(max_length=12), blank=True, default=list, size=None
                        ),
                    ),
                    ("content", models.BinaryField()),
                    ("sha256", models.CharField(max_length=64)),
                    (
                        "snapshot",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="projections",
                            to="reports.snapshot",
                        ),
                    ),
                ],
                options={
                    "constraints": [models.UniqueConstraint(fields=("snapshot", "hidden"), name="projection_once")],
                },
            ),
            migrations.CreateModel(
                name="Link",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    (
                        "name",
                        models.CharField(
                            help_text="Who it is for. Only people who sign in here see this.", max_length=120
                        ),
                    ),
                    ("token_sha256", models.CharField(editable=False, max_length=64, unique=True)),
                    ("password", models.CharField(blank=True, editable=False, max_length=256)),
                    ("expires_at", models.DateTimeField(blank=True, null=True)),
                    ("embedded_by", models.CharField(blank=True, max_length=600)),
                    (
                        "choices",
                        django.contrib.postgres.fields.ArrayField(
                            base_field=models.CharField(max_length=12), blank=True, default=list, size=None
                        ),
                    ),
                    ("paused_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    ("revoked_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    ("views", models.PositiveBigIntegerField(default=0, editable=False)),
                    ("viewed_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    (
                        "created_by",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="+",
                            to=settings.AUTH_USER_MODEL,
                        ),
                    ),
                    (
                        "projection",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT, related_name="links", to="reports.projection"
                        ),
                    ),
                    (
                        "snapshot",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT, related_name="links", to="reports.snapshot"
                        ),
                    ),
                ],
                options={
                    "ordering": ["-pk"],
                },
            ),
            migrations.CreateModel(
                name="Tag",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=40)),
                    (
                        "experiment",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE, related_name="tags", to="bench.experiment"
                        ),
                    ),
                ],
                options={
                    "ordering": ["name"],
                    "constraints": [models.UniqueConstraint(fields=("experiment", "name"), name="tag_once")],
                },
            ),
            migrations.CreateModel(
                name="LinkTry",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ("reader", models.CharField(blank=True, max_length=32)),
                    ("place", models.CharField(max_length=45)),
                    ("area", models.CharField(max_length=45)),
                    (
                        "link",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE, related_name="tries", to="reports.link"
                        ),
                    ),
                ],
                options={
                    "verbose_name_plural": "link tries",
                    "indexes": [models.Index(fields=["link", "at"], name="link_try_at")],
                },
            ),
            migrations.CreateModel(
                name="Printed",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=10)),
                    ("release", models.CharField(max_length=40)),
                    ("content", models.BinaryField()),
                    (
                        "projection",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE, related_name="prints", to="reports.projection"
                        ),
                    ),
                ],
                options={
                    "constraints": [models.UniqueConstraint(fields=("projection", "name"), name="printed_once")],
                },
            ),
        ),
        *(migrations.RunSQL(APPEND_ONLY.format(table=table), NO_TRIGGERS.format(table=table)) for table in TABLES),
    ]
