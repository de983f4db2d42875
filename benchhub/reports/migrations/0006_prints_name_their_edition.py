"""A print names the digest of what was printed, so that it is printed anew when a list price is taken back."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reports", "0005_snapshots_cite_runs")]

    operations = [
        migrations.AddField(
            model_name="printed",
            name="sha256",
            field=models.CharField(db_default="", max_length=64),
        ),
    ]
