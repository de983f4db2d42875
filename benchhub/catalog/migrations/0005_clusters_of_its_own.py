import django.db.models.deletion
from django.db import migrations, models

import benchhub.catalog.models.clusters


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0004_hosts_are_set_apart_for_a_reason"),
    ]

    operations = [
        migrations.CreateModel(
            name="BuildParameters",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("parameters", models.JSONField(default=dict)),
                ("libraries", models.JSONField(blank=True, default=list, help_text="Those that may be preloaded.")),
                (
                    "build",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="build_parameters",
                        to="catalog.pgbuild",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Cluster",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("folder", models.CharField(max_length=300)),
                (
                    "mark",
                    models.CharField(default=benchhub.catalog.models.clusters.new_mark, editable=False, max_length=32),
                ),
                ("has_checksums", models.BooleanField(default=True)),
                (
                    "wal_segment_mib",
                    models.PositiveSmallIntegerField(
                        choices=[
                            (1, "1 MB"),
                            (4, "4 MB"),
                            (16, "16 MB"),
                            (64, "64 MB"),
                            (256, "256 MB"),
                            (1024, "1 GB"),
                        ],
                        default=16,
                    ),
                ),
                (
                    "encoding",
                    models.CharField(
                        choices=[
                            ("UTF8", "UTF-8"),
                            ("SQL_ASCII", "SQL_ASCII: bytes as they come"),
                            ("LATIN1", "Latin-1"),
                        ],
                        default="UTF8",
                        max_length=12,
                    ),
                ),
                (
                    "locale",
                    models.CharField(
                        choices=[("C", "C: by byte values"), ("C.UTF-8", "C.UTF-8"), ("en_US.UTF-8", "en_US.UTF-8")],
                        default="C",
                        max_length=16,
                    ),
                ),
                (
                    "wanted",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("make", "to be made"),
                            ("look", "to be looked at"),
                            ("stop", "to be stopped"),
                            ("remove", "to be removed"),
                        ],
                        default="make",
                        editable=False,
                        max_length=8,
                    ),
                ),
                ("visit_until", models.DateTimeField(blank=True, editable=False, null=True)),
                ("contact_error", models.TextField(blank=True, editable=False)),
                ("made_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("removed_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("facts", models.JSONField(blank=True, default=dict, editable=False)),
                ("seen_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "instance",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="cluster", to="catalog.instance"
                    ),
                ),
            ],
        ),
    ]
