"""pgbench's parameters: what a workload may ask for, which version has it, and what it needs loaded."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from runners.contract import RunSpec
from runners.tools.kinds import Choice, Switch, WholeNumber, chosen_from

from .options import OLDEST, Option, Version, option, option_of, times_statements
from .pacing import options as pacing
from .pacing import reserved
from .pacing.shape import Shape
from .pacing.think import Think
from .texts import check_init, check_text, check_variables, check_weight

BUILTIN_SCRIPTS = ("select-only", "simple-update", "tpcb-like")
CUSTOM = "custom"
QUERY_MODES = ("simple", "extended", "prepared")
PARTITION_METHODS = ("range", "hash")
ACCOUNTS_PER_SCALE = 100_000
# What -s can carry in every version, and more than any published data set has.
HIGHEST_SCALE = 2_000_000
# PostgreSQL 18 refuses partitioned tables that are unlogged, and its pgbench no longer makes any.
ONLY_ACCOUNTS_UNLOGGED: Version = (18,)
MOST_PARTITIONS = 10_000
MOST_TRIES = 1_000_000


@dataclass(frozen=True, slots=True)
class Script:
    """A custom script: its text as pgbench reads it, and its weight among the workload's scripts."""

    text: str
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Parameters:
    """pgbench's parameters. `script` is a built-in one, or "custom" for `scripts`.

    What is an `option` says there all that it is: a further one is its entry here, and for the data set its part of
    command.py's FOUND_QUERY. `init` is SQL that the server runs after the load; `variables` is -D.
    """

    script: str
    scale: int
    fillfactor: int = option(
        100,
        feature="fill factors",
        argument="-F {}",
        words="fill factor {}%",
        is_of_data_set=True,
        question=WholeNumber(
            name="fillfactor",
            label="Fill factor, %",
            unit="per cent",
            lowest=10,
            highest=100,
            default=100,
            is_required=False,
            help_text="How full the load packs each page: less than 100 leaves room for updates (pgbench -i -F).",
        ),
    )
    foreign_keys: bool = option(
        False,
        feature="foreign keys",
        argument="--foreign-keys",
        words="foreign keys",
        is_of_data_set=True,
        question=Switch(
            name="foreign_keys",
            label="Foreign keys",
            help_text="Between the four tables, which the server then checks at each write (--foreign-keys).",
        ),
    )
    unlogged: bool = option(
        False,
        feature="unlogged tables",
        argument="--unlogged-tables",
        words="unlogged tables",
        is_of_data_set=True,
        question=Switch(
            name="unlogged",
            label="Unlogged tables",
            help_text="Writes to them are not in the WAL, and a crash empties them (--unlogged-tables).",
        ),
    )
    partitions: int = option(
        0,
        feature="partitions",
        argument="--partitions={}",
        words="{} partitions",
        since=(13,),
        is_of_data_set=True,
        question=WholeNumber(
            name="partitions",
            label="Partitions of the accounts",
            unit="partitions",
            lowest=0,
            highest=MOST_PARTITIONS,
            default=0,
            is_required=False,
            help_text="0: a plain table. Needs pgbench 13 or newer (--partitions).",
        ),
    )
    partition_method: str = option(
        "range",
        feature="partition methods",
        argument="--partition-method={}",
        words="partitioned by {}",
        since=(13,),
        is_of_data_set=True,
        question=Choice(
            name="partition_method",
            label="Partitioned by",
            choices=chosen_from(PARTITION_METHODS),
            is_required=False,
            help_text="It means nothing without partitions (--partition-method).",
        ),
    )
    query_mode: str = "simple"
    scripts: tuple[Script, ...] = ()
    variables: Mapping[str, int | float | str] | None = None
    connect_each: bool = option(
        False,
        feature="connections for each transaction",
        argument="-C",
        words="a connection for each transaction",
        question=Switch(
            name="connect_each",
            label="A connection for each transaction",
            help_text="pgbench's option -C. TPS then includes connecting, and is no measure of the statements alone.",
        ),
    )
    rate_tps: float = option(
        0, feature="a rate limit", argument="-R {:.15g}", words="offered at {:,.15g} TPS", since=(9, 4)
    )
    latency_limit_ms: float = option(
        0, feature="a latency limit", argument="-L {:.15g}", words="latency limit {:,.15g} ms", since=(9, 5)
    )
    load_shape: str = pacing.load_shape()
    think_ms: int = pacing.think_ms()
    think_distribution: str = pacing.think_distribution()
    max_tries: int = option(
        1,
        feature="more than one try",
        argument="--max-tries={}",
        words="up to {} tries of a transaction",
        zero_words="tries of a transaction without a limit",
        since=(15,),
        question=WholeNumber(
            name="max_tries",
            label="Tries of a transaction at most",
            unit="for the tries",
            lowest=0,
            highest=MOST_TRIES,
            default=1,
            is_required=False,
            help_text="With more than 1, a transaction that a serialization error or a deadlock ended is tried again; "
            "with 0 until it succeeds, the run ends or its latency limit has passed. "
            "Needs pgbench 15 or newer (--max-tries).",
        ),
    )
    failures_detailed: bool = option(
        False,
        feature="failures in detail",
        argument="--failures-detailed",
        words="failures by their cause",
        since=(15,),
        question=Switch(
            name="failures_detailed",
            label="Failures by their cause",
            help_text="Counts serialization errors and deadlocks apart. Needs pgbench 15 or newer "
            "(--failures-detailed).",
        ),
    )
    statement_latencies: bool = times_statements()
    init: str = ""

    @property
    def shape(self) -> Shape | None:
        """Return the rates that follow on each other in a run; None where there is no load shape."""
        return pacing.shape_of({"load_shape": self.load_shape})

    @property
    def think(self) -> Think | None:
        """Return how clients pause before each transaction; None where they do not."""
        return pacing.think_of({"think_ms": self.think_ms, "think_distribution": self.think_distribution})

    @property
    def has_report(self) -> bool:
        """Tell whether pgbench reports by statement (-r): where that is asked for, and where clients think."""
        return self.statement_latencies or bool(self.think_ms)


