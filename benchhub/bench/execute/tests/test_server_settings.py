"""Runs that change somebody's server, by a worker on real parts: tested, planned, measured, proved, held apart."""

import asyncio
import os
import signal
from concurrent.futures import Future
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
from django.db.models.functions import Now

from benchhub.bench.conftest import PATIENCE_S
from benchhub.bench.execute import answers, inspections, jobs, looks, loop, returns
from benchhub.bench.execute.steps import end
from benchhub.bench.execute.steps.contract import Cancelled, Ended, Looked, Refused, Started, Withdrawn
from benchhub.bench.execute.steps.look import look
from benchhub.bench.execute.steps.server import put_back_settings
from benchhub.bench.models import Attempt, Hold
from benchhub.bench.models.states import State
from benchhub.bench.plan.systems import system_under_test
from benchhub.bench.queue import queue
from benchhub.bench.results.readings import Reading, Readings
from benchhub.bench.run_page.settings import ServerSetting, server_rows
from benchhub.catalog.instances import applying
from benchhub.catalog.instances.inspection import looked_at
from benchhub.catalog.models import Configuration, Host, Inspection, Instance
from runners import job
from runners.collection import Collected
from runners.contract import Cluster, Outputs
from runners.server_settings import answer as server_answer
from runners.server_settings.put_back import UNDER_WAY
from runners.ssh import RemoteFailure
from runners.verdict import Look, Verdict
from tests.servers import new_cluster

pytestmark = [pytest.mark.django_db, pytest.mark.target]


@pytest.fixture(scope="module")
def server(request):
    """Somebody's server, stopped by its own number at the end: a run restarts it."""
    cluster = new_cluster("granted", 16, request)
    yield cluster
    [number, *_] = (cluster.data_directory / "postmaster.pid").read_text().split()
    os.kill(int(number), signal.SIGQUIT)


def ask(server, statement):
    with psycopg.connect(server.url, autocommit=True) as connection:
        return connection.execute(statement).fetchone()


@pytest.fixture
def granted(system, server):
    """Give an instance whose owner grants a reload, as its test saw it."""
    instance = system(server).instance
    instance.grant = Instance.Grant.RELOAD
    instance.save()
    return inspected(instance)


def inspected(instance):
    Inspection.ask(instance, instance.host)
    assert inspections.visit_inspections() == 1
    return Instance.objects.select_related("inspection", "host", "configuration").get(pk=instance.pk)


def with_settings(instance, machine, **settings):
    configuration = Configuration.objects.create(name=f"with {', '.join(settings)}", settings=settings)
    place = {"driver": instance.host, "hardware": machine, "path": "loopback", "label": configuration.name}
    return system_under_test(instance, configuration=configuration, **place)


def test_the_test_of_the_instance_reads_what_that_server_knows_and_no_text_that_may_be_a_secret(granted):
    rows = granted.inspection.parameters
    assert rows["shared_buffers"]["context"] == "postmaster" and rows["shared_buffers"]["default"] == "16384"
    assert "default" not in rows["archive_command"] and len(rows) > 300
    [finding] = [line for line in looked_at(granted.inspection) if line.name == "Change of settings"]
    assert finding.level == "ok", finding
    for name in ("work_mem", "max_wal_size", "effective_io_concurrency", "random_page_cost", "jit"):
        value = rows[name].get("default", "")
        assert applying.refusals(granted, Configuration(name="same", settings={name: value})) == []


def test_a_run_measures_with_its_settings_and_proves_that_the_former_ones_are_back(
    worker, granted, experiment, machine, server
):
    base, changed = with_settings(granted, machine), with_settings(granted, machine, work_mem="7MB")
    planned = experiment(base, changed)
    worker.finish(planned)
    runs = {run.system.label: run for run in planned.runs.filter(kind="measure").select_related("system", "result")}
    assert {run.state for run in runs.values()} == {State.SUCCEEDED}
    work_mem = {label: run.found.settings["work_mem"]["setting"] for label, run in runs.items()}
    assert work_mem == {base.label: "4096", changed.label: "7168"}
    run = runs[changed.label]
    assert server_rows(run.spec, run.found.deltas["server_settings"]) == [
        ServerSetting("work_mem", "7MB", "4MB", "7MB", "7MB", "4MB")
    ]
    assert not any(doubt["code"].startswith("server-settings") for doubt in run.result.doubts)
    assert ask(server, "SHOW work_mem") == ("4MB",) and Host.objects.get(pk=granted.host_id).paused_at is None


