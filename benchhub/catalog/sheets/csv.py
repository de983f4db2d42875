"""A price sheet as CSV: one row for the sheet, one for each line and each discount, exact to the digit.

The column `record` says which of the three a row is, and without it each row is a line; each uses the columns that
texts.py names for it, and leaves the others empty. docs/price-sheets.md lists them.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import islice

from django.http import HttpResponse
from django.utils.http import content_disposition_header

from benchhub.catalog.models import PriceSheet
from benchhub.ui.row_cells import Field
from benchhub.ui.row_set import RowSet

from .rows import check_rows
from .texts import DISCOUNT, LINE, SHEET, SheetTexts, texts_of

RECORDS: Mapping[str, Sequence[Field]] = {"sheet": SHEET, "line": LINE, "discount": DISCOUNT}
COLUMNS = ("record", *dict.fromkeys(field.name for fields in (LINE, DISCOUNT, SHEET) for field in fields))
LARGEST_BYTES = 2_000_000
# A file of nothing but commas or line ends has a million of each, and a page that names them all.
MOST_LINES, MOST_PROBLEMS = 10_000, 200
# What a spreadsheet would take for a formula gets a quote before it, which is taken off again.
WORDS = ("text", "names")
FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "'")


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault in a line of the file, counted from 1, and its column; "" is the line as a whole."""

    line: int
    column: str
    sentence: str

    def __str__(self) -> str:
        return f"Line {self.line}{', ' if self.column else ''}{self.column}: {self.sentence}"


class CsvError(ValueError):
    """Raised with the problems of a file, the first MOST_PROBLEMS of them."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems[:MOST_PROBLEMS])
        if len(problems) > MOST_PROBLEMS:
            sentence = f"{len(problems) - MOST_PROBLEMS:,} more problems follow: mend these first."
            self.problems += (Problem(problems[-1].line, "", sentence),)
        super().__init__(" ".join(map(str, self.problems)))


def write(texts: SheetTexts) -> str:
    """Return a sheet as CSV; `texts.sheet["hardware"]` is a name here."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    rows = [("sheet", texts.sheet), *(("line", line) for line in texts.lines)]
    for record, row in (*rows, *(("discount", line) for line in texts.discounts)):
        writer.writerow([record, *_guarded(record, row)])
    return out.getvalue()


def _guarded(record: str, row: Mapping[str, str]) -> Iterator[str]:
    fields = {field.name: field for field in RECORDS[record]}
    for name in COLUMNS[1:]:
        value = row.get(name, "") if name in fields else ""
        is_text = name in fields and fields[name].kind in WORDS
        yield f"'{value}" if is_text and value.startswith(FORMULA) else value


def decode(content: bytes) -> str:
    """Return the text of a file. Raises CsvError."""
    if len(content) > LARGEST_BYTES:
        raise CsvError([Problem(1, "", f"The file is larger than {LARGEST_BYTES:,} bytes: split it.")])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise CsvError([Problem(line, "", "The file is not UTF-8: save it as CSV in UTF-8.")]) from None


