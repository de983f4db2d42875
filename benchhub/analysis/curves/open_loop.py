"""Find the capacity in an open-loop load: transactions offered at a rate, whether or not the server keeps up.

A transaction counts as kept when it ended within the latency limit after the moment it was due: the time for which it
waited to be sent (schedule lag) is part of its latency, and one that was skipped because it was too late already is not
kept. Percentiles of a closed loop say nothing of the kind: there a slow server is asked less.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import sqrt

from benchhub.analysis.statistics.spread import Spread, summarise

from .latencies import Histogram, Latencies, of_repeats

SHARE_LATE = 0.01  # 99 of 100 transactions are kept
SHARE_BEHIND = 0.01
DEVIATIONS = 3  # of a Poisson count: a rate that is offered at random is not met exactly


@dataclass(frozen=True, slots=True)
class Offered:
    """One run at one rate. `transactions` were sent, `late` of them ended beyond the limit; latencies include lag.

    `left_out` counts the older runs of its rate and protocol that are not among the repeats.
    """

    run: int
    offered_tps: int
    achieved_tps: float
    duration_s: float
    transactions: int
    late: int
    skipped: int
    latency_average_ms: float | None = None
    latency_p95_ms: float | None = None
    latency_p99_ms: float | None = None
    lag_average_ms: float | None = None
    doubts: tuple[str, ...] = ()
    histogram: Histogram | None = None
    protocol_digest: str = ""
    left_out: int = 0

    @property
    def late_share(self) -> float:
        """Return the share of transactions that were late or skipped, of all that were offered while the run lasted."""
        return (self.late + self.skipped) / max(1, self.transactions + self.skipped)

    @property
    def failing(self) -> str:
        """Say why the rate was not held; empty if it was."""
        if self.late_share > SHARE_LATE:
            return f"{100 * self.late_share:.3g}% were late or skipped"
        by_chance = DEVIATIONS * sqrt(self.offered_tps / self.duration_s)
        if self.achieved_tps < self.offered_tps * (1 - SHARE_BEHIND) - by_chance:
            return f"only {self.achieved_tps:,.4g} TPS were done"
        return ""


@dataclass(frozen=True, slots=True)
class Rate:
    """All repeats at one offered rate."""

    offered_tps: int
    runs: tuple[Offered, ...]

    @property
    def left_out(self) -> int:
        """Count the older runs that are not among the repeats, because there are so many of a protocol."""
        return sum({run.protocol_digest: run.left_out for run in self.runs}.values())

    @property
    def achieved(self) -> Spread:
        return summarise([run.achieved_tps for run in self.runs])

    @property
    def percent_late(self) -> float:
        """Return how many per cent of the offered transactions were late or skipped, in the worst of the repeats."""
        return 100 * max(run.late_share for run in self.runs)

    @property
    def latencies(self) -> Latencies | None:
        """Return the latencies of all transactions of the repeats, lag included. None if those of one repeat are
        unknown.
        """
        return of_repeats(run.histogram for run in self.runs)

    @property
    def latency_p99_ms(self) -> float | None:
        """Return the percentile of all transactions of the repeats together."""
        return self.latencies.p99_ms if self.latencies else None

    @property
    def latency_average_ms(self) -> float | None:
        """Return the highest of the repeats' averages, schedule lag included; None where one is not known."""
        averages_ms = [run.latency_average_ms for run in self.runs if run.latency_average_ms is not None]
        return max(averages_ms) if len(averages_ms) == len(self.runs) else None

    @property
    def worst_lag_ms(self) -> float | None:
        lags_ms = [run.lag_average_ms for run in self.runs if run.lag_average_ms is not None]
        return max(lags_ms) if len(lags_ms) == len(self.runs) else None

    @property
    def failing(self) -> list[Offered]:
        return [run for run in self.runs if run.failing]

    @property
    def doubts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(doubt for run in self.runs for doubt in run.doubts))


@dataclass(frozen=True, slots=True)
class Capacity:
    """`holds` is the highest rate up to which every repeat of every rate was held, `fails` the next one tried."""

    holds: Rate | None
    fails: Rate | None
    held_beyond: tuple[int, ...]

    def sentence(self, limit_ms: float) -> str:
        """Say between which rates the capacity lies, with 99% of the transactions within the limit; 0 for none."""
        within = f"With 99% of the transactions within {limit_ms:g} ms of when they were due"
        text = f"{within if limit_ms else 'Without a latency limit, by throughput alone'}, {self._between}"
        if self.held_beyond:
            beyond = ", ".join(f"{rate:,}" for rate in self.held_beyond)
            text += f" Higher rates that were held all the same ({beyond} TPS) are not counted: one below them was not."
        return text

    @property
    def _between(self) -> str:
        if self.holds is None:
            return f"not even the lowest rate was held: the capacity is below {_tps(self.fails)}. {_why(self.fails)}"
        if self.fails is None:
            return f"every rate was held: the capacity is at least {_tps(self.holds)}, the highest that was offered."
        runs = "one run" if len(self.holds.runs) == 1 else f"each of {len(self.holds.runs)} runs"
        return (
            f"the capacity lies between {_tps(self.holds)}, held in {runs}, and {_tps(self.fails)}. {_why(self.fails)}"
        )


def rates(runs: Iterable[Offered]) -> list[Rate]:
    """Group the runs by offered rate, in rising order."""
    ordered = sorted(runs, key=lambda run: run.offered_tps)
    return [Rate(offered, tuple(group)) for offered, group in groupby(ordered, key=lambda run: run.offered_tps)]


def capacity(rates: Sequence[Rate]) -> Capacity:
    """Return the capacity that rates in rising order show. Raises ValueError if there is no rate."""
    if not rates:
        raise ValueError("There is no rate to find a capacity in.")
    first_failing = next((index for index, rate in enumerate(rates) if rate.failing), len(rates))
    beyond = tuple(rate.offered_tps for rate in rates[first_failing:] if not rate.failing)
    return Capacity(
        holds=rates[first_failing - 1] if first_failing else None,
        fails=rates[first_failing] if first_failing < len(rates) else None,
        held_beyond=beyond,
    )


def _tps(rate: Rate | None) -> str:
    return f"{rate.offered_tps:,} TPS" if rate else ""


def _why(rate: Rate | None) -> str:
    """Say why a rate was not held, by the worst of its runs."""
    if rate is None:
        return ""
    [worst, *_] = sorted(rate.failing, key=lambda run: -run.late_share)
    runs_text = f" in {len(rate.failing)} of {len(rate.runs)} runs" if len(rate.runs) > 1 else ""
    return f"It was not held{runs_text}: in run {worst.run}, {worst.failing}."
