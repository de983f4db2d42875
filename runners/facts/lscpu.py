"""What lscpu prints, of any version since 2.14: one column, nested, or a block for each kind of core."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from runners.readings import count, decimal

from .counts import MOST_CPUS, Counts, Kind, cpu_list, merged
from .labels import NAMES, label_key

MOST_LINES, LONGEST_JSON = 4096, 2**20
LONGEST_NAME = 256
LARGEST_MHZ = 100_000.0
COUNTS = (
    "cpus", "sockets", "cores_per_socket", "threads_per_core", "numa_nodes", "cores_per_cluster", "clusters",
    "sockets_per_book", "books_per_drawer", "books", "drawers",
)  # fmt: skip
DECIMALS = ("mhz", "max_mhz", "min_mhz", "bogomips")
TEXTS = (
    "model", "vendor", "hypervisor", "virtualization_type", "cache_l1d", "cache_l1i", "cache_l2", "cache_l3",
)  # fmt: skip
EXTREMES: Mapping[str, Callable[[Sequence[Any]], Any]] = {"min_mhz": min, "max_mhz": max}
OF_A_KIND = ("threads_per_core", "cores_per_socket", "cores_per_cluster")
# The ARM machines that are built with several sockets; on all others, lscpu's "sockets" may be clusters of one.
SEVERAL_SOCKETS = re.compile("Neoverse|Kunpeng|TaiShan|HiSilicon|ThunderX|Ampere|Altra|A64FX", re.IGNORECASE)
# Of a hypervisor that it cannot name, lscpu 2.2x prints what lies behind its table of names.
NO_VENDORS = ("vertical", "horizontal")
# Kernels of these did not say for long in which socket a core is, and in a partition still do not.
PLACELESS = ("ppc", "sparc", "s390")


@dataclass(frozen=True, slots=True)
class Lscpu:
    """What lscpu said: numbers that add up, other facts by name, and sentences on numbers that cannot be or add up."""

    architecture: str
    counts: Counts
    facts: Mapping[str, Any]
    unreadable: tuple[str, ...]
    sums: tuple[str, ...]

    @property
    def remarks(self) -> tuple[str, ...]:
        return (*self.unreadable, *self.sums)


@dataclass(frozen=True, slots=True)
class _Line:
    name: str
    label: str
    value: str


Block = Mapping[str, str]


def parse(text: str) -> Lscpu:
    lines = list(_lines(text))
    values = [(line.name, value) for line in lines if (value := _value(line.name, line.value)) is not None]
    facts: dict[str, Any] = {
        name: value for name, value in reversed(values) if name in (*TEXTS, *DECIMALS, "numa_nodes")
    }
    for name, extreme in EXTREMES.items():
        if numbers := [value for other, value in values if other == name]:
            facts[name] = extreme(numbers)
    if models := [value for name, value in values if name == "model"]:
        facts["model"] = ", ".join(dict.fromkeys(models))[:LONGEST_NAME]
    blocks = list(_blocks(lines))
    if offline := _offline_count(blocks[0]):
        facts["cpus_offline"] = offline
    counts, sums = _counts(blocks)
    return Lscpu(blocks[0].get("architecture", ""), counts, facts, tuple(_unreadable(lines)), tuple(sums))


def lines_of_json(text: str) -> str:
    """Return what `lscpu -J` prints as the lines of lscpu, in its order; "" for any other text."""
    try:
        document = json.loads(text[:LONGEST_JSON])
    except (ValueError, RecursionError):
        return ""
    rows = document.get("lscpu") if isinstance(document, dict) else None
    return "\n".join(islice(_json_lines(rows), MOST_LINES))


def _json_lines(rows: Any) -> Iterator[str]:
    """Yield the fields, each before those that it has below it; they are no deeper than the text that was read."""
    waiting = deque([rows])
    while waiting:
        row = waiting.popleft()
        if isinstance(row, list):
            waiting.extendleft(reversed(row))
        elif isinstance(row, dict):
            field, data = row.get("field"), row.get("data")
            if isinstance(field, str):
                yield f"{field} {data if isinstance(data, str | int) else '-'}".replace("\n", " ")
            waiting.appendleft(row.get("children"))


def _lines(text: str) -> Iterator[_Line]:
    """Yield the lines that have a name here; what lscpu does not know it prints as '-', or once as '(null)'.

    In a language that is not known here, the list behind the number of CPUs is that of those online.
    """
    name_before: str | None = None
    for line in text.splitlines()[:MOST_LINES]:
        label, colon, value = line.replace("\N{FULLWIDTH COLON}", ":").partition(":")
        if not colon:  # some translations have lost it
            label, _, value = line.strip().rpartition(" ")
        name = NAMES.get(label_key(label)) if len(label) < LONGEST_NAME else None
        words = " ".join(value.split())
        if name is None and name_before == "cpus" and (words == "0" or re.search("[,-]", words)) and cpu_list(words):
            name = "online"
        name_before = name
        if name:
            yield _Line(name, label.strip(), "" if words in ("-", "(null)") else words)


def _blocks(lines: Sequence[_Line]) -> Iterator[Block]:
    """Yield the lines for each kind of core, with those that stand before the first; one block where kinds are alike.

    A kind begins with its model's name, or with a number of threads or cores that the kind before has already.
    """
    parts: list[dict[str, str]] = [{}]
    for line in lines:
        if line.name in parts[-1] and line.name in ("model", *OF_A_KIND):
            parts.append({})
        parts[-1].setdefault(line.name, line.value)
    counting = [part for part in parts if "threads_per_core" in part]
    if len(counting) > 1:
        yield from ({**parts[0], **part} for part in counting)
    else:
        yield {line.name: line.value for line in reversed(lines) if line.value}


def _value(name: str, text: str) -> Any:
    """Return a value as its name has it: a count, a frequency or a text; None for what is no such thing."""
    if not text:
        return None
    if name in COUNTS:
        return count(text, MOST_CPUS)
    if name == "hypervisor" and text in NO_VENDORS:
        return None
    if name not in DECIMALS:
        return text[:LONGEST_NAME]
    number = decimal(text.replace(",", "."))
    return number if number and (number <= LARGEST_MHZ or name == "bogomips") else None


def _unreadable(lines: Sequence[_Line]) -> Iterator[str]:
    for line in filter(lambda line: line.value and line.value not in NO_VENDORS, lines):
        is_zero = line.name in DECIMALS and not decimal(line.value.replace(",", ".")) and line.value[:1] == "0"
        if _value(line.name, line.value) is None and not is_zero:
            yield f"lscpu prints {line.value[:40]!r} as {line.label}, which is no such number: it is left out."


@dataclass(frozen=True, slots=True)
class _Shape:
    """Sockets, or clusters where there are no sockets, with the cores of each and the threads of each core."""

    sockets: int | None
    groups: int | None
    cores_per_group: int | None
    threads_per_core: int | None

    @property
    def cores(self) -> int | None:
        return self.groups * self.cores_per_group if self.groups and self.cores_per_group else None

    @property
    def cores_per_socket(self) -> int | None:
        """Return the cores of a socket, of one or of several clusters."""
        if not self.sockets or not self.groups or not self.cores_per_group or self.groups % self.sockets:
            return None
        return self.groups // self.sockets * self.cores_per_group

    @property
    def cpus(self) -> int | None:
        return self.cores * self.threads_per_core if self.cores and self.threads_per_core else None


def _shape(block: Block) -> _Shape:
    numbers = {name: count(block.get(name, ""), MOST_CPUS) for name in COUNTS}
    threads = numbers["threads_per_core"]
    if numbers["clusters"] and numbers["cores_per_cluster"]:
        return _Shape(numbers["sockets"], numbers["clusters"], numbers["cores_per_cluster"], threads)
    sockets = _sockets(numbers)
    return _Shape(sockets, sockets, numbers["cores_per_socket"], threads)


def _sockets(numbers: Mapping[str, int | None]) -> int | None:
    """Return the sockets of the machine; IBM's large ones count them in books, and books in drawers."""
    if numbers["sockets_per_book"] is None:
        return numbers["sockets"]
    books = numbers["books"]
    if numbers["books_per_drawer"] and numbers["drawers"]:
        books = numbers["books_per_drawer"] * numbers["drawers"]
    return numbers["sockets_per_book"] * books if books else None


