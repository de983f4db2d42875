"""Custom scripts checked on their driver before anything is run: by pgbench's parser, then by the server's.

pgbench reads all its scripts before it connects, so that it need not find a server. The statements are described by
psql (\\gdesc), which has the server parse but not execute them; only errors of syntax count, because what a statement
needs may be made by the one before it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping

from runners.contract import RunSpec
from runners.tools.pgbench_parameters import Parameters, version_of
from runners.tools.shell import program

DESCRIBES_SINCE = (11,)
META_COMMAND = re.compile(r"[ \t\r\f\v]*\\(?:\\[ \t]*\r?\n|[^\n])*")
CONDITION = re.compile(r"[ \t]*\\[ \t]*(if|elif|else|endif)\b", re.IGNORECASE)
BLANK = re.compile(r"\s+|--[^\n]*|/\*.*?\*/", re.DOTALL)
# What ends a statement, and what may hold a semicolon that does not.
PIECE = re.compile(
    r"(?P<blank>--[^\n]*|/\*.*?\*/)"
    r"|(?P<end>;|\\(?:;|(?:gset|aset)\b[^\n]*))"
    r"|(?P<text>[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$|.)",
    re.DOTALL,
)
VARIABLE = re.compile(r"(?<!:):([A-Za-z_][A-Za-z0-9_]*)")


def statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line, statement) of a script, lines counted from 1; commands of pgbench and comments are left out."""
    at = 0
    while at < len(text):
        at_line_start = not text[:at].rpartition("\n")[2].strip()
        if at_line_start and (meta := META_COMMAND.match(text, at)):
            at = meta.end() + 1
        elif blank := BLANK.match(text, at):
            at = blank.end()
        else:
            end, statement = _statement(text, at)
            yield text.count("\n", 0, at) + 1, statement
            at = end


def _statement(text: str, at: int) -> tuple[int, str]:
    """(where the next one begins, this one on one line)"""
    pieces: list[str] = []
    for piece in PIECE.finditer(text, at):
        if piece["end"]:
            return piece.end(), _one_line(pieces)
        pieces.append(" " if piece["blank"] else piece["text"])
    return len(text), _one_line(pieces)


def _one_line(pieces: list[str]) -> str:
    return "".join(piece if len(piece) > 1 else piece.replace("\n", " ") for piece in pieces).strip()


def described(text: str, query_mode: str, variables: Mapping[str, object]) -> str:
    """The script as psql is to describe it: every statement begins on its own line of the script.

    A statement with a backslash is left out: psql has commands that run programs on the driver, and what pgbench sends
    as text (a variable's value, a comment in a comment) might become one of them here.
    """
    lines: list[str] = []
    for line, statement in statements(text):
        filled = _filled(statement, query_mode, variables)
        if "\\" in filled:
            continue
        lines += [""] * (line - 1 - len(lines))
        if len(lines) >= line:
            lines[-1] += f" \\\\ {filled} \\gdesc"
        else:
            lines.append(f"{filled} \\gdesc")
    return "".join(f"{line}\n" for line in lines)


def _filled(statement: str, query_mode: str, variables: Mapping[str, object]) -> str:
    """With a value for each variable: what is known of it, or NULL, which fits any type; prepared ones stay open."""
    if query_mode == "simple":
        return VARIABLE.sub(lambda found: str(variables.get(found[1], "NULL")), statement)
    numbers = iter(range(1, statement.count(":") + 1))
    return VARIABLE.sub(lambda _: f"${next(numbers)}", statement)


def check_command(spec: RunSpec, parameters: Parameters) -> str:
    """sh text that says on stderr what is wrong with the first script that has an error, and then fails.

    The scripts lie in the current folder.
    """
    names = [f"script_{number}.sql" for number in range(len(parameters.scripts))]
    files = " ".join(f"-f {name}" for name in names)
    # A folder that is not there: with the scripts in order, pgbench fails for want of a server.
    parsed = f'PGHOST="$(pwd)/nowhere" {program(spec, "pgbench")} -n -t 1 {files} 2>&1'
    parts = [f"said=$({parsed} | {_sentence('script', r'', *_conditions(parameters))} | head -n 1)"]
    if version_of(spec.tool_version) >= DESCRIBES_SINCE:
        parts += [_described_command(spec, parameters, number) for number in range(len(names))]
    return "\n".join([*parts, '[ -z "$said" ] || { printf "%s\\n" "$said" >&2; false; }', ""])


def _described_command(spec: RunSpec, parameters: Parameters, number: int) -> str:
    text = described(parameters.scripts[number].text, parameters.query_mode, parameters.variables or {})
    run = f"{program(spec, 'psql')} -X -q -A -t -w -v VERBOSITY=verbose -f described_{number}.sql 2>&1 > /dev/null"
    return f"""\
printf '%s' {shlex.quote(text)} > described_{number}.sql
[ -n "$said" ] || said=$({run} | {_sentence("described", "ERROR:  42601: ")} | head -n 1)
rm -f described_{number}.sql"""


def _conditions(parameters: Parameters) -> Iterator[str]:
    """sed expressions for what pgbench says of \\if and its like: it names the command by its number, and no line."""
    for number, script in enumerate(parameters.scripts):
        line = unbalanced_line(script.text)
        where = f"line {line}" if line else r"command \1"
        said = rf'^.*condition error in script "script_{number}\.sql" command \([0-9]*\): \(.*\)$'
        yield rf"s/{said}/Script {number}, {where}: error: \2/p"


def unbalanced_line(text: str) -> int | None:
    """The first line with an \\elif, \\else or \\endif that fits no \\if, or of the last \\if without its \\endif."""
    open_ifs: list[tuple[int, bool]] = []  # line, and whether its \\else has been
    for at, found in enumerate(map(CONDITION.match, text.split("\n")), start=1):
        word = found[1].lower() if found else ""
        if word == "if":
            open_ifs.append((at, False))
        elif word and (not open_ifs or (word != "endif" and open_ifs[-1][1])):
            return at
        elif word == "endif":
            open_ifs.pop()
        elif word == "else":
            open_ifs[-1] = (open_ifs[-1][0], True)
    return open_ifs[-1][0] if open_ifs else None


def _sentence(file: str, kind: str, *more: str) -> str:
    """sed that makes 'Script 2, line 7: ...' of a message about a line; script_0 is the first one."""
    numbers = "".join(f"s/^Script {n},/Script {n + 1},/;" for n in reversed(range(10)))
    found = rf"s/^.*{file}_\([0-9]*\)\.sql:\([0-9]*\): {kind}\(.*\)$/Script \1, line \2: error: \3/p"
    expressions = " ".join(f"-e {shlex.quote(one)}" for one in (found, *more))
    return f"sed -n {expressions} | sed {shlex.quote(numbers)}"
