"""The two pages that every room shares: a form on a page of its own, and a question before something is taken away."""

from __future__ import annotations

from dataclasses import dataclass

from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse


@dataclass(frozen=True, slots=True)
class Crumb:
    """The page that this one stands under: its address and its title."""

    address: str
    title: str

    @classmethod
    def to(cls, name: str, title: str, *arguments: object) -> Crumb:
        """Make the crumb of a named route."""
        return cls(reverse(name, args=arguments), title)


@dataclass(frozen=True, kw_only=True)
class FormPage:
    """A form with its heading; a room that shows more beside its form adds fields in a subclass.

    `button` is the class of the button that sends it: danger where that cannot be undone.
    """

    title: str
    crumb: Crumb
    intro: str = ""
    action: str = "Save"
    button: str = "primary"
    form: BaseForm

    def show(self, request: HttpRequest, template: str = "form.html") -> HttpResponse:
        return render(request, template, {"page": self})


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question that GET asks and POST answers with yes; `button` is the class of the button that does it."""

    title: str
    consequence: str
    action: str
    crumb: Crumb
    button: str = "danger"

    def ask(self, request: HttpRequest) -> HttpResponse:
        return render(request, "confirm.html", {"page": self})
