"""Read what pgbench 9.3 to 18 prints into measures; progress.py has its reports of progress.

Text is read as the C locale prints it, from lines that are not indented: pgbench 18 repeats some of them,
indented, for each script.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from runners.contract import Measure
from runners.tools.claims import CLIENT_VERSION, DURATION, SERVER_VERSION
from runners.tools.kinds import StatementLatency
from runners.tools.parts import Layout
from runners.tools.printed import unread_lines

from .parameters import CUSTOM
from .progress import NUMBER

# Of a summary, without reports of progress: one of 128 scripts has a few thousand.
MOST_LINES = 100_000
# The three ways to count that a version may print, with what follows the number there.
TPS_LINES = {
    "including": r"(?:including connections establishing|including reconnection times)",
    "excluding": r"(?:excluding connections establishing)",
    "without": r"(?:without initial connection time)",
}

# Measure, unit, and the line that holds it.
LINES: tuple[tuple[str, str, str], ...] = (
    ("transactions", "transactions", r"number of transactions actually processed: (\d+)(?:/-?\d+)?$"),
    ("planned_transactions", "transactions", r"number of transactions actually processed: \d+/(-?\d+)$"),
    ("failed_transactions", "transactions", r"number of failed transactions: (\d+) "),
    ("serialization_failures", "transactions", r"number of serialization failures: (\d+) "),
    ("deadlock_failures", "transactions", r"number of deadlock failures: (\d+) "),
    ("other_failures", "transactions", r"number of other failures: (\d+) "),
    ("retried_transactions", "transactions", r"number of transactions retried: (\d+) "),
    ("retries", "retries", r"total number of retries: (\d+)$"),
    ("skipped_transactions", "transactions", r"number of transactions skipped: (\d+) "),
    ("late_transactions", "transactions", r"number of transactions above the .* latency limit: (\d+)[ /]"),
    ("latency_average_ms", "ms", rf"latency average(?: =|:) ({NUMBER}) ms"),
    ("latency_stddev_ms", "ms", rf"latency stddev(?: =|:) ({NUMBER}) ms"),
    ("rate_limit_lag_average_ms", "ms", rf"rate limit schedule lag: avg ({NUMBER}) "),
    ("rate_limit_lag_max_ms", "ms", rf"rate limit schedule lag: avg \S+ \(max ({NUMBER})\) ms"),
    ("initial_connection_time_ms", "ms", rf"initial connection time = ({NUMBER}) ms"),
    ("average_connection_time_ms", "ms", rf"average connection time = ({NUMBER}) ms"),
    ("reported_scale", "scale", r"scaling factor: (\d+)$"),
    ("reported_clients", "clients", r"number of clients: (\d+)$"),
    ("reported_threads", "threads", r"number of threads: (\d+)$"),
)

# The lines that every run prints once (src/bin/pgbench/pgbench.c, printVersion and printResults), in their order.
LAYOUT = Layout(
    banner=r"pgbench \(\d",
    once=(
        r"transaction type: ",
        r"scaling factor: ",
        r"query mode: ",
        r"number of clients: ",
        r"number of threads: ",
        r"number of transactions per client: |duration: ",
        r"number of transactions actually processed: ",
        r"latency average",
        r"latency stddev",
        r"initial connection time|average connection time",
        r"tps = [^(]{1,60}\(including",
        r"tps = [^(]{1,60}\((?:excluding|without)",
    ),
    progress=r"progress: (\d{1,12}\.\d{1,3}) s,",
    summary=0,
    clients=r"number of clients: (\d{1,9})$",
    threads=r"number of threads: (\d{1,9})$",
)

SUMMARY_LINES = {name: re.compile(f"^{line}", re.MULTILINE) for name, _, line in LINES}
UNITS = {name: unit for name, unit, _ in LINES}
# Of the report by statement (-r): the average, from 15 on the failures, then the retries where there may be some.
STATEMENT_LINE = re.compile(
    r"[ \t]{1,20}(-?\d{1,9}\.\d{1,6})(?: {1,20}(\d{1,15})(?: {1,20}(\d{1,15}))?)?[ \t]{1,2}(\S.*)"
)
STATEMENTS_BEGIN = re.compile(r"(?: - )?statement latencies in milliseconds")
# All that a script's part of the report has is indented, and none of it like a line of the script's own.
STATEMENTS_END = re.compile(r"(?![ \t])| - ")
LONGEST_STATEMENT = 1000  # characters
LAG = "rate_limit_lag_average_ms"
# What the lines that hold measures begin with, up to where their form varies or their number stands.
BEGINNINGS = tuple({re.split(r"[(\\.]", line)[0].rstrip() for _, _, line in LINES} | {"tps ="})
RATE_LINES = {way: re.compile(rf"^tps = ({NUMBER}) \({words}\)", re.MULTILINE) for way, words in TPS_LINES.items()}

# Of a number of transactions, in the form that releases before 9.6 have.
AVERAGE_OF_NOTHING = re.compile(r"^latency average: 0\.000 ms$", re.MULTILINE)
PER_CLIENT, WRAPS = re.compile(r"^number of transactions per client: (\d{1,15})$", re.MULTILINE), 2**32
NO_DURATION = re.compile(r"^number of transactions per client: ", re.MULTILINE)
NO_AVERAGE = "pgbench prints 0 as its average latency, as old versions do of a number of transactions: it is left out."
WARNING = re.compile(r"^pgbench: warning: (.*)$", re.MULTILINE)
FIRST_LINE = "transaction type: "
# From 15 on, where failures are counted as well.
TRIES_LINE = re.compile(r"^maximum number of tries: ", re.MULTILINE)
# "pgbench (16.4)" is of a server of the same version; "pgbench (PostgreSQL) 16.4" is what --version prints.
BANNER = re.compile(r"pgbench \((\d.{0,200})\)")
# What a server of PostgreSQL calls itself, with its packager in parentheses; others add names of their own.
SERVER = re.compile(r"^pgbench \(\d.{0,100}, server (\S.{0,100})\)$", re.MULTILINE)
POSTGRESQL = re.compile(r"\d{1,3}(?:\.\d{1,3}){0,2}(?:devel|(?:alpha|beta|rc)\d{0,3})?(?: \(.*\))?")
# It names the server's version only where that is another than its own.
STATED = {
    CLIENT_VERSION: re.compile(r"^pgbench \(([0-9]{1,2}(?:\.[0-9]{1,3}){1,2})", re.MULTILINE),
    SERVER_VERSION: re.compile(
        r"^pgbench \((?:[^,\n]{1,80}, server |(?![^\n]{0,160}, server ))([0-9]{1,2}(?:\.[0-9]{1,3}){1,2})", re.MULTILINE
    ),
    DURATION: re.compile(r"^duration: ([0-9]{1,6}) s", re.MULTILINE),
}
VERSION_LINE = re.compile(r"pgbench \([A-Za-z ]{1,40}\) (\d.{0,100})")
SCRIPT_LINE = re.compile(r"SQL script \d{1,9}: (.{1,400})")
WEIGHT_LINE = re.compile(r" - weight: (\d{1,9}) \(")
BUILTINS = {
    "TPC-B (sort of)": "tpcb-like",
    "<builtin: TPC-B (sort of)>": "tpcb-like",
    "Update only pgbench_accounts": "simple-update",
    "<builtin: simple update>": "simple-update",
    "SELECT only": "select-only",
    "<builtin: select only>": "select-only",
}
SEVERAL, ANY_CUSTOM = "multiple scripts", "Custom query"


@dataclass(frozen=True, slots=True)
class Numbers:
    """The measures of the summary by name, with the TPS that stands for the run as "tps"."""

    measures: Mapping[str, Measure]
    missing: str = ""


def read_numbers(stdout: str, *, connect_each: bool) -> Numbers:
    """Return the measures of the summary, or none and in `missing` why there is no TPS.

    TPS is the one "excluding connections establishing" up to 13 and "without initial connection time" from 14
    on; with -C, where connecting is part of each transaction, it is the one that includes it.
    """
    numbers = {name: _number(stdout, line) for name, line in SUMMARY_LINES.items()}
    tps = {way: _number(stdout, line) for way, line in RATE_LINES.items()}
    missing = _missing(stdout, numbers, tps, connect_each)
    if missing:
        return Numbers({}, missing)
    if has_no_average(stdout):
        numbers["latency_average_ms"] = None
    if numbers["planned_transactions"] is not None:
        each = _number(stdout, PER_CLIENT)
        planned = unwrapped(numbers["planned_transactions"], each, numbers["reported_clients"])
        # One that stays below 0 is of a damaged output.
        numbers["planned_transactions"] = planned if planned >= 0 else None
    # The root of a difference that rounding took below nothing.
    if math.isnan(numbers["latency_stddev_ms"] or 0.0):
        numbers["latency_stddev_ms"] = 0.0
    measures = {name: Measure(n, UNITS[name]) for name, n in numbers.items() if n is not None and math.isfinite(n)}
    return Numbers({**_tps_measures(tps, connect_each), **measures})


def unwrapped(printed: float, each: float | None, clients: float | None) -> float:
    """Return how many transactions were planned: their number is printed by 32 bits, so that it wraps from 2^31 on."""
    planned = (each or 0) * (clients or 0)
    return planned if planned and (planned - printed) % WRAPS == 0 else printed


def has_no_average(stdout: str) -> bool:
    """Tell whether the average was derived from a duration that the run did not have, as by 9.4 and the first 9.5."""
    is_of_nothing = bool(AVERAGE_OF_NOTHING.search(stdout) and NO_DURATION.search(stdout))
    return is_of_nothing and not SUMMARY_LINES["latency_stddev_ms"].search(stdout)


def _number(text: str, line: re.Pattern[str]) -> float | None:
    match = line.search(text)
    return float(match.group(1)) if match else None


def _canonical(tps: Mapping[str, float | None], connect_each: bool) -> float | None:
    if connect_each:
        return tps["including"]
    return tps["without"] if tps["without"] is not None else tps["excluding"]


def _missing(
    stdout: str, numbers: Mapping[str, float | None], tps: Mapping[str, float | None], connect_each: bool
) -> str:
    if not stdout.strip():
        return "pgbench printed no summary"
    if numbers["transactions"] is None:
        return "pgbench's summary is cut off before the number of transactions"
    if numbers["transactions"] == 0:
        return "pgbench processed no transaction"
    canonical = _canonical(tps, connect_each)
    if canonical is None:
        return "pgbench's summary has no line with the TPS"
    if numbers["failed_transactions"] is None and TRIES_LINE.search(stdout):
        return "pgbench's summary has no line with the number of failed transactions, which this version prints"
    for rate in (canonical, tps["including"]):
        if rate is not None and not (math.isfinite(rate) and rate > 0):
            return f"pgbench printed {rate} as its TPS"
    return ""


def _tps_measures(tps: Mapping[str, float | None], connect_each: bool) -> dict[str, Measure]:
    canonical = _canonical(tps, connect_each)
    measures = {} if canonical is None else {"tps": Measure(canonical, "TPS")}
    both = tps["including"], tps["excluding"]
    for name, value in zip(("tps_including", "tps_excluding"), both, strict=True):
        if None not in both and value is not None and math.isfinite(value):
            measures[name] = Measure(value, "TPS")
    return measures


def unread(stdout: str) -> tuple[str, ...]:
    """Return a remark on each line of a measure that cannot be read, so that it is in no number."""
    lines = [line for line in stdout.split("\n") if line.startswith(BEGINNINGS)]
    return unread_lines([line for line in lines if not any(map(math.isfinite, _numbers(line))) or _is_half_read(line)])


def _is_half_read(line: str) -> bool:
    """Tell whether a line has the average lag, but a longest that cannot be read: each version prints both."""
    return bool(SUMMARY_LINES[LAG].match(line)) and not SUMMARY_LINES["rate_limit_lag_max_ms"].match(line)


def _numbers(line: str) -> Iterator[float]:
    """Yield the numbers of a line; a deviation that is none is 0."""
    for name, line_of in {**SUMMARY_LINES, **RATE_LINES}.items():
        if match := line_of.match(line):
            yield 0.0 if name == "latency_stddev_ms" else float(match[1])


def statement_latencies(stdout: str) -> Iterator[StatementLatency]:
    """Yield how long each statement took, with the beginning of its text; nothing without pgbench's report by it."""
    script, is_report = "", False
    for line in stdout.split("\n"):
        if title := SCRIPT_LINE.fullmatch(line):
            script = title[1]
        if STATEMENTS_END.match(line):
            is_report = STATEMENTS_BEGIN.match(line) is not None
        elif is_report and (match := STATEMENT_LINE.fullmatch(line)):
            failures, retries = (int(text) if text else None for text in match.groups()[1:3])
            yield StatementLatency(script, match[4][:LONGEST_STATEMENT], float(match[1]), failures, retries)


