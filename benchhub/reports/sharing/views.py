"""Views of comparisons, snapshots and links for people who sign in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import PermissionDenied
from django.db.models import Count
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from benchhub.analysis.snapshot import canonical
from benchhub.analysis.snapshot.nodes import Node
from benchhub.analysis.snapshot.projection import CLASSES
from benchhub.analysis.words import listing
from benchhub.catalog.models import ListPrice
from benchhub.reports.comparison import views as comparison_views
from benchhub.reports.comparison.state import State
from benchhub.reports.models import Comparison, Link, Snapshot
from benchhub.reports.published import files as published_files
from benchhub.ui.acts import explain
from benchhub.ui.listing import Column, Listing
from benchhub.ui.pages import Crumb, FormPage, Question

from . import publish
from .choices.choice import OPEN
from .choices.edition import Reading
from .document.comparison import NothingToPublishError
from .forms import ComparisonForm, LinkForm
from .frozen import taken_back
from .output import exports
from .output.render import snapshot_body
from .review import REVIEWED, ReviewPage
from .today import differences

COMPARISONS = (
    Column("title", "Comparison", ("title",)),
    Column("snapshots", "Published", ("snapshot_count",), is_number=True),
    Column("by", "By", ("created_by__username",)),
    Column("changed", "Changed", ("changed_at",)),
)
may_compare = permission_required("reports.add_comparison", raise_exception=True)
may_change = permission_required("reports.change_comparison", raise_exception=True)
may_publish = permission_required("reports.add_snapshot", raise_exception=True)
may_share = permission_required("reports.add_link", raise_exception=True)
may_close = permission_required("reports.change_link", raise_exception=True)


@dataclass(frozen=True)
class SnapshotPage:
    """A snapshot for people who sign in: everything that it holds, and the links to it.

    `taken_back` are the list prices behind it that were taken back since.
    """

    snapshot: Snapshot
    user: Any
    taken_back: list[ListPrice]
    as_report: bool = False

    @property
    def body(self) -> SafeString:
        """Return all that it holds, as the page of a report or of what was found."""
        marks = taken_back.taken_back(self.taken_back)
        return snapshot_body(self.snapshot.pk, self.snapshot.sha256, self.as_report, marks)

    @cached_property
    def links(self) -> list[tuple[Link, str, bool]]:
        """Return the links, each with the words of what it leaves out, and whether its reader may change it."""
        rows = self.snapshot.links.select_related("projection", "created_by").defer("projection__content")
        may_change = self.user.has_perm("reports.change_link")
        return [(link, _hides(link), may_change and not publish.refusal(link, self.user)) for link in rows]


def comparisons(request: HttpRequest) -> HttpResponse:
    """List the comparisons that were kept. An address that names curves leads to the page that compares them."""
    if any(request.GET.getlist("curve")):
        return redirect(f"{reverse('compare')}?{request.GET.urlencode()}")
    rows = Comparison.objects.select_related("created_by").annotate(snapshot_count=Count("snapshots"))
    listing = Listing(request.GET, rows, COMPARISONS, search=("title", "remarks"), default="-changed")
    return render(request, "sharing/comparisons.html", {"listing": listing})


@may_compare
def comparison_new(request: HttpRequest) -> HttpResponse:
    """Keep the curves and terms of the address under a title."""
    state = State.read(request.GET)
    if not state.keys:
        messages.info(request, "Choose curves first, then keep the comparison.")
        return redirect("compare")
    form = ComparisonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        row = form.save(commit=False)
        row.query, row.created_by = state.query.urlencode(), request.user
        row.save()
        return redirect("comparison", row.pk)
    crumb = Crumb(f"{reverse('compare')}{state.address()}", "Compare")
    return FormPage(form=form, title="Keep this comparison", crumb=crumb).show(request)


def comparison(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the comparison's page; without parameters, with the curves that were kept."""
    row = get_object_or_404(Comparison, pk=pk)
    if not request.GET:
        return redirect(f"{request.path}?{row.query}")
    return comparison_views.compare(request, row)


@may_change
def comparison_edit(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Comparison, pk=pk)
    publish.require_maker(request.user, row)
    form = ComparisonForm(request.POST or None, instance=row)
    if request.method == "POST" and form.is_valid():
        form.instance.changed_at = Now()
        form.save()
        return redirect("comparison", pk)
    crumb = Crumb.to("comparison", row.title, pk)
    return FormPage(form=form, title="Title and remarks", crumb=crumb).show(request)


