from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from .results import SearchPage


def search(request: HttpRequest) -> HttpResponse:
    page = SearchPage.read(request.GET.get("q", ""), request.user)
    return render(request, "search/page.html", {"page": page})