def _counts(blocks: Sequence[Block]) -> tuple[Counts, list[str]]:
    head, shapes = blocks[0], [_shape(block) for block in blocks]
    cpus = _online_count(head)
    if len(shapes) > 1:
        return _counts_of_kinds(blocks, shapes, cpus)
    [shape] = shapes
    is_open = (shape.sockets or 0) > 1 and _may_be_no_sockets(head, shape)
    return _counts_of_shape(replace(shape, sockets=None) if is_open else shape, cpus)


def _may_be_no_sockets(head: Block, shape: _Shape) -> bool:
    """Tell whether what is called several sockets may be something else: clusters of ARM, or cores of an unknown place.

    As many sockets as cores is also what a kernel of POWER, SPARC or s390x makes lscpu say that knows no sockets.
    """
    architecture, model = head.get("architecture", ""), head.get("model", "")
    is_arm = architecture.startswith(("aarch64", "arm")) or model.startswith("Cortex-")
    is_placeless = architecture.startswith(PLACELESS) and shape.sockets == shape.cores
    # lscpu names a core that it does not know by nothing but its vendor.
    return is_placeless or (is_arm and not SEVERAL_SOCKETS.search(f"{model} {head.get('vendor', '')}"))


def _online_count(block: Block) -> int | None:
    """Return how many CPUs are online: 'CPU(s)' counts those offline too."""
    total, online = count(block.get("cpus", ""), MOST_CPUS), cpu_list(block.get("online", ""))
    return len(online) if online and total and len(online) <= total else total


