"""The environment of compared curves, as found, and the method: for the page and for what is published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.utils.html import strip_tags

from benchhub.analysis.protocol.digest import PROTOCOL_DEFAULTS, labels
from benchhub.analysis.snapshot import settings
from benchhub.analysis.words import listing
from benchhub.bench.models import Found
from benchhub.catalog.models import Host
from benchhub.catalog.shared.machines import COUNTS, shape
from benchhub.reports.comparison import queries
from benchhub.reports.comparison.entries import Entries, Entry
from benchhub.ui import facts as ui_facts
from benchhub.ui.numbers import measured

from . import mounts
from .systems import Side, protocol_text, side_by_side

Facts = Mapping[str, Found]  # by the key of a curve: the facts around one run at its peak
# The facts of a host that may be published; all others stay here, and of file systems all that `mounts` leaves out.
ENVIRONMENT = (
    "os", "kernel", "architecture", "cpu", "memory_bytes", "swap_bytes", "transparent_huge_pages",
    "cpu_governors", "clock_source", "block_devices", "dmi",
)  # fmt: skip
NAMED = (*ENVIRONMENT, "kernel_options", "sysctls", "filesystems", "sockets", "cores")
# They change from one moment to the next without anything having been changed.
MOMENTARY = ("mhz", "bogomips", "free")
NOT_READ, NO_POOLER = "not read", "none"
MOST_REMARKS = 8
WHERE = (
    "What was found on the hosts of the servers, at one run of each curve's peak. Limits are those of BenchHub's "
    "account: on the host that drives the load, and on the server's where it started the server."
)
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
    data = Side("data directory", tuple(map(_data_directory, entries, rows)))
    host_facts = [_host_facts(entry, row) for entry, row in zip(entries, rows, strict=True)]
    limits = _limits(entries, rows)
    sides = [servers, drivers, *limits, *([data] if any(data.values) else []), *_poolers(entries, rows)]
    return [*sides, *_with_gaps(host_facts, host_facts)]


def remarks(entries: Entries, facts: Facts) -> list[str]:
    """Return sentences on which facts of the hosts differ, were not read, or contradict themselves."""
    if not facts:
        return []
    by_label = {entry.label: _facts(entry, facts.get(entry.key)) for entry in entries}
    differing = [side.name for side in environment(entries, facts) if _differs(side)]
    groups = listing(dict.fromkeys(name.partition(": ")[0] for name in differing))
    texts: dict[str, list[str]] = {}
    for label, host_facts in by_label.items():
        for text in _doubtful_texts(host_facts):
            texts.setdefault(text, []).append(label)
    return [
        *([f"Unlike between the curves: {groups}. The rows marked below say in what."] if differing else []),
        *(f"{listing(labels)}: {text}" for text, labels in texts.items()),
    ]


def _differs(side: Side) -> bool:
    """Tell whether values that were read are unlike; what changes from one moment to the next does not count."""
    is_moment = side.name.rpartition(": ")[2] in MOMENTARY
    return not is_moment and len({value for value in side.values if value not in ("", NOT_READ)}) > 1


def _doubtful_texts(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield what to know of one curve's facts: that there are none, which of them are missing, what contradicts."""
    if not facts:
        yield "no facts of the server's host were stored with the run."
    if missing := [name.replace("_", " ") for name in _list(facts, "missing", str) if name in NAMED]:
        yield f"not read on the server's host: {listing(missing)}."
    yield from _list(facts, "remarks", str)[:MOST_REMARKS]


def _with_gaps(forms: Sequence[Mapping[str, str]], facts: Sequence[Mapping[str, Any]]) -> list[Side]:
    """Return forms side by side, with what was not read of a host that has facts; others leave their cells empty."""
    return [
        Side(
            side.name,
            tuple(value or (NOT_READ if host else "") for value, host in zip(side.values, facts, strict=True)),
        )
        for side in side_by_side(forms)
    ]


def protocol(entries: Entries) -> list[tuple[str, str]]:
    """Return the conditions of the runs as (field, text); all curves must share one protocol."""
    key = entries[0].curve.protocol_digest
    form = {**PROTOCOL_DEFAULTS, **queries.protocol_forms([key]).get(key, {})}
    names = [name for name in form if name not in ("version", "kind") and form[name] not in ({}, None, "")]
    return [(label, protocol_text(name, form[name])) for name, label in zip(names, labels(names), strict=True)]


def _driver_text(entry: Entry) -> str:
    path = entry.system.get_path_display()
    return f"the server's own host, by {path}" if entry.system.driven_locally else f"another host, by {path}"


def _poolers(entries: Entries, rows: Sequence[Found | None]) -> list[Side]:
    """Return how the poolers pooled, as found; empty where all loads went to their servers."""
    forms = [_pooler_form(entry, row) for entry, row in zip(entries, rows, strict=True)]
    return side_by_side(forms) if any(form["pooler"] != NO_POOLER for form in forms) else []


