from django.db import migrations, models

# Plans that were made before keep what they asked for.
TURN_ROUND = "UPDATE bench_experiment SET telemetry = NOT telemetry"


class Migration(migrations.Migration):
    dependencies = [("bench", "0013_steps_set_the_operating_system")]

    operations = [
        migrations.RenameField("experiment", "no_telemetry", "telemetry"),
        migrations.AlterField(
            "experiment",
            "telemetry",
            models.BooleanField(default=False, help_text="Machine and server are observed beside the load."),
        ),
        migrations.RunSQL(TURN_ROUND, TURN_ROUND),
    ]
