"""Permits, tokens, the audit log, remembered answers. Who has an account already keeps all rights."""

from typing import Any

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

APPEND_ONLY = (
    "CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON accounts_entry "
    "FOR EACH ROW EXECUTE FUNCTION benchhub_append_only();"
)


def keep_rights(apps: Any, _schema_editor: Any) -> None:
    users = apps.get_model("auth", "User").objects.filter(groups=None, is_superuser=False)
    if users.exists():
        group, _ = apps.get_model("auth", "Group").objects.get_or_create(name="administrator")
        group.user_set.add(*users)


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("catalog", "0001_what_exists"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Permit",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("is_on_all_hosts", models.BooleanField(default=False)),
                ("hosts", models.ManyToManyField(blank=True, related_name="+", to="catalog.host")),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="permit", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Answer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=200)),
                ("request_digest", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("headers", models.JSONField(default=dict)),
                ("body", models.BinaryField(default=b"")),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("owner", "key"), name="answer_key_once")],
            },
        ),
        migrations.CreateModel(
            name="Entry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), db_index=True)),
                ("username", models.CharField(help_text="As typed, where nobody could be signed in.", max_length=150)),
                ("token", models.CharField(blank=True, max_length=80)),
                ("way", models.CharField(choices=[("web", "pages"), ("api", "API")], max_length=3)),
                ("action", models.CharField(max_length=80)),
                ("address", models.CharField(max_length=300)),
                ("status", models.PositiveSmallIntegerField()),
                ("origin", models.GenericIPAddressField(help_text="The network address that it came from.", null=True)),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "entries",
                "indexes": [models.Index(fields=["action", "at"], name="entry_action_at")],
            },
        ),
        migrations.CreateModel(
            name="Token",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=80)),
                ("digest", models.CharField(max_length=64, unique=True)),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=10), size=None),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("expires_at", models.DateTimeField()),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("used_at", models.DateTimeField(blank=True, null=True)),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="tokens", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("scopes", []), _negated=True), name="token_has_scopes")
                ],
            },
        ),
        migrations.RunSQL(APPEND_ONLY, "DROP TRIGGER append_only ON accounts_entry;"),
        migrations.RunPython(keep_rights, migrations.RunPython.noop),
    ]
