from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0003_unlike_sockets_and_metrics_without_choices"),
    ]

    operations = [
        migrations.AddField(
            model_name="host",
            name="pause_reason",
            field=models.TextField(blank=True, editable=False, help_text="Empty where a person paused it."),
        ),
    ]
