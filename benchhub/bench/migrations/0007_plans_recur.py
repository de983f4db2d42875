"""Plans are queued again by a rule; each time is an experiment that names the rule."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("bench", "0006_data_sets_belong_to_experiments"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Recurrence",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "weekdays",
                    django.contrib.postgres.fields.ArrayField(base_field=models.PositiveSmallIntegerField(), size=None),
                ),
                ("starts_at", models.TimeField()),
                ("zone", models.CharField(max_length=64)),
                ("until", models.DateField(blank=True, null=True)),
                ("next_at", models.DateTimeField(blank=True, null=True)),
                ("paused_at", models.DateTimeField(blank=True, null=True)),
                ("pause_reason", models.TextField(blank=True)),
                ("skips", models.JSONField(default=list, editable=False)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "plan",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="recurrence", to="bench.experiment"
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="experiment",
            name="occasion_of",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="occasions",
                to="bench.recurrence",
            ),
        ),
        migrations.AddIndex(
            model_name="recurrence",
            index=models.Index(condition=models.Q(("paused_at", None)), fields=["next_at"], name="recurrence_due"),
        ),
        migrations.AddConstraint(
            model_name="recurrence",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("weekdays", []), _negated=True), ("weekdays__contained_by", [0, 1, 2, 3, 4, 5, 6])
                ),
                name="recurrence_has_weekdays",
            ),
        ),
    ]
