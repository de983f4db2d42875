"""The form fields of a pgbench workload: one of its own scripts, or custom ones; and what published reports ran."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from runners.tools.kinds import (
    Choice,
    Kind,
    Preset,
    PublishedWorkload,
    Scripts,
    Sql,
    Values,
    Variables,
    WholeNumber,
    chosen_from,
)

from .parameters import (
    BUILTIN_SCRIPTS,
    CUSTOM,
    DEPENDENT,
    FIELDS,
    HIGHEST_SCALE,
    OPTIONS,
    QUERY_MODES,
    read,
    used_options,
)
from .texts import check_init, check_length, check_new_text, check_variables

REPORT_B = r"""\set naccounts 100000 * :scale
\set aid random(1, :naccounts - 10000)
SELECT count(abalance) FROM pgbench_accounts WHERE aid BETWEEN :aid AND :aid + 10000;"""

PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "report-b": {
            "title": "Report B: count over 10,000 accounts",
            "name": "Report B, custom transaction, scale 1000",
            "parameters": {
                "script": "custom",
                "scale": 1000,
                "query_mode": "simple",
                "scripts": [{"text": REPORT_B, "weight": 1}],
            },
            "remark": (
                "SRA OSS Japan, PostgreSQL on POWER8, second test. Its \\setrandom is written as \\set and random(), "
                "and the scale is given to pgbench, which the printed command leaves out."
            ),
        }
    }
)

# What the reports ran, by the name of the plan that carries it out again.
PUBLISHED: Mapping[str, tuple[PublishedWorkload, ...]] = MappingProxyType(
    {
        "report-a": (
            PublishedWorkload(
                name="select-only", parameters={"script": "select-only", "query_mode": "simple", "scale": 100}
            ),
        ),
        "report-b": (
            PublishedWorkload(
                name="select-only", parameters={"script": "select-only", "query_mode": "simple", "scale": 1000}
            ),
            PublishedWorkload(name="range count (report B)", parameters=PRESETS["report-b"]["parameters"]),
        ),
    }
)

# Each lasts three minutes. Scale and rates are those of a small machine.
SHAPES = {
    "steps": ("Load in steps", ", ".join(f"{rate_tps} for 45" for rate_tps in (100, 200, 300, 400))),
    "ramp": ("Load on a ramp", ", ".join(f"{rate_tps} for 18" for rate_tps in range(50, 550, 50))),
    "burst": ("Load with a burst", "100 for 60, 500 for 20, 100 for 100"),
}
SHAPE_PRESETS = {
    name: Preset(
        title=title,
        name=title,
        parameters={"script": "tpcb-like", "query_mode": "prepared", "scale": 50, "load_shape": text},
        remark="Give its runs a duration of 180 s. The rates are to be changed to those of interest.",
    )
    for name, (title, text) in SHAPES.items()
}

WHOLE_NUMBER = re.compile(r"-?\d{1,18}")
QUERY_MODE = Choice(
    name="query_mode",
    choices=chosen_from(QUERY_MODES),
    help_text="How statements are sent; prepared saves planning.",
)
SCALE = WholeNumber(
    name="scale",
    unit="for the scale",
    lowest=1,
    highest=HIGHEST_SCALE,
    default=10,
    help_text="100,000 accounts each, about 15 MB: 10 is 150 MB, 1,000 is 15 GB. With scripts that write, choose "
    "it larger than the number of clients, or they wait for each other.",
)
# Any other parameter is asked for as its entry in parameters.py says.
FURTHER = tuple(replace(option.question, is_rare=True) for option in OPTIONS.values() if option.question)


def _check_new_init(init: str) -> None:
    check_init(init)
    check_length("The init script", init)


def _further(values: Values, before: Values) -> dict[str, Any]:
    """Return what is not the default, so that a digest stays the same when a later release adds a parameter.

    A default stays where it was written out before: a revision in which nothing differs is none.
    """
    names = [question.name for question in FURTHER]
    sent = {name: FIELDS[name].default if values.get(name) in (None, "") else values[name] for name in names}
    sent |= {name: before.get(name, FIELDS[name].default) for name, other in DEPENDENT.items() if not sent[other]}
    is_kept = {name: name in before and before[name] == value for name, value in sent.items()}
    return {name: value for name, value in sent.items() if is_kept[name] or value != FIELDS[name].default}


def _others(before: Values) -> dict[str, Any]:
    """Return the parameters that no form asks for."""
    names = {question.name for question in FURTHER}
    return {name: value for name, value in before.items() if name not in names}


def _builtin(values: Values, before: Values) -> dict[str, Any]:
    usual = {name: values[name] for name in ("script", "query_mode", "scale")}
    return {**_others(before), **usual, **_further(values, before)}


def _custom(values: Values, before: Values) -> dict[str, Any]:
    variables = {
        name: int(text) if WHOLE_NUMBER.fullmatch(text) else text for name, text in values["variables"].items()
    }
    optional = {"variables": variables, "init": values["init"].replace("\r\n", "\n").strip()}
    return {
        **{name: value for name, value in _others(before).items() if name not in optional},
        "script": CUSTOM,
        "scripts": [{**script, "text": script["text"].replace("\r\n", "\n")} for script in values["scripts"]],
        **{name: value for name, value in optional.items() if value},
        **{name: values[name] for name in ("query_mode", "scale")},
        **_further(values, before),
    }


BUILTIN = Kind(
    name="pgbench",
    title="pgbench",
    fields=(
        Choice(
            name="script",
            choices=chosen_from(BUILTIN_SCRIPTS),
            help_text="select-only reads one account; simple-update and tpcb-like write in each transaction.",
        ),
        QUERY_MODE,
        SCALE,
        *FURTHER,
    ),
    refused_at="scale",
    to_parameters=_builtin,
    presets=SHAPE_PRESETS,
)
CUSTOM_SCRIPTS = Kind(
    name="scripts",
    title="pgbench with custom scripts",
    fields=(
        Scripts(
            name="scripts",
            check=check_new_text,
            help_text=r"As pgbench reads it: \set, \if and SQL. \shell and \setshell are refused.",
        ),
        Variables(
            name="variables",
            label="Variables",
            check=check_variables,
            example="cutoff = 10000",
            help_text="A line each, name = value: pgbench's option -D.",
            json_help="Each name with its value: pgbench's option -D.",
        ),
        Sql(
            name="init",
            label="Init script",
            check=_check_new_init,
            help_text="SQL for psql, run after each load of pgbench's own tables; it belongs to the data set. Begin "
            "with DROP TABLE IF EXISTS of what it creates: a second load finds that there.",
        ),
        QUERY_MODE,
        SCALE,
        *FURTHER,
    ),
    refused_at="scripts",
    to_parameters=_custom,
    has_scripts=True,
    presets={name: Preset(**preset) for name, preset in PRESETS.items()},
)


def peculiarities(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """Return in words what sets a workload apart from one of the same script and scale; empty if it cannot be read."""
    try:
        return tuple(described.worded(value) for _, described, value in used_options(read(parameters)))
    except ValueError:
        return ()
