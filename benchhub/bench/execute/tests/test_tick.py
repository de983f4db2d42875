"""The main path on real parts: SSH, PostgreSQL, pgbench and the warehouse."""

import os
import signal
from datetime import timedelta

import psycopg
import pytest
from django.db.models.functions import Now

from benchhub.bench.execute import visits
from benchhub.bench.models import Attempt, Evidence, Experiment, Hold, Result, Run, Tenancy, Watch
from benchhub.bench.models.states import State
from benchhub.bench.plan.systems import system_under_test
from benchhub.bench.queue import queue
from benchhub.catalog.models import DataSet, Host, Instance, Workload

pytestmark = [pytest.mark.long, pytest.mark.django_db, pytest.mark.target]
ABOUT_THE_MACHINE = ("clients-idle", "host-busy", "stolen-cpu", "throttled")


def test_an_experiment_on_two_builds_ends_with_a_result_for_every_level(
    worker, system, experiment, cluster16, cluster18
):
    runs = worker.finish(experiment(system(cluster18), system(cluster16), client_levels=[1, 2], repeats=2))
    assert [(run.kind, run.clients, run.repeat) for run in runs[:2]] == [("load", 0, 0)] * 2
    assert [run.state for run in runs] == [State.SUCCEEDED] * 10, [run.reason for run in runs]
    measured = runs[2:]
    assert {(run.system.label, run.clients, run.repeat) for run in measured} == {
        (name, clients, repeat) for name in ("cluster16", "cluster18") for clients in (1, 2) for repeat in (1, 2)
    }
    assert all(run.result.unit == "TPS" and run.result.throughput > 100 for run in measured)
    assert not Hold.objects.exists()
    assert Attempt.objects.filter(outcome=State.SUCCEEDED, ended_at__isnull=False).count() == 10


def test_a_result_keeps_its_evidence_series_latencies_and_facts(worker, system, experiment, cluster18):
    run = worker.finish(experiment(system(cluster18), duration_s=2))[-1]
    assert run.state == State.SUCCEEDED, run.reason
    evidence = {row.name: row for row in Evidence.objects.filter(attempt__run=run)}
    assert b"tps = " in bytes(evidence["out.log"].content)
    assert {"command.sh", "spec.json", "latency.hist"} <= evidence.keys()
    assert {series.metric for series in run.series.all()} >= {"tps", "latency_ms"}
    histogram = run.histograms.first()
    assert sum(histogram.counts) == run.result.measures["logged_transactions"]["value"]
    # The plan guessed 2 x 60,000 TPS at 4,000 lines a second of a CPU; the driver logged what its pilot allowed.
    assert run.spec["log_sampling_rate"] in (1 / 15, 1 / 30) and run.spec["pilot_s"] == 1
    assert b"tps = " in bytes(evidence["pilot.out"].content)
    assert histogram.sampling_rate == pytest.approx(float(evidence["log.share"].text))
    assert histogram.sampling_rate >= run.spec["log_sampling_rate"]
    assert run.result.latency_p50_ms > 0
    assert (run.result.latency_p99_ms is not None) == (sum(histogram.counts) >= 1000)  # 10 of them lie above it
    assert run.found.settings["fsync"]["setting"] == "on"
    assert run.found.server["server_version_num"] // 10000 == 18
    assert run.found.deltas["pg_stat_database"]["xact_commit"] >= run.result.measures["transactions"]["value"]
    assert run.found.differences == []


