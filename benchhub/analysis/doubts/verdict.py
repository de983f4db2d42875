"""Give one verdict on a run, and on a curve, with its doubts: reasons not to trust its number as it stands."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from benchhub.analysis.statistics import drift as statistics_drift
from benchhub.analysis.statistics.drift import Start
from benchhub.analysis.statistics.outliers import RULE, outlier
from benchhub.analysis.statistics.spread import FEWEST_FOR_INTERVAL
from benchhub.analysis.words import count, percentage, word

from . import steadiness
from .doubt import Doubt, Weight
from .idle_host import BUSY_AT_A_GLANCE_PERCENT
from .steadiness import Steadiness

BUSY_SHARE = 0.9
STOLEN_SHARE = 0.01
FAILED_SHARE = 0.01
SHORT_SHARE = 0.95
COLD_FACTOR = 2.0
COLD_BLOCKS = 0.1
LOST_REMEDY = "Their pages say why: run them again."

WORDS = {
    0: "no reason for doubt was found",
    Weight.SLIGHT: "sound, with a remark",
    Weight.DOUBTFUL: "doubtful",
    Weight.CONTRADICTED: "not to be relied on",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The doubts about a number; `unchecked` names what could not be checked and so raises no doubt."""

    doubts: tuple[Doubt, ...]
    unchecked: tuple[str, ...] = ()

    @property
    def weight(self) -> int:
        return max((doubt.weight for doubt in self.doubts), default=0)

    @property
    def words(self) -> str:
        return WORDS[self.weight]

    @property
    def codes(self) -> frozenset[str]:
        return frozenset(doubt.code for doubt in self.doubts)


class RunFacts(NamedTuple):
    """The facts of one run that are judged; None is unknown, and not checked.

    `doubts` are those of ingest. `driver_busy_share` is of all CPUs of a driver that is not the
    server's own machine, `thread_busy_share` of the load generator's threads; `busy_before`, by host, just before the
    load. `throttle_events` counts how often a hardware thread was slowed down by heat. `blocks_read` were not found in
    shared buffers. `covered_s` is the series' length; a whole run may have had no report for `unreported_s` before its
    end. `is_steady`: the load was to stay the same, so that throughput should too. A named tuple takes a fifth of a
    dataclass's time to make, and a curve may rest on thousands: its fields are given by name all the same.
    """

    clients: int
    duration_s: float
    doubts: Sequence[Doubt] = ()
    steadiness: Steadiness | None = None
    transactions: int | None = None
    failed_transactions: int = 0
    driver_busy_share: float | None = None
    thread_busy_share: float | None = None
    busy_before: Mapping[str, float] = MappingProxyType({})
    stolen_share: float | None = None
    throttle_events: int | None = None
    blocks_read: float | None = None
    covered_s: float | None = None
    unreported_s: float = 0.0
    settings_changed: Sequence[str] = ()
    facts_digest: str = ""
    limits_digest: str = ""
    throughput: float | None = None
    started_s: float | None = None
    is_steady: bool = True

    @property
    def start(self) -> Start | None:
        if self.started_s is None or self.throughput is None:
            return None
        return Start(self.started_s, self.duration_s, self.clients, self.throughput)

    @property
    def blocks_per_transaction(self) -> float | None:
        return self.blocks_read / self.transactions if self.blocks_read is not None and self.transactions else None


def of_run(facts: RunFacts) -> Verdict:
    """Return the verdict on a run by all checks of its facts."""
    checks = (
        _stored, _client_bound, _busy_before, _unsteady, _throttled, _stolen, _failures, _truncated,
        _changed_settings, _cold,
    )  # fmt: skip
    return Verdict(tuple(doubt for check in checks for doubt in check(facts)), tuple(_unchecked(facts)))


def of_doubts(doubts: Iterable[Doubt]) -> Verdict:
    """Return the verdict on a run of which only the doubts of ingest are at hand."""
    return Verdict(tuple(doubts))


def _stored(facts: RunFacts) -> Iterator[Doubt]:
    yield from facts.doubts