def other_servers(stdout: str) -> tuple[str, ...]:
    """Return a remark on a server that calls itself otherwise than PostgreSQL does."""
    names = [name for name in SERVER.findall(stdout) if not POSTGRESQL.fullmatch(name)]
    return tuple(f"The server calls itself {name}: it may be another than PostgreSQL." for name in names[:1])


def warnings(stderr: str) -> tuple[str, ...]:
    """Return pgbench's warnings, each once, as remarks."""
    return tuple(dict.fromkeys(f"pgbench warned: {text.rstrip('.')}." for text in WARNING.findall(stderr)))


# --- lines by name --------------------------------------------------------------------------------------------


@dataclass
class Summary:
    """The lines of one run: values by name, scripts with their weights, and the way in which TPS is counted."""

    banner: str = ""
    version_line: str = ""
    values: dict[str, str] = field(default_factory=dict)
    scripts: list[tuple[str, int | None]] = field(default_factory=list)
    tps: dict[str, float] = field(default_factory=dict)
    is_of_18: bool = False
    has_statements: bool = False
    has_old_average: bool = False

    @property
    def script_names(self) -> tuple[str, ...]:
        name = self.values.get("transaction type", "")
        if name == SEVERAL:
            return tuple(script for script, _ in self.scripts)
        return (name,) if name and name != ANY_CUSTOM else ()

    @property
    def has_builtin(self) -> bool:
        return any(kind_of(name) != CUSTOM for name in self.script_names)

    def number(self, name: str) -> float | None:
        """Return the number that a line begins with: of '40/40' the first; None without such a line."""
        match = re.match(r"[0-9]{1,15}(?:\.[0-9]{1,9})?", self.values.get(name, ""))
        return float(match[0]) if match else None

    @property
    def transactions(self) -> float:
        return self.number("number of transactions actually processed") or 0.0

    @property
    def lasted_s(self) -> float | None:
        """Return how long the run lasted by its own count and rate, connecting included; None where one is missing."""
        if not self.transactions or not self.tps or min(self.tps.values()) <= 0:
            return None
        return self.transactions / min(self.tps.values()) + (self.number("initial connection time") or 0) / 1000


