"""Price sheets as rows: what one system costs, line by line, with its discounts. A saved sheet is never rewritten."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any, ClassVar, Self

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.functions import TransactionNow
from django.db import models
from django.db.models import Q

from benchhub.analysis.pricing.money import trimmed
from benchhub.analysis.pricing.sheets.sheet import MOST_SURCHARGED_PERCENT, Discount, Line, Maintenance, Sheet
from benchhub.analysis.pricing.sheets.total import SheetTotal, total

from .hardware import CURRENCY, Hardware
from .revised import Revised, RevisedQuerySet, name_constraints


class PriceSheetQuerySet(RevisedQuerySet):
    def with_rows(self) -> Self:
        """Fetch all that a total needs, in a number of queries that does not grow with the sheets."""
        return self.select_related("hardware").prefetch_related("lines", "discounts")

    def of_hardware(self, hardware: Iterable[Hardware]) -> Self:
        """Return sheets of this hardware and its other revisions; `counts_for` tells which count."""
        return self.filter(hardware__name__in=[profile.name for profile in hardware]).select_related("hardware")

    def by(self, day: date) -> Self:
        """Return the sheets up to this day, the newest first: replaced ones too, but none that a person retired."""
        counted = Q(retired_at=None) | Q(is_replaced=True)
        return self.marked().filter(counted, priced_on__lte=day).order_by("-priced_on", "-revision", "-pk")


class PriceSheet(Revised):
    """A sheet's term and the way its amounts are rounded: analysis.pricing.sheet."""

    class RoundedPer(models.TextChoices):
        UNIT = "unit", "each unit price and line"
        LINE = "line", "each line"
        COLUMN = "column", "each column's total"
        TOTAL = "total", "the grand total"

    class Rounding(models.TextChoices):
        NEAREST = "nearest", "to nearest"
        UP = "up", "up"
        DOWN = "down", "down"

    hardware = models.ForeignKey(Hardware, models.PROTECT, null=True, blank=True, related_name="sheets")
    currency = models.CharField(max_length=3, validators=[CURRENCY])
    priced_on = models.DateField()
    source = models.CharField(max_length=300)
    term_months = models.PositiveIntegerField(default=36)
    places = models.PositiveSmallIntegerField(default=2)
    total_places = models.SmallIntegerField(null=True, blank=True)
    rounded_per = models.CharField(max_length=6, choices=RoundedPer, default=RoundedPer.LINE)
    rounding = models.CharField(max_length=7, choices=Rounding, default=Rounding.NEAREST)
    is_large_quantity = models.BooleanField(default=False)
    remark = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=TransactionNow())

    objects: ClassVar[Any] = PriceSheetQuerySet.as_manager()

    class Meta:
        constraints = [
            *name_constraints("price_sheet"),
            models.CheckConstraint(condition=Q(currency__regex=r"^[A-Z]{3}$"), name="price_sheet_currency"),
            models.CheckConstraint(condition=Q(term_months__gte=1), name="price_sheet_has_term"),
            models.CheckConstraint(
                condition=Q(
                    rounded_per__in=["unit", "line", "column", "total"], rounding__in=["nearest", "up", "down"]
                ),
                name="price_sheet_rounding",
            ),
        ]

    def counts_for(self, hardware: Hardware) -> bool:
        """Tell whether it prices the same parts as the hardware, in whichever revision."""
        own = self.hardware
        return own is not None and (own.pk == hardware.pk or own.is_same_thing(hardware))

    def revise(self, **changes: Any) -> Self:
        """Return the next revision, without lines: they have to follow in the same transaction."""
        return super().revise(**{"created_at": TransactionNow(), **changes})

    def priced(self) -> SheetTotal:
        """Return the total over its own term. Raises PricingError, as `sheet` does."""
        return total(self.sheet())

    def sheet(self) -> Sheet:
        """Return the sheet as the engine prices it. Raises PricingError for what no form would have let in."""
        return Sheet(
            name=str(self),
            currency=self.currency,
            lines=tuple(row.line(self) for row in self.lines.all()),
            discounts=tuple(row.discount() for row in self.discounts.all()),
            term_months=self.term_months,
            places=self.places,
            rounded_per=self.rounded_per,  # type: ignore[arg-type]  # a check constraint lists the same
            rounding=self.rounding,  # type: ignore[arg-type]  # likewise
            total_places=self.total_places,
            is_large_quantity=self.is_large_quantity,
        )


