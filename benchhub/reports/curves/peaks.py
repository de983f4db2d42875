"""Word the peaks of curves: where they are, how sure that is, and the ratio of two."""

from __future__ import annotations

from collections.abc import Sequence

from benchhub.analysis.curves import curve, peak, ratio
from benchhub.analysis.curves.curve import Curve
from benchhub.analysis.curves.peak import Levels, PeakRatio, SelectedPeak
from benchhub.analysis.curves.ratio import Claim
from benchhub.analysis.statistics import drift
from benchhub.analysis.statistics.estimate import NOT_DISTINGUISHABLE
from benchhub.analysis.words import significant

EDGES = {
    "": "",
    "only": "only one level was run, so that this need not be a peak",
    "lowest": "the lowest level that was run: the peak may lie below it",
    "highest": "the highest level that was run: the peak may lie beyond it",
    "both": "both ends of the sweep among them: the peak may lie beyond either",
}


def claim(curve: Curve, baseline: Curve, name: str, baseline_name: str) -> Claim | None:
    """Compare two peaks without the bias of picking the best.

    Return None where repeats are too few for that, or not independent.
    """
    if why_withheld(curve, baseline):
        return None
    levels, baseline_levels = peak.of_curve(curve), peak.of_curve(baseline)
    return of_levels(levels, baseline_levels, name, baseline_name, "at their peaks", curve.unit)


def why_withheld(own_curve: Curve, baseline: Curve) -> str:
    """Say why the peaks of two curves are not set against each other; empty where they are."""
    in_a_row = drift.IN_A_ROW if own_curve.is_in_a_row or baseline.is_in_a_row else ""
    return curve.why_withheld(own_curve, baseline) or in_a_row


def under_ceiling(curve: Curve, baseline: Curve, ceiling_ms: float, name: str, baseline_name: str) -> Claim | None:
    """Compare the best levels that kept an average latency; None where repeats are too few for that."""
    within = [peak.under_ceiling(side, ceiling_ms) for side in (curve, baseline)]
    where = f"with an average latency of at most {ceiling_ms:g} ms"
    all_levels = peak.of_curve(curve), peak.of_curve(baseline)
    return of_levels(within[0], within[1], name, baseline_name, where, curve.unit, all_levels=all_levels)


def of_levels(
    levels: Levels,
    baseline: Levels,
    name: str,
    baseline_name: str,
    where: str,
    unit: str,
    *,
    all_levels: tuple[Levels, Levels] | None = None,
) -> Claim | None:
    """Compare the best of some levels; None where repeats are too few.

    `all_levels` are all levels of both curves where `levels` and `baseline` are only some of them.
    """
    ours, theirs = peak.selected(levels), peak.selected(baseline)
    if ours is None or theirs is None:
        return None
    claim = _ratio_claim(peak.ratio(ours, theirs), name, baseline_name, where)
    repeats = f"{ours.n}" if ours.n == theirs.n else f"{ours.n} and {theirs.n}"
    if all_levels is None:
        places = f"{name} peaks {place(ours, levels)}, {baseline_name} {place(theirs, baseline)}"
    else:
        best = place_of_kept(ours, levels, all_levels[0])
        baseline_best = place_of_kept(theirs, baseline, all_levels[1])
        places = f"{name} is best {best}, {baseline_name} {baseline_best}"
    return Claim(claim.statement, f"{claim.evidence}, {repeats} repeats. {_compared(ours, theirs, unit)} {places}.")


def _compared(own: SelectedPeak, baseline: SelectedPeak, unit: str) -> str:
    """Say which numbers are compared, as they stand in chart and table."""
    values = " with ".join(significant(side.value, 3) for side in (own, baseline))
    text = f"That compares {values} {unit}, geometric means of the repeats"
    if len(own.candidates) == len(baseline.candidates) == 1:
        return f"{text}."
    return f"{text}; the best of several levels is too high by chance, which the interval allows for."


def _ratio_claim(peak_ratio: PeakRatio, name: str, baseline_name: str, where: str) -> Claim:
    bounds = f"between {ratio.number(peak_ratio.low)} and {ratio.number(peak_ratio.high)}"
    if peak_ratio.verdict != NOT_DISTINGUISHABLE:
        statement = (
            f"{where.capitalize()} {name} gives {ratio.times(peak_ratio.value)} the throughput of {baseline_name}"
        )
        return Claim(statement, f", {bounds}")
    statement = f"{where.capitalize()} {name} and {baseline_name} are {NOT_DISTINGUISHABLE}"
    return Claim(statement, f": {ratio.times(peak_ratio.value)}, {bounds}")


def place(selected: SelectedPeak, levels: Levels) -> str:
    """Say which levels could be the peak, and whether they reach an end of the levels that were run."""
    edge = EDGES[peak.edge(levels, selected.candidates)]
    if len(selected.candidates) > 1:
        edge = edge.replace("run: the", "run is among them: the")
    return f"at {clients(selected.candidates)}{f' ({edge})' if edge else ''}"


def place_of_kept(selected: SelectedPeak, levels: Levels, all_levels: Levels) -> str:
    """Say which levels that kept a ceiling could be the best.

    Beyond the highest of them, a better load may lie before the ceiling is reached.
    """
    beyond = min((level for level in all_levels if level > max(levels)), default=None)
    if beyond is None or max(levels) not in selected.candidates:
        return place(selected, all_levels)
    return f"at {clients(selected.candidates)} ({clients([beyond])} did not keep it: the best level may lie between)"


def clients(levels: Sequence[int]) -> str:
    """Write '8 clients', '8 or 16 clients', or of many '8 to 64 clients'."""
    if len(levels) > 2:
        return f"{levels[0]:,} to {levels[-1]:,} clients"
    unit = "client" if levels[-1] == 1 else "clients"
    return f"{' or '.join(f'{level:,}' for level in levels)} {unit}"
