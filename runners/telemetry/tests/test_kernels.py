"""The collector's awk reads recorded files of several kernels; what a kernel does not have is missing, and no error."""

import shutil
import subprocess
from pathlib import Path

import pytest

from runners.telemetry import collector
from runners.telemetry.log import parse

STAT = "cpu  100 20 30 4000 50 6 7 8 0 0\ncpu0 50 10 15 2000 25 3 3 4 0 0\ncpu1 50 10 15 2000 25 3 4 4 0 0\n"
SCHEDULER = "intr 9 1 2\nctxt 123456\nbtime 1700000000\nprocesses 789\nprocs_running 3\nprocs_blocked 1\n"
SELF = "4242 (mawk) S 1 1 1 0 -1 0 0 0 0 0 11 12 13 14 20 0 1 0 777 0\n"
COMMON = {"proc/stat": STAT + SCHEDULER, "proc/uptime": "5000.25 9000.00\n", "proc/self/stat": SELF}
BARE_METAL_6_8 = {
    **COMMON,
    "proc/meminfo": "MemTotal: 64 kB\nMemFree: 10 kB\nMemAvailable: 40 kB\nCached: 20 kB\nDirty: 3 kB\n"
    "Writeback: 2 kB\nAnonPages: 7 kB\nShmem: 5 kB\n",
    "proc/vmstat": "nr_free_pages 9\npswpin 4\npswpout 5\npgmajfault 6\n",
    "proc/pressure/cpu": "some avg10=1.00 avg60=0.50 avg300=0.10 total=1000\n",
    "proc/pressure/io": "some avg10=0.00 avg60=0.00 total=2000\nfull avg10=0.00 avg60=0 total=1500\n",
    "proc/diskstats": " 259 0 nvme0n1 10 1 80 4 20 2 160 8 1 12 12 0 0 0 0 30 6\n"
    " 259 1 nvme0n1p1 1 0 8 1 2 0 16 1 0 1 2 0 0 0 0 0 0\n"
    " 7 0 loop0 5 0 5 5 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
    "sys/block/nvme0n1/dev": "259:0\n",
    "proc/net/dev": "Inter-|   Receive\n face |bytes\n    lo: 900 9 0 0 0 0 0 0 900 9 0 0 0 0 0 0\n"
    "  ens5: 1000 10 1 2 0 0 0 0 2000 20 3 4 0 0 0 0\nbr0: 500 5 0 0 0 0 0 0 500 5 0 0 0 0 0 0\n",
    "sys/class/net/ens5/device/uevent": "DRIVER=ena\n",
    "proc/net/snmp": "Ip: Forwarding\nIp: 1\nTcp: RtoAlgorithm RetransSegs InErrs\nTcp: 1 77 0\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "3000000\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq": "2000000\n",
    "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "5\n",
    "proc/self/cgroup": "0::/system.slice/sshd\n",
    "sys/fs/cgroup/system.slice/sshd/cpu.stat": "usage_usec 1\nnr_periods 2\nnr_throttled 3\nthrottled_usec 4000\n",
}
CENTOS_3_10 = {
    **COMMON,
    "proc/stat": STAT.replace(" 8 0 0", " 8 0") + SCHEDULER,
    "proc/meminfo": "MemTotal: 64 kB\nMemFree: 10 kB\nCached: 20 kB\nDirty: 3 kB\nWriteback: 2 kB\nAnonPages: 7 kB\n",
    "proc/diskstats": "   8       0 sda 10 1 80 4 20 2 160 8 1 12 12\n",
    "sys/block/sda/dev": "8:0\n",
    "proc/cpuinfo": "processor : 0\ncpu MHz\t\t: 2400.5\nprocessor : 1\ncpu MHz\t\t: 2600.5\n",
    "proc/self/cgroup": "5:cpuset:/\n4:cpuacct,cpu:/slice\n",
    "sys/fs/cgroup/cpu,cpuacct/slice/cpu.stat": "nr_periods 9\nnr_throttled 2\nthrottled_time 7000000\n",
}
# Its own group is the root of what it sees; disks and network of the host are not to be seen.
CONTAINER = {
    **COMMON,
    "proc/pressure/cpu": "some avg10=1.00 avg60=0.50 avg300=0.10 total=1000\nfull avg10=0 avg60=0 avg300=0 total=0\n",
    "proc/self/cgroup": "0::/\n",
    "sys/fs/cgroup/cpu.stat": "usage_usec 1\nnr_periods 9\nnr_throttled 4\nthrottled_usec 500\n",
}
SANDBOX = {"proc/stat": "cpu  1 2 3 4\n", "proc/uptime": "5000.25 9000.00\n"}
AWKS = [name for name in ("mawk", "gawk", "original-awk", "busybox") if shutil.which(name)] or ["awk"]


