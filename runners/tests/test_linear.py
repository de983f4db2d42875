"""Whatever a target or a person sends, reading it takes steps that grow with its size and no faster.

Counted are the steps that a pattern takes over texts made to lead it astray, its own among them, and the lines of
Python that every parser runs; no clock is read.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import runners
from conftest import WHOLE
from runners import collection, counters, probe, readings, tools
from runners.builds import work
from runners.clusters import visit
from runners.contract import Outputs
from runners.inspection import answer as inspection
from runners.telemetry import series
from runners.telemetry.sysstat import placed as sysstat
from runners.tests.backtracking import MOST_STEPS, example, parser, steps
from runners.tools import seconds
from runners.tools.pgbench import log as pgbench_log
from runners.tools.pgbench.testing import RECORDED
from runners.tools.pgbench.testing import SPEC as PGBENCH_SPEC
from runners.tools.tatp import loaded as tatp_loaded
from runners.tools.tatp import log as tatp_log
from runners.tools.tatp.testing import SPEC as TATP_SPEC
from runners.verdict import parse_look

SIZES = (90, 180) if WHOLE else (45, 90)
NUMBERS = (150, 300) if WHOLE else (25, 50)
SIZE = 1_000_000 if WHOLE else 50_000
# Twice the text may take twice the steps; four times would be the square.
MOST_GROWTH = 2.6
FEW_STEPS = 400
UNITS = ("\n", " ", "1", "a", '"', "-", "/*", "$a")
# Words of `re` that read, and those of them that look only where they are told to.
READING = {"search", "findall", "finditer", "sub", "subn", "split", "match", "fullmatch"}
ANCHORED = {"match", "fullmatch"}


def modules() -> list[Any]:
    names = (info.name for info in pkgutil.walk_packages(runners.__path__, "runners."))
    skipped = (".tests", ".recorded", "testing", "conftest")
    return [importlib.import_module(name) for name in names if not any(word in name for word in skipped)]


@cache
def calls() -> list[tuple[Path, ast.AST]]:
    """Return the calls and attributes in all modules with their places; parsing these takes half a second."""
    paths = [Path(module.__file__) for module in modules()]
    trees = [(path, ast.parse(path.read_text())) for path in paths]
    return [
        (path, node) for path, tree in trees for node in ast.walk(tree) if isinstance(node, (ast.Call, ast.Attribute))
    ]


def held_patterns(name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """Yield the patterns in a value by the name that holds them: itself, in collections, and in objects of ours."""
    if isinstance(value, re.Pattern):
        yield name, value
    elif isinstance(value, (tuple, list, frozenset, dict)) and depth < 4:
        for member in value.values() if isinstance(value, dict) else value:
            yield from held_patterns(name, member, depth + 1)
    elif type(value).__module__.startswith("runners.") and hasattr(value, "__dict__") and depth < 3:
        for attribute, member in vars(value).items():
            yield from held_patterns(attribute, member, depth + 1)


def literal_patterns() -> Iterator[tuple[str, str, bool]]:
    """Yield each pattern that is written where it is used: place, text, and whether it searches."""
    for path, node in calls():
        if is_reading(node):
            pattern = node.args[0]
            assert isinstance(pattern, ast.Constant), f"{path.name}:{node.lineno}: compile it at the module's head"
            text = pattern.value if isinstance(pattern.value, str) else pattern.value.decode()
            yield f"{path.parent.name}/{path.name}:{node.lineno}", text, node.func.attr not in ANCHORED


def is_reading(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in READING
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
    )


def anchored_names() -> set[str]:
    """Return the names of patterns of which every use looks only where it is told to."""
    uses: dict[str, set[str]] = {}
    for _, node in calls():
        if isinstance(node, ast.Attribute) and node.attr in READING:
            name = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
            uses.setdefault(name, set()).add(node.attr)
    return {name for name, methods in uses.items() if methods <= ANCHORED}


def patterns() -> dict[str, tuple[re.Pattern[Any], bool]]:
    anchored = anchored_names()
    collected: dict[str, tuple[re.Pattern[Any], bool]] = {}
    for module in modules():
        for name, value in vars(module).items():
            for holder, pattern in held_patterns(name, value):
                collected[f"{module.__name__}.{name} {pattern.pattern!r}"] = pattern, holder not in anchored
    for place, text, is_search in literal_patterns():
        collected[f"{place} {text!r}"] = re.compile(text, re.MULTILINE), is_search
    return collected


PATTERNS = patterns()


def source_of(pattern: re.Pattern[Any]) -> str:
    return pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")


def astray(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str]]:
    """Yield a head and what to repeat after it: characters, and what leads into each part of the pattern."""
    taken = example(parser.parse(source_of(pattern), pattern.flags & re.VERBOSE))[:120]
    parts = [taken[: len(taken) * part // 4] for part in range(1, 5)]
    for unit in dict.fromkeys((*UNITS, *parts, *(part[-1:] for part in parts))):
        for head in dict.fromkeys(("", *(part for part in parts if part.endswith(unit)))):
            if unit:
                yield head, unit


def slow_texts(pattern: re.Pattern[Any], *, is_search: bool) -> Iterator[str]:
    """Yield the texts over which a pattern's steps grow faster than the text."""
    for head, unit in astray(pattern):
        texts = (head + (unit * size)[:size] + "!" for size in SIZES)
        small, large = (steps(pattern, text, is_search=is_search) for text in texts)
        if large >= MOST_STEPS or large > MOST_GROWTH * small + FEW_STEPS:
            yield head + unit


