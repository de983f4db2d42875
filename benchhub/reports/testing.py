"""Addresses, prices and readers of answers for the tests of comparisons."""

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


def list_price(amount: str, currency: str = "EUR", **subject: Any) -> ListPrice:
    """Create a price of `hardware` or of a `licence_model`."""
    description = str(next(iter(subject.values())))
    fields = {"description": description, "priced_on": date(2026, 1, 1), "source": "a quote", "currency": currency}
    return ListPrice.objects.create(amount=Decimal(amount), **fields, **subject)


def variant(system: System, **changes: Any) -> System:
    """Return a copy of the system with these fields changed; a system is never changed in place."""
    values = {field.attname: getattr(system, field.attname) for field in System._meta.concrete_fields}
    return System.objects.create(**{**values, "id": None, "digest": testing.sha256(str(changes)), **changes})


def key(experiment: Experiment, system: System) -> str:
    return f"{experiment.pk}-{system.pk}"


def address(*keys: str, **parameters: Any) -> str:
    query = [*(f"curve={key}" for key in keys), *(f"{name}={value}" for name, value in parameters.items())]
    return f"{COMPARE}?{'&'.join(query)}"


def both(experiment: Experiment, systems: Iterable[System], **parameters: Any) -> str:
    return address(*(key(experiment, system) for system in systems), **parameters)


def figure_of(response: HttpResponse) -> Any:
    match = re.search(r'<script id="figure-compare" type="application/json">(.*?)</script>', response.content.decode())
    return json.loads(match[1]) if match else None


def rows_of(response: HttpResponse) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(response.content.decode())))
