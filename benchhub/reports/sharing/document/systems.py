"""On what, how and from where a comparison was measured: hardware, environment, tuning, method, sources, settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchhub.analysis.snapshot import nodes
from benchhub.analysis.snapshot.nodes import Node
from benchhub.analysis.words import duration
from benchhub.bench.run_page import page as run_page_page
from benchhub.reports.comparison import comparison
from benchhub.reports.comparison import csv as comparison_csv
from benchhub.reports.comparison import environment as comparison_environment
from benchhub.reports.comparison.comparison import Chosen, Side
from benchhub.reports.comparison.environment import Facts

from .results import from_csv

VENDOR, HOST = ("vendor",), ("host",)
DECLARED = "These curves are of different protocols. Somebody declared them comparable all the same:"
FIRST_PROTOCOL = "The protocol of the first curve; the table above says where that of others differs."
# Facts that name who made the machine.
OF_VENDORS = (
    "model",
    "vendor",
    "hypervisor",
    "sys_vendor",
    "product_name",
    "board_vendor",
    "board_name",
    "processor",
    "disks",
)


def sections(chosen: Sequence[Chosen], facts: Facts, declared: Sequence[Node]) -> list[Node]:
    """`declared` is what makes curves of different protocols comparable; empty for one protocol."""
    return [
        nodes.section(
            "hardware", "Hardware, as bought", [_sides("hardware-table", "Hardware", hardware(chosen), chosen)]
        ),
        nodes.section("environment", "Environment, as found", _environment(chosen, facts)),
        nodes.section("tuning", "Tuning, as asked for", _tuning(chosen)),
        nodes.section("differences", "What differs between the systems", _differences(chosen)),
        nodes.section("method", "Method", [*declared, *_method(chosen, is_one=not declared)]),
        nodes.section("sources", "Where the curves come from", _sources(chosen)),
        nodes.section("settings", "Settings, as found", _settings(chosen, facts)),
    ]


def hardware(chosen: Sequence[Chosen]) -> list[Side]:
    return comparison.hardware(chosen)


def tables(chosen: Sequence[Chosen], facts: Facts) -> list[Node]:
    asked = [*comparison.hardware(chosen), *comparison.system_differences(chosen)]
    both = [from_csv("systems", "Hardware, and what differs", comparison_csv.systems(asked, chosen), {})]
    if facts:
        columns = [nodes.data_column("setting"), *(nodes.data_column(one.label) for one in chosen)]
        rows = [(side.name, *map(str, side.values)) for side in _all_settings(chosen, facts)]
        both.append(nodes.data("settings", "Server settings as found", columns, rows))
    return both


def _sides(name: str, title: str, sides: Iterable[Side], chosen: Sequence[Chosen], **how: Any) -> Node:
    """Fields of the compared curves side by side; what differs is marked."""
    columns = [nodes.column("Field"), *(nodes.column(one.label, series=one.of.series) for one in chosen)]
    return nodes.table(name, title, columns, map(_side, sides), style="sides", **how)


def _side(side: Side) -> Node:
    field = side.name.rpartition(": ")[2].lower().replace(" ", "_")
    about = VENDOR if field in OF_VENDORS else ()
    cells = [nodes.cell(side.name, role="head"), *(nodes.cell(str(value) or "–") for value in side.values)]
    return nodes.row(cells, is_marked=side.differs, about=about)


def _environment(chosen: Sequence[Chosen], facts: Facts) -> list[Node]:
    if not facts:
        return [nodes.paragraph("Nothing was found out about the hosts of these runs.")]
    said = comparison_environment.WHERE
    shown = _sides("found-table", "Environment", comparison_environment.environment(chosen, facts), chosen)
    return [nodes.paragraph(said, "caption"), shown]


def _tuning(chosen: Sequence[Chosen]) -> list[Node]:
    asked = [_asked_settings(one) for one in chosen]
    named = nodes.table(
        "configurations",
        "Configurations",
        [nodes.column("System"), nodes.column("Build"), nodes.column("Configuration")],
        [
            nodes.row(
                [
                    nodes.cell(one.label, series=one.of.series, role="head"),
                    nodes.cell(str(one.of.system.build), notes=filter(None, [one.of.system.build.configure_options])),
                    nodes.cell(str(one.of.system.configuration)),
                ]
            )
            for one in chosen
        ],
    )
    if not any(asked):
        return [named, nodes.paragraph("No setting was asked for: the servers ran with their own.")]
    return [named, _sides("asked-table", "Settings asked for", comparison_environment.side_by_side(asked), chosen)]


def _asked_settings(one: Chosen) -> dict[str, str]:
    configuration = one.of.system.configuration
    return {name: str(value) for name, value in {**configuration.settings, **configuration.os_settings}.items()}


def _differences(chosen: Sequence[Chosen]) -> list[Node]:
    if len(chosen) < 2:
        return [nodes.paragraph("One curve alone differs from nothing.")]
    if differences := comparison.system_differences(chosen):
        return [_sides("differences-table", "What differs between the systems", differences, chosen)]
    return [nodes.paragraph(comparison.nothing_asked(hardware(chosen)))]


def declared(reasons: Sequence[str], groups: Sequence[Sequence[Chosen]], differing: Sequence[Side]) -> list[Node]:
    """That protocols differ, in what, and why somebody holds them comparable all the same."""
    heads = [", ".join(one.label for one in group) for group in groups]
    columns = [nodes.column("Field"), *map(nodes.column, heads)]
    shown = nodes.table(
        "declared-table", "What differs between the protocols", columns, map(_side, differing), style="sides"
    )
    said = [nodes.paragraph(f"{DECLARED} {reason}", "note") for reason in reasons]
    return [*said, shown]


def _method(chosen: Sequence[Chosen], *, is_one: bool) -> list[Node]:
    rows = [
        nodes.row([nodes.cell(name, role="head"), nodes.cell(asked)])
        for name, asked in comparison_environment.protocol(chosen)
    ]
    return [
        nodes.paragraph(comparison_environment.ONE_PROTOCOL if is_one else FIRST_PROTOCOL),
        nodes.table("protocol", "Protocol", [nodes.column("What"), nodes.column("As asked for")], rows, style="given"),
        nodes.paragraph(comparison_environment.DESIGN),
    ]


def _sources(chosen: Sequence[Chosen]) -> list[Node]:
    heads = ("Curve", "Experiment", "Workload", "Each run lasted", "Runs")
    columns = [nodes.column(head) for head in heads]
    return [nodes.table("sources-table", "Where the curves come from", columns, map(_source, chosen))]


def _source(one: Chosen) -> Node:
    experiment = one.experiment
    warmup = f"after {duration(experiment.warmup_s)} of warm-up" if experiment.warmup_s else "no warm-up"
    runs = ", ".join(str(run.run) for level in one.of.curve.levels for run in level.runs)
    host = one.of.system.instance.host
    return nodes.row(
        [
            nodes.cell(
                one.label, series=one.of.series, role="head", notes=[nodes.note(f"on {host}", HOST)] if host else []
            ),
            nodes.cell(experiment.name, notes=[f"planned on {experiment.created_at.date().isoformat()}"]),
            nodes.cell(str(experiment.workload)),
            nodes.cell(duration(experiment.duration_s), notes=[warmup]),
            nodes.cell(runs),
        ]
    )


def _settings(chosen: Sequence[Chosen], facts: Facts) -> list[Node]:
    """Those that are not the server's own default; all of them are in the table for programs."""
    if not facts:
        return [nodes.paragraph("Nothing was found out about the servers of these runs.")]
    changed = {name for row in facts.values() for name, value in row.settings.items() if _is_set(value)}
    sides = [side for side in _all_settings(chosen, facts) if side.name in changed]
    said = "Settings that something set, at one run of each curve's peak. The table of all settings can be downloaded."
    shown = _sides("found-settings", "Settings that something set", sides, chosen, is_folded=len(sides) > 30)
    return [nodes.paragraph(said, "caption"), shown]


def _is_set(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("source") not in (None, "", "default")


def _all_settings(chosen: Sequence[Chosen], facts: Facts) -> list[Side]:
    forms = []
    for one in chosen:
        row = facts.get(one.key)
        forms.append({fact.name: str(fact.value) for fact in run_page_page.setting_rows(row.settings)} if row else {})
    return sorted(comparison_environment.side_by_side(forms), key=lambda side: side.name)
