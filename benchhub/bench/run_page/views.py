"""The page of a run, its log, and what can be downloaded of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_list_or_404, get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from benchhub.archive import ArchiveError
from benchhub.bench.models import LiveLog, Run
from benchhub.bench.queue import permits
from benchhub.bench.results import live_log
from benchhub.bench.results.aside import AsideForm, put_back, set_aside
from benchhub.bench.results.telemetry import sysstat
from benchhub.ui.feeds import answer, is_unchanged, refreshed
from benchhub.ui.listing import row_number
from benchhub.ui.pages import Crumb, FormPage, Question
from runners.telemetry.sysstat.answer import UnfitError

from . import bundle, downloads, live
from .beside import numbers_in
from .evidence import newest_first
from .page import RunPage, runs
from .series import series_groups
from .timeline.panels import timeline_of


def run(request: HttpRequest, pk: int) -> HttpResponse:
    key, version_now = ("run page", pk), partial(live.version, pk)
    if is_unchanged(request, key, version_now):
        return HttpResponse(status=204)
    row = get_object_or_404(runs(), pk=pk)
    if row.is_final:
        numbers = tuple(numbers_in(request.GET.get("with", "")))
        return render(request, "bench/run.html", {"page": RunPage(row, numbers)})

    def page(version: str) -> HttpResponse:
        newest = get_object_or_404(runs(), pk=pk)  # read after its version: no change in between is missed
        return render(request, "bench/run.html", {"page": RunPage(newest), "version": version})

    return refreshed(request, key, version_now, page)


def run_part(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    """Answer with a part of the page that is fetched when it is opened; whoever asks by hand gets the whole page."""
    if "HX-Request" not in request.headers:
        return redirect(f"{reverse('run', args=[pk])}?{request.GET.urlencode()}".rstrip("?"))
    page = RunPage(get_object_or_404(runs(), pk=pk), tuple(numbers_in(request.GET.get("with", ""))))
    if (part := page.part(name)) is None:
        raise Http404
    return render(request, *part)


def run_live(request: HttpRequest, pk: int) -> HttpResponse:
    """Answer with the seconds of a run under way, made once a second for all who look on."""
    if not Run.objects.filter(pk=pk).exists():
        raise Http404
    rows = runs().defer("result__measures", "found__settings", "found__deltas")
    return answer(request, ("run", pk), lambda: live.feed(rows.get(pk=pk)))


def evidence(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    """Answer with a file as it came from the target: always a download of plain text, whatever it holds."""
    attempt = row_number(request.GET.get("attempt", ""))
    file = get_list_or_404(newest_first(pk, name, attempt)[:1])[0]
    try:
        return downloads.evidence(file)
    except ArchiveError as error:
        return _sentence(error)


def _sentence(error: Exception) -> HttpResponse:
    return HttpResponse(f"{error}\n", status=409, content_type="text/plain; charset=utf-8")


def run_log(request: HttpRequest, pk: int, stream: str) -> JsonResponse:
    """Answer with the newest attempt's log beyond the byte `after`, as text that can only be read."""
    run = get_object_or_404(Run, pk=pk)
    byte = request.GET.get("after", "")
    after = int(byte) if byte.isdecimal() and len(byte) < 19 else 0
    log = LiveLog.objects.filter(attempt__run=run, stream=stream).order_by("-attempt__number").first()
    part = live_log.part(log, after) if log else None
    return JsonResponse({"part": asdict(part) if part else None, "is_over": run.is_final})


def run_bundle(_request: HttpRequest, pk: int) -> HttpResponse:
    run = get_object_or_404(runs().exclude(kind=Run.Kind.LOAD), pk=pk)
    try:
        return downloads.bundle(run)
    except bundle.NoBundleError as error:
        return _sentence(error)


def run_series(_request: HttpRequest, pk: int) -> HttpResponse:
    """Answer with a line per metric and moment, at the seconds of the page; the warm-up has those below 0."""
    rows = get_object_or_404(Run, pk=pk).series.order_by("unit", "metric")
    return downloads.series(pk, series_groups(list(rows)))


