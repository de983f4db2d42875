"""Read what the pgbench that ran TATP claims of its run: its scripts are the transactions, their weights the mix."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from runners.contract import RunSpec
from runners.tools import claims
from runners.tools.claims import CLIENTS, DURATION, Claim, Fact
from runners.tools.pgbench import claims as pgbench_claims
from runners.tools.pgbench.claims import QUERY_MODE
from runners.tools.pgbench.output import SEVERAL, Summary, read_summary
from runners.tools.pgbench.progress import PROGRESS_LINE

from .log import LOOKED_AT
from .parameters import TRANSACTIONS, read

MIX = "mix"
# The last second may be missing, and a transaction may end after it. What share of their time clients may be busy:
# the rest goes into the load generator, and seconds do not begin and end with transactions.
LATE_S, LEAST_BUSY, MOST_BUSY = 2.0, 0.5, 1.1
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
    times_s = [0.0, *(float(line["at_s"]) for line in lines)]
    last_s = times_s[-1]
    steps_s = [at_s - before_s for before_s, at_s in pairwise(times_s)]
    ended = [_number(line["tps"]) * step_s for line, step_s in zip(lines, steps_s, strict=True)]
    busy_ms = sum(count * _number(line["latency_ms"]) for line, count in zip(lines, ended, strict=True))
    busy = busy_ms / 1000 / last_s if last_s else 0.0

    def agrees(planned_s: float) -> bool:
        # After its time each client ends with the transaction that it has begun, however long that takes.
        after = sum(count for count, at_s in zip(ended, times_s[1:], strict=True) if at_s > planned_s + LATE_S)
        return planned_s <= last_s + LATE_S and after <= ENDS_OF_CLIENT * busy + 1

    yield DURATION, Claim(f"{last_s:,.4g} s", agrees)
    yield (
        CLIENTS,
        Claim(
            f"about {busy:,.3g} clients",
            lambda planned: LEAST_BUSY * planned <= busy <= MOST_BUSY * planned,
        ),
    )


def _number(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else 0.0


def _claims(summary: Summary) -> Iterator[tuple[str, Claim]]:
    yield from pgbench_claims.version_claims(summary)
    yield from pgbench_claims.level_claims(summary)
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
    return tuple(pgbench_claims.shares(mix))


def facts_of(spec: RunSpec) -> dict[str, Fact]:
    """Return what the run was to be; its duration is that of warm-up and measured part together."""
    mix = tuple(pgbench_claims.shares(list(read(spec.parameters).weighed)))
    return {
        **pgbench_claims.level_facts(spec, spec.warmup_s + spec.duration_s),
        QUERY_MODE: Fact("prepared", "prepared"),
        MIX: Fact(mix, "/".join(map(str, mix))),
    }
