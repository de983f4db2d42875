"""/proc/cpuinfo of each architecture, in excerpts written by hand after what their kernels print."""

import pytest

from runners.facts.cpuinfo import parse

X86 = (
    "processor\t: {}\nvendor_id\t: GenuineIntel\nmodel name\t: A  CPU\n"
    "physical id\t: {}\ncore id\t\t: {}\ncpu cores\t: {}\n"
)


def shape(text):
    counts, _ = parse(text)
    return counts.cpus, counts.cores, counts.sockets, counts.cores_per_socket, counts.threads_per_core


def x86(rows, cores):
    return "\n".join(X86.format(*row, cores) for row in rows)


def test_x86_is_counted_by_its_ids():
    text = x86([(0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1), (4, 0, 0), (5, 0, 1), (6, 1, 0), (7, 1, 1)], 2)
    assert shape(text) == (8, 4, 2, 2, 2)
    assert parse(text)[1] == {"model": "A CPU", "vendor": "GenuineIntel"}


def test_core_ids_that_repeat_within_a_socket_are_not_believed():
    assert shape(x86([(0, 0, 0), (1, 0, 1), (2, 0, 0), (3, 0, 1)], 4)) == (4, None, None, None, None)


def test_without_ids_only_cpus_are_counted():
    assert shape("processor\t: 0\nmodel name\t: A\n\nprocessor\t: 1\nmodel name\t: A") == (2, None, None, None, None)


ARM = "processor\t: {}\nBogoMIPS\t: 38.40\nCPU implementer\t: 0x41\nCPU part\t: 0x{:x}\n"


@pytest.mark.parametrize(
    ("text", "cpus", "model"),
    [
        (ARM.format(0, 0xD03) + "\n" + ARM.format(1, 0xD08), 2, "Cortex-A53, Cortex-A72"),
        ("CPU implementer : 0x41\nCPU part : 0xd03\nCPU part : 0xd08", None, "Cortex-A53, Cortex-A72"),
        (ARM.format(0, 0xFFF), 1, "implementer 0x41 part 0xfff"),
        ("Processor\t: ARMv6-compatible processor rev 7 (v6l)\nCPU part\t: 0xb76", 1, "implementer 0x00 part 0xb76"),
        ("processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t: 2.3\n\nprocessor\t: 1\ncpu\t: POWER9, altivec "
         "supported\n\ntimebase\t: 512000000\nmachine\t\t: PowerNV 8335", 2, "POWER9, altivec supported"),
        ("vendor_id : IBM/S390\n# processors : 2\nprocessor 0: version = 00,  identification = 1,  machine = 3906\n"
         "processor 1: version = 00,  identification = 1,  machine = 3906", 2, "IBM/S390 machine type 3906"),
        ("processor\t: 0\nhart\t\t: 1\nisa\t: rv64imafdc\nuarch\t: sifive,u74-mc", 1, "sifive,u74-mc"),
        ("cpu\t\t: TI UltraSparc II\nncpus probed\t: 8\nncpus active\t: 6", 6, "TI UltraSparc II"),
        ("", None, None),
    ],
    ids=["arm64", "sorted", "unlisted", "armv6", "power", "s390x", "riscv", "sparc", "nothing"],
)  # fmt: skip
def test_other_architectures_are_named_and_counted(text, cpus, model):
    counts, facts = parse(text)
    assert (counts.cpus, facts.get("model")) == (cpus, model)


def test_loongarch_has_its_own_names_of_the_ids():
    entry = "processor\t\t: {}\npackage\t\t\t: 0\ncore\t\t\t: {}\nModel Name\t\t: Loongson-3A5000\n"
    text = "\n".join(entry.format(cpu, cpu) for cpu in range(4))
    assert shape(text) == (4, 4, 1, 4, 1)
    assert parse(text)[1] == {"model": "Loongson-3A5000"}
