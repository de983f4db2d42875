"""Permits, tokens, second factors, the audit log that only grows, and remembered answers."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import benchhub.catalog.models.secret_field
from benchhub.catalog.models.new_tables import CreateModels

APPEND_ONLY = """
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON accounts_entry
    FOR EACH ROW EXECUTE FUNCTION benchhub_append_only();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accounts_entry
    FOR EACH STATEMENT EXECUTE FUNCTION benchhub_append_only();
"""
NO_TRIGGERS = "DROP TRIGGER never_emptied ON accounts_entry; DROP TRIGGER append_only ON accounts_entry;"


class Migration(migrations.Migration):
    # A warehouse that has applied these goes on with what it has not applied of them.
    replaces = [
        ("accounts", "0001_roles_tokens_and_the_audit_log"),
        ("accounts", "0002_log_is_never_emptied_and_knows_browsers"),
        ("accounts", "0003_log_says_what_was_changed"),
        ("accounts", "0004_second_factors"),
        ("accounts", "0005_failed_sign_ins_are_counted_apart"),
    ]

    initial = True

    dependencies = [
        ("catalog", "0001_squashed_0011_list_prices_are_told_apart_by_what_they_are_of"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateModels(
            migrations.CreateModel(
                name="Failure",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), db_index=True)),
                    ("name_digest", models.CharField(db_index=True, max_length=64)),
                    ("place", models.CharField(db_index=True, max_length=45)),
                    ("device", models.CharField(blank=True, max_length=32)),
                ],
            ),
            migrations.CreateModel(
                name="Permit",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("is_on_all_hosts", models.BooleanField(default=False)),
                    ("hosts", models.ManyToManyField(blank=True, related_name="+", to="catalog.host")),
                    (
                        "user",
                        models.OneToOneField(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="permit",
                            to=settings.AUTH_USER_MODEL,
                        ),
                    ),
                ],
            ),
            migrations.CreateModel(
                name="SecondFactor",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
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
            migrations.CreateModel(
                name="Answer",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
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
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), db_index=True)),
                    (
                        "username",
                        models.CharField(help_text="As typed, where nobody could be signed in.", max_length=150),
                    ),
                    ("token", models.CharField(blank=True, max_length=80)),
                    (
                        "way",
                        models.CharField(
                            choices=[("web", "pages"), ("api", "API"), ("cmd", "commands, workers")], max_length=3
                        ),
                    ),
                    ("action", models.CharField(max_length=80)),
                    ("address", models.CharField(max_length=300)),
                    ("status", models.PositiveSmallIntegerField()),
                    (
                        "origin",
                        models.GenericIPAddressField(help_text="The network address that it came from.", null=True),
                    ),
                    (
                        "device",
                        models.CharField(
                            blank=True,
                            db_default="",
                            help_text="The browser of a sign-in, if it was seen before.",
                            max_length=32,
                        ),
                    ),
                    (
                        "detail",
                        models.TextField(blank=True, db_default="", help_text="What was changed, without secrets."),
                    ),
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
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=80)),
                    ("digest", models.CharField(max_length=64, unique=True)),
                    (
                        "scopes",
                        django.contrib.postgres.fields.ArrayField(
                            base_field=models.CharField(max_length=10), size=None
                        ),
                    ),
                    ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ("expires_at", models.DateTimeField()),
                    ("revoked_at", models.DateTimeField(blank=True, null=True)),
                    ("used_at", models.DateTimeField(blank=True, null=True)),
                    (
                        "owner",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="tokens",
                            to=settings.AUTH_USER_MODEL,
                        ),
                    ),
                ],
                options={
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(("scopes", []), _negated=True), name="token_has_scopes"
                        )
                    ],
                },
            ),
        ),
        migrations.RunSQL(APPEND_ONLY, NO_TRIGGERS),
    ]