def _client_bound(facts: RunFacts) -> Iterator[Doubt]:
    if facts.driver_busy_share is not None and facts.driver_busy_share >= BUSY_SHARE:
        text = (
            f"The driver's CPUs were {facts.driver_busy_share:.0%} busy: the load generator may be the limit. "
            "Give it a larger driver, or one of its own."
        )
        yield Doubt("client-bound", text)
    elif facts.thread_busy_share is not None and facts.thread_busy_share >= BUSY_SHARE:
        peak = "" if facts.is_steady else "At its highest rate, by the CPU time of a transaction on average: "
        share = f"{peak}{'The' if facts.is_steady else 'the'} load generator's threads"
        text = (
            f"{share} were {min(1.0, facts.thread_busy_share):.0%} busy: it may be the limit. "
            "Give it more threads, or a driver of its own."
        )
        yield Doubt("client-bound", text)


def _busy_before(facts: RunFacts) -> Iterator[Doubt]:
    for host, share in facts.busy_before.items():
        if 100 * share > BUSY_AT_A_GLANCE_PERCENT:
            text = (
                f"Just before the load {share:.0%} of the CPU time of {host} went to other work, which may have slowed "
                "the run. Stop it and run again."
            )
            yield Doubt("host-busy", text)


def _unsteady(facts: RunFacts) -> Iterator[Doubt]:
    for sentence in steadiness.sentences(facts.steadiness) if facts.steadiness else ():
        yield Doubt("unsteady", sentence)


def _throttled(facts: RunFacts) -> Iterator[Doubt]:
    if facts.throttle_events:
        times = "once" if facts.throttle_events == 1 else f"{facts.throttle_events:,} times"
        text = (
            f"Heat slowed CPUs down {times} during the run, counted by hardware thread: throughput may be too low. "
            "Cool the machine and run again."
        )
        yield Doubt("throttled", text)


def _stolen(facts: RunFacts) -> Iterator[Doubt]:
    if facts.stolen_share is not None and facts.stolen_share >= STOLEN_SHARE:
        text = (
            f"{facts.stolen_share:.1%} of the CPU time was taken by other guests of the machine (steal): throughput "
            "may be too low. Run while they are idle, or on a machine of its own."
        )
        yield Doubt("stolen-cpu", text)


def _failures(facts: RunFacts) -> Iterator[Doubt]:
    if not facts.failed_transactions:
        return
    share = facts.failed_transactions / (facts.failed_transactions + (facts.transactions or 0))
    text = (
        f"{count(facts.failed_transactions, 'transaction')} failed ({percentage(share)} of all): the server worked on "
        "them, and they are in no throughput. A log of errors, where there is one, may say why."
    )
    yield Doubt("failures", text, Weight.DOUBTFUL if share >= FAILED_SHARE else Weight.SLIGHT)


def _truncated(facts: RunFacts) -> Iterator[Doubt]:
    """Compare the length of the series, whose last line may be missing, with the seconds that a whole run reports."""
    least_s = min(SHORT_SHARE * facts.duration_s, facts.duration_s - 2) - facts.unreported_s
    if facts.covered_s is not None and facts.covered_s < least_s:
        text = (
            f"Progress was reported for {facts.covered_s:g} of {facts.duration_s:g} s: the run was cut short, and its "
            "numbers are of that part. Run it again."
        )
        yield Doubt("truncated", text, Weight.CONTRADICTED)


def _changed_settings(facts: RunFacts) -> Iterator[Doubt]:
    if facts.settings_changed:
        names = ", ".join(facts.settings_changed)
        text = f"Settings changed during the run: {names}. Its numbers are of no one configuration. Run it again."
        yield Doubt("settings-changed", text, Weight.CONTRADICTED)


