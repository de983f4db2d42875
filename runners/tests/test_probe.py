import os
import re
import subprocess
import time
from contextlib import nullcontext

import pytest

from runners.os_settings.testing import settings_guarded
from runners.probe import (
    SCRIPTS,
    _version,
    _version_num,
    builds,
    facts_digest_input,
    limits_digest_input,
    parse_probe,
    probe,
)
from runners.tools.shell import UNSET

DEBIAN_15 = "/usr/lib/postgresql/15/bin"

SECTIONS = {
    "username": "bench",
    "os_release": 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\nHOME_URL="https://x"',
    "kernel": "6.1.0-18-amd64",
    "architecture": "x86_64",
    "lscpu": "CPU(s):              32\nModel name:          Intel(R) Xeon(R) Gold 6226R CPU @ 2.90GHz\n"
    "Thread(s) per core:  1\nCore(s) per socket:  16\nSocket(s):           2\nCPU MHz:             2900.123\n"
    "CPU max MHz:         -\nL3 cache:            22528K\nNUMA node(s):        2",
    "meminfo": "MemTotal:       197609516 kB\nSwapTotal:             0 kB\nHugepagesize:       2048 kB",
    "block_devices": 'NAME="sdb" TYPE="disk" SIZE="960197124096" ROTA="0" SCHED="none" MODEL="SAMSUNG MZ7LH960 "\n'
    'NAME="loop0" TYPE="loop" SIZE="4096" ROTA="0" SCHED="none" MODEL=""\n'
    'NAME="sda" TYPE="disk" SIZE="4000787030016" ROTA="1" SCHED="mq-deadline" MODEL="ST4000"',
    "mounts": "/dev/sda1 / ext4 rw,relatime 0 0\nproc /proc proc rw 0 0\n/dev/sdb1 /pg xfs rw,noatime 0 0\n"
    "tmpfs /pg tmpfs rw 0 0\nsysfs /sys sysfs rw 0 0",
    "filesystem_sizes": "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 1000 400 600 40% /",
    "transparent_huge_pages": "/sys/kernel/mm/transparent_hugepage/enabled=always [madvise] never",
    "cpu_governors": "performance",
    "clock_source": "/sys/devices/system/clocksource/clocksource0/current_clocksource=tsc",
    "kernel_command_line": "BOOT_IMAGE=/vmlinuz root=UUID=1 ro secret=1 mitigations=off isolcpus=1-3 quiet",
    "sysctls": "vm.swappiness=1\nkernel.sem=250\t32000 32 128",
    "boot_id": "0a",
    "uptime": "12.5 20.0",
    "tools": "flock=/usr/bin/flock\nsetsid=/usr/bin/setsid\nsha256sum=/usr/bin/sha256sum",
}


def test_facts_are_read_in_plain_units():
    facts = parse_probe(SECTIONS)
    assert facts["os"] == {"id": "debian", "version_id": "12", "name": "Debian GNU/Linux 12 (bookworm)"}
    assert facts["memory_bytes"] == 197609516 * 1024
    cpu = facts["cpu"]
    assert (cpu["sockets"], cpu["cores_per_socket"], cpu["threads_per_core"], cpu["cpus"]) == (2, 16, 1, 32)
    assert (cpu["mhz"], cpu["cache_l3"], cpu["numa_nodes"]) == (2900.123, "22528K", 2)
    assert facts["transparent_huge_pages"] == {"enabled": "madvise"}
    assert facts["sysctls"]["kernel.sem"] == "250 32000 32 128"
    assert facts["uptime_s"] == 12.5


def test_disks_and_file_systems_are_those_that_hold_data():
    facts = parse_probe(SECTIONS)
    disks = [(disk["name"], disk["size_bytes"], disk["is_rotational"]) for disk in facts["block_devices"]]
    assert disks == [("sdb", 960197124096, False), ("sda", 4000787030016, True)]
    assert [(mount["folder"], mount["type"]) for mount in facts["filesystems"]] == [("/", "ext4"), ("/pg", "tmpfs")]
    assert facts["filesystems"][0]["free_bytes"] == 600 * 1024


def test_what_cannot_be_read_is_absent_and_named():
    facts = parse_probe({"kernel": "6.1", "tools": "flock=/usr/bin/flock"})
    assert facts["kernel"] == "6.1"
    assert not facts.keys() & {"cpu", "memory_bytes", "os", "block_devices", "uptime_s"}
    assert {"cpu", "memory_bytes", "os", "boot_id", "setsid", "timeout"} <= set(facts["missing"])
    assert "flock" not in facts["missing"] and "cpu_governors" not in facts["missing"]


def test_no_swap_is_a_fact_and_not_missing():
    facts = parse_probe(SECTIONS)
    assert facts["swap_bytes"] == 0
    assert "swap_bytes" not in facts["missing"]