def test_a_run_is_observed_beside_its_load_where_its_plan_asks_for_it(worker, system, experiment, cluster18):
    server = system(cluster18)
    run = worker.finish(experiment(server, duration_s=3, telemetry=True))[-1]
    assert run.state == State.SUCCEEDED, run.reason
    metrics = {row.metric: row for row in run.telemetry.all()}
    assert {"cpu_user", "run_queue", "memory_available", "commits", "wal", "sessions_active"} <= metrics.keys()
    assert len(metrics["commits"].values) >= 3 and max(filter(None, metrics["commits"].values)) > 100
    assert metrics["cpu_user"].start_epoch_s == pytest.approx(run.series.get(metric="tps").start_epoch_s, abs=3)
    assert not [remark for remark in run.result.remarks if "elemetry" in remark]
    assert b"telemetry 1\n" in bytes(Evidence.objects.get(attempt__run=run, name="telemetry.log").content)
    bare = worker.finish(experiment(server, duration_s=1))[-1]
    assert (bare.state, bare.spec["telemetry"]) == (State.SUCCEEDED, "")
    assert not bare.telemetry.exists()
    assert not Evidence.objects.filter(attempt__run=bare, name__startswith="telemetry").exists()


def test_a_server_on_another_host_is_observed_there_on_the_clock_of_the_load(
    worker, system, experiment, cluster18, host, machine
):
    instance = system(cluster18).instance
    driver = Host.objects.get(pk=host.pk)
    driver.pk, driver.name, driver.address = None, "driver", "localhost"
    driver.work_directory = f"{host.work_directory}-driver"
    driver.save()
    apart = system_under_test(instance, driver=driver, hardware=machine, path="network", label="apart")
    run = worker.finish(experiment(apart, duration_s=3, telemetry=True))[-1]
    assert run.state == State.SUCCEEDED, run.reason
    metrics = {row.metric: row.values for row in run.telemetry.all()}
    assert {"driver:cpu_user", "cpu_user", "commits", "driver:collector_cpu"} <= metrics.keys()
    # It is one and the same machine, so both saw the same.
    pairs = list(zip(metrics["driver:cpu_user"], metrics["cpu_user"], strict=True))
    assert all(abs(driver_share - server_share) < 25 for driver_share, server_share in pairs[1:2])
    assert Evidence.objects.filter(attempt__run=run, name="server.telemetry.log").exists()


def test_an_honest_run_gives_the_audit_nothing_to_contradict(worker, system, experiment, cluster16):
    run = worker.finish(experiment(system(cluster16), duration_s=2))[-1]
    assert [doubt for doubt in run.result.doubts if doubt["code"] not in ABOUT_THE_MACHINE] == []


def test_a_canary_and_a_warm_up_go_first_and_the_warm_up_gives_no_point(worker, system, experiment, cluster16):
    plan_fields = {"client_levels": [1, 2, 3], "canary": "waits", "warmup_run_s": 1, "settle_s": 1}
    planned = experiment(system(cluster16), **plan_fields)
    worker.tick()
    worker.until(lambda: planned.runs.filter(state=State.SUCCEEDED).count() >= 4)
    runs = list(planned.runs.for_table())
    assert [(run.kind, run.clients) for run in runs] == [
        ("load", 0), ("warmup", 1), ("measure", 1), ("measure", 3), ("measure", 2),
    ]  # fmt: skip
    assert [run.state for run in runs[:4]] == [State.SUCCEEDED] * 4
    assert runs[1].result.throughput > 0 and runs[1] not in Run.objects.measured()
    idle = Evidence.objects.get(attempt__run=runs[2], name="idle.txt").text.splitlines()
    assert [line.split()[0] for line in idle] == ["cpu", "cpu"]


def test_an_open_loop_offers_each_rate_and_counts_what_was_late_or_skipped(worker, system, experiment, cluster18):
    rates = {"client_levels": [4], "rates_tps": [40, 80], "latency_limit_us": 500_000, "duration_s": 3}
    runs = [run for run in worker.finish(experiment(system(cluster18), **rates)) if run.kind == "measure"]
    assert [run.state for run in runs] == [State.SUCCEEDED] * 2, [run.reason for run in runs]
    for run in runs:
        measures = {name: measure["value"] for name, measure in Result.objects.get(run=run).measures.items()}
        assert {"late_transactions", "skipped_transactions", "rate_limit_lag_average_ms"} <= measures.keys()
        offered = measures["transactions"] + measures["skipped_transactions"]
        assert abs(offered - run.rate_tps * 3) < 5 * (run.rate_tps * 3) ** 0.5  # a Poisson count, at five deviations
        assert "-R" in Evidence.objects.get(attempt__run=run, name="command.sh").text


