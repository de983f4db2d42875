"""Warn of what is odd about a plan, by one function each: a sentence or nothing. No warning stops anybody."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from benchhub.analysis.curves.latencies import SAMPLES_ABOVE

from . import poolers
from .levels import spell
from .poolers import Pooled

SHORT_S = 30
RESERVED_CONNECTIONS = 3
CHECKPOINT_CYCLES = 2
NEEDED_FOR_P90, NEEDED_FOR_P99 = 10 * SAMPLES_ABOVE, 100 * SAMPLES_ABOVE
ENDS_THINKING_SHARE = 0.01
LOGGED_PER_S = 2_000  # of a fast load on one CPU; at most twice as many are asked for, and of a slow load all


@dataclass(frozen=True, slots=True)
class Planned:
    """The demands of one experiment on one system. None is unknown.

    `threads` are those at each of the `levels`. `size`: of the data set, in the workload's own words. `branches`: rows
    that every transaction of a script contends for (the scale of pgbench's TPC-B), None where there is no such.
    `writes`: whether transactions write. `rarest_share`: of the rarest type that has response times of its own.
    `pause_ms`: how long clients think before a transaction on average, `longest_pause_ms` how long at most.
    `pooled`: the load at its highest level, where it goes through a pooler.
    """

    instance: str
    server: str
    driver: str
    levels: tuple[int, ...]
    threads: tuple[int, ...]
    size: str
    duration_s: int
    repeats: int
    branches: int | None = None
    writes: bool | None = None
    max_connections: int = 100
    is_max_connections_asked: bool = False
    checkpoint_timeout_s: int = 300
    data_set_bytes: int | None = None
    memory_bytes: int | None = None
    is_to_load: bool = False
    free_bytes: int | None = None
    folder: str = ""
    is_loaded_each_time: bool = False
    has_warmup_run: bool = False
    drops_caches: bool = False
    warmup_s: int = 0
    rarest_share: float = 1.0
    pause_ms: float = 0.0
    longest_pause_ms: float = math.inf
    pooled: Pooled | None = None


def too_many_connections(plan: Planned) -> str:
    highest = plan.pooled.sessions if plan.pooled else max(plan.levels)
    if highest <= plan.max_connections - RESERVED_CONNECTIONS:
        return ""
    verb = "asks for" if plan.is_max_connections_asked else "does not set it, so it has PostgreSQL's default of"
    return (
        f"{highest} clients may be more than {plan.instance} lets in: its configuration {verb} "
        f"{plan.max_connections} max_connections, of which {RESERVED_CONNECTIONS} are reserved."
    )


def fewer_branches_than_clients(plan: Planned) -> str:
    highest = max(plan.levels)
    if plan.branches is None or highest <= plan.branches:
        return ""
    branches = "1 branch" if plan.branches == 1 else f"{plan.branches:,} branches"
    return (
        f"The data set has {branches} (its scale) for {highest} clients: each "
        "transaction updates a branch, so clients will wait for each other rather than for the server."
    )


def uneven_threads(plan: Planned) -> str:
    uneven = [clients for clients, threads in zip(plan.levels, plan.threads, strict=True) if clients % threads]
    if not uneven:
        return ""
    levels = spell(uneven)
    return (
        f"At {levels} clients the threads do not divide the clients: some threads carry more of them than others. "
        "Choose threads that do."
    )


def beyond_memory(plan: Planned) -> str:
    if plan.data_set_bytes is None or plan.memory_bytes is None or plan.data_set_bytes <= plan.memory_bytes:
        return ""
    return (
        f"The data set of {plan.size} takes about {_gb(plan.data_set_bytes)}, more than the "
        f"{_gb(plan.memory_bytes)} of memory of {plan.server}: this measures its disks as well. "
        "Take a smaller scale to measure memory and CPU alone."
    )


def beyond_disk(plan: Planned) -> str:
    if (
        not plan.is_to_load
        or plan.data_set_bytes is None
        or plan.free_bytes is None
        or plan.data_set_bytes <= plan.free_bytes
    ):
        return ""
    return (
        f"The data set of {plan.size} takes about {_gb(plan.data_set_bytes)}, but only {_gb(plan.free_bytes)} are "
        f"free in {plan.folder} of {plan.server}: its load may fail. Free some, or take a smaller scale."
    )


def beyond_disk_together(sizes: Mapping[str, int], free_bytes: int, folder: str, server: str) -> str:
    """Warn of data sets that do not fit on a disk together; one that is too large alone has its own warning.

    `sizes` are in bytes by instance.
    """
    if sum(sizes.values()) <= free_bytes or max(sizes.values()) > free_bytes:
        return ""
    names = ", ".join(list(sizes)[:-1]) + f" and {list(sizes)[-1]}"
    return (
        f"The data sets of {names} take about {_gb(sum(sizes.values()))} together, but only {_gb(free_bytes)} are "
        f"free in {folder} of {server}: a load may fail."
    )


def short_of_checkpoints(plan: Planned) -> str:
    needed_s = CHECKPOINT_CYCLES * plan.checkpoint_timeout_s
    if not plan.writes or plan.duration_s >= needed_s:
        return ""
    return (
        f"Runs of {plan.duration_s:,} s that write are shorter than two checkpoint cycles ({needed_s:,} s): whether a "
        f"checkpoint falls into a run on {plan.instance} is chance."
    )


def short(plan: Planned) -> str:
    if plan.duration_s >= SHORT_S:
        return ""
    return f"Runs shorter than {SHORT_S} s mostly show caches and checkpoints in passing, not a steady rate."


def few_response_times(plan: Planned) -> str:
    """Warn of too few response times for a percentile of a level's repeats, whose histograms are merged."""
    logged_n = LOGGED_PER_S * plan.rarest_share * plan.duration_s * plan.repeats
    if logged_n >= NEEDED_FOR_P99:
        return ""
    rank, needed_count = ("90th", NEEDED_FOR_P90) if logged_n < NEEDED_FOR_P90 else ("99th", NEEDED_FOR_P99)
    enough_s = math.ceil(needed_count / (logged_n / plan.duration_s))
    return (
        f"Where {LOGGED_PER_S:,} transactions a second are logged, as of a fast load, the rarest type, "
        f"{100 * plan.rarest_share:.2g}% of them, has some {logged_n:,.0f} response times at a level: too few for a "
        f"{rank} percentile of its own. Runs of {enough_s:,} s would have enough."
    )


def bounded_by_thinking(plan: Planned) -> str:
    """Say which throughput clients that think cannot exceed, whatever the server can do."""
    if not plan.pause_ms:
        return ""
    lowest_tps, highest_tps = (1000 * clients / plan.pause_ms for clients in (min(plan.levels), max(plan.levels)))
    range_text = f"{highest_tps:,.4g} TPS"
    if lowest_tps < highest_tps:
        range_text = f"{lowest_tps:,.4g} TPS at {min(plan.levels):,} and {range_text}"
    return (
        f"Clients think {plan.pause_ms:,g} ms before each transaction, so they make at most {range_text} at "
        f"{max(plan.levels):,} clients, whatever {plan.instance} can do."
    )


def ends_thinking(plan: Planned) -> str:
    """Warn of runs so short that the wait for the last client that thinks lowers their TPS."""
    # The longest of n exponential pauses is about 1 + ln n times their average; of others less.
    waited_s = min(plan.longest_pause_ms, plan.pause_ms * (1 + math.log(max(plan.levels)))) / 1000
    if waited_s <= ENDS_THINKING_SHARE * plan.duration_s:
        return ""
    return (
        f"After {plan.duration_s:,} s a run waits for clients that still think, up to {waited_s:,.2g} s, and that time "
        f"is in its TPS: runs of {math.ceil(waited_s / ENDS_THINKING_SHARE):,} s lose less than 1% by it."
    )


def without_spread(plan: Planned) -> str:
    if plan.repeats > 1:
        return ""
    return "A single run at each level shows no spread: two systems can then not be told apart from chance."


def on_one_machine(plan: Planned) -> str:
    if plan.server != plan.driver:
        return ""
    return (
        f"Client and server share one machine ({plan.driver}): the client takes CPU time from the server, so TPS are "
        "lower than with a driver of its own."
    )


def warmed_for_nothing(plan: Planned) -> str:
    if plan.has_warmup_run and (plan.is_loaded_each_time or plan.drops_caches):
        event = "data set is loaded anew" if plan.is_loaded_each_time else "caches are dropped"
        return f"The {event} before each run, so the warm-up run before all of them warms nothing."
    return ""


def cold_and_warm(plan: Planned) -> str:
    if plan.drops_caches and plan.warmup_s:
        return "The caches are dropped before each run and then warmed up again: the measured part is not a cold one."
    return ""


WARNINGS: tuple[Callable[[Planned], str], ...] = (
    too_many_connections,
    fewer_branches_than_clients,
    uneven_threads,
    beyond_memory,
    beyond_disk,
    short_of_checkpoints,
    short,
    few_response_times,
    bounded_by_thinking,
    ends_thinking,
    without_spread,
    on_one_machine,
    warmed_for_nothing,
    cold_and_warm,
)


def warnings(plan: Planned) -> Iterator[str]:
    yield from filter(None, (warning(plan) for warning in WARNINGS))
    yield from poolers.warnings(plan.pooled) if plan.pooled else ()


def _gb(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:,.1f} GiB" if size_bytes < 2**40 else f"{size_bytes / 2**40:,.1f} TiB"
