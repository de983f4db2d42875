from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0015_hosts_are_lent_for_so_long"),
    ]

    operations = [
        migrations.AlterField(
            model_name="host",
            name="longest_exclusive_h",
            field=models.PositiveSmallIntegerField(
                db_default=24,
                default=24,
                help_text="Hours of any 24, or of 3 more than these, that experiments may have it to themselves.",
            ),
        ),
    ]
