from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    # The table of runs is scanned, and written all the while: by imports, and by who plans.
    atomic = False

    dependencies = [("bench", "0027_archive_counts")]

    operations = [
        AddIndexConcurrently(
            model_name="run",
            index=models.Index(
                condition=models.Q(("state", "queued")),
                fields=["experiment", "system", "kind", "is_canary", "expected_s", "position", "id"],
                name="run_candidate",
            ),
        ),
    ]
