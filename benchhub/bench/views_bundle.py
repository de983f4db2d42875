from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from . import bundle, run_page
from .models import Run


def run_bundle(_request: HttpRequest, pk: int) -> HttpResponse:
    """What is needed to repeat the run without BenchHub, with the evidence of its last attempt."""
    shown = get_object_or_404(run_page.run(pk).exclude(kind=Run.Kind.LOAD))
    found = getattr(shown, "found", None)
    files = bundle.files(shown, found.settings if found else None) | bundle.evidence(shown)
    name = f"benchhub-run-{pk}"
    headers = {"Content-Disposition": f'attachment; filename="{name}.tar.gz"'}
    return HttpResponse(bundle.archive(name, files), content_type="application/gzip", headers=headers)
