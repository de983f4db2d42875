"""A failed run may go back to the queue, by hand, as a lost one may."""

from django.db import migrations

LOST_ONLY = "'lost>queued'\n"
FAILED_TOO = "'lost>queued', 'failed>queued'\n"


def _moves(last: str) -> str:
    return f"""
CREATE OR REPLACE FUNCTION benchhub_run_moves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state <> OLD.state AND (OLD.state || '>' || NEW.state) NOT IN (
        'queued>reserved', 'queued>failed', 'queued>cancelled',
        'reserved>starting', 'reserved>queued', 'reserved>failed', 'reserved>cancelled',
        'starting>running', 'starting>queued', 'starting>failed', 'starting>cancelled', 'starting>lost',
        'running>collecting', 'running>failed', 'running>cancelled', 'running>lost',
        'collecting>succeeded', 'collecting>failed', 'collecting>cancelled',
        {last}
    ) THEN
        RAISE EXCEPTION 'run % may not move from % to %', OLD.id, OLD.state, NEW.state
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.spec <> OLD.spec OR NEW.protocol_digest <> OLD.protocol_digest OR NEW.system_id <> OLD.system_id THEN
        RAISE EXCEPTION 'the plan of run % is frozen', OLD.id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("bench", "0002_enforce_the_moves_of_a_run")]
    operations = [migrations.RunSQL(_moves(FAILED_TOO), _moves(LOST_ONLY))]
