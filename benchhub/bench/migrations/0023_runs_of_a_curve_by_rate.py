from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("bench", "0022_finished_watches_go")]

    operations = [
        migrations.RemoveConstraint(model_name="run", name="run_planned_once"),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                fields=("experiment", "system", "kind", "rate_tps", "clients", "repeat"), name="run_planned_once"
            ),
        ),
    ]
