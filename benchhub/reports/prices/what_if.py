"""Questions beside the table: break-even of two licences, what moves the price most, the frontier, standbys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.http import QueryDict

from benchhub.analysis.pricing import questions
from benchhub.analysis.pricing.money import PricingError, money, rounded
from benchhub.analysis.pricing.questions import BreakEven, Crossing, Effect
from benchhub.analysis.pricing.quote import Quote, quote_of
from benchhub.analysis.pricing.sheets.sheet import Kind
from benchhub.analysis.pricing.steps import Step, step
from benchhub.analysis.pricing.topology import POOLER, Machine, Node
from benchhub.analysis.words import count, plain, word
from benchhub.bench.models import System
from benchhub.catalog.models import LicenceModel
from benchhub.reports.curves.panel import Panel, PanelRow, refused, unlike

from . import figures
from .cells import Cell, Row, places_of
from .figures import Line, Spot
from .orders import STANDBY, NoPrice, Priced
from .pictures import drawn, kinds_of, why
from .table import Table, metered

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
    """The subject of the questions: one curve under one licence model, and two licence models to compare."""

    row: Row
    model: LicenceModel
    pair: tuple[LicenceModel, LicenceModel] | None

    @property
    def name(self) -> str:
        return f"{self.row.system_curve.system.label} under {self.model}"


def subject(query: QueryDict, table: Table, keys: Sequence[str]) -> Subject | None:
    """Choose the subject by `subject` (a curve's key), `drawn`, `one` and `other`; the first of each by default."""
    model = drawn(query, table)
    if model is None or not table.rows:
        return None
    rows = dict(zip(keys, table.rows, strict=True))
    return Subject(rows.get(query.get("subject", ""), table.rows[0]), model, _pair(query, table))


def _pair(query: QueryDict, table: Table) -> tuple[LicenceModel, LicenceModel] | None:
    models = metered(table.price_book.licence_models)
    if len(models) < 2:
        return None
    by_key = {str(model.pk): model for model in models}
    first = by_key.get(query.get("one", ""), models[0])
    default = next(model for model in models if model != first)
    other = by_key.get(query.get("other", ""), default)
    return (first, default if other == first else other)


def panels(table: Table, subject: Subject) -> list[Panel]:
    cell = next((cell for cell in subject.row.cells if cell.model == subject.model), None)
    drawn_panels = [break_even(table, subject), pareto(table)]
    if cell is not None and cell.quote is not None:
        drawn_panels[1:1] = [sensitivity(table, subject, cell), standbys(table, subject, cell)]
    return drawn_panels


def break_even(table: Table, subject: Subject) -> Panel:
    title = "From how many cores is which licence the cheaper?"
    if subject.pair is None:
        return refused(BREAK_EVEN, title, "A break-even needs two licence models that cost something.")
    system = subject.row.system_curve.system
    machine, poolers = system.hardware.machine(), _poolers(system)
    most = min(max(FEWEST_CORES, 2 * machine.cores_per_socket), max(MOST_CORES, machine.cores_per_socket))
    counts = range(machine.disabled_cores_per_socket + 1, most + 1)
    try:
        first, second = (table.costs.licence(model) for model in subject.pair)
        terms, users = table.costs.quote_terms, table.terms.users
        result = questions.break_even(first, second, machine, counts, terms, users, poolers)
    except PricingError as error:
        return refused(BREAK_EVEN, title, str(error))
    names = (first.name, second.name)
    rows = tuple(_crossing(machine, row) for row in result.rows)
    lines = [
        Line(name, series, counts, [None if cost is None else float(cost) for cost in costs])
        for series, (name, costs) in enumerate(
            zip(names, ([row.cost for row in result.rows], [row.other_cost for row in result.rows]), strict=True)
        )
    ]
    figure = figures.against_cores(lines, result.currency, machine.cores_per_socket)
    columns = ("Cores per socket", *(f"{name}, {result.currency}" for name in names), "Cheaper")
    captions = (*_crossings(result, names, machine, table), *map(_beside, poolers))
    return Panel(BREAK_EVEN, title, captions, columns, rows, figure)


def _poolers(system: System) -> tuple[Node, ...]:
    _, *poolers = system.machines
    return tuple(Node(hardware.machine(), role=POOLER) for hardware in poolers)


def _beside(pooler: Node) -> str:
    """Say that a pooler's machine is counted, and how."""
    cores = count(pooler.machine.cores(True), "core")
    return f"The pooler's machine, {pooler.machine.name}, keeps its {cores}, unless a licence exempts it."


def _crossing(machine: Machine, row: Crossing) -> PanelRow:
    is_own = row.cores_per_socket == machine.cores_per_socket
    amounts = tuple(None if cost is None else rounded(cost) for cost in (row.cost, row.other_cost))
    cheaper = row.cheaper or ("the same" if row.cost is not None else "neither can be bought")
    return PanelRow((row.cores_per_socket, *amounts, cheaper), row.steps, is_marked=is_own)


def _crossings(result: BreakEven, names: tuple[str, str], machine: Machine, table: Table) -> tuple[str, ...]:
    """Say which licence is cheaper on this machine first; then where that changes."""
    first, last = result.rows[0].cores_per_socket, result.rows[-1].cores_per_socket
    own_row = next((row for row in result.rows if row.cores_per_socket == machine.cores_per_socket), result.rows[-1])
    cores = f"{machine.name} has {machine.sockets} x {machine.cores_per_socket} cores"
    lead = f"{cores}: over {count(table.terms.years, 'year')}, {_cheaper_text(own_row)}."
    if not result.changes:
        span = f"That holds from {first} to {last} cores per socket."
        return (lead, f"{span} Licence and support of {names[0]} and {names[1]}, the hardware left aside.")
    start = f"With {count(first, 'core')} per socket {_cheaper_text(result.rows[0])}."
    changes = " ".join(f"From {row.cores_per_socket} on {_cheaper_text(row)}." for row in result.changes)
    return (
        lead,
        f"{start} {changes} Counted up to {last}; licence and support alone, the hardware left aside.",
    )


def _cheaper_text(row: Crossing) -> str:
    if row.cheaper:
        return f"{row.cheaper} is the cheaper"
    return "both cost the same" if row.cost is not None else "neither can be bought"


def sensitivity(table: Table, subject: Subject, cell: Cell) -> Panel:
    title = "What moves the price most?"
    assert cell.priced is not None
    assert cell.quote is not None
    quote = cell.quote
    effects = questions.sensitivity(cell.priced.order, quote.throughput, table.costs.quote_terms)
    if not effects:
        return refused(SENSITIVITY, title, f"Nothing that can be changed moves the price of {subject.name}.")
    unit, places = f"{quote.currency} per {table.unit}", places_of(quote.quotient, 3)
    labels = [_setting(effect) for effect in effects]
    ends = [(float(effect.price_at_low), float(effect.price_at_high)) for effect in effects]
    rows = tuple(
        PanelRow(
            (
                label,
                *(rounded(price, places) for price in (effect.price_at_low, effect.price_at_high, effect.size)),
            ),
            _ends(effect, quote),
            why=why(subject.row, subject.model),
        )
        for label, effect in zip(labels, effects, strict=True)
    )
    lead = (
        f"{labels[0]}, moves the price of {subject.name} most: {rows[0].values[1]:,} to {rows[0].values[2]:,} {unit}."
    )
    explanation = (
        "Each bar prices the same order again with one setting changed and all else as it is; the line is the present "
        f"price, {cell.price:,}. Left out is what moves nothing (support without a perpetual licence, hours "
        "without one by the hour) and a term that a price sheet has no price for."
    )
    columns = ("Setting", f"Price at its low end, {unit}", "at its high end", "Difference")
    figure = figures.tornado([figures.label(*label.split(", ")) for label in labels], ends, float(quote.quotient), unit)
    return Panel(SENSITIVITY, title, (lead, explanation), columns, rows, figure)


def _setting(effect: Effect) -> str:
    ends = f"{plain(effect.low)} to {plain(effect.high)}{' years' if effect.name == 'term' else '%'}"
    return f"{SETTINGS[effect.name]}, {ends}"


def _ends(effect: Effect, present: Quote) -> tuple[Step, ...]:
    """Derive the price at each end, as far as it differs from the present one, which is derived above."""
    ends = ((effect.low, effect.at_low), (effect.high, effect.at_high))
    sentences = {present_step.sentence for present_step in present.steps}
    steps: list[Step] = []
    for value, quote in ends:
        steps += [_end(effect, value), *(part for part in quote.steps if part.sentence not in sentences)]
    return tuple(steps)


def _end(effect: Effect, value: Decimal) -> Step:
    template = "{setting}, {result}, and all else as in the present price"
    words = count(int(value), "year") if effect.name == "term" else f"{plain(value)}%"
    return step("setting", template, words, setting=SETTINGS[effect.name])


def standbys(table: Table, subject: Subject, cell: Cell) -> Panel:
    """Price the primary with standbys of the same hardware; only the primary was measured."""
    title = "What do standbys cost?"
    system, counts = subject.row.system_curve.system, sorted({*STANDBYS, table.terms.standbys})
    prices = [table.costs.with_standbys(system, subject.model, standbys) for standbys in counts]
    if reasons := [price.sentence for price in prices if isinstance(price, NoPrice)]:
        return refused(TOPOLOGY, title, reasons[0])
    priced = [price for price in prices if isinstance(price, Priced)]
    currency = priced[0].cost.currency
    kinds = kinds_of([price.cost for price in priced])
    rows = tuple(_standby(table, cell, kinds, standbys, price) for standbys, price in zip(counts, priced, strict=True))
    parts = [(kind, [float(price.cost.subtotal(kind)) for price in priced]) for kind in kinds]
    labels = [count(standbys, "standby") for standbys in counts]
    amounts = [f"{name}, {currency}" for name in (*map(str.capitalize, kinds), "Total")]
    columns = ("Standbys", *amounts, f"Price, {currency} per {table.unit}")
    figure = figures.stacked(labels, parts, currency)
    return Panel(TOPOLOGY, title, _first_standby(subject, priced), columns, rows, figure)


def _standby(table: Table, cell: Cell, kinds: Sequence[Kind], standbys: int, priced: Priced) -> PanelRow:
    assert cell.quote is not None
    assert cell.price is not None
    parts = (rounded(priced.cost.subtotal(kind)) for kind in kinds)
    places = -int(cell.price.as_tuple().exponent)
    price = quote_of(priced.cost, cell.quote.throughput).price(places, table.terms.rounding)
    is_asked = standbys == table.terms.standbys
    return PanelRow((standbys, *parts, rounded(priced.cost.total), price), priced.steps, is_marked=is_asked)


def _first_standby(subject: Subject, priced: Sequence[Priced]) -> tuple[str, str]:
    without_standby, with_standby = (price.cost for price in priced[:2])
    added = money(rounded(with_standby.total - without_standby.total), without_standby.currency)
    if not subject.model.is_licensed:
        licence = "there is no licence to pay"
    elif STANDBY in subject.model.licence_rules().exempt_roles:
        licence = f"{subject.model} exempts a standby"
    else:
        licence = f"{subject.model} is paid for it as for the primary"
    lead = f"The first standby adds {added} to {subject.name}: the hardware is bought again, and {licence}."
    return lead, "A standby adds cost and, here, no throughput: what was measured is one machine."


def pareto(table: Table) -> Panel:
    title = "Which choices does no other beat?"
    quoted = [(row, cell, cell.quote) for row, cell in table.quoted if cell.quote]
    if sentence := unlike([quote.currency for *_, quote in quoted]):
        return refused(PARETO, title, sentence)
    if len(quoted) < 2:
        return refused(PARETO, title, "One choice alone has no other to be held against.")
    frontier_places = questions.pareto([quote for *_, quote in quoted])
    currency = quoted[0][2].currency
    spots = [
        Spot(
            cell.licence,
            row.system_curve.series,
            float(quote.total),
            float(quote.throughput.value),
            place in frontier_places,
        )
        for place, (row, cell, quote) in enumerate(quoted)
    ]
    order = sorted(range(len(quoted)), key=lambda place: (place not in frontier_places, quoted[place][2].total))
    rows = tuple(_spot_row(*quoted[place][:2], place in frontier_places) for place in order)
    names = [
        f"{quoted[place][0].system_curve.system.label} under {quoted[place][1].licence}" for place in frontier_places
    ]
    frontier_text = f"{len(names)} of {len(quoted)} choices {word('is', len(names), 'are')} on the frontier"
    lead = f"{frontier_text}: no other costs as little and gives as much. By rising cost: {'; '.join(names)}."
    explanation = (
        "Filled marks are on the frontier. It goes by the geometric means alone: where repeats overlap, a neighbour "
        "may be as good."
    )
    labels = [(row.system_curve.series, row.system_curve.system.label) for row in table.rows]
    columns = ("System", "Licence", f"Total, {currency}", f"Throughput, {table.unit}", "On the frontier")
    return Panel(
        PARETO, title, (lead, explanation), columns, rows, figures.frontier(spots, labels, currency, table.unit)
    )


def _spot_row(row: Row, cell: Cell, is_on_frontier: bool) -> PanelRow:
    assert cell.quote is not None
    assert row.at is not None
    throughput = Decimal(f"{cell.quote.throughput.value:.{row.at.level.throughput.digits}g}")
    answer = "yes" if is_on_frontier else ""
    values = (
        row.system_curve.system.label,
        cell.licence,
        rounded(cell.quote.total),
        Decimal(f"{throughput:f}"),
        answer,
    )
    return PanelRow(values, why=why(row, cell.model), is_marked=is_on_frontier)
