"""Say what a run of pgbench was to be, in the terms in which its texts claim something of it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from runners.contract import RunSpec
from runners.tools import claims
from runners.tools.claims import CLIENT_VERSION, CLIENTS, DURATION, LATENCY_LIMIT, RATE, THREADS, Fact

from ..pacing import scripts
from ..parameters import CUSTOM, Parameters, read
from .stated import (
    CONNECTIONS,
    FAILURES,
    PARTITIONS,
    QUERY_MODE,
    SCALE,
    SCALE_VARIABLE,
    SCRIPT,
    SCRIPT_NAMES,
    STATEMENTS,
    TRIES,
    holder,
    shares,
    timing,
    tries_words,
)

SCALE_USED = re.compile(r":scale\b")


def facts_of(spec: RunSpec, *, is_own: bool) -> dict[str, Fact]:
    """Return what the run was to be. `is_own`: by our own command line, which names files and gives the scale."""
    parameters = read(spec.parameters)
    return {
        **level_facts(spec, spec.duration_s),
        SCRIPT: _script_fact(parameters),
        QUERY_MODE: Fact(parameters.query_mode, parameters.query_mode),
        SCALE: claims.number_fact(parameters.scale),
        **_variable_facts(parameters, is_own=is_own),
        PARTITIONS: _partitions_fact(parameters),
        TRIES: Fact(parameters.max_tries, f"{parameters.max_tries:,}" if parameters.max_tries else tries_words(0)),
        FAILURES: Fact(
            parameters.failures_detailed, f"those {'by kind' if parameters.failures_detailed else 'together'}"
        ),
        CONNECTIONS: Fact(parameters.connect_each, f"one for each {holder(parameters.connect_each)}"),
        RATE: Fact(parameters.rate_tps, _limited("at", parameters.rate_tps, "TPS")),
        LATENCY_LIMIT: Fact(parameters.latency_limit_ms, _limited("with", parameters.latency_limit_ms, "ms")),
        **_report_fact(parameters, is_own=is_own),
    }


def _report_fact(parameters: Parameters, *, is_own: bool) -> dict[str, Fact]:
    """Return whether there is a report by statement; nobody else's command needs it for a think time."""
    if parameters.think_ms and not is_own:
        return {}
    return {STATEMENTS: Fact(parameters.has_report, f"one {timing(parameters.has_report)}")}


def _limited(preposition: str, limit: float, unit: str) -> str:
    return f"one {preposition} {limit:,g} {unit}" if limit else "one without"


def level_facts(spec: RunSpec, duration_s: int) -> dict[str, Fact]:
    """Return program, clients, threads and duration; a run that has none of its own is of a number of transactions."""
    facts = {
        CLIENT_VERSION: Fact(spec.tool_version, spec.tool_version),
        CLIENTS: claims.number_fact(spec.clients),
        THREADS: claims.number_fact(spec.threads),
    }
    return facts | ({DURATION: claims.number_fact(duration_s)} if duration_s else {})


def _script_fact(parameters: Parameters) -> Fact:
    if not parameters.scripts:
        # With a pause before it, a built-in script is a file as well.
        kind, pause = (CUSTOM, " after a pause") if parameters.think else (parameters.script, "")
        return Fact(((kind, 1),), f"the built-in {parameters.script}{pause}")
    weights = [script.weight for script in parameters.scripts]
    if len(weights) == 1:
        return Fact(((CUSTOM, 1),), "a custom script")
    words = f"{len(weights)} custom scripts (weights {', '.join(map(str, weights))})"
    return Fact(tuple((CUSTOM, share) for share in shares(weights)), words)


def _variable_facts(parameters: Parameters, *, is_own: bool) -> Mapping[str, Fact]:
    """Return the names of script files, which only our own command gives, and the scale that custom scripts see."""
    facts = {}
    if is_own and (names := scripts.names(parameters)):
        facts[SCRIPT_NAMES] = Fact(names, ", ".join(names))
    is_used = any(SCALE_USED.search(script.text) for script in parameters.scripts)
    if is_own or (is_used and "scale" not in (parameters.variables or {})):
        facts[SCALE_VARIABLE] = claims.number_fact(parameters.scale)
    return facts


def _partitions_fact(parameters: Parameters) -> Fact:
    if not parameters.partitions:
        return Fact((0, ""), "one without partitions")
    method = parameters.partition_method
    return Fact((parameters.partitions, method), f"{parameters.partitions:,} {method} partitions")
