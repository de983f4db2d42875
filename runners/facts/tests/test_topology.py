"""Sockets, cores and threads from what the kernel says of each CPU. All cases are counted by hand."""

import pytest

from runners.facts.processor import read
from runners.facts.topology import Platform, places

ONLINE, PRESENT = "/sys/devices/system/cpu/online", "/sys/devices/system/cpu/present"
X86, ARM, S390, POWER = (
    Platform(name, "6.1.0") for name in ("x86_64", "aarch64", "s390x", "ppc64le")
)  # fmt: skip
SHAPE = ("cpus", "cores", "sockets", "cores_per_socket", "threads_per_core")


def lines(cpus, **files):
    """Write what the probe prints: `files` give each CPU's word, or all CPUs the same; None is no file."""
    rows = ((cpu, name, word(cpu) if callable(word) else word) for name, word in files.items() for cpu in cpus)
    return "\n".join(f"{cpu} {name} {word}" for cpu, name, word in rows if word is not None)


def facts(topology, lists=(), platform=X86, **sections):
    listed = "\n".join(f"{path}={cpus}" for path, cpus in dict(lists).items())
    return read({"topology": topology, "cpu_lists": listed, **sections}, platform)


def shape(cpu):
    return tuple(cpu.get(name) for name in SHAPE)


def test_two_sockets_of_four_cores_with_two_threads():
    rows = lines(
        range(16),
        physical_package_id=lambda cpu: cpu % 8 // 4,
        core_id=lambda cpu: cpu % 4,
        thread_siblings_list=lambda cpu: f"{cpu % 8},{cpu % 8 + 8}",
    )
    cpu, remarks = facts(rows, {ONLINE: "0-15", PRESENT: "0-15"})
    assert shape(cpu) == (16, 8, 2, 4, 2)
    assert remarks == [] and "cpus_offline" not in cpu


def test_performance_and_efficiency_cores_have_no_product():
    rows = lines(
        range(20),
        physical_package_id=0,
        core_id=lambda cpu: cpu // 2 * 4 if cpu < 12 else cpu + 12,
        thread_siblings_list=lambda cpu: f"{cpu & ~1}-{cpu | 1}" if cpu < 12 else cpu,
    )
    kinds = {"/sys/devices/cpu_core/cpus": "0-11", "/sys/devices/cpu_atom/cpus": "12-19"}
    lscpu = "CPU(s): 20\nThread(s) per core: 2\nCore(s) per socket: 14\nSocket(s): 1"
    cpu, remarks = facts(rows, {ONLINE: "0-19", **kinds}, lscpu=lscpu)
    assert shape(cpu) == (20, 14, 1, 14, None)
    assert cpu["core_kinds"] == [
        {"name": "performance", "cores": 6, "cpus": 12},
        {"name": "efficiency", "cores": 8, "cpus": 8},
    ]
    assert remarks == ["Not every core has the same number of threads: the 14 cores have 20 in all."]


def midr(part):
    return f"0x00000000410f{part:03x}0"


def big_little(package):
    return lines(
        range(6),
        physical_package_id=package,
        core_id=lambda cpu: cpu if cpu < 4 else cpu - 4,
        thread_siblings_list=lambda cpu: cpu,
        midr_el1=lambda cpu: midr(0xD03 if cpu < 4 else 0xD08),
    )


