"""Count what ran in a load of TATP and what of it succeeded: by second, and by type of transaction."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from runners.contract import (
    EXECUTIONS,
    READS_PER_LOOK,
    SUCCESS,
    SUCCESS_HIGH,
    SUCCESS_LOW,
    Doubt,
    Measure,
    Outputs,
    RunSpec,
)
from runners.tools.pgbench.log import Reduction
from runners.tools.pgbench.progress import PROGRESS_LINE

from . import latencies, log
from .expected import Band, State
from .log import Told
from .parameters import ACCEPTING, TRANSACTIONS

DESTINATION, ACCESS = 1, 2
# What starts a run takes a moment. Times are printed to a tenth, and threads count while they are read.
CLOCK_SLACK_S, TENTH_S, LOST_SHARE = 5, 0.1, 0.002
# By how much faster than any second the moment after the last report may be.
MOST_AFTER = 2
# Of the writes that are told, INSERT_CALL_FORWARDING; and what a load may have done beyond.
INSERTED, MOST_UNTOLD, UNTOLD_BY_CLIENT = 1, 1.5, 200
FAILED = re.compile(r"^number of failed transactions: (\d+) ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Second:
    """A line of progress: all transactions that ended since the line before."""

    at_s: float
    took_s: float
    transactions: float
    latency_ms: float
    outcomes: Told

    @property
    def whole_s(self) -> int:
        """Return how many whole seconds it is about: of one that came late several."""
        return round(self.at_s) - round(self.at_s - self.took_s)

    @property
    def refused(self) -> int:
        return sum(self.outcomes.refused)


@dataclass(frozen=True, slots=True)
class Count:
    """One type of transaction in the measured part: executions, how many succeeded; None where nothing tells.

    `looked_at`: on how many executions the share rests.
    """

    executions: float
    succeeded: float | None
    looked_at: float

    @property
    def share(self) -> float | None:
        return None if self.succeeded is None or not self.executions else self.succeeded / self.executions


def failed_transactions(progress: str, summary: str) -> int:
    """Return how many transactions failed: from 15 on pgbench goes on after some errors, and counts them."""
    match = FAILED.search(summary)
    return int(match[1]) if match else sum(int(line["failed"] or 0) for line in _progress(progress))


def _progress(text: str) -> list[re.Match[str]]:
    return [line for line in map(PROGRESS_LINE.match, text.splitlines()) if line]


def read_seconds(progress: str, outcomes: str) -> list[Second]:
    """Join the lines of progress with what was told before each. ValueError where they do not belong together."""
    lines = _progress(progress)
    parts = list(log.read_told(outcomes))
    if [float(line["at_s"]) for line in lines] != [part.at_s for part in parts]:
        raise ValueError("lines of progress and outcomes do not belong together")
    seconds, before_s = [], 0.0
    for line, part in zip(lines, parts, strict=True):
        # A report that came late may be within a tenth of a second of the next.
        if part.at_s < before_s:
            raise ValueError("the times of progress fall, as if there were several runs")
        took_s = part.at_s - before_s
        latency_ms = float(line["latency_ms"]) if line["latency_ms"][-1].isdigit() else 0.0
        seconds.append(Second(part.at_s, took_s, float(line["tps"]) * took_s, latency_ms, part))
        before_s = part.at_s
    return seconds


def rates(measured: Sequence[Second], counts: Mapping[str, Count]) -> dict[str, Measure]:
    """Return MQTh by the tool's rule and by the strict one, and the counts that it is made of."""
    taken_s = sum(second.took_s for second in measured)
    ended = sum(second.transactions for second in measured)
    refused = sum(second.refused for second in measured)
    return {
        "mqth": Measure((ended - refused) / taken_s, "MQTh"),
        "ended_transactions": Measure(float(round(ended)), "transactions"),
        "refused_transactions": Measure(float(refused), "transactions"),
        "measured_s": Measure(taken_s, "s"),
        **({READS_PER_LOOK: Measure(float(every), "reads")} if (every := measured[0].outcomes.every) > 1 else {}),
        **_strict(ended - refused, taken_s, counts),
    }


def _strict(counted: float, taken_s: float, counts: Mapping[str, Count]) -> dict[str, Measure]:
    """Return the strict rate; empty where none of a kind of read was looked at, in a run of few transactions."""
    reads = [counts[name] for name in ("GET_NEW_DESTINATION", "GET_ACCESS_DATA") if name in counts]
    empty = [read_count.executions - read_count.succeeded for read_count in reads if read_count.succeeded is not None]
    if len(empty) < len(reads):
        return {}
    strict = Measure((counted - sum(empty)) / taken_s, "MQTh")
    return {
        "strict_mqth": strict,
        "empty_reads": Measure(float(round(sum(empty))), "transactions"),
        "reads_looked_at": Measure(sum(read_count.looked_at for read_count in reads), "transactions"),
    }


