"""Gather what the verdict on a run is made of, from what its attempt left behind or from its rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from benchhub.analysis.doubts import steadiness
from benchhub.analysis.doubts.chance import Chance, ClosedLoop
from benchhub.analysis.doubts.checks.rates import LONGEST_GAPS
from benchhub.analysis.doubts.doubt import Doubt
from benchhub.analysis.doubts.steadiness import Steadiness
from benchhub.analysis.doubts.verdict import RunFacts
from benchhub.bench.models import Run
from runners import tools
from runners.tools.kinds import Expectation

CHECKPOINTS = {"pg_stat_checkpointer": ("num_timed", "num_requested"),
               "pg_stat_bgwriter": ("checkpoints_timed", "checkpoints_req")}  # fmt: skip
# What of the transactions that were due came to an end of any kind.
BEGUN = ("transactions", "failed_transactions", "skipped_transactions")
# By how many standard errors transactions that are due at random are no sooner.
SCHEDULE_ERRORS = 6.0
LOOP = ("tps", "latency_average_ms", "latency_stddev_ms")
Throughput = tuple[Sequence[float | None], float]


def facts(
    run: Run,
    doubts: Iterable[Doubt],
    measures: Mapping[str, float],
    series: Throughput | None,
    deltas: Mapping[str, Any],
) -> RunFacts:
    """Return the facts for the verdict.

    `series` is the throughput over time with its step in seconds; `deltas` as counters.deltas has them.
    """
    transactions = measures.get("transactions")
    expectation = tools.get(run.spec["tool"]).expectation(run.spec.get("parameters") or {})
    is_steady = expectation.is_steady
    interval_s = _report_interval_s(measures, series) if series else 0.0
    return RunFacts(
        clients=run.clients,
        duration_s=run.spec.get("duration_s") or 0,
        doubts=tuple(doubts),
        steadiness=_steadiness(run, series, _chance(expectation, measures, interval_s))
        if series and is_steady
        else None,
        transactions=None if transactions is None else round(transactions),
        failed_transactions=round(measures.get("failed_transactions", 0)),
        driver_busy_share=None if run.system.driven_locally else _busy(deltas.get("cpu", {})),
        thread_busy_share=_thread_busy(run, expectation, deltas),
        busy_before=_busy_before(run, deltas),
        stolen_share=_stolen(deltas),
        throttle_events=_throttled(deltas),
        blocks_read=deltas.get("pg_stat_database", {}).get("blks_read"),
        covered_s=len(series[0]) * series[1] if series else None,
        unreported_s=_unreported_s(run, expectation, measures, interval_s) - series[1] if series else 0.0,
        is_steady=is_steady,
        settings_changed=deltas.get("settings_changed", ()),
    )


def _steadiness(run: Run, series: Throughput, chance: Chance) -> Steadiness | None:
    """Return how steady the load was while it was planned: after that clients end one by one."""
    values, step_s = series
    planned_s = run.spec.get("duration_s")
    return steadiness.of_series(values[: math.ceil(planned_s / step_s)] if planned_s else values, step_s, chance)


def _report_interval_s(measures: Mapping[str, float], series: Throughput) -> float:
    """Return the seconds between reports: of results that do not say them, for how long the values stay the same."""
    values, step_s = series
    equal_s = step_s * min((len(list(equal)) for _, equal in groupby(values)), default=1)
    return max(step_s, measures.get("report_interval_s", equal_s))


def _chance(expectation: Expectation, measures: Mapping[str, float], interval_s: float) -> Chance:
    waited_ms = measures.get("rate_limit_lag_average_ms", 0.0)
    first_s = max(0.0, measures.get("latency_average_ms", 0.0) - waited_ms) / 1000
    return Chance(interval_s, _closed_loop(expectation, measures), first_s)


def _closed_loop(expectation: Expectation, measures: Mapping[str, float]) -> ClosedLoop | None:
    """Return rate and latencies of clients that do nothing else than wait; None where they do, or it is not known."""
    is_open = expectation.is_rate_limited or expectation.connects_each or expectation.longest_pause_ms
    if is_open or measures.get("failed_transactions") or not all(measures.get(name) for name in LOOP[:2]):
        return None
    if LOOP[-1] not in measures:
        return None
    tps, average_ms, stddev_ms = (measures[name] for name in LOOP)
    return ClosedLoop(tps, average_ms / 1000, stddev_ms / average_ms)


def _unreported_s(run: Run, expectation: Expectation, measures: Mapping[str, float], interval_s: float) -> float:
    """Return for how long a whole run may have had no report before its end.

    An interval that is not whole has none. pgbench's first thread reports for all: at a rate it ends when its next
    transaction would be due after the run, and with a number of transactions when its clients have done theirs.
    """
    begun, rate_tps = sum(measures.get(name, 0.0) for name in BEGUN), measures.get("tps")
    if "planned_transactions" in measures and run.threads > 1:
        return interval_s + (run.spec.get("duration_s") or 0) - _soonest_s(run, measures["planned_transactions"])
    if not expectation.is_rate_limited or not begun or not rate_tps:
        return interval_s
    return interval_s + LONGEST_GAPS * measures["transactions"] / rate_tps * run.threads / begun


def _soonest_s(run: Run, planned: float) -> float:
    """Return when the first of several threads ends at the soonest: with the last transaction of its own schedule.

    Without a rate its clients end as soon as the server lets them, which is held against their latencies.
    """
    rate_tps = tools.get(run.spec["tool"]).rate_tps(run.spec.get("parameters") or {})
    clients = math.ceil(run.clients / run.threads)
    due = planned * clients / run.clients
    return max(0.0, due - SCHEDULE_ERRORS * math.sqrt(due)) * run.threads / rate_tps if rate_tps else -math.inf


def _busy(cpu: Mapping[str, float]) -> float | None:
    return 1 - cpu["idle_share"] - cpu.get("iowait_share", 0) if "idle_share" in cpu else None


def _thread_busy(run: Run, expectation: Expectation, deltas: Mapping[str, Any]) -> float | None:
    """Return the share of their time that threads were busy, what works beside the load generator included.

    Of a load that varies by its plan that is its peak, where a transaction takes the CPU time that it takes on average.
    """
    elapsed_s = deltas.get("elapsed_s")
    threads = max(min(run.threads, run.clients), expectation.fewest_threads)
    if not elapsed_s or "load_cpu_s" not in deltas or threads < 1:
        return None
    return float(deltas["load_cpu_s"] / (threads * elapsed_s)) * expectation.peak_ratio


def _busy_before(run: Run, deltas: Mapping[str, Any]) -> dict[str, float]:
    """Return how busy each host was before the load, by its part in the run; without those that were not counted."""
    driver = "the host" if run.system.driven_locally else "the driver's host"
    hosts = {driver: deltas, "the server's host": deltas.get("server_host", {})}
    return {name: host["busy_before_share"] for name, host in hosts.items() if "busy_before_share" in host}


def _stolen(deltas: Mapping[str, Any]) -> float | None:
    """Return the share of CPU time that was stolen, of the host that lost more of it."""
    hosts = (deltas.get("cpu", {}), deltas.get("server_host", {}).get("cpu", {}))
    return max((cpu["steal_share"] for cpu in hosts if "steal_share" in cpu), default=None)


def _throttled(deltas: Mapping[str, Any]) -> int | None:
    hosts = (deltas, deltas.get("server_host", {}))
    return max((int(host["throttle_events"]) for host in hosts if "throttle_events" in host), default=None)


def checkpoints(deltas: Mapping[str, Any]) -> int | None:
    """Return how many checkpoints began within the run; None where the server did not say."""
    for view, names in CHECKPOINTS.items():
        if all(name in deltas.get(view, {}) for name in names):
            return sum(int(deltas[view][name]) for name in names)
    return None
