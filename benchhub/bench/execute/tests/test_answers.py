"""Answers of hosts that make no sense: they end where they belong, and nothing is asked for ever."""

import asyncio
from concurrent.futures import Future
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from unittest.mock import AsyncMock

import pytest
from django.db.models import Q

from benchhub.analysis.doubts.bound import MOST
from benchhub.analysis.doubts.doubt import Weight, weighed
from benchhub.bench import testing
from benchhub.bench.execute import answers, jobs, looks, returns, visits
from benchhub.bench.execute.steps import end
from benchhub.bench.execute.steps.contract import Ended, Looked
from benchhub.bench.execute.steps.look import MOST_WAITS, awaits_folder
from benchhub.bench.models import Attempt, Found, Hold, Result, Run, Watch
from benchhub.bench.models.states import State
from benchhub.bench.queue import queue
from benchhub.bench.results import ingest, readings
from benchhub.catalog.models import Hardware, Host
from benchhub.reports.curves import runs as curve_runs
from benchhub.reports.curves import verdicts
from runners.contract import PREPARATION_FAILED, VERIFY_FAILED, Outputs, RunResult
from runners.job import Collected, SenselessAnswer
from runners.readings import LONGEST_SENTENCE
from runners.ssh import RemoteFailure, Unreachable
from runners.tools.shell import NOT_LOADED
from runners.verdict import Look, Verdict

pytestmark = pytest.mark.django_db
UNREAD = readings.Reading(error=ValueError("z" * 5000))
PRINTED = b"""pgbench (16.9)
transaction type: <builtin: select only>
scaling factor: 10
query mode: simple
number of clients: 2
number of threads: 1
duration: 2 s
number of transactions actually processed: 2000
number of failed transactions: 0 (0.000%)
latency average = 2.000 ms
initial connection time = 1.000 ms
tps = 1000.000000 (without initial connection time)
"""


def ended(job_, printed, stderr=b"", remarks=()):
    outputs = Outputs(0, printed, stderr)
    read = asyncio.run(readings.read(job_.spec, outputs, "16.9"))
    return Ended(Collected(outputs, {}, dict(enumerate(remarks))), None, read)


def begun(state=State.QUEUED, **values):
    """Return a run, its attempt, and the job of its end."""
    host, hardware = testing.make_host(), Hardware.objects.create(name="h", sockets=1, cores_per_socket=4)
    system = testing.make_system("16", host, hardware)
    spec = testing.whole_spec(**values)
    run = testing.make_run(testing.make_experiment([system]), system, 2, 1, state=state, spec=spec)
    attempt, watch = Attempt.objects.create(run=run, number=1), Watch.objects.create(run=run)
    return run, attempt, jobs.make_job(run, queue.Claim(run.pk, watch.fence), attempt)


def test_a_result_that_the_warehouse_refuses_fails_the_run_instead_of_being_asked_for_again():
    host, hardware = testing.make_host(), Hardware.objects.create(name="h", sockets=1, cores_per_socket=4)
    system = testing.make_system("16", host, hardware)
    spec = testing.whole_spec(log_sampling_rate=0)
    run = testing.make_run(testing.make_experiment([system]), system, 2, 1, spec=spec)
    testing.succeeded(run, 900.0)  # so that a second result is refused
    attempt, watch = run.attempts.get(), Watch.objects.create(run=run)
    job_ = jobs.make_job(run, queue.Claim(run.pk, watch.fence), attempt)
    state, reason = answers.store_outputs(run, attempt, job_, ended(job_, PRINTED))
    assert state == State.FAILED
    assert reason.startswith("BenchHub cannot read what the run left behind (IntegrityError(")
    assert Result.objects.get(run=run).throughput == 900.0


@pytest.mark.parametrize(
    ("line", "lines", "end"),
    [("x", 3_000_000, ""), ("error: x\n", 300_000, "y"), ("a\n", 30_000_000, "")],
)
def test_a_reason_that_a_host_prints_without_end_is_as_long_as_can_be_shown(line, lines, end):
    """The last one would take the worker a minute and some GB, as often as it is read."""
    stderr = line.encode() * lines + end.encode() * 3_000_000
    run, attempt, job_ = begun(clients=2)
    unread = readings.Readings(UNREAD)
    for returncode in (PREPARATION_FAILED, 0):
        outputs = Outputs(returncode, b"", stderr)
        state, reason = answers.store_outputs(run, attempt, job_, Ended(Collected(outputs, {}, {}), None, unread))
        assert state == State.FAILED
        assert 0 < len(reason) <= LONGEST_SENTENCE + 3