@pytest.mark.whole
def test_where_the_owner_lets_runs_restart_it_the_baseline_is_restarted_too(
    worker, granted, experiment, machine, server
):
    words = (server.bin_directory / "pg_ctl", "-D", server.data_directory, "-l", server.folder / "log", "-w", "restart")
    granted.grant, granted.restart_command = Instance.Grant.RESTART, " ".join(map(str, words))
    granted.save()
    instance = inspected(granted)
    started = ask(server, "SELECT pg_postmaster_start_time()")
    planned = experiment(with_settings(instance, machine, shared_buffers="24MB"))
    worker.finish(planned)
    run = planned.runs.get(kind="measure")
    assert run.state == State.SUCCEEDED, run.attempts.get().reason
    assert run.found.settings["shared_buffers"]["setting"] == "3072" and run.protocol.form["restart"] is True
    assert ask(server, "SHOW shared_buffers") == ("128MB",)
    assert ask(server, "SELECT pg_postmaster_start_time()") != started


@pytest.fixture
def under_way(granted, experiment, machine):
    """Give the job of a run that is starting, and its driver."""
    planned = experiment(with_settings(granted, machine, work_mem="7MB"))
    queue.reserve()
    [claim] = queue.claim(1)
    return jobs.prepare_step(claim), granted.host, planned


def written(job_, answer):
    future: Future[object] = Future()
    future.set_result(answer)
    answers.write(job_, future, print)


REASON = "Settings of a server that an earlier run changed could not be put back: no answer"
LOOK = Look("b", 1.0, True, False, None, "", None, 0, 0, False, False, "a", "", b"")


@pytest.mark.parametrize(
    "answer",
    [Cancelled(REASON), Looked(LOOK, Verdict("lost", "Its host was rebooted."), REASON), Refused(REASON)],
)
def test_a_host_whose_server_could_not_be_put_back_is_paused_with_the_reason(under_way, answer):
    job_, host, _ = under_way
    written(job_, answer)
    host.refresh_from_db()
    assert host.paused_at is not None and REASON in host.pause_reason


@pytest.mark.parametrize("answer", [Cancelled(), Looked(LOOK, Verdict("lost", "Its host was rebooted."))])
def test_a_host_whose_server_is_as_it_was_goes_on(under_way, answer):
    job_, host, _ = under_way
    written(job_, answer)
    host.refresh_from_db()
    assert host.paused_at is None


def test_a_start_whose_grant_was_withdrawn_goes_back_to_the_queue_with_the_reason(under_way):
    job_, host, planned = under_way
    Instance.objects.update(grant=Instance.Grant.NONE)
    queue.look_again(job_.claim, timedelta(0))
    [claim] = queue.claim(1)
    withdrawn = jobs.prepare_step(claim)
    assert job_.too_late == "" and "which its owner does not grant any more" in withdrawn.too_late
    written(withdrawn, Withdrawn())
    run = planned.runs.get(pk=claim.run_id)
    host.refresh_from_db()
    assert (run.state, run.attempts.get().reason, host.paused_at) == (State.QUEUED, withdrawn.too_late, None)
    assert queue.reserve() == []


def test_a_run_whose_server_another_benchhub_has_changed_waits_and_says_so(under_way):
    job_, host, planned = under_way
    written(job_, Started(job.StartOutcome.HELD, {}, None))
    run = planned.runs.select_related("watch").get(pk=job_.claim.run_id)
    host.refresh_from_db()
    assert (run.state, run.watch.contact_error, host.paused_at) == (State.STARTING, answers.HELD, None)


