"""Formats of answers beside JSON: CSV, and a page to browse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.template.loader import render_to_string
from rest_framework import renderers

from .authentication import scope_of

MOST_SHOWN = 200_000  # characters: links are looked for in them, which holds up other readers
WRITES = ("POST", "PUT", "PATCH", "DELETE")


class Csv(renderers.BaseRenderer):
    """Text that a view has written as CSV already; problems stay JSON."""

    media_type, format, charset = "text/csv", "csv", "utf-8"

    def render(self, data: Any, media_type: str | None = None, context: Mapping[str, Any] | None = None) -> Any:
        return data if isinstance(data, str) else renderers.JSONRenderer().render(data, media_type, context)


class Page(renderers.BaseRenderer):
    """The answer as a page, with its links and a place to write a request. It needs no inline script."""

    media_type, format, charset = "text/html", "html", "utf-8"

    def render(self, data: Any, _media_type: str | None = None, context: Mapping[str, Any] | None = None) -> str:
        context = context or {}
        view, request, response = context["view"], context["request"], context["response"]
        response["Content-Type"] = "text/html; charset=utf-8"
        text = "" if data is None else renderers.JSONRenderer().render(data, "application/json; indent=2").decode()
        page_context = {
            "view": view,
            "title": view.get_view_name(),
            "about": view.get_view_description(),
            "status": response.status_code,
            "text": text[:MOST_SHOWN],
            "hidden_count": max(0, len(text) - MOST_SHOWN),
            "methods": [method for method in view.allowed_methods if method in WRITES],
            "scope": scope_of(view, "POST") if hasattr(view, "write_scope") else "",
        }
        return render_to_string("api/page.html", page_context, request=request._request)