def test_whether_settings_of_the_operating_system_may_be_changed_is_no_part_of_what_the_machine_is():
    assert "os_settings" not in parse_probe(SECTIONS) and "os_settings" not in parse_probe(SECTIONS)["missing"]
    assert "os_settings" not in parse_probe({**SECTIONS, "os_settings": "refused by <b>somebody</b>\n"})
    allowed = parse_probe({**SECTIONS, "os_settings": "2\n", "os_settings_absent": "cpu_governor\nrefused <b>\n"})
    assert (allowed["os_settings"], allowed["os_settings_absent"]) == (2, ["cpu_governor"])
    assert facts_digest_input(allowed) == facts_digest_input(parse_probe(SECTIONS))


def test_whether_caches_may_be_dropped_is_found_by_a_check_and_no_part_of_what_the_machine_is():
    assert "drop_caches" not in parse_probe(SECTIONS)
    assert "drop_caches" not in parse_probe(SECTIONS)["missing"]
    allowed = parse_probe({**SECTIONS, "drop_caches": "by sudo\n"})
    assert allowed["drop_caches"] == "by sudo"
    assert facts_digest_input(allowed) == facts_digest_input(parse_probe(SECTIONS))


def test_servers_that_run_are_told_by_their_sockets_once_and_are_no_part_of_what_the_machine_is():
    sockets = ["/run/postgresql/.s.PGSQL.5432", "/run/postgresql/.s.PGSQL.5432", "/srv/a/.s.PGSQL.5433"]
    text = "\n".join([*sockets, "/tmp/.s.PGSQL.99999", "/tmp/.s.PGSQL.0", "no socket", "/tmp/.s.PGSQL.1\x1b"])
    facts = parse_probe({**SECTIONS, "server_sockets": text})
    assert facts["servers"] == [
        {"socket_directory": "/run/postgresql", "port": 5432},
        {"socket_directory": "/srv/a", "port": 5433},
    ]
    assert "servers" not in parse_probe(SECTIONS) and "servers" not in parse_probe(SECTIONS)["missing"]
    assert facts_digest_input(facts) == facts_digest_input(parse_probe(SECTIONS))


def test_databases_come_with_the_server_that_let_the_account_in_and_with_no_other():
    sockets = ["/run/postgresql/.s.PGSQL.5432", "/srv/a/.s.PGSQL.5433"]
    lines = ["2 bench", "2 of two words", "3 nowhere", "2 ", f"2 {'x' * 64}", "noise"]
    facts = parse_probe({**SECTIONS, "server_sockets": "\n".join(sockets), "server_databases": "\n".join(lines)})
    assert facts["servers"] == [
        {"socket_directory": "/run/postgresql", "port": 5432},
        {"socket_directory": "/srv/a", "port": 5433, "databases": ["bench", "of two words"]},
    ]
    assert facts_digest_input(facts) == facts_digest_input(parse_probe(SECTIONS))


def test_servers_are_asked_for_their_databases_by_no_password_and_what_refuses_is_passed_over(tmp_path, monkeypatch):
    psql = tmp_path / "psql"
    psql.write_text(
        '#!/bin/sh\n[ "$6$7" = -h/srv/a ] || { echo "FATAL: no" >&2; exit 2; }\n'
        'echo "$PGPASSFILE ${PGPASSWORD-none} ${PGSERVICE-none} $9"; printf "a b\\nshop\\n"\n'
    )
    psql.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("PGPASSWORD", "secret")
    monkeypatch.setenv("PGSERVICE", "elsewhere")
    function = re.search(
        r"^databases_of_servers\(\) \{.*?^\}", (SCRIPTS / "probe.sh").read_text(), re.DOTALL | re.MULTILINE
    )
    variables = f"libpq_variables='{UNSET}'\nsockets='/run/p/.s.PGSQL.5432 /srv/a/.s.PGSQL.5433'"
    script = f"{variables}\n{function[0]}\ndatabases_of_servers"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "2 /dev/null none none 5433\n2 a b\n2 shop\n"


LIMITED = {
    "control_groups": "/sys/fs/cgroup/cgroup.procs",
    "group_quotas": "250000 100000",
    "memory_limit": "4294967296",
}


def test_limits_are_in_a_digest_of_their_own_so_that_a_newer_probe_makes_no_other_machine_of_it():
    limited = parse_probe({**SECTIONS, **LIMITED})
    assert limited["limits"] == {"cpus": 2.5, "memory_bytes": 4 << 30}
    assert facts_digest_input(limited) == facts_digest_input(parse_probe(SECTIONS))
    assert "limits" not in parse_probe(SECTIONS) and "limits" not in parse_probe(SECTIONS)["missing"]