def _pooler_form(entry: Entry, row: Found | None) -> dict[str, str]:
    planned = entry.system.description.get("pooler", {})
    if not planned.get("kind"):
        return {"pooler": NO_POOLER}
    facts = row.pooler if row and row.pooler else {"pool_mode": NOT_READ}
    facts = {**facts, **({"TLS of the load": planned["tls"]} if planned.get("tls") else {})}
    return {
        "pooler": planned["kind"],
        **{f"pooler: {name.replace('_', ' ')}": str(value) for name, value in facts.items()},
    }


def _limits(entries: Entries, rows: Sequence[Found | None]) -> list[Side]:
    """Return what limits the account by which loads are driven, and servers where it started them on another host.

    Whose account somebody's own server has nobody read.
    """
    drivers, servers = list[Mapping[str, Any]](), list[Mapping[str, Any]]()
    for entry, row in zip(entries, rows, strict=True):
        system = entry.system
        is_started = system.instance.own_cluster is not None and not system.driven_locally
        drivers.append(_facts_on(system.driver, row))
        servers.append(_facts_on(system.instance.host, row) if is_started else {})
    return [*_limits_on("driver", drivers), *_limits_on("server", servers)]


def _limits_on(name: str, facts: Sequence[Mapping[str, Any]]) -> list[Side]:
    forms = [_flat({f"limits of the {name}": host["limits"]} if "limits" in host else {}) for host in facts]
    return _with_gaps(forms, facts)


def _facts(entry: Entry, row: Found | None) -> Mapping[str, Any]:
    """Return the facts of a curve's host."""
    return _facts_on(entry.system.instance.host, row)


def _facts_on(host: Host | None, row: Found | None) -> Mapping[str, Any]:
    """Return what was found on a host. Facts of imported runs may be of any form."""
    facts = row.host.get(host.name) if row and host else None
    return facts if isinstance(facts, Mapping) else {}


def _list(facts: Mapping[str, Any], name: str, kind: type) -> list[Any]:
    """Return the values of one kind in a list of facts; empty where there is no such list."""
    values = facts.get(name)
    return [value for value in values if isinstance(value, kind)] if isinstance(values, list) else []


def _host_facts(entry: Entry, row: Found | None) -> dict[str, str]:
    """Return the facts of the server's host that may be published, flat."""
    facts = _facts(entry, row)
    public = {name: facts[name] for name in ENVIRONMENT if name in facts}
    public |= mounts.public(_list(facts, "filesystems", dict)) | _switches(facts)
    if isinstance(facts.get("cpu"), Mapping):
        public["cpu"] = _counted_cpu(facts)
    return _flat(public)


def _flat(public: Mapping[str, Any]) -> dict[str, str]:
    """Return facts that may be published as one mapping of texts: {'cpu: cores per socket': '4'}."""
    return {
        fact.name if part.name == "host" else f"{part.name}: {fact.name}": strip_tags(measured(fact.value, fact.unit))
        for part in ui_facts.sections(("host", public))
        for fact in part.facts
    }


def _switches(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the kernel that may be published: imported facts may carry any."""
    options = settings.shown_of_kernel(_list(facts, "kernel_options", str))
    sysctls = facts.get("sysctls")
    public = settings.shown_of_os(sysctls) if isinstance(sysctls, Mapping) else {}
    return {"kernel_options": options, "sysctls": public}


def _counted_cpu(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of the processors, without sockets, cores and threads whose product is not the CPUs."""
    cpu, counts = facts["cpu"], shape(facts)
    kinds = [f"{kind.get('cores', '?')} {kind.get('name', '?')}" for kind in _list(cpu, "core_kinds", dict)]
    has_product = len(COUNTS) == sum(name in cpu for name in COUNTS)
    values = {name: value for name, value in cpu.items() if not (has_product and name in COUNTS and name not in counts)}
    return {**values, **({"core_kinds": listing(kinds)} if kinds else {})}


def _data_directory(entry: Entry, row: Found | None) -> str:
    """Say on what the server's data directory rests: its file system, the layers below it, the disks."""
    setting = (row.settings if row else {}).get("data_directory")
    folder = str(setting.get("setting") or "") if isinstance(setting, Mapping) else ""
    outer = [
        mount
        for mount in _list(_facts(entry, row), "filesystems", dict)
        if _is_in(folder, str(mount.get("folder", "-")))
    ]
    if not folder.startswith("/") or not outer:
        return ""
    mount = max(outer, key=lambda mount: len(mount["folder"]))
    layers = _list(mount, "layers", str)
    ground = listing(_list(mount, "disks", str)) or mounts.ground(mount) or "disks that were not read"
    return f"{mount.get('type', 'a file system')}{f' over {listing(layers)}' if layers else ''} on {ground}"


def _is_in(folder: str, outer: str) -> bool:
    return f"{folder}/".startswith(f"{outer.rstrip('/')}/")
