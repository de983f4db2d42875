"""fixtures/*.toml -> catalogue rows, by natural key and create only: what people edited or retired stays so."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models, transaction

from benchhub.analysis.pricing.licences.rules import RulesError
from benchhub.analysis.pricing.licences.rules_form import rules_from, to_mapping
from benchhub.analysis.pricing.money import PricingError
from benchhub.analysis.protocol.digest import canonical
from benchhub.catalog.models import (
    Configuration,
    ExchangeRate,
    Hardware,
    LicenceModel,
    ListPrice,
    PriceSheet,
    PriceSheetDiscount,
    PriceSheetLine,
    Workload,
)

# In the order of creation: prices and sheets cite hardware and licence models.
KINDS: Mapping[str, type[models.Model]] = {
    "hardware": Hardware,
    "licence_model": LicenceModel,
    "configuration": Configuration,
    "workload": Workload,
    "list_price": ListPrice,
    "exchange_rate": ExchangeRate,
    "price_sheet": PriceSheet,
}
# What stands below a price sheet: [[price_sheet.line]], [[price_sheet.discount]].
PARTS: Mapping[str, type[models.Model]] = {"line": PriceSheetLine, "discount": PriceSheetDiscount}
NAME_KEY = ("name",)
KEYS = {
    "list_price": ("description", "source", "priced_on"),
    "exchange_rate": ("base", "quoted", "priced_on", "source"),
}
REFERENCES = {"list_price": ("hardware", "licence_model"), "price_sheet": ("hardware",)}
NOT_IN_FIXTURES = {"id", "revision", "retired_at", "created_at", "of_sheet", "position"} | {
    "price_import", "taken_back_at", "taken_back_by"
}  # fmt: skip


class FixtureError(ValueError):
    """A mistake in a fixture file, told in one sentence with file and entry."""


@dataclass(frozen=True, slots=True)
class Entry:
    file: str
    kind: str
    number: int
    values: Mapping[str, Any]

    @property
    def place(self) -> str:
        name = self.values.get("name") or self.values.get("description")
        return f"{self.file}, {self.kind} {self.number}" + (f" '{name}'" if name else "")

    @property
    def key(self) -> dict[str, Any]:
        fields = KEYS.get(self.kind, NAME_KEY)
        if missing := [field for field in fields if field not in self.values]:
            raise FixtureError(f"{self.place}: '{missing[0]}' is missing.")
        return {field: self.values[field] for field in fields}


def load(directory: Path) -> Counter[str]:
    """Create what is missing, all or nothing, and return how many of each kind. Raises FixtureError."""
    entries = [entry for path in sorted(directory.glob("*.toml")) for entry in _read(path)]
    if not entries:
        raise FixtureError(f"There are no fixtures in {directory}.")
    _refuse_doubles(entries)
    created: Counter[str] = Counter()
    with transaction.atomic():
        for entry in sorted(entries, key=lambda entry: list(KINDS).index(entry.kind)):
            created[entry.kind] += _create_missing(entry)
    return created


def _read(path: Path) -> Iterator[Entry]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except ValueError as error:
        raise FixtureError(f"{path.name} cannot be read: {error}.") from error
    for kind, rows in tables.items():
        if kind not in KINDS or not isinstance(rows, list):
            raise FixtureError(f"{path.name}: write one of {', '.join(f'[[{name}]]' for name in KINDS)}, not '{kind}'.")
        for number, values in enumerate(rows, start=1):
            yield Entry(path.name, kind, number, values)


def _refuse_doubles(entries: list[Entry]) -> None:
    first_by_key: dict[tuple[Any, ...], Entry] = {}
    for entry in entries:
        first = first_by_key.setdefault((entry.kind, *entry.key.values()), entry)
        if first is not entry:
            raise FixtureError(f"{entry.place}: it is already in {first.place}.")


def _create_missing(entry: Entry) -> bool:
    model = KINDS[entry.kind]
    own = {name: value for name, value in entry.values.items() if entry.kind != "price_sheet" or name not in PARTS}
    _refuse_unknown_fields(entry, model, own)
    if model._default_manager.filter(**entry.key).exists():
        return False
    row = _saved(entry, model, {**own, **_references(entry), **_canonical_parameters(entry), **_rules(entry)})
    if isinstance(row, PriceSheet):
        _create_parts(entry, row)
    return True


def _saved(entry: Entry, model: type[models.Model], values: Mapping[str, Any]) -> models.Model:
    try:
        row = model(**values)
        row.full_clean()
    except ValidationError as error:
        name, messages = next(iter(error.message_dict.items()))
        sentence = messages[0] if name == "__all__" else f"'{name}': {messages[0]}"
        raise FixtureError(f"{entry.place}: {sentence}") from error
    row.save()
    return row


def _create_parts(entry: Entry, sheet: PriceSheet) -> None:
    """Create lines and discounts. Raises FixtureError with the engine's sentence where they cannot be added up."""
    for kind, model in PARTS.items():
        for number, values in enumerate(entry.values.get(kind, ()), start=1):
            part = Entry(entry.file, f"{entry.place.removeprefix(f'{entry.file}, ')}, {kind}", number, values)
            _refuse_unknown_fields(part, model, values)
            _saved(part, model, {**values, "of_sheet": sheet, "position": number})
    try:
        sheet.priced()
    except PricingError as error:
        raise FixtureError(f"{entry.place}: {error}") from error


def _rules(entry: Entry) -> dict[str, Any]:
    """Return licence rules as the warehouse keeps them: numbers as text, without defaults."""
    if entry.kind != "licence_model" or "rules" not in entry.values:
        return {}
    try:
        rules = rules_from({**entry.values["rules"], "metric": entry.values.get("metric")})
    except RulesError as error:
        raise FixtureError(f"{entry.place}: {error}") from error
    return {"rules": {name: value for name, value in to_mapping(rules).items() if name != "metric"}}


def _refuse_unknown_fields(entry: Entry, model: type[models.Model], values: Mapping[str, Any]) -> None:
    names = {field.name for field in model._meta.concrete_fields} - NOT_IN_FIXTURES
    if unknown := sorted(values.keys() - names):
        raise FixtureError(f"{entry.place}: '{unknown[0]}' is unknown; use {', '.join(sorted(names))}.")


def _references(entry: Entry) -> dict[str, models.Model]:
    """Return the rows that a price or a sheet names, in their newest revision."""
    rows: dict[str, models.Model] = {}
    for kind in REFERENCES.get(entry.kind, ()):
        if kind in entry.values:
            row = KINDS[kind]._default_manager.filter(name=entry.values[kind]).order_by("-revision").first()
            if row is None:
                raise FixtureError(f"{entry.place}: there is no {kind} named '{entry.values[kind]}'.")
            rows[kind] = row
    return rows


def _canonical_parameters(entry: Entry) -> dict[str, Any]:
    """Return parameters and settings. They go into digests, so a number with a fraction is refused."""
    parameters = {
        name: entry.values[name] for name in ("parameters", "settings", "os_settings") if name in entry.values
    }
    try:
        canonical(parameters)
    except TypeError:
        raise FixtureError(
            f"{entry.place}: parameters and settings may hold text, whole numbers, true and false only."
        ) from None
    return parameters
