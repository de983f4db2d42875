"""One result of the processes of a load shape: their sums, and what their common log says of each segment."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from runners.contract import SEGMENT, Doubt, Histogram, Measure, Outputs, RunResult, RunSpec, Series
from runners.readings import decimal
from runners.tools import seconds
from runners.tools.printed import printed_text, text_of

from .. import consistency, output
from .. import log as pgbench_log
from . import segments
from .layers import layer_specs
from .shape import Shape

Parse = Callable[[RunSpec, Outputs], RunResult]

SUMMED = ("transactions", "failed_transactions", "skipped_transactions", "late_transactions")
AVERAGED = ("latency_average_ms", "rate_limit_lag_average_ms")
# How far the number offered in a segment may lie from the plan by chance, and by the time it takes to connect.
DEVIATIONS, MISSED_SHARE = 5, 0.02
FEWER = (
    "a process of pgbench opens its connections at the start of a step, and never begins what still waits at its end"
)
MORE = "the load generator or the driver's clock did not keep to the plan"


def result(spec: RunSpec, outputs: Outputs, shape: Shape, parse: Parse) -> RunResult:
    """Return what the run gave. `parse` reads the output of one process as that of a run."""
    layers, parts = layer_specs(spec, shape), output.LAYOUT.parts(printed_text(outputs.stdout))
    if len(parts) != len(layers):
        reason = f"Standard output has {len(parts)} of the {len(layers)} summaries of its load shape."
        return RunResult(outcome="failed", reason=reason, parser="")
    results = [
        parse(replace(layer, log_sampling_rate=0), Outputs(outputs.returncode, part.text.encode(), b""))
        for layer, part in zip(layers, parts, strict=True)
    ]
    if failed := next((row for row in results if row.outcome == "failed"), None):
        return failed
    return _succeeded(spec, outputs, shape, results)


def _succeeded(spec: RunSpec, outputs: Outputs, shape: Shape, results: Sequence[RunResult]) -> RunResult:
    change = partial(segments.lines_by_segment, shape=shape, start_epoch_s=_shape_start_epoch_s(outputs))
    latencies = pgbench_log.read_latencies(spec, outputs, change)
    reduction = latencies.reduction
    histograms = pgbench_log.histograms(reduction, spec.log_sampling_rate) if reduction else ()
    log, remark = _log(spec, outputs, shape)
    measures = {**_sums([row.measures for row in results], shape), **pgbench_log.measures(reduction, histograms)}
    counted = _segment_measures(log, shape, spec.log_sampling_rate) if log else {}
    return RunResult(
        outcome="succeeded",
        reason="",
        parser=results[0].parser,
        measures={**measures, **counted},
        series=tuple(_series(spec, outputs, shape, log)),
        histograms=tuple(map(_by_segment, histograms)),
        doubts=(
            *{doubt.text: doubt for row in results for doubt in row.doubts}.values(),
            *(consistency.kind_doubts(reduction, measures) if reduction and spec.log_sampling_rate == 1 else ()),
            *_shape_doubts(counted, shape, spec.log_sampling_rate),
        ),
        remarks=(
            "A load shape: one process of pgbench for the lowest rate, and one for each step up from there. Throughput "
            "is the average of the whole run, latencies count from when a transaction was due.",
            *latencies.remarks,
            *output.warnings(printed_text(outputs.stderr)),
            *([remark] if remark else []),
        ),
    )


def _log(spec: RunSpec, outputs: Outputs, shape: Shape) -> tuple[segments.Log | None, str]:
    """Return the counts by segment and second, or why there are none."""
    if not spec.log_sampling_rate:
        return None, ""
    try:
        return segments.read(text_of(outputs.files.get(segments.SEGMENTS_FILE, b"")), shape), ""
    except ValueError as error:
        return None, f"Nothing is known of its segments: {error}"


def _sums(rows: Sequence[Mapping[str, Measure]], shape: Shape) -> dict[str, Measure]:
    """Return the measures of all processes together; averages are weighted with their transactions."""
    counts = [row["transactions"].value for row in rows]
    measures = {"tps": Measure(sum(counts) / shape.duration_s, "TPS")}
    for name in SUMMED:
        if all(name in row for row in rows):
            measures[name] = Measure(sum(row[name].value for row in rows), rows[0][name].unit)
    for name in AVERAGED:
        if all(name in row for row in rows):
            total = sum(row[name].value * count for row, count in zip(rows, counts, strict=True))
            measures[name] = Measure(total / sum(counts), "ms")
    if all("rate_limit_lag_max_ms" in row for row in rows):
        measures["rate_limit_lag_max_ms"] = Measure(max(row["rate_limit_lag_max_ms"].value for row in rows), "ms")
    return measures


def _segment_measures(log: segments.Log, shape: Shape, share: float) -> dict[str, Measure]:
    measures: dict[str, Measure] = {}
    for number, (counts, segment) in enumerate(zip(log.segments, shape.segments, strict=True), start=1):
        logged = counts.offered - counts.skipped
        values = {
            "offered_tps": (counts.offered / share / segment.duration_s, "TPS"),
            "achieved_tps": (counts.achieved / share / segment.duration_s, "TPS"),
            "skipped": (counts.skipped / share, "transactions"),
            "lag_average_ms": (counts.lag_sum_us / max(1, logged) / 1000, "ms"),
            "lag_max_ms": (counts.lag_max_us / 1000, "ms"),
        }
        measures |= {f"{SEGMENT}{number}_{name}": Measure(*value) for name, value in values.items()}
    return measures


def _series(spec: RunSpec, outputs: Outputs, shape: Shape, log: segments.Log | None) -> Iterator[Series]:
    """Yield the planned rate, and what the log has second by second."""
    start_epoch_s = _start_epoch_s(outputs)
    if log:
        share = spec.log_sampling_rate
        yield Series("tps", "TPS", start_epoch_s, 1.0, tuple(count / share for count in log.ended))
        yield Series("offered_tps", "TPS", start_epoch_s, 1.0, tuple(count / share for count in log.due))
    yield Series("planned_tps", "TPS", start_epoch_s, 1.0, tuple(shape.planned_tps))
    text = text_of(outputs.files.get(seconds.SECONDS_FILE, b""))
    yield from seconds.series(text, start_epoch_s, shape.duration_s)


def _start_epoch_s(outputs: Outputs) -> float:
    """Return when the first process was started, with its fraction where the driver's clock tells it; 0 for no time."""
    words = (text_of(outputs.files.get(name, b"")).strip() for name in (segments.START_FILE, "started_epoch"))
    return next((moment for word in words if (moment := decimal(word)) is not None), 0.0)


