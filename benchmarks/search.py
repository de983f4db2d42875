"""Compare adaptive search with full grids and a ladder, on simulated curves whose best level is known.

`python -m benchmarks.search [--curves N] [--unseen N] [--seed N] [--only SECTION ...]`. Levels 2..160:2, so the grid is
80 runs. Every search has the budget of 12 runs (15% of the grid), 24 where it finds the noise to be high. A curve
counts once per noise; the same noisy runs are the peers'. 'good': the chosen level has at least 99% of the true
maximum, and under a ceiling exceeds it by at most 1% (the ladder does not look at ceilings); 'said': the belief in
that; 'holds': the stated 95% interval of the throughput there holds the truth; 'known': it ended so. Judged are curves
that nothing was made with, and disturbed hosts (search_known.py).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchhub.analysis.search.advice import Advice, Goal, advise
from benchhub.analysis.search.belief import Trial

from . import search_known
from .search_curves import FAMILIES, HELD_OUT, OF_THE_KINDS, Floats
from .search_known import GOAL, GOOD, LEVELS

SEED = 6
CURVES = 120
UNSEEN = 80
NOISES = (0.005, 0.01, 0.02, 0.035, 0.05)
# The aim: up to this noise 95% good with 15% of the grid's runs; above it as many as the grid finds, with 30%.
QUIET, AIM_QUIET, SHARE_QUIET, SHARE_NOISY = 0.01, 0.95, 0.15, 0.30
# A ladder doubles its clients and stops when that brings less than this.
GAIN = 1.05


class Case(NamedTuple):
    family: str
    noise: float
    number: int
    has_ceiling: bool = False


class Outcome(NamedTuple):
    """The result of one search, and whether the peers' choices on the same curve were good."""

    case: Case
    good: bool
    runs: int
    probability: float
    covered: bool
    stopped: str
    slowest_ms: float
    grid: bool
    grid_of_three: bool
    ladder: bool
    ladder_runs: int


