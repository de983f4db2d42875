"""Doubts about compared curves: each with the curves that it holds for, and a verdict on each curve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from benchhub.analysis.curves import curve
from benchhub.analysis.doubts.alike import gathered
from benchhub.analysis.doubts.doubt import CONTRADICTIONS, Doubt, Weight
from benchhub.analysis.doubts.verdict import LOST_REMEDY, WORDS, Verdict, changed_host, host_states
from benchhub.analysis.statistics import drift
from benchhub.analysis.words import count, word
from benchhub.bench.plan.warnings import described_twice
from benchhub.reports.comparison.entries import Entry
from benchhub.reports.curves import runs as curve_runs
from benchhub.reports.curves import verdicts

AMONG_REPEATS = ("few-repeats", "outlier", "colder-cache", "repeats-in-a-row", "drift", "newest-runs")
FEW_DOUBTS = 4


@dataclass(frozen=True, slots=True)
class SharedDoubt:
    """A doubt, written once, with its curves and where on each: 'at 8 clients', or '' for the whole curve.

    `is_contradiction` tells that one of the numbers of a run must be wrong.
    """

    text: str
    holds: tuple[tuple[Entry, str], ...]
    is_contradiction: bool = False

    @property
    def is_of_whole_curves(self) -> bool:
        """Tell whether it holds for each of its curves as a whole, at no level in particular."""
        return not any(where for _, where in self.holds)


@dataclass(frozen=True, slots=True)
class Doubts:
    """Doubts about a comparison: about the systems together, and about each curve that has any."""

    together: tuple[str, ...]
    of_curves: tuple[tuple[Entry, tuple[str, ...]], ...]
    verdicts: tuple[tuple[Entry, Verdict], ...] = ()
    each: tuple[SharedDoubt, ...] = ()

    @property
    def count(self) -> int:
        return len(self.together) + len(self.each)

    @property
    def judged(self) -> list[tuple[str, list[Entry]]]:
        """Return the curves by their verdict in words, the worst first."""
        worst_first = sorted(self.verdicts, key=lambda pair: -pair[1].weight)
        by_words: dict[str, list[Entry]] = {}
        for entry, verdict in worst_first:
            by_words.setdefault(self.words(entry, verdict), []).append(entry)
        return list(by_words.items())

    def words(self, entry: Entry, verdict: Verdict) -> str:
        """Return the verdict on a curve; one without doubts about its runs may have others, as a peak at the edge."""
        has_doubts = any(entry is other for other, _ in self.of_curves)
        return WORDS[Weight.SLIGHT] if has_doubts and not verdict.weight else verdict.words

    @property
    def is_long(self) -> bool:
        return self.count > FEW_DOUBTS


def all_doubts(entries: Sequence[Entry]) -> Doubts:
    """Return the doubts about the given curves, about each and about all together."""
    together = (*described_twice([entry.system for entry in entries]), *_out_of_turn(entries))
    judged = tuple((entry, verdicts.of_curve(entry.runs)) for entry in entries)
    by_curve = [(entry, _doubts(entry, verdict, _sentences([entry]))) for entry, verdict in judged]
    of_curves = tuple((entry, tuple(_placed(doubts))) for entry, doubts in by_curve if doubts)
    sentences = _sentences(entries)
    pairs = [(entry, _doubts(entry, verdict, sentences)) for entry, verdict in judged]
    return Doubts(together, of_curves, judged, tuple(_shared(pairs)))


def of_curve(entry: Entry) -> list[str]:
    """Return the doubts about a curve, each as a sentence."""
    return _placed(_doubts(entry, verdicts.of_curve(entry.runs), _sentences([entry])))


def _sentences(entries: Sequence[Entry]) -> Mapping[str, str]:
    """Return for each doubt about runs the sentence that stands for all of these curves that are alike."""
    return gathered(text for entry in entries for level in entry.curve.levels for text in level.doubts)


def _shared(pairs: Sequence[tuple[Entry, list[Doubt]]]) -> Iterator[SharedDoubt]:
    by_text: dict[str, list[tuple[Entry, Doubt]]] = {}
    for entry, doubts in pairs:
        for doubt in doubts:
            by_text.setdefault(doubt.text, []).append((entry, doubt))
    for text, holds in by_text.items():
        is_contradiction = any(doubt.weight == Weight.CONTRADICTED for _, doubt in holds)
        yield SharedDoubt(text, tuple((entry, doubt.where) for entry, doubt in holds), is_contradiction)


def _out_of_turn(entries: Sequence[Entry]) -> Iterator[str]:
    for first, second in pairwise(entries):
        if why := curve.why_withheld(first.curve, second.curve):
            yield (
                f"The difference of {first.label} and {second.label} has neither interval nor verdict: {why}. "
                f"{drift.REMEDY}"
            )


def _placed(doubts: Sequence[Doubt]) -> list[str]:
    return [f"{doubt.text} ({doubt.where})" if doubt.where else doubt.text for doubt in doubts]


def _doubts(entry: Entry, verdict: Verdict, sentences: Mapping[str, str]) -> list[Doubt]:
    # Some doubts only show where repeats are set beside each other.
    among_repeats = [doubt for doubt in verdict.doubts if doubt.code in AMONG_REPEATS]
    return [*_of_peak(entry), *_changed_facts(entry), *_unfinished(entry), *_of_runs(entry, sentences), *among_repeats]


def _of_peak(entry: Entry) -> Iterator[Doubt]:
    if entry.curve.peak.edge:
        yield Doubt("peak-at-edge", entry.curve.peak.sentence)
    if entry.curve.withheld and not entry.curve.is_in_a_row:
        yield Doubt("interval-withheld", f"Its means and its peak have no intervals: {entry.curve.withheld}.")


def _changed_facts(entry: Entry) -> Iterator[Doubt]:
    runs = (run for run in entry.runs if not run.set_aside_at)
    if states := host_states((run.pk, run.facts_digest or "", run.limits_digest or "") for run in runs):
        groups = (f"{word('run', len(keys))} {', '.join(map(str, keys))}" for keys in states)
        yield Doubt("host-changed", changed_host(groups))


def _unfinished(entry: Entry) -> Iterator[Doubt]:
    counts = curve_runs.counts(entry.runs)
    runs_text = count(counts.counting, "run")
    if counts.unfinished:
        yield Doubt("runs-to-come", f"{counts.unfinished} of {runs_text} are still to come: the figures may change.")
    if counts.failed:
        text = f"{counts.failed} of {runs_text} failed, so the curve has fewer points. {LOST_REMEDY}"
        yield Doubt("runs-lost", text)
    if aside := counts.aside:
        text = f"{aside} of {count(counts.runs, 'run')} {word('was', aside, 'were')} set aside by a person"
        yield Doubt("runs-aside", f"{text}, and {word('counts', aside, 'count')} in no figure.")
    if cancelled := counts.cancelled:
        text = f"{cancelled} of {runs_text} {word('was', cancelled, 'were')} cancelled"
        yield Doubt("runs-cancelled", f"{text}, so the curve has fewer points.")


def _of_runs(entry: Entry, sentences: Mapping[str, str]) -> Iterator[Doubt]:
    levels_by_text: dict[str, list[str]] = {}
    for level in entry.curve.levels:
        for text in dict.fromkeys(sentences[text] for text in level.doubts):
            levels_by_text.setdefault(text, []).append(str(level.clients))
    contradictions = {sentences[text] for text in _contradictions(entry) if text in sentences}
    for text, levels in levels_by_text.items():
        where = f"at {', '.join(levels)} {'client' if levels == ['1'] else 'clients'}"
        yield Doubt("runs", text, Weight.CONTRADICTED if text in contradictions else Weight.DOUBTFUL, where)


def _contradictions(entry: Entry) -> Iterator[str]:
    for doubt in (doubt for run in entry.runs if run.has_result for doubt in run.doubts):
        if doubt.code in CONTRADICTIONS:
            yield doubt.text
