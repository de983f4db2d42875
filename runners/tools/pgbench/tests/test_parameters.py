from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from runners import tools
from runners.tools.pgbench import parameters as pgbench_parameters
from runners.tools.pgbench.testing import CUSTOM, SPEC

PGBENCH = tools.get("pgbench")


def test_a_plain_run_is_accepted() -> None:
    assert pgbench_parameters.check(SPEC) == pgbench_parameters.Parameters("select-only", 10)
    [script] = pgbench_parameters.check(replace(SPEC, parameters=CUSTOM)).scripts
    assert (script.text, script.weight) == ("SELECT 1;", 1)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"tool_version": "9.2.4"}, "pgbench 9.2.4 is too old"),
        ({"tool_version": "unknown"}, "'unknown' is no version of pgbench"),
        ({"clients": 0}, "at least 1 client, not 0"),
        ({"threads": 0}, r"clients \(4\), not 0"),
        ({"threads": 5}, r"clients \(4\), not 5"),
        ({"duration_s": 0}, "at least 1 second, not 0"),
        ({"warmup_s": -1}, "cannot take -1 seconds"),
        ({"log_sampling_rate": 1.5}, "must be from 0 to 1, not 1.5"),
        ({"log_sampling_rate": float("nan")}, "must be from 0 to 1, not nan"),
    ],
)
def test_a_run_that_cannot_be_is_refused_with_a_sentence(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        PGBENCH.check(replace(SPEC, **change))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"script": "tpcc"},
            "no script 'tpcc'; choose one of: select-only, simple-update, tpcb-like, custom",
        ),
        ({"query_mode": "fast"}, "'fast' is no query mode"),
        ({"scale": 0}, "between 1 and 2,000,000, not 0"),
        ({"scale": "10"}, "scale must be a whole number, not '10'"),
        ({"scale": True}, "scale must be a whole number"),
        ({"fillfactor": 101}, "between 10 and 100, not 101"),
        ({"partitions": -1}, "partitions must be between 0 and 10,000, not -1"),
        ({"partition_method": "list"}, "partition_method must be range or hash, not 'list'"),
        ({"unlogged": 1}, "must be true or false"),
        ({"fillfactor": 90.0}, "fillfactor must be a whole number, not 90.0"),
        ({"connect_each": "yes"}, "connect_each must be true or false, not 'yes'"),
        ({"rate_tps": "100"}, "rate_tps must be a number"),
        ({"rate_tps": float("nan")}, "rate must be 0"),
        ({"latency_limit_ms": -1}, "latency limit must be 0"),
        ({"max_tries": -1}, "max_tries must be between 0 and 1,000,000, not -1"),
        ({"variables": {"a b": 1}}, "'a b' cannot be a variable"),
        ({"scail": 10}, "no parameter 'scail'; it has: script, scale"),
        ({"scripts": [{"text": "SELECT 1"}]}, 'go with the script "custom"'),
        ({"script": "custom"}, "needs at least one"),
        ({"script": "custom", "scripts": "SELECT 1"}, "must be a list"),
        ({"script": "custom", "scripts": [{"sql": "SELECT 1"}]}, "must be given as"),
        ({"script": "custom", "scripts": [{"text": " "}]}, "not empty"),
        ({"script": "custom", "scripts": [{"text": "SELECT 1\0"}]}, "without NUL"),
        ({"script": "custom", "scripts": [{"text": "SELECT 1", "weight": 0}]}, "whole number from 1, not 0"),
    ],
)
def test_parameters_that_cannot_be_are_refused_with_a_sentence(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        PGBENCH.check(replace(SPEC, parameters={**SPEC.parameters, **change}))


@pytest.mark.parametrize("name", ["script", "scale"])
def test_script_and_scale_must_be_given(name: str) -> None:
    with pytest.raises(ValueError, match=f"needs the parameter '{name}'"):
        PGBENCH.check(replace(SPEC, parameters={k: v for k, v in SPEC.parameters.items() if k != name}))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (r"\shell rm -rf x", 1),
        ("SELECT 1;\n\n  \\SETSHELL a date", 3),
        ("SELECT 1; \\shell date", 1),
        ("\\ shell date", 1),
        ("\\\\\n setshell a date", 1),
        ("\\set x \\\n 1 + \\\r\n 2\r\n\\ \\\r\nshell date", 4),
    ],
)
def test_a_script_may_not_run_commands_on_the_driver(text: str, line: int) -> None:
    parameters = {**CUSTOM, "scripts": [{"text": "SELECT 1"}, {"text": text}]}
    with pytest.raises(ValueError, match=f"^Script 2, line {line}: .* run commands on the driver"):
        PGBENCH.check(replace(SPEC, parameters=parameters))


def test_other_commands_of_pgbench_are_allowed() -> None:
    text = "\\set aid random(1, 10)\n\\sleep 1 ms\nSELECT 'shell' AS setshell;"
    spec = replace(SPEC, parameters={**CUSTOM, "scripts": [{"text": text, "weight": 3}]})
    assert pgbench_parameters.check(spec).scripts == (pgbench_parameters.Script(text, 3),)


