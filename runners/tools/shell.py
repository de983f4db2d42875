"""sh text that load generators share: the programs of the driver's PostgreSQL, and the check of a data set."""

from __future__ import annotations

import shlex

from runners.contract import RunSpec


def program(spec: RunSpec, name: str) -> str:
    return shlex.quote(f"{spec.bin_directory.rstrip('/')}/{name}")


def psql(spec: RunSpec, statement: str = "") -> str:
    """Return psql that prints bare values and stops at errors: of this statement, or of what further words name."""
    words = f"{program(spec, 'psql')} -X -q -A -t -w -v ON_ERROR_STOP=1"
    return f"{words} -c {shlex.quote(statement)}" if statement else words


def verified(spec: RunSpec, kind: str, query: str, expected: str, then: str = "") -> str:
    """Return lines that end with 0 where the query gives the expected line, 1 where not, 2 where nobody can tell.

    Then a sentence is on stderr. The lines of `then` come before that end: they may read and set $rc.
    """
    line = shlex.quote(expected)
    return f"""\
rc=0
found=$({psql(spec, query)} 2>&1) || rc=$?
first=$(printf '%s\\n' "$found" | head -n 1)
case $rc in
0)  if [ "$found" != {line} ]; then
        printf 'The data set is not the one asked for: found "%s", expected "%s".\\n' "$found" {line} >&2
        rc=1
    fi ;;
1)  printf 'There is no {kind} data set: %s\\n' "$first" >&2 ;;
*)  printf 'The server cannot be asked for its data set: %s\\n' "$first" >&2
    rc=2 ;;
esac
{then}(exit "$rc")
"""
