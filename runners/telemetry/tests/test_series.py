"""Metrics over time out of logs that were written by hand, with values that were computed by hand."""

import math
import random
import re

import pytest

from runners.telemetry import compact, series
from runners.telemetry.log import parse
from runners.telemetry.metrics import METRICS, alternatives

HEAD = "telemetry 1\nclock_ticks 100\ncpus 2\nepoch 1000000.5 100.5\nplace data vda\nplace wal vdb\n"
NAMES = (
    ": cpu user nice system idle iowait irq softirq steal\n: sched ctxt processes procs_running procs_blocked\n"
    ": disk.vda reads read_sectors read_ms writes write_sectors write_ms in_flight busy_ms queue_ms flushes flush_ms\n"
    ": self ticks\n: pg at pg_stat_database.xact_commit pg_stat_bgwriter.checkpoints_timed "
    "pg_stat_bgwriter.checkpoints_req\n"
)
STEPS = b"verify 90.0\nmeasure 100.5\nafter 103.5\n"


def second(at, k, waits=""):
    """Counters that grow by the same each second, noted at this time, of which k have passed."""
    return (
        f"@ {at}\ncpu {1000 + 100 * k:.0f} 0 {500 + 40 * k:.0f} {9000 + 60 * k:.0f} 0 0 0 0\n"
        f"sched {10_000 * k:.0f} 5 {3 + k:.0f} 0\ndisk.vda 5 100 7 {10 * k:.0f} {2000 * k:.0f} {30 * k:.0f} 0 0 0 0 0\n"
        f"self {2 * k:.0f}\npg {at} {500 * k:.0f} 3 {k // 2:.0f}\nwait {at} {waits}\n"
    )


LOG = HEAD + NAMES + "".join(second(100 + k, k, "CPU=4 LWLock:WALWrite=2") for k in range(6)) + "end\n"


def by_name(telemetry):
    return {item.metric: item.values for item in telemetry.observations}


def test_rates_are_of_whole_seconds_of_the_load_wherever_the_collector_looked():
    telemetry = series.read(LOG.encode(), STEPS, 3)
    values = by_name(telemetry)
    assert (telemetry.start_epoch_s, telemetry.step_s, telemetry.remarks) == (1_000_000.5, 1, ())
    assert values["cpu_user"] == pytest.approx((50, 50, 50))
    assert values["cpu_system"] == pytest.approx((20, 20, 20))
    assert values["context_switches"] == pytest.approx((10_000, 10_000, 10_000))
    assert values["commits"] == pytest.approx((500, 500, 500))
    assert values["data_written"] == pytest.approx((1.024, 1.024, 1.024))
    assert values["data_write_ms"] == pytest.approx((3, 3, 3))
    assert values["collector_cpu"] == pytest.approx((0.02, 0.02, 0.02))
    assert values["run_queue"] == (4, 5, 6)
    assert values["wait:CPU"] == (4, 4, 4)
    assert values["wait:LWLock:WALWrite"] == (2, 2, 2)


def test_what_did_not_happen_has_no_latency_and_what_is_not_there_no_metric():
    values = by_name(series.read(LOG.encode(), STEPS, 3))
    assert "data_read_ms" not in values
    assert not {"psi_cpu", "memory_available", "wal", "io_reads", "wal_disk_written", "disk_read"} & values.keys()


def test_wal_on_the_device_of_the_data_is_not_drawn_twice():
    log = LOG.replace("place wal vdb", "place wal vda")
    assert not [name for name in by_name(series.read(log.encode(), STEPS, 3)) if name.startswith("wal_disk")]


def test_across_a_gap_and_where_a_counter_goes_back_nothing_is_said():
    samples = [second(100, 0), second(101, 1), second(108, 8), second(109, 9), second(110, 1), second(111, 2)]
    log = HEAD + NAMES + "".join(samples) + "end\n"
    values = by_name(series.read(log.encode(), b"measure 100\nafter 111\n", 11))["context_switches"]
    assert values[0] == pytest.approx(10_000)
    assert values[1:8] == (None,) * 7
    assert values[8] == pytest.approx(10_000)
    assert values[9] is None and values[10] == pytest.approx(10_000)


def test_a_killed_load_has_the_seconds_until_the_last_sample_and_a_remark():
    telemetry = series.read(LOG.removesuffix("end\n").encode(), b"measure 100.5\n", 60)
    assert len(by_name(telemetry)["cpu_user"]) == 4
    assert telemetry.remarks == (series.CUT_SHORT,)


def test_where_the_session_was_refused_the_machine_is_still_there():
    lines = [line for line in LOG.splitlines() if line.split(" ")[0] not in ("pg", "wait") and ": pg" not in line]
    telemetry = series.read("\n".join(lines).encode(), STEPS, 3)
    assert "cpu_user" in by_name(telemetry) and "commits" not in by_name(telemetry)
    assert telemetry.remarks == (series.NO_SERVER,)


def test_two_machines_share_the_grid_of_the_load_by_the_clock_that_the_session_tells():
    names = NAMES.replace(": pg at ", ": pg at clock.server ")
    # The server's wall clock is 7 s ahead, and its machine was started 1,000 s later than the driver's.
    driver = "".join(
        second(100 + k, k, "CPU=1").replace(f"pg {100 + k} ", f"pg {100 + k} {1_000_007 + k + 0.1 * (k > 2)} ")
        for k in range(6)
    )
    log = HEAD.replace("epoch 1000000.5 100.5", "epoch 1000000 100") + names + driver + "end\n"
    server = HEAD.replace("epoch 1000000.5 100.5", "epoch 1000007 1100")
    server += NAMES + "".join(f"@ {1100 + k}\ncpu {10 * k} 0 0 {90 * k} 0 0 0 0\n" for k in range(6))
    telemetry = series.read(log.encode(), STEPS, 3, server.encode() + b"end\n")
    values = by_name(telemetry)
    assert values["driver:cpu_user"] == pytest.approx((50, 50, 50))
    assert values["cpu_user"] == pytest.approx((10, 10, 10))
    assert values["commits"] == pytest.approx((500, 500, 500))
    assert values["wait:CPU"] == (1, 1, 1)
    assert "driver:collector_cpu" in values and "collector_cpu" not in values
    assert telemetry.remarks == ()


