"""Curves side by side, with their ratios to a baseline and their prices, as the page of a comparison has them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, ClassVar

from django.db.models.functions import Now
from django.http import HttpResponse, QueryDict
from drf_spectacular.helpers import forced_singular_serializer
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers as drf
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.bench.models import Comparability
from benchhub.reports.comparison import comparison, findings
from benchhub.reports.comparison import declared as comparison_declared
from benchhub.reports.comparison import doubts as comparison_doubts
from benchhub.reports.comparison import queries as comparison_queries
from benchhub.reports.comparison import views as comparison_views
from benchhub.reports.comparison.comparison import Chosen
from benchhub.reports.curves import latencies
from benchhub.reports.prices.queries import known
from benchhub.reports.prices.table import Cell, Row, Table, table
from benchhub.reports.prices.terms import NAMES, Terms, terms
from benchhub.reports.sharing import publish
from benchhub.reports.sharing.document.comparison import NothingToPublishError

from .bench import curve_of
from .core import json_forms, problems
from .core.json_forms import Strict
from .core.views import FILE, Read, Shown, View
from .serializers_bench import Curve

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
}
PARAMETERS = [
    OpenApiParameter("curve", OpenApiTypes.STR, required=True, many=True, description="experiment-system; up to 12."),
    OpenApiParameter("baseline", OpenApiTypes.STR, description="One of the curves; left out: the first."),
    OpenApiParameter(
        findings.CEILING, OpenApiTypes.STR, description="Compare where the average latency is at most so many ms, too."
    ),
    *(OpenApiParameter(name, OpenApiTypes.STR, many=name == "licence", description=WORDS[name]) for name in NAMES),
]

ABOUT = [
    OpenApiParameter(findings.CEILING, OpenApiTypes.STR, description="Latency ceiling of the findings in ms."),
    OpenApiParameter("drawn", OpenApiTypes.STR, description="The licence model of the figures, and of what if."),
    OpenApiParameter("subject", OpenApiTypes.STR, description="The curve that what if is about."),
    OpenApiParameter("one", OpenApiTypes.STR, description="The licence models whose break-even is sought: one"),
    OpenApiParameter("other", OpenApiTypes.STR, description="and the other."),
    OpenApiParameter("show", OpenApiTypes.STR, description="Of the page's chart; changes nothing here."),
    OpenApiParameter("axis", OpenApiTypes.STR, description="Likewise."),
]
WHOLE = {(200, "application/json"): OpenApiTypes.OBJECT}


class DeclarationRequest(Strict):
    curves = drf.ListField(
        child=drf.CharField(max_length=40),
        min_length=2,
        max_length=comparison_views.MOST,
        help_text="Each experiment-system.",
    )
    reason = json_forms.json_field(comparison_declared.DeclarationForm.base_fields["reason"])


class Declaration(Shown):
    """A person's word that two protocols may be compared. `first` and `second` are their digests."""

    declared_by = drf.SlugRelatedField(slug_field="username", read_only=True)
    withdrawn_by = drf.SlugRelatedField(slug_field="username", read_only=True, allow_null=True)

    class Meta:
        model = Comparability
        fields = (
            "id", "url", "first", "second", "reason", "declared_by", "declared_at", "withdrawn_by", "withdrawn_at",
        )  # fmt: skip


class FindingRow(drf.Serializer):
    """A ratio to the baseline with its 95% interval and its test; neither where `verdict` is withheld."""

    where = drf.CharField(help_text="A level, all levels, the peaks, or a piece of hardware.")
    ratio = drf.FloatField(source="value")
    low = drf.FloatField(allow_null=True)
    high = drf.FloatField(allow_null=True)
    p = drf.FloatField(allow_null=True)
    p_of_several = drf.FloatField(source="adjusted_p", allow_null=True, help_text="Corrected for the number of levels.")
    verdict = drf.CharField(help_text="more, less, not distinguishable, or withheld.")


class Finding(drf.Serializer):
    key = drf.CharField()
    sentences = drf.ListField(child=drf.CharField())
    doubts = drf.ListField(child=drf.CharField())
    rows = FindingRow(many=True)


class Ratio(drf.Serializer):
    """To the baseline at the same number of clients; null where one of the two did not run there."""

    key = drf.CharField()
    clients = drf.IntegerField()
    ratio = drf.FloatField(allow_null=True)
    lowest = drf.FloatField(allow_null=True)
    highest = drf.FloatField(allow_null=True)
    verdict = drf.CharField(allow_null=True, help_text="more, less, not distinguishable, or withheld.")
    withheld = drf.CharField(allow_blank=True, help_text="Why there is neither interval nor verdict.")
    is_best = drf.BooleanField()


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


