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
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["system", "id"], name="run_of_system"),
        ),
        migrations.AlterField(
            model_name="run",
            name="system",
            field=models.ForeignKey(
                db_index=False, on_delete=models.deletion.PROTECT, related_name="runs", to="bench.system"
            ),
        ),
    ]
