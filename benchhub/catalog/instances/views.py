"""Instances: PostgreSQL servers to be tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from benchhub.catalog.models import Configuration, Host, Inspection, Instance
from benchhub.catalog.shared.citations import is_cited
from benchhub.catalog.shared.forms import CatalogForm, is_key
from benchhub.ui.acts import explain_form
from benchhub.ui.listing import Column, Filter, Listing
from benchhub.ui.pages import Crumb, FormPage

from .clusters.form import AS_FOUND, OwnInstanceForm
from .forms import InstanceForm

COLUMNS = (
    Column("name", "Instance", ("name",)),
    Column("host", "Host", ("host__name", "name")),
    Column("build", "Build", ("build__version_num", "name")),
    Column("configuration", "Configuration", ("configuration__name", "name")),
    Column("address", "Reached at", ("address", "port")),
    Column("database", "Database", ("database", "username")),
    Column("actions", "Change"),
)
FILTERS = (
    Filter(
        "kind",
        "Kind",
        {
            "host": ("on a host", Q(host__isnull=False)),
            "own": ("BenchHub's own", Q(cluster__isnull=False)),
            "managed": ("managed", Q(host__isnull=True)),
        },
    ),
    Filter(
        "retired",
        "Retired",
        {"no": ("left out", Q(retired_at=None)), "yes": ("only these", Q(retired_at__isnull=False))},
    ),
)
SEARCH = ("name", "host__name", "build__version", "configuration__name", "address", "database", "username")
MOST_SERVERS, MOST_OFFERED = 200, 500
LOCAL = {"address": "127.0.0.1", "database": "bench", "username": "bench"}
INTRO = "A PostgreSQL server that runs already. BenchHub neither starts nor stops it; it asks and measures."
RETIRED = "It is retired: no plan offers it. The list of instances can show it again."


@dataclass(frozen=True, slots=True)
class Offers:
    """What fields of the form offer instead of typing, each with the words beside it: of its host, or of all."""

    databases: Sequence[tuple[str, str]]
    ports: Sequence[tuple[int, str]]
    addresses: Sequence[tuple[str, str]]

    @classmethod
    def read(cls, server: str, hosts: Sequence[Host]) -> Offers:
        """Read what probes and tests saw of the host of a server ('host:bin directory'), or of all where it has none.

        A test knows an instance; the probe alone knows servers that nobody has described yet.
        """
        text = server.partition(":")[0]
        key = int(text) if is_key(text) else None
        probed = [host for host in hosts if key in (None, host.pk)]
        servers = [(host.name, server) for host in probed for server in host.facts.get("servers", ())][:MOST_SERVERS]
        databases = {
            name: f"port {server['port']} of {host}" for host, server in servers for name in server.get("databases", ())
        }
        folders = {server["socket_directory"]: host for host, server in servers}
        return cls(
            sorted({**databases, **dict(Inspection.objects.databases(key))}.items())[:MOST_OFFERED],
            [(server["port"], host) for host, server in servers],
            list(folders.items()),
        )


@dataclass(frozen=True, kw_only=True)
class InstanceFormPage(FormPage):
    offers: Offers


def rows() -> QuerySet[Instance]:
    return Instance.objects.select_related("host", "build", "configuration", "cluster").defer(
        "password", "host__private_key", "host__facts"
    )


def instances(request: HttpRequest) -> HttpResponse:
    marked = rows().annotate(is_cited=is_cited(Instance))
    listing = Listing(request.GET, marked, COLUMNS, search=SEARCH, filters=FILTERS, default="name")
    return render(request, "catalog/instances.html", {"listing": listing})


def add(request: HttpRequest) -> HttpResponse:
    """Add an instance. The host's page links to it with `server` ('host:bin directory'), and with place and port."""
    server = request.GET.get("server", "")
    as_found = Configuration.objects.current().filter(name=AS_FOUND).first()
    place = {name: request.GET[name] for name in ("address", "port") if name in request.GET}
    initial = {"server": server, "configuration": as_found, **(LOCAL if server else {}), **place}
    return _form(request, Instance(), initial, title="Add an instance", intro=INTRO, action="Add the instance")


def edit(request: HttpRequest, pk: int) -> HttpResponse:
    instance = get_object_or_404(rows(), pk=pk)
    intro = RETIRED if instance.retired_at else ""
    return _form(request, instance, {}, title=f"Edit {instance.name}", intro=intro)


def _form(request: HttpRequest, instance: Instance, initial: dict[str, Any], **context: Any) -> HttpResponse:
    hosts = list(Host.objects.defer("private_key").order_by("name"))
    form: CatalogForm = InstanceForm(request.POST or None, instance=instance, initial=initial, hosts=hosts)
    if instance.own_cluster:
        form = OwnInstanceForm(request.POST or None, instance=instance)
    if request.method == "POST" and form.is_valid() and (saved := form.saved()):
        explain_form(request, form)
        is_tested = isinstance(form, InstanceForm) and form.has_another_log_in
        is_ready = not (is_tested or saved.retired_at)
        messages.success(request, f"{saved.name} is saved." + (" Experiments can use it now." if is_ready else ""))
        return redirect("instance-test", saved.pk) if is_tested else redirect("instances")
    server = str(form["server"].value() or "") if "server" in form.fields else ""
    offers = Offers.read(request.GET.get("server", server), hosts)
    page = InstanceFormPage(form=form, offers=offers, crumb=Crumb.to("instances", "Instances"), **context)
    return page.show(request, "catalog/instance_form.html")
