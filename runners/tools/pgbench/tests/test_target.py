"""The commands against real servers, run by sh as a target would run them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchhub.embedded.postgres import Cluster
from runners.contract import RunSpec
from runners.script import service_file
from runners.tests.patience import LOAD_S
from runners.tools.pgbench.testing import PGBENCH, ask, load, measured_and_reduced, run

pytestmark = pytest.mark.target


def test_a_data_set_is_loaded_verified_warmed_up_and_measured(cluster: Cluster, spec: RunSpec, tmp_path: Path) -> None:
    run(cluster, tmp_path, f"{cluster.bin_directory}/pgbench -i -I d -q")
    absent = run(cluster, tmp_path, PGBENCH.verify_command(spec))
    assert (absent.returncode, absent.stderr.count(b"\n")) == (1, 1)
    assert absent.stderr.startswith(b"There is no pgbench data set: ERROR:")
    load(cluster, tmp_path, spec)
    assert run(cluster, tmp_path, PGBENCH.verify_command(spec)).returncode == 0
    assert run(cluster, tmp_path, PGBENCH.warmup_command(spec)).returncode == 0
    outputs = run(cluster, tmp_path, measured_and_reduced(spec))
    result = PGBENCH.parse(spec, outputs)
    assert result.outcome == "succeeded", result.reason
    measures = {name: measure.value for name, measure in result.measures.items()}
    assert measures["logged_transactions"] == measures["transactions"] > 0
    assert measures["logged_latency_average_ms"] == pytest.approx(measures["latency_average_ms"], abs=0.001)
    assert measures["latency_p50_ms"] <= measures["latency_p99_ms"]
    # A warm-up of one second may end before pgbench reports its first.
    metrics = {line.metric for line in result.series} - {"warmup_tps", "latency_p95_ms", "latency_p99_ms"}
    assert metrics == {"tps", "latency_p50_ms", "latency_ms", "latency_stddev_ms", "failed"}
    assert result.doubts == ()
    assert PGBENCH.contradictions(spec, outputs, server_version=spec.tool_version) == ()


def keepalive_timers_s(table: str, port: int) -> list[float]:
    """Return in how many seconds the kernel asks the other end of each connection to this port for a sign of life."""
    rows = [row for line in table.splitlines() if len(row := line.split()) > 5]
    to_port = [row for row in rows if row[2].endswith(f":{port:04X}")]
    timers = [row[5].split(":") for row in to_port]
    return [int(hundredths, 16) / 100 for kind, hundredths in timers if kind == "02"]


def test_a_server_on_another_machine_is_asked_for_a_sign_of_life_after_half_a_minute(
    cluster: Cluster, spec: RunSpec, tmp_path: Path
) -> None:
    """The server looks while the client waits for it, which is acknowledged by then."""
    sql = "SELECT pg_sleep(0.5); CREATE TEMP TABLE t (line text); COPY t FROM PROGRAM 'sed 1d /proc/net/tcp'; TABLE t"
    psql = f'"{cluster.bin_directory}/psql" -X -q -A -t -v ON_ERROR_STOP=1 -c "{sql}"'
    elsewhere = replace(spec, endpoint=replace(spec.endpoint, path="network"))
    timers = {}
    for name, lines in {"elsewhere": service_file(elsewhere), "here": service_file(spec)}.items():
        outputs = run(cluster, tmp_path, "\n".join([*lines, psql]))
        assert outputs.returncode == 0, outputs.stderr
        timers[name] = keepalive_timers_s(outputs.stdout.decode(), cluster.port)
    assert min(timers["elsewhere"]) <= 30 and not any(timer <= 30 for timer in timers["here"])


def test_another_data_set_than_asked_for_is_refused_with_both(cluster: Cluster, spec: RunSpec, tmp_path: Path) -> None:
    load(cluster, tmp_path, spec)
    other = replace(spec, parameters={**spec.parameters, "scale": 2, "fillfactor": 90})
    outputs = run(cluster, tmp_path, PGBENCH.verify_command(other))
    assert (outputs.returncode, outputs.stderr.count(b"\n")) == (1, 1)
    assert b'found "scale 1, accounts 100000' in outputs.stderr
    assert b'expected "scale 2, accounts 200000' in outputs.stderr


@pytest.mark.parametrize(
    "parameters",
    [
        {"fillfactor": 90, "foreign_keys": True},
        {"unlogged": True},
        {"partitions": 3, "partition_method": "hash", "fillfactor": 80},
        {"partitions": 2, "foreign_keys": True},
    ],
    ids=str,
)
def test_every_kind_of_data_set_is_recognised_as_itself(
    cluster: Cluster, spec: RunSpec, tmp_path: Path, parameters: dict[str, object]
) -> None:
    special = replace(spec, parameters={**spec.parameters, **parameters})
    load(cluster, tmp_path, special)
    assert run(cluster, tmp_path, PGBENCH.verify_command(special)).stderr == b""
    assert run(cluster, tmp_path, PGBENCH.verify_command(spec)).returncode == 1


def test_a_server_that_cannot_be_reached_is_not_one_without_data(
    cluster: Cluster, spec: RunSpec, tmp_path: Path
) -> None:
    outputs = run(cluster, tmp_path, "PGPORT=1\n" + PGBENCH.verify_command(spec))
    assert (outputs.returncode, outputs.stderr.count(b"\n")) == (2, 1)


def test_fingerprint_and_age_tell_of_writes(cluster: Cluster, spec: RunSpec, tmp_path: Path) -> None:
    fingerprint, age = PGBENCH.fingerprint_query(spec.parameters), PGBENCH.age_query(spec.parameters)
    load(cluster, tmp_path, spec)
    fresh = ask(cluster, tmp_path, fingerprint)
    assert ask(cluster, tmp_path, age) == "0"
    # The same on every version: of nothing but the contents.
    assert fresh == "a1c7338a1156f39132170e343302c76d"
    writing = replace(spec, parameters={**spec.parameters, "script": "tpcb-like"})
    result = PGBENCH.parse(writing, run(cluster, tmp_path, measured_and_reduced(writing)))
    assert ask(cluster, tmp_path, age) == str(int(result.measures["transactions"].value))
    assert ask(cluster, tmp_path, fingerprint) != fresh


def test_a_sampled_run_logs_its_share(cluster: Cluster, spec: RunSpec, tmp_path: Path) -> None:
    load(cluster, tmp_path, spec)
    sampled = replace(spec, log_sampling_rate=0.1)
    result = PGBENCH.parse(sampled, run(cluster, tmp_path, measured_and_reduced(sampled)))
    logged, total = (result.measures[f"{kind}transactions"].value for kind in ("logged_", ""))
    assert f"Percentiles are from 1 of 10 transactions: {logged:,.0f} of {total:,.0f}." in result.remarks
    share = logged / total
    # 5 deviations of what is drawn by chance: of 900 transactions 0.05, and more where a busy machine runs fewer.
    assert share == pytest.approx(0.1, abs=max(0.05, 1.5 / total**0.5))


@pytest.mark.parametrize("warmup_s", [0, LOAD_S])
def test_a_pilot_or_a_warm_up_lets_a_slow_load_log_every_transaction(
    cluster: Cluster, spec: RunSpec, tmp_path: Path, warmup_s: int
) -> None:
    """The load waits 20 ms for each transaction, so it is slow on any machine."""
    load(cluster, tmp_path, spec)
    parameters = {"script": "custom", "scale": 1, "scripts": [{"text": "SELECT pg_sleep(0.02);"}]}
    changes = {"warmup_s": warmup_s, "parameters": parameters, "log_sampling_rate": 1 / 60, "pilot_s": LOAD_S}
    unknown = replace(spec, **changes)
    before = PGBENCH.warmup_command(unknown) if warmup_s else ""
    prepared = run(cluster, tmp_path, before + PGBENCH.pilot_command(unknown))
    assert (prepared.returncode, prepared.files["log.share"]) == (0, b"1\n")
    assert ("pilot.out" in prepared.files) == (not warmup_s)
    result = PGBENCH.parse(unknown, run(cluster, tmp_path, measured_and_reduced(unknown)))
    measures = {name: measure.value for name, measure in result.measures.items()}
    assert measures["logged_transactions"] == measures["transactions"] > 0
    assert result.histograms[0].sampling_rate == 1.0
    assert not any("Percentiles are from" in remark for remark in result.remarks)


def test_a_custom_script_runs_at_the_scale_that_was_asked_for(cluster: Cluster, spec: RunSpec, tmp_path: Path) -> None:
    load(cluster, tmp_path, spec)
    text = "\\set far :scale * 7\nSELECT 1 / (CASE WHEN :far = 7 * :asked THEN 1 ELSE 0 END);"
    parameters = {"script": "custom", "scale": 2, "scripts": [{"text": text}], "variables": {"asked": 2}}
    custom = replace(spec, parameters=parameters)
    assert PGBENCH.parse(custom, run(cluster, tmp_path, measured_and_reduced(custom))).outcome == "succeeded"
    aborting = replace(custom, parameters={**parameters, "scripts": [{"text": "SELECT 1 / 0;"}]})
    outputs = run(cluster, tmp_path, measured_and_reduced(aborting))
    result = PGBENCH.parse(aborting, outputs)
    assert outputs.returncode == 2
    assert "division by zero" in result.reason
    assert result.measures == {}


def test_a_connection_for_each_transaction_is_counted_in_the_rate_and_its_time_is_kept(
    cluster: Cluster, spec: RunSpec, tmp_path: Path
) -> None:
    load(cluster, tmp_path, spec)
    connecting = replace(spec, parameters={**spec.parameters, "connect_each": True})
    outputs = run(cluster, tmp_path, measured_and_reduced(connecting))
    result = PGBENCH.parse(connecting, outputs)
    assert result.outcome == "succeeded", result.reason
    assert b"(including reconnection times)" in outputs.stdout
    measures = {name: measure.value for name, measure in result.measures.items()}
    assert measures["average_connection_time_ms"] > 0
    assert measures["logged_transactions"] == measures["transactions"] > 0
    assert result.doubts == ()
    # Under what was not asked for the text has no rate at all, so it cannot be taken for another run's.
    assert PGBENCH.parse(spec, outputs).outcome == "failed"


# Each adds what the others took: without a retry, some of these transactions must fail.
COLLIDING = """\
BEGIN ISOLATION LEVEL REPEATABLE READ;
UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 1;
END;
"""


def test_what_fails_by_serialisation_is_counted_by_its_cause_and_tried_again_if_asked(
    cluster: Cluster, spec: RunSpec, tmp_path: Path
) -> None:
    load(cluster, tmp_path, spec)
    parameters = {"script": "custom", "scale": 1, "scripts": [{"text": COLLIDING}], "failures_detailed": True}
    counted = replace(spec, clients=8, parameters=parameters)
    result = PGBENCH.parse(counted, run(cluster, tmp_path, measured_and_reduced(counted)))
    assert result.outcome == "succeeded", result.reason
    measures = {name: measure.value for name, measure in result.measures.items()}
    assert measures["serialization_failures"] == measures["failed_transactions"] > 0
    assert measures["deadlock_failures"] == 0
    for tries in (1_000, 0):
        tried = replace(counted, parameters={**parameters, "max_tries": tries})
        outputs = run(cluster, tmp_path, measured_and_reduced(tried))
        again = PGBENCH.parse(tried, outputs)
        assert again.outcome == "succeeded", again.reason
        assert again.measures["retried_transactions"].value > 0
        assert again.measures["retries"].value >= again.measures["retried_transactions"].value
        assert (result.doubts, again.doubts, PGBENCH.contradictions(tried, outputs)) == ((), (), ())