class Prices(drf.Serializer):
    terms = drf.CharField()
    load = drf.CharField()
    unit = drf.CharField()
    lead = drf.CharField(allow_blank=True, help_text="The lowest of all, and whether anything else may be as low.")
    remark = drf.CharField(allow_blank=True)
    rows = PriceOfCurve(many=True)


class Word(drf.Serializer):
    """By whom different protocols were declared comparable, and why."""

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
        asked = request._request.GET
        keys, by = keys_of(asked, {"baseline", findings.CEILING, *NAMES}), _terms(asked)
        return Response(_compared(keys, asked.get("baseline"), by, _ceiling(asked)))

    @extend_schema(parameters=[*PARAMETERS, *ABOUT], responses=WHOLE)
    @action(detail=False, **FILE)
    def document(self, request: Request) -> HttpResponse:
        """All that the page shows, in the format of a snapshot (docs/snapshots.md); nothing is frozen."""
        asked = request._request.GET
        keys = keys_of(asked, set(comparison_views.STATE))
        _terms(asked)
        try:
            whole = publish.comparison_now(comparison_views.state_of(asked), keys)
        except NothingToPublishError as error:
            raise problems.Problem(409, str(error)) from error
        return HttpResponse(whole, content_type="application/json")


def keys_of(asked: QueryDict, known: Container[str]) -> list[tuple[int, int]]:
    """The curves of an address. Raises a problem where it names none, or a parameter that is not known."""
    if unknown := [name for name in asked if name not in known and name not in ("curve", "format")]:
        raise wrong(dict.fromkeys(sorted(unknown), "There is no such parameter."))
    keys = comparison_views.chosen_keys(asked)
    if not keys or len(keys) < len(set(asked.getlist("curve"))):
        raise wrong({"curve": f"Name 1 to {comparison_views.MOST} curves, each as experiment-system: 3-7."})
    return keys


def _terms(asked: QueryDict) -> Terms:
    by = terms(asked)
    if by.problems:
        raise wrong(dict(by.problems))
    return by


def _ceiling(asked: QueryDict) -> float | None:
    ceiling_ms, sentence = findings.ceiling(asked.get(findings.CEILING, ""))
    if sentence:
        raise wrong({findings.CEILING: sentence})
    return ceiling_ms


def wrong(found: dict[str, str]) -> problems.Problem:
    errors = [{"pointer": f"?{name}", "detail": sentence} for name, sentence in found.items()]
    return problems.Problem(400, " ".join(found.values()), errors)


def _compared(
    keys: Sequence[tuple[int, int]], baseline: str | None, by: Terms, ceiling_ms: float | None
) -> dict[str, Any]:
    rows = comparison_queries.chosen(keys)
    there = {(row.experiment_id, row.system_id) for row in rows}
    runs = comparison_queries.runs(keys)
    chosen, told = comparison.choose(rows, runs, latencies.of_runs(run.pk for run in runs))
    told += [f"There is no curve {one[0]}-{one[1]}." for one in keys if one not in there]
    groups = comparison.groups(chosen)
    refusal = ""
    declared = comparison_declared.declared(groups)
    if declared:
        chosen = comparison_declared.as_one(chosen)
    elif len(groups) > 1:
        forms = comparison_queries.protocol_forms(group[0].of.curve.protocol_digest for group in groups)
        refusal = comparison.refusal(groups, forms)
    words = [{"id": one.pk, "by": str(one.declared_by), "reason": one.reason} for one in declared]
    shown = {
        "refusal": refusal,
        "declared": words,
        "problems": told,
        "curves": [curve_of(one.key, one.of) for one in chosen],
    }
    nothing: dict[str, Any] = {"baseline": None, "unit": None, "findings": [], "ratios": [], "prices": None}
    if refusal or not chosen:
        return {**nothing, **shown}
    of = next((one for one in chosen if one.key == baseline), chosen[0])
    return {**shown, **_together(chosen, of, by, ceiling_ms)}


def _together(chosen: Sequence[Chosen], baseline: Chosen, by: Terms, ceiling_ms: float | None) -> dict[str, Any]:
    more = {one.one.key: one for one in findings.of(chosen, baseline, ceiling_ms)}
    found = table([one.of for one in chosen], known([one.of.system.hardware for one in chosen], (by.day, by.today)), by)
    return {
        "baseline": baseline.key,
        "unit": baseline.of.curve.unit,
        "findings": [_found(one, baseline, more.get(one.key)) for one in chosen],
        "ratios": _ratios(chosen, baseline),
        "prices": _prices(found, chosen),
    }


def _found(one: Chosen, baseline: Chosen, more: findings.Finding | None) -> dict[str, Any]:
    sentences = [*comparison.sentences(one, baseline), *more.sentences] if more else []
    rows = (*more.rows, *(per.row for per in more.normalised)) if more else ()
    shown = {"key": one.key, "sentences": sentences, "doubts": list(comparison_doubts.doubts(one))}
    return {**shown, "rows": FindingRow(rows, many=True).data}


