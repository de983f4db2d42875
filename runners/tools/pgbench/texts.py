"""Check the texts that a person writes for pgbench: custom scripts, their variables, and the init script."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from runners.tools.kinds import LONGEST_SCRIPT

from .statements import CONTINUED, has_commands

# pgbench runs these on the driver's shell. It allows blanks and continued lines between backslash and name. What only
# begins like them is refused as well: no version has another command of that beginning, and one might abbreviate.
SHELL_COMMAND = re.compile(r"\\[ \t\r\f\v]*(?:set)?sh", re.IGNORECASE)
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_variables(variables: Mapping[str, Any]) -> None:
    """Raise ValueError, with one sentence, for names or values that pgbench cannot take."""
    for name, value in variables.items():
        if not VARIABLE_NAME.fullmatch(name) or "\0" in str(value):
            raise ValueError(f"{name!r} cannot be a variable of pgbench; use letters, digits and underscores.")


def check_text(number: int, text: Any) -> None:
    """Raise ValueError, with one sentence, for what is no script or runs commands on the driver."""
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise ValueError("A custom script must be text, not empty and without NUL characters.")
    if match := SHELL_COMMAND.search(CONTINUED.sub("", text)):
        where = f"Script {number}, line {_line_without_continuations(text, match.start())}"
        raise ValueError(f"{where}: \\shell and \\setshell run commands on the driver; take them out.")


def check_new_text(number: int, text: str) -> None:
    """Raise ValueError, with one sentence, for what nobody may write any more; what is there already stays readable."""
    check_text(number, text)
    if not has_commands(text):
        raise ValueError(f"Script {number} has comments only, which pgbench refuses: write a statement, or nothing.")
    check_length(f"Script {number}", text)


def check_length(subject: str, text: str) -> None:
    """Raise ValueError, with one sentence, for a script that is too long. An end of a line is one character."""
    if (length := len(text.replace("\r\n", "\n"))) > LONGEST_SCRIPT:
        raise ValueError(f"{subject} has {length:,} characters: {LONGEST_SCRIPT:,} at most, so shorten it.")


def _line_without_continuations(text: str, at: int) -> int:
    """Return the line, from 1, of a place in the text that CONTINUED has been taken out of."""
    for gap in CONTINUED.finditer(text):
        if gap.start() > at:
            break
        at += len(gap[0])
    return text.count("\n", 0, at) + 1


def check_weight(weight: Any) -> None:
    if isinstance(weight, bool) or not isinstance(weight, int) or weight < 1:
        raise ValueError(f"The weight of a custom script must be a whole number from 1, not {weight!r}.")


def check_init(init: Any) -> None:
    """Raise ValueError, with one sentence, for what is no SQL for the server."""
    if not isinstance(init, str) or "\0" in init:
        raise ValueError("The init script must be text, without NUL characters.")
    if re.search(r"^[^\S\n]*\\", init, re.MULTILINE):
        raise ValueError(
            "The init script is SQL for the server: it may not hold commands of psql, such as \\! or \\copy."
        )
