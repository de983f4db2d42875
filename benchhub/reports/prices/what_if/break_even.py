"""From how many cores on another of two licences is the cheaper."""

from __future__ import annotations

from benchhub.analysis.pricing import questions
from benchhub.analysis.pricing.money import PricingError, rounded
from benchhub.analysis.pricing.questions import BreakEven, Crossing
from benchhub.analysis.pricing.topology import POOLER, Machine, Node
from benchhub.analysis.words import count
from benchhub.bench.models import System
from benchhub.reports.curves.panel import Panel, PanelRow, refused
from benchhub.reports.prices import figures
from benchhub.reports.prices.figures import Line
from benchhub.reports.prices.table import Table

from .subjects import Subject

NAME, TITLE = "break-even", "From how many cores is which licence the cheaper?"
FEWEST_CORES, MOST_CORES = 32, 128


def panel(table: Table, subject: Subject) -> Panel:
    if subject.pair is None:
        return refused(NAME, TITLE, "A break-even needs two licence models that cost something.")
    system = subject.row.system_curve.system
    machine, poolers = system.hardware.machine(), _poolers(system)
    try:
        first, second = (table.costs.licence(model) for model in subject.pair)
        terms, users = table.costs.quote_terms, table.terms.users
        result = questions.break_even(first, second, machine, _core_counts(machine), terms, users, poolers)
    except PricingError as error:
        return refused(NAME, TITLE, str(error))
    names = (first.name, second.name)
    rows = tuple(_crossing(machine, row) for row in result.rows)
    figure = figures.against_cores(_lines(result, names), result.currency, machine.cores_per_socket)
    columns = ("Cores per socket", *(f"{name}, {result.currency}" for name in names), "Cheaper")
    captions = (*_crossings(result, names, machine, table), *map(_beside, poolers))
    return Panel(NAME, TITLE, captions, columns, rows, figure)


def _core_counts(machine: Machine) -> range:
    """Return the cores per socket that are drawn: twice those of the machine, within bounds that can be bought."""
    most = min(max(FEWEST_CORES, 2 * machine.cores_per_socket), max(MOST_CORES, machine.cores_per_socket))
    return range(machine.disabled_cores_per_socket + 1, most + 1)


def _lines(result: BreakEven, names: tuple[str, str]) -> list[Line]:
    counts = [row.cores_per_socket for row in result.rows]
    costs = ([row.cost for row in result.rows], [row.other_cost for row in result.rows])
    return [
        Line(name, series, counts, [None if cost is None else float(cost) for cost in amounts])
        for series, (name, amounts) in enumerate(zip(names, costs, strict=True))
    ]


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
