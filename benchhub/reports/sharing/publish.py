"""Freezing a document, leaving out what a link hides, and making the link."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.http import QueryDict
from django.utils import timezone

from benchhub.analysis.snapshot import canonical
from benchhub.analysis.snapshot.nodes import Node
from benchhub.analysis.snapshot.projection import CLASSES, project
from benchhub.release import release
from benchhub.reports.comparison.queries import Key
from benchhub.reports.models import Comparison, Link, Projection, Snapshot
from benchhub.reports.published.files import Report

from .document import comparison, published


def comparison_snapshot(of: Comparison, state: QueryDict, keys: list[Key], by: Any) -> Snapshot:
    """Raises NothingToPublishError."""
    now = timezone.now()
    with transaction.atomic():
        document = comparison.document(of.title, of.remarks, state, keys, now, release())
        return keep(document, by, comparison=of)


def published_snapshot(of: Report, by: Any) -> Snapshot:
    return keep(published.document(of, timezone.now(), release()), by, published=of.about["slug"])


def keep(document: Node, by: Any, **of: Any) -> Snapshot:
    """Store the document as it is now. `of` names what it is of: comparison or published."""
    content = canonical.to_bytes(document)
    return Snapshot.objects.create(
        title=document["title"],
        content=content,
        sha256=canonical.digest(content),
        taken_by=by if by.is_authenticated else None,
        taken_at=document["taken_at"],
        **of,
    )


def projection(of: Snapshot, hidden: Iterable[str]) -> Projection:
    """The one projection of a snapshot without these classes; made when it is first asked for."""
    classes = [name for name in CLASSES if name in set(hidden)]
    if found := of.projections.filter(hidden=classes).first():
        return found
    content = canonical.to_bytes(project(canonical.from_bytes(bytes(of.content)), classes))
    made = {"content": content, "sha256": canonical.digest(content)}
    return of.projections.get_or_create(hidden=classes, defaults=made)[0]


def comparison_now(state: QueryDict, keys: list[Key]) -> bytes:
    """The document that a snapshot would have now; nothing is kept. Raises NothingToPublishError."""
    return _unfrozen(comparison.document("Comparison", "", state, keys, timezone.now(), release()))


def published_now(of: Report) -> bytes:
    return _unfrozen(published.document(of, timezone.now(), release()))


def _unfrozen(document: Node) -> bytes:
    return canonical.to_bytes(project(canonical.from_bytes(canonical.to_bytes(document)), ()))


def link(of: Snapshot, hidden: Iterable[str], password: str, by: Any, **fields: Any) -> tuple[Link, str]:
    """A new link, and its token, which cannot be had again."""
    made = Link(snapshot=of, projection=projection(of, hidden), created_by=by, **fields)
    made.set_password(password)
    token = made.renew_token()
    made.save()
    return made, token
