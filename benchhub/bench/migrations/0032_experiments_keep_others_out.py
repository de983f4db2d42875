from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("bench", "0031_next_runs_by_system"),
        ("catalog", "0015_hosts_are_lent_for_so_long"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="experiment",
            name="is_exclusive",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="In its periods no run of another experiment begins on its hosts.",
            ),
        ),
        migrations.AddIndex(
            model_name="experiment",
            index=models.Index(condition=models.Q(("is_exclusive", True)), fields=["id"], name="experiment_exclusive"),
        ),
    ]