def read_summary(text: str) -> Summary:
    """Return the lines of the first run in a text, from its first line up to the next run's."""
    summary, has_begun = Summary(), FIRST_LINE not in text
    for raw in islice(filter(_may_be_summary, text.split("\n")), MOST_LINES):
        line = raw.rstrip("\r")
        is_of_program, is_first = line.startswith("pgbench ("), line.startswith(FIRST_LINE)
        banner, version = (pattern.fullmatch(line) if is_of_program else None for pattern in (BANNER, VERSION_LINE))
        if summary.values and (banner or version or is_first):
            break
        has_begun = has_begun or is_first
        if banner:
            summary.banner = banner[1]
        elif version:
            summary.version_line = version[1]
        elif has_begun:
            _add(summary, line)
    return summary


def _may_be_summary(line: str) -> bool:
    return bool(line) and not line.startswith("progress: ")


def _add(summary: Summary, line: str) -> None:
    script, weight = SCRIPT_LINE.fullmatch(line), WEIGHT_LINE.match(line)
    if script:
        summary.scripts.append((script[1], None))
    elif weight and summary.scripts:
        summary.scripts[-1] = (summary.scripts[-1][0], int(weight[1]))
    elif line.startswith(" - number of transactions actually processed"):
        summary.is_of_18 = True
    elif STATEMENTS_BEGIN.match(line):
        summary.has_statements = True
    elif line.startswith("tps = "):
        rate, _, way = line.removeprefix("tps = ").partition(" (")
        if re.fullmatch(r"[0-9]{1,15}\.[0-9]{1,9}", rate):
            summary.tps.setdefault(way.rstrip(")"), float(rate))
    elif not line.startswith(" "):
        summary.has_old_average = summary.has_old_average or line.startswith("latency average: ")
        name, separator, value = re.sub(r"^([a-z ]{1,40}) = ", r"\1: ", line).partition(": ")
        if separator:
            summary.values.setdefault(name, value.strip())


