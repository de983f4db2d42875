"""Curves side by side. The state is in the address: which curves, which is the baseline, and the terms of prices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from benchhub.bench.models import Experiment, ExperimentSystem
from benchhub.reports.curves import figures, latencies
from benchhub.reports.models import Comparison
from benchhub.reports.prices.terms import NAMES, QUESTIONS, rest
from benchhub.ui.listing import Column, Listing

from . import comparison, csv, doubts, environment, filters, findings, loads, prices, queries
from . import declared as comparison_declared
from .comparison import Chosen
from .queries import Key

MOST = 12
# The chart keeps `show` and `axis` in the address by itself.
STATE = ("curve", "baseline", findings.CEILING, *NAMES, *QUESTIONS, "show", "axis")
COLUMNS = (
    Column("pick", "Compare"),
    Column("experiment", "Experiment", ("experiment__name",)),
    Column("system", "System", ("system__label",)),
    Column("workload", "Workload", ("experiment__workload__name",)),
    Column("duration", "Duration", ("experiment__duration_s", "experiment__warmup_s")),
    Column("host", "Host", ("system__instance__host__name",)),
    Column("date", "Planned", ("experiment__created_at", "-position")),
    Column("runs", "Runs", ("result_count",), is_number=True),
    Column("peak", "Peak", is_number=True),
)
SEARCH = (
    "experiment__name",
    "system__label",
    "experiment__workload__name",
    "system__instance__host__name",
    "system__configuration__name",
    "system__hardware__name",
)


def compare(request: HttpRequest, kept: Comparison | None = None) -> HttpResponse:
    """`?experiment=` takes all its curves; `pick` chooses among all; `go` leads from there to the plain address.

    `kept` is the comparison on whose page this is.
    """
    if experiment := request.GET.get("experiment", ""):
        return _of_experiment(request, experiment)
    if "go" in request.GET and request.GET.getlist("curve"):
        return redirect(f"{request.path}{address(state_of(request.GET))}")
    keys, is_named = chosen_keys(request.GET), any(request.GET.getlist("curve"))
    if not is_named or "pick" in request.GET:
        return _pick(request, keys)
    return _comparison(request, keys, kept)


def chosen_keys(asked: QueryDict) -> list[Key]:
    """The curves that an address names, each once, as (experiment, system)."""
    found = map(_key, asked.getlist("curve"))
    return list(dict.fromkeys(key for key in found if key))[:MOST]


def _key(name: str) -> Key | None:
    match = re.fullmatch(r"([0-9]{1,18})-([0-9]{1,18})", name)
    return (int(match[1]), int(match[2])) if match else None


def address(asked: QueryDict, **changes: Sequence[str]) -> str:
    """The query of a comparison with some parameters changed; an empty list removes one."""
    query = asked.copy()
    for name, values in changes.items():
        query.setlist(name, list(values))
    return f"?{query.urlencode()}"


def state_of(asked: QueryDict) -> QueryDict:
    """What of an address makes the comparison what it is."""
    kept = QueryDict(mutable=True)
    for name in STATE:
        if values := [value for value in asked.getlist(name) if value]:
            kept.setlist(name, values)
    return kept


def _of_experiment(request: HttpRequest, pk: str) -> HttpResponse:
    experiment = get_object_or_404(Experiment, pk=int(pk) if re.fullmatch("[0-9]{1,18}", pk) else 0)
    keys = queries.of_experiment(experiment.pk)
    if not keys:
        return _pick(request, [], note=f"'{experiment}' has no result yet, so there is nothing of it to compare.")
    named = [f"{experiment}-{system}" for experiment, system in keys]
    return redirect(f"{reverse('compare')}{address(state_of(request.GET), curve=named)}")


def _pick(request: HttpRequest, keys: Sequence[Key], note: str = "") -> HttpResponse:
    listing = Listing(
        request.GET,
        queries.finished(),
        COLUMNS,
        search=SEARCH,
        filters=filters.filters(),
        default="-date",
    )
    rows = list(listing.page)
    peaks = queries.peaks([(row.experiment_id, row.system_id) for row in rows])
    ticked = {f"{experiment}-{system}" for experiment, system in keys}
    shown = [(comparison.key_of(row), row, peaks.get((row.experiment_id, row.system_id))) for row in rows]
    elsewhere = [key for key in keys if f"{key[0]}-{key[1]}" not in {name for name, _, _ in shown}]
    context = {
        "listing": listing,
        "rows": shown,
        "ticked": ticked,
        "elsewhere": [(comparison.key_of(row), row) for row in queries.chosen(elsewhere)],
        "kept": [(name, value) for name in STATE[1:] for value in request.GET.getlist(name)],
        "all_address": f"{address(state_of(request.GET), curve=sorted(ticked))}&pick=1",
        "note": note or ("Tick the curves to compare first." if "go" in request.GET else ""),
        "most": MOST,
    }
    return render(request, "reports/compare_pick.html", context)


def _comparison(request: HttpRequest, keys: Sequence[Key], kept: Comparison | None) -> HttpResponse:
    rows = queries.chosen(keys)
    missing = not_there(request.GET, rows)
    if not rows and kept is None:
        return none_there(request, missing)
    runs = queries.runs(keys)
    chosen, problems = comparison.choose(rows, runs, latencies.of_runs(run.pk for run in runs))
    state, groups = state_of(request.GET), comparison.groups(chosen)
    problems += not_shown(request.GET, missing)
    context = {**_head(chosen, state, kept), "problems": problems}
    if len(groups) > 1:
        declared = comparison_declared.declared(groups)
        if not declared:
            return _refused(request, groups, state, context)
        context |= {"declared": declared, "differing": _differing(groups), "groups": [(group, "") for group in groups]}
        chosen = comparison_declared.as_one(chosen)
    if not chosen:
        return render(request, "reports/compare.html", context)
    together = _together(chosen, state)
    if table := request.GET.get("csv"):
        return _csv(table, together)
    return render(request, "reports/compare.html", {**context, **together})


def none_there(request: HttpRequest, missing: Sequence[str]) -> HttpResponse:
    """The answer to an address of which no curve is there."""
    return render(request, "reports/compare_missing.html", {"missing": missing}, status=404)


def not_there(asked: QueryDict, rows: Sequence[ExperimentSystem]) -> list[str]:
    """The names in an address that are those of no curve."""
    there = {(row.experiment_id, row.system_id) for row in rows}
    named = list(dict.fromkeys(filter(None, asked.getlist("curve"))))
    return [name for name in named[:MOST] if _key(name) not in there]


def not_shown(asked: QueryDict, missing: Sequence[str]) -> list[str]:
    """What an address asks for that its page cannot show."""
    is_one, names = len(missing) == 1, ", ".join(missing)
    sentence = f"There is no curve {names}: it is left out." if is_one else f"There are no curves {names}: left out."
    said = [sentence] if missing else []
    if len(asked.getlist("curve")) > MOST:
        said.append(f"At most {MOST} curves are compared; the first {MOST} are shown.")
    return said


def _head(chosen: Sequence[Chosen], state: QueryDict, kept: Comparison | None) -> dict[str, Any]:
    """What stands above any comparison, and above its refusal."""
    return {
        "chosen": [(one, address(state, curve=_others(chosen, one))) for one in chosen],
        "pick_address": f"{address(state)}&pick=1",
        "saved": kept,
        "is_changed": kept is not None and QueryDict(kept.query) != state,
        "address": address(state),
        "snapshots": kept.snapshots.for_list() if kept else [],
        "demonstrations": [one for one in chosen if one.experiment.is_demonstration],
    }


def _others(chosen: Sequence[Chosen], left_out: Chosen) -> list[str]:
    return [one.key for one in chosen if one is not left_out]


def _refused(
    request: HttpRequest, groups: list[list[Chosen]], state: QueryDict, context: dict[str, Any]
) -> HttpResponse:
    """The refusal, and the form by which a person may declare the groups comparable all the same."""
    form = comparison_declared.DeclarationForm(request.POST or None)
    may_be_declared = comparison_declared.may_be_declared(groups) and request.user.has_perm("reports.change_comparison")
    if request.method == "POST" and may_be_declared and form.is_valid():
        comparison_declared.declare(groups, form.cleaned_data["reason"], request.user)
        return redirect(f"{reverse('compare')}{address(state)}")
    shown = {**context, **_refusal(groups, state), "form": form if may_be_declared else None}
    return render(request, "reports/compare.html", shown)


def _refusal(groups: list[list[Chosen]], state: QueryDict) -> dict[str, Any]:
    """Why these curves are not compared, which fields differ, and which of them could be."""
    forms = queries.protocol_forms(group[0].of.curve.protocol_digest for group in groups)
    kept = [(group, address(state, curve=[one.key for one in group])) for group in groups]
    return {
        "refusal": comparison.refusal(groups, forms),
        "groups": kept,
        "differing": comparison.differing(groups, forms),
    }


def _differing(groups: list[list[Chosen]]) -> list[comparison.Side]:
    forms = queries.protocol_forms(group[0].of.curve.protocol_digest for group in groups)
    return comparison.differing(groups, forms)


def _together(chosen: list[Chosen], state: QueryDict) -> dict[str, Any]:
    baseline = next((one for one in chosen if one.key == state.get("baseline")), chosen[0])
    drawn = [one.of for one in chosen]
    bought, rows = comparison.hardware(chosen), comparison.levels(chosen, baseline)
    return {
        "baseline": baseline,
        "unit": baseline.of.curve.unit,
        "findings": [(one, comparison.claims(one, baseline)) for one in chosen if one is not baseline],
        "alone": comparison.alone(chosen[0]) if len(chosen) == 1 else "",
        "figure": figures.throughput_figure(drawn),
        "latency": figures.latency_figure(drawn),
        "columns": chosen,
        "levels": rows,
        "load_panels": [(panel, address(state, csv=[panel.name])) for panel in loads.panels(chosen, rows)],
        **prices.context(chosen, state),
        "is_under_way": any(not run.is_final for one in chosen for run in one.runs),
        "hardware": bought,
        "nothing_asked": comparison.nothing_asked(bought),
        "differences": comparison.system_differences(chosen),
        "doubts": doubts.all_doubts(chosen),
        **findings.context(chosen, baseline, state.get(findings.CEILING, "")),
        "steps_address": f"{reverse('tuning-steps')}{address(QueryDict(), curve=[one.key for one in chosen])}",
        "ceiling_kept": rest(state, (findings.CEILING,)),
        **environment.context(chosen),
        "kept": [(name, value) for name, values in state.lists() if name != "baseline" for value in values],
        "csv": {table: address(state, csv=[table]) for table in ("levels", "prices", "systems", "findings", "law")},
    }


def _csv(table: str, shown: dict[str, Any]) -> HttpResponse:
    texts = {
        "levels": lambda: csv.levels(shown["levels"], shown["columns"], shown["baseline"]),
        "prices": lambda: csv.prices(shown["prices"]),
        **{panel.name: panel.csv for panel, _ in [*shown["load_panels"], *shown["panels"]]},
        "law": shown["law"].csv,
        "findings": lambda: findings.table(shown["more"], shown["baseline"]),
        "systems": lambda: csv.systems([*shown["hardware"], *shown["differences"]], shown["columns"]),
    }
    if table not in texts:
        return HttpResponse(f"There is no table of that name: ask for {', '.join(texts)}.", status=404)
    response = HttpResponse(texts[table](), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="comparison-{table}.csv"'
    return response
