"""pgbench as a load generator: its commands, and what an attempt left read into a result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from runners.contract import Measure, Outputs, RunResult, RunSpec, Series
from runners.tools import gaps, seconds
from runners.tools.base import Tool
from runners.tools.claims import Claim, Fact, Version
from runners.tools.kinds import Description, Expectation, Kind, PlannedSegment, Script, StatedRate, StatementLatency
from runners.tools.parts import Part, refusal
from runners.tools.printed import main_errors, printed_text, text_of
from runners.tools.sampling import as_logged

from . import command, consistency, ending, kinds, output, progress, remarks
from . import log as pgbench_log
from . import parameters as pgbench_parameters
from .claims import facts, stated
from .kinds import PUBLISHED
from .log import Reduction
from .pacing import options as pacing
from .pacing import responses, shaped, shaped_claims

PARSER = "pgbench/7"
WARMUP_METRIC = "warmup_tps"
APART_SINCE, SUM_TOLERANCE = (11,), 0.02
LOAD_S_PER_SCALE = 0.3
# High, for each hardware thread; of scripts that are not here as of select-only.
TPS_GUESS = {"tpcb-like": 10_000.0, "simple-update": 15_000.0, "select-only": 60_000.0}
# 100,000 accounts with their primary key; a fill factor makes the tables larger, and leaves the index as it is.
TABLE_BYTES_PER_SCALE, INDEX_BYTES_PER_SCALE = 13 * 2**20, 3 * 2**20
CONNECTING_TPS_GUESS = 3_000.0  # starting a backend takes longer than any of these transactions
WRITING = re.compile(r"\b(insert|update|delete|merge|truncate|copy)\b", re.IGNORECASE)
LOAD_SECONDS = re.compile(r"^done in (\d{1,9}(?:\.\d{1,9})?) s", re.MULTILINE)


class Pgbench(Tool):
    """pgbench 9.3 to 18. See `runners.tools.base.Tool` for what each method promises."""

    name = "pgbench"
    program = "pgbench"
    in_folder = ("psql", "pgbench")
    beginnings = ("transaction type: ", "number of clients: ")
    message_beginnings = (progress.BEGINNING,)
    message_line = progress.MESSAGE_LINE
    always = (
        "transaction type: ",
        "scaling factor: ",
        "query mode: ",
        "number of clients: ",
        "number of threads: ",
        "duration: |number of transactions per client: ",
    )
    stated = output.STATED
    unit = "TPS"
    parser = PARSER
    kinds = (kinds.BUILTIN, kinds.CUSTOM_SCRIPTS)
    published = PUBLISHED
    load_parameter = "script"
    size_parameter = "scale"
    loads = (*pgbench_parameters.BUILTIN_SCRIPTS, pgbench_parameters.CUSTOM)
    takes_rate = True
    samples_log = True

    def kind_of(self, parameters: Mapping[str, Any]) -> Kind:
        return kinds.CUSTOM_SCRIPTS if parameters.get("script") == pgbench_parameters.CUSTOM else kinds.BUILTIN

    def describe(self, parameters: Mapping[str, Any]) -> Description:
        return Description(
            load=str(parameters.get("script") or ""),
            size=f"scale {parameters['scale']:,}" if "scale" in parameters else "",
            query_mode=parameters.get("query_mode", "simple"),
            peculiarities=(apart := kinds.peculiarities(parameters)),
            label_note="; ".join(apart),
        )

    def scripts(self, parameters: Mapping[str, Any]) -> list[Script]:
        """Return the custom scripts, numbered as the form has them, and then the init script."""
        custom = [
            Script(title=f"Script {number}, weight {script.get('weight', 1)}", text=script["text"])
            for number, script in enumerate(parameters.get("scripts", ()), start=1)
        ]
        init = parameters.get("init")
        return [*custom, Script(title="Init script", text=init)] if init else custom

    def scripts_digest(self, parameters: Mapping[str, Any]) -> str:
        return pgbench_parameters.scripts_digest(parameters)

    def check(self, spec: RunSpec) -> None:
        pgbench_parameters.check(spec)

    def in_full(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters without custom scripts, which stand by themselves, and how clients think."""
        think = pacing.think_of(parameters)
        further = {"think_distribution": think.distribution} if think else {}
        return {name: value for name, value in parameters.items() if name not in ("scripts", "init")} | further

    def distinguishing(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters; without the switch for what any think time has, as both send the same command."""
        left_out = ("statement_latencies",) if pacing.think_of(parameters) else ()
        return {name: value for name, value in parameters.items() if name not in left_out}

    def data_set(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        return pgbench_parameters.data_set(parameters)

    def data_set_bytes(self, parameters: Mapping[str, Any]) -> int:
        table_bytes = TABLE_BYTES_PER_SCALE * 100 // int(parameters.get("fillfactor", 100))
        return int(parameters.get("scale", 1)) * (table_bytes + INDEX_BYTES_PER_SCALE)

    def writes(self, parameters: Mapping[str, Any]) -> bool:
        if parameters.get("script") == "custom":
            return any(WRITING.search(script.get("text", "")) for script in parameters.get("scripts", ()))
        return parameters.get("script") in ("tpcb-like", "simple-update")

    def prepares(self, parameters: Mapping[str, Any]) -> bool:
        return parameters.get("query_mode") == "prepared"

    def contended_rows(self, parameters: Mapping[str, Any]) -> int | None:
        """Return the number of branches, one for each scale: each transaction like TPC-B updates one."""
        return self.scale(parameters) if parameters.get("script") == "tpcb-like" else None

    def load_guess_s(self, parameters: Mapping[str, Any]) -> float:
        return float(parameters.get("scale", 1)) * LOAD_S_PER_SCALE

    def tps_guess(self, parameters: Mapping[str, Any]) -> float:
        guess = TPS_GUESS.get(str(parameters.get("script")), TPS_GUESS["select-only"])
        return min(guess, CONNECTING_TPS_GUESS) if parameters.get("connect_each") else guess

    def pause_ms(self, parameters: Mapping[str, Any]) -> float:
        return float(parameters.get("think_ms") or 0)

    def rarest_share(self, parameters: Mapping[str, Any]) -> float:
        weights = [script.get("weight", 1) for script in parameters.get("scripts", ())] or [1]
        return float(min(weights) / sum(weights))

    def scale(self, parameters: Mapping[str, Any]) -> int | None:
        return int(parameters.get("scale", 1))

    def at_scale(self, parameters: Mapping[str, Any], scale: int) -> Mapping[str, Any]:
        return {**parameters, "scale": scale}

    def rate_tps(self, parameters: Mapping[str, Any]) -> float:
        """Return the rate; of a load shape its highest."""
        planned = pacing.shape_of(parameters)
        return float(planned.peak_tps if planned else parameters.get("rate_tps") or 0)

    def planned_segments(self, parameters: Mapping[str, Any]) -> Sequence[PlannedSegment]:
        planned = pacing.shape_of(parameters)
        segments = planned.segments if planned else ()
        return [PlannedSegment(segment.rate_tps, segment.duration_s) for segment in segments]

    def times_statements(self, parameters: Mapping[str, Any]) -> bool:
        return bool(parameters.get("statement_latencies") or pacing.think_of(parameters))

    def statement_latencies(self, stdout: str) -> Sequence[StatementLatency]:
        return tuple(output.statement_latencies(printed_text(stdout.encode())))

    def at_first_segment(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        if (planned := pacing.shape_of(parameters)) is None:
            return parameters
        steady = {name: value for name, value in parameters.items() if name != "load_shape"}
        return {**steady, "rate_tps": planned.segments[0].rate_tps}

    def at_rate(self, parameters: Mapping[str, Any], rate_tps: int, latency_limit_ms: float) -> Mapping[str, Any]:
        return {**parameters, "rate_tps": rate_tps, "latency_limit_ms": latency_limit_ms}

    def scripts_command(self, spec: RunSpec) -> str:
        return command.scripts_command(spec)

    def load_command(self, spec: RunSpec) -> str:
        return command.load_command(spec)

    def verify_command(self, spec: RunSpec) -> str:
        return command.verify_command(spec)

    def warmup_command(self, spec: RunSpec) -> str:
        return command.warmup_command(spec)

    def pilot_command(self, spec: RunSpec) -> str:
        return command.pilot_command(spec)

    def measure_command(self, spec: RunSpec) -> str:
        return command.measure_command(spec)

    def reduce_command(self, spec: RunSpec) -> str:
        return command.reduce_command(spec)

    def throughput_command(self, spec: RunSpec) -> str:
        return command.throughput_command(spec)

    def parse(self, spec: RunSpec, outputs: Outputs) -> RunResult:
        return parse_load(outputs) if spec.kind == "load" else parse_run(spec, outputs)

    def claims(self, spec: RunSpec, outputs: Outputs) -> Mapping[str, Claim]:
        text = printed_text(outputs.stdout)
        return shaped_claims.claims_of(spec, text) or stated.claims_of(spec, text)

    def stated_parameters(self, outputs: Outputs) -> Mapping[str, Any]:
        return output.stated_parameters(printed_text(outputs.stdout))

    def stated_rate(self, outputs: Outputs) -> StatedRate | None:
        return stated.stated_rate(printed_text(outputs.stdout))

    def stated_duration_s(self, text: str) -> int | None:
        return output.stated_duration_s(text)

    def facts(self, spec: RunSpec, *, is_own: bool) -> Mapping[str, Fact]:
        return shaped_claims.facts_of(spec, is_own=is_own) or facts.facts_of(spec, is_own=is_own)

    def parts(self, text: str) -> tuple[Part, ...]:
        return output.LAYOUT.parts(text)

    def expectation(self, parameters: Mapping[str, Any]) -> Expectation:
        think, shape = pacing.think_of(parameters), pacing.shape_of(parameters)
        return Expectation(
            commits_per_transaction=None if "scripts" in parameters else 1,
            is_rate_limited=bool(parameters.get("rate_tps") or shape),
            is_steady=not shape,
            peak_ratio=shape.peak_ratio if shape else 1.0,
            fewest_threads=shape.fewest_threads if shape else 1,
            connects_each=bool(parameters.get("connect_each")),
            average_latency="" if think else "of clients",
            longest_pause_ms=think.longest_ms if think else 0.0,
        )

    def fingerprint_query(self, parameters: Mapping[str, Any]) -> str:
        pgbench_parameters.read(parameters)
        return command.FINGERPRINT_QUERY

    def age_query(self, parameters: Mapping[str, Any]) -> str:
        pgbench_parameters.read(parameters)
        return command.AGE_QUERY


def _failed(reason: str) -> RunResult:
    return RunResult(outcome="failed", reason=reason, parser=PARSER)


def parse_load(outputs: Outputs) -> RunResult:
    """Return whether the data set was made; pgbench 13 and newer also say how long it took, as `load_s`."""
    stderr = text_of(outputs.stderr)
    if outputs.returncode != 0:
        errors = main_errors(stderr) or "it said nothing about it"
        return _failed(f"The load of the data set ended with code {outputs.returncode}: {errors}.")
    match = LOAD_SECONDS.search(stderr)
    measures = {"load_s": Measure(float(match[1]), "s")} if match else {}
    return RunResult(outcome="succeeded", reason="", parser=PARSER, measures=measures)


def parse_run(spec: RunSpec, outputs: Outputs) -> RunResult:
    """Return what a measured run gave: a failed result, with its reason, where its numbers are none."""
    spec = as_logged(spec, outputs)
    parameters = pgbench_parameters.read(spec.parameters)
    stderr = printed_text(outputs.stderr)
    if failure := ending.failure(outputs):
        return _failed(failure)
    if parameters.shape:
        result = shaped.result(spec, outputs, parameters.shape, parse_run)
        warmup = _warmup_series(outputs, _started_epoch_s(outputs, None) or 0.0)
        return replace(result, series=(*result.series, *warmup)) if result.outcome == "succeeded" else result
    stdout = printed_text(outputs.stdout)
    if several := refusal(output.LAYOUT, {"Standard output": stdout, "stderr": stderr}):
        return _failed(several)
    numbers = output.read_numbers(stdout, connect_each=parameters.connect_each)
    if numbers.missing:
        errors = main_errors(ending.all_errors(stdout, stderr))
        return _failed(f"{numbers.missing}{ending.code_words(outputs.returncode, errors)}.")
    result = _succeeded(spec, outputs, stderr, numbers.measures)
    return responses.without_pauses(result, parameters, stdout) if parameters.think else result


def _succeeded(spec: RunSpec, outputs: Outputs, stderr: str, measures: Mapping[str, Measure]) -> RunResult:
    parameters = pgbench_parameters.read(spec.parameters)
    latencies = pgbench_log.read_latencies(spec, outputs, think.responses if (think := parameters.think) else None)
    reduction = latencies.reduction
    histograms = pgbench_log.histograms(reduction, spec.log_sampling_rate) if reduction else ()
    started_epoch_s = _started_epoch_s(outputs, reduction)
    stdout = printed_text(outputs.stdout)
    reports = _reports(spec, (stderr, stdout), started_epoch_s, measures)
    sentences = [
        *([] if parameters.think else remarks.of_average(stdout, measures)),
        *latencies.remarks,
        *output.warnings(f"{stderr}\n{stdout}"),
        *output.unread(stdout),
        *output.other_servers(stdout),
        *reports.remarks,
        *ending.end_remarks(outputs),
    ]
    if started_epoch_s is None and not any(series.start_epoch_s for series in reports.series):
        sentences.append("When the run started is not known: its series begin at 0.")
    return RunResult(
        outcome="succeeded",
        reason="",
        parser=PARSER,
        measures={**measures, **reports.measures, **pgbench_log.measures(reduction, histograms)},
        series=(
            *reports.series_in_time,
            *_percentile_series(outputs, reports),
            *_warmup_series(outputs, started_epoch_s or 0.0),
        ),
        has_late_reports=not gaps.are_punctual(reports.times_s),
        histograms=histograms,
        doubts=(
            *remarks.doubts(reduction),
            *consistency.doubts(spec, outputs, reduction, measures),
            *reports.doubts,
            *consistency.report_doubts(spec, reports, measures),
        ),
        remarks=tuple(sentences + remarks.of_percentiles(reduction, histograms, measures["transactions"].value)),
    )


def _reports(
    spec: RunSpec, streams: tuple[str, str], started_epoch_s: float | None, measures: Mapping[str, Measure]
) -> progress.Progress:
    """Return the reports of progress, without the skipped transactions that old versions count among those that ended.

    It is seen by their sum, as not all releases of 10 do so (src/bin/pgbench/pgbench.c, threadRun).
    """
    ended_s, version = consistency.ended_s(measures), Version.read(spec.tool_version)
    reports = progress.read(*streams, started_epoch_s, ended_s)
    reported = sum(sum(line.numbers) for line in reports.series if line.metric == "tps")
    is_old = version is not None and version.numbers < APART_SINCE and "skipped_transactions" in measures
    if not is_old or reported <= (1 + SUM_TOLERANCE) * measures["transactions"].value:
        return reports
    return progress.read(*streams, started_epoch_s, ended_s, has_skipped=True)


def _percentile_series(outputs: Outputs, reports: progress.Progress) -> Iterator[Series]:
    """Yield percentiles for each second that pgbench reported, where it logged enough transactions in it."""
    text = text_of(outputs.files.get(seconds.SECONDS_FILE, b""))
    for reported in reports.series_in_time:
        if reported.metric == "tps":
            yield from seconds.series(text, reported.start_epoch_s, len(reported.values))


def _warmup_series(outputs: Outputs, started_epoch_s: float) -> tuple[Series, ...]:
    """Return the throughput of the warm-up: a series of its own, in no measure; () where there was none."""
    stderr = text_of(outputs.files.get("warmup.err", b""))
    series = [line for line in progress.read(stderr, "", started_epoch_s).series if line.metric == "tps"]
    return tuple(
        replace(line, metric=WARMUP_METRIC, start_epoch_s=started_epoch_s - len(line.values) * line.step_s)
        for line in series
    )


def _started_epoch_s(outputs: Outputs, reduction: Reduction | None) -> float | None:
    epoch_text = outputs.files.get("started_epoch", b"").strip()
    if epoch_text.isdigit():
        return float(epoch_text)
    return None if reduction is None or reduction.first_epoch_s is None else float(reduction.first_epoch_s)
