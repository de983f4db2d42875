"""Worker processes tell of themselves, so that operators see who lives and what it is."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("bench", "0004_order_pause_and_confine_what_waits"),
    ]

    operations = [
        migrations.CreateModel(
            name="Worker",
            fields=[
                (
                    "name",
                    models.CharField(
                        help_text="Machine and process number.", max_length=160, primary_key=True, serialize=False
                    ),
                ),
                ("release", models.CharField(max_length=60)),
                ("started_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "ticked_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), db_index=True),
                ),
                ("clock_ahead_s", models.FloatField(help_text="Its clock minus the warehouse's.")),
                ("ssh_errors", models.PositiveBigIntegerField(default=0, help_text="Since it started.")),
            ],
        ),
    ]
