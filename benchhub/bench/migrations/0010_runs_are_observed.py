"""Runs are observed once a second beside their load, unless their plan says otherwise."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("bench", "0009_systems_in_turn"),
    ]

    operations = [
        migrations.AddField(
            model_name="experiment",
            name="no_telemetry",
            field=models.BooleanField(default=False, help_text="Nothing is observed beside the load."),
        ),
        migrations.CreateModel(
            name="RunTelemetry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("metric", models.CharField(max_length=80)),
                ("unit", models.CharField(max_length=12)),
                ("start_epoch_s", models.FloatField()),
                ("step_s", models.FloatField()),
                ("packed", models.BinaryField(help_text="Its values, as runners/telemetry/compact.py packs them.")),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="telemetry", to="bench.run"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "telemetry",
                "constraints": [models.UniqueConstraint(fields=("run", "metric"), name="telemetry_once")],
            },
        ),
    ]
