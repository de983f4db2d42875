"""Retiring what is not used any more, showing it again, and deleting what nothing cites: after a question each."""

from __future__ import annotations

from django.contrib import messages
from django.db.models import Model, ProtectedError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from benchhub.analysis.words import listing
from benchhub.ui.pages import Question

from .citations import citations
from .retire import KINDS, Kind, users_of


def retire(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    """Retire a row. GET asks, POST does; what is in use now is refused with the names of its users."""
    subject = KINDS[kind]
    row = get_object_or_404(subject.rows, pk=pk)
    if users := users_of(row):
        messages.error(request, f"{row} is not retired, because it is in use: change {listing(users)} first.")
        return redirect(subject.back)
    question = f"{subject.retired} It can be shown again from the list."
    if request.method != "POST":
        return _ask(
            request, subject, title=f"Retire {row}?", consequence=question, action="Retire it", button="primary"
        )
    subject.rows.filter(pk=pk).retire()
    messages.success(request, f"{row} is retired. {subject.retired}")
    return redirect(subject.back)


@require_POST
def show_again(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    subject = KINDS[kind]
    row = get_object_or_404(subject.rows, pk=pk)
    if subject.rows.filter(pk=pk).show_again():
        messages.success(request, f"{row} is offered again.")
    else:
        messages.error(request, f"{row} has a newer revision: that one can be shown again.")
    return redirect(subject.back)


def delete(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    """Delete a row. GET asks, POST does; a row that something cites stays."""
    subject = KINDS[kind]
    row = get_object_or_404(subject.rows, pk=pk)
    if citations(row):
        return _refuse_deletion(request, subject, row)
    if request.method != "POST":
        return _ask(request, subject, title=f"Delete {row}?", consequence=subject.deleted, action="Delete it")
    try:
        row.delete()
    except ProtectedError:  # cited since the question
        return _refuse_deletion(request, subject, row)
    messages.success(request, f"{row} is deleted.")
    return redirect(subject.back)


def _refuse_deletion(request: HttpRequest, kind: Kind, row: Model) -> HttpResponse:
    instead = " Retire it instead." if kind.retired else ""
    users = listing(citations(row))
    messages.error(request, f"{row} is not deleted, because results or plans need it: {users}.{instead}")
    return redirect(kind.back)


def _ask(request: HttpRequest, kind: Kind, **question: str) -> HttpResponse:
    return Question(crumb=kind.crumb, **question).ask(request)
