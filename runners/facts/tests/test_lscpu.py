"""What lscpu prints, in the forms of its versions, of large machines and of other languages."""

import json

import pytest

from runners.facts.lscpu import lines_of_json, parse
from runners.facts.processor import read
from runners.facts.topology import Platform

NESTED = """\
Architecture:             x86_64
  CPU op-mode(s):         32-bit, 64-bit
CPU(s):                   96
  On-line CPU(s) list:    0-95
Vendor ID:                AuthenticAMD
  BIOS Vendor ID:         Advanced Micro Devices, Inc.
  Model name:             AMD EPYC 7451 24-Core Processor
    BIOS Model name:      AMD EPYC 7451 24-Core Processor  Unknown CPU @ 2.3GHz
    Thread(s) per core:   2
    Core(s) per socket:   24
    Socket(s):            2
    CPU(s) scaling MHz:   126%
    CPU max MHz:          2300.0000
Caches (sum of all):
  L1d:                    1.5 MiB (48 instances)
  L3:                     128 MiB (16 instances)
NUMA:
  NUMA node(s):           8
  NUMA node0 CPU(s):      0-5,48-53
"""
KINDS = """\
Architecture: aarch64
CPU(s): 8
On-line CPU(s) list: 0-7
Vendor ID: ARM
Model name: Cortex-A55
Thread(s) per core: 1
Core(s) per socket: 4
Socket(s): 1
CPU max MHz: 1800.0000
CPU min MHz: 408.0000
Model name: Cortex-A76
Thread(s) per core: 1
Core(s) per socket: 2
Socket(s): 2
CPU max MHz: 2304.0000
CPU min MHz: 408.0000
"""


def shape(text):
    counts = parse(text).counts
    return counts.cpus, counts.cores, counts.sockets, counts.cores_per_socket, counts.threads_per_core


def flat(cpus, threads, cores, sockets, *others):
    return "\n".join(
        [
            f"CPU(s): {cpus}",
            f"Thread(s) per core: {threads}",
            f"Core(s) per socket: {cores}",
            *others,
            f"Socket(s): {sockets}",
        ]
    )


def test_the_nested_form_is_read():
    lscpu = parse(NESTED)
    assert shape(NESTED) == (96, 48, 2, 24, 2)
    assert lscpu.facts == {
        "vendor": "AuthenticAMD",
        "model": "AMD EPYC 7451 24-Core Processor",
        "max_mhz": 2300.0,
        "cache_l1d": "1.5 MiB (48 instances)",
        "cache_l3": "128 MiB (16 instances)",
        "numa_nodes": 8,
    }
    assert lscpu.remarks == ()


def test_the_oldest_form_is_read():
    text = flat(4, 2, 2, 1).replace("Socket(s)", "CPU socket(s)") + "\nCPU MHz: 2266.000\nL2 cache: 256K"
    assert shape(text) == (4, 2, 1, 2, 2)
    assert parse(text).facts == {"mhz": 2266.0, "cache_l2": "256K"}


def test_kinds_of_cores_are_added_up_and_their_clusters_are_no_sockets():
    lscpu = parse(KINDS)
    assert shape(KINDS) == (8, 8, None, None, 1)
    assert [(kind.name, kind.cores) for kind in lscpu.counts.kinds] == [("Cortex-A55", 4), ("Cortex-A76", 4)]
    assert (lscpu.facts["model"], lscpu.facts["max_mhz"]) == ("Cortex-A55, Cortex-A76", 2304.0)
    assert shape(KINDS.replace("socket: 2", "socket: 4").replace("Socket(s): 2", "Socket(s): 1")) == (8, 8, 1, 8, 1)


def test_kinds_without_a_name_are_added_up_too():
    for nameless in (KINDS.replace("Cortex-A55", "-").replace("Cortex-A76", "-"), KINDS.replace("Model name", "x")):
        assert shape(nameless) == (8, 8, None, None, 1)


def test_kinds_that_do_not_add_up_are_left_out():
    lscpu = parse(KINDS.replace("CPU(s): 8", "CPU(s): 7").replace("0-7", "0-6"))
    assert (lscpu.counts.cpus, lscpu.counts.cores, lscpu.counts.kinds) == (7, None, ())
    assert lscpu.remarks == ("lscpu counts 7 CPUs, but its kinds of cores do not add up to that.",)


@pytest.mark.parametrize(
    ("model", "sockets"),
    [("Cortex-A53", None), ("-", None), ("Neoverse-N1", 2), ("Kunpeng-920", 2)],
)
def test_sockets_of_arm_are_believed_of_machines_that_are_built_with_several(model, sockets):
    text = flat(8, 1, 4, 2, "Architecture: aarch64", f"Model name: {model}")
    assert shape(text) == (8, 8, sockets, 4 if sockets else None, 1)