def test_what_to_do_stands_behind_a_reason_however_long_the_host_makes_it():
    run, attempt, job_ = begun(clients=2)
    outputs = Outputs(VERIFY_FAILED, b"", b"The data set is not the one asked for.\n" + b"x" * 5000)
    collected = Collected(outputs, {}, {"server's host": "The server's host gave no counters."})
    state, reason = answers.store_outputs(run, attempt, job_, Ended(collected, None, readings.Readings(UNREAD)))
    assert state == State.FAILED
    assert reason.startswith("x" * 100)
    assert reason.endswith("the data set is then loaded first. The server's host gave no counters.")


def test_what_cannot_be_read_says_that_its_evidence_is_kept_however_long_the_error_is():
    run, attempt, job_ = begun(clients=2)
    ended_ = Ended(Collected(Outputs(0, b"", b""), {}, {}), None, readings.Readings(UNREAD))
    assert answers.store_outputs(run, attempt, job_, ended_)[1].endswith("its evidence is kept as it came.")


def test_what_benchhub_remarks_on_a_run_is_not_pushed_out_by_what_its_load_generator_warns():
    run, attempt, job_ = begun(clients=2, threads=1, log_sampling_rate=0)
    warnings = b"".join(b"pgbench: warning: %d\n" % number for number in range(MOST + 9))
    own = "The server's host gave no counters."
    assert answers.store_outputs(run, attempt, job_, ended(job_, PRINTED, warnings, [own]))[0] == State.SUCCEEDED
    remarks = Result.objects.get(run=run).remarks
    assert (remarks[0], remarks[-2][:15]) == (own, "pgbench warned:")
    assert len(remarks) == MOST + 1
    assert remarks[-1].endswith(" more remarks are left out.")


@pytest.mark.parametrize("is_read", [True, False])
def test_limits_of_the_hosts_have_a_digest_beside_that_of_the_other_facts(is_read):
    run, attempt, job_ = begun(clients=2, threads=1, log_sampling_rate=0)
    host = run.system.driver
    host.facts |= {"limits": {"cpus": 2.5, "memory_bytes": "none"}} if is_read else {}
    host.save()
    answers.store_outputs(run, attempt, job_, ended(job_, PRINTED))
    assert len(Found.objects.get(run=run).limits_digest) == (64 if is_read else 0)


@pytest.mark.parametrize(("cluster", "names"), [(None, {"driver"}), ("ours", {"driver", "server"})])
def test_limits_of_benchhubs_account_count_where_it_runs_the_server(cluster, names):
    instance = SimpleNamespace(own_cluster=cluster)
    run = SimpleNamespace(system=SimpleNamespace(driver=SimpleNamespace(name="driver"), instance=instance))
    assert answers._limited(run, {"driver": {}, "server": {}}).keys() == names


class Endless(bytes):
    """Bytes of which only a part may be read as text."""

    def decode(self, *_args, **_options):
        raise AssertionError("They were read whole.")


@pytest.mark.parametrize(("line", "remarks"), [(NOT_LOADED, (NOT_LOADED,)), ("x", ())])
def test_how_a_load_ended_is_told_without_reading_the_whole_of_what_it_printed(line, remarks):
    run, _, _ = begun(kind="load")
    outputs = Outputs(0, b"", Endless(f"{line}\n".encode() * 9), {"copy.txt": Endless(b"loaded_s 1\n" * 999)})
    read = readings.Reading(RunResult("succeeded", "", "p"))
    result = ingest.judge(run, outputs, read, ingest.Observed())
    assert (result.outcome, result.remarks) == ("succeeded", remarks)


LOOK = Look("b", 1.0, False, False, None, "", None, 0, 0, False, False, None, "", b"")