def _cold(facts: RunFacts) -> Iterator[Doubt]:
    """Look for a rise beside reads, which fill a cache; reads alone may be the nature of a large data set."""
    blocks, steady = facts.blocks_per_transaction, facts.steadiness
    rose = steady and ((steady.has_trend and steady.trend and steady.trend.percent > 0) or _slow_start(steady))
    if blocks is not None and blocks >= COLD_BLOCKS and rose:
        text = (
            f"{blocks:.2g} blocks per transaction were not in shared buffers, and throughput rose meanwhile: "
            "the cache was not warm. Warm up longer to see more."
        )
        yield Doubt("cache-not-warm", text)


def _slow_start(steady: Steadiness) -> bool:
    return steady.warm_up is not None and steady.warm_up.percent < 100


def _unchecked(facts: RunFacts) -> Iterator[str]:
    busy_share = facts.driver_busy_share if facts.thread_busy_share is None else facts.thread_busy_share
    values = {
        "steadiness, which takes 20 values": facts.steadiness if facts.is_steady else (),
        "whether the load generator was the limit": busy_share,
        "other work just before the load": facts.busy_before or None,
        "CPU time stolen by other guests": facts.stolen_share,
        "throttling of the CPUs": facts.throttle_events,
        "blocks read": facts.blocks_per_transaction,
    }
    yield from (name for name, value in values.items() if value is None)


@dataclass(frozen=True, slots=True)
class CurveFacts:
    """The runs of a curve by their number; `lost` ended without a result, `planned` were planned in all."""

    runs: Mapping[int, RunFacts]
    planned: int = 0
    lost: int = 0
    verdicts: Mapping[int, Verdict] = field(default_factory=dict)


def of_curve(facts: CurveFacts) -> Verdict:
    """Return the verdict on a curve as a whole: the doubts of its runs, each once with the runs it concerns, and its
    own.
    """
    verdicts = facts.verdicts or {run: of_run(run_facts) for run, run_facts in facts.runs.items()}
    checks = (_few_repeats, _lost, _changed_host, _colder_than_others, _outliers, _out_of_turn, _drifted)
    curve_doubts = tuple(doubt for check in checks for doubt in check(facts))
    unchecked = dict.fromkeys(name for verdict in verdicts.values() for name in verdict.unchecked)
    return Verdict((*_run_doubts(facts, verdicts), *curve_doubts), tuple(unchecked))


def _run_doubts(facts: CurveFacts, verdicts: Mapping[int, Verdict]) -> Iterator[Doubt]:
    by_code: dict[str, list[tuple[int, Doubt]]] = {}
    doubtful = ((run, verdict) for run, verdict in verdicts.items() if verdict.doubts)
    for run, verdict in doubtful:
        for code in sorted(verdict.codes):
            doubt = max((doubt for doubt in verdict.doubts if doubt.code == code), key=lambda doubt: doubt.weight)
            by_code.setdefault(code, []).append((run, doubt))
    for code, doubts in by_code.items():
        weight = max(doubt.weight for _, doubt in doubts)
        text = doubts[0][1].text
        if len(doubts) > 1:
            text = f"{len(doubts)} of {len(facts.runs)} runs ({_runs(run for run, _ in doubts)}). The first: {text}"
        else:
            text = f"Run {doubts[0][0]}: {text}"
        yield Doubt(code, text, weight)


def _few_repeats(facts: CurveFacts) -> Iterator[Doubt]:
    counts = _by_level(facts)
    few = [clients for clients, runs in counts.items() if len(runs) < FEWEST_FOR_INTERVAL]
    if few:
        where = "every level" if len(few) == len(counts) else f"{', '.join(map(str, few))} clients"
        text = f"Fewer than {FEWEST_FOR_INTERVAL} repeats at {where}: no interval, and no test. Add repeats."
        yield Doubt("few-repeats", text)


def _lost(facts: CurveFacts) -> Iterator[Doubt]:
    if facts.lost:
        text = f"{facts.lost} of {facts.planned} runs failed, so the curve has fewer points. {LOST_REMEDY}"
        yield Doubt("runs-lost", text)


def _changed_host(facts: CurveFacts) -> Iterator[Doubt]:
    rows = ((run, run_facts.facts_digest, run_facts.limits_digest) for run, run_facts in facts.runs.items())
    if states := host_states(rows):
        yield Doubt("host-changed", changed_host(map(_runs, states)))


