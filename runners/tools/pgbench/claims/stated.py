"""Read what pgbench 9.3 to 18 claims of its run, in the lines around its TPS.

A line that an old version does not print claims nothing; in what form a line is printed tells between which versions
the program is. With custom scripts alone pgbench does not look at the data set: then its scaling factor is only -s.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from runners.contract import RunSpec
from runners.tools import claims
from runners.tools.claims import (
    CLIENT_VERSION,
    CLIENTS,
    DURATION,
    LATENCY_LIMIT,
    RATE,
    SERVER_VERSION,
    THREADS,
    Claim,
    Version,
)
from runners.tools.kinds import StatedRate

from ..output import ANY_CUSTOM, BUILTINS, SEVERAL, Summary, kind_of, read_summary
from ..parameters import CUSTOM

SCRIPT, SCRIPT_NAMES, SCALE, SCALE_VARIABLE = "script", "script_names", "scale", "scale_variable"
QUERY_MODE, TRIES, PARTITIONS, CONNECTIONS = "query_mode", "tries", "partitions", "connections"
FAILURES = "failures"
STATEMENTS = "statement_latencies"

LIMIT_LINE = re.compile(r"number of transactions above the ([0-9]{1,12}\.[0-9]{1,3}) ms latency limit")
LAG_LINE = "rate limit schedule lag"
LAG = re.compile(r"avg [0-9.]{1,20} \(max ([0-9]{1,12}\.[0-9]{1,3})\) ms")
# Less than any connection takes: only where it is spread over many transactions is so little left for each.
LEAST_CONNECTING_S = 20e-6
RATE_ROUNDING = 1e-6
# What is printed as a limit of 0.0 ms is one below that.
LEAST_LIMIT_MS = 0.05
# By what share clocks may differ, and how unlikely a number of transactions is by chance: about once in 150,000.
SHARE, LEAST_CHANCE = 1.1, math.exp(-12)
# By how much a run with nothing more to do may be longer than it was to be.
LATE_END_S = 0.05
# Of a run of so many transactions nobody knows its duration more closely than it is given.
DURATION_SHARE, DURATION_ROUNDING_S = 0.02, 1.0

Release = tuple[int, ...]
NEWEST: Release = (999,)
# Of the release that a form is older than, by which name that is said.
LAST_BEFORE = {(9, 6): "9.5", (14,): "13"}


def claims_of(spec: RunSpec, stdout: str) -> dict[str, Claim]:
    """Return what a summary claims, by the name of the fact; {} for a text that has none."""
    summary = read_summary(stdout)
    return dict(_claims(spec, summary)) if summary.values else {}


def _claims(spec: RunSpec, summary: Summary) -> Iterator[tuple[str, Claim]]:
    yield from version_claims(summary)
    yield from _script_claims(summary)
    yield from _data_set_claims(spec, summary)
    if (mode := summary.values.get("query mode")) is not None:
        yield QUERY_MODE, claims.exactly(mode, f"query mode {mode}")
    yield from level_claims(summary)
    yield from _load_claims(summary)


# --- which program and server -----------------------------------------------------------------------------------


def version_claims(summary: Summary) -> Iterator[tuple[str, Claim]]:
    """Yield the versions of program and server, or between which versions the form of the lines is printed."""
    client, _, server = summary.banner.partition(", server ")
    client_text = client or summary.version_line
    claim = claims.of_version(client_text, f"pgbench {client_text}") if client_text else _by_form(summary)
    if claim:
        yield CLIENT_VERSION, claim
    if summary.banner and (numbers := Version.read(server or client)):
        # The server's stage is not known where the program only says that both numbers are the same.
        text = server or ".".join(map(str, numbers.numbers))
        if server_claim := claims.of_version(text, f"a server of PostgreSQL {text}"):
            yield SERVER_VERSION, server_claim


def _by_form(summary: Summary) -> Claim | None:
    since, before = _since(summary), _before(summary)
    if since >= before or (not since and before == NEWEST):
        return None
    first, last = ".".join(map(str, since)), LAST_BEFORE.get(before, "")
    words = f"{first} to {last}" if first and last else f"{first} or newer" if first else f"{last} or older"
    return Claim(f"pgbench {words}", lambda planned: _lies_between(planned, since, before))


def _lies_between(planned: str, since: Release, before: Release) -> bool:
    version = Version.read(planned)
    return version is None or (version.numbers[: len(since)] >= since and version.numbers[: len(before)] < before)


def _since(summary: Summary) -> Release:
    """Return the oldest release that prints lines of this form; () where none is too old."""
    name = summary.values.get("transaction type", "")
    forms: tuple[tuple[bool, Release], ...] = (
        (summary.is_of_18, (18,)),
        (bool({"number of failed transactions", "maximum number of tries"} & summary.values.keys()), (15,)),
        (bool({"without initial connection time", "including reconnection times"} & summary.tps.keys()), (14,)),
        ("partition method" in summary.values, (13,)),
        (name.startswith("<builtin: ") or bool(summary.scripts), (9, 6)),
        ("latency average" in summary.values, (9, 4) if summary.has_old_average else (9, 6)),
    )
    return next((release for is_so, release in forms if is_so), ())


def _before(summary: Summary) -> Release:
    """Return the first release that prints no lines of this form any more."""
    name = summary.values.get("transaction type", "")
    if summary.has_old_average or name == ANY_CUSTOM or (name in BUILTINS and not name.startswith("<")):
        return (9, 6)
    return (14,) if "excluding connections establishing" in summary.tps else NEWEST


# --- which load ---------------------------------------------------------------------------------------------------


def _script_claims(summary: Summary) -> Iterator[tuple[str, Claim]]:
    name, names = summary.values.get("transaction type", ""), summary.script_names
    if name == ANY_CUSTOM:
        yield SCRIPT, Claim("custom scripts", lambda planned: all(kind == CUSTOM for kind, _ in planned))
    elif names:
        weights = [weight for _, weight in summary.scripts if weight is not None] if name == SEVERAL else [1]
        if len(weights) == len(names):
            yield SCRIPT, _kinds_claim([pair for pair in zip(names, weights, strict=True) if pair[1]])
        if not summary.has_builtin:
            yield SCRIPT_NAMES, claims.exactly(names, f"the files {', '.join(names)}")


def _kinds_claim(scripts: Sequence[tuple[str, int]]) -> Claim:
    """Return the claim of scripts by name and weight; those without weight never ran, and are left out before."""
    weights = [weight for _, weight in scripts]
    kinds = tuple((kind_of(name), share) for (name, _), share in zip(scripts, shares(weights), strict=True))
    return claims.exactly(kinds, _scripts_words([name for name, _ in scripts], weights))


def shares(weights: list[int]) -> list[int]:
    """Return weights in lowest terms: 6 and 2 are the same load as 3 and 1."""
    divisor = math.gcd(*weights) or 1
    return [weight // divisor for weight in weights]


def _scripts_words(names: Sequence[str], weights: Sequence[int]) -> str:
    words = [f"the file {name}" if kind_of(name) == CUSTOM else f"the built-in {kind_of(name)}" for name in names]
    if len(words) == 1:
        return words[0]
    return ", ".join(f"{word} (weight {weight})" for word, weight in zip(words, weights, strict=True))


def _data_set_claims(spec: RunSpec, summary: Summary) -> Iterator[tuple[str, Claim]]:
    scale = summary.number("scaling factor")
    if scale is not None:
        is_default = scale == 1 and not summary.has_builtin
        yield SCALE_VARIABLE if is_default else SCALE, claims.exactly(int(scale), f"scale {scale:,.0f}")
    method = summary.values.get("partition method")
    if method is not None:
        number = int(summary.number("partitions") or 0)
        yield PARTITIONS, claims.exactly((number, method), f"{number:,} {method} partitions")
    elif summary.has_builtin and _prints_partitions(spec, summary):
        yield PARTITIONS, claims.exactly((0, ""), "a table without partitions")


def _prints_partitions(spec: RunSpec, summary: Summary) -> bool:
    """Return whether a table with partitions would be called so: 13 does, in lines that are otherwise those of 12."""
    version = Version.read(summary.banner or summary.version_line or spec.tool_version)
    return _since(summary) >= (13,) or (version is not None and version.numbers >= (13,))


def level_claims(summary: Summary) -> Iterator[tuple[str, Claim]]:
    """Yield clients, threads and duration; of a run of a number of transactions by its count and rate."""
    clients, threads, duration_s = map(summary.number, ("number of clients", "number of threads", "duration"))
    if clients is not None:
        yield CLIENTS, claims.counted(int(clients), "client")
    if threads is not None:
        most = threads if clients is None else clients
        # pgbench starts no more threads than it has clients.
        words = claims.count_words(int(threads), "thread")
        yield THREADS, Claim(words, lambda planned: threads in (planned, min(planned, most)))
    if duration_s is not None:
        yield DURATION, claims.counted(int(duration_s), "s", "s")
    elif "number of transactions per client" in summary.values and summary.lasted_s:
        yield DURATION, _lasted_claim(summary.lasted_s, (summary.number("initial connection time") or 0) / 1000)


def _lasted_claim(lasted_s: float, connecting_s: float) -> Claim:
    """Return the claim of a run that ended with its transactions, of which a delivery gives the seconds it took.

    They may be with the time of connecting or without.
    """
    room_s = DURATION_SHARE * lasted_s + DURATION_ROUNDING_S
    least_s = lasted_s - connecting_s - room_s
    return Claim(f"about {lasted_s:,.3g} s", lambda planned: least_s <= planned <= lasted_s + room_s)


# --- how it ran ---------------------------------------------------------------------------------------------------


def _load_claims(summary: Summary) -> Iterator[tuple[str, Claim]]:
    tries = summary.number("maximum number of tries")
    if tries is not None:
        yield TRIES, claims.exactly(int(tries), tries_words(int(tries)))
    elif "number of transactions retried" in summary.values:
        yield TRIES, claims.exactly(0, tries_words(0))
    if "number of failed transactions" in summary.values:
        is_detailed = "number of serialization failures" in summary.values
        yield FAILURES, claims.exactly(is_detailed, f"failures {'by kind' if is_detailed else 'that are not by kind'}")
    if (connects_each := _connects_each(summary)) is not None:
        yield CONNECTIONS, claims.exactly(connects_each, f"one connection for each {holder(connects_each)}")
    if _has_rates(summary):
        yield from rate_claims(summary)
        yield LATENCY_LIMIT, _limit_claim(summary)
        yield STATEMENTS, claims.exactly(summary.has_statements, f"a run {timing(summary.has_statements)}")


def rate_claims(summary: Summary) -> Iterator[tuple[str, Claim]]:
    """Yield the rate at which transactions were offered, as far as the lines tell it; nothing of a damaged summary."""
    if _has_rates(summary):
        yield RATE, _rate_claim(summary)


def timing(has_statements: bool) -> str:
    return f"{'with' if has_statements else 'without'} a report by statement (-r)"


def tries_words(tries: int) -> str:
    return claims.count_words(tries, "try at most", "tries at most") if tries else "tries without a limit"


def holder(connects_each: bool) -> str:
    return "transaction" if connects_each else "client"


def _connects_each(summary: Summary) -> bool | None:
    """Return whether each transaction had a connection of its own (-C); None where the lines leave it open.

    Up to 13 both rates are printed either way: only where next to no time went into connecting, there was none.
    """
    if "including reconnection times" in summary.tps:
        return True
    if "without initial connection time" in summary.tps:
        return False
    including, excluding = (summary.tps.get(f"{way} connections establishing") for way in ("including", "excluding"))
    if not including or not excluding:
        return None
    each_s, rounding_s = 1 / including - 1 / excluding, RATE_ROUNDING / including**2
    return False if (each_s + rounding_s) * (summary.number("number of clients") or 1) < LEAST_CONNECTING_S else None


def _connecting_s(summary: Summary) -> float:
    """Return how long the threads connected together, up to 13, where all time has it: that is left out by client."""
    including, excluding = (summary.tps.get(f"{way} connections establishing") for way in ("including", "excluding"))
    if not including or not excluding:
        return 0.0
    return summary.transactions * (1 / including - 1 / excluding) * (summary.number("number of clients") or 1)


def stated_rate(text: str) -> StatedRate | None:
    """Return what a summary states of its rate, which pgbench prints nowhere; None where it had none."""
    summary = read_summary(text)
    if LAG_LINE not in summary.values or not _has_rates(summary):
        return None
    limit = _printed_limit(summary)
    return StatedRate(_rate_claim(summary).words, max(LEAST_LIMIT_MS, float(limit)) if limit else 0.0)


def _has_rates(summary: Summary) -> bool:
    """Tell whether it has transactions and rates; one of a damaged output may be 0."""
    return bool(summary.transactions and summary.tps and all(summary.tps.values()))


def _rate_claim(summary: Summary) -> Claim:
    lag_text = summary.values.get(LAG_LINE)
    if lag_text is None:
        return Claim("a run without a rate (-R)", lambda planned: planned == 0)
    lag = LAG.match(lag_text)
    if not lag:
        return Claim("a run at a rate (-R)", lambda planned: planned > 0)
    due, longest_s, shortest_s = _offered(summary, float(lag[1]) / 1000)
    words = f"a run at a rate (-R) of about {due / longest_s:,.4g} TPS"
    clients = summary.number("number of clients") or 1
    # Each thread has its own schedule. Where it ends with a number of transactions, the slowest one is waited for.
    threads = (summary.number("number of threads") or 1) if summary.number("duration") is None else 1
    # Of clients that are not divided evenly, that one has more of them than others at the same rate.
    share = clients / threads / math.ceil(clients / threads)
    return Claim(
        words,
        lambda planned: (
            planned > 0
            and not _is_above(due - clients, SHARE * planned * longest_s)
            and not _is_below(SHARE * (due + clients) / threads, share * planned * shortest_s / threads)
        ),
    )


def _is_above(count: float, expected: float) -> bool:
    return count > expected and _chance(count, expected) < LEAST_CHANCE


def _is_below(count: float, expected: float) -> bool:
    return count < expected and _chance(count, expected) < LEAST_CHANCE


def _chance(count: float, expected: float) -> float:
    """Return a bound (Chernoff's) of how likely events at random are so many or more, or so few or fewer."""
    return math.exp(min(0.0, count - expected - (count * math.log(count / expected) if count > 0 else 0.0)))


def _offered(summary: Summary, longest_lag_s: float) -> tuple[float, float, float]:
    """Return how many transactions were offered, and in how many seconds at most and at least.

    No more are begun than are due by the end, and no fewer but for those that still waited then: as long as others did,
    or for the longest transaction, which is at most as far from the average as if it alone made the deviation
    (Samuelson, 1968). Where one that failed, or a stopped load generator, was waited for, nothing tells since when.
    """
    lasted_s = summary.transactions / min(summary.tps.values())
    duration_s = summary.number("duration") or lasted_s
    others = ("number of transactions skipped", "number of failed transactions")
    due = summary.transactions + sum(summary.number(name) or 0 for name in others)
    average_ms, stddev_ms = (summary.number(f"latency {name}") or 0 for name in ("average", "stddev"))
    longest_s = (average_ms + max(3.0, math.sqrt(summary.transactions)) * stddev_ms) / 1000
    has_failed = bool(summary.number("number of failed transactions"))
    explained_s = 0.0 if has_failed else longest_s
    is_planned_count = summary.number("duration") is None
    if lasted_s > duration_s + explained_s + LATE_END_S or (has_failed and is_planned_count):
        longest_s = lasted_s
    waited_s = SHARE * (longest_lag_s + longest_s)
    loaded_s = min(duration_s, lasted_s) - _connecting_s(summary)
    return due, max(duration_s, lasted_s), max(0.0, loaded_s - waited_s - LATE_END_S)


def _printed_limit(summary: Summary) -> str | None:
    return next((match[1] for name in summary.values if (match := LIMIT_LINE.fullmatch(name))), None)


def _limit_claim(summary: Summary) -> Claim:
    limit = _printed_limit(summary)
    if limit is None:
        return Claim("a run without a latency limit (-L)", lambda planned: planned == 0)
    limit_ms = float(limit)  # printed to a tenth
    words = f"a run with a latency limit (-L) of {limit} ms"
    return Claim(words, lambda planned: planned > 0 and abs(planned - limit_ms) <= 0.0501)
