"""A document as HTML: the page behind a link, and one file that works by itself."""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from benchhub.analysis.snapshot import canonical
from benchhub.analysis.snapshot.nodes import Node
from benchhub.analysis.snapshot.projection import CLASSES, project
from benchhub.analysis.snapshot.taken_back import TakenBack, marked
from benchhub.reports.models import Projection, Snapshot
from benchhub.reports.sharing.choices.edition import Panel, Reading, edition

from . import pdf
from .turns import READERS

STYLES = ("css/benchhub.css", "css/pages.css", "css/narrow.css", "css/answer.css", "css/shared.css")
SCRIPTS = ("vendor/plotly-small.min.js", "js/charts.js", "js/pictures.js", "js/folds.js")
# A report reads from what was tested to what follows; the page begins with what was found.
REPORT_ORDER = (
    "hardware", "environment", "tuning", "differences", "method", "curves", "levels", "steps", "loads", "statistics",
    "prices", "price-figures", "what-if", "found", "sources", "settings",
)  # fmt: skip
REPORT_TITLES = {"found": "Conclusions, and how sure they are", "settings": "Appendix: settings, as found"}
ANSWER = "answer"
# What a reader asks for after the answer, and not before it: folded away on a page, also where that is printed.
FOLDED = frozenset(
    {
        "loads", "statistics", "price-figures", "what-if", "hardware", "environment", "tuning", "method", "sources",
        "settings", "lost", "given", "oddities", "recomputed",
    }
)  # fmt: skip
MOST_CELLS = 36
MOST_FINDINGS = 2
PLACES = (
    ("curves", "Throughput"), ("levels", "By clients"), ("steps", "Steps"), ("prices", "Price"),
    ("found", "Findings and doubts"), ("differences", "What differs"), ("environment", "Environment"),
    ("method", "Method"), ("sources", "Evidence"),
)  # fmt: skip
# Readers choose as they like: their pages push no maker's page out.
MAKERS = Reading()
PAGES_KEPT, CHOSEN_PAGES_KEPT, SNAPSHOTS_KEPT = 64, 16, 16


@dataclass(frozen=True)
class DocumentPage:
    """A document and its downloads, in the order of a page or of a report.

    `picture` is the address of its card, `panel` what its reader may choose.
    """

    document: Node
    sha256: str
    as_report: bool = False
    picture: str = ""
    panel: Panel | None = None

    @property
    def answer(self) -> Node | None:
        """Return the section with the answer; None in documents of earlier releases."""
        return next((section for section in self.document["sections"] if section["id"] == ANSWER), None)

    @property
    def sections(self) -> list[Node]:
        """Return the sections below the answer."""
        sections: list[Node] = report_sections(self.document) if self.as_report else self.document["sections"]
        return [section for section in sections if section["id"] != ANSWER]

    @property
    def places(self) -> list[tuple[str, str]]:
        """Return the places that stay in sight, as (anchor, title): the well-known ones, otherwise each section."""
        titles = {section["id"]: section["title"] for section in self.sections}
        return [(name, title) for name, title in PLACES if name in titles] if self.answer else list(titles.items())

    @property
    def folded(self) -> frozenset[str]:
        if self.as_report:
            return frozenset()
        return FOLDED | self.long

    @property
    def long(self) -> frozenset[str]:
        """Return the sections that are folded for their length alone: they are on paper though nobody opened them."""
        return frozenset(section["id"] for section in self.sections if _is_long(section["blocks"])) - FOLDED

    @property
    def crowded(self) -> frozenset[str]:
        """Return the sections with findings about so many curves that the reasons of each are folded below it."""
        if self.as_report:
            return frozenset()
        return frozenset(section["id"] for section in self.sections if _findings(section["blocks"]) > MOST_FINDINGS)

    @property
    def stem(self) -> str:
        """Return the name of its files without their kind: page.html, report.pdf."""
        return "report" if self.as_report else "page"

    @property
    def can_print(self) -> bool:
        return pdf.is_available()

    @property
    def hidden_words(self) -> str:
        return ", ".join(CLASSES[name].lower() for name in self.document.get("hidden", ()))


