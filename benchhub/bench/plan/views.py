from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from benchhub.analysis.words import count
from benchhub.bench.models import Design, Experiment, Run, RunQuerySet
from benchhub.bench.queue import permits, queue
from benchhub.bench.queue.exclusive import OverlapError
from benchhub.bench.queue.progress import counted
from benchhub.celery import wake
from benchhub.ui.listing import row_number
from benchhub.ui.pages import Crumb, FormPage, Question

from . import designs_like, growth, plan, presets, preview
from .fields.rows import resized
from .form import Draft
from .page import PlanPage
from .questions import FORMS, METHOD, QUESTIONS, question_of
from .repeats import INTRO, RepeatsForm, add


def experiment_new(request: HttpRequest) -> HttpResponse:
    """Plan an experiment. Only the button 'Queue' queues it; what was typed is kept whatever was pressed.

    The bare address asks what the experiment is to tell.
    """
    if request.method != "POST":
        return _plan_page(request, _initial_draft(request)) if _begins_with_form(request) else _ask_question(request)
    if "add" in request.POST or "remove" in request.POST:
        values, systems = preview.typed(request.POST)
        return _plan_page(request, Draft(initial=values, systems=resized(systems, request.POST)))
    is_final = "queue" in request.POST
    draft = Draft(request.POST, needs_name=is_final, user=request.user)
    if is_final and draft.plan_request:
        experiment = preview.queue(draft.plan_request, request.user)
        transaction.on_commit(wake)
        return (
            redirect("design", experiment.design_id) if experiment.design_id else redirect("experiment", experiment.pk)
        )
    return _plan_page(request, draft)


def _begins_with_form(request: HttpRequest) -> bool:
    return (
        request.GET.get("question") in FORMS
        or request.GET.get("preset") in presets.PRESETS
        or bool(request.GET.keys() & {"like", "design"})
    )


def _ask_question(request: HttpRequest) -> HttpResponse:
    instance = row_number(request.GET.get("instance", ""))
    return render(request, "bench/questions.html", {"questions": QUESTIONS.values(), "instance": instance})


@require_POST
def experiment_plan(request: HttpRequest) -> HttpResponse:
    """Return the part of the page that shows what the form would queue; nothing is saved."""
    draft = Draft(request.POST, needs_name=False, user=request.user)
    return render(request, "bench/plan_preview.html", {"page": PlanPage(draft)})


def _initial_draft(request: HttpRequest) -> Draft:
    """Return the form to start from: as ?question= begins, or filled from ?preset=, ?design=, ?like= or ?instance=."""
    if preset := presets.PRESETS.get(request.GET.get("preset", "")):
        values, systems = presets.initial(preset)
        return Draft(initial={**preview.DEFAULTS, **values}, systems=systems)
    if (pk := row_number(request.GET.get("design", ""))) is not None:
        design = get_object_or_404(Design.objects.filter(experiments__isnull=False).distinct(), pk=pk)
        return _like(request, design.experiments.order_by("pk")[0], *designs_like.like(design))
    if (pk := row_number(request.GET.get("like", ""))) is not None:
        experiment = get_object_or_404(Experiment, pk=pk)
        return _like(request, experiment, *preview.like(experiment))
    question = question_of(request.GET.get("question", ""))
    systems = [{"instance": request.GET.get("instance", "")}, *[{}] * (question.systems - 1)]
    return Draft(initial={**preview.DEFAULTS, **question.start()}, systems=systems)


def _like(request: HttpRequest, experiment: Experiment, values: dict[str, Any], systems: list[dict[str, Any]]) -> Draft:
    if retired := preview.retired_instances(experiment):
        messages.info(request, f"Retired since, so that another has to be chosen: {', '.join(retired)}.")
    return Draft(initial=values, systems=systems)


def _plan_page(request: HttpRequest, draft: Draft) -> HttpResponse:
    start = METHOD.name if request.GET.get("preset") else request.GET.get("question", "")
    question = question_of(request.POST.get("question", start))
    return render(request, "bench/plan.html", {"page": PlanPage(draft, question)})


@require_POST
def again(request: HttpRequest, pk: int) -> HttpResponse:
    """Queue an experiment once more; its first run starts as soon as its host is free."""
    experiment = get_object_or_404(Experiment, pk=pk)
    permits.require_experiment(request.user, experiment)
    if refusal := preview.again_refusal([experiment]):
        messages.error(request, f"Not run again. {refusal}")
        return redirect("experiment", pk)
    try:
        copy = plan.again(experiment, request.user)
    except OverlapError as error:
        messages.error(request, f"Not run again. {error}")
        return redirect("experiment", pk)
    transaction.on_commit(wake)
    return redirect("experiment", copy.pk)


