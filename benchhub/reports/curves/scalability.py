"""The Universal Scalability Law beside the curves it was fitted to: drawn over the data, and where it holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from benchhub.analysis.curves import peak, scalability
from benchhub.analysis.curves.scalability import LACK_OF_FIT_P, Law, Parameter
from benchhub.analysis.words import round_significant

from . import looks
from .curves import SystemCurve
from .figures import client_axes
from .panel import Panel, PanelRow, refused

NAME, TITLE = "law", "Universal Scalability Law"
COLUMNS = ("System", "Clients", "Measured, geometric mean", "By the law", "Residual, %")
POINTS = 60
LEAD = (
    "What limits each system as clients are added: contention, the share of the work that waits its turn, and "
    "coherency, the cost of keeping clients in agreement, which makes throughput fall again."
)


def panel(curves: Sequence[SystemCurve]) -> Panel:
    """Draw the law over the curves that it can be fitted to; a refusal where there is none."""
    sound = [system_curve for system_curve in curves if not system_curve.curve.is_in_a_row]
    laws = [
        (system_curve, law)
        for system_curve in sound
        if (law := scalability.fit(peak.of_curve(system_curve.curve))) is not None
    ]
    withheld = [
        f"It is not fitted to {system_curve.system.label}: {system_curve.curve.withheld}."
        for system_curve in curves
        if system_curve not in sound
    ]
    if not laws:
        refusal = f"The law is fitted to {scalability.FEWEST_LEVELS} levels or more of one curve."
        return refused(NAME, TITLE, " ".join([refusal, *withheld]))
    fitted = [system_curve for system_curve, _ in laws]
    too_short = [
        f"{system_curve.system.label} has fewer than {scalability.FEWEST_LEVELS} levels."
        for system_curve in sound
        if system_curve not in fitted
    ]
    texts = [
        sentence
        for system_curve, law in laws
        for sentence in sentences(system_curve.system.label, law, system_curve.curve.unit)
    ]
    rows = tuple(row for system_curve, law in laws for row in _rows(system_curve, law))
    method = f"By {scalability.METHOD}."
    return Panel(NAME, TITLE, (LEAD, *texts, *withheld, *too_short, method), COLUMNS, rows, figure([*laws]))


def sentences(label: str, law: Law, unit: str) -> Iterator[str]:
    """Yield the law in plain words; a law that does not hold has no parameters to speak of."""
    if not law.holds:
        worst = max(law.residuals_percent, key=lambda clients: abs(law.residuals_percent[clients]))
        yield (
            f"{label} does not follow the law: at {worst:,} clients it is {law.residuals_percent[worst]:+.1f}% away, "
            f"far more than repeats scatter (p below {LACK_OF_FIT_P:g}). It is not drawn, and has no peak to offer."
        )
        return
    certainty = " Without repeats nothing says whether the law holds." if law.lack_of_fit_p is None else ""
    yield (
        f"{label}: one client gives {_words(law.single)} {unit}, contention is {_words(law.contention, 100)}%, "
        f"coherency {_words(law.coherency, 1e6)} millionths. {_peak(law)}{certainty}"
    )


def _peak(law: Law) -> str:
    if law.peak_clients is None:
        return f"The law has no peak: it only rises, as far as {law.highest_clients:,} clients can tell."
    peak_text = f"The law puts the peak at {law.peak_clients:,.0f} clients"
    if law.peaks_beyond_the_data:
        return f"{peak_text}, beyond the {law.highest_clients:,} that were run: an extrapolation, not a measurement."
    return f"{peak_text}, within what was run."


def _words(parameter: Parameter, factor: float = 1) -> str:
    value = _figure(parameter.value * factor)
    if parameter.low is None or parameter.high is None:
        return f"{value} (at the edge of what it can be)"
    return f"{value} ({_figure(parameter.low * factor)} to {_figure(parameter.high * factor)})"


def _figure(value: float) -> str:
    rounded = round_significant(value, 3)
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:.3g}"


def _rows(system_curve: SystemCurve, law: Law) -> Iterator[PanelRow]:
    for clients, residual in law.residuals_percent.items():
        by_law = law.throughput(clients)
        measured = by_law * (1 + residual / 100)
        values = (system_curve.system.label, clients, _decimal(measured, 4), _decimal(by_law, 4), _decimal(residual, 2))
        yield PanelRow(values)


def _decimal(value: float, digits: int) -> Decimal:
    return Decimal(f"{round_significant(value, digits):.10g}")


def figure(laws: Sequence[tuple[SystemCurve, Law]]) -> dict[str, Any]:
    levels = sorted({clients for _, law in laws for clients in law.residuals_percent})
    unit = laws[0][0].curve.unit
    lines = [_line(system_curve, law) for system_curve, law in laws if law.holds]
    return {
        "data": [*(_marks(system_curve, law) for system_curve, law in laws), *lines],
        "layout": {
            "xaxis": {"title": {"text": "clients"}, **client_axes(levels)["linear"]},
            "yaxis": {"title": {"text": f"throughput ({unit})"}, "rangemode": "tozero", "tickformat": ",~f"},
        },
    }


def _marks(system_curve: SystemCurve, law: Law) -> dict[str, Any]:
    values = [law.throughput(clients) * (1 + residual / 100) for clients, residual in law.residuals_percent.items()]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"{system_curve.system.label}, measured",
        "x": list(law.residuals_percent),
        "y": values,
        "marker": {"symbol": looks.marker(system_curve.series), "size": 8},
        "hovertemplate": f"%{{x}} clients: %{{y:,.4~r}} {system_curve.curve.unit}<extra>%{{fullData.name}}</extra>",
        "meta": {"series": system_curve.series},
    }


def _line(system_curve: SystemCurve, law: Law) -> dict[str, Any]:
    step = (law.highest_clients - law.lowest_clients) / POINTS
    x = [law.lowest_clients + place * step for place in range(POINTS + 1)]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{system_curve.system.label}, by the law",
        "x": x,
        "y": [law.throughput(clients) for clients in x],
        "line": {"dash": looks.dash(system_curve.series + 2), "width": 2},
        "hovertemplate": f"%{{x:.1f}} clients: %{{y:,.4~r}} {system_curve.curve.unit}<extra>%{{fullData.name}}</extra>",
        "meta": {"series": system_curve.series},
    }