class PriceSheetLine(models.Model):
    """One line item; a credit is a price below 0."""

    class Kind(models.TextChoices):
        HARDWARE = "hardware", "hardware"
        LICENCE = "licence", "licence"
        SUPPORT = "support", "support"
        OTHER = "other", "other"

    class Per(models.TextChoices):
        TERM = "term", "for the term"
        YEAR = "year", "a year"
        MONTH = "month", "a month"
        PERCENT = "percent", "per cent of the price a year"
        ITSELF = "itself", "the line is maintenance"

    class Support(models.TextChoices):
        UNSUPPORTED = "unsupported", "unsupported"
        BOUGHT = "bought", "support bought"
        INCLUDED = "included", "included in another line"

    class Charged(models.TextChoices):
        ONCE = "once", "once"
        YEAR = "year", "each year of the term"
        MONTH = "month", "each month of the term"

    of_sheet = models.ForeignKey(PriceSheet, models.PROTECT, related_name="lines")
    position = models.PositiveIntegerField()
    description = models.CharField(max_length=200)
    part_number = models.CharField(max_length=80, blank=True)
    seller = models.CharField(max_length=120, blank=True)
    category = models.CharField(max_length=80, blank=True)
    kind = models.CharField(max_length=8, choices=Kind, default=Kind.HARDWARE)
    unit_price = models.DecimalField(max_digits=20, decimal_places=8)
    contracted_price = models.DecimalField(max_digits=20, decimal_places=8, null=True, blank=True)
    discount_percent = models.DecimalField(max_digits=9, decimal_places=6, default=0)
    quantity = models.DecimalField(max_digits=16, decimal_places=4, default=1)
    spares = models.PositiveIntegerField(default=0)
    maintenance_per = models.CharField(max_length=7, choices=Per, blank=True)
    maintenance_price = models.DecimalField(max_digits=20, decimal_places=8, default=0)
    maintenance_months = models.PositiveIntegerField(null=True, blank=True)
    maintenance_quantity = models.DecimalField(max_digits=16, decimal_places=4, null=True, blank=True)
    maintenance_percent_of = models.CharField(max_length=10, default="list")
    is_discountable = models.BooleanField(default=True)
    support = models.CharField(max_length=11, choices=Support, blank=True)
    charged = models.CharField(max_length=5, choices=Charged, default=Charged.ONCE)
    currency = models.CharField(max_length=3, validators=[CURRENCY], blank=True)
    exchange_rate = models.DecimalField(max_digits=18, decimal_places=8, null=True, blank=True)
    available_on = models.DateField(null=True, blank=True)
    priced_on = models.DateField(null=True, blank=True)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["of_sheet", "position"], name="price_sheet_line_position"),
            models.CheckConstraint(condition=Q(quantity__gte=0), name="price_sheet_line_quantity"),
            models.CheckConstraint(
                condition=Q(discount_percent__gte=0, discount_percent__lte=100), name="price_sheet_line_percent"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["hardware", "licence", "support", "other"]), name="price_sheet_line_kind"
            ),
            models.CheckConstraint(
                condition=Q(maintenance_per__in=["", "term", "year", "month", "percent", "itself"])
                & Q(maintenance_percent_of__in=["list", "paid"]),
                name="price_sheet_line_maintenance",
            ),
            models.CheckConstraint(
                condition=Q(support__in=["", "unsupported", "bought", "included"]), name="price_sheet_line_support"
            ),
            models.CheckConstraint(condition=Q(charged__in=["once", "year", "month"]), name="price_sheet_line_charged"),
            models.CheckConstraint(
                condition=Q(currency="", exchange_rate=None) | Q(currency__regex=r"^[A-Z]{3}$", exchange_rate__gt=0),
                name="price_sheet_line_in_another_currency",
            ),
        ]

    def __str__(self) -> str:
        return self.description

    def line(self, sheet: PriceSheet) -> Line:
        return Line(
            description=self.description,
            unit_price=trimmed(self.unit_price),
            quantity=self.quantity,
            kind=self.kind,  # type: ignore[arg-type]  # a check constraint lists the same
            category=self.category,
            part_number=self.part_number,
            seller=self.seller,
            contracted_price=None if self.contracted_price is None else trimmed(self.contracted_price),
            discount_percent=self.discount_percent,
            maintenance=self._maintenance(),
            spares=self.spares,
            is_discountable=self.is_discountable,
            support=self.support,  # type: ignore[arg-type]  # likewise
            charged=self.charged,  # type: ignore[arg-type]  # likewise
            currency=self.currency,
            exchange_rate=self.exchange_rate,
            available_on=self.available_on,
            priced_on=self.priced_on or sheet.priced_on,
        )

    def _maintenance(self) -> Maintenance | None:
        if not self.maintenance_per:
            return None
        return Maintenance(
            per=self.maintenance_per,  # type: ignore[arg-type]  # a check constraint lists the same
            price=trimmed(self.maintenance_price),
            months=self.maintenance_months,
            quantity=self.maintenance_quantity,
            percent_of=self.maintenance_percent_of,  # type: ignore[arg-type]  # likewise
        )


