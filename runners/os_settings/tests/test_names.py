"""Which settings of the operating system are applied, and how the others are refused before anything is queued."""

import pytest

from runners.os_settings.names import GOVERNORS, SCHEDULERS, SETTINGS, applied, files, refusals
from runners.os_settings.script import helper_text, sudo_rule

GIB = 1 << 30


def test_the_settings_of_report_c_are_applied():
    requests = {"vm.nr_hugepages": "17408", "vm.dirty_background_bytes": "67108864", "vm.dirty_bytes": "536870912"}
    assert refusals(requests, 64 * GIB) == []
    assert applied(requests) == requests


def test_numbers_are_written_as_the_kernel_prints_them():
    assert applied({"vm.swappiness": " 010 ", "transparent_hugepage": "never"}) == {
        "vm.swappiness": "10",
        "transparent_hugepage": "never",
    }


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("vm.swappiness", "201", "vm.swappiness takes a whole number from 0 to 200."),
        ("vm.swappiness", "-1", "vm.swappiness takes a whole number from 0 to 200."),
        ("vm.swappiness", "1; reboot", "vm.swappiness takes a whole number from 0 to 200."),
        ("vm.swappiness", "", "vm.swappiness takes a whole number from 0 to 200."),
        ("vm.swappiness", "٣", "vm.swappiness takes a whole number from 0 to 200."),
        ("vm.swappiness", "9" * 5000, "vm.swappiness takes a whole number from 0 to 200."),
        ("vm.overcommit_ratio", "5", "vm.overcommit_ratio takes a whole number from 50 to 1000."),
        ("cpu_governor", "userspace", f"cpu_governor takes {', '.join(GOVERNORS)}."),
        ("io_scheduler", "[none]", f"io_scheduler takes {', '.join(SCHEDULERS)}."),
        ("transparent_hugepage", "yes", "transparent_hugepage takes always, madvise, never."),
        ("transparent_hugepage", "always|never", "transparent_hugepage takes always, madvise, never."),
    ],
)
def test_a_value_that_the_kernel_would_not_take_is_refused(name, value, sentence):
    assert refusals({name: value}) == [sentence]
    with pytest.raises(ValueError, match="takes"):
        applied({name: value})


NUMBERS = [setting for setting in SETTINGS.values() if not setting.choices]
CHOICES = [setting for setting in SETTINGS.values() if setting.choices]
BAD = [
    *((row.name, text) for row in NUMBERS for text in (f"{row.lowest - 1}", f"{row.highest + 1}", "", "on", "0x10")),
    *(
        (row.name, text)
        for row in CHOICES
        for text in ("", "0", row.choices[0].upper(), " ".join(row.choices), "[none]")
    ),
]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_each_setting_refuses_what_is_no_value_of_it_by_its_name(name, value):
    [sentence] = refusals({name: value})
    assert sentence.startswith(f"{name} takes ") and sentence.endswith(".")


def test_there_are_at_least_sixty_bad_settings():
    assert len(set(BAD)) >= 60


@pytest.mark.parametrize("name", ["kernel.core_pattern", "kernel.modprobe", "../etc/passwd", "VM.swappiness", ""])
def test_a_name_that_is_not_on_the_list_is_refused_with_those_that_are(name):
    [sentence] = refusals({name: "1"})
    assert sentence.startswith(f"BenchHub does not set {name} of") and "vm.swappiness" in sentence


def test_two_settings_of_which_the_kernel_heeds_one_are_refused_together():
    [sentence] = refusals({"vm.dirty_bytes": "8192", "vm.dirty_ratio": "10"})
    assert (
        sentence
        == "vm.dirty_bytes and vm.dirty_ratio exclude each other: the kernel goes by the one that was set last."
    )
    assert refusals({"vm.dirty_bytes": "8192", "vm.dirty_background_ratio": "10"}) == []


def test_huge_pages_leave_a_quarter_of_the_memory():
    [sentence] = refusals({"vm.nr_hugepages": "17408"}, 32 * GIB)
    assert sentence.startswith("vm.nr_hugepages = 17408 sets aside 34.0 GiB of the host's 32.0 GiB: BenchHub sets at")
    assert refusals({"vm.nr_hugepages": "1024"}, 32 * GIB) == []
    assert refusals({"vm.nr_hugepages": "17408"}) == []  # where nobody knows its memory the helper looks


def test_what_may_be_committed_is_at_least_half_of_the_memory():
    [sentence] = refusals({"vm.overcommit_kbytes": "1048576"}, 8 * GIB)
    assert sentence.startswith(
        "vm.overcommit_kbytes = 1048576 lets 1.0 GiB be committed, less than half of the host's 8"
    )
    assert refusals({"vm.overcommit_kbytes": "4194304"}, 8 * GIB) == []


def test_what_the_kernel_of_the_host_does_not_have_is_refused_before_the_run():
    requests = {"cpu_governor": "performance", "vm.swappiness": "1"}
    assert refusals(requests, absent=["cpu_governor"]) == ["cpu_governor: the kernel of the host does not have it."]
    assert refusals(requests) == []


def test_the_helper_has_a_line_for_each_setting_and_nothing_that_a_shell_would_expand():
    text = helper_text()
    for setting in SETTINGS.values():
        twin = setting.twin_file if setting.twin else "-"
        assert f"{setting.name} {setting.file} {setting.range_text} {twin}\n" in text.replace("'\n", "\n")
    assert all("'" not in setting.range_text + setting.file for setting in SETTINGS.values())
    assert text.startswith("#!/bin/sh\n")


def test_people_are_told_the_files_of_what_sysctl_does_not_set_everywhere():
    assert files()["io_scheduler"] == "/sys/block/DEVICE/queue/scheduler"
    assert files()["kernel.sched_migration_cost_ns"] == "/sys/kernel/debug/sched/migration_cost_ns"
    assert "vm.swappiness" not in files()


def test_a_twin_is_a_twin_both_ways_where_both_are_applied():
    for setting in SETTINGS.values():
        if setting.twin in SETTINGS:
            assert SETTINGS[setting.twin].twin == setting.name


def test_the_rule_for_sudo_names_one_program():
    assert sudo_rule("bench-1") == "bench-1 ALL=(root) NOPASSWD: /usr/local/sbin/benchhub-os-settings"


@pytest.mark.parametrize("username", ["%wheel", "ALL", "#0", "a,b", "bench\nroot", "!x", "O'Brien", ""])
def test_what_sudo_would_read_as_more_than_one_account_stands_in_no_rule(username):
    assert sudo_rule(username).startswith("ACCOUNT ALL=")