def test_clusters_are_counted_where_there_are_no_sockets():
    text = "CPU(s): 8\nThread(s) per core: 1\nCore(s) per cluster: 4\nSocket(s): {}\nCluster(s): 2"
    assert shape(text.format("-")) == (8, 8, None, None, 1)
    assert shape(text.format(1)) == (8, 8, 1, 8, 1)
    assert shape(text.format(2)) == (8, 8, 2, 4, 1)


def test_books_and_drawers_multiply_sockets():
    books = "CPU(s): 16\nThread(s) per core: 2\nCore(s) per socket: 2\nSocket(s) per book: 2\nBook(s): 2"
    assert shape(books) == (16, 8, 4, 2, 2)
    drawers = books.replace("Book(s): 2", "Book(s) per drawer: 1\nDrawer(s): 2")
    assert shape(drawers) == (16, 8, 4, 2, 2)
    assert shape(books.replace("CPU(s): 16", "CPU(s): 17")) == (17, None, None, None, None)


def test_cpus_offline_are_not_counted():
    text = flat(80, 1, 5, 2, "On-line CPU(s) list: 0,8,16,24,32,40,48,56,64,72", "Off-line CPU(s) list: 1-7,9-15")
    assert shape(text) == (10, 10, 2, 5, 1)
    assert (parse(text).facts["cpus_offline"], parse(text).remarks) == (70, ())
    assert shape(flat(64, 1, 32, 1, "On-line CPU(s) list: 0-62:2")) == (32, 32, 1, 32, 1)


def test_more_cores_than_cpus_are_not_believed():
    lscpu = parse(flat(40, 0, 10, 2, "On-line CPU(s) list: 10,33", "Off-line CPU(s) list: 0-9,11-32,34-39"))
    assert (lscpu.counts.cpus, lscpu.counts.cores, lscpu.counts.sockets) == (2, None, None)
    assert lscpu.remarks == (
        "lscpu prints '0' as Thread(s) per core, which is no such number: it is left out.",
        "lscpu counts 2 CPUs, but 2 x 10 x ? as sockets, cores and threads: "
        "these do not add up, as where CPUs are offline or cores are of unlike kinds.",
    )


def test_cores_that_lscpu_rounded_down_are_left_out():
    assert shape(flat(8, 1, 2, 3)) == (8, None, None, None, None)
    assert shape(flat(6, 1, 4, 1, "On-line CPU(s) list: 0-5")) == (6, 4, 1, None, None)


@pytest.mark.parametrize(
    "text",
    [
        "CPU(s): 16\nListe der Online-CPU(s):0-15\nThread(s) pro Kern: 2\nKern(e) pro Socket: 4\nSockel: 2\n"
        "NUMA-Knoten: 2\nModellname: A CPU\nMaximale Taktfrequenz der CPU: 3300,0000\nL3 Cache: 8K",
        "Processeur(s) : 16\nListe de processeur(s) en ligne : 0-15\nThread(s) par cœur : 2\nCœur(s) par socket : 4\n"
        "Socket(s) : 2\nNœud(s) NUMA : 2\nNom de modèle : A CPU\nVitesse maximale du processeur en MHz : 3300,0000\n"
        "Cache L3 : 8K",
        "CPU(s): 16\nLista de la(s) CPU(s) en línea: 0-15\nHilo(s) de procesamiento por núcleo: 2\n"
        "Núcleo(s) por «socket»: 4\n«Socket(s)»      2\nModo(s) NUMA: 2\nNombre del modelo: A CPU\n"
        "CPU MHz máx.: 3300,0000\nCaché L3: 8K",
        "CPU(s): 16\nOn-line CPU(s) list: 0-15\nThread(s) per núcleo   2\nNúcleo(s) por soquete: 4\nSoquete(s): 2\n"
        "Nó(s) de NUMA: 2\nNome do modelo: A CPU\nCPU max MHz: 3300,0000\ncache de L3: 8K",
        "CPU: 16\n在线 CPU 列表： 0-15\n每个核的线程数： 2\n每个座的核数： 4\n座： 2\nNUMA 节点： 2\n型号名称： A CPU\n"
        "CPU 最大 MHz： 3300.0000\nL3 缓存： 8K",
        "CPU: 16\nオンラインになっている CPU のリスト: 0-15\nコアあたりのスレッド数:2\nソケットあたりのコア数:4\n"
        "ソケット数: 2\nNUMAノード: 2\nモデル名: A CPU\nCPU 最大 MHz: 3300.0000\nL3 キャッシュ: 8K",
    ],
    ids=["German", "French", "Spanish", "Portuguese", "Chinese", "Japanese"],
)
def test_other_languages_are_read(text):
    assert shape(text) == (16, 8, 2, 4, 2)
    assert parse(text).facts == {"numa_nodes": 2, "model": "A CPU", "max_mhz": 3300.0, "cache_l3": "8K"}
    assert parse(text).remarks == ()