def test_the_data_set_is_loaded_once_and_described(worker, system, experiment, cluster16):
    server = system(cluster16)
    worker.finish(experiment(server))
    data_set = DataSet.objects.get(instance=server.instance)
    assert data_set.recipe == {"tool": "pgbench", "scale": 1}
    assert data_set.size_bytes > 10_000_000
    assert len(data_set.checksum) == 32
    again = experiment(server)
    assert [run.kind for run in again.runs.all()] == ["measure"]
    assert worker.finish(again)[0].state == State.SUCCEEDED


def test_a_run_that_finds_its_data_set_damaged_goes_back_behind_a_load_and_never_fails(
    worker, system, experiment, cluster16
):
    server = system(cluster16)
    worker.finish(experiment(server))
    with psycopg.connect(cluster16.url, autocommit=True) as connection:
        connection.execute("DROP TABLE pgbench_branches")
    runs = worker.finish(experiment(server, client_levels=[1, 2]))
    assert [(run.kind, run.clients, run.state) for run in runs] == [
        ("load", 0, State.SUCCEEDED), ("measure", 1, State.SUCCEEDED), ("measure", 2, State.SUCCEEDED),
    ]  # fmt: skip
    first, second = runs[1].attempts.order_by("number")
    assert (first.outcome, second.outcome) == (State.FAILED, State.SUCCEEDED)
    assert "waits until its own is loaded" in first.reason
    assert "There is no pgbench data set" in Evidence.objects.get(attempt=first, name="err.log").text
    assert runs[2].attempts.count() == 1


def test_an_experiment_of_another_scale_in_between_costs_loads_and_no_run(worker, system, experiment, cluster16):
    server = system(cluster16)
    begun = experiment(server, client_levels=[1, 2, 3])
    worker.tick()
    worker.until(lambda: begun.runs.filter(kind="measure", state=State.SUCCEEDED).count() >= 1)
    larger = Workload.objects.create(
        name="larger", tool="pgbench", parameters={**begun.workload.parameters, "scale": 2}
    )
    policy = Experiment.DataSetPolicy.BETWEEN
    urgent = experiment(server, workload=larger, priority=9, data_set_policy=policy)
    worker.finish(urgent)
    runs = worker.finish(begun)
    assert {run.state for run in [*urgent.runs.all(), *runs]} == {State.SUCCEEDED}
    assert begun.runs.filter(kind="load").count() == 2
    assert begun.runs.order_by("ended_at").last().ended_at > urgent.runs.order_by("ended_at").last().ended_at
    assert not Tenancy.objects.exclude(experiment__in=[begun, urgent]).exists()


def test_a_script_with_a_mistake_is_told_by_its_line_before_any_data_set_is_loaded(
    worker, system, experiment, cluster16
):
    server = system(cluster16)
    worker.finish(experiment(server))
    scripts = [{"text": "SELECT 1;\n\\set far :scale * 2\nSELEC abalance FROM pgbench_accounts;"}]
    parameters = {"script": "custom", "scripts": scripts, "scale": 2, "query_mode": "simple"}
    workload = Workload.objects.create(name="own", tool="pgbench", parameters=parameters)
    runs = worker.finish(experiment(server, workload=workload, client_levels=[1, 2]))
    assert [(run.kind, run.state) for run in runs] == [(run.kind, State.FAILED) for run in runs]
    assert 'The check of the scripts failed: Script 1, line 3: error: syntax error at or near "SELEC"' in runs[0].reason
    assert [run.attempts.count() for run in runs] == [1, 0, 0]
    with psycopg.connect(cluster16.url) as connection:
        assert connection.execute("SELECT count(*) FROM pgbench_branches").fetchone() == (1,)
    assert DataSet.objects.get(instance=server.instance, replaced_at=None).recipe["scale"] == 1


