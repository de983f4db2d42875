from runners.facts.texts import memory, memory_modules, release


def test_sizes_are_in_kb_and_in_nothing_else():
    assert memory("MemTotal:       197609516 kB\nSwapTotal: 0 kB\nHugepagesize:  2048 KB") == {
        "memory_bytes": 197609516 * 1024,
        "swap_bytes": 0,
        "huge_page_bytes": 2**21,
    }
    assert memory("MemTotal: 16 GB\nSwapTotal: 1024\nHugepagesize: 0 kB") == {}


def test_memory_that_no_machine_has_is_not_believed():
    assert memory(f"MemTotal: {'9' * 30} kB\nSwapTotal: -1 kB") == {}


def test_memory_modules_are_counted_by_kind_and_size():
    assert memory_modules("32768 Registered-DDR4\n32768 Registered-DDR4\n0 Empty\nx y\n16384 DDR4") == [
        {"count": 1, "size_bytes": 2**34, "kind": "DDR4"},
        {"count": 2, "size_bytes": 2**35, "kind": "Registered-DDR4"},
    ]


def test_a_release_without_a_version_is_named():
    assert release('NAME="Arch Linux"\nPRETTY_NAME="Arch Linux"\nID=arch\nBUILD_ID=rolling', "") == {
        "id": "arch",
        "name": "Arch Linux",
    }
    assert release("NAME=Alpine\nVERSION='3.20'\nID=alpine", "")["name"] == "Alpine 3.20"


def test_a_release_from_before_os_release_is_its_one_line():
    assert release("", "Red Hat Enterprise Linux Server release 5.11 (Tikanga)\n") == {
        "name": "Red Hat Enterprise Linux Server release 5.11 (Tikanga)"
    }
    assert release("", "") == {}
