"""Files of a run as answers that browsers save."""

from __future__ import annotations

from django.http import HttpResponse
from django.utils.http import content_disposition_header

from benchhub.bench.models import Evidence, Run

from . import bundle as bundles


def evidence(file: Evidence) -> HttpResponse:
    """Answer with a file as it came from the target: plain text, whatever it holds. Reads its attempt."""
    name = f"run-{file.attempt.run_id}-{file.name.replace('/', '-')}"
    response = HttpResponse(bytes(file.content), content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = content_disposition_header(True, name) or ""
    response["X-Content-Type-Options"] = "nosniff"
    return response


def bundle(run: Run) -> HttpResponse:
    """Answer with what repeats the run without BenchHub, and the evidence of its last attempt.

    Raises NoBundleError.
    """
    found = getattr(run, "found", None)
    files = bundles.whole(run, found.settings if found else None)
    name = f"benchhub-run-{run.pk}"
    headers = {"Content-Disposition": f'attachment; filename="{name}.tar.gz"'}
    return HttpResponse(bundles.archive(name, files), content_type="application/gzip", headers=headers)