def test_a_vendor_that_lscpu_does_not_know_is_none():
    assert parse("Hypervisor vendor:     (null)\nVendor ID: -").facts == {}


def test_a_hypervisor_without_a_name_has_none_but_its_guest_is_one():
    parsed = parse(flat(4, 2, 2, 1, "Hypervisor vendor: vertical", "Virtualization type: full"))
    assert (parsed.facts.get("hypervisor"), parsed.facts["virtualization_type"]) == (None, "full")
    assert parsed.remarks == ()


def test_sockets_of_unlike_cores_are_not_multiplied():
    # 40 cores of 8 threads in 6 sockets, of which lscpu rounds 6.7 cores each down.
    assert shape(flat(320, 8, 6, 6)) == (320, None, None, None, None)


def test_an_unknown_language_gives_nothing_rather_than_something_wrong():
    lscpu = parse("Процессоры: 16\nПотоков на ядро: 2")
    assert (lscpu.counts.facts(), lscpu.facts, lscpu.remarks) == ({}, {}, ())


@pytest.mark.parametrize("clock", ["nan", "-1", "4294967295", "1e4", "99 GHz"])
def test_a_clock_that_cannot_be_is_left_out_and_said(clock):
    lscpu = parse(f"CPU max MHz: {clock}")
    assert "max_mhz" not in lscpu.facts
    assert lscpu.remarks == (f"lscpu prints {clock!r} as CPU max MHz, which is no such number: it is left out.",)


def test_a_clock_of_zero_is_how_a_guest_says_that_it_does_not_know():
    assert parse("CPU min MHz: 0,0000").facts == {} and parse("CPU min MHz: 0,0000").remarks == ()


def test_many_lines_are_read_in_bounds():
    assert parse("CPU(s): 4\n" + "x" * 10**6 + "\n" + "Thread(s) per core: 1\n" * 10**5).counts.cpus == 4


AS_JSON = {
    "lscpu": [
        {"field": "Architecture:", "data": "x86_64", "children": [{"field": "CPU op-mode(s):", "data": "64-bit"}]},
        {"field": "CPU(s):", "data": "8", "children": [{"field": "On-line CPU(s) list:", "data": "0-7"}]},
        {"field": "Vendor ID:", "data": "GenuineIntel", "children": [
            {"field": "Model name:", "data": "Intel(R) Xeon(R) E-2278G", "children": [
                {"field": "Thread(s) per core:", "data": "2"},
                {"field": "Core(s) per socket:", "data": "4"},
                {"field": "Socket(s):", "data": "1"},
            ]},
        ]},
    ]
}  # fmt: skip


def test_json_gives_what_the_lines_give():
    text = json.dumps(AS_JSON)
    counts = parse(lines_of_json(text)).counts
    assert (counts.cpus, counts.sockets, counts.cores_per_socket, counts.threads_per_core) == (8, 1, 4, 2)
    cpu, remarks = read({"lscpu_json": text}, Platform("x86_64", "6.1.0"))
    assert (cpu["cpus"], cpu["cores"], cpu["model"]) == (8, 4, "Intel(R) Xeon(R) E-2278G")
    assert remarks == []


def test_the_text_of_lscpu_goes_before_its_json():
    cpu, _ = read({"lscpu": "CPU(s): 4", "lscpu_json": json.dumps(AS_JSON)}, Platform("x86_64", "6.1.0"))
    assert cpu["cpus"] == 4


@pytest.mark.parametrize(
    "text",
    [
        "",
        "lscpu: invalid option -- 'J'",
        "[]",
        "{}",
        '{"lscpu": 1}',
        '{"lscpu": [1, null, {"field": 3}]}',
        "[" * 100_000,
    ],
)
def test_json_that_is_none_counts_nothing(text):
    assert parse(lines_of_json(text)).counts.cpus is None


def test_the_list_behind_the_cpus_is_of_those_online_in_any_language():
    """As a Catalan system prints it, of a partition in which three CPUs are offline."""
    counts = parse("CPU(s): 20\nLlista de la(es) CPU(s) en línia: 1-5,8-19\nFil(s) per nucli: 1").counts
    assert (counts.cpus, counts.cores, counts.sockets) == (17, None, None)
    counts = parse("CPU(s): 4\nFil(s) per nucli: 2\nNucli(s) per sòcol: 2").counts
    assert counts.cpus == 4