def test_a_script_with_a_mistake_is_tried_once_where_the_data_set_is_there(worker, system, experiment, cluster16):
    server = system(cluster16)
    worker.finish(experiment(server))
    parameters = {"script": "custom", "scripts": [{"text": "SELEC 1;"}], "scale": 1, "query_mode": "simple"}
    workload = Workload.objects.create(name="own", tool="pgbench", parameters=parameters)
    runs = worker.finish(experiment(server, workload=workload, client_levels=[1, 2, 3]))
    assert [(run.kind, run.state) for run in runs] == [("measure", State.FAILED)] * 3
    assert {run.reason for run in runs} == {runs[0].reason} and "Script 1, line 1" in runs[0].reason
    assert sorted(run.attempts.count() for run in runs) == [0, 0, 1]
    assert worker.finish(experiment(server))[-1].state == State.SUCCEEDED


def test_a_setting_that_differs_from_what_was_asked_is_a_doubt_beside_the_number(worker, system, experiment, cluster16):
    server = system(cluster16)
    configuration = server.configuration.revise(settings={"work_mem": "77MB", "fsync": "on"})
    server.instance.configuration = configuration
    server.instance.save()
    changed = system_under_test(
        server.instance, driver=server.driver, hardware=server.hardware, path="loopback", label="asked 77MB"
    )
    run = worker.finish(experiment(changed))[-1]
    assert [row["name"] for row in run.found.differences] == ["work_mem"]
    assert any(doubt["code"] == "settings_differ" and "77MB" in doubt["text"] for doubt in run.result.doubts)


def test_a_failed_load_generator_gives_a_failed_run_with_its_reason_and_no_point(worker, system, experiment, cluster16):
    server = system(cluster16)
    worker.finish(experiment(server))
    planned = experiment(server, client_levels=[500])  # max_connections is 100
    run = worker.finish(planned)[0]
    assert run.state == State.FAILED
    assert "too many clients" in run.reason or "remaining connection slots" in run.reason
    assert not Result.objects.filter(run=run).exists()
    assert not planned.runs.measured().exists()
    assert Evidence.objects.filter(attempt__run=run, name="err.log").exists()
    assert not Hold.objects.exists()


def test_runs_whose_data_set_could_not_be_loaded_fail_and_say_so(worker, system, experiment, cluster16):
    server = system(cluster16)
    server.instance.database = "nowhere"
    server.instance.save()
    runs = worker.finish(experiment(server))
    assert [run.state for run in runs] == [State.FAILED, State.FAILED]
    assert "nowhere" in runs[0].reason
    assert runs[1].reason.startswith("Its data set was not loaded")
    assert not Attempt.objects.filter(run=runs[1]).exists()


def test_a_changed_host_key_quarantines_the_host_and_starts_nothing(worker, system, experiment, cluster16, target):
    planned = experiment(system(cluster16))
    other = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ"
    host = Host.objects.get(name="target")
    host.host_key, host.port = other, host.port
    host.save()
    worker.tick()
    host.refresh_from_db()
    assert host.trust == Host.Trust.QUARANTINED
    run = planned.runs.first()
    assert run.state == State.STARTING
    assert "approve" in run.watch.contact_error
    assert not (target.work_directory / "runs" / str(run.uuid)).exists()


def test_a_run_on_a_host_that_nobody_approved_waits_and_nothing_is_sent(worker, system, experiment, cluster16):
    planned = experiment(system(cluster16))
    Host.objects.update(trust=Host.Trust.OFFERED)
    worker.tick()
    assert [run.state for run in planned.runs.all()] == [State.QUEUED] * 2
    assert not Attempt.objects.exists()
    Host.objects.update(trust=Host.Trust.PINNED)
    assert [run.state for run in worker.finish(planned)] == [State.SUCCEEDED] * 2


