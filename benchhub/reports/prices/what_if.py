"""Questions beside the table: break-even of two licences, what moves the price most, the frontier, standbys."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.http import QueryDict

from benchhub.analysis.pricing import questions
from benchhub.analysis.pricing.money import PricingError, money, rounded
from benchhub.analysis.pricing.questions import BreakEven, Crossing, Effect
from benchhub.analysis.pricing.quote import Quote, quote_of
from benchhub.analysis.pricing.sheets.sheet import Kind
from benchhub.analysis.pricing.steps import Step, step
from benchhub.analysis.pricing.topology import Machine
from benchhub.analysis.words import count, plain
from benchhub.catalog.models import LicenceModel
from benchhub.reports.curves.panel import Panel, PanelRow, refused, unlike

from . import figures
from .figures import Line, Spot
from .orders import STANDBY, NoPrice, Priced
from .pictures import drawn, kinds_of, why
from .table import Cell, Row, Table, metered, places_of

FEWEST_CORES, MOST_CORES = 32, 128
STANDBYS = (0, 1, 2, 3)
SETTINGS = {
    "term": "Term",
    "discount": "Discount on everything",
    "support": "Support a year",
    "utilisation": "Hours used",
}
BREAK_EVEN, SENSITIVITY, PARETO, TOPOLOGY = "break-even", "sensitivity", "pareto", "standbys"


@dataclass(frozen=True, slots=True)
class Subject:
    """What is asked about: one curve under one licence model, and two licence models to be held against each other."""

    row: Row
    model: LicenceModel
    pair: tuple[LicenceModel, LicenceModel] | None

    @property
    def name(self) -> str:
        return f"{self.row.of.system.label} under {self.model}"


def subject(asked: QueryDict, of: Table, keys: Sequence[str]) -> Subject | None:
    """By `subject` (a curve's key), `drawn`, `one` and `other`; the first that there are where these name none."""
    model = drawn(asked, of)
    if model is None or not of.rows:
        return None
    rows = dict(zip(keys, of.rows, strict=True))
    return Subject(rows.get(asked.get("subject", ""), of.rows[0]), model, _pair(asked, of))


def _pair(asked: QueryDict, of: Table) -> tuple[LicenceModel, LicenceModel] | None:
    models = metered(of.known.licence_models)
    if len(models) < 2:
        return None
    by_key = {str(model.pk): model for model in models}
    one = by_key.get(asked.get("one", ""), models[0])
    usual = next(model for model in models if model != one)
    other = by_key.get(asked.get("other", ""), usual)
    return (one, usual if other == one else other)


def panels(of: Table, about: Subject) -> list[Panel]:
    cell = next((cell for cell in about.row.cells if cell.model == about.model), None)
    found = [break_even(of, about), pareto(of)]
    if cell is not None and cell.quote is not None:
        found[1:1] = [sensitivity(of, about, cell), standbys(of, about, cell)]
    return found


def break_even(of: Table, about: Subject) -> Panel:
    title = "From how many cores is which licence the cheaper?"
    if about.pair is None:
        return refused(BREAK_EVEN, title, "A break-even needs two licence models that cost something.")
    bought = about.row.of.system.hardware.machine()
    most = min(max(FEWEST_CORES, 2 * bought.cores_per_socket), max(MOST_CORES, bought.cores_per_socket))
    counts = range(bought.disabled_cores_per_socket + 1, most + 1)
    try:
        one, other = (of.costs.licence(model) for model in about.pair)
        found = questions.break_even(one, other, bought, counts, of.costs.terms, of.terms.users)
    except PricingError as error:
        return refused(BREAK_EVEN, title, str(error))
    names = (one.name, other.name)
    rows = tuple(_crossing(bought, row) for row in found.rows)
    lines = [
        Line(name, series, counts, [None if cost is None else float(cost) for cost in costs])
        for series, (name, costs) in enumerate(
            zip(names, ([row.one for row in found.rows], [row.other for row in found.rows]), strict=True)
        )
    ]
    figure = figures.against_cores(lines, found.currency, bought.cores_per_socket)
    columns = ("Cores per socket", *(f"{name}, {found.currency}" for name in names), "Cheaper")
    return Panel(BREAK_EVEN, title, _crossings(found, names, bought, of), columns, rows, figure)


def _crossing(bought: Machine, row: Crossing) -> PanelRow:
    is_own = row.cores_per_socket == bought.cores_per_socket
    amounts = tuple(None if cost is None else rounded(cost) for cost in (row.one, row.other))
    cheaper = row.cheaper or ("the same" if row.one is not None else "neither is to be had")
    return PanelRow((row.cores_per_socket, *amounts, cheaper), row.steps, is_marked=is_own)


def _crossings(found: BreakEven, names: tuple[str, str], bought: Machine, of: Table) -> tuple[str, ...]:
    """The plainest first: what holds of this machine; then where it changes."""
    first, last = found.rows[0].cores_per_socket, found.rows[-1].cores_per_socket
    own = next((row for row in found.rows if row.cores_per_socket == bought.cores_per_socket), found.rows[-1])
    has = f"{bought.name} has {bought.sockets} x {bought.cores_per_socket} cores"
    here = f"{has}: over {count(of.terms.years, 'year')}, {_is(own)}."
    if not found.changes:
        rows = f"From {first} to {last} cores per socket nothing changes that."
        return (here, f"{rows} Licence and support of {names[0]} and {names[1]}, the hardware left aside.")
    start = f"With {first} core{'s' * (first > 1)} per socket {_is(found.rows[0])}."
    changes = " ".join(f"From {row.cores_per_socket} on {_is(row)}." for row in found.changes)
    return (
        here,
        f"{start} {changes} Counted up to {last}; licence and support alone, the hardware left aside.",
    )


def _is(row: Crossing) -> str:
    if row.cheaper:
        return f"{row.cheaper} is the cheaper"
    return "both cost the same" if row.one is not None else "neither is to be had"


def sensitivity(of: Table, about: Subject, cell: Cell) -> Panel:
    title = "What moves the price most?"
    assert cell.priced is not None
    assert cell.quote is not None
    quote = cell.quote
    effects = questions.sensitivity(cell.priced.order, quote.throughput, of.costs.terms)
    if not effects:
        return refused(SENSITIVITY, title, f"Nothing that can be changed moves the price of {about.name}.")
    unit, to = f"{quote.currency} per {of.unit}", places_of(quote.quotient, 3)
    labels = [_setting(effect) for effect in effects]
    ends = [(float(effect.price_at_low), float(effect.price_at_high)) for effect in effects]
    rows = tuple(
        PanelRow(
            (label, rounded(effect.price_at_low, to), rounded(effect.price_at_high, to), rounded(effect.size, to)),
            _ends(effect, quote),
            why=why(about.row, about.model),
        )
        for label, effect in zip(labels, effects, strict=True)
    )
    lead = f"{labels[0]}, moves the price of {about.name} most: {rows[0].values[1]:,} to {rows[0].values[2]:,} {unit}."
    more = (
        "Each bar prices the same order again with one setting changed and all else as it is; the line is the present "
        f"price, {cell.price:,}. Left out is what moves nothing (support without a perpetual licence, hours "
        "without one by the hour) and a term that a price sheet has no price for."
    )
    columns = ("Setting", f"Price at its low end, {unit}", "at its high end", "Difference")
    figure = figures.tornado([figures.label(*label.split(", ")) for label in labels], ends, float(quote.quotient), unit)
    return Panel(SENSITIVITY, title, (lead, more), columns, rows, figure)


def _setting(effect: Effect) -> str:
    ends = f"{plain(effect.low)} to {plain(effect.high)}{' years' if effect.name == 'term' else '%'}"
    return f"{SETTINGS[effect.name]}, {ends}"


def _ends(effect: Effect, present: Quote) -> tuple[Step, ...]:
    """How the price at each end comes about, as far as it differs from the present one, which is derived above."""
    ends = ((effect.low, effect.at_low), (effect.high, effect.at_high))
    told = {one.sentence for one in present.steps}
    return tuple(one for value, quote in ends for one in (_end(effect, value), *_differing(quote, told)))


def _end(effect: Effect, value: Decimal) -> Step:
    template = "{setting}, {result}, and all else as in the present price"
    words = count(int(value), "year") if effect.name == "term" else f"{plain(value)}%"
    return step("setting", template, words, setting=SETTINGS[effect.name])


def _differing(quote: Quote, told: Collection[str]) -> list[Step]:
    return [one for one in quote.steps if one.sentence not in told]


def standbys(of: Table, about: Subject, cell: Cell) -> Panel:
    """Primary and standbys of the same hardware; only the primary was measured."""
    title = "What do standbys cost?"
    hardware, counts = about.row.of.system.hardware, sorted({*STANDBYS, of.terms.standbys})
    found = [of.costs.with_standbys(hardware, about.model, count) for count in counts]
    if reasons := [one.sentence for one in found if isinstance(one, NoPrice)]:
        return refused(TOPOLOGY, title, reasons[0])
    priced = [one for one in found if isinstance(one, Priced)]
    currency = priced[0].cost.currency
    kinds = kinds_of([one.cost for one in priced])
    rows = tuple(_standby(of, cell, kinds, count, one) for count, one in zip(counts, priced, strict=True))
    parts = [(kind, [float(one.cost.subtotal(kind)) for one in priced]) for kind in kinds]
    labels = [f"{count} standby{'s' * (count != 1)}" for count in counts]
    amounts = [f"{name}, {currency}" for name in (*map(str.capitalize, kinds), "Total")]
    columns = ("Standbys", *amounts, f"Price, {currency} per {of.unit}")
    figure = figures.stacked(labels, parts, currency)
    return Panel(TOPOLOGY, title, _first_standby(about, priced), columns, rows, figure)


def _standby(of: Table, cell: Cell, kinds: Sequence[Kind], count: int, one: Priced) -> PanelRow:
    assert cell.quote is not None
    assert cell.price is not None
    parts = (rounded(one.cost.subtotal(kind)) for kind in kinds)
    places = -int(cell.price.as_tuple().exponent)
    price = quote_of(one.cost, cell.quote.throughput).price(places, of.terms.rounding)
    is_asked = count == of.terms.standbys
    return PanelRow((count, *parts, rounded(one.cost.total), price), one.steps, is_marked=is_asked)


def _first_standby(about: Subject, priced: Sequence[Priced]) -> tuple[str, str]:
    none, one = (found.cost for found in priced[:2])
    added = money(rounded(one.total - none.total), none.currency)
    if about.model.metric == LicenceModel.Metric.NONE:
        licence = "there is no licence to pay"
    elif STANDBY in about.model.licence_rules().exempt_roles:
        licence = f"{about.model} exempts a standby"
    else:
        licence = f"{about.model} is paid for it as for the primary"
    lead = f"The first standby adds {added} to {about.name}: the hardware is bought again, and {licence}."
    return lead, "A standby adds cost and, here, no throughput: what was measured is one machine."


def pareto(of: Table) -> Panel:
    title = "Which choices does no other beat?"
    found = [(row, cell, cell.quote) for row, cell in of.quoted if cell.quote]
    if sentence := unlike([quote.currency for *_, quote in found]):
        return refused(PARETO, title, sentence)
    if len(found) < 2:
        return refused(PARETO, title, "One choice alone has no other to be held against.")
    places_kept = questions.pareto([quote for *_, quote in found])
    currency = found[0][2].currency
    spots = [
        Spot(cell.licence, row.of.series, float(quote.total), float(quote.throughput.value), place in places_kept)
        for place, (row, cell, quote) in enumerate(found)
    ]
    order = sorted(range(len(found)), key=lambda place: (place not in places_kept, found[place][2].total))
    rows = tuple(_spot_row(*found[place][:2], place in places_kept) for place in order)
    named = [f"{found[place][0].of.system.label} under {found[place][1].licence}" for place in places_kept]
    count = f"{len(named)} of {len(found)} choices {'is' if len(named) == 1 else 'are'} on the frontier"
    lead = f"{count}: no other costs as little and gives as much. By rising cost: {'; '.join(named)}."
    more = (
        "Filled marks are on the frontier. It goes by the medians: where repeats overlap, a neighbour may be as good."
    )
    labels = [(row.of.series, row.of.system.label) for row in of.rows]
    columns = ("System", "Licence", f"Total, {currency}", f"Throughput, {of.unit}", "On the frontier")
    return Panel(PARETO, title, (lead, more), columns, rows, figures.frontier(spots, labels, currency, of.unit))


def _spot_row(row: Row, cell: Cell, is_kept: bool) -> PanelRow:
    assert cell.quote is not None
    assert row.at is not None
    throughput = Decimal(f"{cell.quote.throughput.value:.{row.at.level.throughput.digits}g}")
    said = "yes" if is_kept else ""
    values = (row.of.system.label, cell.licence, rounded(cell.quote.total), Decimal(f"{throughput:f}"), said)
    return PanelRow(values, why=why(row, cell.model), is_marked=is_kept)
