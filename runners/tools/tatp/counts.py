"""What ran in a load of TATP, and what of it succeeded: by second, and by type of transaction."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runners.contract import EXECUTIONS, SUCCESS, SUCCESS_HIGH, SUCCESS_LOW, Measure
from runners.tools.pgbench import output
from runners.tools.pgbench.log import Reduction

from . import latencies, log
from .expected import Band
from .log import Told
from .parameters import ACCEPTING, TRANSACTIONS

DESTINATION, ACCESS = 1, 2
FAILED = re.compile(r"^number of failed transactions: (\d+) ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Second:
    """A line of progress: all transactions that ended since the line before."""

    at_s: float
    took_s: float
    transactions: float
    latency_ms: float
    told: Told

    @property
    def refused(self) -> int:
        return sum(self.told.refused)


@dataclass(frozen=True, slots=True)
class Count:
    """One type of transaction in the measured part: executions, how many succeeded; None where nothing tells.

    `seen`: on how many executions the share rests.
    """

    executions: float
    succeeded: float | None
    seen: float

    @property
    def share(self) -> float | None:
        return None if self.succeeded is None or not self.executions else self.succeeded / self.executions


def failed_transactions(progress: str, summary: str) -> int:
    """Those after which pgbench went on: from 15 on it survives some errors, and counts them."""
    found = FAILED.search(summary)
    return int(found[1]) if found else sum(int(line["failed"] or 0) for line in _progress(progress))


def _progress(text: str) -> list[re.Match[str]]:
    return [line for line in map(output.PROGRESS_LINE.match, text.splitlines()) if line]


def read_seconds(progress: str, told: str) -> list[Second]:
    """Join the lines of progress with what was told before each. ValueError where they do not belong together."""
    found = _progress(progress)
    parts = list(log.read_told(told))
    if [float(line["at_s"]) for line in found] != [part.at_s for part in parts]:
        raise ValueError("lines of progress and outcomes do not belong together")
    seconds, before_s = [], 0.0
    for line, part in zip(found, parts, strict=True):
        took_s = part.at_s - before_s
        latency_ms = float(line["latency_ms"]) if line["latency_ms"][-1].isdigit() else 0.0
        seconds.append(Second(part.at_s, took_s, float(line["tps"]) * took_s, latency_ms, part))
        before_s = part.at_s
    return seconds


def rates(measured: Sequence[Second], counts: Mapping[str, Count]) -> dict[str, Measure]:
    """MQTh by the tool's rule and by the strict one, and what it is made of."""
    taken_s = sum(second.took_s for second in measured)
    ended = sum(second.transactions for second in measured)
    refused = sum(second.refused for second in measured)
    return {
        "mqth": Measure((ended - refused) / taken_s, "MQTh"),
        "ended_transactions": Measure(float(round(ended)), "transactions"),
        "refused_transactions": Measure(float(refused), "transactions"),
        "measured_s": Measure(taken_s, "s"),
        **_strict(ended - refused, taken_s, counts),
    }


def _strict(counted: float, taken_s: float, counts: Mapping[str, Count]) -> dict[str, Measure]:
    """Nothing where a kind of read ran of which none was looked at, in a run of few transactions."""
    reads = [counts[name] for name in ("GET_NEW_DESTINATION", "GET_ACCESS_DATA") if name in counts]
    empty = [one.executions - one.succeeded for one in reads if one.succeeded is not None]
    if len(empty) < len(reads):
        return {}
    strict = Measure((counted - sum(empty)) / taken_s, "MQTh")
    return {
        "strict_mqth": strict,
        "empty_reads": Measure(float(round(sum(empty))), "transactions"),
        "reads_looked_at": Measure(sum(one.seen for one in reads), "transactions"),
    }


def count(seconds: Sequence[Second], measured: Sequence[Second], reduction: Reduction | None) -> dict[str, Count]:
    """Executions and successes of the measured part by type: writes as told, reads by their share of the log's lines.

    Where not each transaction was logged, the share of writes that succeeded is that of all `seconds`: only over these
    is it known how often they ran. GET_SUBSCRIBER_DATA and UPDATE_LOCATION succeed wherever there is the subscriber,
    which the run's states tell.
    """
    found: dict[str, Count] = {}
    logged = latencies.logged_shares(reduction)
    ended = sum(second.transactions for second in measured)
    for number, name in enumerate(TRANSACTIONS):
        executions = logged[number] * ended if number in logged else None
        if number in ACCEPTING:
            found[name] = _told_write(seconds, measured, ACCEPTING.index(number))
        elif number in (DESTINATION, ACCESS):
            found[name] = _told_reads(measured, "destination" if number == DESTINATION else "access", executions)
        elif executions:
            found[name] = Count(executions, executions, executions)
    return {name: one for name, one in found.items() if one.executions}


def _told_write(seconds: Sequence[Second], measured: Sequence[Second], at: int) -> Count:
    known = seconds if measured[0].told.every > 1 else measured
    executions = sum(second.told.refused[at] + second.told.done[at] for second in measured)
    seen = sum(second.told.refused[at] + second.told.done[at] for second in known)
    done = sum(second.told.done[at] for second in known)
    return Count(executions, executions * done / seen if seen else None, seen)


def _told_reads(measured: Sequence[Second], what: str, executions: float | None) -> Count:
    """Without a log, as many executions as there were for those that were looked at, warm-up and all."""
    asked, found = (sum(getattr(second.told, f"{what}_{end}") for second in measured) for end in ("asked", "found"))
    executions = asked * measured[0].told.every if executions is None else executions
    return Count(executions, executions * found / asked if asked else None, asked)


def type_measures(counts: Mapping[str, Count], bands: Mapping[str, Band]) -> dict[str, Measure]:
    """By type: executions, and the share that succeeded with the lowest and highest that it may be, in percent."""
    measures = {}
    for name, one in counts.items():
        key = name.lower()
        measures[EXECUTIONS + key] = Measure(float(round(one.executions)), "transactions")
        if one.share is not None:
            shares = {SUCCESS: one.share, SUCCESS_LOW: bands[name].low, SUCCESS_HIGH: bands[name].high}
            measures |= {what + key: Measure(100 * share, "%") for what, share in shares.items()}
    return measures
