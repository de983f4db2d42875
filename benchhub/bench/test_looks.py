"""Many looks at once: few queries, and nothing written for a claim that is stale."""

import pytest
from django.db.models.functions import Now

from benchhub.bench import execution, looks, queue
from benchhub.bench.models import Protocol, Run, Watch
from benchhub.bench.steps import Looked
from benchhub.catalog.models import Hardware
from runners.job import Look, Verdict

from . import testdata

pytestmark = pytest.mark.django_db
SEEN = Look("boot", 1.0, True, True, None, "measure", 1.0, 0, 0, False, False, "boot", "r 1", b"")
ENDPOINT = {"path": "socket", "address": "/run", "port": 5432, "database": "d", "user": "u"}
SPEC = {"tool": "pgbench", "tool_version": "18.4", "bin_directory": "/opt", "endpoint": ENDPOINT, "parameters": {}}
PREPARED_QUERIES = 2  # runs with all they need, and their open attempts


@pytest.fixture
def claims():
    """Three runs under way, claimed."""
    system = testdata.make_system("18", testdata.make_host(), Hardware.objects.create(sockets=1, cores_per_socket=1))
    experiment = testdata.make_experiment([system])
    for repeat in range(1, 4):
        fields = {"clients": 1, "threads": 1, "repeat": repeat, "position": repeat, "spec": SPEC}
        run = Run.objects.create(experiment=experiment, system=system, protocol=Protocol.of({}), **fields)
        for state in ("reserved", "starting", "running"):
            Run.objects.filter(pk=run.pk).update(state=state)
        run.attempts.create(number=1, boot_id="boot")
        Watch.objects.create(run=run)
    return queue.claim(10)


def prepared(claims):
    return execution._prepared(claims)


def test_looks_at_many_runs_are_prepared_in_as_few_queries_as_one(claims, django_assert_num_queries):
    with django_assert_num_queries(PREPARED_QUERIES):
        jobs = prepared(claims)
    assert [job.claim for job in jobs] == claims
    assert {(job.boot_id, job.attempt.number, job.target.private_key) for job in jobs} == {("boot", 1, "secret")}


def test_what_they_saw_is_written_by_one_statement_and_gives_them_back(claims, django_assert_num_queries):
    jobs = prepared(claims)
    with django_assert_num_queries(1):
        looks.write([(job, Looked(SEEN, Verdict("running"))) for job in jobs], execution.LOOK_EVERY)
    assert Watch.objects.filter(lease_until=None, step="measure", last_contact_at__lte=Now()).count() == 3
    assert queue.claim(10) == []


def test_a_stale_claim_writes_nothing_and_the_others_are_written(claims):
    jobs = prepared(claims)
    Watch.objects.filter(pk=claims[0].run_id).update(fence=99)
    looks.write([(job, Looked(SEEN, Verdict("running"))) for job in jobs], execution.LOOK_EVERY)
    assert Watch.objects.get(pk=claims[0].run_id).last_contact_at is None
    assert Watch.objects.exclude(last_contact_at=None).count() == 2


def test_a_run_that_is_to_be_cancelled_is_not_merely_looked_at(claims):
    Run.objects.filter(pk=claims[0].run_id).update(cancel_asked_at=Now())
    assert {run.pk for run in looks.under_way(claims)} == {claim.run_id for claim in claims[1:]}
    assert [job.cancel_asked for job in prepared(claims)] == [True, False, False]


def test_a_lease_is_renewed_from_half_of_it_on_and_only_under_the_claims_own_fence(claims):
    before = Watch.objects.get(pk=claims[0].run_id).lease_until
    queue.renew(claims)
    assert Watch.objects.get(pk=claims[0].run_id).lease_until == before
    Watch.objects.update(lease_until=Now() + queue.LEASE / 4)
    Watch.objects.filter(pk=claims[1].run_id).update(fence=99)
    queue.renew(claims)
    renewed = set(Watch.objects.filter(lease_until__gt=Now() + queue.LEASE / 2).values_list("pk", flat=True))
    assert renewed == {claims[0].run_id, claims[2].run_id}