def test_a_run_whose_server_stays_changed_for_hours_lets_its_host_go_and_a_person_decides(under_way):
    job_, _, planned = under_way
    written(job_, Started(job.StartOutcome.HELD, {}, None))
    written(job_, Started(job.StartOutcome.HELD, {}, None))
    assert queue.why_not_now(planned.runs.get(pk=job_.claim.run_id)) == ""
    # A clock that was set by hours has waited for nobody.
    Attempt.objects.update(started_at=Now() - answers.HELD_FOR - timedelta(seconds=1))
    written(job_, Started(job.StartOutcome.HELD, {}, None))
    assert queue.why_not_now(planned.runs.get(pk=job_.claim.run_id)) == ""
    Attempt.objects.update(waits=answers.HELD_FOR // looks.RETRY_AFTER)
    written(job_, Started(job.StartOutcome.HELD, {}, None))
    planned.refresh_from_db()
    assert planned.pause_reason.startswith("Another BenchHub, or another work directory, has changed settings of")
    queue.look_again(job_.claim, timedelta(0))
    [claim] = queue.claim(1)
    withdrawn = jobs.prepare_step(claim)
    assert withdrawn.too_late == "The experiment is paused."
    written(withdrawn, Withdrawn())
    assert planned.runs.get(pk=claim.run_id).state == State.QUEUED and not Hold.objects.exists()


def end_held(job_, returncode=96):
    """Write the end of a run whose server says, with this exit code, that another keeper has changed it."""
    text = f"Server setting error: x:/y {server_answer.HELD}\n"
    collected = Collected(Outputs(returncode, b"", text.encode(), {}), {}, {})
    written(replace(job_, state=State.COLLECTING), Ended(collected, None, Readings(Reading(error=ValueError("none")))))


def test_a_server_that_is_held_whenever_a_run_begins_pauses_its_experiment(under_way):
    job_, _, planned = under_way
    run = collecting(job_, planned)
    for number in range(2, returns.MOST_HELD + 1):
        run.attempts.create(number=number, outcome=State.FAILED, reason=answers.HELD, ended_at=Now())
    end_held(job_)
    planned.refresh_from_db()
    assert planned.pause_reason.startswith("Another BenchHub, or another work directory, had changed settings of")


def test_what_a_server_says_in_a_later_step_does_not_put_its_run_back_into_the_queue(under_way):
    job_, _, planned = under_way
    run = collecting(job_, planned)
    end_held(job_, returncode=2)
    run.refresh_from_db()
    assert run.state == State.FAILED


def test_a_run_that_meets_another_benchhub_on_its_server_goes_back_to_the_queue(under_way):
    job_, host, planned = under_way
    run = collecting(job_, planned)
    end_held(job_)
    run.refresh_from_db()
    host.refresh_from_db()
    assert (run.state, run.attempts.get().reason, host.paused_at) == (State.QUEUED, answers.HELD, None)
    assert run.experiment.pause_reason == ""


def collecting(job_, planned):
    run = planned.runs.get(pk=job_.claim.run_id)
    for state in (State.RUNNING, State.COLLECTING):
        queue.move(run, state)
    return run


@pytest.fixture
def answered(monkeypatch):
    """Return a function that has each host of a run say this when it is asked to put back."""

    def answered(answer):
        async def put_back(*_):
            return answer

        monkeypatch.setattr("benchhub.bench.execute.steps.server.put_back", put_back)

    return answered


def test_while_former_settings_are_being_put_back_nobody_decides_how_the_run_ended(under_way, answered):
    job_, _, _ = under_way
    answered(UNDER_WAY)
    with pytest.raises(RemoteFailure, match="are being put back"):
        asyncio.run(put_back_settings(job_))
    with pytest.raises(RemoteFailure, match="are being put back"):
        asyncio.run(end.collect_or_cancel(replace(job_, state=State.COLLECTING)))


def test_a_run_whose_folder_is_gone_ends_once_the_former_settings_are_back(under_way, answered):
    running = replace(under_way[0], state=State.RUNNING)
    answered(UNDER_WAY)
    with pytest.raises(RemoteFailure, match="are being put back"):
        loop.submit(look(running)).result(timeout=PATIENCE_S)
    answered(REASON)
    looked = loop.submit(look(running)).result(timeout=PATIENCE_S)
    assert (looked.verdict.state, looked.unrestored) == ("absent", REASON)


def test_a_host_says_at_the_end_of_a_run_whether_settings_of_its_operating_system_are_back(under_way, monkeypatch):
    async def put_back(*_):
        return REASON

    monkeypatch.setattr("benchhub.bench.execute.steps.server.os_put_back.put_back", put_back)
    job_ = under_way[0]
    cluster = Cluster("/srv/own", "m", "/opt/pg/bin", "bench", os_settings={"vm.swappiness": "1"})
    own = replace(job_, spec=replace(job_.spec, server_settings=None, cluster=cluster))
    assert asyncio.run(put_back_settings(own)) == REASON
    assert asyncio.run(put_back_settings(replace(own, spec=replace(own.spec, cluster=None)))) == ""


def test_a_cancelled_collection_that_could_not_ask_the_host_pauses_it(under_way, answered):
    job_, _, _ = under_way
    answered(UNDER_WAY)
    cancelled = asyncio.run(end.collect_or_cancel(replace(job_, state=State.COLLECTING, cancel_asked=True)))
    assert cancelled == Cancelled(end.UNASKED)


@pytest.mark.parametrize("log", [{}, {"server_settings.log": b"before work_mem 4MB\napplied work_mem 7MB\noverdue\n"}])
@pytest.mark.parametrize("reason", ["", REASON])
def test_the_host_s_word_counts_at_the_end_of_a_run_whatever_its_log_lacks(under_way, log, reason):
    job_, host, planned = under_way
    collecting(job_, planned)
    collected = Collected(Outputs(137, b"", b"", log), {}, {})
    written(
        replace(job_, state=State.COLLECTING),
        Ended(collected, None, Readings(Reading(error=ValueError("no result"))), reason),
    )
    host.refresh_from_db()
    assert (host.paused_at is not None) is bool(reason) and reason in host.pause_reason