@require_POST
@may_change
def comparison_keep(request: HttpRequest, pk: int) -> HttpResponse:
    """Replace the curves and terms that were kept by those of the address."""
    publish.require_maker(request.user, get_object_or_404(Comparison, pk=pk))
    state = State.read(request.GET)
    if state.keys:
        Comparison.objects.filter(pk=pk).update(query=state.query.urlencode(), changed_at=Now())
        messages.success(request, "Kept. What was published before stays as it was.")
    return redirect("comparison", pk)


@require_POST
@may_publish
def comparison_publish(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Comparison, pk=pk)
    try:
        snapshot = publish.comparison_snapshot(row, request.user)
    except NothingToPublishError as error:
        messages.error(request, f"Not published. {error}")
        return redirect("comparison", pk)
    return redirect("snapshot", snapshot.pk)


@require_POST
@may_publish
def published_publish(request: HttpRequest, slug: str) -> HttpResponse:
    return redirect("snapshot", publish.published_snapshot(published_files.find(slug), request.user).pk)


def snapshot(request: HttpRequest, pk: int, as_report: bool = False) -> HttpResponse:
    rows = Snapshot.objects.select_related("taken_by", "comparison").defer("content")
    page = SnapshotPage(get_object_or_404(rows, pk=pk), request.user, list(taken_back.rows(pk)), as_report)
    return render(request, "sharing/snapshot.html", {"page": page})


def snapshot_file(_request: HttpRequest, pk: int, name: str) -> HttpResponse:
    projection = publish.projection(get_object_or_404(Snapshot, pk=pk), ())
    return exports.file(projection, name, Reading.whole(pk))


def snapshot_today(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the same throughput by today's prices, beside the frozen prices."""
    row = get_object_or_404(Snapshot, pk=pk)
    context = {"snapshot": row, "rows": differences(_document(row)), "taken_back": taken_back.rows(pk)}
    return render(request, "sharing/today.html", context)


@never_cache
@may_share
def link_new(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask whoever makes a link to read what was typed freely, then show its address, which is not kept."""
    snapshot = get_object_or_404(Snapshot, pk=pk)
    form = LinkForm(request.POST or None, snapshot=snapshot)
    if request.method == "POST" and form.is_valid():
        page = ReviewPage(snapshot, form)
        if request.POST.get(REVIEWED) != page.review.digest:
            return render(request, "sharing/link_review.html", {"page": page})
        values = form.cleaned_data
        link, token = publish.link(snapshot, values["hidden"], values["password"], request.user, **form.fields_of_link)
        explain(request, publish.words(link))
        address = request.build_absolute_uri(reverse("shared", args=[token]))
        context = {"link": link, "address": address, "hides": _hides(link), "choices": _choices(link)}
        return render(request, "sharing/link_made.html", context, status=201)
    crumb = Crumb.to("snapshot", snapshot.title, pk)
    return FormPage(form=form, title="Make a link", crumb=crumb, action="Read what it will tell").show(request)


@require_POST
@may_close
def link_pause(request: HttpRequest, pk: int) -> HttpResponse:
    return _changed(_own_link(request, pk), paused_at=Now())


@require_POST
@may_close
def link_resume(request: HttpRequest, pk: int) -> HttpResponse:
    return _changed(_own_link(request, pk), paused_at=None)


@may_close
def link_revoke(request: HttpRequest, pk: int) -> HttpResponse:
    link = _own_link(request, pk)
    if request.method == "POST":
        return _changed(link, revoked_at=Now())
    question = Question(
        title=f"Withdraw the link for {link.name}?",
        consequence="Whoever has it sees nothing from now on, and it cannot be opened again.",
        action="Withdraw the link",
        crumb=Crumb.to("snapshot", "The snapshot", link.snapshot_id),
    )
    return question.ask(request)


def _own_link(request: HttpRequest, pk: int) -> Link:
    """Return the link; raises Http404, or PermissionDenied unless the user has made it or is an administrator."""
    link = get_object_or_404(Link, pk=pk)
    if sentence := publish.refusal(link, request.user):
        raise PermissionDenied(sentence)
    return link


def _changed(link: Link, **fields: Any) -> HttpResponse:
    """Change a link that is not revoked; a revoked one stays as it is."""
    Link.objects.filter(pk=link.pk, revoked_at=None).update(**fields)
    return redirect("snapshot", link.snapshot_id)


def _document(row: Snapshot) -> Node:
    return canonical.from_bytes(bytes(row.content))


def _choices(link: Link) -> str:
    return listing([OPEN[name].lower() for name in link.choices])


def _hides(link: Link) -> str:
    return ", ".join(CLASSES[name].lower() for name in link.projection.hidden)
