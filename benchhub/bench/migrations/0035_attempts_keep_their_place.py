from django.db import migrations, models

# Where attempts lie of which something may be asked on their hosts yet: nobody wrote down another place so far.
PLACES = """
UPDATE bench_attempt SET work_directory = host.work_directory
FROM bench_run AS run, bench_system AS system, catalog_host AS host
WHERE run.id = bench_attempt.run_id AND system.id = run.system_id AND host.id = system.driver_id
    AND bench_attempt.acknowledged_at IS NULL
"""


class Migration(migrations.Migration):
    dependencies = [
        ("bench", "0034_limits_apart_from_other_facts"),
    ]

    operations = [
        migrations.AddField(
            model_name="attempt",
            name="work_directory",
            field=models.CharField(
                blank=True,
                db_default="",
                help_text="Of its driver when it began: where it lies for good.",
                max_length=300,
            ),
        ),
        migrations.AddField(
            model_name="attempt",
            name="waits",
            field=models.PositiveIntegerField(
                db_default=0,
                default=0,
                help_text="Looks at which it waited for what may never come; no clock counts them.",
            ),
        ),
        migrations.RunSQL(PLACES, migrations.RunSQL.noop),
    ]