def test_limits_are_known_of_all_hosts_of_a_run_or_not_compared():
    limited, other = parse_probe({**SECTIONS, **LIMITED}), parse_probe({**SECTIONS, **LIMITED, "memory_limit": "max"})
    assert limits_digest_input({"a": limited}) != limits_digest_input({"a": other}) != {}
    assert limits_digest_input({"a": limited, "b": parse_probe(SECTIONS)}) == {} == limits_digest_input({})


def test_of_the_kernels_command_line_only_what_bears_on_speed_is_kept():
    assert parse_probe(SECTIONS)["kernel_options"] == ["mitigations=off", "isolcpus=1-3"]


def test_another_boot_gives_the_same_digest_input():
    swapped = {
        **SECTIONS,
        "boot_id": "0b",
        "uptime": "99.0 1.0",
        "lscpu": SECTIONS["lscpu"].replace("2900.123", "1200.5"),
        "meminfo": SECTIONS["meminfo"].replace("197609516", "197609400"),
        "block_devices": SECTIONS["block_devices"].replace("sdb", "sdc"),
        "filesystem_sizes": SECTIONS["filesystem_sizes"].replace("600", "1"),
        "tools": "",
    }
    assert facts_digest_input(parse_probe(swapped)) == facts_digest_input(parse_probe(SECTIONS))


@pytest.mark.parametrize(
    ("section", "old", "new"),
    [
        ("kernel", "6.1.0-18", "6.1.0-19"),
        ("lscpu", "Thread(s) per core:  1", "Thread(s) per core:  2"),
        ("meminfo", "197609516", "98804758"),
        ("transparent_huge_pages", "[madvise] never", "madvise [never]"),
        ("cpu_governors", "performance", "powersave"),
        ("mounts", "relatime", "noatime"),
        ("sysctls", "vm.swappiness=1", "vm.swappiness=60"),
        ("block_devices", "none", "kyber"),
        ("kernel_command_line", "mitigations=off", "mitigations=auto"),
    ],
)
def test_a_changed_machine_gives_another_digest_input(section, old, new):
    changed = {**SECTIONS, section: SECTIONS[section].replace(old, new)}
    assert facts_digest_input(parse_probe(changed)) != facts_digest_input(parse_probe(SECTIONS))


@pytest.mark.parametrize(
    ("text", "version", "number"),
    [
        ("postgres (PostgreSQL) 16.14", "16.14", 160014),
        ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", "15.18", 150018),
        ("postgres (PostgreSQL) 9.6.24", "9.6.24", 90624),
        ("postgres (PostgreSQL) 9.4.0", "9.4.0", 90400),
        ("postgres (PostgreSQL) 18beta1", "18beta1", 180000),
        ("pgbench (PostgreSQL) 10.0", "10.0", 100000),
        ("", "", None),
    ],
)
def test_versions_are_numbered_as_postgresql_numbers_them(text, version, number):
    assert (_version(text), _version_num(version)) == (version, number)


@pytest.mark.target
async def test_a_real_host_is_probed(connections, target):
    before_s = time.monotonic()
    with settings_guarded() if os.geteuid() == 0 else nullcontext():  # other tests change some
        facts, took_s = await probe(connections, target), time.monotonic() - before_s
        again = await probe(connections, target)
    assert facts["cpu"]["cpus"] >= 1
    assert facts["memory_bytes"] > 2**27
    assert facts["tools"]["flock"].endswith("flock")
    assert abs(facts["time_skew_s"]) < max(1, took_s / 2)  # give or take the round trip
    assert facts["filesystems"] and facts["sysctls"]["vm.swappiness"].isdigit()
    folders = [build["bin_directory"] for build in facts["builds"]]
    assert len(folders) == len(set(folders))
    # What other tests mount meanwhile comes and goes.
    first, second = (facts_digest_input({**probed_facts, "filesystems": []}) for probed_facts in (facts, again))
    assert first == second


@pytest.mark.target
async def test_a_build_is_known_by_its_version_options_and_the_digests_of_its_programs(connections, target):
    [build] = await builds(connections, target, [DEBIAN_15])
    assert build["version_num"] // 10000 == 15
    assert build["pgbench_version"] == build["version"]
    assert any(option.startswith("--prefix") for option in build["configure"])
    assert re.fullmatch("[0-9a-f]{64}", build["postgres_sha256"])
    assert build["postgres_sha256"] != build["pgbench_sha256"]
    assert build["missing"] == []


@pytest.mark.target
async def test_a_directory_without_programs_is_no_build(connections, target):
    assert await builds(connections, target, ["/nonexistent"]) == []


@pytest.mark.target
async def test_a_directory_of_programs_with_a_blank_is_refused(connections, target):
    with pytest.raises(ValueError, match="no blanks"):
        await builds(connections, target, ["/opt/my pg/bin"])
