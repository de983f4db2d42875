from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0014_what_a_host_says_of_builds_is_its_own"),
    ]

    operations = [
        migrations.AddField(
            model_name="host",
            name="longest_exclusive_h",
            field=models.PositiveSmallIntegerField(
                db_default=24,
                default=24,
                help_text="How long an experiment may have the host to itself at once, in hours.",
            ),
        ),
    ]
