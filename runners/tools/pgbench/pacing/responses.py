"""Tell response times and think times apart in the numbers of a run whose clients think."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from runners.contract import Doubt, Measure, RunResult

from ..parameters import Parameters

# What pgbench prints of transactions together with their pauses, by the name that it gets here.
CYCLES = {"latency_average_ms": "cycle_average_ms", "latency_stddev_ms": "cycle_stddev_ms"}
SERIES_WITH_PAUSES = ("latency_ms", "latency_stddev_ms")
# Of the report by command (-r): the average, from 15 on the failures, and the command.
PAUSE_LINE = re.compile(
    r"^ {1,20}(\d{1,9}\.\d{1,6})(?: {1,20}\d{1,15})? {1,20}\\sleep (?::think_us us|\d{1,5} ms)$", re.M
)
REMARKED_SHARE = 0.1
# By how much the average pause may differ from the plan: its share, and what chance does to so many logged ones.
OTHER_SHARE, DEVIATIONS = 0.1, 5


def without_pauses(result: RunResult, parameters: Parameters, stdout: str) -> RunResult:
    """Return the result with response times in place of latencies, and what pgbench printed as times of cycles."""
    measures = _measures(result.measures, _pause_ms(stdout))
    return replace(
        result,
        measures=measures,
        series=tuple(line for line in result.series if line.metric not in SERIES_WITH_PAUSES),
        doubts=(*result.doubts, *_other_pauses(parameters, measures)),
        remarks=(*result.remarks, *_remarks(parameters, measures)),
    )


def _other_pauses(parameters: Parameters, measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt where the pauses taken out of the log are not those of the plan: the log is of other scripts."""
    think, logged = measures.get("think_average_ms"), measures.get("logged_transactions")
    if think is None or logged is None or logged.value < 1:
        return
    deviation_ms = measures.get("cycle_stddev_ms", measures["cycle_average_ms"]).value
    room_ms = OTHER_SHARE * parameters.think_ms + DEVIATIONS * deviation_ms / math.sqrt(logged.value)
    if abs(think.value - parameters.think_ms) > room_ms:
        yield Doubt(
            "other-think-time",
            f"The log leaves {think.value:,.4g} ms of pauses on average, not the {parameters.think_ms:,} ms of the "
            "plan: its transactions paused otherwise, so these are no response times.",
        )


def _pause_ms(stdout: str) -> float | None:
    """Return the average pause with the lateness of its end; None where several scripts have one each."""
    pauses = PAUSE_LINE.findall(stdout)
    return float(pauses[0]) if len(pauses) == 1 else None


def _measures(printed: Mapping[str, Measure], pause_ms: float | None) -> dict[str, Measure]:
    measures = {CYCLES.get(name, name): measure for name, measure in printed.items()}
    cycle, response = measures.get("cycle_average_ms"), measures.get("logged_latency_average_ms")
    if response is None and cycle and pause_ms is not None:
        response = Measure(max(0.0, cycle.value - pause_ms), "ms")
    if response is None or cycle is None:
        return measures
    think_ms = max(0.0, cycle.value - response.value)
    measures |= {"latency_average_ms": response, "think_average_ms": Measure(think_ms, "ms")}
    if pause_ms is not None and "logged_latency_average_ms" in measures:
        measures["wakeup_lag_average_ms"] = Measure(max(0.0, pause_ms - think_ms), "ms")
    return measures


def _remarks(parameters: Parameters, measures: Mapping[str, Measure]) -> Iterator[str]:
    """Yield what response times leave out here, and what stays in them of pgbench's own."""
    yield (
        f"Clients think {parameters.think_ms:,} ms before each transaction ({parameters.think_distribution}): response "
        "times are without that, the times of cycles are with it."
    )
    lag, response = measures.get("wakeup_lag_average_ms"), measures.get("latency_average_ms")
    if lag and response and lag.value > REMARKED_SHARE * response.value:
        yield (
            f"pgbench woke {lag.value:.3f} ms late on average after thinking: that is in the average response time of "
            f"{response.value:.3f} ms."
        )
