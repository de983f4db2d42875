"""How far a comparison is to be trusted: one word, the weightiest reason, and what would remove it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchhub.analysis.doubts.doubt import Weight
from benchhub.analysis.statistics.spread import FEWEST_FOR_INTERVAL
from benchhub.analysis.words import count, duration
from benchhub.reports.comparison.entries import Entries, Entry

from .doubts import Doubts

HIGH, FAIR, LOW, NONE = "high", "fair", "low", "none"
WORSE_LAST = (HIGH, FAIR, LOW, NONE)
DEMONSTRATION = "A demonstration is among these curves: short runs on a shared machine support no verdict."
LEVELS = {Weight.SLIGHT: FAIR, Weight.DOUBTFUL: LOW, Weight.CONTRADICTED: NONE}


@dataclass(frozen=True, slots=True)
class Remedy:
    """Repeats to add to an experiment, and the time that their loads take."""

    experiment_id: int
    repeats: int
    words: str


@dataclass(frozen=True, slots=True)
class Confidence:
    """A level of WORSE_LAST and its reason in a sentence; `other_reasons` counts the rest."""

    level: str
    reason: str
    other_reasons: int = 0
    remedy: Remedy | None = None

    @property
    def words(self) -> str:
        return f"Confidence: {self.level}."

    @property
    def more(self) -> str:
        """Count the other reasons in words; empty where there are none."""
        return f"{count(self.other_reasons, 'other doubt')}" if self.other_reasons else ""


def confidence(entries: Entries, doubts: Doubts) -> Confidence:
    """Weigh all that speaks against the curves; the first of the weightiest reasons is named."""
    reasons = list(_reasons(entries, doubts))
    if not reasons:
        return Confidence(HIGH, f"{_repeats(entries)}, and no reason for doubt was found.")
    level, reason = max(reasons, key=lambda pair: WORSE_LAST.index(pair[0]))
    return Confidence(level, reason, max(0, len(reasons) - 1), remedy(entries))


def _reasons(entries: Entries, doubts: Doubts) -> Iterator[tuple[str, str]]:
    if any(entry.experiment.is_demonstration for entry in entries):
        yield LOW, DEMONSTRATION
    yield from _few(entries)
    yield from ((LOW, text) for text in doubts.together)
    yield from _judged(entries, doubts)


def _few(entries: Entries) -> Iterator[tuple[str, str]]:
    """Name the fewest repeats at a peak, or else anywhere: below three nothing is tested."""
    at_peaks = min((len(entry.curve.peak.level.runs), entry.curve.peak.level.clients) for entry in entries)
    levels = [(len(level.runs), level.clients) for entry in entries for level in entry.curve.levels]
    for level, (repeats, clients) in ((LOW, at_peaks), (FAIR, min(levels))):
        if repeats < FEWEST_FOR_INTERVAL:
            runs = count(repeats, "run") if repeats == 1 else count(repeats, "repeat")
            yield level, f"Only {runs} at {count(clients, 'client')}: a test takes {FEWEST_FOR_INTERVAL}."
            return


def _judged(entries: Entries, doubts: Doubts) -> Iterator[tuple[str, str]]:
    """Yield the doubts about each curve, each text once; those about its peak or single runs alone weigh little, unless
    a number of a run must be wrong.
    """
    weights = {doubt.text: doubt.weight for _, verdict in doubts.verdicts for doubt in verdict.doubts}
    for doubt in doubts.each:
        labels = {entry.label for entry, _ in doubt.holds}
        where = f"{', '.join(sorted(labels))}: " if len(labels) < len(entries) else ""
        weight = Weight.CONTRADICTED if doubt.is_contradiction else weights.get(doubt.text, Weight.SLIGHT)
        yield LEVELS[weight], f"{where}{doubt.text}"


def remedy(entries: Sequence[Entry] | Entries) -> Remedy | None:
    """Return the repeats that the experiment with the fewest lacks for an interval; None where none lacks any."""
    lacking = [(min(len(level.runs) for level in entry.curve.levels), entry) for entry in entries if _can_grow(entry)]
    if not lacking:
        return None
    fewest, entry = min(lacking, key=lambda pair: pair[0])
    repeats = FEWEST_FOR_INTERVAL - fewest
    if repeats < 1:
        return None
    taken = duration(repeats * _seconds_of_repeat(entry, entries))
    return Remedy(entry.experiment.pk, repeats, f"Add {count(repeats, 'repeat')}, about {taken}")


def _can_grow(entry: Entry) -> bool:
    return not entry.is_imported


def _seconds_of_repeat(entry: Entry, entries: Sequence[Entry] | Entries) -> float:
    experiment = entry.experiment
    systems = sum(other.experiment.pk == experiment.pk for other in entries)
    return systems * len(entry.curve.levels) * (max(run.expected_s for run in entry.runs) + experiment.rest_s)


def _repeats(entries: Entries) -> str:
    fewest = min(len(entry.curve.peak.level.runs) for entry in entries)
    return f"At least {fewest} repeats at each peak"
