"""People may declare two protocols comparable, with a written reason."""

from typing import Any

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

KEPT: dict[str, Any] = {"on_delete": django.db.models.deletion.PROTECT, "related_name": "+"}


class Migration(migrations.Migration):
    dependencies = [
        ("bench", "0010_offer_rates_to_an_open_loop"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Comparability",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("reason", models.TextField()),
                ("declared_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("withdrawn_at", models.DateTimeField(null=True)),
                ("declared_by", models.ForeignKey(to=settings.AUTH_USER_MODEL, **KEPT)),
                (
                    "first",
                    models.ForeignKey(help_text="The one with the lower digest.", to="bench.protocol", **KEPT),
                ),
                ("second", models.ForeignKey(to="bench.protocol", **KEPT)),
                ("withdrawn_by", models.ForeignKey(null=True, to=settings.AUTH_USER_MODEL, **KEPT)),
            ],
            options={
                "verbose_name_plural": "comparabilities",
                "constraints": [
                    models.UniqueConstraint(
                        fields=["first", "second"],
                        condition=models.Q(("withdrawn_at", None)),
                        name="comparability_declared_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("first__lt", models.F("second"))), name="comparability_in_order"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("reason", ""), _negated=True), name="comparability_has_reason"
                    ),
                ],
            },
        ),
    ]
