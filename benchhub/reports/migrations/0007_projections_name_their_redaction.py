"""A projection names the rules by which texts were hidden in it, so that it is made anew under stricter ones."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reports", "0006_prints_name_their_edition")]

    operations = [
        migrations.AddField(
            model_name="projection",
            name="redaction",
            field=models.PositiveSmallIntegerField(db_default=1),
        ),
        migrations.RemoveConstraint(model_name="projection", name="projection_once"),
        migrations.AddConstraint(
            model_name="projection",
            constraint=models.UniqueConstraint(fields=("snapshot", "hidden", "redaction"), name="projection_once"),
        ),
    ]
