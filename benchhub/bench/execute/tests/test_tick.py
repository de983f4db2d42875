"""The main path on real parts: SSH, PostgreSQL, pgbench and the warehouse."""

import pytest

from benchhub.bench.conftest import DURATION_S
from benchhub.bench.models import Attempt, Evidence, Hold, Result, Run
from benchhub.bench.models.states import State
from benchhub.bench.plan.systems import system_under_test
from benchhub.catalog.models import DataSet, Workload
from runners.tools import sampling

pytestmark = [pytest.mark.long, pytest.mark.django_db, pytest.mark.target]
# A busy machine starts the load's threads late and ends them late.
ABOUT_THE_MACHINE = ("clients-idle", "host-busy", "stolen-cpu", "throttled", "overrun", "few-transactions")


def test_an_experiment_on_two_builds_ends_with_a_result_for_every_level(
    worker, system, experiment, cluster16, cluster18
):
    runs = worker.finish(experiment(system(cluster18), system(cluster16), client_levels=[1, 2], repeats=1))
    assert [(run.kind, run.clients, run.repeat) for run in runs[:2]] == [("load", 0, 0)] * 2
    assert [run.state for run in runs] == [State.SUCCEEDED] * 6, [run.reason for run in runs]
    measured = runs[2:]
    assert {(run.system.label, run.clients) for run in measured} == {
        (name, clients) for name in ("cluster16", "cluster18") for clients in (1, 2)
    }
    assert all(run.result.unit == "TPS" and run.result.throughput > 0 for run in measured)
    assert not Hold.objects.exists()
    assert Attempt.objects.filter(outcome=State.SUCCEEDED, ended_at__isnull=False).count() == 6


def test_a_result_keeps_its_evidence_series_latencies_and_facts(worker, system, experiment, cluster18, monkeypatch):
    monkeypatch.setattr(sampling, "PILOT_S", DURATION_S)  # one of a second may end before its clients have logged in
    run = worker.finish(experiment(system(cluster18)))[-1]
    assert run.state == State.SUCCEEDED, run.reason
    evidence = {row.name: row for row in Evidence.objects.filter(attempt__run=run)}
    assert b"tps = " in bytes(evidence["out.log"].content)
    assert {"command.sh", "spec.json", "latency.hist"} <= evidence.keys()
    assert {series.metric for series in run.series.all()} >= {"tps", "latency_ms"}
    histogram = run.histograms.first()
    assert sum(histogram.counts) == run.result.measures["logged_transactions"]["value"]
    # The plan guessed 2 x 60,000 TPS at 4,000 lines a second of a CPU; the driver logged what its pilot allowed.
    assert run.spec["log_sampling_rate"] in (1 / 15, 1 / 30) and run.spec["pilot_s"] == DURATION_S
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
    run = worker.finish(experiment(server, duration_s=6, telemetry=True))[-1]
    assert run.state == State.SUCCEEDED, run.reason
    metrics = {row.metric: row for row in run.telemetry.all()}
    assert {"cpu_user", "run_queue", "memory_available", "commits", "wal", "sessions_active"} <= metrics.keys()
    # Its busiest second was no slower than the load was on the whole, but for what its ends leave out.
    commits = metrics["commits"].values
    assert len(commits) >= 3 and max(filter(None, commits)) > min(100, run.result.throughput / 4)
    assert metrics["cpu_user"].start_epoch_s == pytest.approx(run.series.get(metric="tps").start_epoch_s, abs=6)
    assert not [remark for remark in run.result.remarks if "elemetry" in remark]
    assert b"telemetry 1\n" in bytes(Evidence.objects.get(attempt__run=run, name="telemetry.log").content)
    bare = worker.finish(experiment(server))[-1]
    assert (bare.state, bare.spec["telemetry"]) == (State.SUCCEEDED, "")
    assert not bare.telemetry.exists()
    assert not Evidence.objects.filter(attempt__run=bare, name__startswith="telemetry").exists()


@pytest.mark.whole
def test_an_honest_run_gives_the_audit_nothing_to_contradict(worker, system, experiment, cluster16):
    run = worker.finish(experiment(system(cluster16)))[-1]
    assert [doubt for doubt in run.result.doubts if doubt["code"] not in ABOUT_THE_MACHINE] == []


def test_a_canary_and_a_warm_up_go_first_and_the_warm_up_gives_no_point(worker, system, experiment, cluster16):
    plan_fields = {"client_levels": [1, 2, 3], "canary": "waits", "warmup_run_s": DURATION_S, "settle_s": 1}
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


@pytest.mark.whole
def test_an_open_loop_offers_each_rate_and_counts_what_was_late_or_skipped(worker, system, experiment, cluster18):
    rates = {"client_levels": [4], "rates_tps": [40, 80], "latency_limit_us": 500_000, "duration_s": 3}
    runs = [run for run in worker.finish(experiment(system(cluster18), **rates)) if run.kind == "measure"]
    assert [run.state for run in runs] == [State.SUCCEEDED] * 2, [run.reason for run in runs]
    for run in runs:
        measures = {name: measure["value"] for name, measure in Result.objects.get(run=run).measures.items()}
        assert {"late_transactions", "skipped_transactions", "rate_limit_lag_average_ms"} <= measures.keys()
        offered = measures["transactions"] + measures["skipped_transactions"]
        due = run.rate_tps * measures["transactions"] / run.result.throughput
        waiting = run.rate_tps * measures["rate_limit_lag_max_ms"] / 1000  # those that nobody has begun at the end
        # A Poisson count, at five deviations.
        assert -waiting - 5 * due**0.5 < offered - due < 5 * due**0.5
        assert "-R" in Evidence.objects.get(attempt__run=run, name="command.sh").text


@pytest.mark.whole
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


@pytest.mark.whole
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


def test_an_experiment_with_tatp_ends_in_mqth_with_its_types(worker, system, experiment, cluster16, monkeypatch):
    # Of a load from which no more is expected each read is looked at, so that few of them tell which were empty.
    monkeypatch.setattr(sampling, "UNKNOWN_TPS", 4_000)
    workload = Workload.objects.create(name="tatp", tool="tatp", parameters={"subscribers": 1_000, "mix": "80/20"})
    runs = worker.finish(experiment(system(cluster16), workload=workload, duration_s=6, warmup_s=DURATION_S))
    assert [run.state for run in runs] == [State.SUCCEEDED] * 2, [run.reason for run in runs]
    assert DataSet.objects.get().recipe == {"tool": "tatp", "subscribers": 1_000}
    assert runs[0].reason.startswith("Checked on 1,000 of 1,000 subscribers with 2,"), runs[0].reason
    result = runs[1].result
    assert (result.unit, result.throughput) == ("MQTh", result.measures["mqth"]["value"])
    assert result.measures["strict_mqth"]["value"] < result.throughput
    assert {doubt["code"] for doubt in result.doubts} <= set(ABOUT_THE_MACHINE)
    assert {histogram.name for histogram in runs[1].histograms.all()} >= {"latency", "GET_ACCESS_DATA"}
    assert runs[1].protocol.form["client"].startswith("pgbench 16")
