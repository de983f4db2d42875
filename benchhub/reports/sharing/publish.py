"""Freeze a document, leave out what a link hides, and make the link."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import QueryDict
from django.utils import timezone

from benchhub.accounts.rights import Role, is_at_least
from benchhub.analysis.snapshot import canonical, citations, redaction
from benchhub.analysis.snapshot.nodes import Node
from benchhub.analysis.snapshot.projection import CLASSES, project
from benchhub.bench.models import CitedRun
from benchhub.release import release
from benchhub.reports import models
from benchhub.reports.comparison.comparison import Comparison
from benchhub.reports.comparison.state import State
from benchhub.reports.models import Link, Projection, Snapshot
from benchhub.reports.published.files import Report

from .document import comparison as comparison_document
from .document import published


def comparison_snapshot(row: models.Comparison, user: Any) -> Snapshot:
    """Freeze a kept comparison as it is now. Raises NothingToPublishError."""
    now = timezone.now()
    with transaction.atomic():
        comparison = Comparison.load(State.read(QueryDict(row.query)), now.date())
        document = comparison_document.document(comparison, row.title, row.remarks, now, release())
        return keep(document, user, comparison=row)


def published_snapshot(report: Report, user: Any) -> Snapshot:
    return keep(published.document(report, timezone.now(), release()), user, published=report.about["slug"])


def keep(document: Node, user: Any, **subject: Any) -> Snapshot:
    """Store the document as it is now. `subject` is the comparison, or the name of the published report."""
    content = canonical.to_bytes(document)
    with transaction.atomic():
        CitedRun.objects.cite(citations.runs(document))
        return Snapshot.objects.create(
            title=document["title"],
            content=content,
            sha256=canonical.digest(content),
            taken_by=user if user.is_authenticated else None,
            taken_at=document["taken_at"],
            **subject,
        )


def projection(snapshot: Snapshot, hidden: Iterable[str]) -> Projection:
    """Return the one projection of a snapshot without these classes by today's rules, made when it is first needed."""
    classes = [name for name in CLASSES if name in set(hidden)]
    if existing := snapshot.projections.filter(hidden=classes, redaction=redaction.VERSION).first():
        return existing
    content = canonical.to_bytes(project(canonical.from_bytes(bytes(snapshot.content)), classes))
    defaults = {"content": content, "sha256": canonical.digest(content)}
    return snapshot.projections.get_or_create(hidden=classes, redaction=redaction.VERSION, defaults=defaults)[0]


def renew(row: Link) -> None:
    """Have a link show a projection by today's rules, where its own was made by older ones that hid less."""
    if row.projection.redaction < redaction.VERSION:
        row.projection = projection(row.snapshot, row.projection.hidden)
        row.save(update_fields=["projection"])


def comparison_now(state: State) -> bytes:
    """Return the document that a snapshot would have now; nothing is kept. Raises NothingToPublishError."""
    now = timezone.now()
    comparison = Comparison.load(state, now.date())
    return _unfrozen(comparison_document.document(comparison, "Comparison", "", now, release()))


def published_now(report: Report) -> bytes:
    return _unfrozen(published.document(report, timezone.now(), release()))


def _unfrozen(document: Node) -> bytes:
    return canonical.to_bytes(project(canonical.from_bytes(canonical.to_bytes(document)), ()))


def words(row: Link) -> str:
    """Say of a link what the audit log keeps."""
    hidden = ", ".join(row.projection.hidden) or "nothing"
    end = f"until {row.expires_at:%Y-%m-%d}" if row.expires_at else "without end"
    key = "with a password" if row.password else "without a password"
    choices = f", readers may choose {', '.join(row.choices)}" if row.choices else ""
    return f"link {row.pk} for {row.name}, {end}, {key}, leaves out {hidden}{choices}"


def link(snapshot: Snapshot, hidden: Iterable[str], password: str, user: Any, **fields: Any) -> tuple[Link, str]:
    """Make a link, and return it with its token, which cannot be had again."""
    row = Link(snapshot=snapshot, projection=projection(snapshot, hidden), created_by=user, **fields)
    row.set_password(password)
    token = row.renew_token()
    row.save()
    return row, token


def is_maker(user: Any, row: models.Comparison) -> bool:
    """Tell whether the user may change what is kept: who keeps it, an administrator, or anybody where nobody does."""
    return row.created_by_id in (None, user.pk) or is_at_least(user, Role.ADMINISTRATOR)


def require_maker(user: Any, row: models.Comparison) -> None:
    """Raise PermissionDenied unless the user may change what is kept."""
    if not is_maker(user, row):
        raise PermissionDenied(f"{row.created_by} keeps this comparison: only they or an administrator change it.")


def refusal(row: Link, user: Any) -> str:
    """Say why the user may not pause, open or withdraw the link; empty if they may."""
    if row.created_by_id == user.pk or is_at_least(user, Role.ADMINISTRATOR):
        return ""
    return f"The link was made by {row.created_by or 'nobody who is known'}: only they or an administrator change it."
