from __future__ import annotations

from functools import partial
from typing import Any

import django.db.models.deletion
from django.db import migrations, models

STATES = [
    ("queued", "queued"),
    ("reserved", "reserved"),
    ("starting", "starting"),
    ("running", "running"),
    ("collecting", "collecting"),
    ("succeeded", "succeeded"),
    ("failed", "failed"),
    ("cancelled", "cancelled"),
    ("lost", "lost"),
]
FINAL = "('succeeded', 'failed', 'cancelled', 'lost')"
COUNT_ENDED = """
    IF TG_OP = 'INSERT' THEN
        INSERT INTO bench_endedcount (state, number) SELECT state, count(*) FROM added
            WHERE state IN ('succeeded', 'failed', 'cancelled', 'lost') GROUP BY state;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO bench_endedcount (state, number) SELECT state, -count(*) FROM removed
            WHERE state IN ('succeeded', 'failed', 'cancelled', 'lost') GROUP BY state;
    ELSE
        INSERT INTO bench_endedcount (state, number) SELECT state, sum(number) FROM (
            SELECT state, 1 AS number FROM added UNION ALL SELECT state, -1 FROM removed
        ) AS changes WHERE state IN ('succeeded', 'failed', 'cancelled', 'lost') GROUP BY state HAVING sum(number) <> 0;
    END IF;
"""
KEYS = "experiment_id, system_id, protocol_digest, kind, clients, rate_tps, state, set_aside_at IS NOT NULL"
NAMES = "experiment_id, system_id, protocol_digest, kind, clients, rate_tps, state, is_aside"
SUMS = "runs, load_s, timed, taken, timed_load_s"
IS_TIMED = "started_at IS NOT NULL AND ended_at IS NOT NULL"


def tallied(rows: str) -> str:
    """Return the statement that adds up runs, each as often as its `number` says, which may be negative."""
    return f"""
        INSERT INTO bench_endedtally ({NAMES}, {SUMS})
        SELECT {KEYS}, sum(number), sum(number * expected_s), coalesce(sum(number) FILTER (WHERE {IS_TIMED}), 0),
            coalesce(sum(number * (ended_at - started_at)), interval '0'),
            coalesce(sum(number * expected_s) FILTER (WHERE {IS_TIMED}), 0)
        FROM ({rows}) AS changes WHERE state IN {FINAL} GROUP BY {KEYS}
        HAVING sum(number) <> 0 OR sum(number * expected_s) <> 0
            OR coalesce(sum(number) FILTER (WHERE {IS_TIMED}), 0) <> 0
            OR coalesce(sum(number * (ended_at - started_at)), interval '0') <> interval '0'
            OR coalesce(sum(number * expected_s) FILTER (WHERE {IS_TIMED}), 0) <> 0;
    """


# Most changes of runs leave them unfinished, and nothing is to be counted.
TRIGGERS = f"""
LOCK TABLE bench_run IN SHARE ROW EXCLUSIVE MODE;
CREATE OR REPLACE FUNCTION benchhub_count_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    {COUNT_ENDED}
    IF TG_OP = 'INSERT' THEN
        IF EXISTS (SELECT FROM added WHERE state IN {FINAL}) THEN
            {tallied("SELECT 1 AS number, * FROM added")}
        END IF;
    ELSIF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT FROM removed WHERE state IN {FINAL}) THEN
            {tallied("SELECT -1 AS number, * FROM removed")}
        END IF;
    ELSIF EXISTS (SELECT FROM added WHERE state IN {FINAL})
        OR EXISTS (SELECT FROM removed WHERE state IN {FINAL}) THEN
        {tallied("SELECT 1 AS number, * FROM added UNION ALL SELECT -1, * FROM removed")}
    END IF;
    RETURN NULL;
END $$;
{tallied("SELECT 1 AS number, * FROM bench_run")}
UPDATE bench_endedtally SET is_folded = true;
CREATE VIEW bench_runtally AS
    SELECT id, {NAMES}, {SUMS}, 0::bigint AS cancelling FROM bench_endedtally
    UNION ALL
    SELECT -id, {KEYS}, 1::bigint, expected_s::bigint, ({IS_TIMED})::int::bigint,
        coalesce(ended_at - started_at, interval '0'), CASE WHEN {IS_TIMED} THEN expected_s ELSE 0 END::bigint,
        (cancel_asked_at IS NOT NULL)::int::bigint
    FROM bench_run WHERE NOT state IN {FINAL};
"""
NO_TRIGGERS = f"""
DROP VIEW bench_runtally;
CREATE OR REPLACE FUNCTION benchhub_count_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    {COUNT_ENDED}
    RETURN NULL;
END $$;
"""
# The role of the release before ends runs while later migrations are under way, and gets its rights on all tables last.
GRANTS = """
DO $$
DECLARE
    role regrole;
BEGIN
    FOR role IN
        SELECT entry.grantee FROM pg_class, aclexplode(pg_class.relacl) AS entry
        JOIN pg_roles ON pg_roles.oid = entry.grantee
        WHERE pg_class.oid = 'bench_endedcount'::regclass AND entry.privilege_type = 'INSERT'
            AND entry.grantee <> pg_class.relowner
    LOOP
        EXECUTE 'GRANT SELECT, INSERT, UPDATE, DELETE ON bench_endedtally TO ' || role;
        EXECUTE 'GRANT SELECT ON bench_runtally TO ' || role;
    END LOOP;
END $$;
"""
CANCELLING = "Runs that a person asked to end, of those that have not ended."
FIELDS: list[tuple[str, models.Field[Any, Any]]] = [
    ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
    ("kind", models.CharField(max_length=10)),
    ("clients", models.PositiveIntegerField()),
    ("rate_tps", models.PositiveIntegerField()),
    ("state", models.CharField(choices=STATES, max_length=12)),
    ("is_aside", models.BooleanField()),
    ("runs", models.BigIntegerField()),
    ("load_s", models.BigIntegerField()),
    ("timed", models.BigIntegerField()),
    ("taken", models.DurationField()),
    ("timed_load_s", models.BigIntegerField()),
]
Reference = partial(
    models.ForeignKey,
    db_constraint=False,
    db_index=False,
    on_delete=django.db.models.deletion.DO_NOTHING,
    related_name="+",
)


def fields() -> list[tuple[str, models.Field[Any, Any]]]:
    references = [
        ("experiment", Reference(to="bench.experiment")),
        ("protocol", Reference(db_column="protocol_digest", to="bench.protocol")),
        ("system", Reference(to="bench.system")),
    ]
    return [*[(name, field.clone()) for name, field in FIELDS], *references]


class Migration(migrations.Migration):
    dependencies = [("bench", "0029_levels_have_an_index")]

    operations = [
        migrations.CreateModel(
            name="EndedTally",
            fields=[*fields(), ("is_folded", models.BooleanField(db_default=False, default=False))],
            options={
                "indexes": [
                    models.Index(fields=["experiment"], name="ended_tally_of"),
                    models.Index(condition=models.Q(("is_folded", False)), fields=["id"], name="ended_tally_new"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("is_folded", True)),
                        fields=(
                            "experiment", "system", "protocol", "kind", "clients", "rate_tps", "state", "is_aside",
                        ),
                        name="ended_tally",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="RunTally",
            fields=[*fields(), ("cancelling", models.BigIntegerField(help_text=CANCELLING))],
            options={"db_table": "bench_runtally", "managed": False},
        ),
        migrations.RunSQL(TRIGGERS, NO_TRIGGERS),
        migrations.RunSQL(GRANTS, migrations.RunSQL.noop),
    ]  # fmt: skip
