"""Telemetry of a run is stored as one value a metric, and is never the reason that a run fails."""

import asyncio
from dataclasses import replace

import pytest

from benchhub.bench import testing
from benchhub.bench.models import RunTelemetry
from benchhub.bench.plan import specs
from benchhub.bench.results import readings
from benchhub.bench.results.telemetry import own
from runners.contract import Outputs
from runners.telemetry import series

pytestmark = pytest.mark.django_db

LOG = b"telemetry 1\nepoch 1000 10\n: cpu user nice system idle\n" + b"".join(
    b"@ %d\ncpu %d 0 0 %d\n" % (10 + i, 25 * i, 75 * i) for i in range(5)
)
FILES = {"telemetry.log": LOG + b"end\n", "step": b"measure 10\nafter 14\n"}


@pytest.fixture
def run():
    hardware = testing.make_box()
    system = testing.make_system("18", testing.make_host(), hardware)
    return testing.make_run(testing.make_experiment([system]), system, 1, 1, spec=testing.whole_spec(telemetry="here"))


def store(run, **files):
    spec = specs.spec_of(run)
    reading = asyncio.run(readings.read(spec, Outputs(0, b"", b"", {**FILES, **files}))).telemetry
    return own.store(run, reading.get)


def test_each_metric_is_one_value_with_its_unit_and_beginning(run):
    assert store(run) == [series.NO_SERVER]
    row = RunTelemetry.objects.get(run=run, metric="cpu_user")
    assert (row.unit, row.start_epoch_s, row.step_s) == ("%", 1000, 1)
    assert row.values == pytest.approx([25, 25, 25, 25])


def test_another_attempt_replaces_what_the_first_one_observed(run):
    store(run)
    store(run, step=b"measure 10\nafter 12\n")
    assert len(RunTelemetry.objects.get(run=run, metric="cpu_user").values) == 2


@pytest.mark.parametrize("log", [b"", b"\0\xff" * 1000, b"telemetry 1\n", b"telemetry 9\n" * 100, LOG[:60]])
def test_a_broken_log_is_a_remark_and_no_failure(run, log):
    assert all(store(run, **{"telemetry.log": log}))
    assert not RunTelemetry.objects.exists()


def test_what_the_database_refuses_is_a_remark_and_no_failure(run):
    observation = series.Observation("x" * 500, "%", (1.0,))
    observed = series.Telemetry(observations=(observation,), remarks=())
    assert own.store(run, lambda: observed) == [own.UNSTORED]
    assert not RunTelemetry.objects.exists()


def test_a_run_that_was_planned_without_telemetry_has_none_read(run):
    for spec in (replace(specs.spec_of(run), telemetry=""), replace(specs.spec_of(run), kind="load")):
        assert asyncio.run(readings.read(spec, Outputs(0, b"", b"", {}))).telemetry is None