@pytest.mark.parametrize(("reason", "rest_s"), [("", 45), ("Its host was rebooted.", None)])
def test_a_host_rests_until_a_load_whose_folder_was_deleted_has_ended_and_goes_on_at_once_otherwise(reason, rest_s):
    host, hardware = testing.make_host(), Hardware.objects.create(name="h", sockets=1, cores_per_socket=4)
    system = testing.make_system("16", host, hardware)
    experiment = testing.make_experiment([system])
    run = testing.make_run(experiment, system, 2, 1, state=State.RUNNING, spec=testing.whole_spec())
    attempt, watch = Attempt.objects.create(run=run, number=1), Watch.objects.create(run=run)
    Hold.objects.create(resource=f"host:{host.pk}", run=run)
    future: Future[object] = Future()
    future.set_result(Looked(LOOK, Verdict("lost" if reason else "absent", reason)))
    answers.write(jobs.make_job(run, queue.Claim(run.pk, watch.fence), attempt), future, print)
    run.refresh_from_db()
    assert (run.state, run.reason) == (State.LOST, reason or answers.FOLDER_GONE)
    assert list(Hold.objects.values_list("run", "rest_s")) == ([(None, rest_s)] if rest_s else [])


@pytest.fixture
def unwatched(monkeypatch):
    """Have nobody wait for the end of a load that no host has."""
    monkeypatch.setattr(answers, "watch", lambda *_: None)


def test_a_run_waits_for_a_folder_that_was_moved_under_its_load_and_is_lost_where_nobody_puts_it_back(unwatched):
    run, attempt, job_ = begun(State.RUNNING)
    absent = Verdict("absent", "")
    written(job_, Looked(replace(LOOK, is_hidden=True), Verdict("running")))
    hidden_at = Attempt.objects.get(pk=attempt.pk).hidden_at
    job_ = replace(job_, hidden_at=hidden_at)
    assert Watch.objects.get(run=run).contact_error == answers.HIDDEN and awaits_folder(job_)
    written(job_, Looked(LOOK, absent, is_awaited=True))
    until = f"{hidden_at + timedelta(hours=4):%Y-%m-%d %H:%M} UTC"
    assert f"put the work directory back to where it was on the host by {until}" in sentence_of(run)
    assert (Run.objects.get(pk=run.pk).state, attempt.pk) == (State.RUNNING, run.attempts.get(ended_at=None).pk)
    assert Attempt.objects.get(pk=attempt.pk).waits == 1
    job_ = replace(job_, waits=MOST_WAITS - 1)
    for hours in (-5, 5):  # by which a clock was set, or nobody looked
        assert awaits_folder(replace(job_, hidden_at=hidden_at + timedelta(hours=hours)))
    written(job_, Looked(LOOK, absent, is_awaited=True))
    assert f"by {hidden_at + looks.RETRY_AFTER:%Y-%m-%d %H:%M} UTC" in sentence_of(run)
    late = replace(job_, waits=MOST_WAITS)
    assert not awaits_folder(late) and not awaits_folder(replace(job_, hidden_at=None))
    written(late, Looked(LOOK, absent))
    run.refresh_from_db()
    assert (run.state, run.reason) == (State.LOST, answers.NOT_PUT_BACK)
    assert "was not back 4 h after the load was last seen in it" in run.reason


def test_a_folder_that_is_back_under_its_load_is_one_that_was_never_away(unwatched):
    run, attempt, job_ = begun(State.RUNNING)
    written(job_, Looked(replace(LOOK, is_hidden=True), Verdict("running")))
    job_ = replace(job_, hidden_at=Attempt.objects.get(pk=attempt.pk).hidden_at)
    back = Looked(replace(LOOK, started=True, lock_held=True), Verdict("running"))
    assert not looks.is_quiet(job_, arrived(back))
    written(job_, back)
    assert (Attempt.objects.get(pk=attempt.pk).hidden_at, sentence_of(run)) == (None, "")


def arrived(answer):
    future: Future[object] = Future()
    future.set_result(answer)
    return future


def written(job_, answer):
    answers._write_answer(job_, answer, print)


def sentence_of(run):
    return Watch.objects.get(run=run).contact_error


def visit(host, answer):
    host.ask(Host.Wanted.FACTS)
    host.refresh_from_db()
    host = visits._claim_visit(host)
    assert host
    future: Future[object] = Future()
    future.set_result(answer)
    visits._note_visit(host, future)
    return Host.objects.get(pk=host.pk)


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_an_answer_that_cannot_be_stored_is_said_and_costs_no_other_visit(text):
    now = visit(testing.make_host(), {"kernel": text})
    assert (now.wanted, now.visit_until, now.facts) == ("", None, {})
    assert now.contact_error.startswith("PostgreSQL cannot store what the host answered (")


