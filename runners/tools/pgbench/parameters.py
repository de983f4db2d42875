"""pgbench's parameters: what a workload may ask for, which version has it, and what it needs loaded."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from runners.contract import RunSpec
from runners.tools.kinds import LONGEST_SCRIPT

from .statements import CONTINUED, has_commands

Version = tuple[int, ...]

OLDEST: Version = (9, 3)
BUILTIN_SCRIPTS = ("select-only", "simple-update", "tpcb-like")
CUSTOM = "custom"
QUERY_MODES = ("simple", "extended", "prepared")
PARTITION_METHODS = ("range", "hash")
ACCOUNTS_PER_SCALE = 100_000
# What -F and -s can carry in every version, and more than any published data set has.
HIGHEST_SCALE = 2_000_000

# pgbench runs these on the driver's shell. It allows blanks and continued lines between backslash and name. What only
# begins like them is refused as well: no version has another command of that beginning, and one might abbreviate.
SHELL_COMMAND = re.compile(r"\\[ \t\r\f\v]*(?:set)?sh", re.IGNORECASE)
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Script:
    """A custom script: its text as pgbench reads it, and its weight among the workload's scripts."""

    text: str
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Parameters:
    """pgbench's parameters. `script` is a built-in one, or "custom" for `scripts`.

    Of the data set: `scale` to `partition_method`, and `init`, SQL that the server runs after the load. Of the load:
    the rest. `rate_tps` is -R (0: as fast as it goes), `latency_limit_ms` is -L (0: none), `variables` is -D,
    `connect_each` is -C (a connection for each transaction).
    """

    script: str
    scale: int
    fillfactor: int = 100
    foreign_keys: bool = False
    unlogged: bool = False
    partitions: int = 0
    partition_method: str = "range"
    query_mode: str = "simple"
    scripts: tuple[Script, ...] = ()
    variables: Mapping[str, int | float | str] | None = None
    rate_tps: float = 0
    latency_limit_ms: float = 0
    connect_each: bool = False
    max_tries: int = 1
    failures_detailed: bool = False
    init: str = ""


DATA_SET_FIELDS = ("scale", "fillfactor", "foreign_keys", "unlogged", "partitions", "partition_method")
FIELDS = {field.name: field for field in fields(Parameters)}
WHOLE_NUMBERS = ("scale", "fillfactor", "partitions", "max_tries")
NUMBERS = ("rate_tps", "latency_limit_ms")
SWITCHES = ("foreign_keys", "unlogged", "connect_each", "failures_detailed")


def version_of(text: str) -> Version:
    """Return the first numbers of "16.14", "18beta1" or "pgbench (PostgreSQL) 9.6.24"; else ValueError."""
    match = re.search(r"(\d+)(?:\.(\d+))?", text)
    if not match:
        raise ValueError(f"{text!r} is no version of pgbench; give it as pgbench --version prints it.")
    return tuple(int(number) for number in match.groups() if number is not None)


def read(parameters: Mapping[str, Any]) -> Parameters:
    """Return the parameters, checked one by one and together. Raises ValueError with one sentence."""
    unknown = sorted(set(parameters) - set(FIELDS))
    if unknown:
        raise ValueError(f"pgbench has no parameter {unknown[0]!r}; it has: {', '.join(FIELDS)}.")
    for name in ("script", "scale"):
        if name not in parameters:
            raise ValueError(f"pgbench needs the parameter {name!r}.")
    _check_types(parameters)
    scripts = tuple(_script(entry) for entry in _sequence(parameters.get("scripts", ())))
    checked = Parameters(**{**parameters, "scripts": scripts})
    _check_data_set(checked)
    _check_load(checked)
    _check_scripts(checked)
    check_init(checked.init)
    return checked


def _check_types(parameters: Mapping[str, Any]) -> None:
    for name, value in parameters.items():
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if name in WHOLE_NUMBERS and not is_whole:
            raise ValueError(f"pgbench's {name} must be a whole number, not {value!r}.")
        if name in NUMBERS and not (is_whole or isinstance(value, float)):
            raise ValueError(f"pgbench's {name} must be a number, not {value!r}.")
        if name in SWITCHES and not isinstance(value, bool):
            raise ValueError(f"pgbench's {name} must be true or false, not {value!r}.")


def _sequence(value: Any) -> Sequence[Any]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ValueError("pgbench's scripts must be a list of scripts, each with its text and weight.")
    return value


def _script(entry: Any) -> Script:
    if isinstance(entry, Script):
        return entry
    if not isinstance(entry, Mapping) or not {"text"} <= set(entry) <= {"text", "weight"}:
        raise ValueError('A custom script must be given as {"text": ..., "weight": ...}.')
    return Script(**entry)


def _check_data_set(parameters: Parameters) -> None:
    if not 1 <= parameters.scale <= HIGHEST_SCALE:
        raise ValueError(f"The scale must be between 1 and {HIGHEST_SCALE:,}, not {parameters.scale}.")
    if not 10 <= parameters.fillfactor <= 100:
        raise ValueError(f"The fill factor must be between 10 and 100, not {parameters.fillfactor}.")
    if parameters.partitions < 0:
        raise ValueError(f"The number of partitions cannot be negative, as {parameters.partitions} is.")
    if parameters.partition_method not in PARTITION_METHODS:
        raise ValueError(f"{parameters.partition_method!r} is no partition method; choose range or hash.")


