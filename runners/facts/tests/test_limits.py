"""What control groups let an account use, by the probe's own shell on files of both versions."""

import subprocess
from pathlib import Path

import pytest

from runners.facts import limits

PROBE = (Path(__file__).parents[2] / "target" / "probe.sh").read_text()
FUNCTIONS = PROBE[PROBE.index("groups_of() {") : PROBE.index("section username")]
VERSION_1 = {
    "proc/self/cgroup": "7:memory:/user.slice/a b\n4:cpuacct,cpu:/user.slice\n1:name=systemd:/\n0::/\n",
    "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1",
    "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
    "sys/fs/cgroup/cpu,cpuacct/user.slice/cpu.cfs_quota_us": "250000",
    "sys/fs/cgroup/cpu,cpuacct/user.slice/cpu.cfs_period_us": "100000",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
    "sys/fs/cgroup/memory/user.slice/a b/memory.limit_in_bytes": "1073741824",
}
VERSION_2 = {
    "proc/self/cgroup": "0::/user.slice/a.scope\n",
    "sys/fs/cgroup/user.slice/cpu.max": "250000 100000",
    "sys/fs/cgroup/user.slice/a.scope/cpu.max": "max 100000",
    "sys/fs/cgroup/user.slice/memory.max": "1073741824",
    "sys/fs/cgroup/user.slice/a.scope/memory.max": "max",
}
# Of a container without a name space for its groups: the path is of its host, the folders are its own.
CONTAINER = {
    "proc/self/cgroup": "0::/../../docker/1\n",
    "sys/fs/cgroup/cpu.max": "250000 100000",
    "sys/fs/cgroup/memory.max": "1073741824",
}


# Above memory.high the kernel slows a group down; version 1 tells in each group the least of those around it.
SLOWED = VERSION_2 | {
    "sys/fs/cgroup/user.slice/memory.max": "max",
    "sys/fs/cgroup/user.slice/a.scope/memory.high": "1073741824",
}
HIDDEN = VERSION_1 | {
    "proc/self/cgroup": "7:memory:/../docker/1\n4:cpuacct,cpu:/user.slice\n",
    "sys/fs/cgroup/memory/memory.stat": "cache 4096\nhierarchical_memory_limit 1073741824\ntotal_cache 1",
}
BACKSLASHES = {
    "proc/self/cgroup": "0::/a\\x2db.slice\n",
    "sys/fs/cgroup/a\\x2db.slice/cpu.max": "250000 100000",
    "sys/fs/cgroup/a\\x2db.slice/memory.max": "1073741824",
}


def place(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


def printed(folder, command):
    shell = FUNCTIONS.replace("/sys/fs", f"{folder}/sys/fs").replace("/proc/self", f"{folder}/proc/self")
    return subprocess.run(["/bin/sh", "-c", shell + command], capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("files", [VERSION_1, VERSION_2, CONTAINER, SLOWED, HIDDEN, BACKSLASHES])
def test_the_narrowest_group_around_the_account_counts(tmp_path, files):
    place(tmp_path, files)
    assert limits.quota(printed(tmp_path, "quotas_of_groups"), 64) == 2.5
    assert limits.memory(printed(tmp_path, "limit_of_memory"), 64 << 30) == 1 << 30


@pytest.mark.parametrize(
    ("files", "text"),
    [(VERSION_1, "-1 100000\n"), (VERSION_2, ""), (CONTAINER, "250000 100000\n")],
)
def test_the_quota_of_the_root_alone_is_a_fact_of_the_processor(tmp_path, files, text):
    place(tmp_path, files)
    assert printed(tmp_path, "quota_of_cpus") == text


def test_a_path_is_printed_as_it_is_whatever_a_shell_reads_in_its_backslashes(tmp_path):
    """Echo of dash makes a tab of the second, a backspace of the third, and a zero of the last."""
    path = "/a\\x2db/c\\td/e\\bf/g\\060h"
    place(tmp_path, {"proc/self/cgroup": f"0::{path}\n"})
    assert printed(tmp_path, "groups_of '^0::' '/m\\tn'").splitlines()[0] == f"/m\\tn{path}"


SECTIONS = {"control_groups": "/sys/fs/cgroup/cgroup.procs\n", "memory_limit": "max\n", "group_quotas": "max 100000\n"}


def test_groups_without_a_limit_are_told_from_groups_that_nobody_could_read():
    assert limits.read(SECTIONS, 64, 64 << 30) == {"cpus": "none", "memory_bytes": "none"}
    assert limits.read({**SECTIONS, "control_groups": ""}, 64, 64 << 30) == {}
    assert limits.read({"cpu_quota": "250000 100000\n"}, 64, 64 << 30) == {}


def test_the_limits_are_those_of_the_narrowest_group_be_it_the_root_or_within():
    nested = {**SECTIONS, "group_quotas": "250000 100000\n", "memory_limit": "4096\nmax\n"}
    assert limits.read(nested, 64, 64 << 30) == {"cpus": 2.5, "memory_bytes": 4096}
    root = {**nested, "cpu_quota": "150000 100000\n"}
    assert limits.read(root, 64, 64 << 30) == {"cpus": 1.5, "memory_bytes": 4096}


def test_a_path_that_begins_nowhere_leads_to_the_root_and_ends(tmp_path):
    """No kernel is known to print it; a loop without end would keep the probe from ever answering."""
    place(tmp_path, {"proc/self/cgroup": "0::user.slice"})
    assert printed(tmp_path, "groups_of '^0::' /groups | head -n 3") == "/groups\n"


@pytest.mark.parametrize("text", ["", "max\n", "9223372036854771712\n", "-1\nx y\n0\n"])
def test_no_limit_or_one_beyond_the_memory_is_none(text):
    assert limits.memory(text, 64 << 30) is None