@pytest.mark.parametrize(
    "slow", [r"^\s*transactions:", r"\s+$", r"(?:a+)+b", r"a*a*b", r"\d+%", r"[0-9.]+ tps", r"x.*y", r"(?s:/\*.*?\*/)"]
)
def test_the_steps_of_patterns_that_are_slow_are_seen(slow: str) -> None:
    assert next(slow_texts(re.compile(slow, re.MULTILINE), is_search=True), None) is not None


def test_the_steps_of_patterns_that_are_quick_are_not_taken_for_slow() -> None:
    for quick in (r"^[ \t]*transactions:", r"^x.*y$", r"\d{1,9}%", r"^(?:[a-z]{1,9} )?tps = [^(]{1,60}\("):
        assert list(slow_texts(re.compile(quick, re.MULTILINE), is_search=True)) == []


def test_every_pattern_of_the_parsers_is_looked_at() -> None:
    assert len(PATTERNS) > 60
    for part in ("sysbench.report.READERS", "pgbench.output", "probe", "counters/", "job.SIGN", "LAYOUT"):
        assert any(part in name for name in PATTERNS), part


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_takes_steps_that_grow_with_its_text(name: str) -> None:
    pattern, is_search = PATTERNS[name]
    assert list(slow_texts(pattern, is_search=is_search)) == []


def lines_run(function: Callable[[], object]) -> int:
    """Return how many lines of Python a call runs in modules of ours."""
    number = 0

    def count(frame: FrameType, event: str, _: object) -> Any:
        nonlocal number
        number += event == "line"
        return count if "runners" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(count)
    try:
        with suppress(tools.UNREADABLE):  # how many steps are taken counts, not whether the text makes sense
            function()
    finally:
        sys.settrace(before)
    return number


SYSBENCH_SPEC = replace(PGBENCH_SPEC, tool="sysbench", parameters={"script": "oltp_read_write"})
TELEMETRY = "telemetry 1\n: cpu user nice\n: a 1 2\n@ 1\ncpu 1 2\n"
SYSSTAT = '{"sysstat": {"hosts": [{"nodename": "x", "statistics": ['
REPORT = (RECORDED / "sysbench-1.1-progress.txt").read_text()
SUMMARY = (RECORDED / "18" / "several_scripts" / "out.log").read_text()
PROGRESS = (RECORDED / "18" / "progress" / "err.log").read_text().splitlines()[0]
TATP_FILES = {path.name: path.read_bytes() for path in (RECORDED / "tatp-16").iterdir()}


def parse(spec: Any, **texts: str) -> Callable[[], object]:
    files = {name: text.encode() for name, text in texts.items() if name not in ("stdout", "stderr")}
    outputs = Outputs(0, texts.get("stdout", "").encode(), texts.get("stderr", "").encode(), files)
    return lambda: tools.get(spec.tool).parse(spec, outputs)


def tatp(name: str, text: str) -> Callable[[], object]:
    files = {**TATP_FILES, name: text.encode()}
    return lambda: tools.get("tatp").parse(TATP_SPEC, Outputs(0, b"", b"", files))