def test_a_run_that_is_cancelled_while_it_runs_ends_cancelled_and_frees_the_host(worker, system, experiment, cluster16):
    server = system(cluster16)
    worker.finish(experiment(server))
    planned = experiment(server, duration_s=30)
    worker.tick()
    run = planned.runs.get()
    assert run.state == State.RUNNING
    Run.objects.filter(pk=run.pk).update(cancel_asked_at=Now())
    worker.tick(run.pk)
    run.refresh_from_db()
    assert (run.state, run.ended_at is not None) == (State.CANCELLED, True)
    assert not Hold.objects.exists()


def test_a_server_apart_from_its_driver_is_held_and_watched_as_well(worker, system, experiment, cluster16, host):
    driven_here = system(cluster16)
    server = Host.objects.get(pk=host.pk)
    server.pk, server.name, server.address = None, "server", "localhost"
    server.save()
    Instance.objects.filter(pk=driven_here.instance_id).update(host=server)
    instance = Instance.objects.get(pk=driven_here.instance_id)
    apart = system_under_test(instance, driver=host, hardware=driven_here.hardware, path="network", label="apart")
    assert not apart.driven_locally
    planned = experiment(apart)
    worker.tick()
    assert set(Hold.objects.values_list("resource", flat=True)) >= {f"host:{host.pk}", f"host:{server.pk}"}
    run = worker.finish(planned)[-1]
    assert run.state == State.SUCCEEDED, run.reason
    assert run.found.deltas["server_host"]["cpu"]["user_share"] >= 0
    assert run.found.host.keys() == {"target", "server"}


def test_a_managed_database_needs_a_connection_only(worker, system, experiment, cluster16, host):
    on_host = system(cluster16)
    Instance.objects.filter(pk=on_host.instance_id).update(host=None)
    managed = system_under_test(
        Instance.objects.get(pk=on_host.instance_id),
        driver=host,
        hardware=on_host.hardware,
        path="network",
        label="managed",
    )
    run = worker.finish(experiment(managed))[-1]
    assert run.state == State.SUCCEEDED, run.reason
    assert run.found.host.keys() == {"target"}


def test_a_worker_that_knows_nothing_of_a_run_finds_its_end(worker, system, experiment, cluster16):
    planned = experiment(system(cluster16))
    worker.tick()
    successor = type(worker)()  # the notices of the first worker go nowhere
    runs = successor.finish(planned)
    assert [run.state for run in runs] == [State.SUCCEEDED] * 2
    assert [run.attempts.count() for run in runs] == [1, 1]


def test_a_run_whose_job_was_killed_is_lost_and_can_be_run_again(worker, system, experiment, cluster16, target):
    server = system(cluster16)
    worker.finish(experiment(server))
    planned = experiment(server, duration_s=20)
    worker.tick()
    run = planned.runs.get()
    folder = target.work_directory / "runs" / str(run.uuid) / "1"
    worker.until(lambda: (folder / "pid").is_file() and (folder / "pid").read_text())
    _, wrapper, _, command, _ = (folder / "pid").read_text().split()
    os.kill(int(wrapper), signal.SIGKILL)
    os.killpg(int(command), signal.SIGKILL)
    worker.until(lambda: worker.tick(run.pk) and Run.objects.get(pk=run.pk).state != State.RUNNING)
    run.refresh_from_db()
    assert run.state == State.LOST, run.watch.contact_error
    assert not Result.objects.filter(run=run).exists()
    assert queue.run_lost_again(planned, attempts=3) == 1
    worker.tick()
    run.refresh_from_db()
    assert (run.state, run.attempts.count()) == (State.RUNNING, 2)
    Run.objects.update(cancel_asked_at=Now())
    worker.tick(run.pk)


def test_a_host_whose_facts_are_old_is_probed_again_before_its_run(worker, system, experiment, cluster16, host):
    planned = experiment(system(cluster16))
    Host.objects.update(facts={"kernel": "an old one"}, facts_at=Now() - timedelta(hours=2))
    run = worker.finish(planned)[-1]
    assert run.found.host["target"]["kernel"] not in ("", "an old one")
    host.refresh_from_db()
    assert host.facts["builds"]


