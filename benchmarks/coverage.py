"""How often BenchHub's intervals hold the truth, and how often it calls equals different, by simulated experiments.

Two equal systems at eight levels with five repeats each. Aim where repeats are independent: 93 to 97% for means and
ratios, at least 95% for peaks, and 5% of curves with any level called different. Then what breaks it: noise that
drifts or hangs together, in the two orders that runs can have, outliers, and noise that differs between levels. Where
a method fails, no interval and no verdict may be shown: the last columns say in how many experiments they were.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchhub.analysis.curves import curve, peak, ratio
from benchhub.analysis.curves.curve import Curve, RunPoint
from benchhub.analysis.statistics import drift, estimate
from benchhub.analysis.statistics.drift import Start
from benchhub.analysis.statistics.spread import summarise

LEVELS = (1, 2, 4, 8, 16, 32, 64, 128)
REPEATS = 5
NOISE = 0.02
SEED = 20261121
SYSTEMS = ("one", "other")
# Coverage that is aimed at under independent normal noise; the peak's is a lower bound.
AIM_PERCENT = (93.0, 97.0)
HELD_PERCENT = 90.0
RUN_S = 60.0

Place = tuple[str, int, int]
Noise = Callable[[random.Random, Sequence[Place]], Iterator[float]]


def true_throughput(clients: int) -> float:
    """A curve with its peak at 32 of these levels, and 16 close to it."""
    return 1000 * clients / (1 + 0.02 * (clients - 1) + 0.0009 * clients * (clients - 1))


def independent(source: random.Random, order: Sequence[Place]) -> Iterator[float]:
    yield from (source.gauss(0, NOISE) for _ in order)


def drifting(source: random.Random, order: Sequence[Place]) -> Iterator[float]:
    """The host loses 5% from the first run to the last."""
    for position, _ in enumerate(order):
        yield source.gauss(0, NOISE) - 0.05 * position / len(order)


def hanging_together(source: random.Random, order: Sequence[Place]) -> Iterator[float]:
    """Each run keeps 0.7 of what was odd about the one before."""
    state = source.gauss(0, NOISE)
    for _ in order:
        state = 0.7 * state + source.gauss(0, NOISE * math.sqrt(1 - 0.7**2))
        yield state


def with_outliers(source: random.Random, order: Sequence[Place]) -> Iterator[float]:
    """One run of twenty loses a fifth: its truth is a mean that lies 1% lower."""
    for _ in order:
        yield source.gauss(0, NOISE) - (0.19 if source.random() < 0.05 else -0.01)


def noisier_at_many_clients(source: random.Random, order: Sequence[Place]) -> Iterator[float]:
    for _, clients, _ in order:
        yield source.gauss(0, NOISE * (3 if clients >= 16 else 0.5))


def noisier_other(source: random.Random, order: Sequence[Place]) -> Iterator[float]:
    for system, _, _ in order:
        yield source.gauss(0, NOISE * (3 if system == "other" else 1))


def by_blocks(source: random.Random) -> list[Place]:
    """Each repeat of everything in an order of its own: how BenchHub plans by default."""
    order = []
    for repeat in range(REPEATS):
        block = [(system, clients, repeat) for system in SYSTEMS for clients in LEVELS]
        source.shuffle(block)
        order += block
    return order


def as_listed(_source: random.Random) -> list[Place]:
    """One system after the other, level by level."""
    return [(system, clients, repeat) for system in SYSTEMS for clients in LEVELS for repeat in range(REPEATS)]


SCENARIOS: tuple[tuple[str, Noise, Callable[[random.Random], list[Place]]], ...] = (
    ("independent", independent, by_blocks),
    ("outliers, 1 run of 20", with_outliers, by_blocks),
    ("noisier at many clients", noisier_at_many_clients, by_blocks),
    ("one system 3x as noisy", noisier_other, by_blocks),
    ("drift of 5%, by blocks", drifting, by_blocks),
    ("drift of 5%, as listed", drifting, as_listed),
    ("correlated 0.7, by blocks", hanging_together, by_blocks),
    ("correlated 0.7, as listed", hanging_together, as_listed),
)


@dataclass
class Tally:
    """Counts over experiments: how often each interval held the truth, and what was called different."""

    mean: int = 0
    level: int = 0
    levels: int = 0
    geometric: int = 0
    peak: int = 0
    peaks: int = 0
    any_level_called: int = 0
    peak_called: int = 0
    geometric_called: int = 0
    shown: int = 0
    own_shown: int = 0
    means_wrong: int = 0
    peaks_wrong: int = 0
    experiments: int = 0


def experiment(source: random.Random, noise: Noise, order: list[Place], gain: float = 1.0) -> dict[str, Curve]:
    points: dict[str, list[RunPoint]] = {system: [] for system in SYSTEMS}
    for (system, clients, _), error in zip(order, noise(source, order), strict=True):
        truth = true_throughput(clients) * (gain if system == "one" else 1)
        points[system].append(RunPoint(0, clients, truth * (1 + error), "TPS", "p", system))
    return {system: curve.build(runs) for system, runs in points.items()}


def is_shown(order: Sequence[Place]) -> bool:
    """Whether a page would show intervals and verdicts of runs that were made in this order, a minute each."""
    of: dict[str, list[Start]] = {system: [] for system in SYSTEMS}
    for place, (system, clients, _) in enumerate(order):
        of[system].append(Start(RUN_S * place, RUN_S, clients, 1.0))
    in_a_row = any(drift.repeats_in_a_row(starts) for starts in of.values())
    return not in_a_row and not drift.one_after_the_other(*of.values())


def count(tally: Tally, curves: dict[str, Curve], gain: float, offset: float) -> None:
    """`offset` is what the noise adds on average to every run's truth."""
    one, other = curves["one"], curves["other"]
    tally.experiments += 1
    tally.own_shown += not other.withheld
    for level in other.levels:
        spread = summarise(level.values)
        holds = spread.low <= true_throughput(level.clients) * (1 + offset) <= spread.high
        tally.mean += holds
        tally.means_wrong += not holds and not other.withheld
    found = ratio.by_level(one, other)
    tally.level += sum(each.lowest <= gain <= each.highest for each in found.values())
    tally.levels += len(found)
    tally.any_level_called += any(not each.overlaps for each in found.values())
    count_together(tally, one, other, gain)
    count_peaks(tally, one, other, gain, offset)


