"""Retiring what is not used any more, showing it again, and deleting what nothing cites: after a question each."""

from __future__ import annotations

from django.contrib import messages
from django.db.models import Model, ProtectedError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from .citations import citations
from .retire import KINDS, Kind, users_of


def retire(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    """GET asks, POST does; what is in use now is refused with the names of its users."""
    kind_of_row = KINDS[kind]
    row = get_object_or_404(kind_of_row.rows, pk=pk)
    if users := users_of(row):
        messages.error(request, f"{row} is not retired, because it is in use: change {', '.join(users)} first.")
        return redirect(kind_of_row.back)
    question = f"{kind_of_row.retired} It can be shown again from the list."
    if request.method != "POST":
        return _ask(
            request, kind_of_row, title=f"Retire {row}?", consequence=question, action="Retire it", button="primary"
        )
    kind_of_row.rows.filter(pk=pk).retire()
    messages.success(request, f"{row} is retired. {kind_of_row.retired}")
    return redirect(kind_of_row.back)


@require_POST
def show_again(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    kind_of_row = KINDS[kind]
    row = get_object_or_404(kind_of_row.rows, pk=pk)
    if kind_of_row.rows.filter(pk=pk).show_again():
        messages.success(request, f"{row} is offered again.")
    else:
        messages.error(request, f"{row} has a newer revision: that one can be shown again.")
    return redirect(kind_of_row.back)


def delete(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    """GET asks, POST does; what something cites stays."""
    kind_of_row = KINDS[kind]
    row = get_object_or_404(kind_of_row.rows, pk=pk)
    if citations(row):
        return _kept(request, kind_of_row, row)
    if request.method != "POST":
        return _ask(request, kind_of_row, title=f"Delete {row}?", consequence=kind_of_row.deleted, action="Delete it")
    try:
        row.delete()
    except ProtectedError:  # cited since the question
        return _kept(request, kind_of_row, row)
    messages.success(request, f"{row} is deleted.")
    return redirect(kind_of_row.back)


def _kept(request: HttpRequest, kind: Kind, row: Model) -> HttpResponse:
    instead = " Retire it instead." if kind.retired else ""
    citing = ", ".join(citations(row))
    messages.error(request, f"{row} is not deleted, because results or plans need it: {citing}.{instead}")
    return redirect(kind.back)


def _ask(request: HttpRequest, kind: Kind, **question: str) -> HttpResponse:
    return render(request, "confirm.html", {**question, "crumb": kind.crumb})
