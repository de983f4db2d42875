"""Find what in pgbench's outputs contradicts itself: the log and the clock, scripts and total, counts and shares."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise, zip_longest

from runners.contract import Doubt, Measure, Outputs, RunSpec, Series
from runners.tools import moments
from runners.tools.claims import Version
from runners.tools.printed import printed_text

from . import parameters as pgbench_parameters
from .log import KINDS, Reduction
from .output import PER_CLIENT
from .progress import Progress

# Epochs are whole seconds, and what starts and ends a run takes a moment.
CLOCK_SLACK_S = 5.0
CONNECTING_SLACK_S = 2.0
# Between the last look at the time and the end: clients disconnect.
END_SLACK_S = 0.5
# Since then logs have the times of the same clock as the duration, from which a log leaves the moments at both ends. A
# run of a number of transactions ends with the last of them.
SAME_CLOCK_SINCE = (14,)
SPAN_SLACK_S, LEAST_SPAN = 0.01, 0.9
# A log has whole us, of both ends of a transaction.
LOGGED_ROUNDING_S = 0.000002
# Half of the last of the six decimals of a rate.
TPS_ROUNDING = 5e-7
# Metrics of the reports of progress that count what the summary counts, and what their division into seconds leaves.
TOTALS = {
    "failed": "failed_transactions",
    "skipped": "skipped_transactions",
    "retried": "retried_transactions",
    "retries": "retries",
}
COUNT_ROUNDING, COUNT_SHARE = 0.01, 1e-9
# Times are printed to a tenth; a last report may be late, as a last transaction is.
TIME_ROUNDING_S, LATEST_SHARE = 0.06, 1.05
# Of each script: what it did of all, which from 18 on is what it began; and what ended, with its rate.
SCRIPT_SHARE = re.compile(r"^ - (\d{1,15}) transactions \((\d{1,3}\.\d)% of total(, tps = )?", re.MULTILINE)
SCRIPT_ENDED = re.compile(
    r"^ - (?:number of transactions actually processed: (\d{1,15})|(\d{1,15}) transactions)"
    r" \((?:\d{1,3}\.\d% of total, )?tps = (\d{1,12}\.\d{1,9})\)$",
    re.MULTILINE,
)
SHARE = re.compile(
    r"^number of (failed transactions|(?:serialization|deadlock|other) failures|transactions (?:retried|skipped))"
    r": (\d{1,15}) \((\d{1,3}(?:\.\d{1,4})?) ?%\)$",
    re.MULTILINE,
)
LATE = re.compile(
    r"^number of transactions above the [0-9.]{1,16} ms latency limit: (\d{1,15})/(\d{1,15})"
    r" \((\d{1,3}(?:\.\d{1,4})?) ?%\)$",
    re.MULTILINE,
)
# What transactions come to, each of which ended, failed or was skipped.
BEGUN = ("transactions", "failed_transactions", "skipped_transactions")
MOST_DOUBTS = 2
# By which a client spent time that is in no latency of a log.
OTHER_WAITS = ("failed_transactions", "average_connection_time_ms")
# What is printed of a run at a rate, which waits for its first transaction to be due; its average may be 0.
LAG = "rate_limit_lag_average_ms"
RATE_SHARE, RATE_ROUNDING, SCRIPT_SHARE_ROUNDING = 0.00001, 0.00001, 0.051
# Half of the last digit, and a little for the rounding of what is in the middle.
SHARE_ROUNDING = 0.00051
# pgbench computes its lags in parts of a us, and logs whole ones.
LAG_ROUNDING_MS = 0.0016
# Before, the printed lag was taken when the wait ended and the log's after connecting.
SAME_LAG_SINCE = (9, 6)
# Before, reports of progress counted skipped transactions among those that ended.
SKIPPED_APART_SINCE = (11,)
# Half of the tenth of a rate in a report of progress.
REPORTED_TPS_ROUNDING = 0.05
PLANNED_BELOW_0 = re.compile(r"^number of transactions actually processed: \d{1,15}/(-\d{1,15})$", re.MULTILINE)
TRIES = re.compile(r"^maximum number of tries: (\d{1,9})$", re.MULTILINE)
SCRIPT_SKIPPED = re.compile(r"^ - number of transactions skipped: (\d{1,15}) ", re.MULTILINE)
SCRIPT_HEADING = re.compile(r"^SQL script \d+:", re.MULTILINE)


def doubts(
    spec: RunSpec, outputs: Outputs, reduction: Reduction | None, measures: Mapping[str, Measure]
) -> Iterator[Doubt]:
    """Yield what contradicts itself within the outputs."""
    stdout = printed_text(outputs.stdout)
    yield from share_doubts(stdout, measures)
    yield from planned_doubts(stdout, measures)
    yield from retry_doubts(stdout, measures)
    yield from clock_doubts(spec, outputs, reduction, measures)
    yield from script_doubts(spec, stdout, reduction, measures)
    yield from span_doubts(spec, reduction, measures)
    if reduction and spec.log_sampling_rate == 1:
        yield from kind_doubts(reduction, measures)
        yield from lag_doubts(spec, reduction, measures)


def lag_doubts(spec: RunSpec, reduction: Reduction, measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt where the longest lag is not that of a whole log, where the version takes both at the same moment.

    A log that was reduced without its lag says none.
    """
    version = Version.read(spec.tool_version)
    if version is None or version.numbers < SAME_LAG_SINCE:
        return
    printed, longest_us = measures.get("rate_limit_lag_max_ms"), reduction.longest_lag_us
    if printed is not None and longest_us is not None and abs(printed.value - longest_us / 1000) > LAG_ROUNDING_MS:
        text = f"The longest lag of {printed.value:,.4g} ms is not that of the log, {longest_us / 1000:,.4g} ms."
        yield Doubt("logged-lag", text)


