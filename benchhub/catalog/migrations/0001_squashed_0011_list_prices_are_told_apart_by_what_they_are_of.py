"""What exists, and what forbids rewriting it: rows that results cite stay as they are, prices are only appended."""

import django.contrib.postgres.fields
import django.contrib.postgres.functions
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import benchhub.catalog.models.clusters
import benchhub.catalog.models.secret_field
from benchhub.catalog.models.new_tables import CreateModels

FUNCTIONS = """
CREATE FUNCTION benchhub_refuse_rewrite() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF to_jsonb(NEW) - 'retired_at' IS DISTINCT FROM to_jsonb(OLD) - 'retired_at' THEN
        RAISE EXCEPTION 'a row of % is cited as it stands: make a new revision instead', TG_TABLE_NAME
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION benchhub_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: add a new row instead', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
CREATE FUNCTION benchhub_saved_with_its_sheet() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT created_at FROM catalog_pricesheet WHERE id = NEW.of_sheet_id) IS DISTINCT FROM CURRENT_TIMESTAMP THEN
        RAISE EXCEPTION 'price sheet % is saved and whole: make a new revision instead', NEW.of_sheet_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
"""
NO_FUNCTIONS = (
    "DROP FUNCTION benchhub_saved_with_its_sheet; DROP FUNCTION benchhub_append_only; "
    "DROP FUNCTION benchhub_refuse_rewrite;"
)
PARTS_OF_SHEETS = ("pricesheetline", "pricesheetdiscount")
TRIGGERS = (
    *(
        (table, "refuse_rewrite BEFORE UPDATE", "benchhub_refuse_rewrite")
        for table in ("hardware", "licencemodel", "configuration", "workload", "pricesheet")
    ),
    *(
        (table, "append_only BEFORE UPDATE OR DELETE", "benchhub_append_only")
        for table in ("listprice", "exchangerate", *PARTS_OF_SHEETS)
    ),
    *((table, "saved_with_its_sheet BEFORE INSERT", "benchhub_saved_with_its_sheet") for table in PARTS_OF_SHEETS),
)


def trigger(table: str, when: str, function: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"CREATE TRIGGER {when} ON catalog_{table} FOR EACH ROW EXECUTE FUNCTION {function}();",
        f"DROP TRIGGER {when.split()[0]} ON catalog_{table};",
    )


