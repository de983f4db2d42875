"""Logs of builds as files, for pages and the API."""

from __future__ import annotations

from django.http import HttpResponse
from django.utils.http import content_disposition_header

from benchhub.catalog.models import SourceBuildLog


def log_file(log: SourceBuildLog) -> HttpResponse:
    """Answer with a log as it came from the host: always a download of plain text, whatever it holds."""
    response = HttpResponse(bytes(log.content), content_type="text/plain; charset=utf-8")
    name = f"build-{log.build_id}-{log.number}.log"
    response["Content-Disposition"] = content_disposition_header(True, name) or ""
    response["X-Content-Type-Options"] = "nosniff"
    return response
