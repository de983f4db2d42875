"""The settings that a server says it knows, as rows of its pg_settings. What it says is never believed."""

from __future__ import annotations

import json
import re
from typing import Any

from runners.readings import storable

MOST_PARAMETERS, LONGEST_NAME, MOST_CHOICES = 2000, 200, 100
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,99}")
KINDS = ("bool", "integer", "real", "string", "enum")
AMOUNT = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:e[+-]?[0-9]{1,3})?")
AMOUNTS = ("lowest", "highest", "default")
COLUMNS = ("kind", "unit", "context", "lowest", "highest", "default")
FURTHER = ("source",)  # what only a server that runs can say
# What overrides ALTER SYSTEM, by the words of pg_settings, for the session that asks.
OVERRIDING = ("command line", "environment variable", "global", "database", "user", "database user", "client")
# The rows of a server that runs: its default is what is in force. Texts may be secrets, and none of them is needed.
IN_FORCE_QUERY = """\
SELECT json_object_agg(name, json_build_object('kind', vartype, 'unit', unit, 'context', context, 'lowest', min_val,
    'highest', max_val, 'choices', enumvals, 'default', CASE WHEN vartype <> 'string' THEN reset_val END,
    'source', source)) FROM pg_settings WHERE name !~ '[.]'"""


def read_parameters(text: str) -> dict[str, Any]:
    """Return the settings by name, with what is not empty of each.

    Raises ValueError, TypeError or KeyError where they make no sense: plans of all hosts reckon with those of a build.
    """
    rows = json.loads(text)
    if not isinstance(rows, dict) or len(rows) > MOST_PARAMETERS:
        raise ValueError("These are no settings of a server.")
    return {name: _parameter(row) for name, row in rows.items() if NAME.fullmatch(name)}


def _parameter(row: Any) -> dict[str, Any]:
    names = (*COLUMNS, *(name for name in FURTHER if name in row))
    texts = {name: str(storable(row[name]) or "")[:LONGEST_NAME] for name in names}
    if texts["kind"] not in KINDS:
        raise ValueError(f"{texts['kind']!r} is no kind of settings.")
    is_number = texts["kind"] in ("integer", "real")
    if is_number and not all(AMOUNT.fullmatch(texts[name]) for name in AMOUNTS if texts[name]):
        raise ValueError("The bounds of a setting are no numbers.")
    choices = [str(storable(choice))[:LONGEST_NAME] for choice in (row["choices"] or [])[:MOST_CHOICES]]
    return {**{name: value for name, value in texts.items() if value}, **({"choices": choices} if choices else {})}
