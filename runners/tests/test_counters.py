import json
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.counters import STANDBY, deltas, host_deltas, host_snapshot, parse_snapshot, snapshot_command

HOST = """\
proc_stat|cpu  {user} 100 300 {idle} 50 10 20 5 0 0
loadavg|0.50 0.40 0.30 1/200 999
uptime|{uptime} 99.0
boot_id|{boot}
epoch|1700000000.5
clock_ticks|100
"""
SERVER = (
    'server|{{"version":"PostgreSQL 17.2","server_version_num":170002,"postmaster_start_epoch_s":{started},'
    '"epoch_s":1,"in_recovery":false,"database":"d"}}\n'
)
VIEWS = """\
pg_stat_bgwriter|{{"buffers_clean":{clean},"stats_reset":"{reset}"}}
pg_stat_checkpointer|{{"num_timed":1,"stats_reset":"a"}}
pg_stat_wal|{{"wal_bytes":{clean},"stats_reset":"a"}}
pg_stat_database|{{"datid":5,"datname":"d","numbackends":3,"xact_commit":{commits},"blk_read_time":1.5,"stats_reset":null}}
wal_position|"16/B374D848"
setting|{{"name":"work_mem","setting":"{work_mem}","unit":"kB","source":"default","pending_restart":false}}
"""


def host(user=1000, idle=2000, uptime=50.0, boot="b"):
    return HOST.format(user=user, idle=idle, uptime=uptime, boot=boot)


def snapshot(first="", last="", started=7, clean=10, commits=100, reset="a", work_mem="4096"):
    views = VIEWS.format(clean=clean, commits=commits, reset=reset, work_mem=work_mem)
    return parse_snapshot((first + SERVER.format(started=started) + views + last).encode())


def test_cpu_seconds_and_shares_are_those_between_the_snapshots_and_not_within_them():
    before = snapshot(first=host(user=0, idle=0, uptime=0), last=host())
    after = snapshot(first=host(user=1300, idle=2100, uptime=54), last=host(user=9000, idle=9000, uptime=99))
    changes = deltas(before, after)
    assert changes["elapsed_s"] == 4.0
    assert (changes["cpu"]["user_s"], changes["cpu"]["idle_s"], changes["cpu"]["steal_s"]) == (3.0, 1.0, 0.0)
    assert (changes["cpu"]["user_share"], changes["cpu"]["idle_share"]) == (0.75, 0.25)
    assert changes["load_before"] == [0.5, 0.4, 0.3]
    assert changes["remarks"] == []


def test_nice_counts_as_user_and_interrupts_as_system():
    cpu = {
        "user": 1.0,
        "nice": 2.0,
        "system": 4.0,
        "idle": 8.0,
        "iowait": 16.0,
        "irq": 32.0,
        "softirq": 64.0,
        "steal": 128.0,
    }
    before = {"boot_id": "b", "uptime_s": 0.0, "load": [], "cpu_s": dict.fromkeys(cpu, 0.0)}
    cpu_changes = host_deltas(before, {**before, "cpu_s": cpu})["cpu"]
    seconds = {name: cpu_changes[f"{name}_s"] for name in ("user", "system", "iowait", "steal", "idle")}
    assert seconds == {"user": 3.0, "system": 100.0, "iowait": 16.0, "steal": 128.0, "idle": 8.0}


def test_counters_are_subtracted_and_what_is_no_counter_is_left_out():
    changes = deltas(snapshot(first=host(), last=host()), snapshot(first=host(), last=host(), clean=17, commits=1100))
    assert changes["pg_stat_bgwriter"] == {"buffers_clean": 7}
    assert changes["pg_stat_checkpointer"] == {"num_timed": 0}
    assert changes["pg_stat_wal"] == {"wal_bytes": 7}
    assert changes["pg_stat_database"] == {"xact_commit": 1000, "blk_read_time": 0.0}
    assert changes["restarted"] is False
    assert changes["settings_changed"] == []


def test_a_reset_in_between_leaves_the_view_out_and_says_so():
    changes = deltas(snapshot(first=host(), last=host()), snapshot(first=host(), last=host(), reset="b"))
    assert "pg_stat_bgwriter" not in changes
    assert changes["remarks"] == ["pg_stat_bgwriter was reset in between: its counters say nothing."]


def test_a_restart_and_a_changed_setting_show():
    changes = deltas(snapshot(), snapshot(started=8, work_mem="8192"))
    assert changes["restarted"] is True
    assert changes["settings_changed"] == ["work_mem"]


def test_a_rebooted_host_gives_no_cpu():
    changes = deltas(snapshot(last=host()), snapshot(first=host(boot="c")))
    assert "cpu" not in changes
    assert "rebooted" in changes["remarks"][0]


