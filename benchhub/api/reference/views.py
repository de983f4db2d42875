"""Pages of the reference of the API: what there is, and each resource with its operations."""

from __future__ import annotations

from functools import cache

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from drf_spectacular.generators import SchemaGenerator

from .contents import Reference


@cache
def reference() -> Reference:
    """Return what the code of this process describes; that takes a second, once."""
    return Reference(SchemaGenerator().get_schema(request=None, public=True))


def contents(request: HttpRequest) -> HttpResponse:
    first_request = (
        f"export BENCHHUB_URL={request.build_absolute_uri('/').rstrip('/')} BENCHHUB_TOKEN=bh_...\n"
        f'curl -H "Authorization: Bearer $BENCHHUB_TOKEN" "$BENCHHUB_URL{reverse("api:account-list")}"'
    )
    context = {"resources": reference().resources.values(), "first_request": first_request}
    return render(request, "api/reference.html", context)


def resource(request: HttpRequest, name: str) -> HttpResponse:
    resources = reference().resources
    if name not in resources:
        raise Http404(f"The API has no resource {name}.")
    return render(request, "api/resource.html", {"resource": resources[name]})
