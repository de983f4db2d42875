"""Clusters of BenchHub's own keep copies of data sets beside them."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0006_tests_of_instances"),
    ]

    operations = [
        migrations.AlterField(
            model_name="cluster",
            name="wanted",
            field=models.CharField(
                blank=True,
                choices=[
                    ("make", "to be made"),
                    ("look", "to be looked at"),
                    ("stop", "to be stopped"),
                    ("discard", "to be freed of its copies"),
                    ("remove", "to be removed"),
                ],
                default="make",
                editable=False,
                max_length=8,
            ),
        ),
        migrations.CreateModel(
            name="DataCopy",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=32)),
                ("recipe", models.JSONField()),
                ("size_bytes", models.PositiveBigIntegerField()),
                ("loaded_s", models.FloatField()),
                ("copied_s", models.FloatField()),
                ("restored_s", models.FloatField(blank=True, null=True)),
                ("shares_blocks", models.BooleanField(default=False)),
                ("is_there", models.BooleanField(default=True)),
                ("made_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="copies", to="catalog.cluster"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "data copies",
                "constraints": [models.UniqueConstraint(fields=("cluster", "key"), name="data_copy_once")],
            },
        ),
    ]
