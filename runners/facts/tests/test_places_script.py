"""What probe.sh prints of a tree like sysfs."""

import subprocess
from pathlib import Path

import pytest

from runners.facts.processor import read
from runners.facts.storage import devices, filesystems
from runners.facts.topology import Platform

SCRIPT = (Path(__file__).parents[2] / "target" / "probe.sh").read_text()


def write(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{text}\n")


def sections(root):
    """Run the script on another tree than /sys, and return its sections with the paths of /sys, without lscpu's."""
    script = "export LC_ALL=C\n" + SCRIPT.replace("/sys/", f"{root}/sys/").replace("/proc/cpuinfo", f"{root}/cpuinfo")
    answer = subprocess.run(["sh"], input=script, capture_output=True, text=True, check=False).stdout
    parts = (part.partition("\n") for part in answer.replace(f"{root}/", "/").split("\x1e")[1:])
    return {name: text.strip() for name, _, text in parts if not name.startswith("lscpu")}


def topology(cpu, package, core, siblings):
    folder = f"sys/devices/system/cpu/cpu{cpu}/topology"
    return {
        f"{folder}/physical_package_id": package,
        f"{folder}/core_id": core,
        f"{folder}/thread_siblings_list": siblings,
    }


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Return the sections of a machine of 4 sockets, 128 cores each and 2 threads each."""
    root = tmp_path_factory.mktemp("large")
    for cpu in range(1024):
        core = cpu % 512
        write(root, topology(cpu, core // 128, core % 128, f"{core},{core + 512}"))
    write(root, {"sys/devices/system/cpu/online": "0-1023", "sys/devices/system/node/online": "0-3"})
    return sections(root)


def test_a_thousand_cpus_are_counted_from_few_bytes(large):
    cpu, remarks = read({**large, "cpus_allowed": ""}, Platform("x86_64", "6.1"))
    assert (cpu["cpus"], cpu["sockets"], cpu["cores_per_socket"], cpu["threads_per_core"]) == (1024, 4, 128, 2)
    assert (cpu["numa_nodes"], remarks) == (4, [])
    assert len(large["topology"]) < 200_000


def test_a_host_of_one_cpu_is_read_too(tmp_path):
    write(tmp_path, {**topology(0, 0, 0, "0"), "sys/devices/system/cpu/online": "0"})
    write(tmp_path, {"cpuinfo": "processor\t: 0\nmodel name\t: A CPU\nflags\t\t: fpu"})
    printed = sections(tmp_path)
    cpu, _ = read(printed, Platform("x86_64", "6.1"))
    assert (cpu["cpus"], cpu["cores"], cpu["sockets"], cpu["model"]) == (1, 1, 1, "A CPU")
    assert "flags" not in printed["cpuinfo"]


def test_a_host_without_topology_is_counted_by_its_cpuinfo(tmp_path):
    entry = (
        "processor\t: {0}\nmodel name\t: A CPU\nphysical id\t: {0}\ncore id\t\t: 0\ncpu cores\t: 1\nflags\t\t: fpu\n"
    )
    write(tmp_path, {"cpuinfo": "\n".join(entry.format(cpu) for cpu in range(2))})
    cpu, _ = read(sections(tmp_path), Platform("x86_64", "2.6.18"))
    assert (cpu["cpus"], cpu["cores"], cpu["sockets"], cpu["threads_per_core"]) == (2, 2, 2, 1)


def test_the_disks_below_a_file_system_are_followed_through_its_layers(tmp_path):
    block = "sys/block"
    write(
        tmp_path,
        {
            f"{block}/sda/dev": "8:0", f"{block}/sda/sda1/partition": "1", f"{block}/sda/sda1/dev": "8:1",
            f"{block}/sda/queue/rotational": "0", f"{block}/sda/device/model": "FAST | DISK", f"{block}/sda/size": "64",
            f"{block}/sdb/dev": "8:16", f"{block}/md0/dev": "9:0", f"{block}/md0/md/level": "raid1",
            f"{block}/md0/slaves/sda1/x": "", f"{block}/md0/slaves/sdb/x": "",
            f"{block}/dm-0/dev": "253:0", f"{block}/dm-0/dm/uuid": "CRYPT-LUKS2-0a", f"{block}/dm-0/dm/name": "safe",
            f"{block}/dm-0/slaves/md0/x": "",
            "sys/fs/btrfs/0a/devices/sdb/x": "", "sys/fs/btrfs/0a/devices/sda1/x": "",
        },
    )  # fmt: skip
    tree = devices(sections(tmp_path)["block_tree"])
    mounts = "/dev/mapper/safe /pg xfs rw 0 0\n/dev/sdb /data btrfs rw 0 0"
    crypt, btrfs = filesystems(mounts, "", "253:0 /pg\n0:44 /data", tree)
    assert (crypt["layers"], crypt["disks"]) == (["dm-crypt", "md raid1"], ["sdb", "sda"])
    assert (btrfs.get("layers"), sorted(btrfs["disks"])) == (None, ["sda", "sdb"])
