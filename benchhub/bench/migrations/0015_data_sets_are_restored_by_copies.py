"""Data sets are restored by copies of their files, unless a plan says otherwise."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("bench", "0014_telemetry_is_asked_for"),
    ]

    operations = [
        migrations.AddField(
            model_name="experiment",
            name="no_copies",
            field=models.BooleanField(default=False, help_text="Data sets are loaded, and never restored by a copy."),
        ),
    ]
