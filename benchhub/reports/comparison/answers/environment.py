"""The environment of compared curves, as found, and the method: for the page and for what is published."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.html import strip_tags

from benchhub.analysis.protocol.digest import PROTOCOL_DEFAULTS, labels
from benchhub.bench.models import Found
from benchhub.reports.comparison import queries
from benchhub.reports.comparison.entries import Entries, Entry
from benchhub.ui import facts as ui_facts
from benchhub.ui.numbers import measured

from .systems import Side, protocol_text, side_by_side

Facts = Mapping[str, Found]  # by the key of a curve: the facts around one run at its peak
# The facts of a host that may be published; all others stay here.
ENVIRONMENT = (
    "os", "kernel", "architecture", "cpu", "memory_bytes", "swap_bytes", "transparent_huge_pages", "cpu_governors",
    "clock_source", "kernel_options", "sysctls", "block_devices", "filesystems", "dmi",
)  # fmt: skip
WHERE = "What BenchHub found on the hosts of the servers, at one run of each curve's peak."
ONE_PROTOCOL = "All curves were measured under one protocol; it is what runs must agree on to be compared at all."
DESIGN = (
    "Each level is run once or several times, as planned; a failed run never becomes a point. What is drawn, compared "
    "and priced is the geometric mean of a level's repeats. Below three its spread is their range and nothing is "
    "tested, from three on it is the 95% interval of that mean (Student's t of logarithms)."
)


def facts_at_peaks(entries: Entries) -> dict[str, Found]:
    """Return the facts found around one run at each curve's peak, by the key of the curve."""
    runs = {entry.curve.peak.level.runs[0].run: entry.key for entry in entries}
    return {runs[row.run_id]: row for row in queries.found(runs)}


def environment(entries: Entries, facts: Facts) -> list[Side]:
    """Return servers, ways of driving and facts of hosts side by side; empty without any facts."""
    if not facts:
        return []
    rows = [facts.get(entry.key) for entry in entries]
    servers = Side("server", tuple(str(row.server.get("version", "")) if row else "" for row in rows))
    drivers = Side("driven from", tuple(_driver_text(entry) for entry in entries))
    host_facts = [_host_facts(entry, row) for entry, row in zip(entries, rows, strict=True)]
    return [servers, drivers, *side_by_side(host_facts)]


def protocol(entries: Entries) -> list[tuple[str, str]]:
    """Return the conditions of the runs as (field, text); all curves must share one protocol."""
    key = entries[0].curve.protocol_digest
    form = {**PROTOCOL_DEFAULTS, **queries.protocol_forms([key]).get(key, {})}
    names = [name for name in form if name not in ("version", "kind") and form[name] not in ({}, None, "")]
    return [(label, protocol_text(name, form[name])) for name, label in zip(names, labels(names), strict=True)]


def _driver_text(entry: Entry) -> str:
    path = entry.system.get_path_display()
    return f"the server's own host, by {path}" if entry.system.driven_locally else f"another host, by {path}"


def _host_facts(entry: Entry, row: Found | None) -> dict[str, str]:
    """Return the facts that may be published, flat, as text: {'cpu: cores per socket': '4'}."""
    host = entry.system.instance.host
    facts = row.host.get(host.name, {}) if row and host else {}
    public = {name: facts[name] for name in ENVIRONMENT if name in facts}
    return {
        fact.name if part.name == "host" else f"{part.name}: {fact.name}": strip_tags(measured(fact.value, fact.unit))
        for part in ui_facts.sections(("host", public))
        for fact in part.facts
    }
