"""Names are nouns of docs/words.md, and docstrings begin with a verb: the words that never do stand here."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("benchhub", "runners", "clients", "benchmarks", "tests")
VAGUE = re.compile("of|one|said|told|shown|found|known|asked|kept|chosen|given|wanted|named|seen|meant|what")
NO_VERB = re.compile(
    "(What|How|Which|Whose|Who|Why|Where|When|Whether|Of|Those|That|The|A|An|One|Two|All|Each|Every|By|In|On|At|As|With"
    "|Without|From|For|Its|It|Both|Some|Any|Names|Curves|Nothing|None|Only|No|These|This|Many|More)[,.:;]*"
)


def sources():
    files = [ROOT / "conftest.py", *(path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")))]
    return [path for path in files if "migrations" not in path.parts]


def is_of_tests(path):
    return "tests" in path.relative_to(ROOT).parts or path.name in ("testing.py", "conftest.py")


def vague_names(tree):
    """Yield (line, name) of parameters, variables and annotated fields.

    A plain field of a class is left out: it is a column, or a field of a form or of the API, and users know its name.
    """
    nodes = list(ast.walk(tree))
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    assignments = [statement for node in classes for statement in node.body if isinstance(statement, ast.Assign)]
    fields = {target for assignment in assignments for target in assignment.targets}
    for node in nodes:
        is_variable = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in fields
        name = node.id if is_variable else node.arg if isinstance(node, ast.arg) else ""
        if name and VAGUE.fullmatch(name):
            yield node.lineno, name


def docstrings_without_verb(tree):
    """Yield (line, function and first word) of docstrings that do not begin with a verb."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first, *_ = (ast.get_docstring(node) or "-").split()
            if NO_VERB.fullmatch(first):
                yield node.lineno, f"{node.name}: {first}"


@pytest.fixture(scope="module")
def places():
    """Return, by rule, each place where it is broken, as file:line: word; a file is parsed once for all rules."""
    by_rule = {vague_names: [], docstrings_without_verb: []}
    for path in sources():
        tree = ast.parse(path.read_text())
        for rule, broken in by_rule.items():
            if rule is vague_names or not is_of_tests(path):
                broken += [f"{path.relative_to(ROOT)}:{line}: {word}" for line, word in rule(tree)]
    return by_rule


def test_a_name_says_what_it_is(places):
    assert places[vague_names] == []


def test_a_docstring_says_what_a_function_does(places):
    assert places[docstrings_without_verb] == []


def test_the_rule_itself_finds_a_name_wherever_it_is_given():
    lines = (
        "def page(said, *told, shown=1, **asked): ...",
        "(lambda of: of)",
        "for one in rows: found = [kept for kept in one]",
        "class Row:\n    known: int",
    )
    names = {name for line in lines for _, name in vague_names(ast.parse(line))}
    assert names == {"said", "told", "shown", "asked", "of", "one", "found", "kept", "known"}
    column = "class Host(Model):\n    wanted = CharField()\nprint(host.found, found())"
    assert list(vague_names(ast.parse(column))) == []


def test_the_rule_itself_tells_a_verb_from_a_question():
    assert list(docstrings_without_verb(ast.parse('def rows():\n    """What is there."""'))) == [(1, "rows: What")]
    assert list(docstrings_without_verb(ast.parse('def rows():\n    """Return what is there."""'))) == []
