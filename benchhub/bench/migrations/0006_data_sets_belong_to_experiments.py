"""An instance's data set belongs to the experiment that has begun on it; a run that lacks its own goes back."""

from typing import Any

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

MOVES = """
CREATE OR REPLACE FUNCTION benchhub_run_moves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state <> OLD.state AND (OLD.state || '>' || NEW.state) NOT IN (
        'queued>reserved', 'queued>failed', 'queued>cancelled',
        'reserved>starting', 'reserved>queued', 'reserved>failed', 'reserved>cancelled',
        'starting>running', 'starting>queued', 'starting>failed', 'starting>cancelled', 'starting>lost',
        'running>collecting', 'running>failed', 'running>cancelled', 'running>lost',
        'collecting>succeeded', 'collecting>failed', 'collecting>cancelled'{more},
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
"""


def name_data_sets(apps: Any, _schema_editor: Any) -> None:
    """Name the data set of what is planned already, so that it is told apart from what comes."""
    from benchhub.analysis.protocol import digest
    from runners import tools

    experiments = apps.get_model("bench", "Experiment").objects
    for workload in apps.get_model("catalog", "Workload").objects.all():
        if workload.tool in tools.TOOLS:
            recipe = digest.digest(tools.get(workload.tool).data_set(workload.parameters))
            experiments.filter(workload=workload, is_brought_in=False).update(recipe_digest=recipe)


# What is under way at this moment has begun as well.
UNDER_WAY = """
INSERT INTO bench_tenancy (instance_id, experiment_id)
SELECT DISTINCT system.instance_id, member.experiment_id FROM bench_experimentsystem member
JOIN bench_system system ON system.id = member.system_id
WHERE EXISTS (SELECT FROM bench_run WHERE experiment_id = member.experiment_id
              AND (started_at IS NOT NULL OR state IN ('reserved', 'starting', 'running', 'collecting')))
AND EXISTS (SELECT FROM bench_run WHERE experiment_id = member.experiment_id
            AND state NOT IN ('succeeded', 'failed', 'cancelled', 'lost'))
"""


class Migration(migrations.Migration):
    dependencies = [
        ("bench", "0005_workers_tell_of_their_loop"),
        ("catalog", "0003_unlike_sockets_and_metrics_without_choices"),
    ]

    operations = [
        migrations.AddField(
            model_name="experiment",
            name="recipe_digest",
            field=models.CharField(blank=True, default="", editable=False, max_length=64),
        ),
        migrations.AddField(
            model_name="experiment",
            name="data_set_policy",
            field=models.CharField(
                choices=[
                    ("wait", "wait until that experiment has ended"),
                    ("between", "come between, where the priority is higher"),
                ],
                default="wait",
                max_length=7,
            ),
        ),
        migrations.CreateModel(
            name="Tenancy",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
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
        migrations.RunPython(name_data_sets, migrations.RunPython.noop),
        migrations.RunSQL(UNDER_WAY, migrations.RunSQL.noop),
        migrations.RunSQL(MOVES.replace("{more}", ", 'collecting>queued'"), MOVES.replace("{more}", "")),
    ]
