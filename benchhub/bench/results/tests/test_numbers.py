"""Numbers of a result as the audit gets them."""

from __future__ import annotations

from dataclasses import replace

import pytest

import runners.tools
from benchhub.bench.results import numbers
from runners.contract import RunResult, RunSpec, Series
from runners.tools.pgbench.testing import SPEC, hand_made

from .recordings import tatp_run


@pytest.mark.parametrize(
    ("warmup", "load", "stalled_s"),
    [
        ((100.0, 100.0), (100.0,), 0.0),
        ((100.0, 5.0, 0.0), (100.0,), 1.95),  # 0.95 s + 1 s
        ((0.0, 100.0, 0.0), (100.0,), 1.0),  # what ended before a quick second waits for nothing more
        ((0.0, 0.0, 20.0), (100.0,), 0.0),  # who is slow does not stand still
        ((0.0, 0.0), (0.0,), 2.0),
        ((), (100.0,), 0.0),
    ],
)
def test_clients_may_have_stood_still_in_the_last_seconds_before_the_first_measured(
    warmup: tuple[float, ...], load: tuple[float, ...], stalled_s: float
) -> None:
    spec, outputs = tatp_run()
    result = runners.tools.get("tatp").parse(spec, outputs)
    assert _stalled_s(spec, result, "mqth", warmup, load) == pytest.approx(stalled_s)


def test_no_transaction_of_a_warm_up_by_another_process_ends_in_the_load() -> None:
    result = runners.tools.get("pgbench").parse(SPEC, hand_made("14"))
    assert _stalled_s(SPEC, result, "tps", (100.0, 0.0), (100.0,)) == 0.0


def _stalled_s(
    spec: RunSpec, result: RunResult, rate_name: str, warmup: tuple[float, ...], load: tuple[float, ...]
) -> float:
    series = [
        Series(metric, "", 0.0, 1.0, rates) for metric, rates in ((f"warmup_{rate_name}", warmup), (rate_name, load))
    ]
    others = [line for line in result.series if line.metric not in {rate_name, f"warmup_{rate_name}"}]
    return numbers.evidence(spec, replace(result, series=(*series, *others))).stalled_before_s


@pytest.mark.parametrize(
    ("version", "by_thread"),
    [((9, 4, 26), True), ((9, 5, 25), None), ((9, 6, 24), False), ((13, 9), False), ((), None)],
)
def test_what_a_version_leaves_out_of_its_rate_is_a_threads_or_a_clients_or_open(version, by_thread):
    assert numbers.leaves_out_by_thread(version) is by_thread
