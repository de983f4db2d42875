"""What a comparison finds beyond its levels: at the peaks, over all levels, under a latency ceiling, per core."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

from benchhub.analysis.curves import latencies, peak, ratio
from benchhub.analysis.curves.curve import Curve, why_withheld
from benchhub.analysis.curves.ratio import Ratio
from benchhub.analysis.statistics import estimate, noise, outliers
from benchhub.analysis.statistics.drift import REMEDY
from benchhub.analysis.statistics.estimate import Estimate
from benchhub.analysis.statistics.noise import NoiseFloor
from benchhub.analysis.statistics.spread import FEWEST_FOR_INTERVAL
from benchhub.catalog.models import Hardware
from benchhub.reports.curves import noise as curves_noise
from benchhub.reports.curves import peaks
from benchhub.reports.curves import scalability as curves_scalability
from benchhub.reports.curves.csv import harmless

from .comparison import Chosen

CEILING = "ceiling_ms"
METHODS = (
    ("Ratio at a level", f"{estimate.METHOD}; several levels corrected for by Holm's method, family-wise 5%"),
    (
        "Ratio over all levels",
        "geometric mean of the levels' ratios; degrees of freedom by Welch and Satterthwaite",
    ),
    ("Ratio at the peaks", peak.RATIO_METHOD),
    ("Noise of one run", "standard deviation of logarithms, pooled over repeats (one-way analysis of variance)"),
    (
        "Withheld",
        "neither interval nor verdict where of two systems on one host one ran after the other (by 9 of 10 pairs of "
        "their runs, or at each level); no interval of a mean or a peak where the repeats of each level ran in a row, "
        f"or an outlier lies {outliers.FAR:g} times further off than repeats usually do",
    ),
    ("Latency", latencies.METHOD),
)
COLUMNS = ("curve", "baseline", "where", "ratio", "low", "high", "p", "p_of_several", "n", "baseline_n", "verdict")


@dataclass(frozen=True, slots=True)
class Row:
    """One ratio with what stands behind it; `where` says at which load, `p` is None where nothing is tested.

    Of one that is withheld there are no ends.
    """

    where: str
    value: float
    low: float | None
    high: float | None
    verdict: str
    n: str = ""
    baseline_n: str = ""
    p: float | None = None
    adjusted_p: float | None = None


@dataclass(frozen=True, slots=True)
class Normalised:
    """Peak throughput per piece of hardware, of a curve and of the baseline, with the ratio of the two."""

    per: str
    value: float
    baseline: float
    row: Row


@dataclass(frozen=True, slots=True)
class Finding:
    """A curve against the baseline: plain `sentences`, then `rows` and `normalised` for experts."""

    one: Chosen
    sentences: tuple[str, ...]
    rows: tuple[Row, ...]
    normalised: tuple[Normalised, ...]


def of(chosen: Sequence[Chosen], baseline: Chosen, ceiling_ms: float | None) -> list[Finding]:
    return [_finding(one, baseline, ceiling_ms) for one in chosen if one is not baseline]


def _finding(one: Chosen, baseline: Chosen, ceiling_ms: float | None) -> Finding:
    curve, other = one.of.curve, baseline.of.curve
    by_level = ratio.by_level(curve, other)
    rows = [_tested(peaks.clients([at]), found) for at, found in by_level.items() if found.is_tested or found.withheld]
    over = over_levels(curve, other)
    at_peak = _at_the_peaks(curve, other)
    sentences = [*_over_sentence(over, one, baseline), *_ceiling_sentence(one, baseline, ceiling_ms)]
    rows += [row for row in (over, at_peak) if row]
    normalised = tuple(_normalised(one, baseline, at_peak)) if at_peak else ()
    return Finding(one, tuple(sentences), tuple(rows), normalised)


def _tested(where: str, found: Ratio) -> Row:
    n, baseline_n = str(found.n), str(found.baseline_n)
    ends = (found.lowest, found.highest)
    return Row(where, found.value, *ends, found.verdict, n, baseline_n, found.p, found.adjusted_p)


def over_levels(curve: Curve, baseline: Curve) -> Row | None:
    """The geometric mean of the ratios at the levels that have three repeats of both; None with fewer than two."""
    known = {level.clients: level.values for level in baseline.levels}
    pairs = [(level.values, known[level.clients]) for level in curve.levels if level.clients in known]
    enough = [pair for pair in pairs if min(map(len, pair)) >= FEWEST_FOR_INTERVAL]
    if len(enough) < 2:
        return None
    found = estimate.mean([_difference(*pair) for pair in enough])
    if not found.has_scatter:
        return None
    counts = [min(map(len, side)) for side in zip(*enough, strict=True)]
    tested = ratio.tested(found, counts[0], counts[1])
    where = "both levels" if len(enough) == 2 else f"all {len(enough)} levels"
    return _tested(where, ratio.without_bounds(tested, why_withheld(curve, baseline)))


def _difference(values: Sequence[float], baseline: Sequence[float]) -> Estimate:
    return estimate.of_repeats(values) - estimate.of_repeats(baseline)


def _over_sentence(over: Row | None, one: Chosen, baseline: Chosen) -> Iterator[str]:
    if over is None or over.low is None or over.high is None:
        return
    bounds = f"between {ratio.number(over.low)} and {ratio.number(over.high)}"
    if over.verdict == "not distinguishable":
        found = f"{one.label} and {baseline.label} are not distinguishable: {ratio.times(over.value)}"
    else:
        found = f"{one.label} gives {ratio.times(over.value)} the throughput of {baseline.label}"
    yield f"Over {over.where} together (geometric mean) {found}, {bounds}."


def _at_the_peaks(curve: Curve, baseline: Curve) -> Row | None:
    """None where the peaks have no intervals that could be put together."""
    if peaks.why_withheld(curve, baseline):
        return None
    ours, theirs = peak.selected(peak.of_curve(curve)), peak.selected(peak.of_curve(baseline))
    if ours is None or theirs is None:
        return None
    found = peak.ratio(ours, theirs)
    verdict = "not distinguishable" if not found.tells_apart else "more" if found.value > 1 else "less"
    where = f"the peaks, {peaks.clients(ours.candidates)} against {peaks.clients(theirs.candidates)}"
    return Row(where, found.value, found.low, found.high, verdict, str(ours.n), str(theirs.n))


def _ceiling_sentence(one: Chosen, baseline: Chosen, ceiling_ms: float | None) -> Iterator[str]:
    if ceiling_ms is None:
        return
    where = f"with an average latency of at most {ceiling_ms:g} ms"
    for of in (one, baseline):
        if not peak.under_ceiling(of.of.curve, ceiling_ms):
            yield f"No level of {of.label} kept its average latency at or below {ceiling_ms:g} ms in every run."
            return
    if why := peaks.why_withheld(one.of.curve, baseline.of.curve):
        yield f"{where.capitalize()} nothing is compared: {why}. {REMEDY}"
        return
    said = peaks.under_ceiling(one.of.curve, baseline.of.curve, ceiling_ms, one.label, baseline.label)
    yield str(
        said or f"{where.capitalize()} nothing is compared: that needs {FEWEST_FOR_INTERVAL} repeats at each level."
    )


def _normalised(one: Chosen, baseline: Chosen, at_peak: Row) -> Iterator[Normalised]:
    ours, theirs = (_counts(of.of.system.hardware) for of in (one, baseline))
    tops = [peak.selected(peak.of_curve(of.of.curve)) for of in (one, baseline)]
    if at_peak.low is None or at_peak.high is None:
        return
    for per in (one for one in ours if one in theirs and all(tops)):
        factor = theirs[per] / ours[per]
        low, high, value = at_peak.low * factor, at_peak.high * factor, at_peak.value * factor
        verdict = "not distinguishable" if low <= 1 <= high else "more" if value > 1 else "less"
        values = [top.value / counts[per] for top, counts in zip(tops, (ours, theirs), strict=True) if top]
        yield Normalised(per, values[0], values[1], Row(f"per {per}", value, low, high, verdict))


def _counts(hardware: Hardware) -> dict[str, float]:
    """How many there are of what throughput is divided by, as bought; what is not known is left out."""
    cores, clock = hardware.cores, hardware.clock_ghz
    threads = cores * hardware.threads_per_core if cores and hardware.threads_per_core else None
    known = {
        "socket": hardware.sockets,
        "core": cores,
        "hardware thread": threads,
        "GHz of all cores": float(clock) * cores if clock and cores else None,
    }
    return {per: float(count) for per, count in known.items() if count}


def ceiling(text: str) -> tuple[float | None, str]:
    """The latency ceiling in ms that was typed, and an error where that is none."""
    if not text.strip():
        return None, ""
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        return None, f"'{text}' is no latency: write milliseconds such as 2.5."
    return value, ""


@dataclass(frozen=True, slots=True)
class HostNoise:
    """The noise found on a host under this protocol, in a sentence each."""

    host: str
    floor: NoiseFloor

    @property
    def sentences(self) -> tuple[str, ...]:
        of = self.floor
        needed = noise.repeats_needed(of.percent)
        repeats = f"{needed} repeats of each" if needed else f"more than {noise.MOST_REPEATS} repeats of each"
        said = (
            f"On {self.host} one run scatters by {of.percent:.2g}% (standard deviation among repeats, "
            f"{of.degrees} degrees of freedom).",
            f"Seeing a difference of {noise.DIFFERENCE_PERCENT:g}% there in 80 of 100 cases needs {repeats}.",
        )
        return (*said, self._again)

    @property
    def _again(self) -> str:
        of = self.floor
        if of.between_percent is None:
            return "No system was measured again in another experiment, so that noise between experiments is not known."
        return (
            f"The same system measured again in another experiment scatters by {of.between_percent:.2g}% beyond that "
            f"({of.block_degrees} degrees of freedom): curves of two experiments with 5 repeats that differ by less "
            f"than {of.difference_percent(5):.2g}% may be equal (A/A)."
        )


def host_noise(chosen: Sequence[Chosen]) -> list[HostNoise]:
    hosts = {one.of.system.instance.host_id: str(one.of.system.instance.host) for one in chosen}
    digests = {run.protocol_id for one in chosen for run in one.runs}
    groups = curves_noise.repeats([pk for pk in hosts if pk], digests)
    floors = {pk: noise.floor(found) for pk, found in groups.items()}
    return [HostNoise(hosts[pk], floor) for pk, floor in floors.items() if floor]


def context(chosen: Sequence[Chosen], baseline: Chosen, asked: str) -> dict[str, Any]:
    ceiling_ms, error = ceiling(asked)
    return {
        "more": of(chosen, baseline, ceiling_ms),
        "ceiling_text": asked,
        "ceiling_error": error,
        "host_noise": host_noise(chosen),
        "methods": METHODS,
        "law": curves_scalability.panel([one.of for one in chosen]),
    }


def table(found: Sequence[Finding], baseline: Chosen) -> str:
    """All ratios as CSV."""
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for finding in found:
        for row in (*finding.rows, *(one.row for one in finding.normalised)):
            cells = (finding.one.label, baseline.label, row.where, row.value, row.low, row.high)
            more = (row.p, row.adjusted_p, row.n, row.baseline_n, row.verdict)
            writer.writerow([harmless("" if cell is None else cell) for cell in (*cells, *more)])
    return text.getvalue()
