"""Facts of hosts whose texts say what cannot be."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.facts.labels import LABELS as LSCPU_LABELS
from runners.facts.topology import FILES
from runners.probe import _build, _target_time, facts_digest_input, parse_probe
from runners.readings import LARGEST, count, decimal, storable_facts, storable_json, whole

LISTS = ("0-3", "0,2", "1", "0-62:2", "3-1", "0-99999999", "-", "", "0-3,0-3", "x", "0-3:0")
ODD = ("1e999", "nan", "Infinity", "-1", "1" + "0" * 30, "9" * 5000, "unknown", "-", "", "٣", "0x10", " ")
LABELS = (
    *(label for labels in LSCPU_LABELS.values() for label in labels),
    "MemTotal", "SwapTotal", "Hugepagesize", "processor", "physical id", "core id", "cpu cores", "CPU part", "cpu",
)  # fmt: skip
PATHS = ("/sys/devices/system/cpu/online", "/sys/devices/system/cpu/present", "/sys/devices/cpu_atom/cpus",
         "/sys/devices/system/node/online", "/sys/devices/system/node/has_cpu")  # fmt: skip

SECTIONS = (
    "os_release", "kernel", "lscpu", "meminfo", "block_devices", "mounts", "filesystem_sizes", "dmi", "tools",
    "transparent_huge_pages", "clock_source", "kernel_command_line", "sysctls", "uptime", "cpu_governors",
    "cpu_lists", "topology", "cpuinfo", "cpus_allowed", "cpu_quota", "block_tree", "mount_numbers", "memory_modules",
    "os_release_line", "memory_limit", "group_quotas", "control_groups",
)  # fmt: skip
LINES = st.one_of(
    st.text(max_size=60),
    st.builds("{}: {} kB".format, st.sampled_from(LABELS), st.sampled_from(ODD)),
    st.builds("{}: {}".format, st.sampled_from(LABELS), st.sampled_from(ODD)),
    st.builds("{}={}".format, st.sampled_from(PATHS), st.sampled_from(LISTS)),
    st.builds(
        "{} {} {}".format, st.integers(-1, 5), st.sampled_from(tuple(FILES)), st.sampled_from((*ODD, *LISTS, "0", "1"))
    ),
    st.builds("{}: {}".format, st.sampled_from(LABELS), st.sampled_from((*LISTS, "2", "0x41"))),
    st.builds(
        "{0}|8:0|{1}||{0} dm-1|{1}|1|x|y".format, st.sampled_from(("dm-0", "dm-1", "md0", "sda")), st.text(max_size=9)
    ),
    st.builds('NAME="a" TYPE="disk" SIZE="{}" ROTA="1"'.format, st.sampled_from(ODD)),
    st.builds("/dev/a {0} ext4 rw {1} {0}".format, st.sampled_from(ODD), st.sampled_from(ODD)),
)


@pytest.mark.parametrize("text", ODD)
def test_a_number_that_cannot_be_is_none(text):
    assert (whole(text), count(text), decimal(text)) == (None, None, None)


def test_numbers_are_read_up_to_what_the_warehouse_holds():
    assert (whole("0"), whole(str(LARGEST)), whole(str(LARGEST + 1)), count("0"), count("8")) == (
        0,
        LARGEST,
        None,
        None,
        8,
    )
    assert (decimal("2900.123"), decimal("2900."), decimal("3400")) == (2900.123, 2900.0, 3400.0)


def test_what_lscpu_cannot_mean_is_left_out_and_said():
    facts = parse_probe(
        {"virtualization": "none", "lscpu": "CPU(s): 8\nSocket(s): unknown\nCPU MHz: 1e999\nCore(s) per socket: -"}
    )
    assert facts["cpu"] == {"cpus": 8}
    assert "virtualization" not in facts and "virtualization" not in facts["missing"]
    assert parse_probe({"virtualization": "lxc\ncontainer\nlxc"})["virtualization"] == ["container", "lxc"]
    assert [remark.split(",")[0] for remark in facts["remarks"]] == [
        "lscpu prints 'unknown' as Socket(s)",
        "lscpu prints '1e999' as CPU MHz",
    ]


def test_a_product_that_does_not_add_up_is_said():
    hybrid = "CPU(s): 20\nThread(s) per core: 2\nCore(s) per socket: 14\nSocket(s): 1"
    [remark] = parse_probe({"lscpu": hybrid})["remarks"]
    assert remark.startswith("lscpu counts 20 CPUs, but 1 x 14 x 2 as sockets, cores and threads")
    assert "remarks" not in parse_probe({"lscpu": hybrid.replace("20", "28")})


@pytest.mark.parametrize(
    ("name", "model", "is_virtual"),
    [
        ("vda", "", True), ("xvda", "", True), ("sda", "QEMU HARDDISK", True), ("sda", "Virtual Disk", True),
        ("nvme0n1", "Amazon Elastic Block Store", True), ("sda", "ST4000NM0035", False), ("nvme0n1", "SAMSUNG", False),
    ],
)  # fmt: skip
def test_a_virtual_disk_is_marked_and_not_claimed_to_rotate(name, model, is_virtual):
    line = f'NAME="{name}" TYPE="disk" SIZE="4096" ROTA="1" SCHED="none" MODEL="{model}"'
    facts = parse_probe({"block_devices": line})
    assert facts["block_devices"][0].get("is_virtual", False) == is_virtual
    claim = {} if is_virtual else {"is_rotational": True}
    assert facts_digest_input(facts)["block_devices"] == [
        {"size_bytes": 4096, "scheduler": "none", "model": model, **claim}
    ]


@pytest.mark.parametrize(
    ("signs", "disks"),
    [
        ({}, [True, False]),
        ({"virtualization": "lxc\ncontainer"}, [True, False]),
        ({"virtualization": "kvm\nhypervisor"}, [None, False]),
        ({"lscpu": "Hypervisor vendor: VMware"}, [None, False]),
    ],
)
def test_a_guest_does_not_say_that_its_disk_rotates(signs, disks):
    lines = [f'NAME="sd{name}" TYPE="disk" SIZE="4096" ROTA="{flag}" MODEL=""' for name, flag in (("a", 1), ("b", 0))]
    facts = parse_probe({"block_devices": "\n".join(lines), **signs})
    assert [disk.get("is_rotational") for disk in facts["block_devices"]] == disks


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1700000000.5\n", 1700000000.5), ("1700000000.%N", 1.7e9), ("1700000000.", 1.7e9), ("1e999", None), ("", None)],
)
def test_the_time_of_a_host_is_read_with_or_without_nanoseconds(text, seconds):
    assert _target_time(text) == seconds


def test_a_quotation_mark_that_is_never_closed_breaks_no_build():
    assert _build({"bin_directory": "/b", "configure": "'--a --b"})["configure"] == ["'--a", "--b"]
    assert "version_num" not in _build({"bin_directory": "/b", "postgres_version": f"(PostgreSQL) {'9' * 5000}"})


def test_a_version_and_a_digest_of_a_build_have_their_length():
    texts = {"postgres_version": "postgres (PostgreSQL) 18.1", "postgres_sha256": f"{'0a' * 32}  /b/postgres"}
    build = _build({"bin_directory": "/b", **texts})
    assert (build["version"], build["postgres_sha256"]) == ("18.1", "0a" * 32)
    long = {"postgres_version": f"(PostgreSQL) 18{'x' * 50}", "postgres_sha256": "0a" * 33, "pgbench_sha256": "x"}
    build = _build({"bin_directory": "/b", **long})
    assert not build.keys() & {"version", "version_num", "postgres_sha256", "pgbench_sha256"}


@given(st.dictionaries(st.sampled_from(SECTIONS), st.lists(LINES, max_size=8).map("\n".join)))
def test_no_text_raises_and_all_numbers_can_be_stored(sections):
    facts = parse_probe(sections)
    json.dumps([facts, facts_digest_input(facts)], allow_nan=False)
    cpu = facts.get("cpu", {})
    assert all(value >= 1 for value in cpu.values() if isinstance(value, int))
    if {"cpus", "sockets", "cores_per_socket", "threads_per_core"} <= cpu.keys():
        assert cpu["cpus"] == cpu["sockets"] * cpu["cores_per_socket"] * cpu["threads_per_core"]
    assert cpu.get("cores", 0) <= cpu.get("cpus", 2**20)
    assert all(0 < disk["size_bytes"] <= LARGEST for disk in facts.get("block_devices", ()))


def test_plain_data_is_stored_as_it_is():
    facts = {
        "kernel": "6.1",
        "cpu": {"cpus": 8, "max_mhz": 3400.5},
        "missing": [],
        "options": ("a", "b"),
        "swap_bytes": 0,
    }
    assert storable_facts(facts) == {**facts, "options": ["a", "b"]}


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("a\0b", "a\ufffdb"),
        ("\ud800", "\ufffd"),
        ("x" * 70_000, None),
        (float("nan"), None),
        (float("-inf"), None),
        (10**400, None),
        ({"a\0": [1, float("inf")]}, {"a\ufffd": [1, None]}),
        (b"bytes", None),
    ],
)
def test_what_cannot_be_stored_is_one_remark(value, stored):
    facts = storable_facts({"kernel": value, "memory_bytes": 1})
    assert facts.pop("remarks") == ["Not all of the host's kernel can be stored: what cannot be is left out."]
    assert facts == {"memory_bytes": 1, **({"kernel": stored} if stored is not None else {})}


def test_what_is_too_deep_ends():
    deep: list[object] = []
    for _ in range(10_000):
        deep = [deep]
    facts = storable_facts({"kernel": deep})
    assert len(json.dumps(facts)) < 1000
    assert facts["remarks"] == ["Not all of the host's kernel can be stored: what cannot be is left out."]


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "NULL", "x" * 9])
def test_no_json_is_a_value_error(text):
    with pytest.raises(ValueError, match=r".*"):
        storable_json(text)


def test_json_that_cannot_be_stored_is_none_where_it_stands():
    assert storable_json('{"a": NaN, "b": 1e999, "c": ' + "9" * 5000 + ', "d": "\\u0000\\ud800", "e": 7}') == {
        "a": None, "b": None, "c": None, "d": "\ufffd\ufffd", "e": 7,
    }  # fmt: skip
