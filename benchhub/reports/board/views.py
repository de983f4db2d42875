from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString

from benchhub.accounts.rights import Hosts
from benchhub.ui.csv_files import download
from benchhub.ui.feeds import passed

from .calendar_page import CalendarPage, zone_of
from .home import HomePage


def home(request: HttpRequest) -> HttpResponse:
    zone = zone_of(request)

    def draw() -> str:
        page = HomePage.load(timezone.now(), zone)
        return render_to_string("board/home_content.html", {"page": page}, request)

    def shown(content: SafeString, version: str) -> HttpResponse:
        return render(request, "board/home.html", {"content": content, "version": version})

    return passed(request, ("home", str(zone), Hosts(request.user).rights), draw, shown)


def calendar(request: HttpRequest) -> HttpResponse:
    return render(request, "board/calendar.html", {"page": CalendarPage.read(request, timezone.now())})


def calendar_csv(request: HttpRequest) -> HttpResponse:
    page = CalendarPage.read(request, timezone.now())
    return download(f"calendar-{page.week.first}.csv", page.csv())
