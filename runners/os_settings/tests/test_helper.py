"""The helper on a tree of files that looks like the kernel's: what it changes, refuses, and always puts back."""

import signal
import subprocess

import pytest

from runners.os_settings.script import VERSION
from runners.os_settings.testing import VALUES, Tree


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def is_as_before(tree: Tree) -> bool:
    return {name: tree.value(name) for name in VALUES} == VALUES and not (tree.state / "before").exists()


def test_a_setting_is_changed_until_standard_input_ends_and_then_put_back(tree):
    helper = tree.begin("vm.swappiness=1", "read_ahead_kb=4096")
    assert (tree.value("vm.swappiness"), tree.value("read_ahead_kb")) == ("1", "4096")
    output, _ = helper.communicate()
    assert output.splitlines() == [
        "end vm.swappiness 1", "end read_ahead_kb 4096", "after vm.swappiness 60", "after read_ahead_kb 128",
    ]  # fmt: skip
    assert is_as_before(tree) and tree.value("read_ahead_kb") == "128"


def test_all_four_moments_are_told_in_the_order_of_time(tree):
    assert tree.hold("vm.swappiness=1") == [
        "before vm.swappiness 60", "applied vm.swappiness 1", "held", "end vm.swappiness 1", "after vm.swappiness 60",
    ]  # fmt: skip


def test_all_cpus_get_one_governor_and_each_has_its_own_again(tree):
    helper = tree.begin("cpu_governor=performance")
    assert {file.read_text() for file in tree.governors} == {"performance\n"}
    assert helper.communicate()[0].splitlines() == ["end cpu_governor performance", "after cpu_governor mixed"]
    assert {file: file.read_text().strip() for file in tree.governors} == tree.governors
    assert is_as_before(tree)


def test_a_governor_that_one_cpu_does_not_take_is_a_failure_and_no_cpu_is_left_with_it(tree):
    last = list(tree.governors)[-1]
    last.unlink()
    last.symlink_to("/proc/sys/kernel/ostype")
    lines = tree.hold("cpu_governor=performance")
    assert lines == ["before cpu_governor mixed", "refused cpu_governor: the kernel does not take performance"]
    assert [file.read_text().strip() for file in tree.governors] == ["powersave", "powersave", "Linux"]


def test_a_machine_without_governors_refuses_one_and_names_it_among_what_is_absent(tree):
    for file in tree.governors:
        file.unlink()
    assert tree.hold("cpu_governor=performance") == ["refused cpu_governor: this kernel does not have it"]
    absent = subprocess.run(tree.command("absent"), capture_output=True, text=True, check=True).stdout.split()
    assert "cpu_governor" in absent and "vm.zone_reclaim_mode" in absent
    assert "vm.swappiness" not in absent and "io_scheduler" not in absent


def test_the_scheduler_of_the_data_s_disk_is_changed_and_put_back(tree):
    file = tree.file("io_scheduler")
    helper = tree.begin("io_scheduler=mq-deadline")
    assert file.read_text() == "mq-deadline\n"
    assert helper.communicate()[0].splitlines() == ["end io_scheduler mq-deadline", "after io_scheduler none"]
    assert is_as_before(tree)


def test_a_setting_that_newer_kernels_have_elsewhere_is_changed_there(tree):
    file = tree.folder / "sys/kernel/debug/sched/migration_cost_ns"
    tree.write(file, "500000")
    assert tree.hold("kernel.sched_migration_cost_ns=50000")[1] == "applied kernel.sched_migration_cost_ns 50000"
    assert file.read_text() == "500000\n" and is_as_before(tree)


@pytest.mark.parametrize("setting", ["vm.nr_hugepages=3073", "vm.overcommit_kbytes=4194303"])
def test_a_value_that_leaves_others_too_little_memory_is_refused(tree, setting):
    name = setting.partition("=")[0]
    assert tree.hold(setting)[-1] == f"refused {name} would leave too little memory"
    assert is_as_before(tree)


@pytest.mark.parametrize(
    ("setting", "written_back"),
    [
        ("vm.dirty_bytes=1048576", ("vm.dirty_ratio", "20")),
        ("vm.dirty_background_ratio=5", ("vm.dirty_background_bytes", "65536")),
        ("vm.dirty_ratio=40", ("vm.dirty_ratio", "20")),
        ("vm.dirty_background_bytes=4096", ("vm.dirty_background_bytes", "65536")),
        ("vm.overcommit_ratio=90", ("vm.overcommit_ratio", "50")),
        ("vm.overcommit_kbytes=8388608", ("vm.overcommit_ratio", "50")),
    ],
)
def test_of_a_pair_only_the_setting_that_the_kernel_heeds_is_written_back(tree, setting, written_back):
    name, value = written_back
    helper = tree.begin(setting)
    assert (tree.state / "before").read_text() == f"{tree.file(name)} {value}\n"
    helper.communicate()


