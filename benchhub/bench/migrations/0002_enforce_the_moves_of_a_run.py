"""The moves of bench/states.py as they stood at this version, enforced; and a system stays as it is."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION benchhub_run_moves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state <> OLD.state AND (OLD.state || '>' || NEW.state) NOT IN (
        'queued>reserved', 'queued>failed', 'queued>cancelled',
        'reserved>starting', 'reserved>queued', 'reserved>failed', 'reserved>cancelled',
        'starting>running', 'starting>queued', 'starting>failed', 'starting>cancelled', 'starting>lost',
        'running>collecting', 'running>failed', 'running>cancelled', 'running>lost',
        'collecting>succeeded', 'collecting>failed', 'collecting>cancelled',
        'lost>queued'
    ) THEN
        RAISE EXCEPTION 'run % may not move from % to %', OLD.id, OLD.state, NEW.state
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.spec <> OLD.spec OR NEW.protocol_digest <> OLD.protocol_digest OR NEW.system_id <> OLD.system_id THEN
        RAISE EXCEPTION 'the plan of run % is frozen', OLD.id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER run_moves BEFORE UPDATE ON bench_run FOR EACH ROW EXECUTE FUNCTION benchhub_run_moves();
CREATE TRIGGER protocol_stays BEFORE UPDATE ON bench_protocol
    FOR EACH ROW EXECUTE FUNCTION benchhub_refuse_rewrite();
CREATE TRIGGER system_stays BEFORE UPDATE ON bench_system
    FOR EACH ROW EXECUTE FUNCTION benchhub_refuse_rewrite();
"""
BACKWARD = """
DROP TRIGGER system_stays ON bench_system;
DROP TRIGGER protocol_stays ON bench_protocol;
DROP TRIGGER run_moves ON bench_run;
DROP FUNCTION benchhub_run_moves;
"""


class Migration(migrations.Migration):
    dependencies = [("bench", "0001_warehouse"), ("catalog", "0002_refuse_rewriting_what_results_cite")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
