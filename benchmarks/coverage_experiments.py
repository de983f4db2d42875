"""Draw experiments whose truth is known, for benchmarks/coverage.py: the noise of their runs, and their order."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence

from benchhub.analysis.curves import curve
from benchhub.analysis.curves.curve import Curve, RunPoint
from benchhub.analysis.statistics import drift
from benchhub.analysis.statistics.drift import Start

LEVELS = (1, 2, 4, 8, 16, 32, 64, 128)
REPEATS = 5
NOISE = 0.02
SEED = 20261121
SYSTEMS = ("one", "other")
RUN_S = 60.0
STALL_SHARE = 0.08

Place = tuple[str, int, int]
Noise = Callable[[random.Random, Sequence[Place]], Iterator[float]]


def true_throughput(clients: int) -> float:
    """Return the throughput of a curve with its peak at 32 of these levels, and 16 close to it."""
    return 1000 * clients / (1 + 0.02 * (clients - 1) + 0.0009 * clients * (clients - 1))


def independent(source: random.Random, order: Sequence[Place]) -> Iterator[float]:
    yield from (source.gauss(0, NOISE) for _ in order)


def drifting(source: random.Random, order: Sequence[Place]) -> Iterator[float]:
    """Yield the errors of a host that loses 5% from the first run to the last."""
    for position, _ in enumerate(order):
        yield source.gauss(0, NOISE) - 0.05 * position / len(order)


def hanging_together(source: random.Random, order: Sequence[Place]) -> Iterator[float]:
    """Yield errors of which each run keeps 0.7 from the one before."""
    state = source.gauss(0, NOISE)
    for _ in order:
        state = 0.7 * state + source.gauss(0, NOISE * math.sqrt(1 - 0.7**2))
        yield state


def resembling(source: random.Random, order: Sequence[Place]) -> Iterator[float]:
    """Yield errors of which each run keeps 0.9 from the one before."""
    state = source.gauss(0, NOISE)
    for _ in order:
        state = 0.9 * state + source.gauss(0, NOISE * math.sqrt(1 - 0.9**2))
        yield state


def stalling(source: random.Random, order: Sequence[Place]) -> Iterator[float]:
    """Yield errors in which 8% of the runs reach only 30 to 70% of their throughput."""
    for _ in order:
        speed = source.uniform(0.3, 0.7) if source.random() < STALL_SHARE else 1
        yield speed * (1 + source.gauss(0, NOISE)) - 1


def with_outliers(source: random.Random, order: Sequence[Place]) -> Iterator[float]:
    """Yield errors in which one run of twenty loses a fifth: the truth is a mean that lies 1% lower."""
    for _ in order:
        yield source.gauss(0, NOISE) - (0.19 if source.random() < 0.05 else -0.01)


def noisier_at_many_clients(source: random.Random, order: Sequence[Place]) -> Iterator[float]:
    for _, clients, _ in order:
        yield source.gauss(0, NOISE * (3 if clients >= 16 else 0.5))


def noisier_other(source: random.Random, order: Sequence[Place]) -> Iterator[float]:
    for system, _, _ in order:
        yield source.gauss(0, NOISE * (3 if system == "other" else 1))


def by_blocks(source: random.Random, levels: Sequence[int] = LEVELS, repeats: int = REPEATS) -> list[Place]:
    """Return each repeat of everything in an order of its own, as BenchHub plans by default."""
    order = []
    for repeat in range(repeats):
        block = [(system, clients, repeat) for system in SYSTEMS for clients in levels]
        source.shuffle(block)
        order += block
    return order


def as_listed(_source: random.Random) -> list[Place]:
    """Return one system after the other, level by level."""
    return [(system, clients, repeat) for system in SYSTEMS for clients in LEVELS for repeat in range(REPEATS)]


def experiment(source: random.Random, noise: Noise, order: list[Place], gain: float = 1.0) -> dict[str, Curve]:
    points: dict[str, list[RunPoint]] = {system: [] for system in SYSTEMS}
    # Without starts nothing is withheld for its order, so that the table shows what such intervals would hold.
    has_starts = is_shown(order)
    for position, ((system, clients, _), error) in enumerate(zip(order, noise(source, order), strict=True)):
        throughput = true_throughput(clients) * (gain if system == "one" else 1) * (1 + error)
        start = Start(RUN_S * position, RUN_S, clients, throughput) if has_starts else None
        points[system].append(RunPoint(0, clients, throughput, "TPS", "p", system, start=start))
    return {system: curve.build(runs) for system, runs in points.items()}


def is_shown(order: Sequence[Place]) -> bool:
    """Tell whether a page would show intervals and verdicts of runs in this order, a minute each."""
    starts_by_system: dict[str, list[Start]] = {system: [] for system in SYSTEMS}
    for place, (system, clients, _) in enumerate(order):
        starts_by_system[system].append(Start(RUN_S * place, RUN_S, clients, 1.0))
    in_a_row = any(drift.repeats_in_a_row(starts) for starts in starts_by_system.values())
    return not in_a_row and not drift.one_after_the_other(*starts_by_system.values())
