from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from .page import LeaderboardPage


def leaderboard(request: HttpRequest) -> HttpResponse:
    return render(request, "leaderboard/page.html", {"page": LeaderboardPage(request.GET)})


def leaderboard_csv(request: HttpRequest) -> HttpResponse:
    response = HttpResponse(LeaderboardPage(request.GET).csv(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="leaderboard.csv"'
    return response
