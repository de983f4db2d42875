"""Which attempts their targets have cleaned up after; those that ended before this release count as done."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("bench", "0005_know_the_workers")]
    operations = [
        migrations.AddField(
            "attempt",
            "acknowledged_at",
            models.DateTimeField(help_text="The target knows that it may clean up.", null=True),
        ),
        migrations.RunSQL("UPDATE bench_attempt SET acknowledged_at = ended_at", migrations.RunSQL.noop),
        migrations.AddIndex(
            "attempt",
            models.Index(fields=["ended_at"], condition=Q(acknowledged_at=None), name="attempt_untidied"),
        ),
    ]