def _offline_count(block: Block) -> int:
    total, online = count(block.get("cpus", ""), MOST_CPUS), _online_count(block)
    return total - online if total and online else 0


def _counts_of_kinds(blocks: Sequence[Block], shapes: Sequence[_Shape], cpus: int | None) -> tuple[Counts, list[str]]:
    cores, threads = [shape.cores for shape in shapes], [shape.cpus for shape in shapes]
    if None in cores or sum(filter(None, threads)) != cpus:
        return Counts(cpus), [f"lscpu counts {cpus or 'no'} CPUs, but its kinds of cores do not add up to that."]
    names = [block.get("model", "")[:LONGEST_NAME] or f"kind {number}" for number, block in enumerate(blocks, start=1)]
    kinds = [Kind(name, shape.cores or 0, shape.cpus or 0) for name, shape in zip(names, shapes, strict=True)]
    total, each = sum(filter(None, cores)), {shape.threads_per_core for shape in shapes}
    sockets = 1 if all(shape.sockets == 1 for shape in shapes) else None
    threads_per_core = each.pop() if len(each) == 1 else None
    return Counts(cpus, total, sockets, total if sockets else None, threads_per_core, merged(kinds)), []


def _counts_of_shape(shape: _Shape, cpus: int | None) -> tuple[Counts, list[str]]:
    if cpus is None:
        # Without the number of CPUs nothing tells whether the rest adds up.
        return Counts(sockets=1 if shape.sockets == 1 else None), []
    has_too_many = (shape.cores or shape.sockets or 0) > cpus
    if has_too_many or (shape.cpus and shape.cpus != cpus):
        return _uneven(shape, cpus)
    return Counts(cpus, shape.cores, shape.sockets, shape.cores_per_socket, shape.threads_per_core), []


def _uneven(shape: _Shape, cpus: int) -> tuple[Counts, list[str]]:
    """Keep sockets and cores where they are whole: lscpu rounds the cores of several unlike sockets down."""
    cores, threads = shape.cores or 0, shape.threads_per_core or 0
    is_whole = cores <= cpus and (shape.groups == 1 or cpus < cores * threads)
    counts = Counts(cpus, shape.cores, shape.sockets) if is_whole else Counts(cpus)
    product = " x ".join(str(n or "?") for n in (shape.groups, shape.cores_per_group, shape.threads_per_core))
    return counts, [
        f"lscpu counts {cpus} CPUs, but {product} as sockets, cores and threads: "
        "these do not add up, as where CPUs are offline or cores are of unlike kinds."
    ]
