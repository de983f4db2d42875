"""What is odd about a plan, from plain values: one function each, a sentence or nothing. None of it stops anybody."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from benchhub.analysis.curves.latencies import SAMPLES_ABOVE

from .levels import spell

SHORT_S = 30
RESERVED_CONNECTIONS = 3
CHECKPOINT_CYCLES = 2
NEEDED_FOR_P90, NEEDED_FOR_P99 = 10 * SAMPLES_ABOVE, 100 * SAMPLES_ABOVE
LOGGED_PER_S = 1_000  # of a fast load whose speed is known; at most twice as many are asked for


@dataclass(frozen=True, slots=True)
class Planned:
    """What one experiment asks of one system. None where it is not known.

    `threads` are those at each of the `levels`. `size`: of the data set, in the workload's own words. `branches`: rows
    that every transaction of a script contends for (the scale of pgbench's TPC-B), None where there is no such.
    `writes`: whether transactions write. `rarest_share`: of the rarest type that has response times of its own.
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


def too_many_connections(of: Planned) -> str:
    highest = max(of.levels)
    if highest <= of.max_connections - RESERVED_CONNECTIONS:
        return ""
    whose = "asks for" if of.is_max_connections_asked else "does not set it, so it has PostgreSQL's default of"
    return (
        f"{highest} clients may be more than {of.instance} lets in: its configuration {whose} "
        f"{of.max_connections} max_connections, of which {RESERVED_CONNECTIONS} are reserved."
    )


def fewer_branches_than_clients(of: Planned) -> str:
    highest = max(of.levels)
    if of.branches is None or highest <= of.branches:
        return ""
    branches = "1 branch" if of.branches == 1 else f"{of.branches:,} branches"
    return (
        f"The data set has {branches} (its scale) for {highest} clients: each "
        "transaction updates a branch, so clients will wait for each other rather than for the server."
    )


def uneven_threads(of: Planned) -> str:
    uneven = [clients for clients, threads in zip(of.levels, of.threads, strict=True) if clients % threads]
    if not uneven:
        return ""
    levels = spell(uneven)
    return f"At {levels} clients the threads do not divide the clients: some threads carry more of them than others."


def beyond_memory(of: Planned) -> str:
    if of.data_set_bytes is None or of.memory_bytes is None or of.data_set_bytes <= of.memory_bytes:
        return ""
    return (
        f"The data set of {of.size} takes about {_gb(of.data_set_bytes)}, more than the "
        f"{_gb(of.memory_bytes)} of memory of {of.server}: this measures its disks as well."
    )


def beyond_disk(of: Planned) -> str:
    if not of.is_to_load or of.data_set_bytes is None or of.free_bytes is None or of.data_set_bytes <= of.free_bytes:
        return ""
    return (
        f"The data set of {of.size} takes about {_gb(of.data_set_bytes)}, but only {_gb(of.free_bytes)} are "
        f"free in {of.folder} of {of.server}: its load may fail."
    )


def beyond_disk_together(sizes: Mapping[str, int], free_bytes: int, folder: str, server: str) -> str:
    """`sizes` in bytes by instance; where one alone is too large, that is said of it alone."""
    if sum(sizes.values()) <= free_bytes or max(sizes.values()) > free_bytes:
        return ""
    names = ", ".join(list(sizes)[:-1]) + f" and {list(sizes)[-1]}"
    return (
        f"The data sets of {names} take about {_gb(sum(sizes.values()))} together, but only {_gb(free_bytes)} are "
        f"free in {folder} of {server}: a load may fail."
    )


def short_of_checkpoints(of: Planned) -> str:
    needed_s = CHECKPOINT_CYCLES * of.checkpoint_timeout_s
    if not of.writes or of.duration_s >= needed_s:
        return ""
    return (
        f"Runs of {of.duration_s:,} s that write are shorter than two checkpoint cycles ({needed_s:,} s): whether a "
        f"checkpoint falls into a run on {of.instance} is chance."
    )


def short(of: Planned) -> str:
    if of.duration_s >= SHORT_S:
        return ""
    return f"Runs shorter than {SHORT_S} s mostly show caches and checkpoints in passing, not a steady rate."


def few_response_times(of: Planned) -> str:
    """Of a level's repeats together, as their histograms are merged."""
    logged = LOGGED_PER_S * of.rarest_share * of.duration_s * of.repeats
    if logged >= NEEDED_FOR_P99:
        return ""
    which, needed = ("90th", NEEDED_FOR_P90) if logged < NEEDED_FOR_P90 else ("99th", NEEDED_FOR_P99)
    enough_s = math.ceil(needed / (logged / of.duration_s))
    return (
        f"Where {LOGGED_PER_S:,} transactions a second are logged, as of a fast load, the rarest type, "
        f"{100 * of.rarest_share:.2g}% of them, has some {logged:,.0f} response times at a level: too few for a "
        f"{which} percentile of its own. Runs of {enough_s:,} s would have enough; the first runs of a workload on a "
        "system are logged less."
    )


def without_spread(of: Planned) -> str:
    if of.repeats > 1:
        return ""
    return "A single run at each level shows no spread: two systems can then not be told apart from chance."


def on_one_machine(of: Planned) -> str:
    if of.server != of.driver:
        return ""
    return f"Client and server share one machine ({of.driver}): the client takes CPU time from the server."


def warmed_for_nothing(of: Planned) -> str:
    if of.has_warmup_run and (of.is_loaded_each_time or of.drops_caches):
        what = "data set is loaded anew" if of.is_loaded_each_time else "caches are dropped"
        return f"The {what} before each run, so the warm-up run before all of them warms nothing."
    return ""


def cold_and_warm(of: Planned) -> str:
    if of.drops_caches and of.warmup_s:
        return "The caches are dropped before each run and then warmed up again: the measured part is not a cold one."
    return ""


ODDITIES: tuple[Callable[[Planned], str], ...] = (
    too_many_connections,
    fewer_branches_than_clients,
    uneven_threads,
    beyond_memory,
    beyond_disk,
    short_of_checkpoints,
    short,
    few_response_times,
    without_spread,
    on_one_machine,
    warmed_for_nothing,
    cold_and_warm,
)


def oddities(of: Planned) -> Iterator[str]:
    yield from filter(None, (find(of) for find in ODDITIES))


def _gb(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:,.1f} GiB" if size_bytes < 2**40 else f"{size_bytes / 2**40:,.1f} TiB"
