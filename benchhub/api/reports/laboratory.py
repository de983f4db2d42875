"""Prices of a comparison along an axis, and where the cheaper of two choices changes, as the laboratory has them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from drf_spectacular.helpers import forced_singular_serializer
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.analysis.pricing.laboratory.flips import Flip
from benchhub.analysis.pricing.laboratory.handles import NAMES as AXES
from benchhub.analysis.pricing.laboratory.laboratory import Point
from benchhub.analysis.pricing.laboratory.words import zone_ends
from benchhub.api.core import problems
from benchhub.api.core.views import View
from benchhub.reports.comparison.comparison import Comparison
from benchhub.reports.laboratory import tables
from benchhub.reports.laboratory.handles import Handle
from benchhub.reports.laboratory.settings import OWN, Settings
from benchhub.reports.laboratory.setup import Setup, Subject
from benchhub.reports.prices.cells import Cell
from benchhub.reports.prices.terms import NAMES

from .comparisons import PARAMETERS, require_terms, require_whole, state_of, wrong

WORDS = {
    "along": "The axis; left out: licence-price, or the first that there is.",
    "from": "Where the axis begins; left out: as the page has it.",
    "to": "Where it ends.",
    "priced": "Number of the licence model whose price and discount are moved.",
    "machine": "Number of the hardware whose cores are moved.",
    "system": "The curve, as experiment-system, whose throughput is moved.",
    "price": "The licence's price; left out: its list price.",
    "off": "Per cent off the licence's list price; left out: as its rules say.",
    "cores": "Cores per socket; left out: as the hardware has them.",
    "throughput": "In the unit of the curves; left out: as measured.",
}
OWN_PARAMETERS = [
    OpenApiParameter(name, OpenApiTypes.STR, enum=list(AXES) if name == "along" else None, description=WORDS[name])
    for name in OWN
]


class HandleShown(drf.Serializer):
    """What is moved, and where it is; `usual` is where the comparison has it."""

    name = drf.CharField()
    parameter = drf.CharField(help_text="The parameter that moves it.")
    value = drf.CharField()
    usual = drf.CharField()
    unit = drf.CharField(source="unit_words")
    subject = drf.CharField(allow_blank=True, help_text="The licence, machine or system that it is of.")


class FlipShown(drf.Serializer):
    """From `value` on `other` is not dearer than `first`, which was the cheaper up to `before`."""

    first = drf.CharField()
    other = drf.CharField()
    before = drf.CharField()
    value = drf.CharField()
    price = drf.CharField(allow_null=True)
    is_end = drf.BooleanField(help_text="One of the two cannot be bought on one side.")
    certainty = drf.CharField(help_text="tested, not tested, withheld, or same runs on both sides: then it is exact.")
    unsure_from = drf.CharField(allow_null=True, help_text="Null: from the start of the axis, or not tested.")
    unsure_to = drf.CharField(allow_null=True)
    sentence = drf.CharField()


class PointShown(drf.Serializer):
    value = drf.CharField()
    price = drf.CharField(allow_null=True)
    low = drf.CharField(allow_null=True)
    high = drf.CharField(allow_null=True)
    missing = drf.CharField(allow_blank=True)


class ChoiceShown(drf.Serializer):
    """A system under a licence: its price where the handles are, as in a comparison, and along the axis."""

    key = drf.CharField()
    licence_model = drf.IntegerField()
    system = drf.CharField()
    licence = drf.CharField()
    price = drf.CharField(allow_null=True)
    exact = drf.CharField(allow_null=True)
    total = drf.CharField(allow_null=True)
    per_million = drf.CharField(allow_null=True)
    derivation = drf.ListField(child=drf.CharField())
    missing = drf.CharField(allow_blank=True)
    points = PointShown(many=True, help_text="Empty where the choice is not drawn.")


class LaboratoryShown(drf.Serializer):
    """Amounts and values are decimal text. `sentences` say each flip, `lead` which choice is the cheapest where."""

    sentences = drf.ListField(child=drf.CharField())
    lead = drf.CharField()
    along = drf.ChoiceField(choices=AXES)
    low = drf.CharField()
    high = drf.CharField()
    unit = drf.CharField(help_text="What prices along the axis are in.")
    handles = HandleShown(many=True)
    flips = FlipShown(many=True)
    choices = ChoiceShown(many=True)
    problems = drf.ListField(child=drf.CharField(), help_text="What cannot be priced, and why.")


class Laboratories(View):
    pagination_class = None
    filter_backends = ()
    serializer_class = LaboratoryShown

    @extend_schema(parameters=[*PARAMETERS, *OWN_PARAMETERS], responses=forced_singular_serializer(LaboratoryShown))
    def list(self, request: Request) -> Response:
        """Move what prices depend on, and return where the cheaper of two choices changes along an axis."""
        query = request._request.GET
        state = state_of(query, {*(parameter.name for parameter in PARAMETERS), *NAMES, *OWN})
        require_terms(state)
        settings = Settings.read(query)
        if settings.problems:
            raise wrong(dict(settings.problems))
        comparison = Comparison.load(state)
        require_whole(comparison)
        if comparison.refusal:
            raise problems.Problem(409, comparison.refusal)
        setup = Setup(comparison, settings)
        if setup.refusal:
            raise problems.Problem(409, setup.refusal)
        if faults := _faults(setup):
            raise wrong(faults)
        return Response(_whole(setup))


def _faults(setup: Setup) -> dict[str, str]:
    """Find what a page would pass over in silence: a sentence by parameter."""
    settings = setup.settings
    keys = {
        "along": (settings.along, setup.handles),
        "priced": (settings.priced, {str(model.pk) for model in setup.licences}),
        "machine": (settings.machine, {str(hardware.pk) for hardware in setup.machines}),
        "system": (settings.system, {entry.key for entry in setup.systems}),
    }
    return {
        name: f"Choose one of: {', '.join(sorted(values))}."
        for name, (value, values) in keys.items()
        if value and value not in values
    }


def _whole(setup: Setup) -> dict[str, Any]:
    drawn = {id(subject) for subject in setup.drawn}
    return {
        "sentences": [sentence for _, sentence in setup.groups],
        "lead": setup.lead,
        "along": setup.handle.name,
        "low": _text(setup.axis.low),
        "high": _text(setup.axis.high),
        "unit": setup.unit,
        "handles": [_handle(handle) for handle in setup.handles.values()],
        "flips": [_flip(setup, flip, sentence) for group, sentence in setup.groups for flip in group],
        "choices": [_choice(setup, *pair, is_drawn=id(pair[0]) in drawn) for pair in setup.ranked],
        "problems": setup.problems,
    }


def _handle(handle: Handle) -> dict[str, Any]:
    return {**HandleShown(handle).data, "value": _text(handle.value), "usual": _text(handle.usual)}


def _flip(setup: Setup, flip: Flip, sentence: str) -> dict[str, Any]:
    low, high = zone_ends(setup.axis, flip.zone)
    return {
        "first": flip.first.name,
        "other": flip.other.name,
        "before": _text(flip.before),
        "value": _text(flip.value),
        "price": None if flip.price is None else _text(tables.amount(flip.price)),
        "is_end": flip.is_end,
        "certainty": flip.zone.kind,
        "unsure_from": _text(low),
        "unsure_to": _text(high),
        "sentence": sentence,
    }


def _choice(setup: Setup, subject: Subject, cell: Cell, *, is_drawn: bool) -> dict[str, Any]:
    quote, choice = cell.quote, subject.choice
    return {
        "key": choice.system,
        "licence_model": subject.model.pk,
        "system": choice.system_label,
        "licence": choice.licence_label,
        "price": _text(cell.price),
        "exact": _text(quote.quotient) if quote else None,
        "total": _text(quote.total) if quote else None,
        "per_million": _text(cell.per_million),
        "derivation": [str(step) for step in cell.steps],
        "missing": cell.refusal.sentence if cell.refusal else "",
        "points": [_point(point) for point in setup.laboratory.points(choice)] if is_drawn else [],
    }


def _point(point: Point) -> dict[str, Any]:
    price = None if point.price is None else Decimal(point.price.numerator) / Decimal(point.price.denominator)
    amounts = {"value": point.value, "price": price, "low": point.low, "high": point.high}
    return {**{name: _text(value) for name, value in amounts.items()}, "missing": point.why}


def _text(value: Decimal | None) -> str | None:
    return None if value is None else f"{value:f}"
