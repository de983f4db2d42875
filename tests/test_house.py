"""Imports run one way: who may know whom stands here, and nowhere else."""

import ast
import functools
import re
from collections import Counter
from pathlib import Path

import pytest

from runners import tools

ROOT = Path(__file__).resolve().parent.parent
TARGET_HALF = {
    "runners.ssh",
    "runners.job",
    "runners.verdict",
    "runners.collection",
    "runners.probe",
    "runners.readings",
    "runners.counters",
    "runners.observer",
    "runners.script",
    "runners.password_file",
    "runners.clusters",
    "runners.inspection.look",
    "runners.server_settings.script",
    "runners.server_settings.put_back",
    "runners.builds.work",
    "runners.builds.tags",
}
TOUCHES_A_HOST = "benchhub/bench/execute/"
OPERATIONS = ("benchhub.archive", "benchhub.celery", "benchhub.release", "benchhub.silence")
PURE_RUNNERS = (
    "runners.contract",
    "runners.confinement",
    "runners.readings",
    "runners.telemetry",
    "runners.tools",
    "runners.keys",
    "runners.inspection.answer",
    "runners.builds.recipe",
    "runners.os_settings",
    "runners.poolers",
    "runners.server_settings.answer",
    "runners.server_settings.parameters",
)
# For each hall: the project's modules that it may import, beside its own.
MAY_IMPORT = {
    "benchhub/analysis": (),
    "runners": (),
    "benchhub/embedded": (),
    "benchhub/serve": ("benchhub.accounts", "benchhub.wsgi"),
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
        "benchhub.archive",
        "benchhub.celery",
        *PURE_RUNNERS,
    ),
}
# The rooms of each hall in the order of the data's path: each may import those before it, none after it.
ROOMS = {
    "benchhub/analysis": (
        "statistics",
        "protocol",
        "curves",
        "doubts",
        "planning",
        "tuning",
        "pricing",
        "search",
        "snapshot",
        "published",
    ),
    "benchhub/catalog": (
        "models",
        "shared",
        "hosts",
        "instances",
        "builds",
        "workloads",
        "hardware",
        "licences",
        "sheets",
    ),
    "benchhub/bench": (
        "models",
        "webhooks",
        "queue",
        "plan",
        "tuning",
        "additions",
        "results",
        "execute",
        "inspection",
        "run_page",
        "operations",
    ),
    "benchhub/reports": (
        "curves",
        "prices",
        "comparison",
        "tuning",
        "laboratory",
        "designs",
        "experiments",
        "recurrences",
        "published",
        "sharing",
        "leaderboard",
        "board",
        "search",
    ),
    "benchhub/api": ("core", "catalog", "bench", "reports", "reference"),
}
# Folders of a hall that are no rooms.
APART = {"tests", "migrations", "management", "templatetags"}
MOST_MODULES = 15
NO_DJANGO = ("benchhub/analysis", "runners", "benchhub/embedded")
LONGEST_TEMPLATE_LINE = 120
FOLDERS = ("benchhub", "runners", "tests", "frontend", "fixtures", "clients", "benchmarks", "docs", "docker")
HALLS = ("accounts", "analysis", "api", "bench", "catalog", "reports", "ui")
SOURCES = (".py", ".sh", ".js", ".html", ".toml", ".md")
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(ROOT.glob("docs/**/*.md")),
    ROOT / "fixtures/README.md",
]


def modules(room):
    """The product's own modules: what only tests use lies in tests/, testing.py and conftest.py."""
    apart = {"testing.py", "conftest.py"}
    return [path for path in (ROOT / room).rglob("*.py") if "tests" not in path.parts and path.name not in apart]


@functools.cache
def imports(path):
    """Return each module that a file imports, absolute; relative imports are resolved."""
    return tuple(_imports(path))


def _imports(path):
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


def touches_a_host(path, name):
    return str(path.relative_to(ROOT)).startswith(TOUCHES_A_HOST) and under(name, TARGET_HALF)


@pytest.mark.parametrize("hall", MAY_IMPORT)
def test_a_hall_imports_only_what_lies_below_it(hall):
    allowed = (hall.replace("/", "."), *MAY_IMPORT[hall])
    assert modules(hall)
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in modules(hall)
        for name in imports(path)
        if under(name, ("benchhub", "runners")) and not under(name, allowed) and not touches_a_host(path, name)
    ]
    assert wrong == []


@pytest.mark.parametrize("hall", ROOMS)
def test_a_room_imports_only_rooms_before_it(hall):
    rooms = ROOMS[hall]
    folders = {path.parent.name for path in (ROOT / hall).glob("*/__init__.py")}
    assert folders - APART == set(rooms), "each room has its place in the order, and nothing else has"
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for place, room in enumerate(rooms)
        for path in modules(f"{hall}/{room}")
        for name in imports(path)
        if under(name, [f"{hall.replace('/', '.')}.{later}" for later in rooms[place + 1 :]])
    ]
    assert wrong == []


