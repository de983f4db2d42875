"""Simulate experiments to count how often BenchHub's intervals hold the truth, and how often equals seem different.

Two equal systems at eight levels with five repeats each. Aim where repeats are independent: 93 to 97% for means and
ratios, at least 95% for peaks, and 5% of curves with any level called different. Then what breaks it: noise that
drifts or hangs together, in the two orders that runs can have, outliers, and noise that differs between levels. Where
a method fails, no interval and no verdict may be shown: the last columns say in how many experiments they were. Of the
intervals that are shown 90% hold. Designs of fewer runs are judged by coverage_designs.py.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchhub.analysis.curves import peak, ratio
from benchhub.analysis.curves.curve import Curve
from benchhub.analysis.statistics import estimate
from benchhub.analysis.statistics.estimate import NOT_DISTINGUISHABLE
from benchhub.analysis.statistics.spread import summarise

from . import coverage_designs
from .coverage_experiments import (
    LEVELS,
    NOISE,
    REPEATS,
    SEED,
    Noise,
    Place,
    as_listed,
    by_blocks,
    drifting,
    experiment,
    hanging_together,
    independent,
    is_shown,
    noisier_at_many_clients,
    noisier_other,
    resembling,
    stalling,
    true_throughput,
    with_outliers,
)  # fmt: skip

# Coverage that is aimed at under independent normal noise; the peak's is a lower bound.
AIM_PERCENT = (93.0, 97.0)
# So many of the intervals that a page shows hold, unless it shows them in fewer experiments than this.
HELD_PERCENT, FEW_SHOWN_PERCENT = 90.0, 5.0

SCENARIOS: tuple[tuple[str, Noise, Callable[[random.Random], list[Place]]], ...] = (
    ("independent", independent, by_blocks),
    ("outliers, 1 run of 20", with_outliers, by_blocks),
    ("noisier at many clients", noisier_at_many_clients, by_blocks),
    ("one system 3x as noisy", noisier_other, by_blocks),
    ("drift of 5%, by blocks", drifting, by_blocks),
    ("drift of 5%, as listed", drifting, as_listed),
    ("correlated 0.7, by blocks", hanging_together, by_blocks),
    ("correlated 0.7, as listed", hanging_together, as_listed),
    ("correlated 0.9, by blocks", resembling, by_blocks),
    ("correlated 0.9, as listed", resembling, as_listed),
    ("stalls, 8% of runs", stalling, by_blocks),
)
# What a noise adds to every run's truth. Beside each interval stands that it assumes no stalls: so it is of the
# throughput without, and of rare runs that lose a fifth nothing but the 1% counts that the others are faster.
OFFSETS: dict[Noise, float] = {drifting: -0.025, with_outliers: 0.01}


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
    with_ratios: int = 0
    with_means: int = 0
    means_wrong: int = 0
    peaks_wrong: int = 0
    experiments: int = 0


def count(tally: Tally, curves: dict[str, Curve], gain: float, offset: float) -> None:
    """Add an experiment to the tally; `offset` is what the noise adds on average to every run's truth."""
    first, second = curves["one"], curves["other"]
    tally.experiments += 1
    tally.with_means += not second.withheld
    for level in second.levels:
        spread = summarise(level.values)
        holds = spread.low <= true_throughput(level.clients) * (1 + offset) <= spread.high
        tally.mean += holds
        tally.means_wrong += not holds and not second.withheld
    ratios = ratio.by_level(first, second)
    tally.level += sum(level_ratio.lowest <= gain <= level_ratio.highest for level_ratio in ratios.values())
    tally.levels += len(ratios)
    tally.any_level_called += any(level_ratio.is_distinguishable for level_ratio in ratios.values())
    count_together(tally, first, second, gain)
    count_peaks(tally, first, second, gain, offset)


def count_together(tally: Tally, first: Curve, second: Curve, gain: float) -> None:
    pairs = zip(first.levels, second.levels, strict=True)
    ratios = [
        estimate.of_repeats(first_level.values) - estimate.of_repeats(second_level.values)
        for first_level, second_level in pairs
    ]
    low, high = estimate.mean(ratios).interval()
    tally.geometric += low <= gain <= high
    tally.geometric_called += not low <= 1 <= high


def count_peaks(tally: Tally, first: Curve, second: Curve, gain: float, offset: float) -> None:
    first_peak, second_peak = peak.selected(peak.of_curve(first)), peak.selected(peak.of_curve(second))
    assert first_peak and second_peak
    truth = max(true_throughput(level.clients) for level in second.levels) * (1 + offset)
    holds = second_peak.low <= truth <= second_peak.high
    tally.peak += holds
    tally.peaks_wrong += not holds and not second.withheld
    peak_ratio = peak.ratio(first_peak, second_peak)
    tally.peaks += peak_ratio.low <= gain <= peak_ratio.high
    tally.peak_called += peak_ratio.verdict != NOT_DISTINGUISHABLE


def simulate(
    noise: Noise, ordered: Callable[[random.Random], list[Place]], experiment_count: int, gain: float
) -> Tally:
    source, tally = random.Random(SEED), Tally()
    offset = OFFSETS.get(noise, 0.0)
    for _ in range(experiment_count):
        order = ordered(source)
        count(tally, experiment(source, noise, order, gain), gain, offset)
        tally.with_ratios += is_shown(order)
    return tally


def percent(part: float, total: float) -> float:
    return 100 * part / total