def run_telemetry(_request: HttpRequest, pk: int) -> HttpResponse:
    """Answer with a line per metric and moment of load, machine and server, none of them averaged."""
    page = RunPage(get_object_or_404(runs(), pk=pk))
    series = list(page.run.series.order_by("unit", "metric"))
    timeline = timeline_of(series, list(page.run.telemetry.all()), origin=page.origin)
    if timeline is None:
        raise Http404
    return downloads.telemetry(pk, timeline)


def run_latency(_request: HttpRequest, pk: int) -> HttpResponse:
    """Answer with a line per script and bucket of its histogram that is not empty."""
    return downloads.latency(pk, get_object_or_404(Run, pk=pk).histograms.order_by("name"))


def run_segments(_request: HttpRequest, pk: int) -> HttpResponse:
    """Answer with a line per segment of a load shape."""
    run = get_object_or_404(runs(), pk=pk)
    if not (rows := RunPage(run).segments):
        raise Http404
    return downloads.segments(pk, rows)


def run_set_aside(request: HttpRequest, pk: int) -> HttpResponse:
    run = get_object_or_404(Run.objects.select_related("system"), pk=pk)
    permits.require_counting(request.user, run)
    form = AsideForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        if not set_aside(run, request.user, form.cleaned_data["reason"]):
            messages.info(request, "Nothing was set aside: the run gives no point, or is set aside already.")
        return redirect("run", pk)
    page = FormPage(
        form=form,
        title=f"Set run {pk} aside",
        intro=f"{run}. It stays in every table, but leaves every figure, mean and price. It can be put back.",
        action="Set it aside",
        crumb=Crumb.to("run", f"Run {pk}", pk),
    )
    return page.show(request)


@require_POST
def run_put_back(request: HttpRequest, pk: int) -> HttpResponse:
    run = get_object_or_404(Run, pk=pk)
    permits.require_putting_back(request.user, run)
    if not put_back(run, request.user):
        messages.info(request, "Nothing was put back: the run was not set aside.")
    return redirect("run", pk)


@dataclass(frozen=True, kw_only=True)
class SysstatPage(FormPage):
    """The form for telemetry of sysstat, with the command that prints what it takes, and a doubt about its time."""

    command: str
    doubt: str


def run_telemetry_add(request: HttpRequest, pk: int) -> HttpResponse:
    run = get_object_or_404(runs(), pk=pk)
    permits.require_counting(request.user, run)
    if reason := sysstat.refusal(run):
        messages.info(request, reason)
        return redirect("run", pk)
    is_sent = request.method == "POST"
    form = sysstat.SysstatForm(request.POST, request.FILES) if is_sent else sysstat.SysstatForm()
    if is_sent and form.is_valid() and _is_added(request, run, form):
        return redirect(f"{reverse('run', args=[pk])}#telemetry-source")
    page = SysstatPage(
        form=form,
        title=f"Add telemetry of sysstat to run {pk}",
        action="Add it",
        crumb=Crumb.to("run", f"Run {pk}", pk),
        command=sysstat.command(sysstat.load_of(run)),
        doubt=sysstat.begin_doubt(run),
    )
    return page.show(request, "bench/run/telemetry_add.html")


def _is_added(request: HttpRequest, run: Run, form: sysstat.SysstatForm) -> bool:
    try:
        sysstat.store(run, form.cleaned_data["content"], request.user)
    except UnfitError as error:
        form.add_error(None, str(error))
        return False
    return True


def run_telemetry_remove(request: HttpRequest, pk: int) -> HttpResponse:
    run = get_object_or_404(Run.objects.select_related("telemetry_import"), pk=pk, telemetry_import__isnull=False)
    permits.require_counting(request.user, run)
    if request.method == "POST":
        sysstat.remove(run, request.user)
        return redirect("run", pk)
    page = Question(
        title=f"Remove the telemetry of sysstat from run {pk}?",
        consequence="Its lines leave the timeline. The file stays among the evidence, and can be added again.",
        action="Remove it",
        crumb=Crumb.to("run", f"Run {pk}", pk),
    )
    return page.ask(request)