@pytest.mark.parametrize(
    ("parameters", "first"),
    [
        ({"rate_tps": 10}, "9.4"),
        ({"latency_limit_ms": 10}, "9.5"),
        ({"partitions": 4}, "13"),
        ({"max_tries": 2}, "15"),
        ({"failures_detailed": True}, "15"),
        ({"script": "custom", "scripts": [{"text": "SELECT 1", "weight": 2}]}, "9.6"),
    ],
)
def test_what_a_version_does_not_know_is_refused(parameters: dict[str, Any], first: str) -> None:
    spec = replace(SPEC, parameters={**SPEC.parameters, **parameters})
    PGBENCH.check(replace(spec, tool_version=first))
    with pytest.raises(ValueError, match=f"use {first} or newer"):
        PGBENCH.check(replace(spec, tool_version="9.3.25"))


def test_unlogged_partitions_are_refused_where_pgbench_would_log_the_other_tables() -> None:
    parameters = {**SPEC.parameters, "unlogged": True, "partitions": 2}
    PGBENCH.check(replace(SPEC, tool_version="17.6", parameters=parameters))
    with pytest.raises(ValueError, match=r"pgbench 18\.1 makes only the accounts unlogged .* use 17 or older"):
        PGBENCH.check(replace(SPEC, tool_version="18.1", parameters=parameters))
    PGBENCH.check(replace(SPEC, tool_version="18.1", parameters={**SPEC.parameters, "unlogged": True}))


def test_a_load_needs_no_clients() -> None:
    idle = replace(SPEC, clients=0, threads=0, duration_s=0)
    assert pgbench_parameters.check(replace(idle, kind="load")).scale == 10
    with pytest.raises(ValueError, match="at least 1 client"):
        pgbench_parameters.check(idle)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("16.14", (16, 14)),
        ("9.6.24", (9, 6)),
        ("18beta1", (18,)),
        ("pgbench (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", (15, 18)),
    ],
)
def test_versions_are_read_as_they_are_printed(text: str, expected: tuple[int, ...]) -> None:
    assert pgbench_parameters.version_of(text) == expected


# A recipe's digest joins runs over releases: these must never change.
@pytest.mark.parametrize(
    ("parameters", "recipe"),
    [
        ({"script": "select-only", "scale": 10}, {"tool": "pgbench", "scale": 10}),
        (
            {"script": "tpcb-like", "scale": 10, "fillfactor": 100, "foreign_keys": False, "partitions": 0},
            {"tool": "pgbench", "scale": 10},
        ),
        (
            {
                "script": "select-only",
                "scale": 3_000,
                "fillfactor": 90,
                "foreign_keys": True,
                "unlogged": True,
            },
            {"tool": "pgbench", "scale": 3_000, "fillfactor": 90, "foreign_keys": True, "unlogged": True},
        ),
        (
            {"script": "select-only", "scale": 1, "partitions": 4, "partition_method": "hash"},
            {"tool": "pgbench", "scale": 1, "partitions": 4, "partition_method": "hash"},
        ),
        ({"script": "select-only", "scale": 1, "partition_method": "hash"}, {"tool": "pgbench", "scale": 1}),
    ],
)
def test_the_recipe_of_a_data_set_is_canonical(parameters: dict[str, Any], recipe: dict[str, Any]) -> None:
    assert PGBENCH.data_set(parameters) == recipe


def test_the_load_does_not_change_the_recipe() -> None:
    recipe = PGBENCH.data_set({"script": "select-only", "scale": 10, "query_mode": "prepared", "rate_tps": 50})
    assert recipe == PGBENCH.data_set({"script": "tpcb-like", "scale": 10})


def test_the_question_of_an_option_is_named_as_its_parameter_and_starts_from_its_default() -> None:
    for name, option in pgbench_parameters.OPTIONS.items():
        default = pgbench_parameters.FIELDS[name].default
        option.check(name, default)
        if option.question:
            assert option.question.name == name
            assert getattr(option.question, "default", default) == default


def test_a_workload_says_what_sets_it_apart_and_nothing_of_what_is_the_default() -> None:
    defaults = {"fillfactor": 100, "partitions": 0, "partition_method": "hash", "max_tries": 1, "unlogged": False}
    assert PGBENCH.describe({**SPEC.parameters, **defaults}).peculiarities == ()
    every_one = {
        "fillfactor": 90,
        "foreign_keys": True,
        "unlogged": True,
        "partitions": 4,
        "partition_method": "hash",
        "connect_each": True,
        "max_tries": 3,
        "failures_detailed": True,
        "statement_latencies": True,
    }
    description = PGBENCH.describe({**SPEC.parameters, **every_one})
    assert description.peculiarities == (
        "fill factor 90%",
        "foreign keys",
        "unlogged tables",
        "4 partitions",
        "partitioned by hash",
        "a connection for each transaction",
        "up to 3 tries of a transaction",
        "failures by their cause",
        "latencies by statement",
    )
    assert description.label_note == "; ".join(description.peculiarities)
    assert PGBENCH.describe({"script": "select-only"}).peculiarities == ()
    untiring = PGBENCH.describe({**SPEC.parameters, "max_tries": 0}).peculiarities
    assert untiring == ("tries of a transaction without a limit",)


def test_with_a_think_time_the_switch_for_latencies_by_statement_tells_nothing_apart() -> None:
    think = {"script": "select-only", "scale": 1, "think_ms": 5}
    timed = {**think, "statement_latencies": True}
    assert pgbench_parameters.read(timed) == pgbench_parameters.read(think)
    assert PGBENCH.distinguishing(timed) == PGBENCH.distinguishing(think)
    assert PGBENCH.times_statements(think) and PGBENCH.times_statements(timed)
    plain = {"script": "select-only", "scale": 1, "statement_latencies": True}
    assert PGBENCH.distinguishing(plain) == plain