def host_states(rows: Iterable[tuple[int, str, str]]) -> list[list[int]]:
    """Return runs by the state in which they found their host, from (run, digest of facts, of limits); [] if it is one.

    A digest of limits is empty where they are not known: its run is in no state where the others differ in limits.
    """
    by_facts: dict[str, dict[str, list[int]]] = {}
    for run, facts_digest, limits_digest in rows:
        if facts_digest:
            by_facts.setdefault(facts_digest, {}).setdefault(limits_digest, []).append(run)
    states: list[list[int]] = []
    for by_limits in by_facts.values():
        limited = [runs for limits_digest, runs in by_limits.items() if limits_digest]
        states += limited if len(limited) > 1 else [sorted(chain.from_iterable(by_limits.values()))]
    return states if len(states) > 1 else []


def changed_host(groups: Iterable[str]) -> str:
    """Say that a host or server changed within a curve; each group names the runs that found it in one state."""
    return (
        f"The host or the server changed during this curve ({'; '.join(groups)}), so its points may differ for that "
        "reason alone. Compare the facts of these runs, and repeat those that differ."
    )


def _colder_than_others(facts: CurveFacts) -> Iterator[Doubt]:
    """Find runs that read far more blocks per transaction than the others at their level: their cache was colder."""
    for clients, runs in _by_level(facts).items():
        blocks = {run: value for run in runs if (value := facts.runs[run].blocks_per_transaction) is not None}
        if len(blocks) < FEWEST_FOR_INTERVAL:
            continue
        median = statistics.median(blocks.values())
        cold = [run for run, value in blocks.items() if value > COLD_FACTOR * median and value - median > COLD_BLOCKS]
        for run in cold:
            text = (
                f"Run {run} at {count(clients, 'client')} read {blocks[run]:.2g} blocks per transaction, the others "
                f"there about {median:.2g}: its cache was not warm, which slowed it. Warm up longer."
            )
            yield Doubt("colder-cache", text)


def _outliers(facts: CurveFacts) -> Iterator[Doubt]:
    for clients, runs in _by_level(facts).items():
        values = {run: value for run in runs if (value := facts.runs[run].throughput) is not None}
        index = outlier(list(values.values()))
        if index is not None:
            fellows = f"its {len(values) - 1} fellows at {clients} clients ({RULE})"
            text = (
                f"Run {list(values)[index]} lies far from {fellows}. It is kept in every figure, and moves the mean. "
                "Where its page says why, set it aside."
            )
            yield Doubt("outlier", text)


def _out_of_turn(facts: CurveFacts) -> Iterator[Doubt]:
    if statistics_drift.repeats_in_a_row(_starts(facts)):
        text = (
            "The repeats of each level were run in a row, so they share a state of the host that may pass: no "
            "interval is shown. Plan repeats as blocks, or at random."
        )
        yield Doubt("repeats-in-a-row", text)


def _drifted(facts: CurveFacts) -> Iterator[Doubt]:
    drift = statistics_drift.drift(_starts(facts))
    if drift and drift.is_clear:
        verb = "rose" if drift.percent > 0 else "fell"
        text = (
            f"Throughput {verb} by {abs(drift.percent):.1f}% from the first run to the last, the levels being equal: "
            "repeats are not independent, as the intervals assume. Find what changed, or run them again."
        )
        yield Doubt("drift", text)


def _starts(facts: CurveFacts) -> list[Start]:
    return [start for run_facts in facts.runs.values() if (start := run_facts.start)]


def _by_level(facts: CurveFacts) -> dict[int, list[int]]:
    levels: dict[int, list[int]] = {}
    for run, run_facts in facts.runs.items():
        levels.setdefault(run_facts.clients, []).append(run)
    return dict(sorted(levels.items()))


def _runs(run_numbers: Iterable[int]) -> str:
    runs = list(run_numbers)
    return f"{word('run', len(runs))} {', '.join(map(str, runs))}"
