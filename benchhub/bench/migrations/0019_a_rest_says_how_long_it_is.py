from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("bench", "0018_loads_go_through_poolers"),
    ]

    operations = [
        migrations.AddField(
            model_name="hold",
            name="rest_s",
            field=models.PositiveIntegerField(db_default=0),
        ),
    ]
