"""The files that pgbench reads its scripts from: those of a person, and all of them where clients think."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from runners.contract import RunSpec
from runners.tools.shell import program

from ..options import Version
from ..parameters import CUSTOM, Parameters

# Before 9.6 the built-in scripts have a switch each, and the default has none.
OLD_SWITCHES = {"select-only": ["-S"], "simple-update": ["-N"], "tpcb-like": []}


def names(parameters: Parameters) -> tuple[str, ...]:
    """Return the names of the files; a built-in script has one where something stands before it."""
    if parameters.script != CUSTOM:
        return (f"{parameters.script}.sql",) if parameters.think else ()
    return tuple(f"script_{number}.sql" for number in range(len(parameters.scripts)))


def words(parameters: Parameters, version: Version) -> Iterator[str]:
    """Yield the words of pgbench's command line that name its scripts."""
    if not (files := names(parameters)):
        yield from ["-b", parameters.script] if version >= (9, 6) else OLD_SWITCHES[parameters.script]
        return
    # With files alone, pgbench takes :scale to be 1 unless it is told.
    yield from ["-s", str(parameters.scale)]
    weights = [script.weight for script in parameters.scripts] or [1]
    for name, weight in zip(files, weights, strict=True):
        yield from ["-f", f"{name}@{weight}" if version >= (9, 6) else name]


def write_command(spec: RunSpec, parameters: Parameters) -> str:
    """Return lines that end in &&: a script that a full disk cut short must not be run."""
    if not (think := parameters.think):
        return write_own_command(parameters)
    if parameters.script != CUSTOM:
        # pgbench itself tells what its script is, on stderr.
        text = f"{program(spec, 'pgbench')} --show-script={parameters.script} 2>&1"
        return f"{{ {_printed(think.script_lines())} && {text}; }} > {parameters.script}.sql &&\n"
    texts = [(*think.script_lines(), script.text) for script in parameters.scripts]
    return "".join(f"{_printed(text)} > {name} &&\n" for name, text in zip(names(parameters), texts, strict=True))


def write_own_command(parameters: Parameters) -> str:
    """Return the same lines for the scripts as a person wrote them, in which pgbench names the lines of errors."""
    texts = [(script.text,) for script in parameters.scripts]
    return "".join(f"{_printed(text)} > script_{number}.sql &&\n" for number, text in enumerate(texts))


def _printed(lines: Sequence[str]) -> str:
    return f"printf '%s\\n' {shlex.join(lines)}"
