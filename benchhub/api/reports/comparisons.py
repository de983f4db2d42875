"""Curves side by side, with their ratios to a baseline and their prices, as the page of a comparison has them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from django.http import HttpResponse, QueryDict
from drf_spectacular.helpers import forced_singular_serializer
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers as drf
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.analysis.curves.ratio import VERDICTS
from benchhub.api.bench.curves import Curve, curve_of
from benchhub.api.core import problems
from benchhub.api.core.views import FILE, View
from benchhub.reports.comparison import comparison as comparisons
from benchhub.reports.comparison.answers import doubts
from benchhub.reports.comparison.answers.findings import Finding as CurveFinding
from benchhub.reports.comparison.entries import Entry
from benchhub.reports.comparison.state import CEILING, MOST, State
from benchhub.reports.comparison.state import PARAMETERS as STATE
from benchhub.reports.prices.cells import VERDICTS as PRICE_VERDICTS
from benchhub.reports.prices.cells import Cell, Row
from benchhub.reports.prices.terms import NAMES
from benchhub.reports.sharing import publish
from benchhub.reports.sharing.document.comparison import NothingToPublishError

WORDS = {
    "term": "Years: 1 to 5.",
    "licence": "Number of a licence model; may be given several times. Left out: all.",
    "load": "peak, latency (the best level within the ceiling), or a number of clients.",
    "ceiling": "Latency ceiling in ms, for load=latency.",
    "rounding": "nearest or up.",
    "day": "The day by whose prices, sheets and rates everything is priced: 2026-01-31.",
    "currency": "ISO 4217: what prices are converted to.",
    "discount": "Per cent off everything.",
    "support": "Support in per cent a year, for licences bought for good; left out: as each licence says.",
    "standbys": "Machines beside the primary: 0 to 9.",
    "utilisation": "Per cent of the throughput that is used, for the price of a million transactions.",
    "users": "Named users, for licences by user.",
    "per": "What sentences give the price of: `unit` (of throughput, the usual) or `million` (transactions).",
}
PARAMETERS = [
    OpenApiParameter("curve", OpenApiTypes.STR, required=True, many=True, description="experiment-system; up to 12."),
    OpenApiParameter("baseline", OpenApiTypes.STR, description="One of the curves; left out: the first."),
    OpenApiParameter(
        CEILING, OpenApiTypes.STR, description="Compare where the average latency is at most so many ms, too."
    ),
    *(OpenApiParameter(name, OpenApiTypes.STR, many=name == "licence", description=WORDS[name]) for name in NAMES),
]

ABOUT = [
    OpenApiParameter(CEILING, OpenApiTypes.STR, description="Latency ceiling of the findings in ms."),
    OpenApiParameter("drawn", OpenApiTypes.STR, description="The licence model of the figures, and of what if."),
    OpenApiParameter("subject", OpenApiTypes.STR, description="The curve that what if is about."),
    OpenApiParameter("one", OpenApiTypes.STR, description="The licence models whose break-even is sought: one"),
    OpenApiParameter("other", OpenApiTypes.STR, description="and the other."),
    OpenApiParameter("show", OpenApiTypes.STR, description="Of the page's chart; changes nothing here."),
    OpenApiParameter("axis", OpenApiTypes.STR, description="Likewise."),
]
WHOLE = {(200, "application/json"): OpenApiTypes.OBJECT}


class FindingRow(drf.Serializer):
    """A ratio to the baseline with its 95% interval and its test; neither where `verdict` is withheld."""

    where = drf.CharField(help_text="A level, all levels, the peaks, or a piece of hardware.")
    ratio = drf.FloatField(source="value")
    low = drf.FloatField(allow_null=True)
    high = drf.FloatField(allow_null=True)
    p = drf.FloatField(allow_null=True)
    p_of_several = drf.FloatField(source="adjusted_p", allow_null=True, help_text="Corrected for the number of levels.")
    verdict = drf.ChoiceField(choices=VERDICTS)


class Finding(drf.Serializer):
    key = drf.CharField()
    sentences = drf.ListField(child=drf.CharField())
    doubts = drf.ListField(child=drf.CharField())
    rows = FindingRow(many=True)


class Ratio(drf.Serializer):
    """A ratio to the baseline at the same number of clients; null where one of the two did not run there."""

    key = drf.CharField()
    clients = drf.IntegerField()
    ratio = drf.FloatField(allow_null=True)
    lowest = drf.FloatField(allow_null=True)
    highest = drf.FloatField(allow_null=True)
    verdict = drf.ChoiceField(
        choices=VERDICTS, allow_null=True, help_text="Not tested: fewer than three repeats of one of the two."
    )
    withheld = drf.CharField(allow_blank=True, help_text="Why there is neither interval nor verdict.")
    is_highest = drf.BooleanField(help_text="Of several curves at this level.")
    is_best = drf.BooleanField(help_text="The highest, and told apart from every other.")
    candidates = drf.ListField(child=drf.CharField(), help_text="Of the highest: labels of curves that may be as good.")


class PriceOfCurve(drf.Serializer):
    """Money as decimal text; `missing` says why there is no price, and then all amounts are null."""

    key = drf.CharField()
    licence_model = drf.IntegerField()
    licence = drf.CharField()
    clients = drf.IntegerField(allow_null=True)
    currency = drf.CharField(allow_null=True)
    price = drf.CharField(allow_null=True, help_text="For one unit of throughput, as shown.")
    exact = drf.CharField(allow_null=True, help_text="The same to 28 digits.")
    lowest = drf.CharField(allow_null=True)
    highest = drf.CharField(allow_null=True)
    interval = drf.CharField(allow_null=True, help_text="What lowest and highest are the ends of.")
    per_million = drf.CharField(allow_null=True)
    total = drf.CharField(allow_null=True)
    hardware = drf.CharField(allow_null=True)
    licences = drf.CharField(allow_null=True)
    support = drf.CharField(allow_null=True)
    flags = drf.ListField(child=drf.CharField())
    derivation = drf.ListField(child=drf.CharField(), help_text="How the price came about, step by step.")
    missing = drf.CharField(allow_blank=True)
    verdict = drf.ChoiceField(
        choices=PRICE_VERDICTS, allow_null=True, help_text="Of the lowest price under a licence model; else null."
    )
    candidates = drf.ListField(child=drf.CharField(), help_text="Labels of curves that may be as cheap.")


class Prices(drf.Serializer):
    terms = drf.CharField()
    load = drf.CharField()
    unit = drf.CharField()
    lead = drf.CharField(
        allow_blank=True, help_text="The lowest of all, or that there is no clear winner, with the candidates."
    )
    remark = drf.CharField(allow_blank=True)
    rows = PriceOfCurve(many=True)


class Word(drf.Serializer):
    """A declaration that different protocols are comparable: by whom, and why."""

    id = drf.IntegerField()
    by = drf.CharField()
    reason = drf.CharField()


class Comparison(drf.Serializer):
    """`refusal` says why the curves are not compared; then there are no ratios and no prices."""

    refusal = drf.CharField(allow_blank=True)
    declared = Word(many=True, help_text="Words of people on which unlike protocols are compared all the same.")
    problems = drf.ListField(child=drf.CharField(), help_text="Curves that are left out, and why.")
    baseline = drf.CharField(allow_null=True)
    unit = drf.CharField(allow_null=True)
    curves = Curve(many=True)
    findings = Finding(many=True)
    ratios = Ratio(many=True)
    prices = Prices(allow_null=True)


class Comparisons(View):
    pagination_class = None
    filter_backends = ()
    serializer_class = Comparison

    @extend_schema(parameters=PARAMETERS, responses=forced_singular_serializer(Comparison))
    def list(self, request: Request) -> Response:
        """Compare curves, and price them by terms. Like the page, it has its whole state in the address."""
        state = state_of(request._request.GET, {"baseline", CEILING, *NAMES})
        require_terms(state)
        if state.ceiling.error:
            raise wrong({CEILING: state.ceiling.error})
        return Response(_compared(comparisons.Comparison.load(state)))

    @extend_schema(parameters=[*PARAMETERS, *ABOUT], responses=WHOLE)
    @action(detail=False, **FILE)
    def document(self, request: Request) -> HttpResponse:
        """Return all that the page shows, in the format of a snapshot (docs/snapshots.md); nothing is frozen."""
        state = state_of(request._request.GET, set(STATE))
        require_terms(state)
        try:
            document = publish.comparison_now(state)
        except NothingToPublishError as error:
            raise problems.Problem(409, str(error)) from error
        return HttpResponse(document, content_type="application/json")


def state_of(query: QueryDict, names: Container[str]) -> State:
    """Read the state in an address. Raises a problem where it names no curve, or a parameter that is none of names."""
    if unknown := [name for name in query if name not in names and name not in ("curve", "format")]:
        raise wrong(dict.fromkeys(sorted(unknown), "There is no such parameter."))
    state = State.read(query)
    if not state.keys or len(state.keys) < len(set(query.getlist("curve"))):
        raise wrong({"curve": f"Name 1 to {MOST} curves, each as experiment-system: 3-7."})
    return state


def require_whole(comparison: comparisons.Comparison) -> None:
    """Raise a problem where one of the curves is not there."""
    if not comparison.is_whole:
        raise problems.Problem(409, " ".join(comparison.problems))


def require_terms(state: State) -> None:
    """Raise a problem where a term in the address was not understood."""
    if faults := state.terms().problems:
        raise wrong(dict(faults))


def wrong(faults: dict[str, str]) -> problems.Problem:
    """Return the problem of an address: a sentence for each parameter at fault."""
    errors = [{"pointer": f"?{name}", "detail": sentence} for name, sentence in faults.items()]
    return problems.Problem(400, " ".join(faults.values()), errors)


def _compared(comparison: comparisons.Comparison) -> dict[str, Any]:
    is_compared = bool(comparison.curves) and comparison.is_comparable
    nothing: dict[str, Any] = {"baseline": None, "unit": None, "findings": [], "ratios": [], "prices": None}
    curves = comparison.entries if is_compared else comparison.curves
    return {
        **nothing,
        "refusal": comparison.refusal,
        "declared": [
            {"id": row.pk, "by": str(row.declared_by), "reason": row.reason} for row in comparison.declarations
        ],
        "problems": comparison.problems,
        "curves": [curve_of(entry.key, entry) for entry in curves],
        **(_together(comparison) if is_compared else {}),
    }


def _together(comparison: comparisons.Comparison) -> dict[str, Any]:
    findings = {finding.entry.key: finding for finding in comparison.findings}
    sentences = {entry.key: list(map(str, claims)) for entry, claims in comparison.claims}
    return {
        "baseline": comparison.baseline.key,
        "unit": comparison.unit,
        "findings": [
            _finding(entry, sentences.get(entry.key, []), findings.get(entry.key)) for entry in comparison.entries
        ],
        "ratios": _ratios(comparison),
        "prices": _prices(comparison),
    }


def _finding(entry: Entry, sentences: Sequence[str], finding: CurveFinding | None) -> dict[str, Any]:
    rows = (*finding.rows, *(normalised.row for normalised in finding.normalised)) if finding else ()
    return {
        "key": entry.key,
        "sentences": [*sentences, *(finding.sentences if finding else ())],
        "doubts": doubts.of_curve(entry),
        "rows": FindingRow(rows, many=True).data,
    }


def _ratios(comparison: comparisons.Comparison) -> list[dict[str, Any]]:
    return [
        {
            "key": cell.entry.key,
            "clients": row.clients,
            "ratio": cell.ratio.value if cell.ratio else None,
            "lowest": cell.ratio.lowest if cell.ratio else None,
            "highest": cell.ratio.highest if cell.ratio else None,
            "verdict": cell.ratio.verdict if cell.ratio and not cell.is_baseline else None,
            "withheld": cell.ratio.withheld if cell.ratio else "",
            "is_highest": cell.leader is not None,
            "is_best": cell.is_best,
            "candidates": list(cell.leader.candidates) if cell.leader else [],
        }
        for row in comparison.levels
        for cell in row.cells
        if cell is not None
    ]


def _prices(comparison: comparisons.Comparison) -> dict[str, Any]:
    prices = comparison.prices
    pairs = [(entry.key, row) for entry, row in zip(comparison.entries, prices.rows, strict=True)]
    rows = [_price(key, row, cell) for key, row in pairs for cell in row.cells]
    rows += [_no_price(key, row, model) for key, row in pairs if row.refusal for model in prices.licence_models]
    return {
        "terms": prices.terms.words,
        "load": prices.load_words,
        "unit": prices.unit,
        "lead": prices.lead,
        "remark": prices.remark,
        "rows": rows,
    }


def _price(key: str, row: Row, cell: Cell) -> dict[str, Any]:
    quote = cell.quote
    if quote is None or cell.spread is None:
        return _no_price(key, row, cell.model, cell.refusal.sentence if cell.refusal else "")
    amounts = {
        "price": cell.price, "exact": quote.quotient, "per_million": cell.per_million, "total": quote.total,
        "hardware": quote.hardware, "licences": quote.licences, "support": quote.support,
    }  # fmt: skip
    has_spread = cell.spread.n > 1
    ends = {"lowest": cell.lowest, "highest": cell.highest} if has_spread else {"lowest": None, "highest": None}
    return {
        **_price_key(key, row, cell.model),
        **{name: None if value is None else f"{value:f}" for name, value in {**amounts, **ends}.items()},
        "currency": quote.currency,
        "interval": cell.spread.kind if has_spread else None,
        "flags": list(cell.flags),
        "derivation": [str(step) for step in cell.steps],
        "missing": "",
        "verdict": cell.verdict.name if cell.verdict else None,
        "candidates": list(cell.verdict.leader.candidates) if cell.verdict else [],
    }


def _no_price(key: str, row: Row, model: Any, why: str = "") -> dict[str, Any]:
    names = _price_key(key, row, model)
    nothing = dict.fromkeys(name for name in PriceOfCurve().fields if name not in names)
    return {**nothing, **names, "flags": [], "derivation": [], "candidates": [], "missing": why or row.refusal}


def _price_key(key: str, row: Row, model: Any) -> dict[str, Any]:
    clients = row.at.level.clients if row.at else None
    return {"key": key, "licence_model": model.pk, "licence": str(model), "clients": clients}
