"""The answer of a comparison on one card: verdict, three figures, one picture, and the weightiest doubt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from benchhub.analysis.curves import ratio
from benchhub.analysis.curves.curve import Level
from benchhub.analysis.curves.ratio import LESS, MORE
from benchhub.analysis.statistics.spread import RANGE, Spread
from benchhub.analysis.words import count, significant
from benchhub.reports.curves import peaks
from benchhub.reports.curves.curves import SystemCurve
from benchhub.reports.prices.pictures import kinds_of
from benchhub.reports.prices.table import Table

from .cheapest import Cheapest, Offer, amount, cheapest
from .confidence import Confidence
from .fastest import Fastest, Lead, fastest

MOST_BARS = 8
EXACT = "exact, by the prices below"
FULL = Decimal(100)
PATTERNS = 4  # beyond these a pattern comes again; the name beside the bar tells them apart


@dataclass(frozen=True, slots=True)
class Tile:
    """A figure of the card; `notes` say whose it is, against which other, how sure, and what it is made of."""

    title: str
    value: str
    unit: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of `width_percent` of the longest; `series` names its colour, `pattern` its hatching."""

    label: str
    under: str
    value: str
    width_percent: str
    series: int
    pattern: int = 0


@dataclass(frozen=True, slots=True)
class Picture:
    title: str
    caption: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer as people read it. Page, link, file, PDF and API show the same texts."""

    verdict: str
    sentences: tuple[str, ...]
    tiles: tuple[Tile, ...]
    picture: Picture
    confidence: Confidence


def answer(curves: Sequence[SystemCurve], prices: Table, sure: Confidence) -> Answer:
    """Answer what is cheapest where there are prices, otherwise what is fastest; `sure` says how far to trust it."""
    speed, money = fastest(curves), cheapest(prices)
    if money is None:
        sentences = (*speed.sentences, *([prices.remark] if prices.remark else []))
        return Answer(speed.verdict, sentences, tuple(_of_speed(speed)), _peaks(speed), sure)
    return Answer(money.verdict, (*money.sentences, *speed.sentences), tuple(_of_money(money)), _totals(money), sure)


def _of_money(money: Cheapest) -> Iterator[Tile]:
    best, prices = money.best, money.table
    assert best.row.at is not None and best.cell.quote is not None
    name, unit = money.name([best]), prices.unit
    notes = (_side(best.row.system_curve, best.row.at.words), money.throughput_beside)
    yield _throughput("Throughput", unit, best.row.at.level, notes)
    yield Tile(
        f"Price per {prices.price_unit}",
        best.price.split()[0],
        best.currency,
        _filled(name, money.next_price, best.cell.spread_words),
    )
    cost = best.cell.quote.cost
    parts = [f"{kind} {amount(cost.subtotal(kind))}" for kind in kinds_of([cost]) if cost.subtotal(kind)]
    made_of = ", ".join(parts) if len(parts) > 1 else ""
    term = f"Total over {count(prices.terms.years, 'year')}"
    yield Tile(term, amount(best.total), best.currency, _filled(name, money.next_total, made_of, EXACT))


def _of_speed(speed: Fastest[SystemCurve]) -> Iterator[Tile]:
    level = speed.entry.curve.peak.level
    side = _side(speed.entry, f"peak at {peaks.clients([level.clients])}")
    yield _throughput("Peak throughput", speed.entry.curve.unit, level, (side,))
    if speed.leads:
        yield _lead(speed.entry, speed.leads[0])
    runs = sum(len(level.runs) for level in speed.entry.curve.levels)
    levels, repeats = count(len(speed.entry.curve.levels), "level"), count(len(level.runs), "run")
    yield Tile("Runs behind it", f"{runs:,}", "", (speed.entry.label, f"{levels}, {repeats} at the peak"))


def _lead(entry: SystemCurve, lead: Lead[SystemCurve]) -> Tile:
    ends = f"95% interval {lead.ends}" if lead.ends else ""
    # A difference that is shown needs no word: the interval, which leaves 1 out, says it.
    verdict = "" if lead.verdict in (MORE, LESS) else lead.verdict
    notes = _filled(f"{entry.label} over {lead.other.label}", ends, verdict)
    return Tile("Against the next", ratio.times(lead.value), "", notes)


def _side(entry: SystemCurve, where: str) -> str:
    return f"{entry.label}, {where}"


def _filled(*notes: str) -> tuple[str, ...]:
    return tuple(filter(None, notes))


def _throughput(title: str, unit: str, level: Level, notes: Sequence[str]) -> Tile:
    spread = level.throughput
    return Tile(title, significant(spread.mean, spread.digits), unit, _filled(*notes, _spread_text(spread)))


def _spread_text(spread: Spread) -> str:
    """Say how sure a throughput is: '95% interval 12,300 to 12,700, 4 runs'."""
    if spread.n < 2:
        return "1 run, no spread"
    kind = "95% interval" if spread.interval else RANGE
    ends = f"{significant(spread.low, spread.digits)} to {significant(spread.high, spread.digits)}"
    return f"{kind} {ends}, {spread.n} runs"


def _totals(money: Cheapest) -> Picture:
    terms, licences = money.table.terms, list(dict.fromkeys(cell.licence for _, cell in money.table.quoted))
    longest = max(offer.total for offer in money.offers) or FULL
    bars = tuple(_total(offer, longest, licences) for offer in money.offers[:MOST_BARS])
    # The discount has a class of its own that a link may hide; the terms below say it.
    words = replace(terms, discount_percent=Decimal(0)).words
    caption = f"What is paid over {words}. Colour is the system, hatching the licence."
    return Picture(f"Total over {count(terms.years, 'year')}", _more(len(money.offers), caption), bars)


def _total(offer: Offer, longest: Decimal, licences: Sequence[str]) -> Bar:
    pattern = licences.index(offer.licence) % PATTERNS
    series = offer.row.system_curve.series
    return Bar(offer.licence, offer.system, offer.money, f"{FULL * offer.total / longest:.2f}", series, pattern)


def _peaks(speed: Fastest[SystemCurve]) -> Picture:
    ordered = [speed.entry, *(lead.other for lead in speed.leads)]
    longest = speed.entry.curve.peak.level.throughput.mean
    bars = tuple(_peak(entry, longest) for entry in ordered[:MOST_BARS])
    return Picture("Peak throughput", _more(len(ordered), "Throughput at the peak of each curve."), bars)


def _peak(entry: SystemCurve, longest: float) -> Bar:
    level = entry.curve.peak.level
    value = f"{significant(level.throughput.mean, level.throughput.digits)} {entry.curve.unit}"
    width_percent = f"{100 * level.throughput.mean / longest:.2f}"
    return Bar(entry.label, peaks.clients([level.clients]), value, width_percent, entry.series)


def _more(bars: int, caption: str) -> str:
    rest = bars - MOST_BARS
    return f"{caption} {count(rest, 'other')} stand in the tables below." if rest > 0 else caption