FIELDS = {field.name: field for field in fields(Parameters)}
# Parameters that mean nothing while another has its default.
DEPENDENT = {"partition_method": "partitions", "think_distribution": "think_ms"}
OPTIONS: Mapping[str, Option] = {
    name: described for name, field in FIELDS.items() if (described := option_of(field)) is not None
}


def used_options(parameters: Parameters) -> Iterator[tuple[str, Option, Any]]:
    """Yield (name, option, value) of what is not the default."""
    for name, described in OPTIONS.items():
        if (value := getattr(parameters, name)) != FIELDS[name].default:
            yield name, described, value


def arguments(parameters: Parameters, *, is_of_data_set: bool) -> Iterator[str]:
    """Yield the words of pgbench's command line for what is not the default, of the load or of its data set."""
    for _, described, value in used_options(parameters):
        if described.is_of_data_set == is_of_data_set:
            yield from described.argument.format(value).split()


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
    _check_values(parameters)
    scripts = tuple(_script(entry) for entry in _sequence(parameters.get("scripts", ())))
    checked = Parameters(**{**parameters, "scripts": scripts})
    _check_load(checked)
    _check_scripts(checked)
    check_init(checked.init)
    _check_think(checked)
    if checked.load_shape and (checked.rate_tps or checked.think_ms):
        raise ValueError("A load shape has rates of its own: leave out the other rate, or the think time.")
    return Parameters(**{**parameters, "scripts": scripts, **_idle(checked)})


def _idle(parameters: Parameters) -> dict[str, Any]:
    """Return the defaults of what makes no difference beside the other parameters, so that it tells nothing apart."""
    idle = {name: FIELDS[name].default for name, other in DEPENDENT.items() if not getattr(parameters, other)}
    # Statements are timed with any think time: the report has how long pgbench slept.
    return {**idle, **({"statement_latencies": False} if parameters.think_ms else {})}