def kind_doubts(reduction: Reduction, measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt where a whole log has other numbers of skipped and failed transactions than the summary."""
    skipped = reduction.kinds.get("skipped", 0)
    failed = sum(reduction.kinds.get(kind, 0) for kind in KINDS) - skipped
    for name, logged in (("skipped", skipped), ("failed", failed)):
        counted = measures.get(f"{name}_transactions")
        if counted is not None and counted.value != logged:
            yield Doubt(
                "logged-count", f"The log has {logged:,} {name} transactions, pgbench counted {counted.value:,.0f}."
            )


def clock_doubts(
    spec: RunSpec, outputs: Outputs, reduction: Reduction | None, measures: Mapping[str, Measure]
) -> Iterator[Doubt]:
    """Yield a doubt where the log reaches over a longer time than the run, or into another one."""
    if reduction is None or reduction.first_epoch_s is None or reduction.last_epoch_s is None:
        return
    lasted_s, span_s = _lasted_s(measures), reduction.last_epoch_s - reduction.first_epoch_s
    if span_s > max(lasted_s, spec.duration_s) + _connecting_s(measures) + CLOCK_SLACK_S:
        yield Doubt("log-clock", f"The log reaches over {span_s:,} s, but the run lasted {lasted_s:,.4g} s.")
    started = outputs.files.get("started_epoch", b"").strip()
    before_s = int(started) - reduction.first_epoch_s if started.isdigit() and len(started) < 16 else 0
    after_s = -before_s - max(lasted_s, spec.duration_s) - _connecting_s(measures)
    if started.isdigit() and -before_s + CONNECTING_SLACK_S < _connecting_s(measures):
        text = f"Its first transaction ended {-before_s:,} s after the run began, before it was connected"
        yield Doubt("log-clock", f"{text}: that is printed to have taken {_connecting_s(measures):,.4g} s.")
    if max(before_s, after_s) > CLOCK_SLACK_S:
        yield Doubt("log-clock", f"The log begins at {reduction.first_epoch_s}, the run at {int(started)}.")


def span_doubts(spec: RunSpec, reduction: Reduction | None, measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt where a log's transactions took longer than the run, or a planned number of them shorter.

    How long the run lasted has the rounding of the rate in it, which of slow runs is much.
    """
    version = Version.read(spec.tool_version)
    if reduction is None or reduction.span_s is None or version is None or version.numbers < SAME_CLOCK_SINCE:
        return
    span_s, lasted_s = reduction.span_s, _lasted_s(measures)
    least_tps = max(TPS_ROUNDING, measures["tps"].value - TPS_ROUNDING)
    room_s = SPAN_SLACK_S + lasted_s * TPS_ROUNDING / least_tps
    if span_s > lasted_s + room_s or span_s < _least_span_s(spec, lasted_s, measures) - room_s:
        yield Doubt("log-clock", f"The log's transactions took {span_s:,.3f} s, but the run lasted {lasted_s:,.3f} s.")
        return
    # At a rate a latency counts from when it was due, so that those of one client overlap.
    had_s = spec.clients * (span_s + SPAN_SLACK_S) + LOGGED_ROUNDING_S * reduction.transactions
    if LAG not in measures and reduction.busy_s > had_s:
        text = (
            f"The log has {reduction.busy_s:,.3f} s of transactions within {span_s:,.3f} s, more than its clients had."
        )
        yield Doubt("log-clock", text)


def _least_span_s(spec: RunSpec, lasted_s: float, measures: Mapping[str, Measure]) -> float:
    """Return how long the transactions of a log took at least: all of the run where nobody waits for anything else.

    A log's first response begins after a think time. Of a run of half a second clients may disconnect all the while.
    """
    has_waits = any(measures[name].value for name in OTHER_WAITS if name in measures)
    is_open = has_waits or LAG in measures or pgbench_parameters.read(spec.parameters).think is not None
    if is_open or spec.log_sampling_rate < 1 or "planned_transactions" not in measures:
        return 0.0
    return LEAST_SPAN * lasted_s - END_SLACK_S


def _lasted_s(measures: Mapping[str, Measure]) -> float:
    rate = measures.get("tps_including", measures["tps"]).value
    return measures["transactions"].value / rate


def ended_s(measures: Mapping[str, Measure]) -> float:
    """Return the second of the run at which it had ended, as reports of progress count: from before connecting."""
    return _lasted_s(measures) + _connecting_s(measures)


def _connecting_s(measures: Mapping[str, Measure]) -> float:
    return measures["initial_connection_time_ms"].value / 1000 if "initial_connection_time_ms" in measures else 0.0


def script_doubts(
    spec: RunSpec, stdout: str, reduction: Reduction | None, measures: Mapping[str, Measure]
) -> Iterator[Doubt]:
    """Yield a doubt where the counts or rates of the scripts do not come to those of all, or are not those of the log.

    Threads count for scripts without a lock (src/bin/pgbench/pgbench.c, processXactStats): several may lose some.
    """
    scripts = len(SCRIPT_HEADING.findall(stdout))
    skipped = _skipped_of_scripts(stdout, measures)
    threads = measures["reported_threads"].value if "reported_threads" in measures else spec.threads
    shares = SCRIPT_SHARE.findall(stdout)
    ended = [(int(since_18 or before), float(rate)) for since_18, before, rate in SCRIPT_ENDED.findall(stdout)]
    ended = [(count - skipped[place], rate) for place, (count, rate) in enumerate(ended[:scripts])]
    counts = [count for count, _ in ended]
    if len(shares) == scripts:
        yield from islice(_script_share_doubts(shares, threads, measures), MOST_DOUBTS)
    if len(ended) == scripts:
        yield from _sum_doubts(counts, measures["transactions"].value, threads)
        yield from islice(_script_rate_doubts(ended, measures), MOST_DOUBTS)
        if reduction and spec.log_sampling_rate == 1 and threads == 1:
            yield from _log_doubts(counts, _logged_counts(reduction, scripts))


def _skipped_of_scripts(stdout: str, measures: Mapping[str, Measure]) -> list[int]:
    """Return what is skipped of each script in its count, as it is up to 14; 0 in newer ones, which count failures."""
    parts = SCRIPT_HEADING.split(stdout)[1:]
    if "failed_transactions" in measures:
        return [0] * len(parts)
    return [int(match[1]) if (match := SCRIPT_SKIPPED.search(part)) else 0 for part in parts]


def _script_share_doubts(
    shares: Sequence[tuple[str, str, str]], threads: float, measures: Mapping[str, Measure]
) -> Iterator[Doubt]:
    """Yield a doubt where the scripts' counts are not their percentages of all, or do not come to all."""
    is_of_ended = any(rate for _, _, rate in shares) and "failed_transactions" in measures
    names = BEGUN[:1] if is_of_ended else BEGUN
    total = sum(measures[name].value for name in names if name in measures)
    yield from _sum_doubts([int(count) for count, _, _ in shares], total, threads)
    for count, percent, _ in shares:
        share = 100 * int(count) / total
        if abs(share - float(percent)) > SCRIPT_SHARE_ROUNDING:
            text = f"Of {total:,.0f} transactions {int(count):,} of a script are {share:.1f}%, not {percent}%."
            yield Doubt("script-count", text)


def _sum_doubts(counts: Sequence[int], total: float, threads: float) -> Iterator[Doubt]:
    if counts and (sum(counts) > total or (sum(counts) < total and threads == 1)):
        text = f"The scripts' transactions come to {sum(counts):,}, but {total:,.0f} were counted."
        yield Doubt("script-count", text)


def _script_rate_doubts(ended: Sequence[tuple[int, float]], measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt where a script's rate is not its count in the time of all; up to 13 that includes connecting."""
    total = measures["transactions"].value
    totals = [measures[name].value for name in ("tps", "tps_including") if name in measures]
    for count, rate in ended:
        if all(abs(count * tps / total - rate) > RATE_SHARE * rate + RATE_ROUNDING for tps in totals):
            text = f"{count:,} transactions of a script are {count * totals[0] / total:,.6g} TPS, where {total:,.0f} "
            yield Doubt("script-count", f"{text}are {totals[0]:,.6g}, but {rate:,.6g} are printed.")


def _log_doubts(counts: Sequence[int], logged: Sequence[int]) -> Iterator[Doubt]:
    if sum(logged) == sum(counts) and list(logged) != list(counts):
        numbers = ", ".join(f"{count:,}" for count in counts)
        yield Doubt("script-count", f"The scripts' counts ({numbers}) are not those of the log.")


def share_doubts(stdout: str, measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt for each printed percentage that is not that of its count."""
    total = sum(measures[name].value for name in BEGUN if name in measures)
    for name, count, percent in SHARE.findall(stdout):
        share = 100 * int(count) / total
        if abs(share - float(percent)) > SHARE_ROUNDING:
            text = f"Of {total:,.0f} transactions {int(count):,} {name} are {share:.3f}%, not {percent}%."
            yield Doubt("share", text)
    for late, ran, percent in LATE.findall(stdout):
        share = 100 * int(late) / max(1, int(ran))
        if int(ran) != measures["transactions"].value or abs(share - float(percent)) > SHARE_ROUNDING:
            ended = measures["transactions"].value
            text = (
                f"{late} of {ran} transactions that were late are {share:.3f}%, not {percent}%, of {ended:,.0f} in all."
            )
            yield Doubt("share", text)


def planned_doubts(stdout: str, measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt where the clients' numbers of transactions do not come to all that were planned."""
    each, names = PER_CLIENT.search(stdout), ("reported_clients", "planned_transactions")
    if (below_0 := PLANNED_BELOW_0.search(stdout)) and "planned_transactions" not in measures:
        yield Doubt("count", f"{below_0[1]} transactions were planned, which is below 0.")
    if not each or not all(name in measures for name in names):
        return
    clients, planned = (measures[name].value for name in names)
    if int(each[1]) * clients != planned:
        text = (
            f"{int(each[1]):,} transactions of each of {clients:,.0f} clients are not the {planned:,.0f} planned ones."
        )
        yield Doubt("count", text)


def retry_doubts(stdout: str, measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt where there were more retries than the tries of each transaction allow; 0 tries are any number."""
    printed = TRIES.search(stdout)
    if not printed or not int(printed[1]) or not {"retries", "retried_transactions"} <= measures.keys():
        return
    tries, retries, retried = int(printed[1]), measures["retries"].value, measures["retried_transactions"].value
    if retries > retried * (tries - 1):
        text = f"{retried:,.0f} transactions of {tries:,} tries at most cannot have been retried {retries:,.0f} times."
        yield Doubt("retry-count", text)


def report_doubts(spec: RunSpec, reports: Progress, measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield what the reports of progress say otherwise than the summary, or than each other."""
    parameters = pgbench_parameters.read(spec.parameters)
    yield from progress_doubts(reports.series, measures)
    yield from lag_progress_doubts(spec, reports, measures)
    yield from time_doubts(reports.times_s, measures, has_epochs=reports.has_epochs)
    if not parameters.think:
        yield from moments.doubts(reports.moments_in_time, measures)
    # Clients that connect each time are not busy all of it.
    if not parameters.think and not parameters.connect_each:
        yield from moments.ended_client(reports.moments_in_time, measures)


def progress_doubts(series: Sequence[Series], measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt where the reports of progress count more of something than the summary."""
    for line in series:
        total = measures.get(TOTALS.get(line.metric, ""))
        if total is not None and sum(line.numbers) > (1 + COUNT_SHARE) * total.value + COUNT_ROUNDING:
            text = (
                f"The reports of progress have {sum(line.numbers):,.0f} {line.metric}, the summary {total.value:,.0f}."
            )
            yield Doubt("progress", text)


def lag_progress_doubts(spec: RunSpec, reports: Progress, measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt where the lag of a second is above its latency, or above the longest of all.

    Before 9.6 a lag counts when its wait ends, the latency when its transaction does. Up to 10 the seconds in which
    some were skipped are left out: what was taken out of their averages makes their rounding larger.
    """
    version = Version.read(spec.tool_version)
    if version is None or version.numbers < SAME_LAG_SINCE:
        return
    columns = {line.metric: line.values for line in reports.series}
    longest = measures.get("rate_limit_lag_max_ms")
    longest_ms = longest.value if longest else math.inf
    skipped = columns.get("skipped", ()) if version.numbers < SKIPPED_APART_SINCE else ()
    rows = zip_longest(*(columns.get(name, ()) for name in ("lag_ms", "latency_ms", "tps")), skipped)
    for lag_ms, latency_ms, tps, skipped_in_it in rows:
        if lag_ms is None or latency_ms is None or skipped_in_it:
            continue
        room_ms = LAG_ROUNDING_MS + _unlocked_lag_ms(reports.times_s, measures, tps or 0.0, longest_ms)
        text = f"A report of progress has a lag of {lag_ms:,.6g} ms on average"
        if lag_ms > latency_ms + room_ms:
            yield Doubt("progress", f"{text}, above its latency of {latency_ms:,.6g} ms.")
            return
        if lag_ms > longest_ms + room_ms:
            yield Doubt("progress", f"{text}, above the longest of all, {longest_ms:,.6g} ms.")
            return


def _unlocked_lag_ms(times_s: Sequence[float], measures: Mapping[str, Measure], tps: float, longest_ms: float) -> float:
    """Return what a transaction of another thread may add to a lag alone: latencies are read before lags, unlocked.

    It is that of the shortest report, as one that follows on a late one is short.
    """
    if "reported_threads" in measures and measures["reported_threads"].value == 1:
        return 0.0
    shortest_s = min((after - before for before, after in pairwise([0.0, *times_s])), default=0.0) - 2 * TIME_ROUNDING_S
    fewest = max(0.0, tps - REPORTED_TPS_ROUNDING) * max(0.0, shortest_s)
    return longest_ms / fewest if fewest else math.inf


def time_doubts(
    times_s: Sequence[float], measures: Mapping[str, Measure], *, has_epochs: bool = False
) -> Iterator[Doubt]:
    """Yield a doubt where a report of progress came before its second, long after the run, or not before its end.

    The thread that reports looks at the time when its last client has ended: a single one leaves no interval out. The
    first report is of one interval or more; where `has_epochs`, its time in the run is not known.
    """
    lasted_s = ended_s(measures)
    threads = measures["reported_threads"].value if "reported_threads" in measures else 0
    early = next((at_s for place, at_s in enumerate(times_s, start=1) if at_s < place - TIME_ROUNDING_S), None)
    if early is not None:
        yield Doubt("progress", f"A report of progress is of {early:g} s: that is before its second has ended.")
    elif times_s and max(times_s) > LATEST_SHARE * lasted_s + CONNECTING_SLACK_S:
        yield Doubt("progress", f"A report of progress is of {max(times_s):,.1f} s, the run lasted {lasted_s:,.4g} s.")
    elif times_s and not has_epochs and threads == 1 and lasted_s > times_s[-1] + times_s[0] + END_SLACK_S:
        text = f"The last report of progress is of {times_s[-1]:,.1f} s, although the run lasted {lasted_s:,.4g} s"
        yield Doubt("progress", f"{text}: its only thread reports until it ends.")


def _logged_counts(reduction: Reduction, scripts: int) -> list[int]:
    counts = [0] * scripts
    for (script, _, _), count in reduction.bins.items():
        if script < scripts:
            counts[script] += count
    return counts
