"""Findings of a comparison beyond its levels: at the peaks, over all levels, under a latency ceiling, per core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchhub.analysis.curves import latencies, peak, ratio
from benchhub.analysis.curves.curve import Curve, why_withheld
from benchhub.analysis.curves.ratio import Ratio
from benchhub.analysis.statistics import estimate, noise, outliers
from benchhub.analysis.statistics.drift import REMEDY
from benchhub.analysis.statistics.estimate import NOT_DISTINGUISHABLE
from benchhub.analysis.statistics.noise import NoiseFloor
from benchhub.analysis.statistics.spread import FEWEST_FOR_INTERVAL
from benchhub.catalog.models import Hardware
from benchhub.reports.comparison.entries import Entries, Entry
from benchhub.reports.curves import noise as curves_noise
from benchhub.reports.curves import peaks
from benchhub.ui.csv_files import csv_text

METHODS = (
    ("Throughput of a level", "geometric mean of its repeats: in charts, tables, ratios, peaks and prices alike"),
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
    """One ratio with its evidence; `where` says at which load, `p` is None where nothing is tested.

    `low` and `high` are None where the interval is withheld.
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

    entry: Entry
    sentences: tuple[str, ...]
    rows: tuple[Row, ...]
    normalised: tuple[Normalised, ...]


def findings(entries: Entries, ceiling_ms: float | None) -> list[Finding]:
    """Return the finding on each curve but the baseline; `ceiling_ms` is a latency ceiling, None for none."""
    return [_finding(entry, entries.baseline, ceiling_ms) for entry in entries.others]


def _finding(entry: Entry, baseline: Entry, ceiling_ms: float | None) -> Finding:
    by_level = ratio.by_level(entry.curve, baseline.curve)
    rows = [
        _row(peaks.clients([clients]), level)
        for clients, level in by_level.items()
        if level.is_tested or level.withheld
    ]
    mean = over_levels(entry.curve, baseline.curve)
    at_peak = _at_the_peaks(entry.curve, baseline.curve)
    sentences = [*_mean_sentence(mean, entry, baseline), *_ceiling_sentence(entry, baseline, ceiling_ms)]
    rows += [row for row in (mean, at_peak) if row]
    normalised = tuple(_normalised(entry, baseline, at_peak)) if at_peak else ()
    return Finding(entry, tuple(sentences), tuple(rows), normalised)


def _row(where: str, ratio: Ratio) -> Row:
    n, baseline_n = str(ratio.n), str(ratio.baseline_n)
    ends = (ratio.lowest, ratio.highest)
    return Row(where, ratio.value, *ends, ratio.verdict, n, baseline_n, ratio.p, ratio.adjusted_p)


def over_levels(curve: Curve, baseline: Curve) -> Row | None:
    """Return the geometric mean of the ratios at levels with three repeats of both; None for fewer than two."""
    values = {level.clients: level.values for level in baseline.levels}
    pairs = [(level.values, values[level.clients]) for level in curve.levels if level.clients in values]
    enough = [pair for pair in pairs if min(map(len, pair)) >= FEWEST_FOR_INTERVAL]
    if len(enough) < 2:
        return None
    mean = estimate.mean([estimate.of_repeats(ours) - estimate.of_repeats(theirs) for ours, theirs in enough])
    if not mean.has_scatter:
        return None
    counts = [min(map(len, side)) for side in zip(*enough, strict=True)]
    tested = ratio.tested(mean, counts[0], counts[1])
    where = "both levels" if len(enough) == 2 else f"all {len(enough)} levels"
    return _row(where, ratio.without_bounds(tested, why_withheld(curve, baseline)))


def _mean_sentence(mean: Row | None, entry: Entry, baseline: Entry) -> Iterator[str]:
    if mean is None or mean.low is None or mean.high is None:
        return
    bounds = f"between {ratio.number(mean.low)} and {ratio.number(mean.high)}"
    if mean.verdict == NOT_DISTINGUISHABLE:
        claim = f"{entry.label} and {baseline.label} are {NOT_DISTINGUISHABLE}: {ratio.times(mean.value)}"
    else:
        claim = f"{entry.label} gives {ratio.times(mean.value)} the throughput of {baseline.label}"
    yield f"Over {mean.where} together (geometric mean) {claim}, {bounds}."


def _at_the_peaks(curve: Curve, baseline: Curve) -> Row | None:
    """Return the ratio of the peaks; None where they have no intervals that could be put together."""
    if peaks.why_withheld(curve, baseline):
        return None
    ours, theirs = peak.selected(peak.of_curve(curve)), peak.selected(peak.of_curve(baseline))
    if ours is None or theirs is None:
        return None
    tops = peak.ratio(ours, theirs)
    where = f"the peaks, {peaks.clients(ours.candidates)} against {peaks.clients(theirs.candidates)}"
    return Row(where, tops.value, tops.low, tops.high, tops.verdict, str(ours.n), str(theirs.n))


