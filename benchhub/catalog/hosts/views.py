"""Hosts, from nothing: add, install the key, approve the host's own, probe."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from benchhub.catalog.models import Host
from benchhub.celery import wake
from benchhub.ui.acts import explain, explain_form
from benchhub.ui.listing import Column, Filter, Listing
from benchhub.ui.pages import Crumb, FormPage
from runners.os_settings.script import DOWNLOADED, helper_text

from . import page
from .forms import HostForm

COLUMNS = (
    Column("name", "Host", ("name",)),
    Column("address", "Address", ("address", "port", "username")),
    Column("trust", "Host key", ("trust", "name")),
    Column("hardware", "Hardware", ("hardware__name", "name")),
    Column("group", "Group", ("interference_group__name", "name")),
    Column("instances", "Instances", ("instance_count", "name"), is_number=True),
    Column("probed", "Probed", ("facts_at", "name")),
)
TRUST = {
    "unknown": "not seen yet",
    "offered": "waiting for approval",
    "pinned": "approved",
    "quarantined": "quarantined",
    "elsewhere": "never reached",
}
FILTERS = (
    Filter("trust", "Host key", {value: (label, Q(trust=value)) for value, label in TRUST.items()}),
    Filter(
        "probed", "Probed", {"yes": ("yes", Q(facts_at__isnull=False)), "no": ("not yet", Q(facts_at__isnull=True))}
    ),
)
SEARCH = ("name", "address", "username", "hardware__name", "interference_group__name")


@dataclass(frozen=True, kw_only=True)
class HostFormPage(FormPage):
    groups: Collection[str]


def hosts(request: HttpRequest) -> HttpResponse:
    listing = Listing(request.GET, page.hosts(), COLUMNS, search=SEARCH, filters=FILTERS, default="name")
    is_live = any(host.wanted for host in listing.page)
    return render(request, "catalog/hosts.html", {"listing": listing, "is_live": is_live})


def add(request: HttpRequest) -> HttpResponse:
    form = HostForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and (host := form.saved()):
        explain_form(request, form)
        return _ask(host, Host.Wanted.KEY)
    crumb = Crumb.to("hosts", "Hosts")
    intro = "BenchHub reaches it over SSH, with a key pair of its own that it makes now. Nothing is installed there."
    return _form(request, form, title="Add a host", action="Add the host", crumb=crumb, intro=intro)


def edit(request: HttpRequest, pk: int) -> HttpResponse:
    host = get_object_or_404(page.host(), pk=pk)
    crumb = Crumb.to("host", host.name, pk)
    form = HostForm(request.POST or None, instance=host)
    if request.method == "POST" and form.is_valid() and (saved := form.saved()):
        explain_form(request, form)
        return _ask(saved, Host.Wanted.KEY) if form.is_moved else redirect("host", pk)
    return _form(request, form, title="Edit the host", crumb=crumb)


def _form(request: HttpRequest, form: HostForm, **context: Any) -> HttpResponse:
    return HostFormPage(form=form, groups=page.group_names(), **context).show(request, "catalog/host_form.html")


def host(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(page.host(), pk=pk)
    return render(request, "catalog/host.html", {"host": row, "page": page.HostPage(row)})


def os_helper(_request: HttpRequest) -> HttpResponse:
    """Hand out the helper that an administrator of a host installs there."""
    headers = {"Content-Disposition": f'attachment; filename="{DOWNLOADED}"'}
    return HttpResponse(helper_text(), content_type="text/plain; charset=utf-8", headers=headers)


@require_POST
def look(_request: HttpRequest, pk: int) -> HttpResponse:
    return _ask(get_object_or_404(page.host(), pk=pk), Host.Wanted.KEY)


@require_POST
def approve(request: HttpRequest, pk: int) -> HttpResponse:
    """Pin the key that the person saw; if the host has offered another one since, nothing is approved."""
    row = get_object_or_404(page.host(), pk=pk)
    if approval := row.approve(key := request.POST.get("key", "").replace("\0", "")):
        explain(request, f"host key of {row}: {key}")
        if sentence := page.withdrawn_text(approval):
            explain(request, sentence)
            messages.warning(request, sentence)
    else:
        explain(request, "nothing was approved")
        messages.error(
            request, "Nothing was approved: the host offers another key than the one you saw. Compare again."
        )
    return redirect("host", pk)


@require_POST
def new_key(request: HttpRequest, pk: int) -> HttpResponse:
    """Replace BenchHub's own key pair for the host, unless a run there could then not be reached."""
    row = get_object_or_404(page.host(), pk=pk)
    if runs := row.replace_key_pair():
        explain(request, "the key stayed")
        messages.error(request, page.key_stays(runs))
    else:
        explain(request, f"new key pair for {row}")
        messages.success(request, "BenchHub has a new key for this host: install it there, then probe the host.")
    return redirect("host", pk)


@require_POST
def probe(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(page.host(), pk=pk)
    if row.trust != Host.Trust.PINNED:
        messages.error(request, "Nothing was sent: approve the host key first.")
        return redirect("host", pk)
    return _ask(row, Host.Wanted.FACTS)


def _ask(row: Host, purpose: str) -> HttpResponse:
    row.ask(purpose)
    transaction.on_commit(wake)
    return redirect("host", row.pk)
