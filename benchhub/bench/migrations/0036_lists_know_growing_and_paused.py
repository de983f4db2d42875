from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("bench", "0035_attempts_keep_their_place"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="experiment",
            index=models.Index(
                fields=["id"], condition=models.Q(("grows", ""), _negated=True), name="experiment_growing"
            ),
        ),
        migrations.AddIndex(
            model_name="experiment",
            index=models.Index(
                fields=["paused_at"], condition=models.Q(("paused_at__isnull", False)), name="experiment_paused"
            ),
        ),
    ]
