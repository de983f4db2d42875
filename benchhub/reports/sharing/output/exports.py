"""A projection as files: JSON, CSV of each table, HTML that works by itself, and PDF. All hold the same content."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO

from django.http import HttpResponse
from django.utils.text import slugify

from benchhub.analysis.snapshot import canonical
from benchhub.analysis.snapshot.nodes import Node
from benchhub.analysis.snapshot.projection import NUMBER
from benchhub.bench.run_page.bundle import archive
from benchhub.release import release
from benchhub.reports.curves.csv import harmless
from benchhub.reports.models import Projection

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
    """There is no file of that name; the message says which there are."""


def file(projection: Projection, name: str) -> HttpResponse:
    """The file of this name, or a sentence that says why there is none."""
    try:
        return made(projection, name).response
    except NoFileError as error:
        return _said(error, 404)
    except pdf.NoPdfError as error:
        return _said(error, 501)


def _said(error: Exception, status: int) -> HttpResponse:
    return HttpResponse(f"{error}\n", status=status, content_type="text/plain; charset=utf-8")


def made(projection: Projection, name: str) -> Made:
    """data.json, page.html, report.html, page.pdf, report.pdf, a table's name with .csv or a bundle's with .tar.gz.

    Raises NoFileError and NoPdfError.
    """
    stem, _, kind = name.partition(".")
    document = canonical.from_bytes(bytes(projection.content))
    return _made(_content(projection, document, stem, kind), document, stem, kind)


def _content(projection: Projection, document: Node, stem: str, kind: str) -> bytes:
    if f"{stem}.{kind}" == JSON_FILE:
        return bytes(projection.content)
    if kind == "csv" and (table := next((entry for entry in document["tables"] if entry["id"] == stem), None)):
        return table_csv(table).encode()
    if kind == "tar.gz" and (bundle := next((entry for entry in document["bundles"] if entry["id"] == stem), None)):
        return archive(stem, {file["name"]: file["text"] for file in bundle["files"]})
    if kind in ("html", "pdf") and stem in ("page", "report"):
        html = render.one_file(document, projection.sha256, as_report=stem == "report")
        return html.encode() if kind == "html" else _printed(projection, html, stem)
    raise NoFileError(f"There is no file of that name: ask for {', '.join(names(document))}.")


def names(document: Node) -> list[str]:
    """Of all its files; whether PDF can be had is a matter of the server."""
    files = [JSON_FILE, "page.html", "report.html", *(["page.pdf", "report.pdf"] if pdf.is_available() else [])]
    return [
        *files,
        *(f"{table['id']}.csv" for table in document["tables"]),
        *(f"{table['id']}.tar.gz" for table in document["bundles"]),
    ]


def _printed(projection: Projection, html: str, name: str) -> bytes:
    """Printed once by each release, and kept. Raises NoPdfError."""
    if stored := _kept(projection, name):
        return stored
    with pdf.turn():
        if stored := _kept(projection, name):  # somebody else's turn made it
            return stored
        content = pdf.printed(html)
        projection.prints.update_or_create(name=name, defaults={"release": release(), "content": content})
    return content


def _kept(projection: Projection, name: str) -> bytes:
    """Empty where this release has not printed it."""
    row = projection.prints.filter(name=name, release=release()).first()
    return bytes(row.content) if row else b""


def table_csv(table: Node) -> str:
    """The unit stands behind a column's name where it has one of its own: 'median (TPS)'."""
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(harmless(_head(column)) for column in table["columns"])
    writer.writerows([_written(value) for value in row] for row in table["rows"])
    return text.getvalue()


def _written(value: str) -> str:
    """A number below 0 begins as a formula would, and is none, also with its unit: -1 ms."""
    number, _, unit = value.partition(" ")
    is_number = NUMBER.fullmatch(number) and (not unit or UNIT.fullmatch(unit))
    return value if is_number else str(harmless(value))


def _head(column: Node) -> str:
    return f"{column['name']} ({column['unit']})" if column["unit"] else str(column["name"])


def _made(content: bytes, document: Node, stem: str, kind: str) -> Made:
    return Made(content, TYPES[kind], f"{slugify(document['title'])[:60] or 'benchhub'}-{stem}.{kind}")