def quiet(busy, idle, iowait):
    later = f"{100 + busy} 0 50 {1000 + idle} {10 + iowait} 5 5 0 0 0"
    return f"quiet_from|cpu  100 0 50 1000 10 5 5 0 0 0\nquiet_to|cpu  {later}\n"


def test_how_busy_a_host_was_before_the_load_is_counted_apart_from_the_run():
    # 12 of 60 ticks: 2 CPUs for 0.3 s; waiting for disks is no use of a CPU.
    before = snapshot(first=quiet(busy=12, idle=40, iowait=8) + host(), last=host(user=9000))
    assert deltas(before, snapshot(first=host(uptime=60.0)))["busy_before_share"] == 0.2
    assert "busy_before_share" not in deltas(snapshot(last=host()), snapshot(first=quiet(1, 1, 1) + host()))


@pytest.mark.parametrize(
    "lines",
    [
        "",
        "quiet_from|cpu  1 2 3 4 5 6 7 8 0 0\n",
        quiet(0, 0, 0),
        quiet(5, 5, 5).replace(" 5 5 0 0 0\nquiet_to", "\nquiet_to"),
    ],
)
def test_where_it_was_not_counted_nothing_is_said_of_how_busy_a_host_was(lines):
    assert "busy_before_share" not in deltas(snapshot(first=lines, last=host()), snapshot(first=host(uptime=60.0)))


def test_the_cpu_time_of_the_load_is_what_the_script_has_waited_for_in_between():
    times = [host(uptime=at) + f"children|{line}\n" for at, line in ((50.0, "0m1.50s 0m0.50s"), (60.0, "1m1.25s 0m4s"))]
    assert deltas(snapshot(last=times[0]), snapshot(first=times[1]))["load_cpu_s"] == 63.25
    for line in ("", "children|0m1.5", "children|much"):
        assert "load_cpu_s" not in deltas(snapshot(last=times[0]), snapshot(first=host(uptime=60.0) + line + "\n"))


def test_throttling_is_counted_where_the_kernel_tells():
    slowed = [host(uptime=uptime) + f"throttled|{count}\n" for uptime, count in ((50.0, 7), (60.0, 9))]
    assert deltas(snapshot(last=slowed[0]), snapshot(first=slowed[1]))["throttle_events"] == 2
    assert "throttle_events" not in deltas(snapshot(last=slowed[0]), snapshot(first=host(uptime=60.0)))


def test_wal_positions_are_numbers_of_bytes_also_over_a_boundary():
    before = parse_snapshot(b'wal_position|"0/FFFFFFF0"\n')
    after = parse_snapshot(b'wal_position|"1/10"\n')
    assert before.wal_position == 2**32 - 16
    assert deltas(before, after)["wal_bytes"] == 32


def test_a_standby_has_no_wal_bytes_and_says_why():
    text = SERVER.format(started=1).replace('"in_recovery":false', '"in_recovery":true')
    standby = parse_snapshot(text.encode())
    assert "wal_bytes" not in deltas(standby, standby)
    assert STANDBY in standby.remarks


def test_a_view_that_this_version_should_have_is_missed_and_one_that_came_later_is_not():
    old = parse_snapshot(SERVER.format(started=1).replace("170002", "130005").encode())
    new = parse_snapshot(SERVER.format(started=1).encode())
    assert "pg_stat_wal could not be read." in new.remarks
    assert not any("pg_stat_wal" in remark or "checkpointer" in remark for remark in old.remarks)


@pytest.mark.parametrize("text", [b"", b"garbage\n\xff|\xfe\nproc_stat|cpu 1", b"remark|psql: error: refused\n"])
def test_a_snapshot_of_nothing_is_empty_and_makes_no_differences(text):
    empty = parse_snapshot(text)
    assert (empty.server, empty.settings, empty.statistics, empty.wal_position) == ({}, {}, {}, None)
    changes = deltas(empty, empty)
    assert not changes.keys() & {"cpu", "restarted", "wal_bytes"}
    assert changes["remarks"]


