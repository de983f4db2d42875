from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from benchhub.ui.csv_files import download

from .calendar_page import CalendarPage, zone_of
from .home import HomePage


def home(request: HttpRequest) -> HttpResponse:
    return render(request, "board/home.html", {"page": HomePage.load(timezone.now(), zone_of(request))})


def calendar(request: HttpRequest) -> HttpResponse:
    return render(request, "board/calendar.html", {"page": CalendarPage.read(request, timezone.now())})


def calendar_csv(request: HttpRequest) -> HttpResponse:
    page = CalendarPage.read(request, timezone.now())
    return download(f"calendar-{page.week.first}.csv", page.csv())
