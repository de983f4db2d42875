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
TRIGGERS = """
CREATE FUNCTION benchhub_count_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
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
    RETURN NULL;
END $$;
CREATE TRIGGER run_ended_at_once AFTER INSERT ON bench_run REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION benchhub_count_ended();
CREATE TRIGGER run_ended AFTER UPDATE ON bench_run REFERENCING OLD TABLE AS removed NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION benchhub_count_ended();
CREATE TRIGGER run_ended_and_removed AFTER DELETE ON bench_run REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION benchhub_count_ended();
INSERT INTO bench_endedcount (state, number) SELECT state, count(*) FROM bench_run
    WHERE state IN ('succeeded', 'failed', 'cancelled', 'lost') GROUP BY state;
"""
NO_TRIGGERS = """
DROP TRIGGER run_ended_at_once ON bench_run;
DROP TRIGGER run_ended ON bench_run;
DROP TRIGGER run_ended_and_removed ON bench_run;
DROP FUNCTION benchhub_count_ended;
"""


class Migration(migrations.Migration):
    dependencies = [("bench", "0019_a_rest_says_how_long_it_is")]

    operations = [
        migrations.CreateModel(
            name="EndedCount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("state", models.CharField(choices=STATES, max_length=12)),
                ("number", models.BigIntegerField()),
            ],
        ),
        migrations.RunSQL(TRIGGERS, NO_TRIGGERS),
    ]