def test_an_output_of_another_run_than_planned_is_a_contradiction_beside_the_number_and_in_its_curve():
    """Plan simple reads, and get prepared TPC-B against another server: the number stays, and is not relied on."""
    host, hardware = testing.make_host(), Hardware.objects.create(name="h", sockets=1, cores_per_socket=4)
    system = testing.make_system("16", host, hardware)
    experiment = testing.make_experiment([system])
    spec = testing.whole_spec(clients=2, threads=1, log_sampling_rate=0)
    other = PRINTED.replace(b"(16.9)", b"(16.9, server 15.2)").replace(b"select only", b"TPC-B (sort of)")
    other = other.replace(b"mode: simple", b"mode: prepared")
    for clients, printed, codes in ((2, PRINTED, set()), (2, other, {"server-version", "script", "query-mode"})):
        run = testing.make_run(experiment, system, clients, experiment.runs.count() + 1, spec=spec)
        Run.objects.filter(pk=run.pk).update(threads=1)
        run.refresh_from_db()
        attempt, watch = testing.ended(run, "succeeded"), Watch.objects.create(run=run)
        job = jobs.make_job(run, queue.Claim(run.pk, watch.fence), attempt)
        state, _ = answers.store_outputs(run, attempt, job, ended(job, printed))
        assert state == State.SUCCEEDED
        doubts = [weighed(**doubt) for doubt in Result.objects.get(run=run).doubts]
        assert {doubt.code for doubt in doubts if doubt.weight == Weight.CONTRADICTED} == codes
    verdict = verdicts.of_curve(curve_runs.read(Q(experiment=experiment)))
    assert verdict.words == "not to be relied on"
    assert any("The output is of query mode prepared, not of simple." in doubt.text for doubt in verdict.doubts)


@pytest.mark.parametrize("error", [KeyError("SIZE"), IndexError("list index out of range")])
def test_a_host_whose_answer_to_a_probe_cannot_be_read_says_so_and_is_not_asked_for_ever(error):
    host = testing.make_host()
    host.ask(Host.Wanted.FACTS)
    host.refresh_from_db()
    host = visits._claim_visit(host)
    assert host
    answer: Future[object] = Future()
    answer.set_exception(error)
    visits._note_visit(host, answer)
    now = Host.objects.get(pk=host.pk)
    assert (now.wanted, now.visit_until, now.facts) == ("", None, {})
    assert now.contact_error == f"BenchHub cannot read what the host answered: {error!r}."


def replies(job_, error, times):
    for _ in range(times):
        future = Future()
        future.set_exception(error)
        answers.write_all({future: job_}, lambda _: None)


def test_a_host_whose_answers_make_no_sense_is_set_apart_and_no_run_begins_there():
    run, _, job_ = begun(State.RUNNING)
    cut = SenselessAnswer(job_.target, ValueError("cut off"), b"")
    replies(job_, cut, returns.MOST_SENSELESS - 1)
    replies(job_, Unreachable("It did not answer in time."), 1)
    replies(job_, cut, returns.MOST_SENSELESS - 1)
    assert not Host.objects.exclude(paused_at=None).exists()
    replies(job_, cut, 1)
    host = Host.objects.get()
    assert host.paused_at and "makes no sense" in host.pause_reason and "resume the host" in host.pause_reason
    run.refresh_from_db()
    assert run.state == State.RUNNING  # nothing is known of it


@pytest.mark.parametrize("is_senseless", [True, False])
def test_a_host_that_handed_over_nonsense_has_no_further_runs_and_a_refusal_is_the_runs_own(is_senseless, monkeypatch):
    run, _, job_ = begun(State.COLLECTING)
    error = SenselessAnswer(job_.target, ValueError("x"), b"") if is_senseless else RemoteFailure("No exit code.", None)

    async def failed(_):
        raise error

    monkeypatch.setattr(end, "_collect", failed)
    monkeypatch.setattr(end, "MOST_COLLECTIONS", 1)
    monkeypatch.setattr(end, "single_look", AsyncMock())
    future = Future()
    future.set_result(asyncio.run(end._collect_in_tries(job_)))
    answers.write(job_, future, lambda _: None)
    run.refresh_from_db()
    assert run.state == State.FAILED
    assert Host.objects.exclude(paused_at=None).exists() == is_senseless
