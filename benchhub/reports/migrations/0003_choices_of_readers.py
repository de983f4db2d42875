"""A link says which terms its readers may choose; those of before let them choose nothing."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reports", "0002_snapshots_are_never_emptied")]

    operations = [
        migrations.AddField("link", "choices", ArrayField(models.CharField(max_length=12), default=list, blank=True)),
    ]