def test_a_server_whose_machine_nobody_watched_has_its_own_metrics_and_a_remark():
    telemetry = series.read(LOG.encode(), STEPS, 3, b"")
    assert {"driver:cpu_user", "commits"} <= by_name(telemetry).keys() and "cpu_user" not in by_name(telemetry)
    assert telemetry.remarks == (series.NO_MACHINE,)


def test_rare_wait_events_are_one_together():
    waits = " ".join(f"LWLock:L{i}={30 - i}" for i in range(20))
    log = HEAD + NAMES + "".join(second(100 + k, k, waits) for k in range(6)) + "end\n"
    values = {name: row for name, row in by_name(series.read(log.encode(), STEPS, 3)).items() if name[:5] == "wait:"}
    assert len(values) == 7 and values["wait:others"][0] == sum(30 - i for i in range(6, 20))


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\0" * 5000, b"telemetry 2\n@ 1\n", b"telemetry 1\n", b"telemetry 1\n:\n@\n: a\na\n: a b\na\na x\n",
        b"telemetry 1\nepoch 9e999 nan\nclock_ticks 0\nplace a\nserver x\n" + NAMES.encode() + b"@ inf\ncpu 1e9\n",
        (HEAD + NAMES + "@ 1\ncpu " + "9" * 400 + "\n").encode(), b"telemetry 1\n" + b": a" + b" b" * 10_000 + b"\n",
        ("telemetry 1\n" + "".join(f": g{i} a\n@ {i}\ng{i} 1\n" for i in range(5000))).encode(),
        b"telemetry 1\n" + b"a" * 3_000_000, LOG.encode().replace(b"100", b"-100"), LOG[: len(LOG) // 2].encode(),
    ],
)  # fmt: skip
def test_a_log_may_say_anything_and_only_finite_numbers_come_of_it(content):
    telemetry = series.read(content, STEPS, 3)
    for item in telemetry.observations:
        assert len(item.values) <= 7200 and len(item.metric) <= 80
        assert all(value is None or math.isfinite(value) for value in item.values)
    log = parse(content)
    assert len(log.groups) <= 100


def test_a_log_with_random_bytes_in_it_is_read_without_an_error():
    source = random.Random(1)
    for _ in range(200):
        content = bytearray(LOG.encode())
        for _ in range(20):
            content[source.randrange(len(content))] = source.randrange(256)
        for item in series.read(bytes(content), STEPS, 3).observations:
            assert all(value is None or math.isfinite(value) for value in item.values)


def test_steps_that_cannot_be_read_give_no_telemetry_and_no_error():
    for steps in (b"", b"measure\n", b"measure nan\n", b"\xff\n", b"after 3\n"):
        assert series.read(LOG.encode(), steps, 3).observations == ()
    wide = series.read(LOG.encode(), b"measure 0\nafter 900000000000\n", 3)
    assert all(len(item.values) <= 7200 for item in wide.observations)


def test_a_packed_series_comes_back_to_13_bits_with_its_gaps():
    values = [None, 0.0, 1.0, 1234.5678, 1e15, None, 3.3e-9, 250.0]
    back = compact.unpack(compact.pack(values))
    assert [value is None for value in back] == [value is None for value in values]
    assert [v for v in back if v is not None] == pytest.approx([v for v in values if v is not None], rel=1 / 8192)
    assert compact.unpack(compact.pack([])) == []


def test_an_hour_of_a_noisy_metric_takes_less_than_two_bytes_a_second():
    noise = random.Random(2)
    assert len(compact.pack([1000 + noise.gauss(0, 50) for _ in range(3600)])) < 2 * 3600
    assert len(compact.pack([0.0] * 3600)) < 100


def test_what_was_packed_by_nobody_is_refused():
    for content in (b"", b"\2abc", b"\1abc"):
        with pytest.raises(ValueError, match="telemetry"):
            compact.unpack(content)


def test_each_metric_has_one_name_and_a_source_that_can_be_read():
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    for metric in METRICS:
        assert all("." in name for names in alternatives(metric.source) for name in names), metric
        assert bool(metric.base) == (metric.derivation in ("share", "ratio")), metric
        assert len(metric.name) <= 40 and len(metric.unit) <= 12


@pytest.mark.parametrize(("version", "remarks"), [(130014, (series.NO_WAL.format(13),)), (140000, ()), (180004, ())])
def test_a_server_too_old_to_tell_of_wal_gets_a_remark(version, remarks):
    log = LOG.replace(": cpu", f"server {version}\n: cpu", 1)
    assert series.read(log.encode(), STEPS, 3).remarks == remarks


def test_what_backends_write_is_read_of_wherever_this_version_tells_it():
    name = "pg_stat_io_backends.writes"
    log = LOG.replace("pg_stat_bgwriter.checkpoints_timed", name)
    log = re.sub(r"(?m)^(pg 10(\d) \d+) 3 ", lambda row: f"{row[1]} {12_500 * int(row[2])} ", log)
    values = by_name(series.read(log.encode(), STEPS, 3))
    assert values["backend_written"] == pytest.approx((102.4, 102.4, 102.4))
    assert "wal_writes" not in values
