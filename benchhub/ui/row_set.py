"""Tables in a form that grow: each row is text by column, kept as it was typed, and read cell by cell.

Django's formsets do the same by a form for each row, which takes seconds for the hundreds of lines of a price sheet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import Any

from django.http import QueryDict
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from .row_cells import Field

MOST_ROWS = 1000
OF_ROW = ""  # where an error of the row as a whole stands


class Row:
    """`texts` as typed; `values` of the cells that could be read; `errors` by column."""

    def __init__(self, prefix: str, number: int, fields: Sequence[Field], texts: Mapping[str, str]) -> None:
        self.prefix, self.number, self.fields = prefix, number, fields
        self.texts = {field.name: texts.get(field.name, field.default) for field in fields}
        self.values: dict[str, Any] = {}
        self.errors: dict[str, str] = {}
        self.is_focused = False
        self.extended: Any = None  # what it comes to, as the engine says

    @property
    def is_blank(self) -> bool:
        return is_blank(self.texts, self.fields)

    def read(self) -> None:
        for field in self.fields:
            try:
                self.values[field.name] = field.read(self.texts[field.name])
            except ValueError as error:
                self.errors[field.name] = str(error)

    @property
    def count(self) -> int:
        return self.number + 1

    @property
    def error(self) -> str:
        return self.errors.get(OF_ROW, "")

    @property
    def main(self) -> SafeString:
        return mark_safe("".join(self._cell(field) for field in self.fields if not field.is_more))  # nosec B308

    @property
    def more(self) -> SafeString:
        return mark_safe("".join(self._cell(field) for field in self.fields if field.is_more))  # nosec B308

    @property
    def is_more_used(self) -> bool:
        folded = [field for field in self.fields if field.is_more]
        return any(self.texts[field.name] != field.default or field.name in self.errors for field in folded)

    def _cell(self, field: Field) -> str:
        name = f"{self.prefix}-{self.number}-{field.name}"
        error = self.errors.get(field.name)
        kinds = f"{' wide' if field.is_wide else ''}{' wrong' if error else ''}"
        message = f'<span class="why" id="{name}_error">{escape(error)}</span>' if error else ""
        content = f"{escape(field.title)}{self._input(field, name, error)}{message}"
        return f'<label class="cell {field.kind}{kinds}">{content}</label>'

    def _input(self, field: Field, name: str, error: str | None) -> str:
        attributes = f'name="{name}"'
        attributes += f' aria-invalid="true" aria-describedby="{name}_error"' if error else ""
        text = self.texts[field.name]
        if field.kind == "choice":
            return f"<select {attributes}>{_options(field.choices, text)}</select>"
        if field.kind == "day" and _is_day(text):
            attributes += ' type="date"'
        attributes += ' inputmode="decimal"' if field.kind == "number" else ""
        attributes += " autofocus" if self.is_focused and field is self.fields[0] else ""
        return f'<input {attributes} value="{escape(text)}">'


def is_blank(texts: Mapping[str, str], fields: Sequence[Field]) -> bool:
    return all(texts.get(field.name, "") in ("", field.default) for field in fields)


@lru_cache(maxsize=1000)
def _options(choices: tuple[tuple[str, str], ...], text: str) -> str:
    """Return the options of a select; a text that is no choice stays visible as one."""
    values = [value for value, _ in choices]
    options = (*choices, *([] if text in values else [(text, text)]))
    return "".join(
        f'<option value="{escape(value)}"{" selected" if value == text else ""}>{escape(label)}</option>'
        for value, label in options
    )


def _is_day(text: str) -> bool:
    """Tell whether a browser can show it as a day: it shows nothing of any other text."""
    try:
        return not text or bool(date.fromisoformat(text))
    except ValueError:
        return False


class RowSet:
    """The rows of one table, read when it is made; blank ones are shown and count for nothing."""

    def __init__(self, prefix: str, title: str, fields: Sequence[Field], rows: Sequence[Mapping[str, str]]) -> None:
        self.prefix, self.title, self.fields = prefix, title, fields
        self.is_cut = len(rows) > MOST_ROWS
        self.rows = [Row(prefix, number, fields, texts) for number, texts in enumerate(rows[:MOST_ROWS])]
        for row in self.filled:
            row.read()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def filled(self) -> list[Row]:
        return [row for row in self.rows if not row.is_blank]

    @property
    def is_valid(self) -> bool:
        return not self.is_cut and not any(row.errors for row in self.rows)

    @property
    def problems(self) -> list[str]:
        """Return sentences that name row and column."""
        titles = {field.name: f", {field.title.lower()}" for field in self.fields} | {OF_ROW: ""}
        cut = [f"{self.title}: a form takes {MOST_ROWS} rows at most, and there are more."] if self.is_cut else []
        return cut + [
            f"{self.title} {row.count}{titles[name]}: {sentence}"
            for row in self.rows
            for name, sentence in row.errors.items()
        ]


def sent(data: QueryDict, prefix: str, fields: Sequence[Field]) -> list[dict[str, str]]:
    """Return the rows of a table as a form has sent them."""
    count = data.get(f"{prefix}-count", "")
    rows = min(int(count), MOST_ROWS + 1) if count.isascii() and count.isdecimal() and len(count) < 6 else 0
    return [
        {field.name: data.get(f"{prefix}-{number}-{field.name}", field.default).strip() for field in fields}
        for number in range(rows)
    ]


def resized(rows: Sequence[Mapping[str, str]], prefix: str, data: QueryDict) -> list[Mapping[str, str]]:
    """Return the rows with one more where `add` names the table, without the one that `remove` names (table:number)."""
    remaining = list(rows)
    table, _, number = data.get("remove", "").partition(":")
    if table == prefix and number in map(str, range(len(remaining))):
        del remaining[int(number)]
    if data.get("add") == prefix:
        remaining.append({})
    return remaining