# Each makes of a text the reading of it, by a parser of a tool or of what a host answers.
PARSERS: dict[str, Callable[[str], Callable[[], object]]] = {
    "pgbench stdout": lambda text: parse(PGBENCH_SPEC, stdout=text + SUMMARY),
    "pgbench stdout alone": lambda text: parse(PGBENCH_SPEC, stdout=text),
    "pgbench stderr": lambda text: parse(PGBENCH_SPEC, stdout=SUMMARY, stderr=text),
    "pgbench histogram": lambda text: parse(PGBENCH_SPEC, stdout=SUMMARY, **{"latency.hist": text}),
    "pgbench warm-up": lambda text: parse(PGBENCH_SPEC, stdout=SUMMARY, **{"warmup.err": text}),
    "pgbench load": lambda text: parse(replace(PGBENCH_SPEC, kind="load"), stderr=text),
    "pgbench log": lambda text: lambda: pgbench_log.reduce_log(text.encode().splitlines()),
    "pgbench seconds": lambda text: lambda: seconds.series(text, 1.0, 10**6),
    "telemetry": lambda text: lambda: series.read(text.encode(), b"measure 1\nafter 3\n", 2),
    "telemetry rows": lambda text: lambda: series.read((TELEMETRY + text).encode(), b"measure 1\nafter 3\n", 2),
    "telemetry steps": lambda text: lambda: series.read(TELEMETRY.encode(), text.encode(), 2),
    "sysstat samples": lambda text: lambda: sysstat.place((SYSSTAT + text).encode(), sysstat.Load(1, 2)),
    "sysbench stdout": lambda text: parse(SYSBENCH_SPEC, stdout=text + REPORT),
    "sysbench stdout alone": lambda text: parse(SYSBENCH_SPEC, stdout=text),
    "tatp messages": lambda text: tatp("tatp.messages", text),
    "tatp told": lambda text: tatp("tatp.told", text),
    "tatp latency": lambda text: tatp("tatp.latency", text),
    "tatp outcomes": lambda text: lambda: list(tatp_log.read_told(text)),
    "tatp distributions": lambda text: lambda: tatp_loaded.read_distributions(text),
    "probe": lambda text: lambda: probe.parse_probe(dict.fromkeys(("cpu", "os", "memory", "mounts", "disks"), text)),
    "probe block devices": lambda text: lambda: probe._block_devices(text),
    "probe choices": lambda text: lambda: probe._choices(text),
    "probe sections": lambda text: lambda: list(readings.read_sections(text.encode())),
    "counters": lambda text: lambda: counters.parse_snapshot(text.encode()),
    "visit": lambda text: lambda: visit.read_answer(f"\x1efolder\n/a\n\x1e{text}".encode(), "/a"),
    "visit copies": lambda text: lambda: visit.read_answer(f"\x1efolder\n/a\n\x1ecopies\n{text}".encode(), "/a"),
    "visit parameters": lambda text: (
        lambda: visit.read_answer(f"\x1efolder\n/a\n\x1eparameters\n{text}".encode(), "/a")
    ),
    "server": lambda text: lambda: inspection.read_answer(f"\x1edatabases\n{text}\x1eerrors\n{text}".encode(), "x"),
    "head of a build": lambda text: lambda: work.read_head(text.encode()[: work.MOST_HEAD_BYTES]),
    "look": lambda text: lambda: parse_look(text.encode()),
    "collection": lambda text: lambda: collection.parse_collected(text.encode(), 1000),
    "readings": lambda text: lambda: (readings.whole(text), readings.decimal(text)),
}
LINES = {
    "telemetry": "@ 2\ncpu 3 4\nwait 2 a:b=1\n: cpu user nice\n",
    "samples": '{"timestamp": {"date": "1970-01-01", "time": "00:00:02", "utc": 1, "interval": 1}, "io": {"tps": 1}}, ',
    "newlines": "\n",
    "spaces": "  ",
    "digits": "7",
    "nothing that ends": "x",
    "fields": "a=1|2 3\n",
    "progress": PROGRESS + "\n",
    "summaries": SUMMARY,
    "reports": REPORT,
    "sections": "\x1ename\nvalue\n",
    "quotes": 'NAME="a" ',
    "told": "1.0 1 2 3 4 5 6 7 8 9 10\n",
    "bins": "0 0 97 1201\n",
}


@pytest.mark.parametrize("name", PARSERS)
@pytest.mark.parametrize("line", LINES)
def test_a_parser_runs_lines_that_grow_with_its_text(name: str, line: str) -> None:
    few, many = (lines_run(PARSERS[name](LINES[line] * number)) for number in NUMBERS)
    assert many <= MOST_GROWTH * few + FEW_STEPS


def test_lines_of_python_that_grow_faster_are_seen() -> None:
    assert lines_run(lambda: [0 for _ in range(3)]) < 10
    code = compile(
        "def f(n):\n for i in range(n):\n  for j in range(n):\n   pass\n", f"{runners.__path__[0]}/x", "exec"
    )
    names: dict[str, Any] = {}
    exec(code, names)  # as if it were a module of ours
    assert lines_run(lambda: names["f"](40)) > 3 * lines_run(lambda: names["f"](20))


@pytest.mark.parametrize("text", ["\n", " ", "7", "x", "\r\n", "[ ", "progress: ", "tps = ", "transactions:", "- "])
@pytest.mark.parametrize("name", PARSERS)
def test_much_of_it_is_read_without_an_error_that_is_none_of_ours(name: str, text: str) -> None:
    try:
        PARSERS[name](text * (SIZE // len(text)))()
    except tools.UNREADABLE:
        assert not name.endswith(("stdout", "stderr", "alone")), "a parser of a tool fails with a reason"
