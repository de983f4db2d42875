"""The measured systems of a document: hardware, environment, tuning, method, sources, settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchhub.analysis.snapshot import nodes
from benchhub.analysis.snapshot.nodes import Node
from benchhub.analysis.snapshot.settings import is_plain, shown, shown_of_os
from benchhub.analysis.words import duration
from benchhub.bench.run_page.settings import setting_rows
from benchhub.reports.comparison import csv as comparison_csv
from benchhub.reports.comparison.answers import environment
from benchhub.reports.comparison.answers.systems import Side, flat, side_by_side
from benchhub.reports.comparison.comparison import Comparison
from benchhub.reports.comparison.entries import Entries, Entry
from runners.poolers.settings import QUERIES

from .results import from_csv

VENDOR, HOST = ("vendor",), ("host",)
MOST_SETTINGS_OPEN = 30
DECLARED = "These curves are of different protocols. Somebody declared them comparable all the same:"
FIRST_PROTOCOL = "The protocol of the first curve; the table above says where that of others differs."
KEPT_BACK = "These systems differ in settings that a published page does not show."
# Fields of a system besides its settings; names in them are hidden as everywhere.
OF_SYSTEMS = (
    "version", "kind", "hardware", "instance", "server", "driver", "build", "volatile_storage", "path", "pooler",
)  # fmt: skip
ASKED_OF_SYSTEMS = ("settings", "os_settings")
# Of a pooler, as asked for and as found: texts that are shown where their form is plain.
OF_POOLERS = {name for query in QUERIES for name in (f"pooler {query}", f"pooler: {query.replace('_', ' ')}")}
# Facts that name who made the machine.
OF_VENDORS = (
    "model",
    "core_kinds",
    "vendor",
    "hypervisor",
    "sys_vendor",
    "product_name",
    "board_vendor",
    "board_name",
    "processor",
    "disks",
)


def sections(comparison: Comparison) -> list[Node]:
    """Write the sections on the systems, the protocol and the sources of these curves."""
    entries = comparison.entries
    hardware = _sides("hardware-table", "Hardware", comparison.hardware, entries)
    return [
        nodes.section("hardware", "Hardware, as bought", [hardware]),
        nodes.section("environment", "Environment, as found", _environment(comparison)),
        nodes.section("tuning", "Tuning, as asked for", _tuning(entries)),
        nodes.section("differences", "What differs between the systems", _differences(comparison)),
        nodes.section("method", "Method", [*_declared(comparison), *_method(comparison)]),
        nodes.section("sources", "Where the curves come from", _sources(entries)),
        nodes.section("settings", "Settings, as found", _settings(comparison)),
    ]


def tables(comparison: Comparison) -> list[Node]:
    differences = _public_differences(comparison)
    systems = from_csv("systems", "Hardware, and what differs", comparison_csv.systems(comparison, differences), {})
    if not comparison.facts:
        return [systems]
    columns = [nodes.data_column("setting"), *(nodes.data_column(entry.label) for entry in comparison.entries)]
    rows = [(side.name, *map(str, side.values)) for side in setting_sides(comparison)]
    return [systems, nodes.data("settings", "Server settings as found", columns, rows)]


def _sides(name: str, title: str, sides: Iterable[Side], entries: Entries, **options: Any) -> Node:
    """Write fields of the compared curves side by side; those that differ are marked."""
    columns = [nodes.column("Field"), *(nodes.column(entry.label, series=entry.series) for entry in entries)]
    return nodes.table(name, title, columns, map(_side, sides), style="sides", **options)


def _side(side: Side) -> Node:
    field = side.name.rpartition(": ")[2].lower().replace(" ", "_")
    about = VENDOR if field in OF_VENDORS else ()
    cells = [nodes.cell(side.name, role="head"), *(nodes.cell(str(value) or "–") for value in side.values)]
    return nodes.row(cells, is_marked=side.differs, about=about)


def _environment(comparison: Comparison) -> list[Node]:
    if not comparison.facts:
        return [nodes.paragraph("Nothing was found out about the hosts of these runs.")]
    table = _sides("found-table", "Environment", found_sides(comparison), comparison.entries)
    remarks = [nodes.paragraph(text, "caption") for text in comparison.environment_remarks]
    return [nodes.paragraph(environment.WHERE, "caption"), *remarks, table]


def found_sides(comparison: Comparison) -> list[Side]:
    """Return what was found on the hosts and is published, with its value of each curve."""
    return _public(comparison.environment)


def _tuning(entries: Entries) -> list[Node]:
    columns = [nodes.column("System"), nodes.column("Build"), nodes.column("Configuration")]
    table = nodes.table("configurations", "Configurations", columns, map(_configuration, entries))
    forms = [entry.system.configuration for entry in entries]
    settings = [{**_texts(shown(form.settings)), **_texts(shown_of_os(form.os_settings))} for form in forms]
    if not any(settings):
        return [table, nodes.paragraph("No setting was asked for: the servers ran with their own.")]
    return [table, _sides("asked-table", "Settings asked for", side_by_side(settings), entries)]


def _texts(settings: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in settings.items()}


def _configuration(entry: Entry) -> Node:
    system = entry.system
    return nodes.row(
        [
            nodes.cell(entry.label, series=entry.series, role="head"),
            nodes.cell(str(system.build), notes=_built_with(system.build.configure_options)),
            nodes.cell(str(system.configuration)),
        ]
    )


def _built_with(options: str) -> list[Node]:
    """Write the options of a build, whose folders say where it lies on its host."""
    return [nodes.note(options, HOST)] if options else []


def _differences(comparison: Comparison) -> list[Node]:
    entries = comparison.entries
    if len(entries) < 2:
        return [nodes.paragraph("One curve alone differs from nothing.")]
    if sides := _public_differences(comparison):
        return [_sides("differences-table", "What differs between the systems", sides, entries)]
    return [nodes.paragraph(KEPT_BACK if comparison.differences else comparison.nothing_asked_text)]


def _public_differences(comparison: Comparison) -> list[Side]:
    """Return the differences without those that any of the systems must keep back."""
    kept_back = {name for entry in comparison.entries for name in _kept_back(entry.system.description)}
    return [side for side in _public(comparison.differences) if side.name not in kept_back]


def _public(sides: Iterable[Side]) -> list[Side]:
    return [side for side in sides if side.name not in OF_POOLERS or all(map(is_plain, side.values))]


def _kept_back(description: Mapping[str, Any]) -> set[str]:
    """Return the names of settings that may carry secrets, and of fields that this release does not know."""
    settings, os_settings = (description.get(name) or {} for name in ASKED_OF_SYSTEMS)
    others = description.keys() - {*OF_SYSTEMS, *ASKED_OF_SYSTEMS}
    return {
        *(settings.keys() - shown(settings).keys()),
        *(os_settings.keys() - shown_of_os(os_settings).keys()),
        *flat({name: description[name] for name in others}),
    }


def _declared(comparison: Comparison) -> list[Node]:
    """Say in what the protocols differ, and why somebody holds them comparable all the same."""
    if not comparison.declarations:
        return []
    heads = [", ".join(entry.label for entry in group) for group in comparison.groups]
    columns = [nodes.column("Field"), *map(nodes.column, heads)]
    title = "What differs between the protocols"
    table = nodes.table("declared-table", title, columns, map(_side, comparison.differing), style="sides")
    return [*(nodes.paragraph(f"{DECLARED} {row.reason}", "note") for row in comparison.declarations), table]


def _method(comparison: Comparison) -> list[Node]:
    rows = [nodes.row([nodes.cell(name, role="head"), nodes.cell(text)]) for name, text in comparison.protocol]
    columns = [nodes.column("What"), nodes.column("As asked for")]
    return [
        nodes.paragraph(FIRST_PROTOCOL if comparison.declarations else environment.ONE_PROTOCOL),
        nodes.table("protocol", "Protocol", columns, rows, style="given"),
        nodes.paragraph(environment.DESIGN),
    ]


def _sources(entries: Entries) -> list[Node]:
    heads = ("Curve", "Experiment", "Workload", "Each run lasted", "Runs")
    columns = [nodes.column(head) for head in heads]
    return [nodes.table("sources-table", "Where the curves come from", columns, map(_source, entries))]


def _source(entry: Entry) -> Node:
    experiment, host = entry.experiment, entry.system.instance.host
    warmup = f"after {duration(experiment.warmup_s)} of warm-up" if experiment.warmup_s else "no warm-up"
    on_host = [nodes.note(f"on {host}", HOST)] if host else []
    return nodes.row(
        [
            nodes.cell(entry.label, series=entry.series, role="head", notes=on_host),
            nodes.cell(experiment.name, notes=[f"planned on {experiment.created_at.date().isoformat()}"]),
            nodes.cell(str(experiment.workload)),
            nodes.cell(duration(experiment.duration_s), notes=[warmup]),
            nodes.cell(", ".join(str(run.run) for level in entry.curve.levels for run in level.runs)),
        ]
    )


def _settings(comparison: Comparison) -> list[Node]:
    """Write the settings that are not the server's own default; the table for programs has all of them."""
    if not comparison.facts:
        return [nodes.paragraph("Nothing was found out about the servers of these runs.")]
    rows = comparison.facts.values()
    changed = {name for row in rows for name, value in row.settings.items() if _is_set(value)}
    sides = [side for side in setting_sides(comparison) if side.name in changed]
    caption = (
        "Settings that something set, at one run of each curve's peak. The table of all settings can be downloaded."
    )
    title, is_folded = "Settings that something set", len(sides) > MOST_SETTINGS_OPEN
    table = _sides("found-settings", title, sides, comparison.entries, is_folded=is_folded)
    return [nodes.paragraph(caption, "caption"), table]


def _is_set(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("source") not in (None, "", "default")


def setting_sides(comparison: Comparison) -> list[Side]:
    """Return the settings that were found and are published, with their value of each curve."""
    forms = []
    for entry in comparison.entries:
        row = comparison.facts.get(entry.key)
        rows = setting_rows(shown(row.settings)) if row else []
        forms.append({fact.name: str(fact.value) for fact in rows})
    return sorted(side_by_side(forms), key=lambda side: side.name)