def read(text: str) -> SheetTexts:
    """Read a whole file. Raises CsvError with everything that is wrong in it."""
    rows = list(islice(_rows(text), MOST_LINES + 1))
    if len(rows) > MOST_LINES:
        raise CsvError([Problem(rows[-1][0], "", f"The file has more than {MOST_LINES:,} lines: split it.")])
    heads = [name.strip().lower().replace(" ", "_") for name in rows[0][1]] if rows else []
    if problems := _wrong_heads(rows[0][0] if rows else 1, heads):
        raise CsvError(problems)
    texts, lines, problems = _texts(rows[1:], heads)
    unreadable_lines = {problem.line for problem in problems if not problem.column}
    problems += [problem for problem in _wrong_cells(texts, lines) if problem.line not in unreadable_lines]
    if problems:
        raise CsvError(sorted(problems, key=lambda problem: problem.line))
    return texts


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line where it begins, cells) of each row that is not empty."""
    text = text.removeprefix("\ufeff")
    first = text.lstrip().partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader, begins = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True), 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield begins, cells
            begins = reader.line_num + 1
    except csv.Error as error:
        sentence = f"It cannot be read as CSV ({error}): look for a quote that is not closed."
        raise CsvError([Problem(begins, "", sentence)]) from None


def _wrong_heads(line: int, heads: Sequence[str]) -> list[Problem]:
    if "description" not in heads:
        sentence = "Begin with a line of column names, description among them: export a sheet to see one."
        return [Problem(line, "", sentence)]
    names = [name for name in dict.fromkeys(heads) if name not in COLUMNS]
    unknown = [Problem(line, name or "(empty)", "There is no such column.") for name in names]
    doubles = [name for name, number in Counter(heads).items() if number > 1]
    return unknown + [Problem(line, name, "The column is there twice.") for name in doubles]


Lines = dict[str, list[int]]


def _texts(rows: Sequence[tuple[int, list[str]]], heads: Sequence[str]) -> tuple[SheetTexts, Lines, list[Problem]]:
    texts, lines, problems = SheetTexts(), {name: list[int]() for name in RECORDS}, list[Problem]()
    for line, cells in rows:
        cell_by_column = {name: cell.strip() for name, cell in zip(heads, cells, strict=False)}
        record = cell_by_column.pop("record", "line" if "record" not in heads else "").lower()
        problems += _misplaced(line, record, cell_by_column, cells, heads)
        if record not in RECORDS:
            continue
        row = {field.name: _unguarded(field, cell_by_column.get(field.name, "")) for field in RECORDS[record]}
        lines[record].append(line)
        if record == "sheet":
            texts.sheet = {name: value for name, value in row.items() if cell_by_column.get(name)}
        else:
            (texts.lines if record == "line" else texts.discounts).append(row)
    problems += [Problem(line, "record", "One sheet is read at a time.") for line in lines["sheet"][1:]]
    if not lines["line"] and not problems:
        problems.append(Problem(rows[-1][0] if rows else 1, "record", "There is no line in the file: write one."))
    return texts, lines, problems


def _unguarded(field: Field, cell: str) -> str:
    """Return a cell as it was before `write`; an empty one holds what a new row begins with."""
    if field.kind in WORDS and cell.startswith("'") and cell[1:].startswith(FORMULA):
        return cell[1:]
    return cell or field.default


def _misplaced(
    line: int, record: str, cell_by_column: Mapping[str, str], cells: Sequence[str], heads: Sequence[str]
) -> list[Problem]:
    if record not in RECORDS:
        return [Problem(line, "record", f"Write sheet, line or discount, not '{record}'.")]
    if any(cell.strip() for cell in cells[len(heads) :]):
        return [Problem(line, "", f"It has {len(cells)} cells for {len(heads)} columns: quote what holds a comma.")]
    names = {field.name for field in RECORDS[record]}
    return [
        Problem(line, name, f"Leave it empty: a {record} has no such column.")
        for name, cell in cell_by_column.items()
        if cell and name not in names
    ]


def _wrong_cells(texts: SheetTexts, lines: Lines) -> list[Problem]:
    """Return the problems that the form would name in the same rows."""
    tables = {
        "sheet": RowSet("sheet", "Sheet", SHEET, [texts.sheet]),
        "line": RowSet("lines", "Line", LINE, texts.lines),
        "discount": RowSet("discounts", "Discount", DISCOUNT, texts.discounts),
    }
    check_rows(tables["line"], tables["discount"])
    faults = []
    for record, table in tables.items():
        for row, line in zip(table.rows, lines[record], strict=False):
            if row.is_blank and record != "sheet":
                faults.append(Problem(line, "", f"The {record} says nothing: fill it in or leave it out."))
            for name, sentence in row.errors.items():
                found_text = f" Found: '{row.texts[name]}'." if row.texts.get(name) else ""
                faults.append(Problem(line, name, sentence + found_text))
        if len(lines[record]) > len(table.rows) and record != "sheet":
            faults.append(Problem(lines[record][len(table.rows)], "", f"{len(table.rows)} rows are read at most."))
    return faults


def columns_in_words() -> list[tuple[str, str, str]]:
    """Return (column, records that use it, what it holds) of each, for the page and docs/price-sheets.md."""
    columns = [("record", "all", "sheet, line or discount")]
    for name in COLUMNS[1:]:
        using = {record: field for record, fields in RECORDS.items() for field in fields if field.name == name}
        columns.append((name, ", ".join(using), _words(using)))
    return columns


def _words(using: Mapping[str, Field]) -> str:
    """Describe what a column holds, once for all the records in which it is the same."""
    title = next(iter(using.values())).title.lower()
    texts = {record: _contents(field) for record, field in using.items()}
    if len(set(texts.values())) == 1:
        return ". ".join(part for part in (title, *list(texts.values())[:1]) if part)
    return ". ".join([title, *(f"Of a {record}: {text}" for record, text in texts.items() if text)])


def _contents(field: Field) -> str:
    choices = ", ".join(value or "(empty)" for value, _ in field.choices)
    return ". ".join(part for part in (choices, field.help.removesuffix(".")) if part)


def download(row: PriceSheet) -> HttpResponse:
    """Answer with the sheet as CSV, with the name of its hardware."""
    texts = texts_of(row)
    texts.sheet["hardware"] = row.hardware.name if row.hardware else ""
    response = HttpResponse(write(texts), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = content_disposition_header(True, f"{row}.csv") or ""
    return response
