"""Failed sign-ins are counted in a table that is swept, as the audit log is never emptied."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0004_second_factors"),
    ]

    operations = [
        migrations.CreateModel(
            name="Failure",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), db_index=True)),
                ("name_digest", models.CharField(db_index=True, max_length=64)),
                ("place", models.CharField(db_index=True, max_length=45)),
                ("device", models.CharField(blank=True, max_length=32)),
            ],
        ),
    ]