class Migration(migrations.Migration):
    # A warehouse that has applied these goes on with what it has not applied of them.
    replaces = [
        ("catalog", "0001_warehouse"),
        ("catalog", "0002_refuse_rewriting_what_results_cite"),
        ("catalog", "0003_retire_instances"),
        ("catalog", "0004_price_sheets_and_all_licence_rules"),
        ("catalog", "0005_never_rewrite_price_sheets"),
        ("catalog", "0006_pause_hosts_and_say_since_when_they_are_away"),
        ("catalog", "0007_a_right_to_write_scripts"),
        ("catalog", "0008_know_hosts_by_brought_results"),
        ("catalog", "0009_discounts_on_several_at_once_and_fees_by_the_month"),
        ("catalog", "0010_prices_of_less_than_a_cent_and_surcharges"),
        ("catalog", "0001_what_exists"),
        ("catalog", "0002_trust_label_speaks_of_imports"),
        ("catalog", "0003_unlike_sockets_and_metrics_without_choices"),
        ("catalog", "0004_hosts_are_set_apart_for_a_reason"),
        ("catalog", "0005_clusters_of_its_own"),
        ("catalog", "0006_tests_of_instances"),
        ("catalog", "0007_data_sets_are_copied"),
        ("catalog", "0008_servers_may_be_changed_by_grant"),
        ("catalog", "0009_postgresql_is_built"),
        ("catalog", "0010_poolers_in_front_of_servers"),
        ("catalog", "0011_list_prices_are_told_apart_by_what_they_are_of"),
    ]

    initial = True

    dependencies = []

    operations = [
        CreateModels(
            migrations.CreateModel(
                name="InterferenceGroup",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=120, unique=True)),
                ],
            ),
            migrations.CreateModel(
                name="PgBuild",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("version", models.CharField(max_length=40)),
                    ("version_num", models.PositiveIntegerField()),
                    ("configure_options", models.TextField(blank=True)),
                    ("binary_digest", models.CharField(max_length=64, unique=True)),
                ],
                options={
                    "ordering": ["version_num"],
                },
            ),
            migrations.CreateModel(
                name="Configuration",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=120)),
                    ("revision", models.PositiveIntegerField(default=1)),
                    ("retired_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    ("settings", models.JSONField(blank=True, default=dict)),
                    ("os_settings", models.JSONField(blank=True, default=dict)),
                    (
                        "volatile_storage",
                        models.BooleanField(default=False, help_text="The data directory lies on a RAM disk."),
                    ),
                    ("remark", models.TextField(blank=True)),
                ],
                options={
                    "constraints": [
                        models.UniqueConstraint(fields=("name", "revision"), name="configuration_name_revision"),
                        models.UniqueConstraint(
                            condition=models.Q(("retired_at", None)), fields=("name",), name="configuration_one_current"
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="ExchangeRate",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    (
                        "base",
                        models.CharField(
                            max_length=3,
                            validators=[
                                django.core.validators.RegexValidator("^[A-Z]{3}$", "Use an ISO 4217 code: EUR.")
                            ],
                        ),
                    ),
                    (
                        "quoted",
                        models.CharField(
                            max_length=3,
                            validators=[
                                django.core.validators.RegexValidator("^[A-Z]{3}$", "Use an ISO 4217 code: EUR.")
                            ],
                        ),
                    ),
                    ("value", models.DecimalField(decimal_places=8, max_digits=18)),
                    ("priced_on", models.DateField()),
                    ("source", models.CharField(max_length=300)),
                    ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ],
                options={
                    "ordering": ["-priced_on", "-pk"],
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("base", "quoted", "priced_on", "source"), name="exchange_rate_natural_key"
                        ),
                        models.CheckConstraint(condition=models.Q(("value__gt", 0)), name="exchange_rate_positive"),
                        models.CheckConstraint(
                            condition=models.Q(("base", models.F("quoted")), _negated=True),
                            name="exchange_rate_of_two_currencies",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("base__regex", "^[A-Z]{3}$"), ("quoted__regex", "^[A-Z]{3}$")),
                            name="exchange_rate_currencies",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="Hardware",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=120)),
                    ("revision", models.PositiveIntegerField(default=1)),
                    ("retired_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    ("sockets", models.PositiveIntegerField(validators=[django.core.validators.MinValueValidator(1)])),
                    (
                        "cores_per_socket",
                        models.PositiveIntegerField(validators=[django.core.validators.MinValueValidator(1)]),
                    ),
                    (
                        "unlike_cores",
                        django.contrib.postgres.fields.ArrayField(
                            base_field=models.PositiveIntegerField(
                                validators=[django.core.validators.MinValueValidator(1)]
                            ),
                            blank=True,
                            default=list,
                            size=None,
                        ),
                    ),
                    (
                        "threads_per_core",
                        models.PositiveIntegerField(
                            default=1, validators=[django.core.validators.MinValueValidator(1)]
                        ),
                    ),
                    ("clock_ghz", models.DecimalField(blank=True, decimal_places=2, max_digits=5, null=True)),
                    ("memory_bytes", models.PositiveBigIntegerField(blank=True, null=True)),
                    ("processor", models.CharField(blank=True, max_length=80)),
                    ("disabled_cores_per_socket", models.PositiveIntegerField(default=0)),
                    ("vm_vcpus", models.PositiveIntegerField(blank=True, null=True)),
                    ("vm_memory_bytes", models.PositiveBigIntegerField(blank=True, null=True)),
                    ("vm_smt", models.BooleanField(default=True)),
                    ("disks", models.CharField(blank=True, max_length=300)),
                    ("remark", models.TextField(blank=True)),
                ],
                options={
                    "verbose_name_plural": "hardware",
                    "constraints": [
                        models.UniqueConstraint(fields=("name", "revision"), name="hardware_name_revision"),
                        models.UniqueConstraint(
                            condition=models.Q(("retired_at", None)), fields=("name",), name="hardware_one_current"
                        ),
                        models.CheckConstraint(
                            condition=models.Q(
                                ("cores_per_socket__gte", 1), ("sockets__gte", 1), ("threads_per_core__gte", 1)
                            ),
                            name="hardware_has_cores",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("disabled_cores_per_socket__lt", models.F("cores_per_socket"))),
                            name="hardware_has_enabled_cores",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(
                                ("unlike_cores__len", 0), ("unlike_cores__len", models.F("sockets")), _connector="OR"
                            ),
                            name="hardware_unlike_cores",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("vm_vcpus", None), ("vm_vcpus__gte", 1), _connector="OR"),
                            name="hardware_vm_has_vcpus",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="Host",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=120, unique=True)),
                    ("address", models.CharField(max_length=253)),
                    ("port", models.PositiveIntegerField(default=22)),
                    ("username", models.CharField(max_length=64)),
                    ("host_key", models.TextField(blank=True, help_text="The public host key that a person approved.")),
                    ("offered_host_key", models.TextField(blank=True)),
                    (
                        "trust",
                        models.CharField(
                            choices=[
                                ("unknown", "not seen yet"),
                                ("offered", "waiting for approval"),
                                ("pinned", "pinned"),
                                ("quarantined", "quarantined: its host key changed"),
                                ("elsewhere", "known by imported results"),
                            ],
                            default="unknown",
                            max_length=12,
                        ),
                    ),
                    ("public_key", models.TextField(editable=False)),
                    ("private_key", benchhub.catalog.models.secret_field.SecretField(editable=False)),
                    ("work_directory", models.CharField(default=".benchhub", max_length=300)),
                    (
                        "bin_directories",
                        models.CharField(
                            blank=True,
                            help_text="Where PostgreSQL lies, if a probe would not look there; several by spaces.",
                            max_length=600,
                        ),
                    ),
                    (
                        "wanted",
                        models.CharField(
                            blank=True,
                            choices=[("key", "its host key"), ("facts", "its facts")],
                            editable=False,
                            max_length=8,
                        ),
                    ),
                    ("visit_until", models.DateTimeField(blank=True, editable=False, null=True)),
                    ("contacted_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    ("contact_error", models.TextField(blank=True, editable=False)),
                    (
                        "unreachable_since",
                        models.DateTimeField(
                            blank=True,
                            editable=False,
                            help_text="The first of the visits that failed, until one succeeds.",
                            null=True,
                        ),
                    ),
                    ("paused_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    (
                        "pause_reason",
                        models.TextField(blank=True, editable=False, help_text="Empty where a person paused it."),
                    ),
                    ("facts", models.JSONField(blank=True, default=dict, editable=False)),
                    ("facts_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    (
                        "hardware",
                        models.ForeignKey(
                            blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to="catalog.hardware"
                        ),
                    ),
                    (
                        "interference_group",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            to="catalog.interferencegroup",
                        ),
                    ),
                ],
                options={
                    "constraints": [
                        models.UniqueConstraint(fields=("address", "port", "username"), name="host_address"),
                        models.CheckConstraint(
                            condition=models.Q(("port__gte", 1), ("port__lte", 65535)), name="host_port_range"
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("host_key", ""), ("trust", "pinned"), _negated=True),
                            name="host_pinned_has_key",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="Instance",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=120, unique=True)),
                    (
                        "address",
                        models.CharField(
                            help_text="As the driver reaches it; a directory for a socket.", max_length=253
                        ),
                    ),
                    ("port", models.PositiveIntegerField(default=5432)),
                    ("database", models.CharField(max_length=63)),
                    ("username", models.CharField(max_length=63)),
                    ("password", benchhub.catalog.models.secret_field.SecretField(blank=True)),
                    ("data_directory", models.CharField(blank=True, max_length=300)),
                    ("bin_directory", models.CharField(blank=True, max_length=300)),
                    (
                        "grant",
                        models.CharField(
                            choices=[
                                ("none", "no: they stay as they are"),
                                ("reload", "yes, by a reload"),
                                ("restart", "yes, by a restart"),
                            ],
                            default="none",
                            max_length=8,
                        ),
                    ),
                    ("restart_command", models.CharField(blank=True, max_length=300)),
                    (
                        "pooler",
                        models.CharField(
                            blank=True,
                            choices=[("", "none: loads go to the server"), ("PgBouncer", "PgBouncer")],
                            max_length=12,
                        ),
                    ),
                    (
                        "pooler_address",
                        models.CharField(blank=True, help_text="As the driver reaches it, as above.", max_length=253),
                    ),
                    ("pooler_port", models.PositiveIntegerField(default=6432)),
                    ("retired_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    (
                        "configuration",
                        models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="catalog.configuration"),
                    ),
                    (
                        "host",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="instances",
                            to="catalog.host",
                        ),
                    ),
                    (
                        "pooler_hardware",
                        models.ForeignKey(
                            blank=True,
                            help_text="Bought for it alone.",
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="pooler_instances",
                            to="catalog.hardware",
                        ),
                    ),
                    ("build", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="catalog.pgbuild")),
                ],
            ),
            migrations.CreateModel(
                name="Inspection",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("is_wanted", models.BooleanField(default=True, editable=False)),
                    ("visit_until", models.DateTimeField(blank=True, editable=False, null=True)),
                    ("contact_error", models.TextField(blank=True, editable=False)),
                    ("sight", models.JSONField(blank=True, editable=False, null=True)),
                    ("parameters", models.JSONField(blank=True, default=dict, editable=False)),
                    ("seen_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    (
                        "driver",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE, related_name="+", to="catalog.host"
                        ),
                    ),
                    (
                        "instance",
                        models.OneToOneField(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="inspection",
                            to="catalog.instance",
                        ),
                    ),
                ],
            ),
            migrations.CreateModel(
                name="Cluster",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("folder", models.CharField(max_length=300)),
                    (
                        "mark",
                        models.CharField(
                            default=benchhub.catalog.models.clusters.new_mark, editable=False, max_length=32
                        ),
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
                            choices=[
                                ("C", "C: by byte values"),
                                ("C.UTF-8", "C.UTF-8"),
                                ("en_US.UTF-8", "en_US.UTF-8"),
                            ],
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
                                ("discard", "to be freed of its copies"),
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
            migrations.CreateModel(
                name="LicenceModel",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=120)),
                    ("revision", models.PositiveIntegerField(default=1)),
                    ("retired_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    ("metric", models.CharField(max_length=40)),
                    ("rules", models.JSONField(blank=True, default=dict)),
                    ("product", models.CharField(blank=True, max_length=120)),
                    ("remark", models.TextField(blank=True)),
                ],
                options={
                    "constraints": [
                        models.UniqueConstraint(fields=("name", "revision"), name="licence_model_name_revision"),
                        models.UniqueConstraint(
                            condition=models.Q(("retired_at", None)), fields=("name",), name="licence_model_one_current"
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("metric", ""), _negated=True), name="licence_model_metric"
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="ListPrice",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("description", models.CharField(max_length=200)),
                    ("part_number", models.CharField(blank=True, max_length=80)),
                    ("amount", models.DecimalField(decimal_places=8, max_digits=20)),
                    (
                        "currency",
                        models.CharField(
                            max_length=3,
                            validators=[
                                django.core.validators.RegexValidator("^[A-Z]{3}$", "Use an ISO 4217 code: EUR.")
                            ],
                        ),
                    ),
                    ("priced_on", models.DateField()),
                    ("source", models.CharField(max_length=300)),
                    ("remark", models.TextField(blank=True)),
                    ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    (
                        "hardware",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="prices",
                            to="catalog.hardware",
                        ),
                    ),
                    (
                        "licence_model",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="prices",
                            to="catalog.licencemodel",
                        ),
                    ),
                ],
                options={
                    "ordering": ["-priced_on", "-pk"],
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("hardware", "licence_model", "description", "source", "priced_on"),
                            name="list_price_natural_key",
                            nulls_distinct=False,
                        ),
                        models.CheckConstraint(condition=models.Q(("amount__gte", 0)), name="list_price_not_negative"),
                        models.CheckConstraint(
                            condition=models.Q(("currency__regex", "^[A-Z]{3}$")), name="list_price_currency"
                        ),
                        models.CheckConstraint(
                            condition=models.Q(
                                models.Q(("hardware", None), ("licence_model__isnull", False)),
                                models.Q(("hardware__isnull", False), ("licence_model", None)),
                                _connector="OR",
                            ),
                            name="list_price_of_one_thing",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="DataSet",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("recipe", models.JSONField()),
                    ("recipe_digest", models.CharField(max_length=64)),
                    ("size_bytes", models.PositiveBigIntegerField()),
                    ("checksum", models.CharField(max_length=64)),
                    ("loaded_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ("age_write_transactions", models.PositiveBigIntegerField(default=0)),
                    ("replaced_at", models.DateTimeField(blank=True, null=True)),
                    (
                        "instance",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT, related_name="data_sets", to="catalog.instance"
                        ),
                    ),
                    ("build", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="catalog.pgbuild")),
                ],
                options={
                    "constraints": [
                        models.UniqueConstraint(
                            condition=models.Q(("replaced_at", None)),
                            fields=("instance",),
                            name="data_set_one_current_per_instance",
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="BuildParameters",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
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
                name="PriceSheet",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=120)),
                    ("revision", models.PositiveIntegerField(default=1)),
                    ("retired_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    (
                        "currency",
                        models.CharField(
                            max_length=3,
                            validators=[
                                django.core.validators.RegexValidator("^[A-Z]{3}$", "Use an ISO 4217 code: EUR.")
                            ],
                        ),
                    ),
                    ("priced_on", models.DateField()),
                    ("source", models.CharField(max_length=300)),
                    ("term_months", models.PositiveIntegerField(default=36)),
                    ("places", models.PositiveSmallIntegerField(default=2)),
                    ("total_places", models.SmallIntegerField(blank=True, null=True)),
                    (
                        "rounded_per",
                        models.CharField(
                            choices=[
                                ("unit", "each unit price and line"),
                                ("line", "each line"),
                                ("column", "each column's total"),
                                ("total", "the grand total"),
                            ],
                            default="line",
                            max_length=6,
                        ),
                    ),
                    (
                        "rounding",
                        models.CharField(
                            choices=[("nearest", "to nearest"), ("up", "up"), ("down", "down")],
                            default="nearest",
                            max_length=7,
                        ),
                    ),
                    ("is_large_quantity", models.BooleanField(default=False)),
                    ("remark", models.TextField(blank=True)),
                    ("created_at", models.DateTimeField(db_default=django.contrib.postgres.functions.TransactionNow())),
                    (
                        "hardware",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="sheets",
                            to="catalog.hardware",
                        ),
                    ),
                ],
                options={
                    "constraints": [
                        models.UniqueConstraint(fields=("name", "revision"), name="price_sheet_name_revision"),
                        models.UniqueConstraint(
                            condition=models.Q(("retired_at", None)), fields=("name",), name="price_sheet_one_current"
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("currency__regex", "^[A-Z]{3}$")), name="price_sheet_currency"
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("term_months__gte", 1)), name="price_sheet_has_term"
                        ),
                        models.CheckConstraint(
                            condition=models.Q(
                                ("rounded_per__in", ["unit", "line", "column", "total"]),
                                ("rounding__in", ["nearest", "up", "down"]),
                            ),
                            name="price_sheet_rounding",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="PriceSheetDiscount",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("position", models.PositiveIntegerField()),
                    ("description", models.CharField(max_length=200)),
                    ("percent", models.DecimalField(blank=True, decimal_places=6, max_digits=9, null=True)),
                    ("amount", models.DecimalField(blank=True, decimal_places=4, max_digits=16, null=True)),
                    (
                        "of_lines",
                        django.contrib.postgres.fields.ArrayField(
                            base_field=models.CharField(max_length=200), blank=True, default=list, size=None
                        ),
                    ),
                    (
                        "of_categories",
                        django.contrib.postgres.fields.ArrayField(
                            base_field=models.CharField(max_length=200), blank=True, default=list, size=None
                        ),
                    ),
                    (
                        "of_sellers",
                        django.contrib.postgres.fields.ArrayField(
                            base_field=models.CharField(max_length=200), blank=True, default=list, size=None
                        ),
                    ),
                    (
                        "of_kinds",
                        django.contrib.postgres.fields.ArrayField(
                            base_field=models.CharField(max_length=200), blank=True, default=list, size=None
                        ),
                    ),
                    (
                        "columns",
                        models.CharField(
                            choices=[("price", "prices"), ("maintenance", "maintenance"), ("both", "both")],
                            default="price",
                            max_length=11,
                        ),
                    ),
                    (
                        "rounding",
                        models.CharField(
                            choices=[
                                ("nearest", "to nearest"),
                                ("up", "up"),
                                ("down", "down"),
                                ("exact", "not at all"),
                            ],
                            default="nearest",
                            max_length=7,
                        ),
                    ),
                    ("places", models.SmallIntegerField(default=2)),
                    (
                        "rounded_per",
                        models.CharField(
                            choices=[("sum", "the sum"), ("line", "each line"), ("unit", "each unit price")],
                            default="sum",
                            max_length=4,
                        ),
                    ),
                    ("is_on_rest", models.BooleanField(default=False)),
                    (
                        "of_sheet",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="discounts",
                            to="catalog.pricesheet",
                        ),
                    ),
                ],
                options={
                    "ordering": ["position"],
                    "constraints": [
                        models.UniqueConstraint(fields=("of_sheet", "position"), name="price_sheet_discount_position"),
                        models.CheckConstraint(
                            condition=models.Q(
                                models.Q(("amount__isnull", False), ("percent", None)),
                                models.Q(("amount", None), ("percent__isnull", False)),
                                _connector="OR",
                            ),
                            name="price_sheet_discount_of_one_kind",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(
                                ("percent", None),
                                models.Q(("percent__gte", -999), ("percent__lte", 100)),
                                _connector="OR",
                            ),
                            name="price_sheet_discount_percent",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="PriceSheetLine",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("position", models.PositiveIntegerField()),
                    ("description", models.CharField(max_length=200)),
                    ("part_number", models.CharField(blank=True, max_length=80)),
                    ("seller", models.CharField(blank=True, max_length=120)),
                    ("category", models.CharField(blank=True, max_length=80)),
                    (
                        "kind",
                        models.CharField(
                            choices=[
                                ("hardware", "hardware"),
                                ("licence", "licence"),
                                ("support", "support"),
                                ("other", "other"),
                            ],
                            default="hardware",
                            max_length=8,
                        ),
                    ),
                    ("unit_price", models.DecimalField(decimal_places=8, max_digits=20)),
                    ("contracted_price", models.DecimalField(blank=True, decimal_places=8, max_digits=20, null=True)),
                    ("discount_percent", models.DecimalField(decimal_places=6, default=0, max_digits=9)),
                    ("quantity", models.DecimalField(decimal_places=4, default=1, max_digits=16)),
                    ("spares", models.PositiveIntegerField(default=0)),
                    (
                        "maintenance_per",
                        models.CharField(
                            blank=True,
                            choices=[
                                ("term", "for the term"),
                                ("year", "a year"),
                                ("month", "a month"),
                                ("percent", "per cent of the price a year"),
                                ("itself", "the line is maintenance"),
                            ],
                            max_length=7,
                        ),
                    ),
                    ("maintenance_price", models.DecimalField(decimal_places=8, default=0, max_digits=20)),
                    ("maintenance_months", models.PositiveIntegerField(blank=True, null=True)),
                    (
                        "maintenance_quantity",
                        models.DecimalField(blank=True, decimal_places=4, max_digits=16, null=True),
                    ),
                    ("maintenance_percent_of", models.CharField(default="list", max_length=10)),
                    ("is_discountable", models.BooleanField(default=True)),
                    (
                        "support",
                        models.CharField(
                            blank=True,
                            choices=[
                                ("unsupported", "unsupported"),
                                ("bought", "support bought"),
                                ("included", "included in another line"),
                            ],
                            max_length=11,
                        ),
                    ),
                    (
                        "charged",
                        models.CharField(
                            choices=[
                                ("once", "once"),
                                ("year", "each year of the term"),
                                ("month", "each month of the term"),
                            ],
                            default="once",
                            max_length=5,
                        ),
                    ),
                    (
                        "currency",
                        models.CharField(
                            blank=True,
                            max_length=3,
                            validators=[
                                django.core.validators.RegexValidator("^[A-Z]{3}$", "Use an ISO 4217 code: EUR.")
                            ],
                        ),
                    ),
                    ("exchange_rate", models.DecimalField(blank=True, decimal_places=8, max_digits=18, null=True)),
                    ("available_on", models.DateField(blank=True, null=True)),
                    ("priced_on", models.DateField(blank=True, null=True)),
                    (
                        "of_sheet",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT, related_name="lines", to="catalog.pricesheet"
                        ),
                    ),
                ],
                options={
                    "ordering": ["position"],
                    "constraints": [
                        models.UniqueConstraint(fields=("of_sheet", "position"), name="price_sheet_line_position"),
                        models.CheckConstraint(
                            condition=models.Q(("quantity__gte", 0)), name="price_sheet_line_quantity"
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("discount_percent__gte", 0), ("discount_percent__lte", 100)),
                            name="price_sheet_line_percent",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("kind__in", ["hardware", "licence", "support", "other"])),
                            name="price_sheet_line_kind",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(
                                ("maintenance_per__in", ["", "term", "year", "month", "percent", "itself"]),
                                ("maintenance_percent_of__in", ["list", "paid"]),
                            ),
                            name="price_sheet_line_maintenance",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("support__in", ["", "unsupported", "bought", "included"])),
                            name="price_sheet_line_support",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("charged__in", ["once", "year", "month"])),
                            name="price_sheet_line_charged",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(
                                models.Q(("currency", ""), ("exchange_rate", None)),
                                models.Q(("currency__regex", "^[A-Z]{3}$"), ("exchange_rate__gt", 0)),
                                _connector="OR",
                            ),
                            name="price_sheet_line_in_another_currency",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="SourceBuild",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    (
                        "kind",
                        models.CharField(
                            choices=[
                                ("release", "a release"),
                                ("git", "a git repository"),
                                ("tarball", "a tarball on the host"),
                            ],
                            max_length=8,
                        ),
                    ),
                    ("revision", models.CharField(max_length=80)),
                    ("place", models.CharField(blank=True, max_length=520)),
                    ("options", models.JSONField(blank=True, default=list)),
                    (
                        "jobs",
                        models.PositiveSmallIntegerField(
                            default=0, help_text="Of make at a time; 0 is as many as there are CPUs."
                        ),
                    ),
                    ("digest", models.CharField(editable=False, max_length=64)),
                    (
                        "key",
                        models.CharField(
                            default=benchhub.catalog.models.clusters.new_mark, editable=False, max_length=32
                        ),
                    ),
                    ("number", models.PositiveIntegerField(default=1, editable=False)),
                    (
                        "state",
                        models.CharField(
                            choices=[
                                ("waiting", "waits for its host"),
                                ("building", "is being built"),
                                ("built", "built"),
                                ("failed", "failed"),
                                ("cancelled", "cancelled"),
                                ("removing", "is being removed"),
                                ("removed", "removed"),
                            ],
                            default="waiting",
                            editable=False,
                            max_length=10,
                        ),
                    ),
                    ("is_cancel_asked", models.BooleanField(default=False, editable=False)),
                    ("is_suspected", models.BooleanField(default=False, editable=False)),
                    ("is_tidy", models.BooleanField(default=True, editable=False)),
                    ("visit_until", models.DateTimeField(blank=True, editable=False, null=True)),
                    ("error", models.TextField(blank=True, editable=False)),
                    ("contact_error", models.TextField(blank=True, editable=False)),
                    ("step", models.CharField(blank=True, editable=False, max_length=40)),
                    ("log_tail", models.TextField(blank=True, editable=False)),
                    ("log_offset", models.PositiveBigIntegerField(default=0, editable=False)),
                    (
                        "asked_at",
                        models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                    ),
                    ("started_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    ("ended_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    ("facts", models.JSONField(blank=True, default=dict, editable=False)),
                    ("source_facts", models.JSONField(blank=True, default=dict, editable=False)),
                    (
                        "host",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE, related_name="source_builds", to="catalog.host"
                        ),
                    ),
                ],
                options={
                    "constraints": [models.UniqueConstraint(fields=("host", "digest"), name="source_build_once")],
                },
            ),
            migrations.CreateModel(
                name="SourceBuildLog",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("number", models.PositiveIntegerField()),
                    ("content", models.BinaryField()),
                    ("size_bytes", models.PositiveBigIntegerField()),
                    ("sha256", models.CharField(max_length=64)),
                    ("whole_bytes", models.PositiveBigIntegerField()),
                    ("whole_sha256", models.CharField(max_length=64)),
                    ("stored_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    (
                        "build",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE, related_name="logs", to="catalog.sourcebuild"
                        ),
                    ),
                ],
                options={
                    "ordering": ["-number"],
                    "constraints": [models.UniqueConstraint(fields=("build", "number"), name="source_build_log_once")],
                },
            ),
            migrations.CreateModel(
                name="Workload",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=120)),
                    ("revision", models.PositiveIntegerField(default=1)),
                    ("retired_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    ("tool", models.CharField(max_length=40)),
                    ("parameters", models.JSONField(default=dict)),
                    ("remark", models.TextField(blank=True)),
                ],
                options={
                    "permissions": [("write_scripts", "Can write custom scripts")],
                    "constraints": [
                        models.UniqueConstraint(fields=("name", "revision"), name="workload_name_revision"),
                        models.UniqueConstraint(
                            condition=models.Q(("retired_at", None)), fields=("name",), name="workload_one_current"
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="DataCopy",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
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
        ),
        migrations.RunSQL(FUNCTIONS, NO_FUNCTIONS),
        *(trigger(*row) for row in TRIGGERS),
    ]
