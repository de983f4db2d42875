"""Which settings of the operating system are applied, and how the others are refused before anything is queued."""

import pytest

from runners.os_settings.names import SETTINGS, applied, refusals
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
        ("transparent_hugepage", "yes", "transparent_hugepage takes always, madvise, never."),
        ("transparent_hugepage", "always|never", "transparent_hugepage takes always, madvise, never."),
    ],
)
def test_a_value_that_the_kernel_would_not_take_is_refused(name, value, sentence):
    assert refusals({name: value}) == [sentence]
    with pytest.raises(ValueError, match="takes"):
        applied({name: value})


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


def test_the_helper_has_a_line_for_each_setting_and_nothing_that_a_shell_would_expand():
    text = helper_text()
    for setting in SETTINGS.values():
        assert f"{setting.name} {setting.file} {setting.range_text} {setting.twin_file}\n" in text.replace("'\n", "\n")
    assert all("'" not in setting.range_text + setting.file for setting in SETTINGS.values())
    assert text.startswith("#!/bin/sh\n")


def test_a_twin_is_a_twin_both_ways_where_both_are_applied():
    for setting in SETTINGS.values():
        if setting.twin in SETTINGS:
            assert SETTINGS[setting.twin].twin == setting.name


def test_the_rule_for_sudo_names_one_program():
    assert sudo_rule("bench-1") == "bench-1 ALL=(root) NOPASSWD: /usr/local/sbin/benchhub-os-settings"


@pytest.mark.parametrize("username", ["%wheel", "ALL", "#0", "a,b", "bench\nroot", "!x", "O'Brien", ""])
def test_what_sudo_would_read_as_more_than_one_account_stands_in_no_rule(username):
    assert sudo_rule(username).startswith("ACCOUNT ALL=")
