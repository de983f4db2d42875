"""The audit log refuses TRUNCATE, and keeps which browser a sign-in came from."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_roles_tokens_and_the_audit_log")]

    operations = [
        migrations.AddField(
            model_name="entry",
            name="device",
            field=models.CharField(
                blank=True, db_default="", help_text="The browser of a sign-in, if it was seen before.", max_length=32
            ),
        ),
        migrations.RunSQL(
            "CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accounts_entry "
            "FOR EACH STATEMENT EXECUTE FUNCTION benchhub_append_only();",
            "DROP TRIGGER never_emptied ON accounts_entry;",
        ),
    ]
