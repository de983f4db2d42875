from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models.functions import Coalesce


class Migration(migrations.Migration):
    # The table of runs is scanned, and written all the while: by imports, and by who plans.
    atomic = False

    dependencies = [("bench", "0028_queue_has_candidates")]

    operations = [
        AddIndexConcurrently(
            model_name="run",
            index=models.Index(
                models.F("experiment_id"),
                models.F("system_id"),
                models.F("protocol_id"),
                models.F("clients"),
                models.F("rate_tps"),
                models.OrderBy(Coalesce("started_at", "created_at"), descending=True),
                models.OrderBy(models.F("position"), descending=True),
                condition=models.Q(("kind", "measure"), ("set_aside_at", None), ("state", "succeeded")),
                name="run_level",
            ),
        ),
    ]
