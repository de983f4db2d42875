"""What happens, and what forbids it otherwise: runs move as bench/models/states.py has it, and plans are frozen."""

import uuid

import django.contrib.postgres.constraints
import django.contrib.postgres.fields
import django.contrib.postgres.fields.ranges
import django.core.serializers.json
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import benchhub.catalog.models.secret_field
from benchhub.catalog.models.new_tables import CreateModels

TRIGGERS = """
CREATE FUNCTION benchhub_run_moves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state <> OLD.state AND (OLD.state || '>' || NEW.state) NOT IN (
        'queued>reserved', 'queued>failed', 'queued>cancelled',
        'reserved>starting', 'reserved>queued', 'reserved>failed', 'reserved>cancelled',
        'starting>running', 'starting>queued', 'starting>failed', 'starting>cancelled', 'starting>lost',
        'running>collecting', 'running>failed', 'running>cancelled', 'running>lost',
        'collecting>succeeded', 'collecting>failed', 'collecting>cancelled', 'collecting>queued',
        'lost>queued', 'failed>queued'
    ) THEN
        RAISE EXCEPTION 'run % may not move from % to %', OLD.id, OLD.state, NEW.state
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.spec <> OLD.spec OR NEW.protocol_digest <> OLD.protocol_digest OR NEW.system_id <> OLD.system_id THEN
        RAISE EXCEPTION 'the plan of run % is frozen', OLD.id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER run_moves BEFORE UPDATE ON bench_run FOR EACH ROW EXECUTE FUNCTION benchhub_run_moves();
CREATE TRIGGER protocol_stays BEFORE UPDATE ON bench_protocol
    FOR EACH ROW EXECUTE FUNCTION benchhub_refuse_rewrite();
CREATE TRIGGER system_stays BEFORE UPDATE ON bench_system
    FOR EACH ROW EXECUTE FUNCTION benchhub_refuse_rewrite();
"""
NO_TRIGGERS = """
DROP TRIGGER system_stays ON bench_system;
DROP TRIGGER protocol_stays ON bench_protocol;
DROP TRIGGER run_moves ON bench_run;
DROP FUNCTION benchhub_run_moves;
"""
# A result counts where its run measures in a closed loop and nobody has set it aside.
COUNTS = """
CREATE FUNCTION benchhub_count_results() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE bench_experimentsystem s SET result_count = s.result_count + c.number FROM (
            SELECT r.experiment_id, r.system_id, count(*) AS number FROM rows n JOIN bench_run r ON r.id = n.run_id
            WHERE r.kind = 'measure' AND r.rate_tps = 0 AND r.set_aside_at IS NULL GROUP BY 1, 2
        ) c WHERE s.experiment_id = c.experiment_id AND s.system_id = c.system_id;
    ELSE
        UPDATE bench_experimentsystem s SET result_count = greatest(0, s.result_count - c.number) FROM (
            SELECT r.experiment_id, r.system_id, count(*) AS number FROM rows n JOIN bench_run r ON r.id = n.run_id
            WHERE r.kind = 'measure' AND r.rate_tps = 0 AND r.set_aside_at IS NULL GROUP BY 1, 2
        ) c WHERE s.experiment_id = c.experiment_id AND s.system_id = c.system_id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER results_count AFTER INSERT ON bench_result REFERENCING NEW TABLE AS rows
    FOR EACH STATEMENT EXECUTE FUNCTION benchhub_count_results();
CREATE TRIGGER results_count_no_more AFTER DELETE ON bench_result REFERENCING OLD TABLE AS rows
    FOR EACH STATEMENT EXECUTE FUNCTION benchhub_count_results();
CREATE FUNCTION benchhub_count_set_aside() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.kind = 'measure' AND NEW.rate_tps = 0 AND EXISTS (SELECT FROM bench_result WHERE run_id = NEW.id) THEN
        UPDATE bench_experimentsystem
            SET result_count = greatest(0, result_count + CASE WHEN NEW.set_aside_at IS NULL THEN 1 ELSE -1 END)
            WHERE experiment_id = NEW.experiment_id AND system_id = NEW.system_id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER set_aside_counts AFTER UPDATE OF set_aside_at ON bench_run FOR EACH ROW
    WHEN ((OLD.set_aside_at IS NULL) <> (NEW.set_aside_at IS NULL)) EXECUTE FUNCTION benchhub_count_set_aside();
"""
NO_COUNTS = """
DROP TRIGGER set_aside_counts ON bench_run;
DROP FUNCTION benchhub_count_set_aside;
DROP TRIGGER results_count ON bench_result;
DROP TRIGGER results_count_no_more ON bench_result;
DROP FUNCTION benchhub_count_results;
"""


