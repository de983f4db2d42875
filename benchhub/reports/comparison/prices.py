"""The prices of a comparison: the table by the terms in the address, its figures, and what if."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import QueryDict

from benchhub.reports.curves.panel import Panel
from benchhub.reports.prices import pictures, what_if
from benchhub.reports.prices.queries import known
from benchhub.reports.prices.table import metered, table
from benchhub.reports.prices.terms import QUESTIONS, rest, terms

from .comparison import Chosen


def context(chosen: Sequence[Chosen], state: QueryDict) -> dict[str, Any]:
    """`panels` are all figures with the address of each one's CSV; those of `what_if` have a section of their own."""
    asked = terms(state)
    hardware = [one.of.system.hardware for one in chosen]
    found = table([one.of for one in chosen], known(hardware, (asked.day, asked.today)), asked)
    about = what_if.subject(state, found, [one.key for one in chosen])
    if about is None:
        return {"prices": found, "panels": []}
    model = about.model
    shown = [pictures.bars(found), pictures.against_clients(found, model), pictures.split(found)]
    usual = _addressed(shown, state)
    asides = _addressed(what_if.panels(found, about), state)
    return {
        "prices": found,
        "panels": [*usual, *asides],
        "price_figures": usual,
        "drawn": model,
        "drawn_kept": rest(state, ("drawn",)),
        "what_if": {
            "subject": about,
            "panels": asides,
            "kept": rest(state, QUESTIONS),
            "subjects": [(one.key, one.label, one.of is about.row.of) for one in chosen],
            "metered": metered(found.known.licence_models),
        },
    }


def _addressed(panels: Sequence[Panel], state: QueryDict) -> list[tuple[Panel, str]]:
    return [(panel, _address(state, panel.name)) for panel in panels]


def _address(state: QueryDict, table_name: str) -> str:
    query = state.copy()
    query["csv"] = table_name
    return f"?{query.urlencode()}"