def _names() -> ArrayField[list[str], list[str]]:
    return ArrayField(models.CharField(max_length=200), default=list, blank=True)


class PriceSheetDiscount(models.Model):
    """Per cent or an amount off some lines of a sheet, apart from their list prices; a surcharge is below 0.

    It is on what all of `of_lines`, `of_categories`, `of_sellers` and `of_kinds` name; an empty one names all lines.
    """

    class Columns(models.TextChoices):
        PRICE = "price", "prices"
        MAINTENANCE = "maintenance", "maintenance"
        BOTH = "both", "both"

    class Rounding(models.TextChoices):
        NEAREST = "nearest", "to nearest"
        UP = "up", "up"
        DOWN = "down", "down"
        EXACT = "exact", "not at all"

    class RoundedPer(models.TextChoices):
        SUM = "sum", "the sum"
        LINE = "line", "each line"
        UNIT = "unit", "each unit price"

    of_sheet = models.ForeignKey(PriceSheet, models.PROTECT, related_name="discounts")
    position = models.PositiveIntegerField()
    description = models.CharField(max_length=200)
    percent = models.DecimalField(max_digits=9, decimal_places=6, null=True, blank=True)
    amount = models.DecimalField(max_digits=16, decimal_places=4, null=True, blank=True)
    of_lines = _names()
    of_categories = _names()
    of_sellers = _names()
    of_kinds = _names()
    columns = models.CharField(max_length=11, choices=Columns, default=Columns.PRICE)
    rounding = models.CharField(max_length=7, choices=Rounding, default=Rounding.NEAREST)
    places = models.SmallIntegerField(default=2)
    rounded_per = models.CharField(max_length=4, choices=RoundedPer, default=RoundedPer.SUM)
    is_on_rest = models.BooleanField(default=False)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["of_sheet", "position"], name="price_sheet_discount_position"),
            models.CheckConstraint(
                condition=Q(percent=None, amount__isnull=False) | Q(percent__isnull=False, amount=None),
                name="price_sheet_discount_of_one_kind",
            ),
            models.CheckConstraint(
                condition=Q(percent=None) | Q(percent__gte=-MOST_SURCHARGED_PERCENT, percent__lte=100),
                name="price_sheet_discount_percent",
            ),
        ]

    def __str__(self) -> str:
        return self.description

    def discount(self) -> Discount:
        return Discount(
            description=self.description,
            percent=self.percent,
            amount=self.amount,
            lines=tuple(self.of_lines),
            categories=tuple(self.of_categories),
            sellers=tuple(self.of_sellers),
            kinds=tuple(self.of_kinds),
            columns=self.columns,  # type: ignore[arg-type]  # the choices are the engine's
            rounding=self.rounding,  # type: ignore[arg-type]  # likewise
            places=self.places,
            rounded_per=self.rounded_per,  # type: ignore[arg-type]  # likewise
            is_on_rest=self.is_on_rest,
        )