def test_people_see_a_hosts_key_approve_it_and_have_it_probed(worker, host, target):
    Host.objects.update(host_key="", trust=Host.Trust.UNKNOWN)
    host.refresh_from_db()
    host.ask(Host.Wanted.KEY)
    assert visits.visit_hosts() == 1
    host.refresh_from_db()
    assert (host.trust, host.wanted) == (Host.Trust.OFFERED, "")
    assert host.offered_host_key.split()[:2] == target.host_key.split()[:2]
    assert not host.approve("ssh-ed25519 another")
    assert host.approve(host.offered_host_key)
    host.ask(Host.Wanted.FACTS)
    visits.visit_hosts()
    host.refresh_from_db()
    assert host.trust == Host.Trust.PINNED
    assert host.facts["kernel"]
    assert visits.visit_hosts() == 0


def test_a_host_that_cannot_be_visited_says_why(worker, host):
    Host.objects.update(port=9)
    host.ask(Host.Wanted.FACTS)
    visits.visit_hosts()
    host.refresh_from_db()
    assert "127.0.0.1:9" in host.contact_error
    assert host.facts == {}


def test_every_move_of_a_run_is_recorded_in_order(worker, system, experiment, cluster16):
    run = worker.finish(experiment(system(cluster16)))[0]
    moves = list(run.events.values_list("old_state", "new_state"))
    assert moves == [
        ("queued", "reserved"),
        ("reserved", "starting"),
        ("starting", "running"),
        ("running", "collecting"),
        ("collecting", "succeeded"),
    ]


def test_outputs_that_cannot_be_read_fail_the_run_and_keep_its_evidence(
    worker, system, experiment, cluster16, monkeypatch
):
    server = system(cluster16)
    worker.finish(experiment(server))
    monkeypatch.setattr("benchhub.bench.results.ingest.store_result", lambda *_: {}["tps"])
    run = worker.finish(experiment(server))[-1]
    assert run.state == State.FAILED
    assert "cannot read what the run left behind (KeyError('tps'))" in run.reason
    assert Evidence.objects.filter(attempt__run=run, name="out.log").exists()
    assert not Hold.objects.exists()


def test_a_fault_of_benchhub_in_one_run_does_not_stop_the_worker(worker, system, experiment, cluster16, monkeypatch):
    planned = experiment(system(cluster16))
    with monkeypatch.context() as broken:
        broken.setattr("benchhub.bench.execute.answers._write_answer", lambda *_: 1 / 0)
        worker.tick()
    run = planned.runs.first()
    assert "ZeroDivisionError" in run.watch.contact_error
    Watch.objects.update(next_look_at=Now())
    assert [run.state for run in worker.finish(planned)] == [State.SUCCEEDED] * 2


def test_an_experiment_with_tatp_ends_in_mqth_with_its_types(worker, system, experiment, cluster16):
    workload = Workload.objects.create(name="tatp", tool="tatp", parameters={"subscribers": 1_000, "mix": "80/20"})
    runs = worker.finish(experiment(system(cluster16), workload=workload, duration_s=3, warmup_s=1))
    assert [run.state for run in runs] == [State.SUCCEEDED] * 2, [run.reason for run in runs]
    assert DataSet.objects.get().recipe == {"tool": "tatp", "subscribers": 1_000}
    assert runs[0].reason.startswith("Checked on 1,000 of 1,000 subscribers with 2,"), runs[0].reason
    result = runs[1].result
    assert (result.unit, result.throughput) == ("MQTh", result.measures["mqth"]["value"])
    assert result.measures["strict_mqth"]["value"] < result.throughput
    assert {doubt["code"] for doubt in result.doubts} <= set(ABOUT_THE_MACHINE)
    assert {histogram.name for histogram in runs[1].histograms.all()} >= {"latency", "GET_ACCESS_DATA"}
    assert runs[1].protocol.form["client"].startswith("pgbench 16")
