"""Custom scripts checked on their driver before anything is run: by pgbench's parser, then by the server's.

pgbench reads all its scripts before it connects, so that it need not find a server. The statements are described by
psql (\\gdesc), which has the server parse but not execute them; only errors of syntax count, because what a statement
needs may be made by the one before it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from runners.contract import RunSpec
from runners.tools.shell import program

from .parameters import Parameters, version_of
from .statements import VARIABLE, Variables, meta_commands, statements, unbalanced_line

DESCRIBES_SINCE = (11,)
# psql names the line of its file at which a statement ends, the server (LINE) that of the error in the statement. The
# table has a line for each statement, "end begin" (where it ends in psql's file and begins in the script), and one for
# each variable that nothing sets, ": line name".
LOCATED_AWK = r"""
function tell() {
    said = message
    message = ""
    if (index(said, "\":\"") && line in unset) said = "nothing sets the variable \"" unset[line] "\""
    print "Script " script ", line " line ": error: " said
    exit
}
BEGIN {
    while ((getline < table) > 0)
        if ($1 == ":") unset[$2] = $3
        else begin[$1] = $2
}
message == "" && /^psql:[^:]*:[0-9]+: [^:]+:  42601: / {
    split($0, part, ":")
    line = begin[part[3]]
    message = $0
    sub(/^psql:[^:]*:[0-9]+: [^:]+:  42601: /, "", message)
    next
}
message != "" && /^LINE [0-9]+: / { line += $2 - 1; tell() }
message != "" && /^(psql|LOCATION):/ { tell() }
END { if (message != "") tell() }
"""


def described(text: str, query_mode: str, variables: Variables, values: Mapping[str, object]) -> tuple[str, str]:
    """Return the script as psql is to describe it, and the table from which LOCATED_AWK tells the lines.

    A statement with a backslash is left out: psql has commands that run programs on the driver, and what pgbench sends
    as text (a variable's value, a comment in a comment) might become one of them here.
    """
    parts: list[str] = []
    table: list[str] = []
    end = 0
    for statement in statements(text):
        sql = _filled(statement.text, query_mode, variables, values)
        if "\\" in sql:
            continue
        # Without the blanks psql would leave out lines that are empty.
        parts.append(sql.replace("\n", " \n") + " \\gdesc\n")
        end += parts[-1].count("\n")
        table.append(f"{end} {statement.line}\n")
    table += [f": {line} {name}\n" for line, name in variables.unset_in(statements(text))]
    return "".join(parts), "".join(table)


def _filled(text: str, query_mode: str, variables: Variables, values: Mapping[str, object]) -> str:
    """Return the text with a value for each variable: the known one, or NULL, of any type; prepared ones stay open.

    One that nothing sets stays, as pgbench leaves it, but with a blank: psql has variables of its own.
    """
    if query_mode == "simple":
        return VARIABLE.sub(lambda match: _value(match[1], variables, values), text)
    numbers = iter(range(1, text.count(":") + 1))
    return VARIABLE.sub(lambda _: f"${next(numbers)}", text)


def _value(name: str, variables: Variables, values: Mapping[str, object]) -> str:
    return str(values.get(name, "NULL")) if variables.may_be_set(name) else f": {name}"


def check_command(spec: RunSpec, parameters: Parameters) -> str:
    """Return sh text that says on stderr what is wrong with the first script that has an error, and then fails.

    The scripts lie in the current folder.
    """
    names = [f"script_{number}.sql" for number in range(len(parameters.scripts))]
    files = " ".join(f"-f {name}" for name in names)
    # A folder that is not there: with the scripts in order, pgbench fails for want of a server.
    parsed = f'PGHOST="$(pwd)/nowhere" {program(spec, "pgbench")} -n -t 1 {files} 2>&1'
    parts = [f"said=$({parsed} | {_sentence(parameters)} | head -n 1)"]
    variables = Variables((script.text for script in parameters.scripts), parameters.variables or {})
    if unset := next(_unset(parameters, variables), None):
        parts.append(f'[ -n "$said" ] || said={shlex.quote(unset)}')
    if version_of(spec.tool_version) >= DESCRIBES_SINCE:
        parts += [_described_command(spec, parameters, variables, number) for number in range(len(names))]
    return "\n".join([*parts, '[ -z "$said" ] || { printf "%s\\n" "$said" >&2; false; }', ""])


def _unset(parameters: Parameters, variables: Variables) -> Iterator[str]:
    """Yield a sentence for each variable that nothing sets where pgbench needs it.

    In a simple query such a name is only left as it is, which the server may take; in the other modes it becomes NULL.
    """
    for number, script in enumerate(parameters.scripts, start=1):
        names = [*variables.unset_in(meta_commands(script.text))]
        names += variables.unset_in(statements(script.text)) if parameters.query_mode != "simple" else []
        yield from (
            f'Script {number}, line {line}: error: nothing sets the variable "{name}"' for line, name in sorted(names)
        )


def _described_command(spec: RunSpec, parameters: Parameters, variables: Variables, number: int) -> str:
    script, values = parameters.scripts[number], parameters.variables or {}
    text, table = described(script.text, parameters.query_mode, variables, values)
    run = f"{program(spec, 'psql')} -X -q -A -t -w -v VERBOSITY=verbose -f described_{number}.sql 2>&1 > /dev/null"
    awk = f"awk -v script={number + 1} -v table=lines_{number} {shlex.quote(LOCATED_AWK)}"
    return f"""\
printf '%s' {shlex.quote(text)} > described_{number}.sql
printf '%s' {shlex.quote(table)} > lines_{number}
[ -n "$said" ] || said=$({run} | {awk})
rm -f described_{number}.sql lines_{number}"""


def _conditions(parameters: Parameters) -> Iterator[str]:
    """Yield sed expressions for what pgbench says of \\if and its like: it names a command by number, and no line."""
    for number, script in enumerate(parameters.scripts):
        line = unbalanced_line(script.text)
        where = f"line {line}" if line else r"command \1"
        pattern = rf'^.*condition error in script "script_{number}\.sql" command \([0-9]*\): \(.*\)$'
        yield rf"s/{pattern}/Script {number}, {where}: error: \2/p"


def _sentence(parameters: Parameters) -> str:
    """Return sed that makes 'Script 2, line 7: ...' of pgbench's message about a line; script_0 is the first one."""
    numbers = "".join(f"s/^Script {n},/Script {n + 1},/;" for n in reversed(range(len(parameters.scripts))))
    pattern = r"s/^.*script_\([0-9]*\)\.sql:\([0-9]*\): \(.*\)$/Script \1, line \2: error: \3/p"
    expressions = " ".join(f"-e {shlex.quote(expression)}" for expression in (pattern, *_conditions(parameters)))
    return f"sed -n {expressions} | sed {shlex.quote(numbers)}"
