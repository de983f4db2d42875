"""Find what in pgbench's outputs contradicts itself: the log and the clock, scripts and total, counts and shares."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from runners.contract import Doubt, Measure, Outputs, RunSpec, Series
from runners.tools.printed import text_of

from .log import KINDS, Reduction

# Epochs are whole seconds, and what starts and ends a run takes a moment.
CLOCK_SLACK_S = 5.0
CONNECTING_SLACK_S = 2.0
# Metrics of the reports of progress that count what the summary counts, and what their division into seconds leaves.
TOTALS = {
    "failed": "failed_transactions",
    "skipped": "skipped_transactions",
    "retried": "retried_transactions",
    "retries": "retries",
}
COUNT_ROUNDING = 0.01
# Times are printed to a tenth; a last report may be late, as a last transaction is.
TIME_ROUNDING_S, LATEST_SHARE = 0.06, 1.05
SCRIPT_COUNTS = (
    re.compile(r"^ - (\d{1,15}) transactions \(", re.MULTILINE),
    re.compile(r"^ - number of transactions actually processed: (\d{1,15}) \(", re.MULTILINE),
)
SCRIPT_RATE = re.compile(r"^ - [^(\n]{1,80}\((?:[^=\n]{1,80}, )?tps = (\d{1,12}\.\d{1,9})\)$", re.MULTILINE)
SHARE = re.compile(
    r"^number of (failed transactions|serialization failures|deadlock failures|transactions (?:retried|skipped))"
    r": (\d{1,15}) \((\d{1,3}\.\d{3}) ?%\)$",
    re.MULTILINE,
)
LATE = re.compile(
    r"^number of transactions above the [0-9.]{1,16} ms latency limit: (\d{1,15})/(\d{1,15}) \((\d{1,3}\.\d{3}) ?%\)$",
    re.MULTILINE,
)
# Half of the last digit, and a little for the rounding of what is in the middle.
SHARE_ROUNDING = 0.00051
TRIES = re.compile(r"^maximum number of tries: (\d{1,9})$", re.MULTILINE)
SCRIPT_HEADING = re.compile(r"^SQL script \d+:", re.MULTILINE)


def doubts(
    spec: RunSpec, outputs: Outputs, reduction: Reduction | None, measures: Mapping[str, Measure]
) -> Iterator[Doubt]:
    """Yield what contradicts itself within the outputs."""
    stdout = text_of(outputs.stdout)
    yield from share_doubts(stdout, measures)
    yield from retry_doubts(stdout, measures)
    yield from clock_doubts(spec, outputs, reduction, measures)
    yield from script_doubts(spec, stdout, reduction, measures)
    yield from script_rate_doubts(stdout, measures)
    if reduction and spec.log_sampling_rate == 1:
        yield from kind_doubts(reduction, measures)


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


def script_rate_doubts(stdout: str, measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt where the rates of the scripts do not come to the rate of all."""
    rates = [float(number) for number in SCRIPT_RATE.findall(stdout)]
    totals = [measures[name].value for name in ("tps", "tps_including") if name in measures]
    if not rates or len(rates) != len(SCRIPT_HEADING.findall(stdout)):
        return
    if all(abs(sum(rates) - total) > 0.0001 * total + 0.001 for total in totals):
        yield Doubt(
            "script-count", f"The scripts' rates come to {sum(rates):,.6g} TPS, but {totals[0]:,.6g} are printed."
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


def _lasted_s(measures: Mapping[str, Measure]) -> float:
    rate = measures.get("tps_including", measures["tps"]).value
    return measures["transactions"].value / rate


def _connecting_s(measures: Mapping[str, Measure]) -> float:
    return measures["initial_connection_time_ms"].value / 1000 if "initial_connection_time_ms" in measures else 0.0


def script_doubts(
    spec: RunSpec, stdout: str, reduction: Reduction | None, measures: Mapping[str, Measure]
) -> Iterator[Doubt]:
    """Yield a doubt where the counts of the scripts do not come to all transactions, or are not those of the log."""
    scripts = len(SCRIPT_HEADING.findall(stdout))
    counts_by_line = [[int(number) for number in line.findall(stdout)] for line in SCRIPT_COUNTS]
    for counts in counts_by_line:
        if counts and len(counts) == scripts:
            yield from _count_doubts(spec, counts, reduction, measures)


def _count_doubts(
    spec: RunSpec, counts: list[int], reduction: Reduction | None, measures: Mapping[str, Measure]
) -> Iterator[Doubt]:
    total = int(measures["transactions"].value)
    if sum(counts) != total:
        yield Doubt("script-count", f"The scripts' transactions come to {sum(counts):,}, but {total:,} were counted.")
    logged = _logged_counts(reduction, len(counts)) if reduction and spec.log_sampling_rate == 1 else counts
    if sum(logged) == sum(counts) and logged != counts:
        numbers = ", ".join(f"{count:,}" for count in counts)
        yield Doubt("script-count", f"The scripts' counts ({numbers}) are not those of the log.")


def share_doubts(stdout: str, measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt for each printed percentage that is not that of its count."""
    parts = ("transactions", "failed_transactions", "skipped_transactions")
    total = sum(measures[name].value for name in parts if name in measures)
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


def retry_doubts(stdout: str, measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt where there were more retries than the tries of each transaction allow; 0 tries are any number."""
    printed = TRIES.search(stdout)
    if not printed or not int(printed[1]) or not {"retries", "retried_transactions"} <= measures.keys():
        return
    tries, retries, retried = int(printed[1]), measures["retries"].value, measures["retried_transactions"].value
    if retries > retried * (tries - 1):
        text = f"{retried:,.0f} transactions of {tries:,} tries at most cannot have been retried {retries:,.0f} times."
        yield Doubt("retry-count", text)


def progress_doubts(series: Sequence[Series], measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt where the reports of progress count more of something than the summary."""
    for line in series:
        total = measures.get(TOTALS.get(line.metric, ""))
        if total is not None and sum(line.numbers) > total.value + COUNT_ROUNDING:
            text = (
                f"The reports of progress have {sum(line.numbers):,.0f} {line.metric}, the summary {total.value:,.0f}."
            )
            yield Doubt("progress", text)


def time_doubts(times_s: Sequence[float], measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt where a report of progress came before its second, or long after the run."""
    lasted_s = _lasted_s(measures) + _connecting_s(measures)
    early = next((at_s for place, at_s in enumerate(times_s, start=1) if at_s < place - TIME_ROUNDING_S), None)
    if early is not None:
        yield Doubt("progress", f"A report of progress is of {early:g} s: that is before its second has ended.")
    elif times_s and max(times_s) > LATEST_SHARE * lasted_s + CONNECTING_SLACK_S:
        yield Doubt("progress", f"A report of progress is of {max(times_s):,.1f} s, the run lasted {lasted_s:,.4g} s.")


def _logged_counts(reduction: Reduction, scripts: int) -> list[int]:
    counts = [0] * scripts
    for (script, _, _), count in reduction.bins.items():
        if script < scripts:
            counts[script] += count
    return counts
