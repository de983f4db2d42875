from django.db import migrations

FINISHED = """
DELETE FROM bench_watch USING bench_run WHERE bench_run.id = bench_watch.run_id
    AND bench_run.state IN ('succeeded', 'cancelled') AND bench_watch.next_look_at < now() - interval '1 day'
"""


class Migration(migrations.Migration):
    dependencies = [("bench", "0021_orders_have_indexes")]

    operations = [migrations.RunSQL(FINISHED, migrations.RunSQL.noop)]
