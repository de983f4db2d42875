"""sysbench's OLTP scripts on PostgreSQL: commands, and its report read into a result. One client is one thread.

A password reaches it as it reaches psql, by PGPASSFILE: sysbench gives libpq an empty one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from runners.contract import Histogram, Measure, Outputs, RunResult, RunSpec
from runners.tools import gaps
from runners.tools.base import Tool
from runners.tools.claims import Claim, Fact
from runners.tools.histogram import percentile_us
from runners.tools.kinds import Choice, Description, Expectation, Kind, Values, WholeNumber, chosen_from
from runners.tools.parts import Part, refusal
from runners.tools.printed import END_UNSEEN, printed_text
from runners.tools.shell import psql, verified

from . import claims as sysbench_claims
from . import completeness, consistency, report

PARSER = "sysbench/8"
SCRIPTS = ("oltp_read_write", "oltp_point_select")
DISTRIBUTIONS = ("special", "uniform", "gaussian", "pareto", "zipfian")
MOST_TABLES, MOST_ROWS = 1_000, 1_000_000_000
LOAD_S_PER_ROW = 10e-6
# High, for each hardware thread.
TPS_GUESS = {"oltp_read_write": 5_000.0, "oltp_point_select": 60_000.0}
# A row of 216 bytes with its line pointer, 37 to a page, and its entries in two indexes.
BYTES_PER_ROW = 265
# Rates are printed with two decimals.
RATE_ROUNDING = 0.005
PERCENTILES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}

FATAL = re.compile(r"^FATAL: (.*)$", re.MULTILINE)
IN_PARTS = (
    "sysbench's report is in parts (--report-checkpoints): each counts only the time since the one before, so none is "
    "of the whole run. Run it without checkpoints."
)


@dataclass(frozen=True, slots=True)
class Parameters:
    """Of the data set: `tables` and `table_size` (rows of each). `rand_type` is how rows are drawn."""

    script: str
    tables: int = 4
    table_size: int = 50_000
    rand_type: str = "special"


def read(parameters: Mapping[str, Any]) -> Parameters:
    """Return the parameters, checked. Raises ValueError with one sentence."""
    names = [field.name for field in fields(Parameters)]
    if unknown := sorted(set(parameters) - set(names)):
        raise ValueError(f"sysbench has no parameter {unknown[0]!r} here; it has: {', '.join(names)}.")
    if "script" not in parameters:
        raise ValueError("sysbench needs the parameter 'script'.")
    checked = Parameters(**parameters)
    for name, choices in (("script", SCRIPTS), ("rand_type", DISTRIBUTIONS)):
        if getattr(checked, name) not in choices:
            raise ValueError(f"{getattr(checked, name)!r} is no {name} here; choose one of: {', '.join(choices)}.")
    for name, most in (("tables", MOST_TABLES), ("table_size", MOST_ROWS)):
        value = getattr(checked, name)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise ValueError(f"sysbench's {name} must be a whole number from 1 to {most:,}, not {value!r}.")
    return checked


def _to_parameters(values: Values, before: Values) -> dict[str, Any]:
    del before
    return {field.name: values[field.name] for field in fields(Parameters)}


KIND = Kind(
    name="sysbench",
    title="sysbench",
    fields=(
        Choice(
            name="script",
            choices=chosen_from(SCRIPTS),
            help_text="oltp_read_write sends 14 reads and 4 writes in each transaction; oltp_point_select one read "
            "by key.",
        ),
        WholeNumber(name="tables", unit="tables", lowest=1, highest=MOST_TABLES, default=4),
        WholeNumber(
            name="table_size",
            label="Rows of each table",
            unit="rows",
            lowest=1,
            highest=MOST_ROWS,
            default=50_000,
            help_text="About 220 bytes.",
        ),
        Choice(
            name="rand_type",
            label="How rows are drawn",
            choices=chosen_from(DISTRIBUTIONS),
            help_text="special is sysbench's default: 1% of the rows get 75% of the requests.",
        ),
    ),
    refused_at="table_size",
    to_parameters=_to_parameters,
)


class Sysbench(Tool):
    """sysbench 0.5 to 1.1, run as 1.0. See `runners.tools.base.Tool` for what each method promises."""

    name = "sysbench"
    program = "sysbench"
    always = (
        "ignored errors:|deadlocks:",
        "total time:|time elapsed:",
        "total number of events:",
        "min:",
        "avg:",
        "max:",
        "sum:|total time taken by event execution:",
        "Threads fairness:",
        "events (avg/stddev):",
        "execution time (avg/stddev):",
    )
    beginnings = ("SQL statistics:", "OLTP test statistics:", "Number of threads: ")
    stated = sysbench_claims.STATED
    on_path = ("sysbench",)
    in_folder = ("psql",)
    unit = "TPS"
    parser = PARSER
    kinds = (KIND,)
    load_parameter = "script"
    begins_together = True
    size_parameter = "table_size"
    loads = SCRIPTS

    def describe(self, parameters: Mapping[str, Any]) -> Description:
        rows = parameters.get("table_size")
        distribution = parameters.get("rand_type", "special")
        return Description(
            load=str(parameters.get("script") or ""),
            size=f"{parameters.get('tables', 1):,} x {rows:,} rows" if rows is not None else "",
            peculiarities=() if distribution == "special" else (f"rows drawn {distribution}",),
        )

    def client(self, tool_version: str) -> str:
        """Return the name of the driver's own sysbench, whose version each result says: a plan cannot know it."""
        del tool_version
        return self.program

    def check(self, spec: RunSpec) -> None:
        read(spec.parameters)
        if spec.kind == "measure" and (spec.clients < 1 or spec.duration_s < 1 or spec.warmup_s < 0):
            raise ValueError("A run of sysbench needs a client or more, and a second or more.")

    def data_set(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        checked = read(parameters)
        return {"tool": self.name, "tables": checked.tables, "table_size": checked.table_size}

    def data_set_bytes(self, parameters: Mapping[str, Any]) -> int:
        checked = read(parameters)
        return checked.tables * checked.table_size * BYTES_PER_ROW

    def writes(self, parameters: Mapping[str, Any]) -> bool:
        return read(parameters).script == "oltp_read_write"

    def prepares(self, parameters: Mapping[str, Any]) -> bool:
        del parameters
        return True

    def load_guess_s(self, parameters: Mapping[str, Any]) -> float:
        checked = read(parameters)
        return checked.tables * checked.table_size * LOAD_S_PER_ROW

    def tps_guess(self, parameters: Mapping[str, Any]) -> float:
        return TPS_GUESS[read(parameters).script]

    def load_command(self, spec: RunSpec) -> str:
        parameters = read(spec.parameters)
        vacuums = [psql(spec, f"VACUUM ANALYZE {table}") for table in _tables(parameters)]
        steps = [_sysbench(parameters, "cleanup"), f"{_sysbench(parameters, 'prepare')} --threads=1", *vacuums]
        return f"{PRESENT} &&\n" + " &&\n".join(steps) + "\n"

    def verify_command(self, spec: RunSpec) -> str:
        parameters = read(spec.parameters)
        rows = " || ' ' || ".join(f"(SELECT count(*) || ' up to ' || max(id) FROM {t})" for t in _tables(parameters))
        expected = " ".join([f"{parameters.table_size} up to {parameters.table_size}"] * parameters.tables)
        return f"{PRESENT} && {{\n{verified(spec, self.name, f'SELECT {rows}', expected)}}}\n"

    def warmup_command(self, spec: RunSpec) -> str:
        return f"{_run(spec, spec.warmup_s)}\n"

    def measure_command(self, spec: RunSpec) -> str:
        options = "--report-interval=1 --percentile=95 --histogram=on"
        return f"date +%s > started_epoch\n{_run(spec, spec.duration_s)} {options}\n"

    def parse(self, spec: RunSpec, outputs: Outputs) -> RunResult:
        return _parse_load(outputs) if spec.kind == "load" else _parse_run(outputs)

    def claims(self, spec: RunSpec, outputs: Outputs) -> Mapping[str, Claim]:
        del spec
        return sysbench_claims.claims_of(printed_text(outputs.stdout))

    def facts(self, spec: RunSpec, *, is_own: bool) -> Mapping[str, Fact]:
        return sysbench_claims.facts_of(spec, is_own=is_own)

    def parts(self, text: str) -> tuple[Part, ...]:
        return report.LAYOUT.parts(text)

    def expectation(self, parameters: Mapping[str, Any]) -> Expectation:
        del parameters
        return Expectation(
            average_latency="timed", rate_rounding=RATE_ROUNDING, report_rounding_s=consistency.REPORT_ROUNDING_S
        )

    def fingerprint_query(self, parameters: Mapping[str, Any]) -> str:
        sums = " UNION ALL ".join(f"SELECT {_SUMS} AS sums FROM {table}" for table in _tables(read(parameters)))
        return f"SELECT md5(string_agg(sums, ' ' ORDER BY sums)) FROM ({sums}) AS tables"


PRESENT = (
    "{ command -v sysbench > /dev/null || "
    "{ echo 'sysbench is not installed on the driver: install it there' >&2; (exit 1); }; }"
)
_SUMS = "concat_ws(',', count(*), sum(id), sum(k), sum(ascii(c)), sum(ascii(pad)))"


def _tables(parameters: Parameters) -> list[str]:
    return [f"sbtest{number}" for number in range(1, parameters.tables + 1)]


def _sysbench(parameters: Parameters, command: str) -> str:
    return (
        f'sysbench {parameters.script} --db-driver=pgsql --pgsql-host="${{PGHOST:-}}" --pgsql-port="$PGPORT" '
        f'--pgsql-user="$PGUSER" --pgsql-db="$PGDATABASE" --pgsql-password= --tables={parameters.tables} '
        f"--table-size={parameters.table_size} --rand-type={parameters.rand_type} {command}"
    )


def _run(spec: RunSpec, seconds: int) -> str:
    return f"{_sysbench(read(spec.parameters), 'run')} --threads={spec.clients} --time={seconds}"


# --- what it printed ------------------------------------------------------------------------------------------


def _failed(reason: str) -> RunResult:
    return RunResult(outcome="failed", reason=reason, parser=PARSER)


def _why(outputs: Outputs) -> str:
    fatal = FATAL.findall(printed_text(outputs.stdout)) + FATAL.findall(printed_text(outputs.stderr))
    errors = fatal or printed_text(outputs.stderr).strip().splitlines()[-1:] or ["it said nothing about it"]
    return "; ".join(errors[:2])[:500].rstrip(".")


def _parse_load(outputs: Outputs) -> RunResult:
    if outputs.returncode != 0:
        return _failed(f"The load of the data set ended with code {outputs.returncode}: {_why(outputs)}.")
    return RunResult(outcome="succeeded", reason="", parser=PARSER)


def _parse_run(outputs: Outputs) -> RunResult:
    text = printed_text(outputs.stdout)
    if outputs.returncode:
        return _failed(f"sysbench ended with code {outputs.returncode}: {_why(outputs)}.")
    if FATAL.search(text) or FATAL.search(printed_text(outputs.stderr)):
        return _failed(f"sysbench was aborted: {_why(outputs)}.")
    if report.has_checkpoints(text):
        return _failed(IN_PARTS)
    if several := refusal(report.LAYOUT, {"Standard output": text}):
        return _failed(several)
    measures = report.read_measures(text)
    if not measures.get("tps") or not measures["tps"].value:
        return _failed("sysbench's report has no transactions.")
    histogram = _histogram(text, measures)
    epoch_text = outputs.files.get("started_epoch", b"").strip()
    progress = report.read_progress(text, float(epoch_text) if epoch_text.isdigit() else 0.0)
    return RunResult(
        outcome="succeeded",
        reason="",
        parser=PARSER,
        measures={**measures, **gaps.interval_measures(progress.times_s), **_percentiles(text, histogram)},
        series=progress.series,
        has_late_reports=not gaps.are_punctual(progress.times_s),
        histograms=(histogram,) if histogram else (),
        doubts=(
            *progress.doubts,
            *consistency.doubts(text, measures),
            *completeness.doubts(text, measures),
            *(consistency.percentile_doubts(text, histogram) if histogram else ()),
        ),
        remarks=(*report.remarks(text, measures), *report.unread(text), *progress.remarks, *_end_remarks(outputs)),
    )


def _percentiles(text: str, histogram: Histogram | None) -> dict[str, Measure]:
    """Return the percentiles of the buckets, which are 1.8% wide; without them the printed one, to 10 us."""
    measures: dict[str, Measure] = {}
    for name, share in PERCENTILES.items():
        if histogram and (latency_us := percentile_us(histogram, share)) is not None:
            measures[f"latency_{name}_ms"] = Measure(latency_us / 1000, "ms")
    return {**report.read_percentiles(text), **measures}


def _histogram(text: str, measures: Mapping[str, Measure]) -> Histogram | None:
    """Return the histogram of the printed buckets; None where latencies lie beyond the last one, which counts them."""
    ends = [measures.get(f"latency_{end}_ms") for end in ("sum", "min", "max")]
    counts = report.bucket_counts(text)
    if not counts or not all(ends) or measures["latency_max_ms"].value > report.LAST_BUCKET_MS:
        return None
    sum_us, min_us, max_us = (round(end.value * 1000) for end in ends if end)
    lower, upper = zip(*counts, strict=True)
    return Histogram("latency", lower, upper, tuple(counts.values()), sum_us, min_us, max_us)


def _end_remarks(outputs: Outputs) -> list[str]:
    """Return a remark where nothing came along that would tell an error: its report goes to stdout alone."""
    return [] if outputs.returncode is not None or outputs.stderr else [END_UNSEEN]