class Migration(migrations.Migration):
    # A warehouse that has applied these goes on with what it has not applied of them.
    replaces = [
        ("bench", "0001_warehouse"),
        ("bench", "0002_enforce_the_moves_of_a_run"),
        ("bench", "0003_run_failed_runs_again"),
        ("bench", "0004_order_pause_and_confine_what_waits"),
        ("bench", "0005_know_the_workers"),
        ("bench", "0006_remember_what_targets_may_forget"),
        ("bench", "0007_design_experiments_and_set_runs_aside"),
        ("bench", "0008_grow_plans_from_their_results"),
        ("bench", "0009_bring_results_in"),
        ("bench", "0010_offer_rates_to_an_open_loop"),
        ("bench", "0011_declare_protocols_comparable"),
        ("bench", "0012_tell_webhooks_of_ends"),
        ("bench", "0001_what_happens"),
        ("bench", "0002_imports_are_provenance"),
        ("bench", "0003_lists_ask_indexes"),
        ("bench", "0004_curves_count_their_results"),
        ("bench", "0005_workers_tell_of_their_loop"),
        ("bench", "0006_data_sets_belong_to_experiments"),
        ("bench", "0007_plans_recur"),
        ("bench", "0008_promises_to_who_comes_first"),
        ("bench", "0009_systems_in_turn"),
        ("bench", "0010_runs_are_observed"),
        ("bench", "0012_tuning_series"),
        ("bench", "0013_steps_set_the_operating_system"),
        ("bench", "0014_telemetry_is_asked_for"),
        ("bench", "0015_data_sets_are_restored_by_copies"),
        ("bench", "0016_webhooks_know_where_they_were_saved"),
        ("bench", "0017_builds_hold_hosts"),
        ("bench", "0018_loads_go_through_poolers"),
    ]

    initial = True

    dependencies = [
        ("catalog", "0001_squashed_0011_list_prices_are_told_apart_by_what_they_are_of"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateModels(
            migrations.CreateModel(
                name="Protocol",
                fields=[
                    ("digest", models.CharField(max_length=64, primary_key=True, serialize=False)),
                    ("form", models.JSONField()),
                ],
            ),
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
                    (
                        "loop_silent_s",
                        models.FloatField(
                            default=0, help_text="For how long its event loop of all SSH had not turned."
                        ),
                    ),
                    ("ssh_errors", models.PositiveBigIntegerField(default=0, help_text="Since it started.")),
                ],
            ),
            migrations.CreateModel(
                name="Delivery",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("token", models.CharField(blank=True, max_length=80)),
                    ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ("run_count", models.PositiveIntegerField()),
                    (
                        "by",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                        ),
                    ),
                ],
                options={
                    "verbose_name_plural": "deliveries",
                },
            ),
            migrations.CreateModel(
                name="Design",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=160)),
                    ("remark", models.TextField(blank=True)),
                    (
                        "preset",
                        models.CharField(
                            blank=True, help_text="The published method that it carries out.", max_length=40
                        ),
                    ),
                    ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    (
                        "created_by",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            to=settings.AUTH_USER_MODEL,
                        ),
                    ),
                ],
            ),
            migrations.CreateModel(
                name="System",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("label", models.CharField(max_length=160)),
                    (
                        "path",
                        models.CharField(
                            choices=[
                                ("socket", "Unix socket"),
                                ("loopback", "loopback"),
                                ("network", "network"),
                                ("tls", "network with TLS"),
                            ],
                            max_length=10,
                        ),
                    ),
                    ("description", models.JSONField()),
                    ("digest", models.CharField(max_length=64, unique=True)),
                    ("build", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="catalog.pgbuild")),
                    (
                        "configuration",
                        models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="catalog.configuration"),
                    ),
                    ("driver", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="catalog.host")),
                    ("hardware", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="catalog.hardware")),
                    ("instance", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="catalog.instance")),
                    (
                        "pooler_hardware",
                        models.ForeignKey(
                            help_text="Bought for the pooler alone.",
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="pooler_systems",
                            to="catalog.hardware",
                        ),
                    ),
                ],
                options={
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(("path__in", ["socket", "loopback", "network", "tls"])),
                            name="system_path_known",
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="Webhook",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=120, unique=True)),
                    ("url", models.CharField(max_length=500)),
                    (
                        "events",
                        django.contrib.postgres.fields.ArrayField(
                            base_field=models.CharField(
                                choices=[
                                    ("run.ended", "a run has ended"),
                                    ("experiment.ended", "all runs of an experiment have ended"),
                                ],
                                max_length=20,
                            ),
                            size=None,
                        ),
                    ),
                    ("secret", benchhub.catalog.models.secret_field.SecretField(editable=False)),
                    ("is_active", models.BooleanField(default=True)),
                    (
                        "origin",
                        models.CharField(
                            blank=True,
                            editable=False,
                            help_text="Where whoever saved it had BenchHub open.",
                            max_length=300,
                        ),
                    ),
                    ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    (
                        "created_by",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                        ),
                    ),
                ],
                options={
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(("events", []), _negated=True), name="webhook_has_events"
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="Comparability",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("reason", models.TextField()),
                    ("declared_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ("withdrawn_at", models.DateTimeField(null=True)),
                    (
                        "declared_by",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                        ),
                    ),
                    (
                        "withdrawn_by",
                        models.ForeignKey(
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="+",
                            to=settings.AUTH_USER_MODEL,
                        ),
                    ),
                    (
                        "first",
                        models.ForeignKey(
                            help_text="The one with the lower digest.",
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="+",
                            to="bench.protocol",
                        ),
                    ),
                    (
                        "second",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT, related_name="+", to="bench.protocol"
                        ),
                    ),
                ],
                options={
                    "verbose_name_plural": "comparabilities",
                    "constraints": [
                        models.UniqueConstraint(
                            condition=models.Q(("withdrawn_at", None)),
                            fields=("first", "second"),
                            name="comparability_declared_once",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("first__lt", models.F("second"))), name="comparability_in_order"
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("reason", ""), _negated=True), name="comparability_has_reason"
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="Experiment",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("recipe_digest", models.CharField(blank=True, default="", editable=False, max_length=64)),
                    (
                        "data_set_policy",
                        models.CharField(
                            choices=[
                                ("wait", "wait until that experiment has ended"),
                                ("between", "come between, where the priority is higher"),
                            ],
                            default="wait",
                            max_length=7,
                        ),
                    ),
                    (
                        "order",
                        models.CharField(
                            choices=[
                                ("blocked", "repeat by repeat, levels as listed, systems in turn"),
                                ("shuffled", "repeat by repeat, at random in each"),
                                ("random", "all at random"),
                                ("listed", "as listed: system by system, level by level"),
                            ],
                            default="blocked",
                            max_length=10,
                        ),
                    ),
                    (
                        "order_seed",
                        models.PositiveBigIntegerField(
                            default=0, help_text="The same seed gives the same order again."
                        ),
                    ),
                    (
                        "kept_only",
                        django.contrib.postgres.fields.ArrayField(
                            base_field=models.CharField(max_length=200), blank=True, default=list, size=None
                        ),
                    ),
                    (
                        "left_out",
                        django.contrib.postgres.fields.ArrayField(
                            base_field=models.CharField(max_length=200), blank=True, default=list, size=None
                        ),
                    ),
                    (
                        "loading",
                        models.CharField(
                            choices=[("once", "once, where it is missing"), ("each", "anew before each run")],
                            default="once",
                            max_length=4,
                        ),
                    ),
                    (
                        "warmup_run_s",
                        models.PositiveIntegerField(
                            default=0, help_text="A run of its own before the first of a system."
                        ),
                    ),
                    ("warmup_run_clients", models.PositiveIntegerField(default=1)),
                    (
                        "settle_s",
                        models.PositiveIntegerField(
                            default=0, help_text="Idle between the preparation of a run and its load."
                        ),
                    ),
                    ("restart", models.BooleanField(default=False)),
                    ("drop_caches", models.BooleanField(default=False)),
                    (
                        "no_copies",
                        models.BooleanField(
                            default=False, help_text="Data sets are loaded, and never restored by a copy."
                        ),
                    ),
                    (
                        "telemetry",
                        models.BooleanField(
                            default=False, help_text="Machine and server are observed beside the load."
                        ),
                    ),
                    (
                        "rates_tps",
                        django.contrib.postgres.fields.ArrayField(
                            base_field=models.PositiveIntegerField(), blank=True, default=list, size=None
                        ),
                    ),
                    ("latency_limit_us", models.PositiveIntegerField(default=0, help_text="Of a sweep of rates.")),
                    (
                        "canary",
                        models.CharField(
                            blank=True,
                            choices=[
                                ("", "no canary"),
                                ("waits", "its canary comes first"),
                                ("passed", "its canary passed"),
                                ("failed", "its canary failed"),
                                ("waived", "its canary failed and a person went on"),
                            ],
                            default="",
                            max_length=6,
                        ),
                    ),
                    (
                        "grows",
                        models.CharField(
                            blank=True,
                            choices=[
                                ("", "every level as listed"),
                                ("peak", "find the level with the highest throughput"),
                                ("ceiling", "find the best level under a latency ceiling"),
                                ("decide", "decide between two systems at one level"),
                            ],
                            default="",
                            max_length=8,
                        ),
                    ),
                    ("most_runs", models.PositiveIntegerField(default=0, help_text="Its budget of measuring runs.")),
                    ("precision", models.FloatField(default=0.01, help_text="As a share.")),
                    ("ceiling_ms", models.FloatField(blank=True, null=True)),
                    ("name", models.CharField(max_length=160)),
                    ("remark", models.TextField(blank=True)),
                    ("is_demonstration", models.BooleanField(default=False)),
                    (
                        "is_brought_in",
                        models.BooleanField(default=False, help_text="Its runs were measured elsewhere."),
                    ),
                    ("client_bin_directory", models.CharField(max_length=300)),
                    (
                        "client_levels",
                        django.contrib.postgres.fields.ArrayField(base_field=models.PositiveIntegerField(), size=None),
                    ),
                    ("thread_rule", models.CharField(default="clients", max_length=20)),
                    ("repeats", models.PositiveIntegerField(default=1)),
                    ("duration_s", models.PositiveIntegerField()),
                    ("warmup_s", models.PositiveIntegerField(default=0)),
                    ("rest_s", models.PositiveIntegerField(default=0)),
                    ("vacuum", models.BooleanField(default=False)),
                    ("checkpoint", models.BooleanField(default=False)),
                    (
                        "priority",
                        models.SmallIntegerField(default=0, help_text="Higher goes first; of the same, the older."),
                    ),
                    (
                        "place",
                        models.BigIntegerField(
                            blank=True, help_text="Its age in the queue, where a person moved it.", null=True
                        ),
                    ),
                    (
                        "failure_policy",
                        models.CharField(
                            choices=[
                                ("continue", "go on with the others"),
                                ("pause", "pause the experiment"),
                                ("cancel", "cancel what still waits"),
                            ],
                            default="continue",
                            max_length=10,
                        ),
                    ),
                    ("failure_limit", models.PositiveIntegerField(default=1)),
                    (
                        "attempts_if_lost",
                        models.PositiveIntegerField(
                            default=1, help_text="A lost run is run again up to so many times."
                        ),
                    ),
                    ("paused_at", models.DateTimeField(blank=True, null=True)),
                    ("pause_reason", models.TextField(blank=True)),
                    ("resumed_at", models.DateTimeField(blank=True, null=True)),
                    ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    (
                        "client_build",
                        models.ForeignKey(
                            help_text="One pgbench serves every system.",
                            on_delete=django.db.models.deletion.PROTECT,
                            to="catalog.pgbuild",
                        ),
                    ),
                    (
                        "created_by",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            to=settings.AUTH_USER_MODEL,
                        ),
                    ),
                    (
                        "design",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="experiments",
                            to="bench.design",
                        ),
                    ),
                    ("workload", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="catalog.workload")),
                    (
                        "occasion_of",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.SET_NULL,
                            related_name="occasions",
                            to="bench.recurrence",
                        ),
                    ),
                    (
                        "systems",
                        models.ManyToManyField(
                            related_name="experiments", through="bench.ExperimentSystem", to="bench.system"
                        ),
                    ),
                ],
                options={
                    "indexes": [models.Index(fields=["-created_at", "-id"], name="experiment_newest")],
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(("duration_s__gte", 1), ("repeats__gte", 1)), name="experiment_has_load"
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("client_levels", []), _negated=True), name="experiment_has_levels"
                        ),
                        models.CheckConstraint(
                            condition=models.Q(
                                ("failure_limit__gte", 1), ("failure_policy__in", ["continue", "pause", "cancel"])
                            ),
                            name="experiment_failure_policy",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("attempts_if_lost__gte", 1)), name="experiment_has_attempts"
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("grows", ""), ("most_runs__gte", 1), _connector="OR"),
                            name="experiment_grows_in_budget",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="Run",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("set_aside_at", models.DateTimeField(blank=True, null=True)),
                    ("set_aside_reason", models.TextField(blank=True)),
                    ("uuid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                    (
                        "kind",
                        models.CharField(
                            choices=[("load", "loads the data set"), ("warmup", "warms up"), ("measure", "measures")],
                            default="measure",
                            max_length=10,
                        ),
                    ),
                    ("position", models.PositiveIntegerField()),
                    ("clients", models.PositiveIntegerField()),
                    ("threads", models.PositiveIntegerField()),
                    ("repeat", models.PositiveIntegerField()),
                    (
                        "rate_tps",
                        models.PositiveIntegerField(
                            default=0, help_text="Offered, in an open loop; 0 in a closed one."
                        ),
                    ),
                    ("is_canary", models.BooleanField(default=False)),
                    ("spec", models.JSONField(help_text="The frozen RunSpec.")),
                    ("expected_s", models.PositiveIntegerField(default=0)),
                    (
                        "state",
                        models.CharField(
                            choices=[
                                ("queued", "queued"),
                                ("reserved", "reserved"),
                                ("starting", "starting"),
                                ("running", "running"),
                                ("collecting", "collecting"),
                                ("succeeded", "succeeded"),
                                ("failed", "failed"),
                                ("cancelled", "cancelled"),
                                ("lost", "lost"),
                            ],
                            default="queued",
                            max_length=12,
                        ),
                    ),
                    ("reason", models.TextField(blank=True)),
                    ("cancel_asked_at", models.DateTimeField(blank=True, null=True)),
                    ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ("started_at", models.DateTimeField(blank=True, null=True)),
                    ("ended_at", models.DateTimeField(blank=True, null=True)),
                    (
                        "source",
                        models.CharField(blank=True, help_text="Where an imported run comes from.", max_length=300),
                    ),
                    (
                        "delivery",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="runs",
                            to="bench.delivery",
                        ),
                    ),
                    (
                        "experiment",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT, related_name="runs", to="bench.experiment"
                        ),
                    ),
                    (
                        "protocol",
                        models.ForeignKey(
                            db_column="protocol_digest",
                            on_delete=django.db.models.deletion.PROTECT,
                            to="bench.protocol",
                        ),
                    ),
                    (
                        "set_aside_by",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="+",
                            to=settings.AUTH_USER_MODEL,
                        ),
                    ),
                    (
                        "system",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT, related_name="runs", to="bench.system"
                        ),
                    ),
                ],
                options={
                    "indexes": [
                        models.Index(
                            condition=models.Q(("state", "queued")), fields=["experiment", "position"], name="run_queue"
                        ),
                        models.Index(
                            condition=models.Q(("state__in", ["reserved", "starting", "running", "collecting"])),
                            fields=["state"],
                            name="run_active",
                        ),
                        models.Index(
                            condition=models.Q(
                                ("state__in", ["succeeded", "failed", "cancelled", "lost"]), _negated=True
                            ),
                            fields=["experiment"],
                            name="run_unfinished",
                        ),
                        models.Index(
                            condition=models.Q(("state__in", ["failed", "lost"])),
                            fields=["experiment"],
                            name="run_failed",
                        ),
                        models.Index(fields=["-created_at", "-id"], name="run_newest"),
                        models.Index(fields=["clients", "id"], name="run_clients"),
                    ],
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("experiment", "system", "kind", "clients", "repeat", "rate_tps"),
                            name="run_planned_once",
                        ),
                        models.UniqueConstraint(fields=("experiment", "position"), name="run_position_once"),
                        models.CheckConstraint(
                            condition=models.Q(
                                (
                                    "state__in",
                                    [
                                        "queued",
                                        "reserved",
                                        "starting",
                                        "running",
                                        "collecting",
                                        "succeeded",
                                        "failed",
                                        "cancelled",
                                        "lost",
                                    ],
                                )
                            ),
                            name="run_state_known",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(
                                ("kind", "load"),
                                models.Q(
                                    ("clients__gte", 1),
                                    ("repeat__gte", 1),
                                    ("threads__gte", 1),
                                    ("threads__lte", models.F("clients")),
                                ),
                                _connector="OR",
                            ),
                            name="run_measures_with_clients",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="Attempt",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("number", models.PositiveIntegerField()),
                    ("started_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ("boot_id", models.CharField(blank=True, max_length=40)),
                    ("host_before", models.JSONField(blank=True, null=True)),
                    ("returncode", models.IntegerField(null=True)),
                    ("ended_at", models.DateTimeField(null=True)),
                    ("outcome", models.CharField(blank=True, max_length=12)),
                    ("reason", models.TextField(blank=True)),
                    (
                        "acknowledged_at",
                        models.DateTimeField(help_text="The target knows that it may clean up.", null=True),
                    ),
                    (
                        "run",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT, related_name="attempts", to="bench.run"
                        ),
                    ),
                ],
                options={
                    "indexes": [
                        models.Index(
                            condition=models.Q(("acknowledged_at", None)), fields=["ended_at"], name="attempt_untidied"
                        )
                    ],
                    "constraints": [
                        models.UniqueConstraint(fields=("run", "number"), name="attempt_number_once"),
                        models.UniqueConstraint(
                            condition=models.Q(("ended_at", None)), fields=("run",), name="attempt_one_open_per_run"
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="Growth",
                fields=[
                    (
                        "experiment",
                        models.OneToOneField(
                            on_delete=django.db.models.deletion.CASCADE,
                            primary_key=True,
                            related_name="growth",
                            serialize=False,
                            to="bench.experiment",
                        ),
                    ),
                    ("steps", models.JSONField(default=list, encoder=django.core.serializers.json.DjangoJSONEncoder)),
                    ("found", models.JSONField(default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder)),
                    (
                        "stopped",
                        models.CharField(
                            blank=True,
                            choices=[
                                ("", "goes on"),
                                ("known", "known well enough"),
                                ("spent", "the budget is spent"),
                                ("refused", "every level failed twice"),
                                ("unprepared", "the data set could not be loaded, or the warm-up failed"),
                                ("cancelled", "cancelled"),
                            ],
                            default="",
                            max_length=10,
                        ),
                    ),
                    ("stopped_at", models.DateTimeField(blank=True, null=True)),
                    ("begun_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ],
            ),
            migrations.CreateModel(
                name="Recurrence",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    (
                        "weekdays",
                        django.contrib.postgres.fields.ArrayField(
                            base_field=models.PositiveSmallIntegerField(), size=None
                        ),
                    ),
                    ("starts_at", models.TimeField()),
                    ("zone", models.CharField(max_length=64)),
                    ("until", models.DateField(blank=True, null=True)),
                    ("next_at", models.DateTimeField(blank=True, null=True)),
                    ("paused_at", models.DateTimeField(blank=True, null=True)),
                    ("pause_reason", models.TextField(blank=True)),
                    ("skips", models.JSONField(default=list, editable=False)),
                    ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    (
                        "created_by",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="+",
                            to=settings.AUTH_USER_MODEL,
                        ),
                    ),
                    (
                        "plan",
                        models.OneToOneField(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="recurrence",
                            to="bench.experiment",
                        ),
                    ),
                ],
                options={
                    "indexes": [
                        models.Index(condition=models.Q(("paused_at", None)), fields=["next_at"], name="recurrence_due")
                    ],
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(
                                models.Q(("weekdays", []), _negated=True),
                                ("weekdays__contained_by", [0, 1, 2, 3, 4, 5, 6]),
                            ),
                            name="recurrence_has_weekdays",
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="Watch",
                fields=[
                    (
                        "run",
                        models.OneToOneField(
                            on_delete=django.db.models.deletion.CASCADE,
                            primary_key=True,
                            serialize=False,
                            to="bench.run",
                        ),
                    ),
                    (
                        "next_look_at",
                        models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), db_index=True),
                    ),
                    ("lease_until", models.DateTimeField(null=True)),
                    ("fence", models.PositiveBigIntegerField(default=0)),
                    ("last_contact_at", models.DateTimeField(null=True)),
                    ("contact_error", models.TextField(blank=True)),
                    ("unreachable_since", models.DateTimeField(null=True)),
                    ("step", models.CharField(blank=True, max_length=40)),
                    ("progress_offset", models.PositiveBigIntegerField(default=0)),
                    ("out_offset", models.PositiveBigIntegerField(default=0)),
                    ("live_tps", models.FloatField(null=True)),
                ],
            ),
            migrations.CreateModel(
                name="Result",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("throughput", models.FloatField()),
                    ("unit", models.CharField(max_length=12)),
                    ("latency_average_ms", models.FloatField(null=True)),
                    ("latency_p50_ms", models.FloatField(null=True)),
                    ("latency_p95_ms", models.FloatField(null=True)),
                    ("latency_p99_ms", models.FloatField(null=True)),
                    ("measures", models.JSONField()),
                    ("doubts", models.JSONField(default=list)),
                    ("remarks", models.JSONField(default=list)),
                    ("parser", models.CharField(max_length=40)),
                    ("parsed_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ("attempt", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="bench.attempt")),
                    (
                        "run",
                        models.OneToOneField(
                            on_delete=django.db.models.deletion.PROTECT, related_name="result", to="bench.run"
                        ),
                    ),
                ],
                options={
                    "indexes": [models.Index(fields=["-parsed_at", "-id"], name="result_newest")],
                    "constraints": [
                        models.CheckConstraint(condition=models.Q(("throughput__gt", 0)), name="result_has_throughput")
                    ],
                },
            ),
            migrations.CreateModel(
                name="Promise",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("resource", models.CharField(max_length=80)),
                    ("starts_at", models.DateTimeField(help_text="When the run is expected to start.")),
                    (
                        "run",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE, related_name="promises", to="bench.run"
                        ),
                    ),
                ],
                options={
                    "constraints": [models.UniqueConstraint(fields=("resource", "run"), name="promised_once")],
                },
            ),
            migrations.CreateModel(
                name="LatencyHistogram",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=120)),
                    (
                        "lower_us",
                        django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None),
                    ),
                    (
                        "upper_us",
                        django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None),
                    ),
                    (
                        "counts",
                        django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None),
                    ),
                    ("sum_us", models.BigIntegerField()),
                    ("min_us", models.BigIntegerField()),
                    ("max_us", models.BigIntegerField()),
                    ("sampling_rate", models.FloatField(default=1)),
                    (
                        "run",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT, related_name="histograms", to="bench.run"
                        ),
                    ),
                ],
                options={
                    "constraints": [models.UniqueConstraint(fields=("run", "name"), name="histogram_once")],
                },
            ),
            migrations.CreateModel(
                name="Hold",
                fields=[
                    ("resource", models.CharField(max_length=80, primary_key=True, serialize=False)),
                    ("free_at", models.DateTimeField(help_text="The rest between runs lasts until then.", null=True)),
                    (
                        "build",
                        models.ForeignKey(
                            null=True,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="holds",
                            to="catalog.sourcebuild",
                        ),
                    ),
                    (
                        "run",
                        models.ForeignKey(
                            null=True, on_delete=django.db.models.deletion.PROTECT, related_name="holds", to="bench.run"
                        ),
                    ),
                ],
            ),
            migrations.CreateModel(
                name="Found",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("settings", models.JSONField(default=dict)),
                    ("server", models.JSONField(default=dict)),
                    ("host", models.JSONField(default=dict)),
                    (
                        "pooler",
                        models.JSONField(
                            default=dict, help_text="Version and settings of the pooler, where it said them."
                        ),
                    ),
                    ("deltas", models.JSONField(default=dict)),
                    (
                        "differences",
                        models.JSONField(default=list, help_text="Where what was found is not what was asked for."),
                    ),
                    ("facts_digest", models.CharField(max_length=64)),
                    (
                        "run",
                        models.OneToOneField(
                            on_delete=django.db.models.deletion.PROTECT, related_name="found", to="bench.run"
                        ),
                    ),
                ],
            ),
            migrations.CreateModel(
                name="Event",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ("old_state", models.CharField(max_length=12)),
                    ("new_state", models.CharField(max_length=12)),
                    ("reason", models.TextField(blank=True)),
                    ("fence", models.PositiveBigIntegerField(default=0)),
                    (
                        "run",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE, related_name="events", to="bench.run"
                        ),
                    ),
                ],
                options={
                    "ordering": ["pk"],
                },
            ),
            migrations.CreateModel(
                name="RunTelemetry",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
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
            migrations.CreateModel(
                name="Series",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("metric", models.CharField(max_length=40)),
                    ("unit", models.CharField(max_length=12)),
                    ("start_epoch_s", models.FloatField()),
                    ("step_s", models.FloatField()),
                    (
                        "values",
                        django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(null=True), size=None),
                    ),
                    (
                        "run",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT, related_name="series", to="bench.run"
                        ),
                    ),
                ],
                options={
                    "verbose_name_plural": "series",
                    "constraints": [models.UniqueConstraint(fields=("run", "metric"), name="series_once")],
                },
            ),
            migrations.CreateModel(
                name="ExperimentSystem",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("position", models.PositiveIntegerField()),
                    ("result_count", models.PositiveIntegerField(db_default=0, default=0, editable=False)),
                    (
                        "experiment",
                        models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="bench.experiment"),
                    ),
                    ("system", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="bench.system")),
                ],
                options={
                    "ordering": ["position"],
                    "indexes": [
                        models.Index(
                            condition=models.Q(("result_count__gt", 0)),
                            fields=["experiment", "system"],
                            name="curve_exists",
                        )
                    ],
                    "constraints": [
                        models.UniqueConstraint(fields=("experiment", "system"), name="experiment_system_once")
                    ],
                },
            ),
            migrations.CreateModel(
                name="Tenancy",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("begun_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    (
                        "experiment",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE, related_name="tenancies", to="bench.experiment"
                        ),
                    ),
                    (
                        "instance",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE, related_name="tenancies", to="catalog.instance"
                        ),
                    ),
                ],
                options={
                    "constraints": [models.UniqueConstraint(fields=("instance", "experiment"), name="tenancy_once")],
                },
            ),
            migrations.CreateModel(
                name="TuningSeries",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=50, unique=True)),
                    ("remark", models.TextField(blank=True)),
                    (
                        "kind",
                        models.CharField(
                            choices=[
                                ("cumulative", "each step on top of the ones before"),
                                ("one-at-a-time", "each step alone, on the baseline"),
                                ("factorial", "combinations of steps (factorial): effects and interactions"),
                            ],
                            default="cumulative",
                            max_length=16,
                        ),
                    ),
                    ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    (
                        "baseline",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT, related_name="+", to="catalog.configuration"
                        ),
                    ),
                    (
                        "created_by",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            to=settings.AUTH_USER_MODEL,
                        ),
                    ),
                    (
                        "experiment",
                        models.OneToOneField(
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="tuning_series",
                            to="bench.experiment",
                        ),
                    ),
                    (
                        "instance",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT, related_name="+", to="catalog.instance"
                        ),
                    ),
                ],
                options={
                    "verbose_name_plural": "tuning series",
                },
            ),
            migrations.CreateModel(
                name="TuningStep",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("number", models.PositiveSmallIntegerField()),
                    ("name", models.CharField(max_length=60)),
                    ("settings", models.JSONField(default=dict)),
                    ("os_settings", models.JSONField(default=dict)),
                    (
                        "series",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE, related_name="steps", to="bench.tuningseries"
                        ),
                    ),
                ],
                options={
                    "ordering": ["number"],
                    "constraints": [models.UniqueConstraint(fields=("series", "number"), name="tuning_step_once")],
                },
            ),
            migrations.CreateModel(
                name="TuningTreatment",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("place", models.PositiveSmallIntegerField()),
                    (
                        "step_numbers",
                        django.contrib.postgres.fields.ArrayField(
                            base_field=models.PositiveSmallIntegerField(), blank=True, default=list, size=None
                        ),
                    ),
                    (
                        "series",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="treatments",
                            to="bench.tuningseries",
                        ),
                    ),
                    (
                        "system",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT, related_name="+", to="bench.system"
                        ),
                    ),
                ],
                options={
                    "ordering": ["place"],
                    "constraints": [
                        models.UniqueConstraint(fields=("series", "place"), name="tuning_treatment_once"),
                        models.UniqueConstraint(fields=("series", "system"), name="tuning_system_once"),
                    ],
                },
            ),
            migrations.CreateModel(
                name="Notice",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("uuid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                    ("event", models.CharField(max_length=20)),
                    ("payload", models.JSONField(default=dict)),
                    (
                        "state",
                        models.CharField(
                            choices=[
                                ("waits", "waits for the end"),
                                ("due", "to be sent"),
                                ("sent", "delivered"),
                                ("given up", "given up"),
                            ],
                            default="due",
                            max_length=8,
                        ),
                    ),
                    ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ("attempts", models.PositiveSmallIntegerField(default=0)),
                    ("next_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), null=True)),
                    ("sent_at", models.DateTimeField(null=True)),
                    (
                        "status",
                        models.PositiveSmallIntegerField(help_text="What the address answered last.", null=True),
                    ),
                    ("error", models.TextField(blank=True)),
                    (
                        "experiment",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE, related_name="+", to="bench.experiment"
                        ),
                    ),
                    (
                        "run",
                        models.ForeignKey(
                            null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="bench.run"
                        ),
                    ),
                    (
                        "webhook",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE, related_name="notices", to="bench.webhook"
                        ),
                    ),
                ],
                options={
                    "indexes": [
                        models.Index(condition=models.Q(("state", "due")), fields=["next_at"], name="notice_due")
                    ],
                    "constraints": [
                        models.UniqueConstraint(
                            condition=models.Q(("state", "waits")),
                            fields=("webhook", "experiment"),
                            name="notice_waits_once",
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="Window",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    (
                        "weekdays",
                        django.contrib.postgres.fields.ArrayField(
                            base_field=models.PositiveSmallIntegerField(), size=None
                        ),
                    ),
                    ("starts_at", models.TimeField()),
                    ("ends_at", models.TimeField()),
                    ("zone", models.CharField(max_length=64)),
                    ("reason", models.CharField(blank=True, max_length=200)),
                    ("expanded_until", models.DateTimeField(editable=False, null=True)),
                    (
                        "experiment",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="windows",
                            to="bench.experiment",
                        ),
                    ),
                    (
                        "host",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="windows",
                            to="catalog.host",
                        ),
                    ),
                ],
                options={
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(
                                models.Q(("experiment__isnull", False), ("host", None)),
                                models.Q(("experiment", None), ("host__isnull", False)),
                                _connector="OR",
                            ),
                            name="window_of_host_or_experiment",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(
                                models.Q(("weekdays", []), _negated=True),
                                ("weekdays__contained_by", [0, 1, 2, 3, 4, 5, 6]),
                            ),
                            name="window_has_weekdays",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="Reservation",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("period", django.contrib.postgres.fields.ranges.DateTimeRangeField()),
                    ("zone", models.CharField(default="UTC", help_text="In which it was written.", max_length=64)),
                    ("reason", models.CharField(blank=True, max_length=200)),
                    ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    (
                        "experiment",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="reservations",
                            to="bench.experiment",
                        ),
                    ),
                    (
                        "host",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="reservations",
                            to="catalog.host",
                        ),
                    ),
                    (
                        "window",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="reservations",
                            to="bench.window",
                        ),
                    ),
                ],
                options={
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(
                                models.Q(("experiment__isnull", False), ("host", None)),
                                models.Q(("experiment", None), ("host__isnull", False)),
                                _connector="OR",
                            ),
                            name="reservation_of_host_or_experiment",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(
                                ("period__isempty", False), ("period__lower_inf", False), ("period__upper_inf", False)
                            ),
                            name="reservation_has_two_ends",
                        ),
                        django.contrib.postgres.constraints.ExclusionConstraint(
                            condition=models.Q(("host__isnull", False)),
                            expressions=[
                                (
                                    models.Func(
                                        models.F("host_id"),
                                        models.F("host_id"),
                                        models.Value("[]"),
                                        function="int8range",
                                    ),
                                    "&&",
                                ),
                                (models.F("period"), "&&"),
                            ],
                            name="reservation_of_host_once",
                        ),
                        django.contrib.postgres.constraints.ExclusionConstraint(
                            condition=models.Q(("experiment__isnull", False)),
                            expressions=[
                                (
                                    models.Func(
                                        models.F("experiment_id"),
                                        models.F("experiment_id"),
                                        models.Value("[]"),
                                        function="int8range",
                                    ),
                                    "&&",
                                ),
                                (models.F("period"), "&&"),
                            ],
                            name="reservation_of_experiment_once",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="Evidence",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=120)),
                    ("content", models.BinaryField()),
                    ("size_bytes", models.PositiveBigIntegerField()),
                    ("sha256", models.CharField(max_length=64)),
                    (
                        "remark",
                        models.TextField(blank=True, help_text="What was left out, where the file was too large."),
                    ),
                    (
                        "attempt",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.PROTECT, related_name="evidence", to="bench.attempt"
                        ),
                    ),
                ],
                options={
                    "ordering": ["name"],
                    "constraints": [models.UniqueConstraint(fields=("attempt", "name"), name="evidence_once")],
                },
            ),
            migrations.CreateModel(
                name="LiveLog",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("stream", models.CharField(choices=[("out", "out.log"), ("err", "err.log")], max_length=3)),
                    ("content", models.BinaryField()),
                    (
                        "end_offset",
                        models.PositiveBigIntegerField(
                            help_text="Bytes from the start of the log to the end of `content`."
                        ),
                    ),
                    (
                        "attempt",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE, related_name="live_logs", to="bench.attempt"
                        ),
                    ),
                ],
                options={
                    "constraints": [models.UniqueConstraint(fields=("attempt", "stream"), name="live_log_once")],
                },
            ),
        ),
        migrations.RunSQL(TRIGGERS, NO_TRIGGERS),
        migrations.RunSQL(COUNTS, NO_COUNTS),
    ]