@pytest.mark.parametrize(
    "setting",
    [
        "kernel.core_pattern=1", "vm.swappiness=201", "vm.swappiness=-1", "vm.swappiness=0x1", "vm.swappiness=01",
        "vm.swappiness=", "vm.swappiness", "vm.swappiness=1 2", "vm.swappiness=9999999999999999999",
        "transparent_hugepage=sometimes", "transparent_hugepage=always|madvise", "transparent_hugepage=",
        "cpu_governor=userspace", "cpu_governor=*", "io_scheduler=mq deadline", "io_scheduler=/etc/passwd",
        "../kernel/sysrq=1", "=1", "vm.nr_hugepages=4000", "vm.zone_reclaim_mode=1", "vm.swappiness=1\n2",
    ],
)  # fmt: skip
def test_what_is_not_on_the_list_is_refused_before_anything_is_changed(tree, setting):
    lines = tree.hold("vm.dirty_ratio=40", setting)
    assert lines[-1].startswith("refused ") and "held" not in lines
    assert not any(line.startswith("applied") for line in lines)
    assert is_as_before(tree)


@pytest.mark.parametrize("device", ["-", "0:52", "254", "254:1/../254:1", "../254:1", "254:", ""])
def test_read_ahead_needs_the_number_of_a_block_device_with_a_queue(tree, device):
    assert tree.hold("read_ahead_kb=64", device=device)[-1].startswith("refused read_ahead_kb: the data do not lie")
    assert tree.value("read_ahead_kb") == "128"


def test_a_value_that_the_kernel_does_not_take_is_a_failure_and_the_others_are_put_back(tree):
    file = tree.file("vm.dirty_ratio")
    file.unlink()
    file.symlink_to("/dev/null")
    lines = tree.hold("vm.swappiness=1", "vm.dirty_ratio=30")
    assert lines[-1] == "refused vm.dirty_ratio: this kernel does not have it"
    file.unlink()
    file.symlink_to("/proc/sys/kernel/ostype")
    lines = tree.hold("vm.swappiness=1", "vm.dirty_ratio=30")
    assert lines[-1] == "refused vm.dirty_ratio: the kernel does not take 30" and "held" not in lines
    assert tree.value("vm.swappiness") == "60" and not (tree.state / "before").exists()


def test_what_somebody_else_changed_is_told_and_put_back_all_the_same(tree):
    helper = tree.begin("vm.swappiness=1")
    tree.write(tree.file("vm.swappiness"), "77")
    assert helper.communicate()[0].splitlines() == ["end vm.swappiness 77", "after vm.swappiness 60"]
    assert is_as_before(tree)


def test_the_deadline_puts_back_although_somebody_still_holds_on(tree):
    helper = tree.begin("vm.swappiness=1", seconds=1)
    assert helper.wait(60) == 0
    assert helper.stdout.read().splitlines() == ["overdue", "end vm.swappiness 1", "after vm.swappiness 60"]
    assert is_as_before(tree)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_no_helper_before_its_run_has_ended(tree, number):
    helper = tree.begin("vm.swappiness=1")
    helper.send_signal(number)
    assert tree.value("vm.swappiness") == "1" and helper.poll() is None
    helper.communicate()
    assert is_as_before(tree)


def test_what_a_killed_helper_left_is_put_back_by_the_next(tree):
    helper = tree.begin("vm.swappiness=1")
    helper.kill()
    helper.communicate()
    assert tree.value("vm.swappiness") == "1"
    assert tree.restore().returncode == 0
    assert is_as_before(tree)


def test_a_later_hold_begins_from_what_was_there_before_the_killed_one(tree):
    helper = tree.begin("vm.swappiness=1")
    helper.kill()
    helper.communicate()
    assert tree.hold("vm.swappiness=5")[0] == "before vm.swappiness 60"
    assert is_as_before(tree)


def test_nobody_changes_settings_while_somebody_else_does(tree):
    first = tree.begin("vm.swappiness=1")
    script = (tree.folder / "helper").read_text().replace("take_turn 10", "take_turn 0")
    (tree.folder / "helper").write_text(script)
    assert tree.hold("vm.swappiness=9") == ["refused another run on this host has settings changed"]
    assert tree.value("vm.swappiness") == "1"
    first.communicate()
    assert is_as_before(tree)


def test_what_cannot_be_put_back_is_told_and_not_forgotten(tree):
    helper = tree.begin("vm.swappiness=1")
    helper.kill()
    helper.communicate()
    file = tree.file("vm.swappiness")
    file.unlink()
    file.symlink_to("/proc/sys/kernel/ostype")
    assert (tree.restore().returncode, tree.restore().stdout) == (1, "left swappiness\n")
    file.unlink()
    tree.write(file, "1")
    assert tree.restore().returncode == 0
    assert is_as_before(tree)


@pytest.mark.parametrize(
    "words",
    [(), ("apply", "1"), ("hold",), ("hold", "99", "-", "60", "vm.swappiness=1"), ("hold", str(VERSION), "-", "60"),
     ("hold", str(VERSION), "-", "1h", "vm.swappiness=1"), ("restore",), ("restore", "99")],
)  # fmt: skip
def test_any_other_word_is_refused(tree, words):
    answer = subprocess.run(tree.command(*words), input="", capture_output=True, text=True, check=False)
    assert answer.returncode == 1 and answer.stdout.startswith("refused ")
    assert is_as_before(tree)
