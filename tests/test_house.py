"""Imports run one way: who may know whom stands here, and nowhere else."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TARGET_HALF = {"runners.ssh", "runners.job", "runners.probe", "runners.telemetry", "runners.script"}
OPERATIONS = ("benchhub.celery", "benchhub.release")
PURE_RUNNERS = ("runners.contract", "runners.tools", "runners.keys")
# For each room: the project's modules that it may import, beside its own.
MAY_IMPORT = {
    "benchhub/analysis": (),
    "runners": (),
    "benchhub/embedded": (),
    "benchhub/ui": ("benchhub.analysis",),
    "benchhub/catalog": ("benchhub.ui", "benchhub.analysis", "benchhub.celery", *PURE_RUNNERS),
    "benchhub/accounts": ("benchhub.ui", "benchhub.catalog"),
    "benchhub/bench": (
        "benchhub.ui",
        "benchhub.analysis",
        "benchhub.catalog",
        "benchhub.accounts",
        *OPERATIONS,
        *PURE_RUNNERS,
    ),
    "benchhub/reports": (
        "benchhub.ui",
        "benchhub.analysis",
        "benchhub.catalog",
        "benchhub.accounts",
        "benchhub.bench",
        *OPERATIONS,
        *PURE_RUNNERS,
    ),
    "benchhub/api": (
        "benchhub.ui",
        "benchhub.analysis",
        "benchhub.catalog",
        "benchhub.accounts",
        "benchhub.bench",
        "benchhub.reports",
        "benchhub.celery",
        *PURE_RUNNERS,
    ),
}
NO_DJANGO = ("benchhub/analysis", "runners", "benchhub/embedded")
TOUCHES_A_HOST = "benchhub/bench/execute/"


def modules(room):
    """The product's own modules: what only tests use lies in tests/, testing.py and conftest.py."""
    apart = {"testing.py", "conftest.py"}
    return [path for path in (ROOT / room).rglob("*.py") if "tests" not in path.parts and path.name not in apart]


def imports(path):
    """Every module that a file imports, absolute; relative imports are resolved."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            stem = ".".join(part for part in (base, node.module) if part)
            yield from (f"{stem}.{alias.name}" for alias in node.names)


def under(name, allowed):
    return any(name == prefix or name.startswith(prefix + ".") for prefix in allowed)


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_what_lies_below_it(room):
    own = room.replace("/", ".")
    allowed = (own, *MAY_IMPORT[room])
    assert modules(room) or room == "benchhub/api"
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in modules(room)
        for name in imports(path)
        if under(name, ("benchhub", "runners")) and not under(name, allowed) and not touches_a_host(path, name)
    ]
    assert wrong == []


def touches_a_host(path, name):
    return str(path.relative_to(ROOT)).startswith(TOUCHES_A_HOST) and under(name, TARGET_HALF)


@pytest.mark.parametrize("room", NO_DJANGO)
def test_calculation_and_runners_know_nothing_of_django(room):
    outside = ("django", "rest_framework", "celery", "plotly")
    wrong = [str(path) for path in modules(room) for name in imports(path) if under(name, outside)]
    assert wrong == []


def test_nobody_imports_the_api():
    everyone = [path for path in modules("benchhub") if "benchhub/api" not in str(path)]
    assert [str(path) for path in everyone for name in imports(path) if under(name, ("benchhub.api",))] == []


def test_the_rule_itself_tells_a_room_from_its_neighbour():
    assert under("benchhub.bench.models", ("benchhub.bench",))
    assert not under("benchhub.benchmark", ("benchhub.bench",))
    assert not under("runners.ssh", PURE_RUNNERS)