def experiment_cancel(request: HttpRequest, pk: int) -> HttpResponse:
    experiment = get_object_or_404(Experiment, pk=pk)
    permits.require_experiment(request.user, experiment)
    kinds = experiment.runs.unfinished().by_kind()
    question = Question(
        title=f"Cancel {experiment.name}?",
        consequence=f"{counted(kinds)} left: those in the queue will not start, one under way is stopped on its "
        "host and gives no result. Runs that have ended keep theirs.",
        action="Cancel the experiment",
        crumb=Crumb.to("experiment", experiment.name, pk),
    )
    is_growing = growth.due().filter(pk=pk).exists()
    if request.method == "POST":
        growth.stop(experiment)
    return _ask_to_cancel(request, Run.objects.filter(experiment=experiment), question, is_growing)


def design_cancel(request: HttpRequest, pk: int) -> HttpResponse:
    design = get_object_or_404(Design, pk=pk)
    parts = list(design.experiments.all())
    for part in parts:
        permits.require_experiment(request.user, part)
    if request.method == "POST":
        for part in parts:
            growth.stop(part)
    runs = Run.objects.filter(experiment__design=design)
    question = Question(
        title=f"Cancel {design.name}?",
        consequence=f"{counted(runs.unfinished().by_kind())} left in all its parts: those in the queue will "
        "not start, one under way is stopped on its host and gives no result. Runs that have ended keep theirs.",
        action="Cancel the design",
        crumb=Crumb.to("design", design.name, pk),
    )
    return _ask_to_cancel(request, runs, question)


def run_cancel(request: HttpRequest, pk: int) -> HttpResponse:
    run = get_object_or_404(Run.objects.select_related("system", "experiment"), pk=pk)
    permits.require_run(request.user, run)
    question = Question(
        title=f"Cancel run {pk}?",
        consequence=f"{run}: it will not start, or is stopped on its host, and gives no result.",
        action="Cancel the run",
        crumb=Crumb.to("experiment", run.experiment.name, run.experiment_id),
    )
    return _ask_to_cancel(request, Run.objects.filter(pk=pk), question)


def _ask_to_cancel(
    request: HttpRequest, runs: RunQuerySet, question: Question, is_growing: bool = False
) -> HttpResponse:
    """Ask on GET, cancel on POST; go back to the page if nothing is left to cancel."""
    if not is_growing and not runs.unfinished().exists():
        messages.info(request, "Nothing was left to cancel: it has ended already.")
        return redirect(question.crumb.address)
    if request.method != "POST":
        return question.ask(request)
    kinds = runs.unfinished().filter(cancel_asked_at=None).by_kind()
    queue.ask_to_cancel(runs)
    transaction.on_commit(wake)
    under_way = runs.active().filter(cancel_asked_at__isnull=False).by_kind()
    stopping = f" {counted(under_way)} under way will end when stopped on the host." if under_way else ""
    messages.success(request, f"{counted(kinds)} cancelled.{stopping}")
    return redirect(question.crumb.address)


def experiment_repeats(request: HttpRequest, pk: int) -> HttpResponse:
    experiment = get_object_or_404(Experiment.objects.select_related("workload"), pk=pk)
    permits.require_experiment(request.user, experiment)
    if retired := preview.retired_instances(experiment):
        messages.error(request, f"Nothing can be added, because an instance of it is retired: {', '.join(retired)}.")
        return redirect("experiment", pk)
    initial = {name: request.GET[name] for name in ("levels", "repeats") if name in request.GET}
    form = RepeatsForm(request.POST or None, experiment=experiment, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            runs = add(experiment, form.cleaned_data["levels"], form.cleaned_data["repeats"])
        except OverlapError as error:
            messages.error(request, f"Nothing was queued. {error}")
            return redirect("experiment", pk)
        transaction.on_commit(wake)
        messages.success(request, f"{count(len(runs), 'run')} queued.")
        return redirect("experiment", pk)
    crumb = Crumb.to("experiment", experiment.name, pk)
    return FormPage(form=form, title="Add repeats", intro=INTRO, action="Queue them", crumb=crumb).show(request)


def presets_shown(request: HttpRequest) -> HttpResponse:
    """Show the published methods and their translation; POST starts a plan from one of them."""
    if preset := presets.PRESETS.get(request.POST.get("preset", "")):
        permits.require_runner(request.user)
        presets.prepared(preset)
        return redirect(f"{reverse('experiment-new')}?preset={preset.name}")
    return render(request, "bench/presets.html", {"presets": presets.PRESETS.values()})


@require_POST
def design_again(request: HttpRequest, pk: int) -> HttpResponse:
    """Queue all its parts once more, as a design of its own."""
    row = get_object_or_404(Design.objects.filter(experiments__isnull=False).distinct(), pk=pk)
    for part in row.experiments.all():
        permits.require_experiment(request.user, part)
    if refusal := preview.again_refusal(list(row.experiments.all())):
        messages.error(request, f"Not run again. {refusal}")
        return redirect("design", pk)
    copy = plan.design_again(row, request.user)
    transaction.on_commit(wake)
    return redirect("design", copy.pk)