class Measured:
    """A curve that answers with noise: the k-th run of a level is the same whoever asks for it."""

    def __init__(self, truth: Floats, noise: float, rng: Generator, has_ceiling: bool) -> None:
        self.truth = truth
        self.runs = truth * (1 + noise * rng.standard_normal((60, truth.size)))
        self.run_counts = np.zeros(truth.size, int)
        at = int(rng.integers(truth.size // 8, truth.size))
        self.ceiling_ms = 1000 * LEVELS[at] / float(truth[at]) if has_ceiling else None

    def __call__(self, clients: int) -> float:
        at = LEVELS.index(clients)
        self.run_counts[at] += 1
        return float(self.runs[self.run_counts[at] - 1, at])

    def allowed(self, throughput: Floats, slack: float = 1e-9) -> NDArray[np.bool_]:
        """Tell at which levels the latency stays below the ceiling, by Little's law."""
        if self.ceiling_ms is None:
            return np.ones(throughput.size, bool)
        return np.asarray(1000 * np.array(LEVELS) / throughput <= self.ceiling_ms * (1 + slack))

    def best(self, throughput: Floats) -> int | None:
        """Return the level that a reader of this grid would choose."""
        allowed = self.allowed(throughput)
        return LEVELS[int(np.argmax(np.where(allowed, throughput, 0)))] if allowed.any() else None

    def is_good(self, clients: int | None) -> bool:
        if clients is None:
            return False
        at, allowed = LEVELS.index(clients), self.allowed(self.truth, 1 - GOOD)
        reach = self.truth[self.allowed(self.truth)].max()
        return bool(allowed[at] and self.truth[at] >= GOOD * reach)


def main() -> int:
    options = _arguments()
    print(f"Levels {LEVELS[0]}..{LEVELS[-1]}, {len(LEVELS)} runs in a grid; seed {options.seed}.")
    print(
        f"Budget {GOAL.runs} runs, {GOAL.noisy_runs} where noise is high; {GOAL.confidence:.1%} belief ends a search."
    )
    if not options.only:
        print("The next four are not judged, as the search was made with some of them and compared on the others.")
        _report("Families looked at while the search was made", FAMILIES, options)
        _report("Other curves of the same kinds", OF_THE_KINDS, options)
        _report("Families of other forms than those that the library of shapes was made with", HELD_OUT, options)
        _report("Under a latency ceiling, all families", FAMILIES | HELD_OUT, options, has_ceiling=True)
    return 0 if search_known.report(options.unseen, options.seed, options.only) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--curves", type=int, default=CURVES)
    parser.add_argument("--unseen", type=int, default=UNSEEN)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", nargs="+", default=[], metavar="SECTION", help="sections of search_known.py")
    return parser.parse_args()


def _report(title: str, families: Mapping[str, object], options: argparse.Namespace, has_ceiling: bool = False) -> None:
    curve_count = -(-options.curves // len(families) // len(NOISES))
    cases = [Case(name, noise, k, has_ceiling) for noise in NOISES for name in families for k in range(curve_count)]
    with ProcessPoolExecutor(search_known.PROCESSES) as pool:
        outcomes = list(pool.map(_searched, cases, [options.seed] * len(cases), chunksize=4))
    print(f"\n{title}: {len(cases)} curves, {', '.join(families)}")
    print("  noise   good  runs  of grid  most  said   holds  known |   grid  3 grids  ladder (runs) | good within")
    for noise, rows in groupby(outcomes, key=lambda outcome: outcome.case.noise):
        _row(noise, list(rows))
    _by_family(outcomes, families)
    _calibration(outcomes)
    print(f"  slowest step {max(outcome.slowest_ms for outcome in outcomes):.0f} ms of CPU")


def _row(noise: float, rows: Sequence[Outcome]) -> None:
    """Print what was reached at one noise, beside the aim: good, and within the share of the grid."""

    def mean(value: Callable[[Outcome], float]) -> float:
        return float(np.mean([value(row) for row in rows]))

    runs, grid = mean(lambda row: row.runs), mean(lambda row: row.grid)
    share, aim = (SHARE_QUIET, AIM_QUIET) if noise <= QUIET else (SHARE_NOISY, grid)
    reached = mean(lambda row: row.good and row.runs <= share * len(LEVELS))
    search = (
        f"{mean(lambda row: row.good):6.1%} {runs:5.1f} {runs / len(LEVELS):7.1%} {max(row.runs for row in rows):6}"
        f" {mean(lambda row: row.probability):6.1%} {mean(lambda row: row.covered):6.1%}"
        f" {mean(lambda row: row.stopped == 'known'):6.1%}"
    )
    ladder = f"{mean(lambda row: row.ladder):6.1%} ({mean(lambda row: row.ladder_runs):.1f})"
    verdict = f"{share:.0%} of the grid {reached:6.1%}, aim {aim:.1%}: {'reached' if reached >= aim else 'MISSED'}"
    print(f"  {noise:5.1%} {search} | {grid:6.1%}  {mean(lambda row: row.grid_of_three):6.1%} {ladder}   | {verdict}")


def _by_family(outcomes: Sequence[Outcome], families: Mapping[str, object]) -> None:
    for name in families:
        cells = [[o.good for o in outcomes if o.case.family == name and o.case.noise == noise] for noise in NOISES]
        shares = "  ".join(f"{noise:.1%}: {np.mean(cell):4.0%}" for noise, cell in zip(NOISES, cells, strict=True))
        print(f"  {name:18} good at noise {shares}")


def _calibration(outcomes: Sequence[Outcome]) -> None:
    """Print the belief that a choice is good enough beside how often it was."""
    for low, high in ((0, 0.5), (0.5, 0.7), (0.7, 0.85), (0.85, 0.95), (0.95, 1.01)):
        rows = [outcome for outcome in outcomes if low <= outcome.probability < high]
        if rows:
            belief, good_share = np.mean([row.probability for row in rows]), np.mean([row.good for row in rows])
            print(f"  said {belief:5.1%} good enough: {good_share:6.1%} were, of {len(rows)}")


def _searched(case: Case, seed: int) -> Outcome:
    curve = (FAMILIES | OF_THE_KINDS | HELD_OUT)[case.family]
    rng = np.random.default_rng([seed, round(case.noise * 10_000), case.number, *case.family.encode()])
    truth = curve(np.array(LEVELS, float), rng)
    measured = Measured(truth / truth.max() * 10_000, case.noise, rng, case.has_ceiling)
    advice, runs, slowest_ms = search(measured, replace(GOAL, ceiling_ms=measured.ceiling_ms))
    ladder, ladder_runs = _ladder(measured)
    at = LEVELS.index(advice.best or LEVELS[0])
    return Outcome(
        case=case,
        good=measured.is_good(advice.best),
        runs=runs,
        probability=advice.probability or 0,
        covered=bool((advice.low or 0) <= measured.truth[at] <= (advice.high or 0)),
        stopped=advice.stopped,
        slowest_ms=slowest_ms,
        grid=measured.is_good(measured.best(measured.runs[0])),
        grid_of_three=measured.is_good(measured.best(measured.runs[:3].mean(axis=0))),
        ladder=measured.is_good(ladder),
        ladder_runs=ladder_runs,
    )


def search(measured: Callable[[int], float], goal: Goal = GOAL) -> tuple[Advice, int, float]:
    """Follow the advice to its end; also the number of runs, and the CPU time of the slowest step but the first."""
    trials: list[Trial] = []
    steps_ms = [0.0]
    while True:
        start = time.process_time()
        advice = advise(LEVELS, trials, goal)
        steps_ms.append(1000 * (time.process_time() - start) if trials else 0)
        if advice.clients is None:
            return advice, len(trials), max(steps_ms)
        trials.append(Trial(advice.clients, measured(advice.clients)))


def _ladder(measured: Measured) -> tuple[int, int]:
    """Double the clients while that brings at least 5%; return the best rung, and the number of runs."""
    rungs = [clients for clients in LEVELS if clients & (clients - 1) == 0] + [LEVELS[-1]]
    throughputs = [float(measured.runs[0, LEVELS.index(rungs[0])])]
    for clients in rungs[1:]:
        throughputs.append(float(measured.runs[0, LEVELS.index(clients)]))
        if throughputs[-1] < GAIN * throughputs[-2]:
            break
    return rungs[int(np.argmax(throughputs))], len(throughputs)


if __name__ == "__main__":
    sys.exit(main())
