"""What prices ask of the warehouse, in a number of queries that does not grow with the data."""

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

    Licence models are those of the first day that was asked for; `revised` has what has become of them by the last
    one where that is another revision, None where they are not on offer any more. `revisions` are the keys of all
    revisions of one licence model, by each of them. Sheets count on one of the days, rates likewise.
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
        """What each list price is of, by its number."""
        return {row.pk: row.description for row in self.rows}

    @cached_property
    def written(self) -> dict[int, tuple[object, str]]:
        """Sentences of steps that were written already, by identity: a sheet's lines stand under each licence."""
        return {}

    @cached_property
    def places(self) -> dict[int, str]:
        """Where on the page the lines of a sheet are derived already, by the identity of the first step."""
        return {}

    def later(self, model: LicenceModel) -> LicenceModel | None:
        """What has become of a licence model by the last day; None where it is not on offer any more."""
        return self.revised.get(model.pk, model)

    def sheet(self, hardware: int, on: date) -> PriceSheet | None:
        """The newest sheet of a hardware by a day."""
        rows = (self.sheets or {}).get(hardware, ())
        return next((row for row in rows if row.priced_on <= on), None)

    @property
    def currencies(self) -> list[str]:
        """Those that something is priced in, and those that a rate leads to from there."""
        priced = {row.currency for row in self.rows}
        priced |= {sheet.currency for rows in (self.sheets or {}).values() for sheet in rows}
        reached = {
            currency
            for rate in self.rates
            if {rate.base, rate.quoted} & priced
            for currency in (rate.base, rate.quoted)
        }
        return sorted(priced | reached)


def price_book(hardware: Iterable[Hardware], days: Iterable[date]) -> PriceBook:
    """What there is to price these with on any of these days; nothing of a later one."""
    bought, by_day = list(dict.fromkeys(hardware)), sorted(set(days))
    all_models = list(LicenceModel.objects.all())
    models, later = (tuple(counting_on(day, all_models)) for day in (by_day[0], by_day[-1]))
    prices = ListPrice.objects.of_licences(all_models) | ListPrice.objects.of_hardware(bought)
    rows = list(prices.by(by_day[-1]).select_related("licence_model", "hardware").newest_first())
    return PriceBook(
        models,
        {profile.pk: tuple(row for row in rows if row.counts_for(profile)) for profile in bought},
        {model.pk: tuple(row for row in rows if row.counts_for(model)) for model in {*models, *later}},
        _rates(by_day),
        _sheets(bought, by_day),
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
    """The newest of each pair of currencies by each of the days."""
    rows = list(ExchangeRate.objects.filter(priced_on__lte=days[-1]))
    newest: dict[tuple[frozenset[str], date], ExchangeRate] = {}
    for row in rows:
        for day in days:
            if row.priced_on <= day:
                newest.setdefault((frozenset((row.base, row.quoted)), day), row)
    unique = {row.pk: row for row in newest.values()}
    return tuple(Rate(row.base, row.quoted, row.value, row.priced_on, row.source) for row in unique.values())


def _sheets(hardware: Sequence[Hardware], days: Sequence[date]) -> dict[int, tuple[PriceSheet, ...]]:
    """Lines are read of those sheets alone that count on one of the days."""
    rows = list(PriceSheet.objects.of_hardware(hardware).by(days[-1]))
    counted = {
        profile.pk: dict.fromkeys(
            row
            for day in reversed(days)
            if (row := next((row for row in rows if row.priced_on <= day and row.counts_for(profile)), None))
        )
        for profile in hardware
    }
    prefetch_related_objects([row for own in counted.values() for row in own], "lines", "discounts")
    return {pk: tuple(own) for pk, own in counted.items() if own}
