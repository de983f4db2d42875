"""Second factors: the secret that an authenticator has too, and digests of recovery codes."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import benchhub.catalog.models.secret_field


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_log_says_what_was_changed"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="SecondFactor",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("secret", benchhub.catalog.models.secret_field.SecretField(editable=False)),
                (
                    "last_step",
                    models.BigIntegerField(
                        default=0, help_text="Codes of this time, and of earlier ones, are used up."
                    ),
                ),
                (
                    "recovery_digests",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64), default=list, size=None
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="second_factor",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
    ]
