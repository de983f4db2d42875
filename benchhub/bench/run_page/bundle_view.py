from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from benchhub.bench.models import Run

from . import bundle, page


def run_bundle(_request: HttpRequest, pk: int) -> HttpResponse:
    of = get_object_or_404(page.run(pk).exclude(kind=Run.Kind.LOAD))
    try:
        return download(of)
    except bundle.NoBundleError as error:
        return HttpResponse(f"{error}\n", status=409, content_type="text/plain; charset=utf-8")


def download(of: Run) -> HttpResponse:
    """What is needed to repeat the run without BenchHub, with the evidence of its last attempt.

    Raises NoBundleError.
    """
    found = getattr(of, "found", None)
    files = bundle.whole(of, found.settings if found else None)
    name = f"benchhub-run-{of.pk}"
    headers = {"Content-Disposition": f'attachment; filename="{name}.tar.gz"'}
    return HttpResponse(bundle.archive(name, files), content_type="application/gzip", headers=headers)
