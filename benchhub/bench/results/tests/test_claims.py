"""Recorded outputs that are given as those of another run: each fact that they state is held against the plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import runners.tools
from benchhub.analysis.doubts.doubt import CONTRADICTIONS
from benchhub.bench.results.tests.recordings import ODD, odd_run, sysbench_run
from runners.contract import RunSpec
from runners.tools.pgbench.parameters import version_of

PGBENCH = runners.tools.get("pgbench")
Change = Callable[[RunSpec], RunSpec]


def parameter(name: str, value: Callable[[Any], Any], default: Any) -> Change:
    def change(spec: RunSpec) -> RunSpec:
        return replace(spec, parameters={**spec.parameters, name: value(spec.parameters.get(name, default))})

    return change


def other_script(spec: RunSpec) -> RunSpec:
    """Return the spec with another built-in script, or with one instead of custom ones."""
    parameters = {name: value for name, value in spec.parameters.items() if name != "scripts"}
    script = "simple-update" if spec.parameters["script"] == "select-only" else "select-only"
    return replace(spec, parameters={**parameters, "script": script})


def other_weights(spec: RunSpec) -> RunSpec:
    """Return the spec with its first script three times as often; that of one script is the same."""
    first, *others = spec.parameters.get("scripts") or [{}]
    scripts = [{**first, "weight": 3 * first.get("weight", 1)}, *others]
    return replace(spec, parameters={**spec.parameters, "scripts": scripts}) if first else spec


def is_custom(spec: RunSpec) -> bool:
    return spec.parameters["script"] == "custom"


def release(spec: RunSpec) -> tuple[int, ...]:
    return version_of(spec.tool_version)


def always(spec: RunSpec) -> bool:
    return True


# The code of the contradiction, the change, and of which runs it can be seen.
CHANGES: dict[str, tuple[str, Change, Callable[[RunSpec], bool]]] = {
    "clients": ("clients", lambda spec: replace(spec, clients=spec.clients + 1), always),
    "threads": (
        "threads",
        lambda spec: replace(spec, threads=spec.threads + 1),
        lambda spec: spec.clients > spec.threads,
    ),
    "duration": (
        "duration",
        lambda spec: replace(spec, duration_s=spec.duration_s + 5),
        always,
    ),
    "program, older": ("client-version", lambda spec: replace(spec, tool_version="9.2.2"), always),
    "program, newer": (
        "client-version",
        lambda spec: replace(spec, tool_version=f"{release(spec)[0] + 1}.3"),
        # 9.6 to 13 print alike.
        lambda spec: release(spec) >= (13,) or release(spec) < (9, 6),
    ),
    "script": ("script", other_script, always),
    "weights": ("script", other_weights, lambda spec: len(spec.parameters.get("scripts", ())) > 1),
    "query mode": (
        "query-mode",
        parameter("query_mode", lambda mode: "simple" if mode == "extended" else "extended", "simple"),
        always,
    ),
    "scale": ("scale", parameter("scale", lambda scale: scale + 1, 1), lambda spec: not is_custom(spec)),
    "tries": ("tries", parameter("max_tries", lambda tries: tries + 1, 1), lambda spec: release(spec) >= (15,)),
    "partitions": (
        "partitions",
        parameter("partitions", lambda number: number + 2, 0),
        lambda spec: not is_custom(spec) and release(spec) >= (13,),
    ),
    "failures": (
        "failures",
        parameter("failures_detailed", lambda detailed: not detailed, False),
        lambda spec: release(spec) >= (15,),
    ),
    "connections": (
        "connections",
        parameter("connect_each", lambda each: not each, False),
        lambda spec: release(spec) >= (14,),
    ),
    "a rate": ("rate-limit", parameter("rate_tps", lambda rate: 0 if rate else 100, 0), always),
    "a limit": ("latency-limit", parameter("latency_limit_ms", lambda limit: 2 * limit + 1, 0), always),
}


@pytest.mark.parametrize("name", ODD)
def test_a_run_agrees_with_its_own_plan(name: str) -> None:
    spec, outputs = odd_run(name)
    server = "15.18" if b"server 15.18" in outputs.stdout else spec.tool_version
    assert PGBENCH.contradictions(spec, outputs, server_version=server, is_own=False) == ()


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ODD)
def test_one_changed_fact_is_contradicted_where_the_version_prints_it(name: str, change: str) -> None:
    code, changed, is_stated = CHANGES[change]
    spec, outputs = odd_run(name)
    codes = [claim.code for claim in PGBENCH.contradictions(changed(spec), outputs, is_own=False)]
    if is_stated(spec):
        assert code in codes
    else:
        # Up to 13 it is seen that there were few connections, but not that there were many.
        assert codes in ([], ["connections"])
    assert set(codes) <= CONTRADICTIONS


@pytest.mark.parametrize("name", [name for name in ODD if release(odd_run(name)[0]) >= (14,)])
def test_another_server_is_contradicted_from_14_on(name: str) -> None:
    spec, outputs = odd_run(name)
    [claim] = PGBENCH.contradictions(spec, outputs, server_version="12.3", is_own=False)
    assert claim.code == "server-version"


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("client-version", {"tool_version": "1.0.18"}),
        ("clients", {"clients": 8}),
        ("duration", {"duration_s": 14}),
        ("duration", {"duration_s": 60}),
        ("threads", {"threads": 2}),
        ("script", {"parameters": {"script": "oltp_point_select"}}),
    ],
)
def test_one_changed_fact_of_sysbench_is_contradicted(code: str, changes: dict[str, Any]) -> None:
    spec, outputs = sysbench_run()
    tool = runners.tools.get("sysbench")
    assert tool.contradictions(spec, outputs, is_own=False) == ()
    [claim] = tool.contradictions(replace(spec, **changes), outputs, is_own=False)
    assert claim.code == code and claim.code in CONTRADICTIONS


def test_a_plan_of_our_own_does_not_know_the_version_of_sysbench() -> None:
    spec, outputs = sysbench_run()
    assert runners.tools.get("sysbench").contradictions(replace(spec, tool_version="16.4"), outputs) == ()


@pytest.mark.parametrize("factor", [0.5, 2])
@pytest.mark.parametrize("name", [name for name in ODD if "rate_skips" in name or "timestamps_rate" in name])
def test_half_and_twice_the_rate_are_contradicted_by_160_transactions(name: str, factor: float) -> None:
    """80 TPS for 2 or 3 s are 160 or 240; chance takes that neither to 80 nor to 320."""
    spec, outputs = odd_run(name)
    [claim] = PGBENCH.contradictions(parameter("rate_tps", lambda rate: factor * rate, 0)(spec), outputs, is_own=False)
    assert claim.code == "rate-limit" and "a run at a rate (-R) of about" in claim.text


TOLD_APART = {
    "pgbench": [
        {"script": "select-only", "scale": 1},
        {"script": "custom", "scale": 1, "scripts": [{"text": "SELECT :scale;"}], "statement_latencies": True},
        {"script": "select-only", "scale": 1, "load_shape": "100 for 60, 400 for 20"},
    ],
    "sysbench": [{"script": "oltp_read_write"}],
    "tatp": [{"subscribers": 1000}],
}


@pytest.mark.parametrize("tool", runners.tools.TOOLS)
def test_every_fact_that_an_output_may_contradict_is_a_contradiction(tool: str) -> None:
    """The server's version is no fact of the plan, and held against the output beside them."""
    for parameters in TOLD_APART[tool]:
        spec = replace(odd_run(ODD[0])[0], tool=tool, parameters=parameters)
        for is_own in (True, False):
            names = {*runners.tools.get(tool).facts(spec, is_own=is_own), "server_version"}
            assert {name.replace("_", "-") for name in names} <= CONTRADICTIONS