def show(name: str, tally: Tally) -> list[float]:
    held = [
        percent(tally.mean, tally.levels),
        percent(tally.level, tally.levels),
        percent(tally.geometric, tally.experiments),
        percent(tally.peak, tally.experiments),
        percent(tally.peaks, tally.experiments),
    ]
    called = [
        percent(called_count, tally.experiments)
        for called_count in (tally.any_level_called, tally.geometric_called, tally.peak_called)
    ]
    with_ratios = percent(tally.with_ratios, tally.experiments)
    with_means = percent(tally.with_means, tally.experiments) if with_ratios else 0.0
    right = right_of_own(tally) if with_means else [math.nan, math.nan]
    is_low = "  FAILS" if is_failing(tally) else "" if min(held) >= HELD_PERCENT else "  fails, so it is withheld"
    print(
        f"{name:28}" + "".join(f"{value:9.1f}" for value in (*held, *called, with_ratios, with_means, *right)) + is_low,
        flush=True,
    )
    return held


def right_of_own(tally: Tally) -> list[float]:
    """Return how many of the means and peaks whose intervals a page shows are right, in per cent."""
    means_shown = tally.levels * tally.with_means / tally.experiments
    return [100 - percent(tally.means_wrong, means_shown), 100 - percent(tally.peaks_wrong, tally.with_means)]


def is_failing(tally: Tally) -> bool:
    """Tell whether fewer of the intervals hold than may where they are shown, in more than a few experiments."""
    if not tally.with_ratios:
        return False
    held = [percent(tally.level, tally.levels), percent(tally.geometric, tally.experiments)]
    held.append(percent(tally.peaks, tally.experiments))
    if percent(tally.with_means, tally.experiments) >= FEW_SHOWN_PERCENT:
        held += right_of_own(tally)
    return min(held) < HELD_PERCENT


def bias(plateau_count: int) -> tuple[float, float]:
    """Return the bias in per cent on a plateau of eight levels: of the peak's estimate, and of the best mean."""
    source, estimates, best_means = random.Random(SEED), [], []
    for _ in range(plateau_count):
        levels = {clients: [1 + source.gauss(0, NOISE) for _ in range(REPEATS)] for clients in LEVELS}
        top = peak.selected(levels)
        assert top
        estimates.append(top.value)
        best_means.append(max(map(statistics.fmean, levels.values())))
    return 100 * (statistics.fmean(estimates) - 1), 100 * (statistics.fmean(best_means) - 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--experiments", type=int, default=1000)
    parser.add_argument("--only", nargs="+", metavar="WORD", help="cases whose name holds a word; 'power' for the rest")
    options = parser.parse_args()
    experiment_count, cases = options.experiments, [case for case in SCENARIOS if is_wanted(case[0], options.only)]
    print(
        f"{experiment_count} experiments each, seed {SEED}: two equal systems, 8 levels, {REPEATS} repeats, "
        f"noise {NOISE:.0%}."
    )
    print("Per cent of intervals that held the truth, then of experiments in which equals were called different:")
    heads = ("mean", "ratio", "all lvls", "peak", "peaks", "any lvl", "all lvls", "peaks", "shown", "own")
    heads += ("own mean", "own peak")
    print(f"{'':28}" + "".join(f"{head:>9}" for head in heads))
    is_sound = True
    for name, noise, order in cases:
        tally = simulate(noise, order, experiment_count, 1.0)
        held = show(name, tally)
        is_sound &= not is_failing(tally)
        is_sound &= name != "independent" or all(AIM_PERCENT[0] <= value <= AIM_PERCENT[1] for value in held[:3])
    print(
        f"Fails: below {HELD_PERCENT:.0f}%; means and peaks count if {FEW_SHOWN_PERCENT:.0f}% of experiments show them."
    )
    print(
        "Shown: experiments of which a page shows intervals of ratios; own: of means and peaks as well; own mean, own"
    )
    print("peak: of these, those that hold.")
    if is_wanted("designs", options.only):
        is_sound &= coverage_designs.report(experiment_count)
    if is_wanted("power", options.only):
        power(experiment_count)
        estimate_bias, mean_bias = bias(experiment_count)
        print(f"On a plateau the peak's estimate is off by {estimate_bias:+.2f}%; ", end="")
        print(f"the best mean, picked, by {mean_bias:+.2f}%.")
    return 0 if is_sound else 1


def is_wanted(name: str, words: Sequence[str] | None) -> bool:
    return not words or any(word in name for word in words)


def power(experiment_count: int) -> None:
    tally = simulate(independent, by_blocks, experiment_count, 1.05)
    print(f"A difference of 5% at {NOISE:.0%} noise and {REPEATS} repeats is seen, in per cent of experiments:")
    print(f"  at one or more of 8 levels (Holm): {percent(tally.any_level_called, experiment_count):.1f}")
    print(f"  over all levels together: {percent(tally.geometric_called, experiment_count):.1f}")
    print(f"  at the peaks: {percent(tally.peak_called, experiment_count):.1f}")
    source = random.Random(SEED)
    pairs = (
        ([gain * (1 + source.gauss(0, NOISE)) for _ in range(REPEATS)] for gain in (1.05, 1))
        for _ in range(experiment_count)
    )
    distinguished = sum(
        ratio.throughput_ratio(first, second, "TPS", "TPS").is_distinguishable for first, second in pairs
    )
    print(f"  at one level that was chosen beforehand: {percent(distinguished, experiment_count):.1f}")


if __name__ == "__main__":
    sys.exit(main())