def _check_load(parameters: Parameters) -> None:
    if parameters.query_mode not in QUERY_MODES:
        names = ", ".join(QUERY_MODES)
        raise ValueError(f"{parameters.query_mode!r} is no query mode of pgbench; choose one of: {names}.")
    if not 0 <= parameters.rate_tps < float("inf"):
        raise ValueError(f"The rate must be 0 (no limit) or more, not {parameters.rate_tps}.")
    if not 0 <= parameters.latency_limit_ms < float("inf"):
        raise ValueError(f"The latency limit must be 0 (none) or more, not {parameters.latency_limit_ms}.")
    if parameters.max_tries < 1:
        raise ValueError(f"A transaction needs at least 1 try, not {parameters.max_tries}.")
    check_variables(parameters.variables or {})


def check_variables(variables: Mapping[str, Any]) -> None:
    """Raise ValueError, with one sentence, for names or values that pgbench cannot take."""
    for name, value in variables.items():
        if not VARIABLE_NAME.fullmatch(name) or "\0" in str(value):
            raise ValueError(f"{name!r} cannot be a variable of pgbench; use letters, digits and underscores.")


def _check_scripts(parameters: Parameters) -> None:
    names = (*BUILTIN_SCRIPTS, CUSTOM)
    if parameters.script not in names:
        raise ValueError(f"pgbench has no script {parameters.script!r}; choose one of: {', '.join(names)}.")
    if (parameters.script == CUSTOM) != bool(parameters.scripts):
        raise ValueError('Custom scripts go with the script "custom", and it needs at least one of them.')
    for number, script in enumerate(parameters.scripts, start=1):
        check_text(number, script.text)
        _check_weight(script.weight)


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


def _check_weight(weight: Any) -> None:
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


def init_digest(parameters: Parameters) -> str:
    """Return the SHA-256 of the init script, "none" without one: the data set's other half."""
    return hashlib.sha256(parameters.init.encode()).hexdigest() if parameters.init else "none"


def scripts_digest(parameters: Mapping[str, Any]) -> str:
    """Return the SHA-256, in hex, of the custom scripts with weights, variables and init script; "" without scripts.

    Two workloads with the same digest send the same statements.
    """
    if not parameters.get("scripts"):
        return ""
    checked = read(parameters)
    form = {
        "version": 1,
        "scripts": [{"text": script.text, "weight": script.weight} for script in checked.scripts],
        "variables": {name: str(value) for name, value in (checked.variables or {}).items()},
        "init": checked.init,
    }
    text = json.dumps(form, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def check(spec: RunSpec) -> Parameters:
    """Return the run's parameters. Raises ValueError, with one sentence, for a run that cannot be."""
    version = version_of(spec.tool_version)
    if version < OLDEST:
        raise ValueError(f"pgbench {spec.tool_version} is too old; BenchHub reads 9.3 and newer.")
    parameters = read(spec.parameters)
    _check_version(spec.tool_version, parameters)
    if spec.kind == "measure":
        _check_level(spec)
    return parameters


def _check_version(tool_version: str, parameters: Parameters) -> None:
    weighted = any(script.weight != 1 for script in parameters.scripts)
    needs: tuple[tuple[bool, Version, str], ...] = (
        (parameters.rate_tps > 0, (9, 4), "a rate limit"),
        (parameters.latency_limit_ms > 0, (9, 5), "a latency limit"),
        (weighted, (9, 6), "weights of scripts"),
        (parameters.partitions > 0, (13,), "partitions"),
        (parameters.max_tries > 1, (15,), "more than one try"),
        (parameters.failures_detailed, (15,), "failures in detail"),
    )
    for is_used, since, feature in needs:
        if is_used and version_of(tool_version) < since:
            release = ".".join(map(str, since))
            raise ValueError(f"pgbench {tool_version} does not know {feature}; use {release} or newer.")


def _check_level(spec: RunSpec) -> None:
    if spec.clients < 1:
        raise ValueError(f"A run needs at least 1 client, not {spec.clients}.")
    if not 1 <= spec.threads <= spec.clients:
        raise ValueError(f"The threads must be between 1 and the clients ({spec.clients}), not {spec.threads}.")
    if spec.duration_s < 1:
        raise ValueError(f"A run must take at least 1 second, not {spec.duration_s}.")
    if spec.warmup_s < 0:
        raise ValueError(f"A warm-up cannot take {spec.warmup_s} seconds.")
    if not 0 <= spec.log_sampling_rate <= 1:
        raise ValueError(f"The share of logged transactions must be from 0 to 1, not {spec.log_sampling_rate}.")


def data_set(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the recipe of the data set: tool and scale, and anything else that is not the default.

    Leaving the defaults out keeps a recipe the same when a later release adds a field to it. The partition
    method is left out without partitions, where it means nothing.
    """
    checked = read(parameters)
    recipe: dict[str, Any] = {"tool": "pgbench", "scale": checked.scale}
    for name in DATA_SET_FIELDS[1:]:
        value = getattr(checked, name)
        if value != FIELDS[name].default and (name != "partition_method" or checked.partitions):
            recipe[name] = value
    return recipe | ({"init": init_digest(checked)} if checked.init else {})
