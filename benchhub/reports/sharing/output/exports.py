"""A projection as files: JSON, CSV of each table, HTML that works by itself, and PDF. All hold the same content."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO

from django.http import HttpResponse
from django.utils.text import slugify

from benchhub.analysis.snapshot.nodes import Node
from benchhub.analysis.snapshot.projection import NUMBER
from benchhub.bench.run_page.bundle import archive
from benchhub.release import release
from benchhub.reports.models import Projection
from benchhub.reports.sharing.choices.edition import Edition, Reading, edition
from benchhub.ui.csv_cells import harmless

from . import pdf, render

JSON_FILE = "data.json"
UNIT = re.compile(r"[A-Za-zµ]{1,8}")
TYPES: Mapping[str, str] = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "pdf": "application/pdf",
    "tar.gz": "application/gzip",
}


@dataclass(frozen=True, slots=True)
class Made:
    """A file, and the name under which it is kept."""

    content: bytes
    media_type: str
    name: str

    @property
    def response(self) -> HttpResponse:
        headers = {"Content-Disposition": f'attachment; filename="{self.name}"'}
        return HttpResponse(self.content, content_type=self.media_type, headers=headers)


class NoFileError(Exception):
    """There is no file of that name; the message lists the names that there are."""


def file(projection: Projection, name: str, reading: Reading) -> HttpResponse:
    """Answer with the file of this name, or with a sentence that says why there is none."""
    try:
        return made(projection, name, reading).response
    except NoFileError as error:
        return _sentence(error, 404)
    except pdf.NoPdfError as error:
        return _sentence(error, 501)


def _sentence(error: Exception, status: int) -> HttpResponse:
    return HttpResponse(f"{error}\n", status=status, content_type="text/plain; charset=utf-8")


def made(projection: Projection, name: str, reading: Reading) -> Made:
    """Make the file of a name, of the edition that a reader chose; a PDF is always at the terms of the link's maker.

    Names are data.json, page.html, report.html, page.pdf, report.pdf, a table's name with .csv or a bundle's with
    .tar.gz. Raises NoFileError and NoPdfError.
    """
    stem, _, kind = name.partition(".")
    asked_for = edition(projection, reading.makers if kind == "pdf" else reading)
    content = _content(projection, asked_for, stem, kind)
    return Made(content, TYPES[kind], f"{slugify(asked_for.document['title'])[:60] or 'benchhub'}-{stem}.{kind}")


def _content(projection: Projection, edition: Edition, stem: str, kind: str) -> bytes:
    document = edition.document
    if f"{stem}.{kind}" == JSON_FILE:
        return edition.content
    if kind == "csv" and (table := next((table for table in document["tables"] if table["id"] == stem), None)):
        return table_csv(table).encode()
    if kind == "tar.gz" and (bundle := next((bundle for bundle in document["bundles"] if bundle["id"] == stem), None)):
        return archive(stem, {file["name"]: file["text"] for file in bundle["files"]})
    if kind in ("html", "pdf") and stem in ("page", "report"):
        if kind == "pdf":
            return _printed(projection, edition, stem)
        return _html(edition, stem).encode()
    raise NoFileError(f"There is no file of that name: ask for {', '.join(names(document))}.")


def names(document: Node) -> list[str]:
    """Return the names of all files of a document; PDF is among them where this server can print it."""
    files = [JSON_FILE, "page.html", "report.html", *(["page.pdf", "report.pdf"] if pdf.is_available() else [])]
    return [
        *files,
        *(f"{table['id']}.csv" for table in document["tables"]),
        *(f"{bundle['id']}.tar.gz" for bundle in document["bundles"]),
    ]


def _html(edition: Edition, stem: str) -> str:
    return render.one_file(edition.document, edition.sha256, as_report=stem == "report")


def _printed(projection: Projection, edition: Edition, stem: str) -> bytes:
    """Render and print an edition, once for each release, and keep it. Raises NoPdfError."""
    source = {"release": release(), "sha256": edition.sha256}
    if stored := _kept(projection, stem, source):
        return stored
    with pdf.PRINTS.turn():
        if stored := _kept(projection, stem, source):  # somebody else's turn made it
            return stored
        content = pdf.printed(_html(edition, stem))
        projection.prints.update_or_create(name=stem, defaults={**source, "content": content})
    return content


def _kept(projection: Projection, name: str, source: Mapping[str, str]) -> bytes:
    """Return what was printed of this source; empty where there is nothing."""
    row = projection.prints.filter(name=name, **source).first()
    return bytes(row.content) if row else b""


def table_csv(table: Node) -> str:
    """Write a table. A column's unit stands behind its name: 'median (TPS)'."""
    text = StringIO()
    writer = csv.writer(text)
    heads = [(str(column["name"]), column["unit"]) for column in table["columns"]]
    writer.writerow(harmless(f"{name} ({unit})" if unit else name) for name, unit in heads)
    writer.writerows([_harmless(value) for value in row] for row in table["rows"])
    return text.getvalue()


def _harmless(value: str) -> str:
    """Guard a cell against formulas; a number below 0 stays as it is, also with its unit: -1 ms."""
    number, _, unit = value.partition(" ")
    is_number = NUMBER.fullmatch(number) and (not unit or UNIT.fullmatch(unit))
    return value if is_number else str(harmless(value))