@pytest.fixture(params=AWKS)
def note(request, tmp_path):
    """Has the collector look twice at a folder of recorded files, and returns what it noted."""

    def note(files):
        for name, text in files.items():
            path = tmp_path / "root" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for name, text in collector.files("").items():
            (tmp_path / name).write_text(text + "\n")
        (tmp_path / "telemetry.end").write_text("end\n")
        words = [request.param] + (["awk"] if request.param == "busybox" else [])
        values = {
            "parent": 1,
            "step_s": 0,
            "most_bytes": 1 << 20,
            "place": "here",
            "folder": "",
            "root": tmp_path / "root",
        }
        options = [part for name, value in values.items() for part in ("-v", f"{name}={value}")]
        command = [*words, *options, "-f", "telemetry.awk"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        return parse(done.stdout)

    return note


def last(log, group):
    return dict(zip(log.groups[group].names, log.groups[group].rows[-1], strict=True))


def test_a_recent_kernel_on_bare_metal_tells_everything(note):
    log = note(BARE_METAL_6_8)
    assert log.is_known and log.is_whole and not log.is_full
    assert last(log, "cpu") == {
        **{"user": 100, "nice": 20, "system": 30, "idle": 4000, "iowait": 50, "irq": 6, "softirq": 7, "steal": 8}
    }
    assert last(log, "sched") == {"ctxt": 123456, "processes": 789, "procs_running": 3, "procs_blocked": 1}
    assert last(log, "mem")["MemAvailable"] == 40 and last(log, "mem")["Dirty"] == 3
    assert last(log, "vm") == {"pgmajfault": 6, "pswpin": 4, "pswpout": 5}
    assert last(log, "psi.cpu") == {"some": 1000, "full": None}
    assert last(log, "psi.io") == {"some": 2000, "full": 1500}
    assert "psi.memory" not in log.groups
    assert log.places == {"all": ["nvme0n1"]}
    disk = last(log, "disk.nvme0n1")
    assert (disk["reads"], disk["read_sectors"], disk["write_ms"], disk["busy_ms"]) == (10, 80, 8, 12)
    assert (disk["flushes"], disk["flush_ms"]) == (30, 6)
    assert last(log, "net") == {"rx_bytes": 1000, "rx_packets": 10, "tx_bytes": 2000, "tx_packets": 20, "lost": 10}
    assert last(log, "tcp") == {"retransmitted": 77}
    assert last(log, "clock") == {"mhz": 2500, "throttled": 5}
    assert last(log, "cgroup") == {"throttled": 3, "throttled_us": 4000}
    assert last(log, "self") == {"ticks": 50}


def test_a_kernel_without_pressure_and_with_control_groups_of_version_1_tells_what_it_has(note):
    log = note(CENTOS_3_10)
    assert not [group for group in log.groups if group.startswith("psi.")]
    assert last(log, "mem")["MemAvailable"] is None and last(log, "mem")["MemFree"] == 10
    assert last(log, "disk.sda")["busy_ms"] == 12 and last(log, "disk.sda")["flushes"] is None
    assert last(log, "clock") == {"mhz": 2500, "throttled": None}
    assert last(log, "cgroup") == {"throttled": 2, "throttled_us": 7000}
    assert "net" not in log.groups and "vm" not in log.groups


def test_a_container_tells_its_own_throttling_from_the_root_of_what_it_sees(note):
    log = note(CONTAINER)
    assert last(log, "cgroup") == {"throttled": 4, "throttled_us": 500}
    assert last(log, "psi.cpu") == {"some": 1000, "full": 0}
    assert log.places == {} and log.is_whole


def test_where_nearly_nothing_can_be_read_the_rest_is_missing_and_no_error(note):
    log = note(SANDBOX)
    assert log.is_whole
    assert last(log, "cpu") == {
        **{"user": 1, "nice": 2, "system": 3, "idle": 4}, **dict.fromkeys(("iowait", "irq", "softirq", "steal"))
    }  # fmt: skip
    assert set(log.groups) <= {"cpu", "sched", "self"}
    assert log.places == {}


def test_every_file_of_the_collector_is_there_and_names_what_the_metrics_read():
    files = collector.files("/usr/bin")
    assert "Dirty" in files["telemetry.meminfo"].split() and "pgmajfault" in files["telemetry.vmstat"].split()
    assert "'pg_stat_database', 'xact_commit'" in files["telemetry.sql"]
    assert "telemetry.sql" not in collector.files("")
    assert all(Path(name).name == name for name in files)


def test_a_load_of_hours_is_looked_at_less_often_so_that_its_log_stays_bounded():
    assert [collector.step_s(seconds) for seconds in (0, 60, 7200, 7201, 86_400)] == [1, 1, 1, 2, 12]