def test_clusters_of_arm_cores_are_no_sockets():
    cpu, _ = facts(big_little(lambda cpu: cpu // 4), {ONLINE: "0-5"}, ARM)
    assert shape(cpu) == (6, 6, None, None, 1)
    assert cpu["core_kinds"] == [
        {"name": "Cortex-A53", "cores": 4, "cpus": 4},
        {"name": "Cortex-A72", "cores": 2, "cpus": 2},
    ]


@pytest.mark.parametrize("package", [-1, None])
def test_a_socket_that_the_kernel_does_not_know_is_none(package):
    cpu, _ = facts(big_little(package), {ONLINE: "0-5"}, ARM)
    assert shape(cpu) == (6, 6, None, None, 1)


def test_packages_of_an_arm_server_are_sockets_where_its_firmware_says_so_and_the_kernel_reads_it():
    rows = lines(
        range(8), physical_package_id=lambda cpu: 36 + cpu // 4, core_id=lambda cpu: cpu, thread_siblings_list=str
    )
    table = {ONLINE: "0-7", "/sys/firmware/acpi/tables/PPTT": ""}
    assert shape(facts(rows, table, ARM)[0]) == (8, 8, 2, 4, 1)
    assert shape(facts(rows, table, Platform("aarch64", "4.14.0-115.el7a"))[0]) == (8, 8, None, None, 1)
    assert shape(facts(rows, {ONLINE: "0-7"}, ARM)[0]) == (8, 8, None, None, 1)


def test_capacity_tells_kinds_of_arm_cores_apart_and_nothing_elsewhere():
    rows = lines(range(4), physical_package_id=0, core_id=str, cpu_capacity=lambda cpu: 1024 if cpu > 1 else 446)
    arm, x86 = facts(rows, {ONLINE: "0-3"}, Platform("armv7l", "5.4"))[0], facts(rows, {ONLINE: "0-3"})[0]
    assert [kind["name"] for kind in arm["core_kinds"]] == ["capacity 446", "capacity 1024"]
    assert "core_kinds" not in x86


def test_drawers_and_books_number_their_sockets_anew():
    rows = lines(
        range(16),
        drawer_id=lambda cpu: cpu // 8,
        book_id=lambda cpu: cpu // 4 % 2,
        physical_package_id=lambda cpu: cpu // 2 % 2,
        core_id=lambda cpu: cpu % 2,
        thread_siblings_list=str,
    )
    assert shape(facts(rows, {ONLINE: "0-15"}, S390)[0]) == (16, 16, 8, 2, 1)


def power(threads):
    online = [cpu for cpu in range(80) if cpu % 8 < threads]
    rows = lines(
        online,
        physical_package_id=lambda cpu: cpu // 40,
        core_id=lambda cpu: cpu // 8 * 8,
        thread_siblings_list=lambda cpu: ",".join(str(cpu // 8 * 8 + thread) for thread in range(threads)),
    )
    return facts(rows, {ONLINE: ",".join(map(str, online)), PRESENT: "0-79"}, POWER)


@pytest.mark.parametrize("threads", [1, 2, 4, 8])
def test_power_counts_the_threads_that_are_online(threads):
    cpu, remarks = power(threads)
    assert shape(cpu) == (10 * threads, 10, 2, 5, threads)
    assert cpu.get("cpus_offline", 0) == 80 - 10 * threads
    assert len(remarks) == (threads < 8)


def test_a_cpu_that_may_be_plugged_in_later_is_not_offline():
    rows = lines(range(2), physical_package_id=str, core_id=0, thread_siblings_list=str)
    cpu, remarks = facts(rows, {ONLINE: "0-1", PRESENT: "0-1", "/sys/devices/system/cpu/possible": "0-127"})
    assert shape(cpu) == (2, 2, 2, 1, 1)
    assert "cpus_offline" not in cpu and remarks == []


def test_a_container_that_sees_some_cpus_of_its_host_counts_those():
    rows = lines(
        range(64), physical_package_id=lambda cpu: cpu // 32, core_id=lambda cpu: cpu % 32, thread_siblings_list=str
    )
    assert shape(facts(rows, {ONLINE: "0-3"})[0]) == (4, 4, 1, 4, 1)
    cpu, remarks = facts(rows, {ONLINE: "0-63"}, cpus_allowed="Cpus_allowed_list:\t0-7", cpu_quota="150000 100000")
    assert (cpu["cpus"], cpu["cpus_allowed"], cpu["cpu_quota"]) == (64, 8, 1.5)
    assert remarks == [
        "Programs of this account may run on 8 of the 64 CPUs only.",
        "Programs of this account get the time of 1.5 CPUs only.",
    ]


def test_a_quota_within_the_root_is_remarked_and_no_fact_of_the_processor():
    """Runs from before it was read would be unlike those since, though nothing of their host has changed."""
    rows = lines(range(64), physical_package_id=0, core_id=str)
    cpu, remarks = facts(rows, {ONLINE: "0-63"}, cpu_quota="-1 100000", group_quotas="max 100000\n150000 100000")
    assert "cpu_quota" not in cpu
    assert remarks == ["Programs of this account get the time of 1.5 CPUs only."]


def test_no_quota_and_no_set_are_no_facts():
    rows = lines(range(2), physical_package_id=0, core_id=str)
    cpu, remarks = facts(rows, {ONLINE: "0-1"}, cpus_allowed="Cpus_allowed_list:\t0-1", cpu_quota="max 100000")
    assert not cpu.keys() & {"cpus_allowed", "cpu_quota"} and remarks == []


def test_a_core_number_that_two_dies_share_is_two_cores():
    dies = {"physical_package_id": 0, "core_id": lambda cpu: cpu % 4}
    assert facts(lines(range(8), **dies, thread_siblings_list=str))[0]["cores"] == 8
    assert facts(lines(range(8), **dies, die_id=lambda cpu: cpu // 4))[0]["cores"] == 8


def test_siblings_that_leave_out_the_cpu_itself_are_not_believed():
    rows = lines(range(4), physical_package_id=0, core_id=str, thread_siblings_list="0")
    assert facts(rows)[0]["cores"] == 4


def test_masks_of_old_kernels_are_read():
    rows = lines(
        range(16),
        physical_package_id=lambda cpu: cpu % 4,
        core_id=lambda cpu: cpu // 4 % 2,
        thread_siblings=lambda cpu: f"00000000,{0x101 << cpu % 8:08x}",
    )
    assert shape(facts(rows)[0]) == (16, 8, 4, 2, 2)


def test_lscpu_that_says_otherwise_is_a_remark_and_the_kernel_is_believed():
    rows = lines(
        range(4), physical_package_id=lambda cpu: cpu // 2, core_id=lambda cpu: cpu % 2, thread_siblings_list=str
    )
    lscpu = "CPU(s): 4\nThread(s) per core: 2\nCore(s) per socket: 2\nSocket(s): 1"
    cpu, remarks = facts(rows, {ONLINE: "0-3"}, lscpu=lscpu)
    assert shape(cpu) == (4, 4, 2, 2, 1)
    assert remarks == [
        "The kernel's files count 2 sockets, lscpu 1: BenchHub goes by the kernel's files.",
        "The kernel's files count 4 cores, lscpu 2: BenchHub goes by the kernel's files.",
    ]


@pytest.mark.parametrize(
    ("platform", "sockets", "cores_per_socket", "expected"),
    [
        (POWER, 1, 4, 1),
        (POWER, 2, 2, 2),
        (POWER, 4, 1, None),  # what lscpu says where it knows nothing
        (ARM, 1, 4, 1),
        (ARM, 2, 2, None),  # clusters
        (POWER, 1, 3, None),  # of another number of cores
    ],
)
def test_sockets_that_the_kernel_does_not_know_are_those_of_lscpu_where_it_can_know(
    platform, sockets, cores_per_socket, expected
):
    rows = lines(range(8), physical_package_id=-1, core_id=lambda cpu: cpu // 2)
    counts = f"CPU(s): {sockets * cores_per_socket * 2}\nSocket(s): {sockets}\nCore(s) per socket: {cores_per_socket}"
    cpu, _ = facts(rows, {ONLINE: "0-7"}, platform, lscpu=f"{counts}\nThread(s) per core: 2")
    assert shape(cpu) == (8, 4, expected, 4 // expected if expected else None, 2)


def test_without_the_place_of_a_cpu_lscpu_counts():
    rows = lines(range(3), physical_package_id=0, core_id=str)
    lscpu = "CPU(s): 4\nThread(s) per core: 1\nCore(s) per socket: 2\nSocket(s): 2"
    cpu, remarks = facts(rows, {ONLINE: "0-3"}, lscpu=lscpu)
    assert shape(cpu) == (4, 4, 2, 2, 1)
    assert remarks == ["sysfs does not say where 1 of the CPUs online are: cores are not counted by it."]


def test_nodes_of_memory_without_cpus_are_told():
    rows = lines(range(2), physical_package_id=0, core_id=str)
    nodes = {"/sys/devices/system/node/online": "0,8,252-255", "/sys/devices/system/node/has_cpu": "0,8"}
    cpu, _ = facts(rows, nodes, lscpu="NUMA node(s): 4")
    assert (cpu["numa_nodes"], cpu["numa_nodes_with_cpus"]) == (6, 2)


def test_a_line_that_was_cut_or_is_none_places_no_cpu():
    assert places(
        "0 core_id 1\n1 core_id " + "1" * 200 + "\nx core_id 1\n-1 core_id 1\n2 other 1\n3 core_id"
    ).keys() == {0}


def test_packages_of_one_number_that_are_told_apart_by_their_lists_leave_sockets_open():
    """As a machine of eight nodes with two packages each had it, whose firmware numbered the nodes alone."""
    rows = lines(
        range(4),
        physical_package_id=lambda cpu: cpu // 2 * 512,
        core_id=0,
        thread_siblings_list=lambda cpu: cpu,
        core_siblings_list=lambda cpu: cpu,
    )
    cpu, remarks = facts(rows, {ONLINE: "0-3"}, Platform("ia64", "2.6.27"))
    assert shape(cpu) == (4, 4, None, None, 1)
    assert remarks == ["The kernel gives one number to packages whose lists of CPUs it tells apart: sockets are open."]


def test_sockets_with_unlike_cores_are_counted_one_by_one():
    rows = lines(range(6), physical_package_id=lambda cpu: cpu // 4, core_id=lambda cpu: cpu % 4)
    cpu, remarks = facts(rows, {ONLINE: "0-5"})
    assert shape(cpu) == (6, 6, 2, None, 1) and cpu["socket_cores"] == [4, 2]
    assert remarks == ["Not every socket has the same number of cores: the 2 sockets have 6 in all."]
