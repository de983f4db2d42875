"""On what compared curves were run, as found, and by which method: for the page and for what is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.html import strip_tags

from benchhub.analysis.protocol.digest import PROTOCOL_DEFAULTS, labels
from benchhub.bench.models import Found
from benchhub.ui import facts as ui_facts
from benchhub.ui.numbers import measured

from . import comparison, queries
from .comparison import Chosen, Side

Facts = Mapping[str, Found]  # by the key of a curve: what was found around one run at its peak
# What of a host's facts may be published; whatever else a probe finds stays here.
ENVIRONMENT = (
    "os", "kernel", "architecture", "cpu", "memory_bytes", "swap_bytes", "transparent_huge_pages", "cpu_governors",
    "clock_source", "kernel_options", "sysctls", "block_devices", "filesystems", "dmi",
)  # fmt: skip
WHERE = "What BenchHub found on the hosts of the servers, at one run of each curve's peak."
ONE_PROTOCOL = "All curves were measured under one protocol; it is what runs must agree on to be compared at all."
DESIGN = (
    "Each level is run once or several times, as planned; a failed run never becomes a point. Below three repeats the "
    "spread is their range, from three on the 95% interval of their mean (Student's t), and medians are compared."
)


def context(chosen: Sequence[Chosen]) -> dict[str, Any]:
    facts = found(chosen)
    return {
        "environment": environment(chosen, facts) if facts else [],
        "where_found": WHERE,
        "protocol": protocol(chosen),
        "design": DESIGN,
    }


def found(chosen: Sequence[Chosen]) -> dict[str, Found]:
    runs = {one.of.curve.peak.level.runs[0].run: one.key for one in chosen}
    return {runs[row.run_id]: row for row in queries.found(runs)}


def environment(chosen: Sequence[Chosen], facts: Facts) -> list[Side]:
    servers = Side("server", tuple(_server(facts.get(one.key)) for one in chosen))
    driven = Side("driven from", tuple(_driven(one) for one in chosen))
    return [servers, driven, *side_by_side([_host_facts(one, facts.get(one.key)) for one in chosen])]


def protocol(chosen: Sequence[Chosen]) -> list[tuple[str, str]]:
    """What was asked of the runs, in words; all curves must be of one protocol."""
    key = chosen[0].of.curve.protocol_digest
    form = {**PROTOCOL_DEFAULTS, **queries.protocol_forms([key]).get(key, {})}
    names = [name for name in form if name not in ("version", "kind") and form[name] not in ({}, None, "")]
    return [(label, comparison.asked(name, form[name])) for name, label in zip(names, labels(names), strict=True)]


def side_by_side(forms: Sequence[Mapping[str, str]]) -> list[Side]:
    """Every field that any of them has, with its value in each; empty where it is not known."""
    names = dict.fromkeys(name for form in forms for name in form)
    return [Side(name, tuple(form.get(name, "") for form in forms)) for name in names]


def _server(row: Found | None) -> str:
    return str(row.server.get("version", "")) if row else ""


def _driven(one: Chosen) -> str:
    path = one.of.system.get_path_display()
    return f"the server's own host, by {path}" if one.of.system.driven_locally else f"another host, by {path}"


def _host_facts(one: Chosen, row: Found | None) -> dict[str, str]:
    """Those that may be published, flat, as text: {'cpu: cores per socket': '4'}."""
    host = one.of.system.instance.host
    known = row.host.get(host.name, {}) if row and host else {}
    kept = {name: known[name] for name in ENVIRONMENT if name in known}
    return {
        fact.name if part.name == "host" else f"{part.name}: {fact.name}": strip_tags(measured(fact.value, fact.unit))
        for part in ui_facts.sections(("host", kept))
        for fact in part.facts
    }
