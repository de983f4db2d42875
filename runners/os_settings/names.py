"""Which settings of the operating system a run may change, to which values: the one list on both sides of SSH.

The helper that an administrator installs on a target (runners/target/os_helper.sh) is made with these rows.
A further setting is one line here, and a new version of the helper.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

GIB = 1 << 30
LARGEST_MEMORY_SHARE = 0.75
HUGE_PAGE_BYTES = 2 << 20  # of nearly every machine; the helper goes by the machine's own
NUMBER = re.compile("[0-9]{1,15}")
LONGEST_SHOWN = 40
LEAST_COMMITTED_SHARE = 0.5
DEVICE = "DEVICE"
THP = "/sys/kernel/mm/transparent_hugepage"
CPU = "/sys/devices/system/cpu"
MIGRATION_COST = "/proc/sys/kernel/sched_migration_cost_ns,/sys/kernel/debug/sched/migration_cost_ns"  # from 5.13 on
SCHEDULERS = ("none", "mq-deadline", "kyber", "bfq", "noop", "deadline", "cfq")
GOVERNORS = ("performance", "powersave", "schedutil", "ondemand", "conservative")


@dataclass(frozen=True, slots=True)
class OsSetting:
    """A setting with the kernel's file of it; DEVICE stands there for the folder of the data's block device.

    Commas separate the files of several kernels; of a pattern with * all files are written, and are of one value.
    Values are whole numbers from `lowest` to `highest`, or one of `choices`. Writing it sets its `twin` to 0.
    """

    name: str
    file: str
    lowest: int = 0
    highest: int = 0
    choices: tuple[str, ...] = ()
    twin: str = ""

    @property
    def files(self) -> list[str]:
        return self.file.split(",")

    @property
    def range_text(self) -> str:
        return "|".join(self.choices) if self.choices else f"{self.lowest}..{self.highest}"

    @property
    def twin_file(self) -> str:
        return _file(self.twin)


def _file(name: str) -> str:
    return f"/proc/sys/{name.replace('.', '/')}"


def _sysctl(name: str, lowest: int, highest: int, twin: str = "") -> OsSetting:
    return OsSetting(name, _file(name), lowest, highest, twin=twin)


SETTINGS = {
    setting.name: setting
    for setting in (
        _sysctl("vm.swappiness", 0, 200),
        _sysctl("vm.dirty_bytes", 8192, 1024 * GIB, "vm.dirty_ratio"),
        _sysctl("vm.dirty_ratio", 1, 100, "vm.dirty_bytes"),
        _sysctl("vm.dirty_background_bytes", 4096, 1024 * GIB, "vm.dirty_background_ratio"),
        _sysctl("vm.dirty_background_ratio", 0, 100, "vm.dirty_background_bytes"),
        _sysctl("vm.dirty_expire_centisecs", 1, 360_000),
        _sysctl("vm.dirty_writeback_centisecs", 0, 360_000),
        _sysctl("vm.overcommit_memory", 0, 2),
        _sysctl("vm.overcommit_ratio", 50, 1000, "vm.overcommit_kbytes"),
        _sysctl("vm.overcommit_kbytes", 1 << 18, 1 << 40, "vm.overcommit_ratio"),
        _sysctl("vm.nr_hugepages", 0, 1 << 22),
        _sysctl("vm.vfs_cache_pressure", 1, 1000),
        _sysctl("vm.zone_reclaim_mode", 0, 7),
        _sysctl("kernel.numa_balancing", 0, 1),
        _sysctl("kernel.sched_autogroup_enabled", 0, 1),
        OsSetting("kernel.sched_migration_cost_ns", MIGRATION_COST, 0, 1_000_000_000),
        OsSetting("transparent_hugepage", f"{THP}/enabled", choices=("always", "madvise", "never")),
        OsSetting(
            "transparent_hugepage_defrag",
            f"{THP}/defrag",
            choices=("always", "defer", "defer+madvise", "madvise", "never"),
        ),
        OsSetting("read_ahead_kb", f"{DEVICE}/read_ahead_kb", 0, 65_536),
        OsSetting("io_scheduler", f"{DEVICE}/scheduler", choices=SCHEDULERS),
        OsSetting("cpu_governor", f"{CPU}/cpufreq/policy*/scaling_governor", choices=GOVERNORS),
    )
}


def files() -> dict[str, str]:
    """Return the files of the settings that sysctl does not set on all kernels, for people.

    DEVICE stands there for the data's disk.
    """
    others = {setting.name: setting.files[-1] for setting in SETTINGS.values()}
    return {
        name: file.replace(f"{DEVICE}/", f"/sys/block/{DEVICE}/queue/")
        for name, file in others.items()
        if not file.startswith("/proc/sys/")
    }


def refusals(
    os_settings: Mapping[str, str], memory_bytes: int | None = None, absent: Collection[str] = ()
) -> list[str]:
    """Return a sentence for each setting of the operating system that BenchHub does not apply; empty if it does all.

    `absent` are the names that the kernel of the host does not have.
    """
    sentences = [sentence for name, value in os_settings.items() if (sentence := _refusal(name, str(value).strip()))]
    sentences = sentences or [
        f"{name}: the kernel of the host does not have it." for name in os_settings if name in absent
    ]
    return sentences or [*_twins(os_settings), *_against_memory(os_settings, memory_bytes)]


def applied(os_settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings as they are written, numbers as the kernel prints them. Raises ValueError with reasons."""
    if sentences := refusals(os_settings):
        raise ValueError(" ".join(sentences))
    values = {name: str(value).strip() for name, value in os_settings.items()}
    return {name: str(int(value)) if value.isdecimal() else value for name, value in values.items()}


def _refusal(name: str, value: str) -> str:
    setting = SETTINGS.get(name)
    if setting is None:
        return (
            f"BenchHub does not set {name[:LONGEST_SHOWN]} of the operating system: it sets {', '.join(SETTINGS)}. "
            "Set it on the host by hand, and name it in the remark."
        )
    if setting.choices:
        return "" if value in setting.choices else f"{name} takes {', '.join(setting.choices)}."
    if NUMBER.fullmatch(value) and setting.lowest <= int(value) <= setting.highest:
        return ""
    return f"{name} takes a whole number from {setting.lowest} to {setting.highest}."


def _twins(os_settings: Mapping[str, str]) -> Iterator[str]:
    for name in os_settings:
        twin = SETTINGS[name].twin
        if twin in os_settings and name < twin:
            yield f"{name} and {twin} exclude each other: the kernel goes by the one that was set last."


def _against_memory(os_settings: Mapping[str, str], memory_bytes: int | None) -> Iterator[str]:
    pages, committed_kib = (int(os_settings.get(name, 0)) for name in ("vm.nr_hugepages", "vm.overcommit_kbytes"))
    if memory_bytes and committed_kib and committed_kib * 1024 < LEAST_COMMITTED_SHARE * memory_bytes:
        yield (
            f"vm.overcommit_kbytes = {committed_kib} lets {committed_kib / 1024**2:.1f} GiB be committed, less than "
            f"half of the host's {memory_bytes / GIB:.1f} GiB: other programs would fail."
        )
    if memory_bytes and pages * HUGE_PAGE_BYTES > LARGEST_MEMORY_SHARE * memory_bytes:
        yield (
            f"vm.nr_hugepages = {pages} sets aside {pages * HUGE_PAGE_BYTES / GIB:.1f} GiB of the host's "
            f"{memory_bytes / GIB:.1f} GiB: BenchHub sets at most three quarters aside."
        )
