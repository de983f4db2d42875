"""Samples of sysstat become metrics on the seconds of a load: by hand, and from what real versions printed."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runners.telemetry.metrics import BY_NAME
from runners.telemetry.sysstat import answer
from runners.telemetry.sysstat.answer import UnfitError
from runners.telemetry.sysstat.metrics import MAPPED, numbers
from runners.telemetry.sysstat.placed import Load, place

RECORDED = Path(__file__).parents[2] / "recorded"
NOON = int(datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp())
CPU = {"cpu": "all", "user": 60.0, "nice": 5.0, "system": 20.0, "iowait": 1.0, "steal": 0.0, "idle": 14.0}


def sample(second, interval=1, utc=1, **groups):
    time = {"date": "2026-01-31", "time": f"12:{second // 60:02}:{second % 60:02}", "utc": utc, "interval": interval}
    return {"timestamp": time, **(groups or {"cpu-load": [{"cpu": "0", "user": 1.0}, CPU]})}


def printed(*samples, **head):
    host = {"nodename": "db1", "release": "6.1.0", "number-of-cpus": 8, **head, "statistics": list(samples)}
    return json.dumps({"sysstat": {"hosts": [host]}}).encode()


def values(content, begin=NOON, duration=4):
    telemetry = place(content, Load(begin, duration)).telemetry
    return {item.metric: list(item.values) for item in telemetry.observations}


def refusal(content, begin=NOON, duration=4):
    with pytest.raises(UnfitError) as caught:
        place(content, Load(begin, duration))
    return str(caught.value)


def test_each_second_of_the_load_has_the_sample_of_that_second():
    cpu = [{**CPU, "user": 10.0 * i} for i in range(1, 5)]
    content = printed(*(sample(i, **{"cpu-load": [row]}) for i, row in enumerate(cpu, start=1)))
    assert values(content)["cpu_user"] == [15, 25, 35, 45]  # with nice
    assert values(content, NOON + 2, 2)["cpu_user"] == [35, 45]


def test_a_second_without_a_sample_has_no_value_and_samples_may_come_twice_or_in_disorder():
    content = printed(sample(4), sample(1), sample(1), sample(2))
    assert values(content)["cpu_system"] == [20, 20, None, 20]


def test_samples_outside_the_load_are_left_out_and_counted():
    placed = place(printed(*(sample(i) for i in range(1, 61))), Load(NOON + 20, 10))
    assert len(placed.telemetry.observations[0].values) == 10
    assert (placed.sample_count, placed.outside_count) == (60, 48)  # one at each end is near enough
    assert (placed.first_epoch_s, placed.last_epoch_s) == (NOON, NOON + 60)


def test_longer_samples_give_longer_steps_and_the_time_of_the_load_keeps_its_fraction():
    placed = place(printed(sample(10, 10), sample(20, 10)), Load(NOON + 0.4, 20))
    assert (placed.telemetry.step_s, placed.telemetry.start_epoch_s) == (10, NOON + 0.4)
    assert [item.values for item in placed.telemetry.observations if item.metric == "cpu_iowait"] == [(1.0, 1.0)]


def test_a_file_of_another_time_is_refused_with_both_spans():
    text = refusal(printed(sample(1), sample(2)), NOON + 3600)
    assert "2026-01-31 12:00:00 to 2026-01-31 12:00:02 UTC" in text
    assert "2026-01-31 13:00:00 to 2026-01-31 13:00:04 UTC" in text


def test_samples_that_are_longer_than_the_load_say_nothing_of_it():
    text = refusal(printed(sample(300, 600)), NOON, 60)
    assert "covers 600 s" in text
    assert "load of 60 s" in text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x96\xd5\x75\x21\x0c\x06", "sadf -j -- -A saNN"),  # as sadc 12.6.1 begins on x86
        (b"\xd5\x96\x21\x75", "sadf -j -- -A saNN"),
        (b"12:00:01 AM CPU %user", "no output of sadf -j"),
        (b"# hostname;interval;timestamp;CPU;%user", "no output of sadf -j"),
        (b'{"sysstat": 1}', "no output of sadf -j"),
        (b"", "no output of sadf -j"),
        (printed(), "no sample"),
        (printed(sample(1), sample(2))[:-60], "cut short"),
        (printed(sample(1), sample(2, utc=0)), "without -T and -t"),
        (printed({**sample(1), "timestamp": {"date": "1", "time": "2", "utc": 1, "interval": 1}}), "no time"),
        (b'{"sysstat": {"hosts": [{"statistics": [' + b"[" * 50_000, "cut short"),
        (b'{"a": "' + b"x" * 2**16 + printed(sample(1))[1:], "no output of sadf -j"),
        (printed(sample(1), "x" * 2**22), "damaged after its sample 1, or the next one has more than 2 MiB"),
        (printed(sample(1), [[]] * 2**19), "no output of sadf -j"),
        (
            printed(*[sample(1), {"timestamp": {**sample(1)["timestamp"], "date": "0001-01-01"}, "io": {"tps": 1}}]),
            "no time",
        ),
        (printed(*[0] * 200_001), "more than 200,000 samples"),
    ],
)
def test_what_cannot_be_used_is_refused_with_what_to_do(content, words):
    assert words in refusal(content)


def test_samples_are_read_to_the_last_one_although_the_file_is_longer_than_what_is_read_at_once():
    groups = {"cpu-load": [CPU], "other": "x" * 900_000}
    content = printed(*(sample(second, **groups) for second in range(1, 9)))
    assert values(content, duration=8)["cpu_user"] == [65] * 8


def test_as_many_samples_as_there_may_be_are_taken():
    assert values(printed(*[0] * 199_999, sample(1)), duration=1)["cpu_user"] == [65]


def test_a_file_of_many_samples_costs_the_numbers_of_those_within_the_load_alone(monkeypatch):
    looked_at = []
    monkeypatch.setattr(answer, "numbers", lambda groups: looked_at.append(groups) or numbers(groups))
    content = printed(*(sample(second) for second in (*range(1, 60), *[2] * 1000)))
    assert values(content)["cpu_user"] == [65] * 4
    assert len(looked_at) <= 6  # the load's seconds, and one near each end


def test_what_is_no_number_of_a_sample_is_left_out():
    queue = {"runq-sz": -1, "blocked": True, "other": "x"}
    groups = {"queue": queue, "cpu-load": [CPU, 3, None], "disk": "x", "network": [], "memory": {"dirty": 10**30}}
    assert set(values(printed(sample(1, **groups)))) == {"cpu_user", "cpu_system", "cpu_iowait", "cpu_steal"}


def test_disks_are_added_without_what_is_made_of_them_and_waits_are_weighed_by_requests():
    disks = [
        {"disk-device": "sda", "tps": 30.0, "rd_sec": 1000.0, "await": 1.0, "util-percent": 50.0, "aqu-sz": 0.5},
        {"disk-device": "nvme0n1", "tps": 10.0, "rd_sec": 3000.0, "await": 5.0, "util-percent": 20.0, "aqu-sz": 0.5},
        {"disk-device": "dm-0", "tps": 40.0, "rd_sec": 4000.0, "await": 2.0, "util-percent": 60.0, "aqu-sz": 1.0},
    ]
    row = values(printed(sample(1, disk=disks)))
    assert row["disk_ms"][0] == 2.0
    assert row["disk_busy"][0] == 70
    assert row["disk_read"][0] == pytest.approx(4000 * 512 / 1e6)


@pytest.mark.parametrize(
    ("names", "busy"),
    [
        (("dev8-0", "dev259-0", "dev7-0", "dev9-1"), 120),
        (("dev8-0", "dev253-0", "dev253-1"), None),  # volumes on the disk, or disks of a virtual machine
        (("sda", "vg0-data"), None),
    ],
)
def test_a_device_that_may_be_made_of_others_leaves_the_disks_without_numbers(names, busy):
    disks = [{"disk-device": name, "rd_sec": 1.0, "util-percent": 60.0, "aqu-sz": 1.0} for name in names]
    row = values(printed(sample(1, disk=disks, io={"io-reads": {"bread": 1000.0}})))
    assert row["disk_read"][0] == pytest.approx(0.512)
    assert row.get("disk_busy", [None])[0] == busy


def test_steps_of_a_long_load_have_the_mean_of_all_their_samples():
    cpu = [{**CPU, "nice": 0.0, "user": 10.0 * second} for second in range(1, 9)]
    content = printed(*(sample(second, **{"cpu-load": [row]}) for second, row in enumerate(cpu, start=1)))
    row = values(content, duration=8000)["cpu_user"]
    assert (row[:4], set(row[4:])) == ([15, 35, 55, 75], {None})  # of 2 s each


def test_network_is_that_of_the_cards_alone():
    cards = [{"iface": name, "rxkB": 1000.0, "txkB": 0.0} for name in ("lo", "eth0", "eth0.7", "veth1", "p3p1")]
    assert values(printed(sample(1, network={"net-dev": cards})))["network_received"][0] == pytest.approx(2.048)


def test_every_mapped_metric_is_one_of_our_own_and_none_stands_twice():
    names = [mapped.metric for mapped in MAPPED]
    assert set(names) <= set(BY_NAME)
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("version", "user", "queue"), [("12.6.1", 77.72, 5), ("12.7.5", 77.23, 7)])
def test_what_real_versions_print_becomes_metrics(version, user, queue):
    begin = datetime(2026, 11, 27, 10, 8, 28, tzinfo=UTC).timestamp()
    placed = place((RECORDED / f"sysstat-{version}.json").read_bytes(), Load(begin, 10))
    metrics = {item.metric: item.values for item in placed.telemetry.observations}
    assert placed.machine == answer.Machine("vm", "6.18.44-fc-v595")
    assert set(metrics) == {mapped.metric for mapped in MAPPED}
    assert metrics["cpu_user"][9] == user  # of 10:08:38; there is neither nice nor a guest
    assert metrics["run_queue"][9] == queue
    assert metrics["dirty"][9] == pytest.approx((139672 if version == "12.6.1" else 138688) * 1024 / 1e9)
    assert None not in metrics["psi_cpu"]


def test_local_times_of_a_real_version_are_refused():
    assert "local ones" in refusal((RECORDED / "sysstat-12.7.5-local.json").read_bytes())
