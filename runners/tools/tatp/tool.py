"""TATP on pgbench: its commands, and what an attempt left read into a result.

MQTh counts by the rule of the original tool: a read that finds nothing counts, an accepted failure (a write that was
rolled back because a row was missing or there already) does not, neither in throughput nor in response times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runners.contract import Doubt, Outputs, RunResult, RunSpec, Series
from runners.tools import gaps
from runners.tools.base import Tool
from runners.tools.claims import Claim, Fact
from runners.tools.kinds import Description
from runners.tools.parts import Part, refusal
from runners.tools.pgbench import ending, output
from runners.tools.pgbench.progress import PROGRESS_STEP_S
from runners.tools.printed import printed_text
from runners.tools.sampling import as_logged

from . import claims as tatp_claims
from . import command, kinds, latencies, population, rate
from . import expected as tatp_expected
from .counts import (
    DESTINATION,
    Count,
    Second,
    count,
    failed_transactions,
    forwarding_doubts,
    rates,
    read_seconds,
    type_measures,
    whole_log_doubts,
)
from .expected import Band, State
from .loaded import PARSER, failed, parse_load
from .parameters import (
    ACCEPTING,
    CHOICES,
    LONGEST_FORWARDING,
    NON_UNIFORM,
    TRANSACTIONS,
    Parameters,
    check,
    data_set,
    describe,
    in_full,
    read,
)

LOAD_S_PER_SUBSCRIBER = 60e-6
TPS_GUESS = 30_000.0  # high, for each hardware thread
BYTES_PER_SUBSCRIBER = 870  # with indexes, measured on PostgreSQL 15
RULE = (
    "MQTh counts by the rule of the original tool: a read that finds nothing counts, a write that is refused "
    "does not. By the strict rule only what found or changed a row counts."
)
UNACCEPTED = (
    "ended in a serialization failure or a deadlock, which TATP does not accept. It runs at READ COMMITTED: see the "
    "server's default_transaction_isolation."
)
RAN = (
    "How many writes were refused is how often pgbench says that they ran, less the successes that were told; of what "
    "ran, the warm-up had its share of all transactions. The shares that succeeded are those of the whole load."
)
WHOLE_RUN = "The counters of server and host cover the warm-up too: it is the first part of the same load."
# How far chance may take a type's share of the transactions: in standard deviations, and what a second's end cuts off.
MIX_DEVIATIONS, MIX_SLACK = 6.0, 0.002


class Tatp(Tool):
    """TATP on pgbench 13 and newer. See `runners.tools.base.Tool` for what each method promises."""

    name = "tatp"
    program = "pgbench"
    in_folder = ("psql", "pgbench")
    beginnings = ("transaction type: ", "number of clients: ")
    unit = "MQTh"
    live_unit = "transactions/s, refused writes included"
    parser = PARSER
    kinds = (kinds.TATP,)
    load_parameter = "mix"
    size_parameter = "subscribers"
    loads = CHOICES["mix"]
    samples_log = needs_log = True
    continues_warmup = True
    needed_files = (
        command.MESSAGES_FILE,
        command.PROGRESS_FILE,
        command.TOLD_FILE,
        command.BEFORE_FILE,
        command.AFTER_FILE,
    )
    transactions = TRANSACTIONS
    # Each of these says itself that it succeeded, and pgbench how often it ran: no sampled log is needed.
    counted_transactions = tuple(TRANSACTIONS[number] for number in ACCEPTING)
    strict_measure = rate.STRICT

    def describe(self, parameters: Mapping[str, Any]) -> Description:
        return describe(parameters)

    def check(self, spec: RunSpec) -> None:
        check(spec)

    def in_full(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        return in_full(parameters)

    def data_set(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        return data_set(parameters)

    def data_set_bytes(self, parameters: Mapping[str, Any]) -> int:
        return read(parameters).subscribers * BYTES_PER_SUBSCRIBER

    def writes(self, parameters: Mapping[str, Any]) -> bool:
        return any(read(parameters).weighed[3:])

    def prepares(self, parameters: Mapping[str, Any]) -> bool:
        del parameters
        return True

    def load_guess_s(self, parameters: Mapping[str, Any]) -> float:
        return read(parameters).subscribers * LOAD_S_PER_SUBSCRIBER

    def tps_guess(self, parameters: Mapping[str, Any]) -> float:
        del parameters
        return TPS_GUESS

    def rarest_share(self, parameters: Mapping[str, Any]) -> float:
        return tatp_expected.rarest_share(read(parameters))

    def load_command(self, spec: RunSpec) -> str:
        return command.load_command(spec)

    def verify_command(self, spec: RunSpec) -> str:
        return command.verify_command(spec)

    def pilot_command(self, spec: RunSpec) -> str:
        return command.pilot_command(spec)

    def measure_command(self, spec: RunSpec) -> str:
        return command.measure_command(spec)

    def reduce_command(self, spec: RunSpec) -> str:
        return command.reduce_command(spec)

    def throughput_command(self, spec: RunSpec) -> str:
        return command.throughput_command(spec)

    def parse(self, spec: RunSpec, outputs: Outputs) -> RunResult:
        return parse_load(spec, outputs) if spec.kind == "load" else parse_run(spec, outputs)

    def claims(self, spec: RunSpec, outputs: Outputs) -> Mapping[str, Claim]:
        """Return what the summary of the pgbench that ran it claims, or its seconds where only files came along."""
        del spec
        messages = outputs.files.get(command.MESSAGES_FILE, outputs.stderr)
        progress = outputs.files.get(command.PROGRESS_FILE, messages)
        return tatp_claims.claims_of(printed_text(outputs.stdout), printed_text(progress))

    def facts(self, spec: RunSpec, *, is_own: bool) -> Mapping[str, Fact]:
        del is_own
        return tatp_claims.facts_of(spec)

    def parts(self, text: str) -> tuple[Part, ...]:
        return output.LAYOUT.parts(text)

    def rate_steps(self, measures: Mapping[str, float], duration_s: float | None, is_sampled: bool) -> Sequence[str]:
        return rate.steps(measures, duration_s, is_sampled)

    def fingerprint_query(self, parameters: Mapping[str, Any]) -> str:
        read(parameters)
        return population.FINGERPRINT_SQL


# --- a measured run -------------------------------------------------------------------------------------------


def parse_run(spec: RunSpec, outputs: Outputs) -> RunResult:
    """Return what a measured run gave: a failed result, with its reason, where its numbers are none."""
    spec = as_logged(spec, outputs)
    messages = printed_text(outputs.files.get(command.MESSAGES_FILE, outputs.stderr))
    if failure := ending.failure(outputs, messages):
        return failed(failure)
    if several := refusal(output.LAYOUT, {"Standard output": printed_text(outputs.stdout), "stderr": messages}):
        return failed(several)
    # Until pgbench was no longer asked for its progress, that stood among its messages.
    progress = printed_text(outputs.files.get(command.PROGRESS_FILE, messages.encode()))
    if errors := failed_transactions(progress, printed_text(outputs.stdout)):
        return failed(f"{errors:,} transactions {UNACCEPTED}")
    try:
        seconds = read_seconds(progress, latencies.file_text(outputs, command.TOLD_FILE))
        before, after = (
            _state(latencies.file_text(outputs, name)) for name in (command.BEFORE_FILE, command.AFTER_FILE)
        )
    except (LookupError, ValueError) as error:
        return failed(f"What the run of TATP left behind cannot be read: {error}.")
    measured = [second for second in seconds if second.at_s - second.took_s > spec.warmup_s - 0.5]
    if not sum(second.transactions for second in measured):
        return failed("Nothing tells how many transactions ended in the measured part.")
    return _succeeded(spec, outputs, seconds, measured, (before, after))


def _state(text: str) -> State:
    numbers = [int(number) for number in text.strip().split("|")]
    if min(numbers) < 0:
        raise ValueError(f"the state of the population has a count below 0, {min(numbers):,}")
    rows, outside, facilities, subscribers = numbers
    return State(rows, outside, facilities, subscribers)


def _succeeded(
    spec: RunSpec, outputs: Outputs, seconds: Sequence[Second], measured: Sequence[Second], states: tuple[State, State]
) -> RunResult:
    reduction, remarks = latencies.read_log(spec, outputs)
    histograms = latencies.histograms_of(reduction, spec.log_sampling_rate)
    counts = count(seconds, measured, reduction)
    looked_at, shares = (
        {name: getattr(type_count, part) for name, type_count in counts.items()} for part in ("looked_at", "share")
    )
    bands = tatp_expected.bands(read(spec.parameters), *states, looked_at)
    return RunResult(
        outcome="succeeded",
        reason="",
        parser=PARSER,
        measures={**rates(measured, counts), **latencies.measures_of(histograms), **type_measures(counts, bands)},
        series=_series(spec, outputs, seconds, measured),
        has_late_reports=not gaps.are_punctual([second.at_s for second in seconds]),
        histograms=histograms,
        doubts=(
            # Without its log a run has counts of failures alone, which are of no mix.
            *(mix_doubts(read(spec.parameters).weighed, counts, spec.log_sampling_rate) if histograms else ()),
            *_share_doubts(read(spec.parameters), counts, bands),
            *_state_doubts(spec, states),
            *forwarding_doubts(spec, states, seconds),
            *whole_log_doubts(spec, outputs, reduction, seconds),
            *latencies.doubts_of(reduction, shares),
        ),
        remarks=(
            RULE,
            *remarks,
            *latencies.untold(reduction),
            *_sampling_remarks(spec, measured),
            WHOLE_RUN,
            _churn_remark(spec, states),
            *_end_remarks(outputs),
        ),
    )


def _series(
    spec: RunSpec, outputs: Outputs, seconds: Sequence[Second], measured: Sequence[Second]
) -> tuple[Series, ...]:
    epoch_text = outputs.files.get("started_epoch", b"").strip()
    started_epoch_s = float(epoch_text) if epoch_text.isdigit() else 0.0
    warmup = [second for second in seconds if second not in measured]
    begun_epoch_s = started_epoch_s + spec.warmup_s
    series = [
        _line("mqth", "MQTh", begun_epoch_s, measured, _rate),
        _line("refused_writes", "per s", begun_epoch_s, measured, lambda second: second.refused / second.took_s),
        _line("latency_of_all_ms", "ms", begun_epoch_s, measured, lambda second: second.latency_ms),
    ]
    if warmup:
        series.append(_line("warmup_mqth", "MQTh", started_epoch_s, warmup, _rate))
    return tuple(series)


def _rate(second: Second) -> float:
    return (second.transactions - second.refused) / second.took_s


def _line(
    metric: str, unit: str, start_epoch_s: float, seconds: Sequence[Second], value: Callable[[Second], float]
) -> Series:
    """Return a value for each second: a report that came late is about all since the one before."""
    values = [number for second in seconds if second.whole_s for number in [value(second)] * second.whole_s]
    return Series(metric, unit, start_epoch_s, PROGRESS_STEP_S, tuple(values))


def mix_doubts(weights: Sequence[int], counts: Mapping[str, Count], log_sampling_rate: float) -> list[Doubt]:
    """Return a doubt about the type of transaction that ran furthest from its share of the mix, beyond chance."""
    total, share_of_log = sum(type_count.executions for type_count in counts.values()), log_sampling_rate or 1.0
    furthest: tuple[float, str] = (0.0, "")
    for name, weight in zip(TRANSACTIONS, weights, strict=True):
        share, ran = weight / sum(weights), counts[name].executions / total if name in counts and total else None
        if ran is None:
            continue
        chance = MIX_DEVIATIONS * math.sqrt(share * (1 - share) / (total * share_of_log)) + MIX_SLACK
        text = f"{name} was {100 * ran:.2f}% of the transactions, but is {100 * share:.2f}% of the mix."
        furthest = max(furthest, (abs(ran - share) / chance, text))
    return [Doubt("mix", furthest[1])] if furthest[0] > 1 else []


def _share_doubts(parameters: Parameters, counts: Mapping[str, Count], bands: Mapping[str, Band]) -> list[Doubt]:
    """Return a doubt for each share outside its band.

    Nobody knows which keys an earlier load had: uniform ones replace forwardings that are seldom asked for.
    """
    doubts = []
    for name, type_count in counts.items():
        if type_count.share is not None and not bands[name].holds(type_count.share):
            band = f"{100 * bands[name].low:.2f}% to {100 * bands[name].high:.2f}%"
            text = f"{100 * type_count.share:.2f}% of {type_count.executions:,.0f} {name} succeeded, but {band} must."
            text += " The population or the load is not TATP's."
            is_low = name == TRANSACTIONS[DESTINATION] and type_count.share < bands[name].low
            if is_low and parameters.keys == NON_UNIFORM:
                text += " Did a load with uniform keys run on this data set before? Then load it anew."
            doubts.append(Doubt("success-share", text))
    return doubts


def _state_doubts(spec: RunSpec, states: tuple[State, State]) -> list[Doubt]:
    planned = read(spec.parameters).subscribers
    doubts = []
    if any(state.subscribers != planned for state in states):
        counts_text = " and ".join(f"{state.subscribers:,}" for state in states)
        text = f"{planned:,} subscribers were asked for; before and after the run there were {counts_text}."
        doubts.append(Doubt("subscribers", text))
    return doubts + _forwarding_doubts(read(spec.parameters), states)


def _forwarding_doubts(parameters: Parameters, states: tuple[State, State]) -> list[Doubt]:
    """Return a doubt where others than this load have changed how many forwardings there are: no band tells it."""
    if not tatp_expected.keeps_its_number(parameters) or all(map(tatp_expected.has_its_number, states)):
        return []
    before, after = states
    expected = tatp_expected.FORWARDINGS * before.facilities
    text = (
        f"There were {before.rows:,} call forwardings before the run and {after.rows:,} after it, where the population "
        f"has about {expected:,.0f}. The success shares of GET_NEW_DESTINATION and of the two that insert and delete "
        "them are not checked. Load the data set anew."
    )
    return [Doubt("forwardings", text)]


def _sampling_remarks(spec: RunSpec, measured: Sequence[Second]) -> list[str]:
    rate, every = spec.log_sampling_rate, measured[0].outcomes.every
    logged = "Response times, and how often reads and updates of locations ran, are from 1 of"
    looked_at = (
        f"Whether a read found a row was looked at in 1 of {every}, warm-up and all; the strict rate rests on that."
    )
    return [f"{logged} {1 / rate:.4g}."] * (rate < 1) + [RAN, looked_at] * (every > 1)


def _end_remarks(outputs: Outputs) -> list[str]:
    """Return a remark where the end was not seen; what pgbench said goes to a file of its own."""
    return [] if outputs.files.get(command.MESSAGES_FILE) else ending.end_remarks(outputs)


def _churn_remark(spec: RunSpec, states: tuple[State, State]) -> str:
    longest = LONGEST_FORWARDING[read(spec.parameters).population]
    first, second = (100 * tatp_expected.replaced_share(state, longest) for state in states)
    return f"Of the call forwardings {first:.1f}% had been replaced before the run and {second:.1f}% after it."
