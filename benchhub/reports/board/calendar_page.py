"""The page of the calendar: one week of all hosts, as a picture, a table and CSV."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest

from benchhub.bench.queue.page import LOOKED_AT
from benchhub.catalog.models import Host
from benchhub.ui.csv_files import csv_text

from .calendar import DAYS, Block, Lane, Week

HOSTS_PER_PAGE = 25
COOKIE = "zone"
HEAD = ("host", "what", "title", "from", "until", "reason")


@dataclass(frozen=True)
class CalendarPage:
    """A week of the calendar; `number` is the page of hosts."""

    week: Week
    number: str = ""

    looked_at = LOOKED_AT

    @classmethod
    def read(cls, request: HttpRequest, now: datetime) -> CalendarPage:
        """Read week and page from the address; what it does not understand is this week."""
        zone = zone_of(request)
        today = now.astimezone(zone).date()
        first = _first_day(request.GET.get("week", ""))
        return cls(Week(first or monday(today), zone, now), request.GET.get("page", ""))

    @cached_property
    def hosts(self) -> Page[Host]:
        return Paginator(_hosts(), HOSTS_PER_PAGE).get_page(self.number)

    @cached_property
    def lanes(self) -> list[Lane]:
        return self.week.lanes(self.hosts)

    @property
    def earlier(self) -> str:
        return self._address(-DAYS)

    @property
    def later(self) -> str:
        return self._address(DAYS)

    @property
    def csv_query(self) -> str:
        return self._address(0)

    @property
    def is_present(self) -> bool:
        return bool(self.week.now_percent)

    def _address(self, days: int) -> str:
        year, number, _ = (self.week.first + timedelta(days=days)).isocalendar()
        return f"?{urlencode({'week': f'{year}-W{number:02}'})}"

    def csv(self) -> str:
        """Write every block of the week, of all hosts."""
        return csv_text(HEAD, (_cells(host, block) for host, block in self._blocks()))

    def _blocks(self) -> Iterator[tuple[Host, Block]]:
        return ((host, block) for host in _hosts() for block in self.week.blocks.get(host.pk, ()))


def _cells(host: Host, block: Block) -> list[str]:
    ends = (block.start.isoformat(), block.end.isoformat())
    return [host.name, block.words, block.title, *ends, block.reason]


def _hosts() -> QuerySet[Host]:
    return Host.objects.only("name").order_by("name")


def zone_of(request: HttpRequest) -> ZoneInfo:
    """Return the reader's time zone, which a script keeps in a cookie; UTC without one."""
    return _zone(request.COOKIES, COOKIE) or ZoneInfo("UTC")


def _zone(values: Mapping[str, str], name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(values[name])
    except (KeyError, ValueError, OSError):  # ZoneInfoNotFoundError is a KeyError
        return None


def monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _first_day(text: str) -> date | None:
    """Return the Monday of a week as calendars name it, 2026-W48; None for what is none."""
    match = re.fullmatch(r"(2[0-9]{3})-W([0-9]{2})", text)
    try:
        return date.fromisocalendar(int(match[1]), int(match[2]), 1) if match else None
    except ValueError:
        return None
