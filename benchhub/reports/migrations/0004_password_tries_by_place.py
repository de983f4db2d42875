"""Passwords that are tried at a link are counted by where they come from, so that nobody keeps others out."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reports", "0003_choices_of_readers"),
    ]

    operations = [
        migrations.RemoveField(
            model_name="link",
            name="failed_at",
        ),
        migrations.RemoveField(
            model_name="link",
            name="failures",
        ),
        migrations.CreateModel(
            name="LinkTry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
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
    ]
