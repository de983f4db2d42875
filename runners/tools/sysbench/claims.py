"""Read what sysbench's report claims of its run: its version, its threads, how long it took, and its statements."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from runners.contract import RunSpec
from runners.tools import claims, programs
from runners.tools.claims import CLIENT_VERSION, CLIENTS, DURATION, THREADS, WARMUP, Claim, Fact

from . import report

SCRIPT, DATABASE, RATE = "script", "database", "rate_limit"
VERSION_LINE = re.compile(r"^sysbench (\d[^\n]{0,100})$", re.MULTILINE)
STATED = {
    CLIENT_VERSION: re.compile(r"^sysbench ([0-9]{1,2}(?:\.[0-9]{1,3}){1,2})", re.MULTILINE),
    DURATION: re.compile(r"^Running the test for ([0-9]{1,6}) s", re.MULTILINE),
}
THREADS_LINE = re.compile(r"^Number of threads: (\d{1,9})\r?$", re.MULTILINE)
INTERVAL_THREADS = re.compile(r"^\[ {0,8}\d{1,9}s ?\] (?:thds|threads): (\d{1,9})\b", re.MULTILINE)
EVENTS_LINE = re.compile(r"^ {1,8}total number of events: {1,40}(\d{1,15})\r?$", re.MULTILINE)
AVERAGE_LINE = re.compile(r"^ {1,8}events \(avg/stddev\): {1,40}(\d{1,15}\.\d{1,4})/", re.MULTILINE)
COUNT_LINE = re.compile(r"^ {1,8}(read|write|transactions|ignored errors): {1,40}(\d{1,15})\b", re.MULTILINE)
TIME_LINE = re.compile(r"^ {1,8}(?:total time|time elapsed): {1,40}(\d{1,9}\.\d{1,9})s\r?$", re.MULTILINE)
LONGEST_LINE = re.compile(r"^ {1,12}max: {1,60}(\d{1,12}\.\d{1,3})(?:ms)?\r?$", re.MULTILINE)
# Reads and writes of each transaction; all statements but BEGIN and COMMIT are one or the other.
STATEMENTS: Mapping[tuple[int, int], tuple[str, ...]] = {
    (14, 4): ("oltp_read_write",),
    (14, 0): ("oltp_read_only",),
    (0, 4): ("oltp_write_only",),
    (1, 0): ("oltp_point_select", "select_random_points", "select_random_ranges"),
    (0, 1): ("oltp_insert", "oltp_update_index", "oltp_update_non_index"),
}
RATE_LINE = re.compile(r"^Target transaction rate: ([^\n]{1,40})$", re.MULTILINE)
# What is counted before or after its transaction is: where a warm-up ends, or a thread.
COUNT_SHARE, COUNT_EACH_THREAD = 0.05, 2
# An end that is waited for, and how late the last report is.
SLACK_S, SLACK_SHARE = 0.25, 0.02


def claims_of(stdout: str) -> dict[str, Claim]:
    """Return what the report claims, by the name of the fact."""
    return dict(_claims(stdout))


def _claims(text: str) -> Iterator[tuple[str, Claim]]:
    version = VERSION_LINE.search(text)
    claim = claims.of_version(version[1], f"sysbench {version[1].strip()}") if version else None
    if claim:
        yield CLIENT_VERSION, claim
    # The report itself names none, but a command line or an error beside it may.
    if database := programs.database_of(text):
        yield DATABASE, claims.exactly(database, f"a run on {database}")
    if threads := _threads(text):
        yield CLIENTS, claims.counted(threads, "client")
        yield THREADS, claims.counted(threads, "thread")
    if warmup := report.WARMUP.search(text):
        # A warm-up that was not given at all is no other one.
        warmup_s = int(warmup[1])
        yield WARMUP, Claim(f"a warm-up of {warmup_s:,} s", lambda planned: planned in (0, warmup_s))
    if took := TIME_LINE.search(text):
        yield DURATION, _duration_claim(text, float(took[1]))
    counts: dict[str, int] = {}
    for name, number in COUNT_LINE.findall(text):
        counts.setdefault(name, int(number))
    if counts.get("transactions") and {"read", "write"} <= counts.keys():
        yield SCRIPT, _script_claim(counts, threads)
    if rate := RATE_LINE.search(text):
        yield RATE, claims.exactly(None, f"transactions at a rate (--rate) of {rate[1].strip()}")


def _threads(text: str) -> int:
    """Return the number of threads, which each has its average of all events; 0 where nothing says it."""
    if line := THREADS_LINE.search(text) or INTERVAL_THREADS.search(text):
        return int(line[1])
    events, average = EVENTS_LINE.search(text), AVERAGE_LINE.search(text)
    return round(int(events[1]) / float(average[1])) if events and average and float(average[1]) else 0


def _duration_claim(text: str, took_s: float) -> Claim:
    """Return the claim of a duration: each thread ends the transaction that it has begun."""
    longest = LONGEST_LINE.search(text)
    longest_s = float(longest[1]) / 1000 if longest else 0.0
    least_s, most_s = took_s * (1 - SLACK_SHARE) - longest_s - SLACK_S, took_s + SLACK_S
    return Claim(f"{took_s:,.4g} s", lambda planned: least_s <= planned <= most_s or planned == round(took_s))


def _script_claim(counts: Mapping[str, int], threads: int) -> Claim:
    """Return the claim of a script by its statements; transactions that are tried again send some of them again."""
    transactions, again = counts["transactions"], counts.get("ignored errors", 0)
    slack = COUNT_SHARE * transactions + COUNT_EACH_THREAD * threads
    least, most, names = transactions - slack, transactions + again + slack, list[str]()
    for statements, scripts in STATEMENTS.items():
        numbers = zip(statements, (counts["read"], counts["write"]), strict=True)
        if all(each * least <= number <= each * most for each, number in numbers):
            names += scripts
    reads, writes = (counts[name] / transactions for name in ("read", "write"))
    words = f"transactions of {reads:,.3g} reads and {writes:,.3g} writes"
    return Claim(words, lambda planned: planned in names)


def facts_of(spec: RunSpec, *, is_own: bool) -> dict[str, Fact]:
    """Return what the run was to be. A plan of our own does not know which sysbench its driver has."""
    script = str(spec.parameters.get("script", ""))
    reads, writes = next(statements for statements, scripts in STATEMENTS.items() if script in scripts)
    words = f"{reads:,} and {writes:,}, as {script} sends"
    return {
        **({} if is_own else _delivery_facts(spec)),
        CLIENTS: claims.number_fact(spec.clients),
        DURATION: claims.number_fact(spec.duration_s),
        SCRIPT: Fact(script, words),
        DATABASE: Fact("PostgreSQL", "one on PostgreSQL"),
        RATE: Fact(0, "as many as can be"),
    }


def _delivery_facts(spec: RunSpec) -> dict[str, Fact]:
    """Return what only a delivery says: our own command has a thread for each client, and warms up before."""
    return {
        CLIENT_VERSION: Fact(spec.tool_version, spec.tool_version),
        THREADS: claims.number_fact(spec.threads),
        WARMUP: Fact(spec.warmup_s, f"one of {spec.warmup_s:,} s"),
    }
