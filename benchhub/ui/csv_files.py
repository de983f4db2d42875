"""Files of CSV: the one place that writes rows of any values, and answers with them."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from decimal import Decimal
from io import StringIO
from typing import Any

from django.http import HttpResponse

from .csv_cells import harmless


def csv_text(heads: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Write rows below their heads: exact numbers, nothing for None, texts so that no spreadsheet computes them."""
    text = StringIO()
    _write(text, heads, rows)
    return text.getvalue()


def _write(file: Any, heads: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    writer = csv.writer(file)
    writer.writerow(map(harmless, heads))
    writer.writerows(map(_cell, row) for row in rows)


def _cell(value: Any) -> Any:
    return f"{value:f}" if isinstance(value, Decimal) else harmless(value)


def download(name: str, text: str) -> HttpResponse:
    """Answer with CSV that browsers save under a name."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type="text/csv; charset=utf-8", headers=headers)


def download_rows(name: str, heads: Iterable[str], rows: Iterable[Iterable[Any]]) -> HttpResponse:
    """Answer with many rows as CSV, written into the answer: they are held once."""
    answer = download(name, "")
    _write(answer, heads, rows)
    return answer
