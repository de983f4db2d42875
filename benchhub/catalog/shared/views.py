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
    of = KINDS[kind]
    row = get_object_or_404(of.rows, pk=pk)
    if users := users_of(row):
        messages.error(request, f"{row} is not retired, because it is in use: change {', '.join(users)} first.")
        return redirect(of.back)
    question = f"{of.retired} It can be shown again from the list."
    if request.method != "POST":
        return _ask(request, of, title=f"Retire {row}?", consequence=question, action="Retire it", button="primary")
    of.rows.filter(pk=pk).retire()
    messages.success(request, f"{row} is retired. {of.retired}")
    return redirect(of.back)


@require_POST
def show_again(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    of = KINDS[kind]
    row = get_object_or_404(of.rows, pk=pk)
    if of.rows.filter(pk=pk).show_again():
        messages.success(request, f"{row} is offered again.")
    else:
        messages.error(request, f"{row} has a newer revision: that one can be shown again.")
    return redirect(of.back)


def delete(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    """GET asks, POST does; what something cites stays."""
    of = KINDS[kind]
    row = get_object_or_404(of.rows, pk=pk)
    if citations(row):
        return _kept(request, of, row)
    if request.method != "POST":
        return _ask(request, of, title=f"Delete {row}?", consequence=of.deleted, action="Delete it")
    try:
        row.delete()
    except ProtectedError:  # cited since the question
        return _kept(request, of, row)
    messages.success(request, f"{row} is deleted.")
    return redirect(of.back)


def _kept(request: HttpRequest, of: Kind, row: Model) -> HttpResponse:
    instead = " Retire it instead." if of.retired else ""
    citing = ", ".join(citations(row))
    messages.error(request, f"{row} is not deleted, because results or plans need it: {citing}.{instead}")
    return redirect(of.back)


def _ask(request: HttpRequest, of: Kind, **question: str) -> HttpResponse:
    return render(request, "confirm.html", {**question, "crumb": of.crumb})
