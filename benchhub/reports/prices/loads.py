"""The load at which a curve is priced: its peak, a number of clients, or the best level within a latency."""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchhub.analysis.curves.curve import Curve, Level
from benchhub.analysis.pricing import quote as pricing
from benchhub.analysis.pricing.questions import Load, at_clients, at_peak, best_under
from benchhub.analysis.pricing.quote import Throughput
from benchhub.analysis.words import plain, significant

from .terms import WITHIN, Terms

CLOSED_LOOP = (
    "The latency is that of a closed loop: each client waits for its answer before it asks again, so an overloaded "
    "server slows its own load down. It is what these runs saw, and no guarantee for users who arrive on their own."
)


@dataclass(frozen=True, slots=True)
class At:
    """A level of a curve, and in words which and why."""

    level: Level
    throughput: Throughput
    words: str


def at(curve: Curve, terms: Terms) -> At:
    """Choose the level of a curve that the terms ask for.

    Raises PricingError where there is no such level, naming the levels that there are.
    """
    loads = [Load(throughput(curve, level)) for level in curve.levels]
    if terms.load == WITHIN:
        loads = [replace(load, latency_ms=latency_ms(level)) for load, level in zip(loads, curve.levels, strict=True)]
        best, why = best_under(loads, terms.ceiling_ms), f"the best level within {plain(terms.ceiling_ms)} ms"
    elif terms.clients is not None:
        best, why = at_clients(loads, terms.clients), "the level that was asked for"
    else:
        best, why = at_peak(loads), "the peak of the curve"
    level = next(level for level in curve.levels if level.clients == best.throughput.clients)
    return At(level, throughput(curve, level, why), _words(curve, level, terms))


def throughput(curve: Curve, level: Level, why: str = "") -> Throughput:
    """Return the geometric mean of a level with its repeats; the evidence names the runs."""
    return pricing.measured(level.throughput, level.values, curve.unit, _evidence(level, why), level.clients)


def latency_ms(level: Level) -> float | None:
    """Return the 95th percentile of all transactions of the repeats where it is known, otherwise the average."""
    return level.latency_average_ms if level.latency_p95_ms is None else level.latency_p95_ms


def _words(curve: Curve, level: Level, terms: Terms) -> str:
    clients = counted_clients(level.clients)
    if terms.load == WITHIN:
        latency_name = "average latency" if level.latency_p95_ms is None else "p95 latency"
        return f"at {clients}, {latency_name} {significant(latency_ms(level) or 0, 3)} ms"
    if terms.clients is not None:
        return f"at {clients}"
    return f"peak at {clients}{', the edge of what was run' if curve.peak.edge else ''}"


def counted_clients(count: int) -> str:
    return "1 client" if count == 1 else f"{count:,} clients"


def _evidence(level: Level, why: str) -> str:
    numbers = [str(run.run) for run in level.runs]
    where = f"at {counted_clients(level.clients)}" + (f", {why}" if why else "")
    if len(numbers) == 1:
        return f"run {numbers[0]} {where}"
    return f"geometric mean of runs {', '.join(numbers[:-1])} and {numbers[-1]} {where}"
