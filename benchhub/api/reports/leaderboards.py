"""Systems ranked by throughput or price, as on the page of the leaderboard."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict
from drf_spectacular.helpers import forced_singular_serializer
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.api.core.views import View
from benchhub.reports.leaderboard import page as leaderboard
from benchhub.reports.leaderboard.standings import Standing
from benchhub.reports.prices.terms import NAMES

from .comparisons import WORDS, wrong

CHOICES = [name for name, _ in leaderboard.ORDERS]
PARAMETERS = [
    OpenApiParameter("workload", OpenApiTypes.INT64, description="Left out: the first that has a curve."),
    OpenApiParameter("protocol", OpenApiTypes.STR, description="Its digest; left out: that with the most systems."),
    OpenApiParameter("by", OpenApiTypes.STR, enum=CHOICES, description="Left out: throughput."),
    *(OpenApiParameter(name, OpenApiTypes.STR, many=name == "licence", description=WORDS[name]) for name in NAMES),
]


class Place(drf.Serializer):
    """A system, by price under one licence; money is decimal text, null where throughput decides."""

    place = drf.IntegerField(help_text="Systems that are not told apart share one.")
    key = drf.CharField(help_text="The curve, as experiment-system.")
    label = drf.CharField()
    hardware = drf.CharField()
    throughput = drf.FloatField(help_text="At the peak: the geometric mean of its repeats.")
    lowest = drf.FloatField()
    highest = drf.FloatField()
    clients = drf.IntegerField()
    repeats = drf.IntegerField()
    licence = drf.CharField(allow_blank=True)
    price = drf.CharField(allow_null=True, help_text="For one unit of throughput, as shown.")
    total = drf.CharField(allow_null=True)
    currency = drf.CharField(allow_null=True)
    against_first = drf.CharField(
        allow_blank=True, help_text="By throughput the first over this, by price the reverse."
    )
    verdict = drf.CharField(allow_blank=True, help_text="On that ratio; not tested with fewer than three repeats.")
    trust = drf.CharField(help_text="What the doubts of the curve come to.")
    is_demonstration = drf.BooleanField()


class ProtocolChoice(drf.Serializer):
    digest = drf.CharField()
    words = drf.CharField(help_text="What sets it apart from the others, and how many systems it has.")


class Leaderboard(drf.Serializer):
    """Of each system the newest finished curve under this protocol counts."""

    workload = drf.IntegerField(allow_null=True)
    protocol = drf.CharField(allow_blank=True)
    protocols = ProtocolChoice(many=True)
    by = drf.ChoiceField(choices=CHOICES)
    unit = drf.CharField(allow_blank=True)
    lead = drf.CharField(allow_blank=True, help_text="Who is first, and how sure that is.")
    places = Place(many=True)


class Leaderboards(View):
    pagination_class = None
    filter_backends = ()
    serializer_class = Leaderboard

    @extend_schema(parameters=PARAMETERS, responses=forced_singular_serializer(Leaderboard))
    def list(self, request: Request) -> Response:
        """Rank systems of one workload under one protocol, by throughput or by price per unit of it."""
        board = leaderboard.LeaderboardPage(request._request.GET)
        if faults := _faults(board, request._request.GET):
            raise wrong(faults)
        return Response(_ranked(board))


def _faults(board: leaderboard.LeaderboardPage, query: QueryDict) -> dict[str, str]:
    """Find what a page would pass over in silence: a sentence by parameter."""
    allowed = (*leaderboard.NAMES, *NAMES, "format")
    faults = dict.fromkeys(sorted(set(query) - set(allowed)), "There is no such parameter.")
    workload = query.get("workload", "")
    if workload and (board.workload is None or str(board.workload.pk) != workload):
        faults["workload"] = "There is no such workload with a curve."
    if query.get("protocol", "") not in ("", *board.newest):
        faults["protocol"] = "No curve of the workload has this protocol."
    if query.get("by", CHOICES[0]) not in CHOICES:
        faults["by"] = f"Choose {' or '.join(CHOICES)}."
    return {**faults, **board.prices.terms.problems}


def _ranked(board: leaderboard.LeaderboardPage) -> dict[str, Any]:
    return {
        "workload": board.workload.pk if board.workload else None,
        "protocol": board.protocol,
        "protocols": [{"digest": digest, "words": words} for digest, words in board.protocols],
        "by": board.by,
        "unit": board.unit,
        "lead": board.lead,
        "places": [_place(standing) for standing in board.standings],
    }


def _place(standing: Standing) -> dict[str, Any]:
    entry, cell = standing.entry, standing.cell
    level = entry.curve.peak.level
    quote = cell.quote if cell else None
    return {
        "place": standing.place,
        "key": entry.key,
        "label": entry.label,
        "hardware": str(entry.system.hardware),
        "throughput": level.throughput.mean,
        "lowest": level.throughput.low,
        "highest": level.throughput.high,
        "clients": level.clients,
        "repeats": level.throughput.n,
        "licence": cell.licence if cell else "",
        "price": f"{cell.price:f}" if cell and cell.price is not None else None,
        "total": f"{quote.total:f}" if quote else None,
        "currency": quote.currency if quote else None,
        "against_first": standing.against,
        "verdict": standing.verdict,
        "trust": standing.trust.words,
        "is_demonstration": entry.experiment.is_demonstration,
    }