def count(seconds: Sequence[Second], measured: Sequence[Second], reduction: Reduction | None) -> dict[str, Count]:
    """Return the measured part's executions and successes by type: writes as told, reads by their share of the log.

    Where not each transaction was logged, the share of writes that succeeded is that of all `seconds`: only over these
    is it known how often they ran. GET_SUBSCRIBER_DATA and UPDATE_LOCATION succeed wherever there is the subscriber,
    which the run's states tell.
    """
    counts: dict[str, Count] = {}
    logged = latencies.logged_shares(reduction)
    ended = sum(second.transactions for second in measured)
    for number, name in enumerate(TRANSACTIONS):
        executions = logged[number] * ended if number in logged else None
        if number in ACCEPTING:
            counts[name] = _told_write(seconds, measured, ACCEPTING.index(number))
        elif number in (DESTINATION, ACCESS):
            counts[name] = _told_reads(measured, "destination" if number == DESTINATION else "access", executions)
        elif executions:
            counts[name] = Count(executions, executions, executions)
    return {name: type_count for name, type_count in counts.items() if type_count.executions}


def _told_write(seconds: Sequence[Second], measured: Sequence[Second], at: int) -> Count:
    usable = seconds if measured[0].outcomes.every > 1 else measured
    executions = sum(second.outcomes.refused[at] + second.outcomes.done[at] for second in measured)
    looked_at = sum(second.outcomes.refused[at] + second.outcomes.done[at] for second in usable)
    done = sum(second.outcomes.done[at] for second in usable)
    return Count(executions, executions * done / looked_at if looked_at else None, looked_at)


def _told_reads(measured: Sequence[Second], kind: str, executions: float | None) -> Count:
    """Count reads as told; without a log, as many executions as there were for those looked at, warm-up and all."""
    looked_at, hits = (
        sum(getattr(second.outcomes, f"{kind}_{end}") for second in measured) for end in ("asked", "found")
    )
    executions = looked_at * measured[0].outcomes.every if executions is None else executions
    return Count(executions, executions * hits / looked_at if looked_at else None, looked_at)


def type_measures(counts: Mapping[str, Count], bands: Mapping[str, Band]) -> dict[str, Measure]:
    """Return by type the executions, and the share that succeeded with its lowest and highest bound, in percent."""
    measures = {}
    for name, type_count in counts.items():
        key = name.lower()
        measures[EXECUTIONS + key] = Measure(float(round(type_count.executions)), "transactions")
        if type_count.share is not None:
            shares = {SUCCESS: type_count.share, SUCCESS_LOW: bands[name].low, SUCCESS_HIGH: bands[name].high}
            measures |= {prefix + key: Measure(100 * share, "%") for prefix, share in shares.items()}
    return measures


def whole_log_doubts(
    spec: RunSpec, outputs: Outputs, reduction: Reduction | None, seconds: Sequence[Second]
) -> Iterator[Doubt]:
    """Yield a doubt where a log is of another time than the run, or a whole one has other transactions than it."""
    if reduction is None or reduction.first_epoch_s is None:
        return
    planned_s, epoch_text = spec.warmup_s + spec.duration_s, outputs.files.get("started_epoch", b"").strip()
    after_s = reduction.first_epoch_s - int(epoch_text) if epoch_text.isdigit() and len(epoch_text) < 16 else 0
    if not -CLOCK_SLACK_S <= after_s <= planned_s + CLOCK_SLACK_S:
        yield Doubt("log-clock", f"The log begins at {reduction.first_epoch_s}, the run at {int(epoch_text)}.")
    if spec.log_sampling_rate < 1 or not seconds:
        return
    rates = [second.transactions / second.took_s if second.took_s else 0.0 for second in seconds]
    reported = sum(second.transactions for second in seconds)
    # A time that is off moves only the difference to the next second.
    moved = sum(abs(after - before) for before, after in pairwise([*rates, 0.0]))
    room = TENTH_S * moved + LOST_SHARE * reported + spec.clients
    after = MOST_AFTER * max(rates) * (max(0.0, planned_s - seconds[-1].at_s) + 1)
    if not reported - room <= reduction.lines <= reported + room + after:
        text = f"The log has {reduction.lines:,} transactions, the reports of progress come to {reported:,.0f}."
        yield Doubt("logged-count", text)


def forwarding_doubts(spec: RunSpec, states: tuple[State, State], seconds: Sequence[Second]) -> list[Doubt]:
    """Return a doubt where more forwardings have other times than the population's than this load has inserted."""
    added = states[1].outside - states[0].outside
    inserted = sum(second.outcomes.done[INSERTED] for second in seconds)
    # What clients hold back at the end was never told.
    if added <= MOST_UNTOLD * inserted + UNTOLD_BY_CLIENT * spec.clients:
        return []
    text = (
        f"The load inserted {inserted:,} call forwardings, but {added:,} more have other times than the population's."
    )
    return [Doubt("forwardings", text)]