def kind_of(name: str) -> str:
    """Return the name of a built-in script, or 'custom' for a file."""
    if name.startswith("<builtin: "):
        return BUILTINS.get(name, name.removeprefix("<builtin: ").removesuffix(">"))
    return BUILTINS.get(name, CUSTOM)


def stated_duration_s(text: str) -> int | None:
    """Return how long the first run in a text took, if it was of a number of transactions; None where it was not."""
    summary = read_summary(text)
    lasted_s = summary.lasted_s
    if "number of transactions per client" not in summary.values or not lasted_s or not math.isfinite(lasted_s):
        return None
    return max(1, round(lasted_s))


def stated_parameters(text: str) -> dict[str, Any]:
    """Return script, scale, query mode, tries and whether statements were timed, of the first run in a text.

    {} where it is none of one built-in script.
    """
    summary = read_summary(text)
    script, scale = BUILTINS.get(summary.values.get("transaction type", "")), summary.number("scaling factor")
    if not script or not scale:
        return {}
    stated = {"script": script, "scale": int(scale), "query_mode": summary.values.get("query mode", "simple")}
    tries = 0 if "number of transactions retried" in summary.values else 1
    tries = int(summary.number("maximum number of tries") or tries)
    if tries != 1:
        stated["max_tries"] = tries
    return {**stated, **({"statement_latencies": True} if summary.has_statements else {})}
