"""What the tests of comparisons ask for, and how they read the answers."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import Any

from django.http import HttpResponse

from benchhub.bench import testing
from benchhub.bench.models import Experiment, System
from benchhub.catalog.models import ListPrice

COMPARE = "/compare/"


def list_price(amount: str, currency: str = "EUR", **of: Any) -> ListPrice:
    what = str(next(iter(of.values())))
    listed = {"description": what, "priced_on": date(2026, 1, 1), "source": "a quote", "currency": currency}
    return ListPrice.objects.create(amount=Decimal(amount), **listed, **of)


def variant(system: System, **changes: Any) -> System:
    """The same system but for these fields; a system is never changed in place."""
    values = {field.attname: getattr(system, field.attname) for field in System._meta.concrete_fields}
    return System.objects.create(**{**values, "id": None, "digest": testing.sha256(str(changes)), **changes})


def key(experiment: Experiment, system: System) -> str:
    return f"{experiment.pk}-{system.pk}"


def address(*keys: str, **more: Any) -> str:
    named = "&".join([*(f"curve={one}" for one in keys), *(f"{name}={value}" for name, value in more.items())])
    return f"{COMPARE}?{named}"


def both(experiment: Experiment, systems: Iterable[System], **more: Any) -> str:
    return address(*(key(experiment, system) for system in systems), **more)


def figure_of(response: HttpResponse) -> Any:
    found = re.search(r'<script id="figure-compare" type="application/json">(.*?)</script>', response.content.decode())
    return json.loads(found[1]) if found else None


def rows_of(response: HttpResponse) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(response.content.decode())))