def _is_long(blocks: Sequence[Node]) -> bool:
    """Tell whether a section without a figure has more than MOST_CELLS cells and sentences."""
    return not any(block["kind"] == "figure" for block in blocks) and sum(map(_size, blocks)) > MOST_CELLS


def _findings(blocks: Sequence[Node]) -> int:
    """Count what leads about a curve."""
    return sum(block.get("role") == "lead" and block.get("series") is not None for block in blocks)


def _size(block: Node) -> int:
    if block["kind"] == "table":
        return sum(len(row["cells"]) for row in block["rows"])
    return len(block["items"]) if block["kind"] == "list" else 1


class OneFilePage(DocumentPage):
    @property
    def styles(self) -> SafeString:
        return mark_safe("\n".join(map(_static, STYLES)))  # nosec B308

    @property
    def scripts(self) -> list[SafeString]:
        return [_script(name) for name in SCRIPTS]


def page(pk: int, as_report: bool = False, picture: str = "", reading: Reading = MAKERS) -> tuple[bytes, bytes]:
    """Return the shared page of a projection, plain and gzipped. A projection never changes, so the page is cached.

    `picture` is the absolute address of its preview card's picture, as other sites ask for. Raises BusyError where many
    ask for choices of their own.
    """
    make = _chosen_page if reading.selection else _makers_page
    return make(pk, as_report, picture, reading)


@lru_cache(maxsize=PAGES_KEPT)
def _makers_page(pk: int, as_report: bool, picture: str, reading: Reading) -> tuple[bytes, bytes]:
    return _page(pk, as_report, picture, reading)


@lru_cache(maxsize=CHOSEN_PAGES_KEPT)
def _chosen_page(pk: int, as_report: bool, picture: str, reading: Reading) -> tuple[bytes, bytes]:
    with READERS.turn():
        return _page(pk, as_report, picture, reading)


def _page(pk: int, as_report: bool, picture: str, reading: Reading) -> tuple[bytes, bytes]:
    made = edition(Projection.objects.get(pk=pk), reading)
    shown_page = DocumentPage(made.document, made.sha256, as_report, picture, made.panel)
    html = html_page(shown_page).encode()
    return html, gzip.compress(html, mtime=0)


@lru_cache(maxsize=SNAPSHOTS_KEPT)
def snapshot_body(pk: int, sha256: str, as_report: bool, prices: tuple[TakenBack, ...]) -> SafeString:
    """Return all that a snapshot holds, as people see it who sign in; `prices` were taken back since.

    It never changes, so that it is drawn once for each state of those.
    """
    content = Snapshot.objects.values_list("content", flat=True).get(pk=pk)
    document = project(marked(canonical.from_bytes(bytes(content)), prices), ())
    return render_to_string("shared/body.html", {"page": DocumentPage(document, sha256, as_report)})


def html_page(page: DocumentPage) -> str:
    """Render the page with relative addresses but that of the picture: without a picture it holds no token."""
    return render_to_string("shared/page.html", {"page": page})


def one_file(document: Node, sha256: str, *, as_report: bool = False) -> str:
    """Render everything in one HTML file: styles, scripts and data. It asks nothing of any server."""
    return render_to_string("shared/one_file.html", {"page": OneFilePage(document, sha256, as_report)})


def report_sections(document: Node) -> list[Node]:
    """Return the sections numbered in the order of a report; those without a place in it come last."""
    places = {name: place for place, name in enumerate(REPORT_ORDER)}
    below = [section for section in document["sections"] if section["id"] != ANSWER]
    ordered = sorted(below, key=lambda section: places.get(section["id"], len(places)))
    return [
        {**section, "title": f"{number}. {REPORT_TITLES.get(section['id'], section['title'])}"}
        for number, section in enumerate(ordered, start=1)
    ]


def _script(name: str) -> SafeString:
    """Escape the end of a script element: it stands in strings alone, where a backslash changes nothing."""
    return mark_safe(re.sub(r"</(?=script)", r"<\\/", _static(name), flags=re.IGNORECASE))  # nosec B308


@cache
def _static(name: str) -> str:
    path = Path(settings.STATIC_ROOT, name) if settings.STATIC_ROOT else Path(str(finders.find(name)))
    return path.read_text(encoding="utf-8")