@pytest.mark.parametrize("hall", NO_DJANGO)
def test_calculation_and_runners_know_nothing_of_django(hall):
    outside = ("django", "rest_framework", "celery", "plotly")
    wrong = [str(path) for path in modules(hall) for name in imports(path) if under(name, outside)]
    assert wrong == []


def test_only_the_load_generators_know_each_other_by_name():
    """Whatever else wants to know of a workload asks its tool, so that a new one is one module and one line."""
    names = sorted(path.parent.name for path in (ROOT / "runners/tools").glob("*/tool.py"))
    assert names == sorted(tools.TOOLS), "each load generator has its line in TOOLS"
    outside = [path for path in modules("benchhub") if "migrations" not in path.parts]
    imported = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in outside
        for name in imports(path)
        if under(name, [f"runners.tools.{tool}" for tool in names])
    ]
    written = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value}"
        for path in outside
        if path.name != "examples.py"  # of what may be sent to the API
        if (text := path.read_text()) and any(name in text for name in names)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and node.value in names
    ]
    readings = [place for path in outside if "parameters" in path.read_text() for place in readings_of_parameters(path)]
    assert (imported, written, readings) == ([], [], [])


def readings_of_parameters(path):
    """Yield where a module reads a parameter of a workload by name: parameters["..."] or parameters.get("...")."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            owner, key = node.value, node.slice.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            owner, key = node.func.value, next((arg.value for arg in node.args if isinstance(arg, ast.Constant)), None)
        else:
            continue
        name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
        if name == "parameters" and isinstance(key, str):
            yield f"{path.relative_to(ROOT)}:{node.lineno}: {key}"


def test_nobody_imports_the_api():
    everyone = [path for path in modules("benchhub") if "benchhub/api" not in str(path)]
    assert [str(path) for path in everyone for name in imports(path) if under(name, ("benchhub.api",))] == []


def test_the_api_imports_no_page():
    """HTML is not the ground floor of REST: what both need lies beside the views."""
    own = "benchhub.api."
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in modules("benchhub/api")
        for name in imports(path)
        if name.startswith("benchhub.") and not name.startswith(own) and "views" in name.split(".")
    ]
    assert wrong == []


def test_only_templates_import_template_tags():
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in modules("benchhub")
        for name in imports(path)
        if "templatetags" in name.split(".") and "templatetags" not in path.parts
    ]
    assert wrong == []


def test_no_test_imports_another():
    everything = [path for room in ("benchhub", "runners", "tests") for path in (ROOT / room).rglob("*.py")]
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in everything
        for name in imports(path)
        if any(part.startswith("test_") for part in name.split(".")[:-1])
    ]
    assert wrong == []


def test_no_folder_has_more_modules_than_an_eye_takes_in():
    folders = Counter(path.parent for room in ("benchhub", "runners") for path in modules(room))
    crowded = [f"{folder.relative_to(ROOT)}: {count}" for folder, count in folders.items() if count > MOST_MODULES]
    assert [name for name in crowded if "migrations" not in name] == []


def test_templates_are_read_as_code():
    wide = [
        f"{path.relative_to(ROOT)}:{number}: {len(line)}"
        for path in sorted((ROOT / "frontend" / "templates").rglob("*.html"))
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if len(line) > LONGEST_TEMPLATE_LINE
    ]
    assert wide == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_path_that_a_document_names_is_there(document):
    text = document.read_text()
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    lost = [f"link to {link}" for link in links if not (document.parent / link).exists()]
    assert lost + [path for path in re.findall(r"`([^`\n]+)`", text) if is_lost(path)] == []


def is_lost(path):
    """Tell whether it reads as a path in this repository and leads nowhere; a name in capitals stands for any."""
    first, *rest = path.split("/")
    if re.search(r"[^\w./-]|\b[A-Z]{4,}/|/\d+$", path):
        return False
    if path.endswith(".py") and not rest:  # any other name alone may be that of a file that BenchHub writes
        return not any(any(ROOT.glob(f"{folder}/**/{path}")) for folder in FOLDERS) and not (ROOT / path).exists()
    return bool(rest) and (path.endswith(SOURCES) or first in (*FOLDERS, *HALLS)) and not (ROOT / path).exists()


def test_the_rule_itself_finds_a_path_that_was_lost():
    lost = ("bench/plan.py", "benchhub/bench/plan.py", "tatp_expected.py", "reports/prices_of_old/")
    assert [path for path in lost if not is_lost(path)] == []
    assert not any(map(is_lost, ("benchhub/bench/plan/plan.py", "plan.py", "runners/tools/", "clients/2", "a/b")))


def test_the_rule_itself_tells_a_room_from_its_neighbour():
    assert under("benchhub.bench.models", ("benchhub.bench",))
    assert not under("benchhub.benchmark", ("benchhub.bench",))
    assert not under("runners.ssh", PURE_RUNNERS)
