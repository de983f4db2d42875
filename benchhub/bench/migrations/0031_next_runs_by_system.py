from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    # The table of runs is scanned, and written all the while: by imports, and by who plans.
    atomic = False

    dependencies = [("bench", "0030_ended_runs_are_tallied")]

    operations = [
        AddIndexConcurrently(
            model_name="run",
            index=models.Index(
                fields=["system", "experiment", "kind", "is_canary", "expected_s", "position", "id"],
                condition=models.Q(("state", "queued")),
                name="run_next",
            ),
        ),
        RemoveIndexConcurrently(model_name="run", name="run_candidate"),
    ]
