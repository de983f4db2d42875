"""Compare each curve with the baseline, in sentences."""

from __future__ import annotations

from collections.abc import Mapping

from benchhub.analysis.curves import curve, ratio
from benchhub.analysis.curves.ratio import Claim, Ratio
from benchhub.analysis.words import count, significant
from benchhub.reports.comparison.entries import Entry
from benchhub.reports.curves import peaks


def claims(entry: Entry, baseline: Entry) -> list[Claim]:
    """Return the claims about a curve against the baseline, the plainest first."""
    by_level = ratio.by_level(entry.curve, baseline.curve)
    best = _best_together(entry, baseline, by_level)
    statements = []
    if best:
        statements.append(ratio.claim(by_level[best], entry.label, baseline.label, f"at {count(best, 'client')}"))
    peaks_at = {entry.curve.peak.level.clients, baseline.curve.peak.level.clients}
    if unbiased := peaks.claim(entry.curve, baseline.curve, entry.label, baseline.label):
        statements.append(unbiased)
    elif peaks_at != {best}:
        statements.append(_at_the_peaks(entry, baseline))
    if len(by_level) > 1:
        statements.append(Claim("", _over_the_levels(by_level)))
    return statements


def _best_together(entry: Entry, baseline: Entry, by_level: Mapping[int, Ratio]) -> int:
    """Return the level with the highest geometric mean of both together, 0 for none.

    The best level of one side alone would flatter that side, because its noise helped to choose it.
    """
    ours, theirs = (
        {level.clients: level.throughput.mean for level in side.curve.levels if level.clients in by_level}
        for side in (entry, baseline)
    )
    return max(by_level, key=lambda clients: (ours[clients] * theirs[clients], -clients), default=0)


def _at_the_peaks(entry: Entry, baseline: Entry) -> Claim:
    ours, theirs = entry.curve.peak.level, baseline.curve.peak.level
    measured = ratio.throughput_ratio(ours.values, theirs.values, entry.curve.unit, baseline.curve.unit)
    bounded = ratio.without_bounds(measured, curve.why_withheld(entry.curve, baseline.curve))
    where = f"at their peaks, {count(ours.clients, 'client')} against {theirs.clients:,}"
    return ratio.claim(bounded, entry.label, baseline.label, where)


def _over_the_levels(by_level: Mapping[int, Ratio]) -> str:
    least = min(by_level, key=lambda clients: by_level[clients].value)
    most = max(by_level, key=lambda clients: by_level[clients].value)
    bounds = [f"{ratio.times(by_level[clients].value)} at {count(clients, 'client')}" for clients in (least, most)]
    sentence = f"Over the {len(by_level)} levels that both ran, the ratio goes from {bounds[0]} to {bounds[1]}"
    if any(level.withheld for level in by_level.values()):
        return f"{sentence}."
    tested = sum(level.is_tested for level in by_level.values())
    apart = sum(level.is_distinguishable for level in by_level.values()) or "none"
    if not tested:
        return f"{sentence}; none of them is tested."
    among = "them" if tested == len(by_level) else f"the {tested} that are tested"
    return f"{sentence}; it tells the two apart at {apart} of {among}."


def alone(entry: Entry, *, is_read_only: bool = False) -> str:
    """Say what a comparison with one curve shows; ask for a second curve unless the page is read-only."""
    level = entry.curve.peak.level
    mean = significant(level.throughput.mean, level.throughput.digits)
    peak = f"{entry.label} reaches {mean} {entry.curve.unit} at {count(level.clients, 'client')}, its best level"
    return f"{peak}." if is_read_only else f"{peak}. Add a second curve to compare it with."