def count_together(tally: Tally, one: Curve, other: Curve, gain: float) -> None:
    pairs = zip(one.levels, other.levels, strict=True)
    each = [estimate.of_repeats(a.values) - estimate.of_repeats(b.values) for a, b in pairs]
    low, high = estimate.mean(each).interval()
    tally.geometric += low <= gain <= high
    tally.geometric_called += not low <= 1 <= high


def count_peaks(tally: Tally, one: Curve, other: Curve, gain: float, offset: float) -> None:
    ours, theirs = peak.selected(peak.of_curve(one)), peak.selected(peak.of_curve(other))
    assert ours and theirs
    holds = theirs.low <= max(map(true_throughput, LEVELS)) * (1 + offset) <= theirs.high
    tally.peak += holds
    tally.peaks_wrong += not holds and not other.withheld
    found = peak.ratio(ours, theirs)
    tally.peaks += found.low <= gain <= found.high
    tally.peak_called += found.tells_apart


def simulate(noise: Noise, ordered: Callable[[random.Random], list[Place]], count_of: int, gain: float) -> Tally:
    source, tally = random.Random(SEED), Tally()
    offset = -0.025 if noise is drifting else 0.0
    for _ in range(count_of):
        order = ordered(source)
        count(tally, experiment(source, noise, order, gain), gain, offset)
        tally.shown += is_shown(order)
    return tally


def percent(of: int, count_of: int) -> float:
    return 100 * of / count_of


