"""Read what the pgbench that ran TATP claims of its run: its scripts are the transactions, their weights the mix."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from runners.contract import RunSpec
from runners.tools import claims
from runners.tools.claims import CLIENTS, DURATION, RATE, Claim, Fact
from runners.tools.pgbench.claims import facts as pgbench_facts
from runners.tools.pgbench.claims import stated
from runners.tools.pgbench.claims.stated import QUERY_MODE
from runners.tools.pgbench.output import SEVERAL, Summary, read_summary
from runners.tools.pgbench.progress import PROGRESS_LINE

from .log import LOOKED_AT
from .parameters import TRANSACTIONS, read

MIX = "mix"
# The last second may be missing, and a transaction may end after it. What share of their time clients may be busy:
# the rest goes into the load generator, and seconds do not begin and end with transactions.
LATE_S, LEAST_BUSY, MOST_BUSY = 2.0, 0.5, 1.1
SECOND_S, PUNCTUAL_S, TENTH_S, FEWEST_REPORTS = 1.0, 0.15, 0.11, 3
# Transactions that end after a run's time, for each client that is busy on average.
ENDS_OF_CLIENT = 3.0


def claims_of(stdout: str, progress: str) -> dict[str, Claim]:
    """Return what the summary claims, by the name of the fact; where it did not come along, what its seconds do."""
    summary = read_summary(stdout)
    return dict(_claims(summary) if summary.values else _claims_of_seconds(progress))


def _claims_of_seconds(progress: str) -> Iterator[tuple[str, Claim]]:
    """Yield how long the load was, by its last second, and about how many clients were busy in all of them."""
    lines = [line for line in map(PROGRESS_LINE.match, progress.splitlines()) if line]
    if not lines:
        return
    seconds = _Seconds.read(lines)
    yield DURATION, Claim(f"{seconds.last_s:,.4g} s", seconds.is_load_lasting)
    yield CLIENTS, Claim(f"about {seconds.busy:,.3g} clients", seconds.is_load_by_clients)


@dataclass(frozen=True, slots=True)
class _Seconds:
    """What reports of progress say: for each its time, the seconds that it is about, what ended in them, and how many
    clients that kept busy. One is due every `interval_s`; one that comes late, as where a machine stood still, is about
    many.
    """

    times_s: Sequence[float]
    steps_s: Sequence[float]
    ended: Sequence[float]
    busy_by_report: Sequence[float]
    interval_s: float

    @classmethod
    def read(cls, lines: Sequence[re.Match[str]]) -> _Seconds:
        times_s = [float(line["at_s"]) for line in lines]
        steps_s = [at_s - before_s for before_s, at_s in pairwise([0.0, *times_s])]
        ended = [_number(line["tps"]) * step_s for line, step_s in zip(lines, steps_s, strict=True)]
        busy = [_number(line["tps"]) * _number(line["latency_ms"]) / 1000 for line in lines]
        return cls(times_s, steps_s, ended, busy, _interval_s(steps_s))

    @property
    def last_s(self) -> float:
        return self.times_s[-1]

    @property
    def busy(self) -> float:
        """Return how many clients were busy on average, but for what had not ended at the last report."""
        return self._average_busy(self.steps_s)

    @property
    def least_busy(self) -> float:
        """Return the same where the tenth of a second is taken off to which both ends of a late report are rounded."""
        rounding_s = [0.0 if self._is_punctual(step_s) else TENTH_S for step_s in self.steps_s]
        return self._average_busy([step_s - off_s for step_s, off_s in zip(self.steps_s, rounding_s, strict=True)])

    def _average_busy(self, steps_s: Sequence[float]) -> float:
        clients_s = sum(busy * max(0.0, step_s) for busy, step_s in zip(self.busy_by_report, steps_s, strict=True))
        return clients_s / self.last_s if self.last_s else 0.0

    @property
    def usually_busy(self) -> float:
        """Return how many clients were busy in half of the reports in which nothing stood still; inf of too few."""
        steps = zip(self.steps_s, self.busy_by_report, strict=True)
        punctual = [busy for step_s, busy in steps if busy and self._is_punctual(step_s)]
        fewest = max(2, min(FEWEST_REPORTS, len(self.steps_s)))  # a single one does not say when it was due
        return median(punctual) if len(punctual) >= fewest else math.inf

    def _is_punctual(self, step_s: float) -> bool:
        return abs(step_s - self.interval_s) < PUNCTUAL_S

    def is_load_lasting(self, planned_s: float) -> bool:
        """Tell whether it may have been a load of so long: after it each client ends with its transaction alone."""
        begun = zip(self.times_s, self.steps_s, self.ended, strict=True)
        after = sum(count for at_s, step_s, count in begun if at_s - step_s > planned_s + LATE_S - SECOND_S)
        return planned_s <= self.last_s + LATE_S and after <= ENDS_OF_CLIENT * self.busy + 1

    def is_load_by_clients(self, clients: float) -> bool:
        """Tell whether so many clients may have made it: about as many were busy, or usually were."""
        return self.least_busy <= MOST_BUSY * clients and LEAST_BUSY * clients <= max(self.busy, self.usually_busy)


def _interval_s(steps_s: Sequence[float]) -> float:
    """Return the seconds after which a report is due: one, where any came so, otherwise the median step."""
    is_each_second = any(abs(step_s - SECOND_S) < PUNCTUAL_S for step_s in steps_s)
    return SECOND_S if is_each_second else median(steps_s)


def _number(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else 0.0


def _claims(summary: Summary) -> Iterator[tuple[str, Claim]]:
    yield from stated.version_claims(summary)
    yield from stated.level_claims(summary)
    yield from stated.rate_claims(summary)
    if (mode := summary.values.get("query mode")) is not None:
        yield QUERY_MODE, claims.exactly(mode, f"query mode {mode}")
    if (name := summary.values.get("transaction type")) is not None:
        weights = [weight for _, weight in summary.scripts if weight is not None]
        if name != SEVERAL:
            yield MIX, claims.exactly(None, f"one script, {name}")
        elif weights and len(weights) == len(summary.scripts):
            mix = _mix(weights)
            yield MIX, claims.exactly(mix, f"{len(weights)} scripts that make the mix {'/'.join(map(str, mix))}")


def _mix(weights: list[int]) -> tuple[int, ...]:
    """Return the weights of the transactions in lowest terms; one that has two scripts has the weights of both."""
    mix = weights[: len(TRANSACTIONS)]
    for number, weight in enumerate(weights[len(TRANSACTIONS) :], start=len(TRANSACTIONS)):
        transaction = LOOKED_AT.get(number)
        if transaction is None:
            return tuple(weights)
        mix[transaction] += weight
    return tuple(stated.shares(mix))


def facts_of(spec: RunSpec) -> dict[str, Fact]:
    """Return what the run was to be; its duration is that of warm-up and measured part together."""
    mix = tuple(stated.shares(list(read(spec.parameters).weighed)))
    return {
        **pgbench_facts.level_facts(spec, spec.warmup_s + spec.duration_s),
        QUERY_MODE: Fact("prepared", "prepared"),
        RATE: Fact(0, "as many as can be"),
        MIX: Fact(mix, "/".join(map(str, mix))),
    }
