from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("bench", "0020_ended_runs_are_counted")]

    operations = [
        migrations.AddIndex(
            model_name="experiment",
            index=models.Index(fields=["name", "id"], name="experiment_name"),
        ),
        migrations.AddIndex(
            model_name="experiment",
            index=models.Index(fields=["priority", "id"], name="experiment_priority"),
        ),
        migrations.AddIndex(
            model_name="experimentsystem",
            index=models.Index(
                condition=models.Q(("result_count__gt", 0)), fields=["result_count", "id"], name="curve_results"
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["position", "id"], name="run_position"),
        ),
    ]