@pytest.mark.parametrize("cpus", ["", "CPU(s): 17\n"])
def test_sockets_that_cannot_be_held_against_the_cpus_are_not_counted(cpus):
    counts = parse(f"{cpus}Socket(s): 24\nCore(s) per socket: 4").counts
    assert (counts.sockets, counts.cores, counts.cores_per_socket) == (None, None, None)


@pytest.mark.parametrize(
    ("architecture", "model", "cores", "threads"),
    [
        ("x86_64", "Intel(R) Xeon(R) Platinum 8280 CPU @ 2.70GHz", 1, 112),  # a guest of Xen
        ("x86_64", "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz", 2, 4),
        ("riscv64", "sifive,u74-mc", 1, 4),
        ("loongarch64", "Loongson-3A5000-H", 1, 4),
        ("ppc64le", "POWER9, altivec supported", 4, 16),
    ],
)
def test_more_threads_than_a_core_has_are_not_believed(architecture, model, cores, threads):
    text = flat(cores * threads, threads, cores, 1, f"Architecture: {architecture}", f"Model name: {model}")
    cpu, remarks = read({"lscpu": text}, Platform())
    assert cpu["cpus"] == cores * threads
    assert not {"sockets", "cores", "cores_per_socket", "threads_per_core"} & cpu.keys()
    assert "the kernel does not know the cores" in remarks[0]


@pytest.mark.parametrize(
    ("architecture", "model", "threads"),
    [("x86_64", "AMD EPYC 7451", 2), ("x86_64", "Intel(R) Xeon Phi(TM) CPU 7210", 4), ("ppc64le", "POWER9", 8)],
)
def test_as_many_threads_as_a_core_has_are_believed(architecture, model, threads):
    text = flat(64 * threads, threads, 64, 1, f"Architecture: {architecture}", f"Model name: {model}")
    cpu, remarks = read({"lscpu": text}, Platform())
    assert (cpu["cores"], cpu["threads_per_core"], remarks) == (64, threads, [])


@pytest.mark.parametrize(("architecture", "sockets"), [("ppc64", None), ("s390x", None), ("x86_64", 16)])
def test_as_many_sockets_as_cores_are_none_where_kernels_do_not_know_sockets(architecture, sockets):
    counts = parse(flat(64, 4, 1, 16, f"Architecture: {architecture}")).counts
    assert (counts.cores, counts.sockets) == (16, sockets)


RUSSIAN = """\
Архитектура:         x86_64
CPU(s):              {cpus}
On-line CPU(s) list: 0-{last}
Потоков на ядро:     {threads}
Ядер на сокет:       {cores}
Сокетов:             1
ID прроизводителя:   GenuineIntel
Имя модели:          Intel(R) Core(TM) i5-7400 CPU @ 3.00GHz
CPU МГц:             800.037
CPU max MHz:         3500,0000
"""
POLISH = """\
Architektura:                x86_64
CPU(s):                      16
Lista aktywnych CPU:         0-15
ID producenta:               GenuineIntel
Nazwa modelu:                Intel(R) Xeon(R) Silver 4110 CPU @ 2.10GHz
Wątków na rdzeń:             2
Rdzeni na gniazdo:           4
Gniazd:                      2
Producent hipernadzorcy:     VMware
"""
KUNPENG = """\
架构：             aarch64
CPU:               256
在线 CPU 列表：    0-255
厂商 ID：          HiSilicon
BIOS Model name:   Kunpeng 920 7260Z
每个核的线程数：   2
每个座的核数：     64
座：               2
"""


def test_further_languages_are_read():
    russian, polish = parse(RUSSIAN.format(cpus=4, last=3, threads=1, cores=4)), parse(POLISH)
    assert shape(RUSSIAN.format(cpus=4, last=3, threads=1, cores=4)) == (4, 4, 1, 4, 1)
    assert (russian.facts["model"], russian.facts["max_mhz"]) == ("Intel(R) Core(TM) i5-7400 CPU @ 3.00GHz", 3500.0)
    assert shape(POLISH) == (16, 8, 2, 4, 2)
    assert polish.facts["hypervisor"] == "VMware"
    assert russian.remarks == polish.remarks == ()


def test_cores_of_unlike_kinds_do_not_add_up_in_further_languages_either():
    hybrid = RUSSIAN.format(cpus=32, last=31, threads=2, cores=24)
    assert shape(hybrid) == (32, 24, 1, None, None)
    assert "do not add up" in " ".join(parse(hybrid).remarks)


def test_the_vendor_tells_a_server_where_its_cores_have_no_name():
    assert shape(KUNPENG) == (256, 128, 2, 64, 2)
    assert shape(KUNPENG.replace("HiSilicon", "ARM")) == (256, 128, None, None, 2)