def show(name: str, of: Tally) -> list[float]:
    held = [
        percent(of.mean, of.levels),
        percent(of.level, of.levels),
        percent(of.geometric, of.experiments),
        percent(of.peak, of.experiments),
        percent(of.peaks, of.experiments),
    ]
    called = [percent(each, of.experiments) for each in (of.any_level_called, of.geometric_called, of.peak_called)]
    shown = percent(of.shown, of.experiments)
    own_shown = percent(of.own_shown, of.experiments) if shown else 0.0
    is_low = "" if min(held) >= HELD_PERCENT else "  FAILS" if is_failing(of) else "  fails, so it is withheld"
    print(f"{name:28}" + "".join(f"{value:9.1f}" for value in (*held, *called, shown, own_shown)) + is_low, flush=True)
    return held


def is_failing(of: Tally) -> bool:
    """Whether more intervals are shown and wrong than may be."""
    if not of.shown:
        return False
    wrong = [percent(of.means_wrong, of.levels), percent(of.peaks_wrong, of.experiments)]
    wrong += [100 - percent(*each) for each in ((of.level, of.levels), (of.geometric, of.experiments))]
    return max(*wrong, 100 - percent(of.peaks, of.experiments)) > 100 - HELD_PERCENT


def bias(count_of: int) -> tuple[float, float]:
    """Bias in per cent on a plateau of eight levels: of the peak's estimate, and of the best mean, picked."""
    source, ours, picked = random.Random(SEED), [], []
    for _ in range(count_of):
        levels = {clients: [1 + source.gauss(0, NOISE) for _ in range(REPEATS)] for clients in LEVELS}
        found = peak.selected(levels)
        assert found
        ours.append(found.value)
        picked.append(max(map(statistics.fmean, levels.values())))
    return 100 * (statistics.fmean(ours) - 1), 100 * (statistics.fmean(picked) - 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--experiments", type=int, default=1000)
    parser.add_argument("--only", nargs="+", metavar="WORD", help="cases whose name holds a word; 'power' for the rest")
    given = parser.parse_args()
    wanted, cases = given.experiments, [case for case in SCENARIOS if is_wanted(case[0], given.only)]
    print(f"{wanted} experiments each, seed {SEED}: two equal systems, 8 levels, {REPEATS} repeats, noise {NOISE:.0%}.")
    print("Per cent of intervals that held the truth, then of experiments in which equals were called different:")
    heads = ("mean", "ratio", "all lvls", "peak", "peaks", "any lvl", "all lvls", "peaks", "shown", "own")
    print(f"{'':28}" + "".join(f"{head:>9}" for head in heads))
    is_sound = True
    for name, noise, order in cases:
        of = simulate(noise, order, wanted, 1.0)
        held = show(name, of)
        is_sound &= not is_failing(of)
        is_sound &= name != "independent" or all(AIM_PERCENT[0] <= one <= AIM_PERCENT[1] for one in held[:3])
    print(f"Fails: below {HELD_PERCENT:.0f}% somewhere. Shown: experiments of which a page shows intervals of ratios;")
    print("own: those of which it shows intervals of means and peaks as well.")
    if is_wanted("power", given.only):
        power(wanted)
        ours, picked = bias(wanted)
        print(f"On a plateau the peak's estimate is off by {ours:+.2f}%; the best mean, picked, by {picked:+.2f}%.")
    return 0 if is_sound else 1


def is_wanted(name: str, words: Sequence[str] | None) -> bool:
    return not words or any(word in name for word in words)


def power(wanted: int) -> None:
    of = simulate(independent, by_blocks, wanted, 1.05)
    print(f"A difference of 5% at {NOISE:.0%} noise and {REPEATS} repeats is seen, in per cent of experiments:")
    print(f"  at one or more of 8 levels (Holm): {percent(of.any_level_called, wanted):.1f}")
    print(f"  over all levels together: {percent(of.geometric_called, wanted):.1f}")
    print(f"  at the peaks: {percent(of.peak_called, wanted):.1f}")
    source = random.Random(SEED)
    pairs = (
        ([gain * (1 + source.gauss(0, NOISE)) for _ in range(REPEATS)] for gain in (1.05, 1)) for _ in range(wanted)
    )
    seen = sum(not ratio.throughput_ratio(one, other, "TPS", "TPS").overlaps for one, other in pairs)
    print(f"  at one level that was chosen beforehand: {percent(seen, wanted):.1f}")


if __name__ == "__main__":
    sys.exit(main())
