"""An instance that is not measured any more is retired: no plan offers it, and what was measured on it stays."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0002_refuse_rewriting_what_results_cite")]
    operations = [
        migrations.AddField("instance", "retired_at", models.DateTimeField(blank=True, editable=False, null=True)),
    ]