def _ratios(chosen: Sequence[Chosen], baseline: Chosen) -> list[dict[str, Any]]:
    return [
        {
            "key": one.key,
            "clients": clients,
            "ratio": cell.ratio.value if cell.ratio else None,
            "lowest": cell.ratio.lowest if cell.ratio else None,
            "highest": cell.ratio.highest if cell.ratio else None,
            "verdict": cell.ratio.verdict if cell.ratio and not cell.is_baseline else None,
            "withheld": cell.ratio.withheld if cell.ratio else "",
            "is_best": cell.is_best,
        }
        for clients, cells in comparison.levels(chosen, baseline)
        for one, cell in zip(chosen, cells, strict=True)
        if cell is not None
    ]


def _prices(found: Table, chosen: Sequence[Chosen]) -> dict[str, Any]:
    pairs = [(one.key, row) for one, row in zip(chosen, found.rows, strict=True)]
    rows = [_price(key, row, cell) for key, row in pairs for cell in row.cells]
    rows += [_no_price(key, row, model) for key, row in pairs if row.refusal for model in found.licence_models]
    return {
        "terms": found.terms.words,
        "load": found.load_words,
        "unit": found.unit,
        "lead": found.lead,
        "remark": found.remark,
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
        **_named(key, row, cell.model),
        **{name: None if value is None else f"{value:f}" for name, value in {**amounts, **ends}.items()},
        "currency": quote.currency,
        "interval": cell.spread.kind if has_spread else None,
        "flags": list(cell.flags),
        "derivation": [str(step) for step in cell.steps],
        "missing": "",
    }


def _no_price(key: str, row: Row, model: Any, why: str = "") -> dict[str, Any]:
    named = _named(key, row, model)
    nothing = dict.fromkeys(name for name in PriceOfCurve().fields if name not in named)
    return {**nothing, **named, "flags": [], "derivation": [], "missing": why or row.refusal}


def _named(key: str, row: Row, model: Any) -> dict[str, Any]:
    clients = row.at.level.clients if row.at else None
    return {"key": key, "licence_model": model.pk, "licence": str(model), "clients": clients}


class Declarations(Read):
    queryset = Comparability.objects.select_related("declared_by", "withdrawn_by").order_by("pk")
    serializer_class = Declaration
    write_scope = "run"
    filterset_fields: ClassVar[Any] = {"withdrawn_at": ["isnull"], "declared_at": ["gte", "lte"]}

    @extend_schema(request=DeclarationRequest, responses={201: Declaration(many=True)})
    def create(self, request: Request) -> Response:
        """Declare the protocols of these curves comparable, with a reason that stands wherever they are compared."""
        sent = json_forms.checked(DeclarationRequest, request.data)
        form = comparison_declared.DeclarationForm(json_forms.texts({"reason": sent["reason"]}))
        if not form.is_valid():
            raise problems.invalid(problems.of_form(form))
        groups = _unlike(sent["curves"])
        comparison_declared.declare(groups, form.cleaned_data["reason"], request.user)
        rows = Comparability.objects.among({group[0].of.curve.protocol_digest for group in groups})
        return Response(self.get_serializer(rows, many=True).data, status=201)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def withdraw(self, request: Request, pk: str) -> Response:
        """The curves that it held together are refused again; what was declared stays on record."""
        standing = Comparability.objects.standing().filter(pk=self.get_object().pk)
        if not standing.update(withdrawn_at=Now(), withdrawn_by=request.user.pk):
            raise problems.Problem(409, "It was withdrawn already.")
        return Response(self.get_serializer(self.get_object()).data)


def _unlike(curves: Sequence[str]) -> list[list[Chosen]]:
    """The curves by their protocols. Raises a problem where there is nothing to declare, or where nothing may be."""
    asked = QueryDict(mutable=True)
    asked.setlist("curve", list(curves))
    keys = comparison_views.chosen_keys(asked)
    chosen: list[Chosen] = []
    if len(keys) == len(curves):
        chosen, _ = comparison.choose(comparison_queries.chosen(keys), comparison_queries.runs(keys))
    if len(chosen) < len(curves):
        sentence = "One of them is not there, has no result or is named twice: name each as experiment-system."
        raise problems.invalid([{"pointer": "/curves", "detail": sentence}])
    groups = comparison.groups(chosen)
    if len(groups) < 2:
        raise problems.Problem(409, "They have the same protocol: they are compared as they are.")
    if not comparison_declared.may_be_declared(groups):
        raise problems.Problem(409, "Unlike units are never compared, whatever anybody declares.")
    return groups
