"""What makes compared curves less sure: each doubt with the curves that it holds for, and a verdict on each curve."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from benchhub.analysis.curves import curve
from benchhub.analysis.doubts.verdict import WORDS, Verdict, Weight
from benchhub.analysis.statistics import drift
from benchhub.bench.models import Run
from benchhub.bench.models.states import State
from benchhub.bench.plan.warnings import described_twice
from benchhub.reports.curves import verdicts

from .comparison import Chosen

AMONG_REPEATS = ("few-repeats", "outlier", "colder-cache", "repeats-in-a-row", "drift")
FEW_DOUBTS = 4


@dataclass(frozen=True, slots=True)
class Doubt:
    """A doubt, said once, with the curves that it holds for and where on each: 'at 8 clients', or everywhere ('')."""

    text: str
    holds: tuple[tuple[Chosen, str], ...]


@dataclass(frozen=True, slots=True)
class Doubts:
    """What makes a comparison less sure: of the systems together, and of each curve that has doubts."""

    together: tuple[str, ...]
    of_curves: tuple[tuple[Chosen, tuple[str, ...]], ...]
    verdicts: tuple[tuple[Chosen, Verdict], ...] = ()
    each: tuple[Doubt, ...] = ()

    @property
    def count(self) -> int:
        return len(self.together) + len(self.each)

    @property
    def judged(self) -> list[tuple[str, list[Chosen]]]:
        """The curves by their verdict in words, the worst first."""
        worst_first = sorted(self.verdicts, key=lambda pair: -pair[1].weight)
        by: dict[str, list[Chosen]] = {}
        for one, verdict in worst_first:
            by.setdefault(self.words(one, verdict), []).append(one)
        return list(by.items())

    def words(self, one: Chosen, verdict: Verdict) -> str:
        """A curve without a doubt about its runs may still have one, such as a peak at the edge."""
        has_doubts = any(one is other for other, _ in self.of_curves)
        return WORDS[Weight.SLIGHT] if has_doubts and not verdict.weight else verdict.words

    @property
    def is_long(self) -> bool:
        return self.count > FEW_DOUBTS


def all_doubts(chosen: Sequence[Chosen]) -> Doubts:
    together = (*described_twice([one.of.system for one in chosen]), *_out_of_turn(chosen))
    judged = tuple((one, verdicts.of_curve(one.runs)) for one in chosen)
    said = [(one, _doubts(one, found)) for one, found in judged]
    of_curves = tuple((one, tuple(_placed(found))) for one, found in said if found)
    return Doubts(together, of_curves, judged, tuple(_each(said)))


def _each(said: Sequence[tuple[Chosen, list[tuple[str, str]]]]) -> Iterator[Doubt]:
    found: dict[str, list[tuple[Chosen, str]]] = {}
    for one, doubts_of_one in said:
        for text, where in doubts_of_one:
            found.setdefault(text, []).append((one, where))
    yield from (Doubt(text, tuple(holds)) for text, holds in found.items())


def _out_of_turn(chosen: Sequence[Chosen]) -> Iterator[str]:
    for one, other in pairwise(chosen):
        if why := curve.why_withheld(one.of.curve, other.of.curve):
            yield (
                f"{one.label} and {other.label} have neither interval nor verdict for what they differ by: {why}. "
                f"{drift.REMEDY}"
            )


def doubts(one: Chosen) -> list[str]:
    """Whatever makes the curve less sure, each as a sentence."""
    return _placed(_doubts(one, verdicts.of_curve(one.runs)))


def _placed(said: Sequence[tuple[str, str]]) -> list[str]:
    return [f"{text} ({where})" if where else text for text, where in said]


def _doubts(one: Chosen, judged: Verdict) -> list[tuple[str, str]]:
    """Each as a sentence, and at which levels; '' where it is of the whole curve. `judged` is the verdict on it."""
    said = [one.of.curve.peak.sentence] if one.of.curve.peak.edge else []
    kept = [run for run in one.runs if not run.set_aside_at]
    if one.of.curve.withheld and not one.of.curve.is_in_a_row:
        said.append(f"Its means and its peak have no intervals: {one.of.curve.withheld}.")
    of_all = [*said, *_changed_facts(kept), *_unfinished(one)]
    return [*_everywhere(of_all), *_of_runs(one), *_everywhere(_among_repeats(judged))]


def _everywhere(said: Sequence[str]) -> list[tuple[str, str]]:
    return [(text, "") for text in said]


def _among_repeats(judged: Verdict) -> list[str]:
    """What only shows where repeats are set beside each other."""
    return [reason.text for reason in judged.reasons if reason.code in AMONG_REPEATS]


def _changed_facts(runs: Sequence[Run]) -> list[str]:
    by_digest: dict[str, list[str]] = {}
    for run in runs:
        if digest := getattr(run, "facts_digest", None):
            by_digest.setdefault(digest, []).append(str(run.pk))
    if len(by_digest) < 2:
        return []
    parts = "; ".join(f"run{'s' * (len(of) > 1)} {', '.join(of)}" for of in by_digest.values())
    return [f"Host or server were found in {len(by_digest)} states during this curve: {parts}."]


def _unfinished(one: Chosen) -> list[str]:
    left = sum(not run.is_final for run in one.runs)
    cancelled = sum(run.state == State.CANCELLED for run in one.runs)
    ended = sum(run.is_final for run in one.runs)
    aside = sum(run.set_aside_at is not None for run in one.runs)
    without = ended - cancelled - aside - sum(len(level.runs) for level in one.of.curve.levels)
    said = [f"Still to come: {left} of {len(one.runs)} runs."] if left else []
    if without:
        said.append(f"{without} of {len(one.runs)} runs ended without a result; no point comes of that.")
    if aside:
        said.append(f"{aside} of {len(one.runs)} runs {'was' if aside == 1 else 'were'} set aside by a person.")
    if cancelled:
        said.append(f"{cancelled} of {len(one.runs)} runs {'was' if cancelled == 1 else 'were'} cancelled.")
    return said


def _of_runs(one: Chosen) -> list[tuple[str, str]]:
    at: dict[str, list[str]] = {}
    for level in one.of.curve.levels:
        for doubt in level.doubts:
            at.setdefault(doubt, []).append(str(level.clients))
    return [(doubt, f"at {', '.join(clients)} client{'s' * (clients != ['1'])}") for doubt, clients in at.items()]
