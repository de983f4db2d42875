"""Many looks at once: few queries, and nothing written for a claim that is stale."""

import time
from concurrent.futures import Future
from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.postgres.functions import TransactionNow
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from benchhub.bench import testing
from benchhub.bench.execute import jobs, looks
from benchhub.bench.execute.steps import watch
from benchhub.bench.execute.steps.contract import Looked
from benchhub.bench.execute.steps.watch import LastSign
from benchhub.bench.models import Protocol, Run, Watch
from benchhub.bench.queue import queue
from benchhub.catalog.models import Hardware
from runners.job import Sign
from runners.verdict import Look, Verdict

pytestmark = pytest.mark.django_db
LOOK = Look("boot", 1.0, True, True, None, "measure", 1.0, 0, 0, False, False, "boot", "r 1", b"")
ENDPOINT = {"path": "socket", "address": "/run", "port": 5432, "database": "d", "user": "u"}
SPEC = {"tool": "pgbench", "tool_version": "18.4", "bin_directory": "/opt", "endpoint": ENDPOINT, "parameters": {}}
# Times are those of the transaction, which a test is: they stand still, however slow this machine is.
PREPARED_QUERIES = 2  # runs with all they need, and their open attempts


@pytest.fixture
def claims():
    """Three runs under way, claimed."""
    system = testing.make_system("18", testing.make_host(), Hardware.objects.create(sockets=1, cores_per_socket=1))
    experiment = testing.make_experiment([system])
    for repeat in range(1, 4):
        fields = {"clients": 1, "threads": 1, "repeat": repeat, "position": repeat, "spec": SPEC}
        run = Run.objects.create(experiment=experiment, system=system, protocol=Protocol.stored({}), **fields)
        for state in ("reserved", "starting", "running"):
            Run.objects.filter(pk=run.pk).update(state=state)
        run.attempts.create(number=1, boot_id="boot")
        Watch.objects.create(run=run)
    return queue.claim(10)


def prepared(claims):
    return jobs.prepare(claims)


def test_looks_at_many_runs_are_prepared_in_as_few_queries_as_one(claims, django_assert_num_queries):
    with django_assert_num_queries(PREPARED_QUERIES):
        jobs = prepared(claims)
    assert [job.claim for job in jobs] == claims
    assert {(job.boot_id, job.attempt.number, job.target.private_key) for job in jobs} == {("boot", 1, "secret")}


def test_what_they_saw_is_written_by_one_statement_and_gives_them_back(claims, django_assert_num_queries):
    jobs = prepared(claims)
    with django_assert_num_queries(1):
        looks.write([(job, Looked(LOOK, Verdict("running"))) for job in jobs], looks.LOOK_EVERY)
    assert Watch.objects.filter(lease_until=None, step="measure", last_contact_at__lte=Now()).count() == 3
    assert queue.claim(10) == []


def test_a_stale_claim_writes_nothing_and_the_others_are_written(claims):
    jobs = prepared(claims)
    Watch.objects.filter(pk=claims[0].run_id).update(fence=99)
    looks.write([(job, Looked(LOOK, Verdict("running"))) for job in jobs], looks.LOOK_EVERY)
    assert Watch.objects.get(pk=claims[0].run_id).last_contact_at is None
    assert Watch.objects.exclude(last_contact_at=None).count() == 2


def note_signs(claims, times=3, out_size=0):
    last = LastSign(Sign(0, out_size, 20), time.monotonic() - 2, times)
    with CaptureQueriesContext(connection) as queries:
        looks.note_signs({claim.run_id: last for claim in claims}, looks.LOOK_EVERY)
    assert len(queries) == 1


def given_back(claims, **fields):
    due = {"next_look_at": TransactionNow() + timedelta(seconds=1), "lease_until": None, **fields}
    Watch.objects.filter(pk__in=[claim.run_id for claim in claims]).update(**due)


def put_off():
    later = Watch.objects.filter(next_look_at__gt=TransactionNow() + looks.LOOK_EVERY)
    return set(later.values_list("pk", flat=True))


def test_a_wait_that_says_all_is_as_before_is_a_contact_and_puts_the_look_off(claims):
    given_back(claims)
    begun_s = time.monotonic()
    note_signs(claims)
    took_s = time.monotonic() - begun_s
    assert put_off() == {claim.run_id for claim in claims}
    ages = Watch.objects.annotate(age=TransactionNow() - F("last_contact_at")).values_list("age", flat=True)
    assert all(2 <= age.total_seconds() <= 2 + took_s for age in ages)


@pytest.mark.parametrize("sign", [{"out_size": 5}, {"times": 2}], ids=["new output", "seen too few times"])
def test_where_there_is_something_to_see_the_look_comes_as_planned(claims, sign):
    given_back(claims)
    note_signs(claims, **sign)
    assert put_off() == set()
    assert not Watch.objects.filter(last_contact_at=None).exists()


def test_a_look_that_was_asked_for_is_not_put_off_nor_one_under_way_nor_one_in_trouble(claims):
    given_back(claims[:1], next_look_at=TransactionNow() - timedelta(seconds=1))
    given_back(claims[2:], contact_error="Refused.")
    note_signs(claims)
    assert not Watch.objects.exclude(last_contact_at=None).exists()
    assert put_off() == set()


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


def test_a_run_that_cannot_be_prepared_keeps_no_other_of_the_batch_waiting(claims):
    like = Run.objects.get(pk=claims[0].run_id)
    same = {name: getattr(like, name) for name in ("experiment", "system", "protocol", "clients", "threads")}
    run = Run.objects.create(**same, repeat=4, position=4, spec={"tool": "pgbench"})
    Watch.objects.create(run=run)
    for state in ("reserved", "starting", "running"):
        Run.objects.filter(pk=run.pk).update(state=state)
    run.attempts.create(number=1, boot_id="boot")
    [broken] = queue.claim(10)
    assert [job.claim for job in prepared([broken, *claims])] == claims
    watch = Watch.objects.get(pk=broken.run_id)
    assert (watch.lease_until, "BenchHub failed at this step: KeyError(" in watch.contact_error) == (None, True)
    assert queue.claim(10) == []


def test_signs_of_a_load_that_is_past_its_deadline_put_no_look_off(claims):
    job = prepared(claims)[0]
    job = replace(job, spec=replace(job.spec, deadline_s=60))
    for age_s, times in ((10, 1), (17, 2), (24, 3), (91, 1), (98, 1)):
        watch._note_sign(job, Sign(0, 0, 20, age_s))
        assert watch.signs(60)[job.claim.run_id].times == times
    del watch._last_signs[job.claim.run_id]


def test_a_look_at_a_load_whose_folder_is_elsewhere_is_not_written_as_one_that_saw_nothing_new(claims):
    job = prepared(claims)[0]
    for look, is_quiet in ((LOOK, True), (replace(LOOK, is_hidden=True), False)):
        future = Future()
        future.set_result(Looked(look, Verdict("running")))
        assert looks.is_quiet(job, future) == is_quiet
