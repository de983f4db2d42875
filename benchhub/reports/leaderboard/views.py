from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from benchhub.ui.csv_files import download

from .page import LeaderboardPage


def leaderboard(request: HttpRequest) -> HttpResponse:
    return render(request, "leaderboard/page.html", {"page": LeaderboardPage(request.GET)})


def leaderboard_csv(request: HttpRequest) -> HttpResponse:
    return download("leaderboard.csv", LeaderboardPage(request.GET).csv())