def _ceiling_sentence(entry: Entry, baseline: Entry, ceiling_ms: float | None) -> Iterator[str]:
    if ceiling_ms is None:
        return
    where = f"with an average latency of at most {ceiling_ms:g} ms"
    for side in (entry, baseline):
        if not peak.under_ceiling(side.curve, ceiling_ms):
            yield f"No level of {side.label} kept its average latency at or below {ceiling_ms:g} ms in every run."
            return
    if why := peaks.why_withheld(entry.curve, baseline.curve):
        yield f"{where.capitalize()} nothing is compared: {why}. {REMEDY}"
        return
    claim = peaks.under_ceiling(entry.curve, baseline.curve, ceiling_ms, entry.label, baseline.label)
    yield str(
        claim or f"{where.capitalize()} nothing is compared: that needs {FEWEST_FOR_INTERVAL} repeats at each level."
    )


def _normalised(entry: Entry, baseline: Entry, at_peak: Row) -> Iterator[Normalised]:
    ours, theirs = (_counts(side.system.hardware) for side in (entry, baseline))
    tops = [peak.selected(peak.of_curve(side.curve)) for side in (entry, baseline)]
    if at_peak.low is None or at_peak.high is None:
        return
    for per in (per for per in ours if per in theirs and all(tops)):
        factor = theirs[per] / ours[per]
        low, high, value = at_peak.low * factor, at_peak.high * factor, at_peak.value * factor
        verdict = ratio.by_interval(value, low, high)
        values = [top.value / counts[per] for top, counts in zip(tops, (ours, theirs), strict=True) if top]
        yield Normalised(per, values[0], values[1], Row(f"per {per}", value, low, high, verdict))


def _counts(hardware: Hardware) -> dict[str, float]:
    """Count the hardware by which throughput is divided, as bought; unknown counts are left out."""
    cores, clock = hardware.cores, hardware.clock_ghz
    threads = cores * hardware.threads_per_core if cores and hardware.threads_per_core else None
    counts = {
        "socket": hardware.sockets,
        "core": cores,
        "hardware thread": threads,
        "GHz of all cores": float(clock) * cores if clock and cores else None,
    }
    return {per: float(count) for per, count in counts.items() if count}


@dataclass(frozen=True, slots=True)
class HostNoise:
    """The noise found on a host under this protocol, in a sentence each."""

    host: str
    floor: NoiseFloor

    @property
    def sentences(self) -> tuple[str, ...]:
        floor = self.floor
        needed = noise.repeats_needed(floor.percent)
        repeats = f"{needed} repeats of each" if needed else f"more than {noise.MOST_REPEATS} repeats of each"
        scatter = (
            f"On {self.host} one run scatters by {floor.percent:.2g}% (standard deviation among repeats, "
            f"{floor.degrees} degrees of freedom).",
            f"Seeing a difference of {noise.DIFFERENCE_PERCENT:g}% there in 80 of 100 cases needs {repeats}.",
        )
        return (*scatter, self._again)

    @property
    def _again(self) -> str:
        floor = self.floor
        if floor.between_percent is None:
            return "No system was measured again in another experiment, so that noise between experiments is not known."
        return (
            f"The same system measured again in another experiment scatters by {floor.between_percent:.2g}% beyond "
            f"that ({floor.block_degrees} degrees of freedom): curves of two experiments with 5 repeats that differ by "
            f"less than {floor.difference_percent(5):.2g}% may be equal (A/A)."
        )


def host_noise(entries: Entries) -> list[HostNoise]:
    """Return the noise of each host under the protocols of these curves, where repeats tell it."""
    hosts = {entry.system.instance.host_id: str(entry.system.instance.host) for entry in entries}
    digests = {run.protocol_id for entry in entries for run in entry.runs}
    groups = curves_noise.repeats([pk for pk in hosts if pk], digests)
    floors = {pk: noise.floor(repeats) for pk, repeats in groups.items()}
    return [HostNoise(hosts[pk], floor) for pk, floor in floors.items() if floor]


def table(findings: Sequence[Finding], baseline: Entry) -> str:
    """Return all ratios as CSV."""
    return csv_text(COLUMNS, _cells(findings, baseline))


def _cells(findings: Sequence[Finding], baseline: Entry) -> Iterator[Sequence[Any]]:
    for finding in findings:
        for row in (*finding.rows, *(normalised.row for normalised in finding.normalised)):
            cells = (finding.entry.label, baseline.label, row.where, row.value, row.low, row.high)
            yield (*cells, row.p, row.adjusted_p, row.n, row.baseline_n, row.verdict)
