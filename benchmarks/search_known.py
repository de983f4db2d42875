"""Judge a search on curves that it was not made for, and what it calls known under disturbances (benchmarks/search.py).

Smooth curves must be found; of others it must only be right what is called known. 'grid' is the share of full grids,
with one run a level, whose best level is good; 'known' the share of searches that ended so; 'right': of these, those
whose level is good; 'holds': the stated 95% interval holds the throughput (of the last run's time, where the host
drifts); 'outside': it has nothing in common with the range of the runs at that level, or there is none; 'doubted': the
search named a reason why it does not know.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Literal, NamedTuple

import numpy as np
from numpy.random import Generator

from benchhub.analysis.search.advice import Advice, Goal, advise
from benchhub.analysis.search.belief import Trial

from . import search_fresh, search_unseen
from .search_curves import OF_THE_KINDS, Curve, Floats

PROCESSES = int(os.environ.get("PROCESSES", os.cpu_count() or 1))
LEVELS = list(range(2, 161, 2))
GOAL = Goal(runs=12, noisy_runs=24)
GOOD = 0.99
# Fixed before anything was looked at: of what is called known at 95%, so many must be good, over all and in each
# section with so many of them; smooth curves up to 1% noise are good so often, within 15% of the grid's runs, and above
# it as often as the grid, within 30%; no interval is outside. Isolated levels have no limit of their own, as no rule
# can see what no run met; they count among all.
AIM_RIGHT, FEWEST_KNOWN, AIM_SMOOTH, MOST_RUNS, MOST_NOISY_RUNS = 0.93, 10, 0.95, 12, 24


class Section(NamedTuple):
    """Curves that are judged together."""

    title: str
    families: Mapping[str, Curve]
    noises: tuple[float, ...]
    disturbance: Callable[[Generator], Floats] = search_unseen.calm
    share: float = 1  # of the number of curves
    aim: Literal["", "smooth", "grid", "none"] = ""


ALL = search_fresh.SMOOTH | search_fresh.ROUGH | search_unseen.SMOOTH | search_unseen.ROUGH
# Curves that are rough at isolated levels alone.
ISOLATED = {name: search_unseen.ROUGH[name] for name in ("comb", "spikes")}
OLDER = {name: curve for name, curve in search_unseen.ROUGH.items() if name not in ISOLATED}
SECTIONS = (
    Section("smooth", search_fresh.SMOOTH, (0.005, 0.01), share=1.5, aim="smooth"),
    Section("louder", search_fresh.SMOOTH, (0.02, 0.035, 0.05), aim="grid"),
    Section("rough", search_fresh.ROUGH, (0.003, 0.01, 0.02)),
    Section("older", OLDER, (0.003, 0.01, 0.02)),
    Section("isolated", search_fresh.ISOLATED | ISOLATED, (0.003, 0.01, 0.02), share=0.5, aim="none"),
    Section("noisy", ALL | OF_THE_KINDS, (0.1, 0.2, 0.35), share=0.5),
    Section("drift", ALL | OF_THE_KINDS, (0.005, 0.015), search_unseen.drift),
    Section("stalls", ALL | OF_THE_KINDS, (0.005, 0.015), search_unseen.stalls),
)


class Outcome(NamedTuple):
    family: str
    is_good: bool
    is_known: bool
    holds: bool
    is_outside: bool
    runs: int
    doubts: tuple[str, ...]
    probability: float
    step_ms: float
    is_grid_good: bool


def report(curves: int, seed: int, titles: Sequence[str]) -> bool:
    """Judge these sections, or all where none is named; return whether all limits are kept."""
    print("\nCurves that the search was not made for, and what it calls known:")
    print("  section    good  within 12   grid   runs  step ms   said  holds  outside  doubted |  known  right")
    outcomes, verdicts = [], []
    sections = [section for section in SECTIONS if not titles or section.title in titles]
    for section in sections:
        outcomes.append(_outcomes(section, curves, seed))
        verdicts.append(_row(section, outcomes[-1]))
    verdicts.append(_row(Section("all", {}, ()), [outcome for rows in outcomes for outcome in rows]))
    for section, rows in zip(sections, outcomes, strict=True):
        _by_family(section, rows)
    return all(verdicts)


def _outcomes(section: Section, curves: int, seed: int) -> list[Outcome]:
    count = max(1, round(curves * section.share))
    names = list(section.families)
    cases = [(section.title, names[k % len(names)], section.noises[k % len(section.noises)], k) for k in range(count)]
    with ProcessPoolExecutor(PROCESSES) as pool:
        return list(pool.map(_searched, cases, [seed] * count, chunksize=2))


def _searched(case: tuple[str, str, float, int], seed: int) -> Outcome:
    title, family, noise, number = case
    section = next(section for section in SECTIONS if section.title == title)
    rng = np.random.default_rng([seed, number, *title.encode()])
    truth = section.families[family](np.array(LEVELS, float), rng)
    truth *= 10_000 / truth.max()
    factors = section.disturbance(rng)
    advice, trials, step_ms = _followed(truth, noise, factors, rng)
    place = LEVELS.index(advice.best or LEVELS[0])
    values = [trial.throughput for trial in trials if trial.clients == advice.best]
    grid_place = np.argmax(truth * (1 + noise * rng.standard_normal(truth.size)))
    now = truth[place] * (factors[len(trials) - 1] if section.disturbance is search_unseen.drift else 1)
    return Outcome(
        family,
        is_good=bool(truth[place] >= GOOD * truth.max()),
        is_known=advice.stopped == "known",
        holds=(advice.low or 0) <= now <= (advice.high or 0),
        is_outside=not values or (advice.low or 0) > max(values) or (advice.high or 0) < min(values),
        runs=len(trials),
        doubts=advice.doubts,
        probability=advice.probability or 0,
        step_ms=step_ms,
        is_grid_good=bool(truth[grid_place] >= GOOD * truth.max()),
    )


def _followed(truth: Floats, noise: float, factors: Floats, rng: Generator) -> tuple[Advice, list[Trial], float]:
    trials: list[Trial] = []
    start = time.process_time()
    while (advice := advise(LEVELS, trials, GOAL)).clients is not None:
        factor = factors[len(trials)] * max(0.05, 1 + noise * rng.standard_normal())
        trials.append(Trial(advice.clients, float(truth[LEVELS.index(advice.clients)] * factor)))
    return advice, trials, 1000 * (time.process_time() - start) / (len(trials) + 1)


def _row(section: Section, rows: Sequence[Outcome]) -> bool:
    certain = [row for row in rows if row.is_known]
    right = float(np.mean([row.is_good for row in certain])) if certain else 1.0
    within, within_noisy = (
        float(np.mean([row.is_good and row.runs <= most for row in rows])) for most in (MOST_RUNS, MOST_NOISY_RUNS)
    )
    grid = float(np.mean([row.is_grid_good for row in rows]))
    is_judged = section.title == "all" or (section.aim != "none" and len(certain) >= FEWEST_KNOWN)
    faults = [
        *(["too few are right"] if right < AIM_RIGHT and is_judged else []),
        *(["too few are good"] if section.aim == "smooth" and within < AIM_SMOOTH else []),
        *(["fewer are good than of grids"] if section.aim == "grid" and within_noisy < grid else []),
        *(["an interval lies outside"] if any(row.is_outside for row in rows) else []),
    ]
    print(
        f"  {section.title:8} {np.mean([row.is_good for row in rows]):6.1%}     {within:6.1%} {grid:6.1%} "
        f"{np.mean([row.runs for row in rows]):6.1f}  {np.mean([row.step_ms for row in rows]):7.0f} "
        f"{np.mean([row.probability for row in rows]):6.1%} {np.mean([row.holds for row in rows]):6.1%} "
        f"{sum(row.is_outside for row in rows):8} {np.mean([bool(row.doubts) for row in rows]):8.1%} | "
        f"{len(certain):3}/{len(rows):3} {right:6.1%}  {'MISSED: ' + ', '.join(faults) if faults else 'kept'}",
        flush=True,
    )
    return not faults


def _by_family(section: Section, rows: Sequence[Outcome]) -> None:
    print(f"\n  {section.title:22} searches  good  known  of these right   doubts")
    for family in section.families:
        own = [row for row in rows if row.family == family]
        certain = [row for row in own if row.is_known]
        doubts = sorted({doubt for row in own for doubt in row.doubts})
        counts = ", ".join(f"{doubt} {sum(doubt in row.doubts for row in own)}" for doubt in doubts)
        if own:
            print(
                f"  {family:22} {len(own):8} {sum(row.is_good for row in own):5} {len(certain):6} "
                f"{sum(row.is_good for row in certain):15}   {counts}"
            )