def _shape_start_epoch_s(outputs: Outputs) -> float | None:
    """Return the start that the driver's awk counts from; None where it is not among the files."""
    return decimal(text_of(outputs.files.get(segments.START_FILE, b"")).strip())


def _by_segment(histogram: Histogram) -> Histogram:
    """Return the histogram under the name of its segment, counted from 1; that of all as it is."""
    number = histogram.name.removeprefix("latency of script ")
    return replace(histogram, name=f"latency of segment {int(number) + 1}") if number != histogram.name else histogram


def _shape_doubts(measures: Mapping[str, Measure], shape: Shape, share: float) -> Iterator[Doubt]:
    """Yield a doubt for each segment in which clearly fewer or more transactions were offered than planned."""
    for number, segment in enumerate(shape.segments, start=1):
        if (offered := measures.get(f"{SEGMENT}{number}_offered_tps")) is None:
            continue
        planned = segment.rate_tps * segment.duration_s
        room_tps = (DEVIATIONS * math.sqrt(planned / share) + MISSED_SHARE * planned) / segment.duration_s
        if abs(offered.value - segment.rate_tps) > room_tps:
            text = f"In segment {number} transactions were begun for {offered.value:,.4g} TPS, not the "
            reason = MORE if offered.value > segment.rate_tps else FEWER
            yield Doubt("load-shape", f"{text}{segment.rate_tps:,} of its plan: {reason}.")
