"""Published reports of fixtures/published/*.toml, read once, each with its checks. No database is asked."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings
from django.http import Http404

from benchhub.analysis import published
from benchhub.analysis.published import Check, Document, PublishedError, Tally

DIRECTORY = Path(settings.BASE_DIR) / "fixtures" / "published"


@dataclass(frozen=True, slots=True)
class Report:
    """A published report, its recomputation, and the findings: what does not survive, a sentence each."""

    document: Document
    checks: tuple[Check, ...]
    findings: tuple[str, ...]
    tally: Tally

    @property
    def about(self) -> dict[str, str]:
        return dict(self.document.about)


@cache
def reports() -> tuple[Report, ...]:
    """Return the shipped reports by letter; the files change only with a release. Raises PublishedError."""
    return load(DIRECTORY)


def load(directory: Path) -> tuple[Report, ...]:
    """Return every report of a directory, recomputed, by letter. Raises PublishedError with file and row."""
    reports = sorted((_report(path) for path in directory.glob("*.toml")), key=lambda report: report.document.letter)
    if not reports:
        raise PublishedError(f"There are no published reports in {directory}.")
    for name in ("letter", "slug"):
        if len({report.about[name] for report in reports}) < len(reports):
            raise PublishedError(f"Two of the files in {directory} have the same {name}.")
    return tuple(reports)


def _report(path: Path) -> Report:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise PublishedError(f"{path.name} cannot be read: {error}.") from error
    document = published.read(path.name, content)
    checks = published.recompute(document)
    return Report(document, checks, published.findings(checks), published.tally(checks))


def find(slug: str) -> Report:
    """Return the report of this name. Raises Http404."""
    report = next((report for report in reports() if report.about["slug"] == slug), None)
    if report is None:
        raise Http404(f"There is no published report named '{slug}'.")
    return report