def _check_values(parameters: Mapping[str, Any]) -> None:
    scale = parameters["scale"]
    if not isinstance(scale, int) or isinstance(scale, bool):
        raise ValueError(f"pgbench's scale must be a whole number, not {scale!r}.")
    if not 1 <= scale <= HIGHEST_SCALE:
        raise ValueError(f"The scale must be between 1 and {HIGHEST_SCALE:,}, not {scale}.")
    for name, described in OPTIONS.items():
        if name in parameters:
            described.check(name, parameters[name])


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


def _check_load(parameters: Parameters) -> None:
    if parameters.query_mode not in QUERY_MODES:
        names = ", ".join(QUERY_MODES)
        raise ValueError(f"{parameters.query_mode!r} is no query mode of pgbench; choose one of: {names}.")
    if not 0 <= parameters.rate_tps < float("inf"):
        raise ValueError(f"The rate must be 0 (no limit) or more, not {parameters.rate_tps}.")
    if not 0 <= parameters.latency_limit_ms < float("inf"):
        raise ValueError(f"The latency limit must be 0 (none) or more, not {parameters.latency_limit_ms}.")
    check_variables(parameters.variables or {})


def _check_think(parameters: Parameters) -> None:
    if not parameters.think_ms:
        return
    if parameters.rate_tps or parameters.latency_limit_ms:
        raise ValueError("Clients that think offer no rate and have no latency limit: leave out the think time.")
    if parameters.max_tries != 1:
        raise ValueError("A retry would think again: with a think time a transaction has one try.")
    if name := reserved.set_name(parameters.variables or {}, (script.text for script in parameters.scripts)):
        raise ValueError(f"{name} is a variable of the think time: rename it in the scripts and their variables.")


def _check_scripts(parameters: Parameters) -> None:
    names = (*BUILTIN_SCRIPTS, CUSTOM)
    if parameters.script not in names:
        raise ValueError(f"pgbench has no script {parameters.script!r}; choose one of: {', '.join(names)}.")
    if (parameters.script == CUSTOM) != bool(parameters.scripts):
        raise ValueError('Custom scripts go with the script "custom", and it needs at least one of them.')
    for number, script in enumerate(parameters.scripts, start=1):
        check_text(number, script.text)
        check_weight(script.weight)


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
        _check_shape(spec, parameters)
    return parameters


def _check_version(tool_version: str, parameters: Parameters) -> None:
    needs = [(described.since, described.feature) for _, described, _ in used_options(parameters)]
    if any(script.weight != 1 for script in parameters.scripts):
        needs.append(((9, 6), "weights of scripts"))
    for since, feature in needs:
        if version_of(tool_version) < since:
            release = ".".join(map(str, since))
            raise ValueError(f"pgbench {tool_version} does not know {feature}; use {release} or newer.")
    if parameters.unlogged and parameters.partitions and version_of(tool_version) >= ONLY_ACCOUNTS_UNLOGGED:
        raise ValueError(
            f"pgbench {tool_version} makes only the accounts unlogged where they are partitioned, and the other tables "
            "logged; leave out one of the two, or use 17 or older."
        )


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


def _check_shape(spec: RunSpec, parameters: Parameters) -> None:
    if (planned := parameters.shape) is None:
        return
    planned.layers(spec.clients, spec.threads)
    if spec.duration_s != planned.duration_s:
        raise ValueError(f"The load shape takes {planned.duration_s:,} s: give its runs that duration, not another.")


def data_set(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the recipe of the data set: tool and scale, and anything else that is not the default.

    Leaving the defaults out keeps a recipe the same when a later release adds a field to it.
    """
    checked = read(parameters)
    others = {name: value for name, described, value in used_options(checked) if described.is_of_data_set}
    recipe = {"tool": "pgbench", "scale": checked.scale, **others}
    return recipe | ({"init": init_digest(checked)} if checked.init else {})
