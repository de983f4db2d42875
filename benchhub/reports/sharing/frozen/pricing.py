"""All that the prices of a comparison rest on, frozen with its snapshot; no link shows it as it is.

Measured values are decimal text. What a link shows of other terms is computed from this by the same engine as the page
of a comparison, so that neither today's catalogue nor today's runs have a part in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from decimal import Decimal
from typing import Any

from django.http import QueryDict

from benchhub.analysis.curves import curve
from benchhub.analysis.curves.curve import Level, RunPoint
from benchhub.analysis.curves.latencies import Latencies
from benchhub.analysis.pricing.money import Rate
from benchhub.analysis.snapshot.nodes import Node
from benchhub.analysis.statistics.drift import Start
from benchhub.bench.models import System
from benchhub.catalog.models import Hardware, LicenceModel, ListPrice
from benchhub.reports.curves.curves import SystemCurve
from benchhub.reports.prices.pricing import Pricing
from benchhub.reports.prices.queries import PriceBook

from . import rows

VERSION = 1
POINT = ("run", "clients", "unit", "protocol_digest", "system_digest", "place")
MEASURED = ("throughput", "latency_average_ms", "latency_p95_ms", "latency_p99_ms")
START = ("at_s", "duration_s", "throughput")


def freeze(pricing: Pricing) -> Node:
    """Write down curves, prices, licences, sheets and rates of a comparison."""
    pairs = zip(pricing.keys, pricing.curves, strict=True)
    machines = dict.fromkeys(machine for curve in pricing.curves for machine in curve.system.machines)
    return {
        "version": VERSION,
        "query": pricing.query.urlencode(),
        "today": pricing.terms.today.isoformat(),
        "curves": [{"key": key, **_curve(system_curve)} for key, system_curve in pairs],
        "hardware": [rows.values(machine) for machine in machines],
        **_book(pricing.price_book),
    }


def _curve(system_curve: SystemCurve) -> Node:
    levels = system_curve.curve.levels
    return {
        "label": system_curve.label,
        "series": system_curve.series,
        "hardware": system_curve.system.hardware_id,
        "pooler_hardware": system_curve.system.pooler_hardware_id,
        "planned": list(system_curve.planned),
        "points": [_point(point) for level in levels for point in level.runs],
        "latencies": {str(level.clients): _texts(asdict(level.latencies)) for level in levels if level.latencies},
    }


def _point(point: RunPoint) -> Node:
    """Write a run down without its histogram, which gave the latencies of its level already."""
    if point.histogram is not None:
        point = point._replace(latency_p95_ms=None, latency_p99_ms=None)
    node: Node = {name: getattr(point, name) for name in POINT}
    node |= {name: _text(getattr(point, name)) for name in MEASURED}
    return {**node, "start": _texts(point.start._asdict()) if point.start else None}


def _text(value: float | None) -> str | None:
    return None if value is None else repr(value)


def _texts(values: Mapping[str, Any]) -> Node:
    return {name: repr(value) if isinstance(value, float) else value for name, value in values.items()}


def _book(book: PriceBook) -> Node:
    revised = {str(pk): model.pk if model else None for pk, model in book.revised.items()}
    models = {model.pk: model for model in (*book.licence_models, *filter(None, book.revised.values()))}
    prices = {row.pk: row for row in book.rows}
    sheets = {row.pk: row for sheet in (book.sheets or {}).values() for row in sheet}
    return {
        "licences": [rows.values(model) for model in models.values()],
        "prices": [rows.values(price) for price in prices.values()],
        "sheets": [rows.sheet_values(row) for row in sheets.values()],
        "rates": [{**asdict(rate), "on": rate.on.isoformat()} for rate in book.rates],
        "offered": [model.pk for model in book.licence_models],
        "revised": revised,
        "revisions": {str(pk): sorted(pks) for pk, pks in book.revisions.items()},
        "of_hardware": _keys(book.of_hardware),
        "of_licence_model": _keys(book.of_licence_model),
        "of_sheets": _keys(book.sheets or {}),
    }


def _keys(by_key: Mapping[int, Sequence[Any]]) -> dict[str, list[int]]:
    return {str(key): [row.pk for row in rows] for key, rows in by_key.items()}


def is_frozen(document: Node) -> bool:
    """Tell whether prices at other terms can be computed from the document; those of earlier releases have nothing."""
    source = document.get("source", {})
    return bool(source.get("prices")) and source.get("pricing", {}).get("version") == VERSION


def pricing(document: Node, query: QueryDict) -> Pricing:
    """Return the curves of a snapshot and their prices as they were, under the terms of a query."""
    frozen = document["source"]["pricing"]
    hardware = rows.by_key(Hardware, frozen["hardware"])
    curves = [_system_curve(node, hardware) for node in frozen["curves"]]
    keys = [node["key"] for node in frozen["curves"]]
    return Pricing(curves, keys, query, _price_book(frozen), date.fromisoformat(frozen["today"]))


def _system_curve(node: Node, hardware: Mapping[int, Hardware]) -> SystemCurve:
    built = curve.build(map(_run_point, node["points"]))
    levels = tuple(_level(level, node["latencies"].get(str(level.clients))) for level in built.levels)
    pooler = hardware[key] if (key := node.get("pooler_hardware")) else None
    system = System(label=node["label"], hardware=hardware[node["hardware"]], pooler_hardware=pooler)
    return SystemCurve(system, node["series"], replace(built, levels=levels), planned=tuple(node["planned"]))


def _run_point(node: Node) -> RunPoint:
    fields = {name: node[name] for name in POINT} | {name: _number(node[name]) for name in MEASURED}
    start = node["start"]
    return RunPoint(**fields, start=Start(**start | {name: float(start[name]) for name in START}) if start else None)


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)


def _level(level: Level, latencies: Node | None) -> Level:
    return replace(level, latencies=_latencies(latencies)) if latencies else level


def _latencies(node: Node) -> Latencies:
    return Latencies(**node | {name: _number(node[name]) for name in ("p50_ms", "p95_ms", "p99_ms")})


def _price_book(frozen: Node) -> PriceBook:
    models, prices = rows.by_key(LicenceModel, frozen["licences"]), rows.by_key(ListPrice, frozen["prices"])
    sheets = {int(node["id"]): rows.sheet(node) for node in frozen["sheets"]}
    return PriceBook(
        tuple(models[pk] for pk in frozen["offered"]),
        _rows(frozen["of_hardware"], prices),
        _rows(frozen["of_licence_model"], prices),
        tuple(_rate(node) for node in frozen["rates"]),
        _rows(frozen["of_sheets"], sheets),
        {int(pk): models[later] if later else None for pk, later in frozen["revised"].items()},
        {int(pk): frozenset(pks) for pk, pks in frozen["revisions"].items()},
    )


def _rows(keys: Mapping[str, Sequence[int]], by_key: Mapping[int, Any]) -> dict[int, tuple[Any, ...]]:
    return {int(key): tuple(by_key[pk] for pk in pks) for key, pks in keys.items()}


def _rate(node: Node) -> Rate:
    return Rate(node["base"], node["quoted"], Decimal(node["value"]), date.fromisoformat(node["on"]), node["source"])