@pytest.mark.parametrize(
    "line",
    [
        "server|{",
        "server|[]",
        'server|{"server_version_num": "17"}',
        'server|{"server_version_num": NaN, "postmaster_start_epoch_s": 1, "in_recovery": false}',
        "pg_stat_wal|7",
        "pg_stat_wal|" + "[" * 100_000,
        "wal_position|7",
        "system_identifier|{}",
        "setting|{}",
        'setting|{"name": "work_mem"}',
    ],
)
def test_a_line_that_cannot_be_read_is_left_out_with_a_remark(line):
    read = parse_snapshot(f"{line}\n".encode())
    assert (read.server, read.settings, read.statistics, read.wal_position) == ({}, {}, {}, None)
    assert len(read.remarks) == 1 and "cannot be read: it is left out" in read.remarks[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("50.0 99.0", "nan 99.0"),
        ("50.0 99.0", "-5 99.0"),
        ("0.50 0.40 0.30", "inf 0.40 0.30"),
        ("0.50 0.40 0.30", "0.50"),
        ("clock_ticks|100", "clock_ticks|0"),
        ("clock_ticks|100", "clock_ticks|x"),
        ("epoch|1700000000.5", "epoch|1e999"),
        ("cpu  1000 100 300", "cpu  1000 x"),
    ],
)
def test_a_counter_of_the_host_that_cannot_be_leaves_the_host_out(old, new):
    changes = deltas(snapshot(last=host().replace(old, new)), snapshot(first=host(uptime=60.0)))
    assert "cpu" not in changes and "load_before" not in changes
    assert changes["remarks"] == ["The host's counters could not be read."]


def test_a_counter_that_went_down_is_left_out_and_said():
    changes = deltas(snapshot(last=host()), snapshot(first=host(uptime=60.0), commits=50, clean=11))
    assert changes["pg_stat_database"] == {"blk_read_time": 0.0}
    assert changes["pg_stat_bgwriter"] == {"buffers_clean": 1}
    assert changes["remarks"] == [
        "pg_stat_database: xact_commit went down in between, which no counter does: left out."
    ]


def test_times_that_went_back_are_no_times():
    changes = deltas(snapshot(last=host(uptime=60.0)), snapshot(first=host(uptime=50.0)))
    assert "elapsed_s" not in changes
    assert changes["remarks"] == [
        "The host's clock of seconds since its boot went back in between: nothing is counted."
    ]
    times = [host(uptime=at) + f"children|{line}\n" for at, line in ((50.0, "1m1.50s 0m0s"), (60.0, "0m1.25s 0m4s"))]
    assert "load_cpu_s" not in deltas(snapshot(last=times[0]), snapshot(first=times[1]))


def test_a_position_that_went_back_gives_no_wal_bytes():
    before, after = parse_snapshot(b'wal_position|"1/10"\n'), parse_snapshot(b'wal_position|"0/FF"\n')
    changes = deltas(before, after)
    assert "wal_bytes" not in changes and "No WAL bytes: the position went back in between." in changes["remarks"]
    assert parse_snapshot(b'wal_position|"x/y"\n').wal_position is None


NAMES = ("proc_stat", "quiet_from", "quiet_to", "loadavg", "uptime", "boot_id", "epoch", "clock_ticks", "throttled",
         "children", "server", "pg_stat_database", "pg_stat_wal", "wal_position", "setting", "remark")  # fmt: skip
VALUES = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ("cpu 1 2 3 4", "nan", "inf", "-1", "1e999", "9" * 400, "0m1.2.3s 0m0s", "0m1.2s ١m0s", "{}", "[1]")
    ),
    st.sampled_from(('{"server_version_num": 1e999}', '{"a": NaN}', '{"name": 1, "setting": null}', '"1/\u0661"')),
)


@given(*[st.lists(st.builds("{}|{}".format, st.sampled_from(NAMES), VALUES), max_size=12).map("\n".join)] * 2)
def test_no_snapshot_raises_and_all_differences_can_be_stored(first, second):
    before, after = (parse_snapshot((host() + text).encode(errors="replace")) for text in (first, second))
    json.dumps([deltas(before, after), dict(after.settings), dict(after.server)], allow_nan=False)


def test_without_a_server_the_host_is_still_counted(tmp_path):
    done = subprocess.run(
        ["/bin/sh", "-c", snapshot_command("/nonexistent")], cwd=tmp_path, capture_output=True, check=True
    )
    host_only = parse_snapshot(done.stdout)
    assert host_only.host_first["cpu_s"]["idle"] > 0
    assert host_only.host_last["uptime_s"] >= host_only.host_first["uptime_s"]
    assert any("not found" in remark for remark in host_only.remarks)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.target
async def test_a_host_alone_is_counted_over_ssh(connections, target):
    before = await host_snapshot(connections, target, is_before=True)
    after = await host_snapshot(connections, target)
    changes = host_deltas(before, after)
    assert 0 <= changes["busy_before_share"] <= 1
    assert "busy_before_share" not in after
    assert changes["elapsed_s"] >= 0 and changes["remarks"] == []
    assert len(before["boot_id"]) == 36


def test_secrets_in_settings_are_hidden_in_the_query_itself():
    assert "''primary_conninfo''" in snapshot_command("/bin")
    assert "(hidden)" in snapshot_command("/bin")
