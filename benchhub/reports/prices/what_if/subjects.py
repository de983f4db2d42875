"""What the questions are about: a curve under a licence, and two licences to compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import QueryDict

from benchhub.catalog.models import LicenceModel
from benchhub.reports.prices.cells import Cell, Row
from benchhub.reports.prices.pictures import drawn
from benchhub.reports.prices.table import Table, metered


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of the questions: one curve under one licence model, and two licence models to compare."""

    row: Row
    model: LicenceModel
    pair: tuple[LicenceModel, LicenceModel] | None

    @property
    def name(self) -> str:
        return f"{self.row.system_curve.system.label} under {self.model}"

    @property
    def cell(self) -> Cell | None:
        """Return the price of the subject; None where it has none."""
        return next((cell for cell in self.row.cells if cell.model == self.model and cell.quote), None)


def subject(query: QueryDict, table: Table, keys: Sequence[str]) -> Subject | None:
    """Choose the subject by `subject` (a curve's key), `drawn`, `one` and `other`; the first of each by default."""
    model = drawn(query, table)
    if model is None or not table.rows:
        return None
    rows = dict(zip(keys, table.rows, strict=True))
    return Subject(rows.get(query.get("subject", ""), table.rows[0]), model, _pair(query, table))


def _pair(query: QueryDict, table: Table) -> tuple[LicenceModel, LicenceModel] | None:
    models = metered(table.price_book.licence_models)
    if len(models) < 2:
        return None
    by_key = {str(model.pk): model for model in models}
    first = by_key.get(query.get("one", ""), models[0])
    default = next(model for model in models if model != first)
    other = by_key.get(query.get("other", ""), default)
    return (first, default if other == first else other)
