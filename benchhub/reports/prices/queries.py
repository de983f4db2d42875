"""Queries of prices; their number does not grow with the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property

from django.db.models import prefetch_related_objects

from benchhub.analysis.pricing.money import Rate
from benchhub.catalog.models import ExchangeRate, Hardware, LicenceModel, ListPrice, PriceSheet
from benchhub.catalog.models.revised import counting_on


@dataclass(frozen=True)
class PriceBook:
    """Licence models on offer; list prices and price sheets by hardware or licence model, the newest first; rates.

    Licence models are those on offer on the first of the days. `revised` maps each that changed since to its
    revision by the last day, None where it is not on offer any more. `revisions` are the keys of all revisions of
    one licence model, by each of them. Sheets and rates count on one of the days.
    """

    licence_models: tuple[LicenceModel, ...]
    of_hardware: Mapping[int, tuple[ListPrice, ...]]
    of_licence_model: Mapping[int, tuple[ListPrice, ...]]
    rates: tuple[Rate, ...] = ()
    sheets: Mapping[int, tuple[PriceSheet, ...]] | None = None
    revised: Mapping[int, LicenceModel | None] = field(default_factory=dict)
    revisions: Mapping[int, frozenset[int]] = field(default_factory=dict)

    @cached_property
    def rows(self) -> list[ListPrice]:
        by_key = (*self.of_hardware.values(), *self.of_licence_model.values())
        return [row for rows in by_key for row in rows]

    @cached_property
    def descriptions(self) -> dict[int, str]:
        """Return the description of each list price, by its number."""
        return {row.pk: row.description for row in self.rows}

    @cached_property
    def written(self) -> dict[int, tuple[object, str]]:
        """Return the sentences of steps already written, by identity: a sheet's lines stand under each licence."""
        return {}

    @cached_property
    def places(self) -> dict[tuple[int, ...], str]:
        """Return the places on the page where lines of sheets are derived already, by identity of their steps."""
        return {}

    def later(self, model: LicenceModel) -> LicenceModel | None:
        """Return the revision of a licence model by the last day; None where it is not on offer any more."""
        return self.revised.get(model.pk, model)

    def sheet(self, hardware: int, day: date) -> PriceSheet | None:
        """Return the newest sheet of a hardware by a day."""
        rows = (self.sheets or {}).get(hardware, ())
        return next((row for row in rows if row.priced_on <= day), None)

    @property
    def currencies(self) -> list[str]:
        """Return the currencies of prices and sheets, and those that an exchange rate leads to from there."""
        currencies = {row.currency for row in self.rows}
        currencies |= {sheet.currency for rows in (self.sheets or {}).values() for sheet in rows}
        exchanged = {
            currency
            for rate in self.rates
            if {rate.base, rate.quoted} & currencies
            for currency in (rate.base, rate.quoted)
        }
        return sorted(currencies | exchanged)


def price_book(hardware: Iterable[Hardware], days: Iterable[date]) -> PriceBook:
    """Read all that prices this hardware with on any of these days; nothing of a later day."""
    profiles, sorted_days = list(dict.fromkeys(hardware)), sorted(set(days))
    all_models = list(LicenceModel.objects.all())
    models, later = (tuple(counting_on(day, all_models)) for day in (sorted_days[0], sorted_days[-1]))
    prices = ListPrice.objects.of_licences(all_models) | ListPrice.objects.of_hardware(profiles)
    rows = list(prices.by(sorted_days[-1]).select_related("licence_model", "hardware").newest_first())
    return PriceBook(
        models,
        {profile.pk: tuple(row for row in rows if row.counts_for(profile)) for profile in profiles},
        {model.pk: tuple(row for row in rows if row.counts_for(model)) for model in {*models, *later}},
        _rates(sorted_days),
        _sheets(profiles, sorted_days),
        _revised(models, later),
        _revisions(all_models),
    )


def _revised(models: Sequence[LicenceModel], later: Sequence[LicenceModel]) -> dict[int, LicenceModel | None]:
    by_name = {model.name: model for model in later}
    revised = {model.pk: by_name.get(model.name) for model in models}
    return {pk: model for pk, model in revised.items() if model is None or model.pk != pk}


def _revisions(models: Sequence[LicenceModel]) -> dict[int, frozenset[int]]:
    by_name: dict[str, set[int]] = {}
    for model in models:
        by_name.setdefault(model.name, set()).add(model.pk)
    return {model.pk: frozenset(by_name[model.name]) for model in models}


def _rates(days: Sequence[date]) -> tuple[Rate, ...]:
    """Return the newest rate of each pair of currencies by each of the days."""
    rows = list(ExchangeRate.objects.filter(priced_on__lte=days[-1]))
    newest: dict[tuple[frozenset[str], date], ExchangeRate] = {}
    for row in rows:
        for day in days:
            if row.priced_on <= day:
                newest.setdefault((frozenset((row.base, row.quoted)), day), row)
    unique = {row.pk: row for row in newest.values()}
    return tuple(Rate(row.base, row.quoted, row.value, row.priced_on, row.source) for row in unique.values())


def _sheets(hardware: Sequence[Hardware], days: Sequence[date]) -> dict[int, tuple[PriceSheet, ...]]:
    """Return the sheets that count on one of the days; only their lines are read."""
    rows = list(PriceSheet.objects.of_hardware(hardware).by(days[-1]))
    sheets = {
        profile.pk: dict.fromkeys(
            row
            for day in reversed(days)
            if (row := next((row for row in rows if row.priced_on <= day and row.counts_for(profile)), None))
        )
        for profile in hardware
    }
    prefetch_related_objects([row for profile_rows in sheets.values() for row in profile_rows], "lines", "discounts")
    return {pk: tuple(profile_rows) for pk, profile_rows in sheets.items() if profile_rows}
