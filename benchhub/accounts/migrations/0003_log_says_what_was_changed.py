"""The audit log says what an act has changed, and what was done by a command."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_log_is_never_emptied_and_knows_browsers")]

    operations = [
        migrations.AddField(
            model_name="entry",
            name="detail",
            field=models.TextField(blank=True, db_default="", help_text="What was changed, without secrets."),
        ),
        migrations.AlterField(
            model_name="entry",
            name="way",
            field=models.CharField(
                choices=[("web", "pages"), ("api", "API"), ("cmd", "commands, workers")], max_length=3
            ),
        ),
    ]
