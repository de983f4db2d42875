"""Custom scripts are checked before they run: taken apart here, then on real servers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchhub.embedded.postgres import Cluster
from runners import tools
from runners.contract import Outputs, RunSpec
from runners.tools.pgbench.check import described
from runners.tools.pgbench.statements import Variables, has_commands, meta_commands, statements, unbalanced_line
from runners.tools.pgbench.testing import ask, load, run

PGBENCH = tools.get("pgbench")


@pytest.fixture
def cluster(cluster18: Cluster) -> Cluster:
    return cluster18


def test_statements_are_found_with_the_lines_on_which_they_begin() -> None:
    text = (
        "-- first; a comment\n"
        "\\set aid random(1, \\\n"
        "  10)\n"
        "\n"
        "SELECT ';', \"a;b\", $x$;\n$x$ -- no; end\n"
        "  FROM t; UPDATE t SET a = E'\\';' \\gset\n"
        "/* ; */ SELECT 1 \\; SELECT 2;\n"
        "\\if :aid\n"
        "SELECT 3"
    )
    assert [(statement.line, statement.text) for statement in statements(text)] == [
        (5, "SELECT ';', \"a;b\", $x$;\n$x$  \n  FROM t"),
        (7, "UPDATE t SET a = E'\\';'"),
        (8, "SELECT 1"),
        (8, "SELECT 2"),
        (10, "SELECT 3"),
    ]
    assert [(command.line, command.text) for command in meta_commands(text)] == [
        (2, "\\set aid random(1, \\\n  10)"),
        (9, "\\if :aid"),
    ]


def test_a_statement_is_described_with_a_value_for_each_variable_and_a_table_of_the_lines() -> None:
    text = "\\set a 1\nSELECT :a::int,\n\n :b;\nSELECT 2; SELECT :a,\n ':c';\n"
    values = {"b": 7}
    file, table = described(text, "simple", Variables([text], values), values)
    assert file == "SELECT NULL::int, \n \n 7 \\gdesc\nSELECT 2 \\gdesc\nSELECT NULL, \n ': c' \\gdesc\n"
    assert table == "3 2\n4 5\n6 5\n: 6 c\n"
    assert described(text, "prepared", Variables([text], {}), {})[0].splitlines()[2] == " $2 \\gdesc"


def test_what_may_set_a_variable_is_a_script_an_option_pgbench_itself_or_a_column_of_a_result() -> None:
    texts = ["\\set a 1\n\\ \\\nset b 2\n", "SELECT 1 AS c \\gset of_\n"]
    variables = Variables(texts, {"d": 1})
    assert [name for name in ("a", "b", "of_c", "d", "client_id", "scale") if not variables.may_be_set(name)] == []
    assert [name for name in ("c", "A", "e") if variables.may_be_set(name)] == []
    assert Variables([*texts, "SELECT 1 AS c \\gset\n"], {}).may_be_set("e")
    script = "SELECT 1,\n :e, '10:30', x::e, :d;"
    assert list(variables.unset_in(statements(script))) == [(2, "e")]


@pytest.mark.parametrize("text", ["-- nothing", " \n\n", "-- a\n  -- b\n"])
def test_a_script_of_comments_has_no_command(text: str) -> None:
    assert not has_commands(text)
    assert all(has_commands(f"{text}\n{more}") for more in (";", "\\sleep 1", "SELECT 1", "/* sent as it is */"))


INTO_PSQL = (
    ("SELECT :a;\nSELECT 2;\n", {"a": "1 \\! touch found"}),
    ("SELECT ':a';\nSELECT 2;\n", {"a": "' \\! touch found"}),
    ("/* /* */ \\! touch found */ SELECT 1;\nSELECT 2;\n", {}),
)


@pytest.mark.parametrize(("text", "variables"), INTO_PSQL)
def test_what_psql_might_take_for_a_command_of_its_own_is_not_described(text: str, variables: dict[str, str]) -> None:
    assert described(text, "simple", Variables([text], variables), variables) == ("SELECT 2 \\gdesc\n", "1 2\n")


@pytest.mark.target
@pytest.mark.parametrize(("text", "variables"), INTO_PSQL)
def test_the_check_of_a_script_runs_no_program_on_the_driver(
    cluster: Cluster, spec: RunSpec, tmp_path: Path, text: str, variables: dict[str, str]
) -> None:
    load(cluster, tmp_path, spec)
    scripts = {"script": "custom", "scale": 1, "scripts": [{"text": text}], "variables": variables}
    run(cluster, tmp_path, PGBENCH.verify_command(replace(spec, parameters=scripts)))
    assert not list(tmp_path.rglob("found"))


def verified(cluster: Cluster, folder: Path, spec: RunSpec, *texts: str, mode: str = "simple") -> Outputs:
    scripts = [{"text": text} for text in texts]
    parameters = {"script": "custom", "scale": 1, "scripts": scripts, "query_mode": mode}
    return run(cluster, folder, PGBENCH.verify_command(replace(spec, parameters=parameters)))


GOOD = "\\set aid random(1, 100000)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"


@pytest.mark.target
def test_errors_of_syntax_are_found_before_anything_is_executed(
    cluster: Cluster, spec: RunSpec, tmp_path: Path
) -> None:
    load(cluster, tmp_path, spec)
    writes = "BEGIN;\nINSERT INTO pgbench_history (tid) VALUES (:client_id);\nDELETE FROM pgbench_tellers;\nEND;\n"
    for mode in ("simple", "prepared"):
        assert verified(cluster, tmp_path, spec, GOOD, writes, mode=mode).returncode == 0
    unknown = verified(cluster, tmp_path, spec, GOOD, GOOD + "\\sett x 1\n")
    assert unknown.returncode == 3
    assert b"Script 2, line 3: error: " in unknown.stderr
    expression = verified(cluster, tmp_path, spec, "\n\\set x 1 +\n")
    assert b"Script 1, line 2: error: " in expression.stderr
    for mode in ("simple", "prepared"):
        statement = verified(cluster, tmp_path, spec, GOOD, "SELECT 1;\n\nSELEC\n :aid;\n", mode=mode)
        assert statement.returncode == 3
        assert b'Script 2, line 3: error: syntax error at or near "SELEC"' in statement.stderr
    assert (
        ask(cluster, tmp_path, "SELECT (SELECT count(*) FROM pgbench_history), (SELECT count(*) FROM pgbench_tellers)")
        == "0|10"
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\\if 1\nSELECT 1;\n\\endif\n", None),
        ("SELECT 1;\n\\if 1\n\\if 2\nSELECT 2;\n \\ENDIF\n", 2),
        ("\\if 1\n\\else\nSELECT 1;\n\\elif 0\n\\endif", 4),
        ("\\if 1\n\\elif 2\n\\else\n\\else\n\\endif", 4),
        ("SELECT 1;\n\n\\endif\n", 3),
        ("\\iffy\nSELECT 'x';\n", None),
    ],
)
def test_the_line_is_found_at_which_conditions_do_not_close(text: str, line: int | None) -> None:
    assert unbalanced_line(text) == line


@pytest.mark.target
def test_an_if_without_its_end_is_found_before_the_run_with_its_line(
    cluster: Cluster, spec: RunSpec, tmp_path: Path
) -> None:
    load(cluster, tmp_path, spec)
    open_if = verified(cluster, tmp_path, spec, GOOD, "SELECT 1;\n\n\\if :client_id\nSELECT 2;\n")
    assert open_if.returncode == 3
    assert open_if.stderr.endswith(b"Script 2, line 3: error: \\if without matching \\endif\n")
    late = verified(cluster, tmp_path, spec, "\\if 1\n\\else\nSELECT 1;\n\\elif 0\n\\endif\n")
    assert b"Script 1, line 4: error: " in late.stderr
    assert verified(cluster, tmp_path, spec, "\\if 1\nSELECT 1;\n\\endif\n").returncode == 0


@pytest.mark.target
def test_an_error_of_syntax_is_told_with_its_own_line_not_that_of_the_statement(
    cluster: Cluster, spec: RunSpec, tmp_path: Path
) -> None:
    load(cluster, tmp_path, spec)
    text = "-- reads\nSELECT abalance /* of\n\nthe account */\n\nFROM pgbench_accounts\nWHER aid = 1;\nSELECT 1;\n"
    for mode in ("simple", "prepared"):
        outputs = verified(cluster, tmp_path, spec, GOOD, text, mode=mode)
        assert (outputs.returncode, outputs.stderr.startswith(b"Script 2, line 7: error: ")) == (3, True), (
            outputs.stderr
        )
    shared_line = verified(cluster, tmp_path, spec, "SELECT\n1; SELECT '\n\n',\n 2 FRO t;\n")
    assert shared_line.stderr == b'Script 1, line 5: error: syntax error at or near "t"\n'


@pytest.mark.target
def test_a_variable_that_nothing_sets_is_found_before_the_run(cluster: Cluster, spec: RunSpec, tmp_path: Path) -> None:
    load(cluster, tmp_path, spec)
    statement, expression = "SELECT 1;\nSELECT 1,\n :undefined_one;\n", "\\set a 1\n\\set b :undefined_one + 1\n"
    sentence = b'error: nothing sets the variable "undefined_one"\n'
    for mode in ("simple", "prepared"):
        outputs = verified(cluster, tmp_path, spec, GOOD, statement, mode=mode)
        assert (outputs.returncode, outputs.stderr) == (3, b"Script 2, line 3: " + sentence)
        outputs = verified(cluster, tmp_path, spec, expression, mode=mode)
        assert (outputs.returncode, outputs.stderr) == (3, b"Script 1, line 2: " + sentence)
    left_as_they_are = "SELECT '12:undefined_one', (ARRAY[1, 2])[1:n] FROM (SELECT 2 AS n) AS t;\n"
    assert verified(cluster, tmp_path, spec, left_as_they_are).returncode == 0
    assert verified(cluster, tmp_path, spec, "SELECT :PORT;").stderr.endswith(b'sets the variable "PORT"\n')
    assert verified(cluster, tmp_path, spec, "SELECT 1 AS n \\gset\nSELECT :n;\n").returncode == 0


@pytest.mark.target
def test_an_error_in_the_init_script_is_told_with_its_line(cluster: Cluster, spec: RunSpec, tmp_path: Path) -> None:
    def reason(init: str) -> str:
        parameters = {"script": "custom", "scale": 1, "scripts": [{"text": "SELECT 1;"}], "init": init}
        load_spec = replace(spec, parameters=parameters, kind="load")
        outputs = run(cluster, tmp_path, PGBENCH.load_command(load_spec))
        assert outputs.returncode == 1
        return PGBENCH.parse(load_spec, outputs).reason

    beginning = "The load of the data set ended with code 1: Init script"
    assert reason("SELECT 1;\n\nSELECT a\nFRO b") == f'{beginning}, line 4: error: syntax error at or near "b".'
    assert reason("SELECT 1;\nSELECT 1 / 0") == f"{beginning}: error: division by zero."


@pytest.mark.target
def test_an_init_script_belongs_to_the_data_set(cluster: Cluster, spec: RunSpec, tmp_path: Path) -> None:
    init = "CREATE TABLE own (id int);\nINSERT INTO own VALUES (1)"
    parameters = {"script": "custom", "scale": 1, "scripts": [{"text": "SELECT id FROM own;"}], "init": init}
    own = replace(spec, parameters=parameters)
    load(cluster, tmp_path, spec)
    refused = run(cluster, tmp_path, PGBENCH.verify_command(own))
    assert refused.returncode == 1 and b"init none" in refused.stderr
    load(cluster, tmp_path, own)
    assert run(cluster, tmp_path, PGBENCH.verify_command(own)).returncode == 0
    assert ask(cluster, tmp_path, "SELECT count(*) FROM own") == "1"
    assert run(cluster, tmp_path, PGBENCH.verify_command(spec)).returncode == 1
    ask(cluster, tmp_path, "DROP TABLE own")
