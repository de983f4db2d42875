from django.conf import settings
from django.db import migrations, models

# A result counts where its run measures in a closed loop and nobody has set it aside.
TRIGGERS = """
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
UPDATE bench_experimentsystem s SET result_count = c.number FROM (
    SELECT r.experiment_id, r.system_id, count(*) AS number FROM bench_result n JOIN bench_run r ON r.id = n.run_id
    WHERE r.kind = 'measure' AND r.rate_tps = 0 AND r.set_aside_at IS NULL AND r.state = 'succeeded' GROUP BY 1, 2
) c WHERE s.experiment_id = c.experiment_id AND s.system_id = c.system_id;
"""
NO_TRIGGERS = """
DROP TRIGGER set_aside_counts ON bench_run;
DROP FUNCTION benchhub_count_set_aside;
DROP TRIGGER results_count ON bench_result;
DROP TRIGGER results_count_no_more ON bench_result;
DROP FUNCTION benchhub_count_results;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("bench", "0003_lists_ask_indexes"),
        ("catalog", "0003_unlike_sockets_and_metrics_without_choices"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="experimentsystem",
            name="result_count",
            field=models.PositiveIntegerField(db_default=0, default=0, editable=False),
        ),
        migrations.AddIndex(
            model_name="experiment",
            index=models.Index(fields=["-created_at", "-id"], name="experiment_newest"),
        ),
        migrations.AddIndex(
            model_name="experimentsystem",
            index=models.Index(
                condition=models.Q(("result_count__gt", 0)), fields=["experiment", "system"], name="curve_exists"
            ),
        ),
        migrations.RunSQL(TRIGGERS, NO_TRIGGERS),
    ]
