"""Hardware: profiles of machines as they were bought."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.html import format_html

from benchhub.analysis.words import GIB
from benchhub.catalog.models import Hardware, Host, ListPrice
from benchhub.catalog.shared.forms import is_key
from benchhub.catalog.shared.machines import COUNTS, bought_shape, bought_unlike_sockets, cpu_count, guest_reason
from benchhub.catalog.shared.revisions import REVISIONS, listing_of_revised, note_revision
from benchhub.ui.listing import Column
from benchhub.ui.pages import Crumb, FormPage

from .forms import HardwareForm

HARDWARE_COLUMNS = (
    Column("name", "Hardware", ("name", "-revision")),
    Column("sockets", "Sockets", ("sockets", "name"), is_number=True),
    Column("cores", "Cores per socket", ("cores_per_socket", "name"), is_number=True),
    Column("threads", "Threads per core", ("threads_per_core", "name"), is_number=True),
    Column("clock", "Clock, GHz", ("clock_ghz", "name"), is_number=True),
    Column("memory", "Memory, GiB", ("memory_bytes", "name"), is_number=True),
    Column("hosts", "Hosts", ("host_count", "name"), is_number=True),
    Column("price", "Newest price", is_number=True),
    Column("actions", "Change"),
)
WHILE_ALIKE = (
    "Its prices go on counting while sockets, cores, threads, clock, memory, processor and disks stay as they are; "
    "where one of them changes, it is another machine, and needs a price of its own."
)
SAME_MACHINE = "It is the same machine: its prices and price sheets go on counting."
OTHER_MACHINE = "It is not the machine that {} was, whose prices do not count for it: add its price."
HARDWARE_FORM = "catalog/hardware_form.html"


def hardware_list(request: HttpRequest) -> HttpResponse:
    rows = Hardware.objects.annotate(host_count=Count("host"))
    search = ("name", "disks", "remark")
    listing = listing_of_revised(request, rows, HARDWARE_COLUMNS, search=search, filters=(REVISIONS,))
    prices = list(ListPrice.objects.of_hardware(listing.page).newest_first())
    for row in listing.page:
        row.newest_price = next((price for price in prices if price.counts_for(row)), None)
    return render(request, "catalog/hardware_list.html", {"listing": listing})


def hardware_add(request: HttpRequest) -> HttpResponse:
    """Add hardware. `host` in the address fills in what a probe of it saw, and gives the host this hardware."""
    key = request.GET.get("host", "")
    host = Host.objects.defer("private_key").filter(pk=key).first() if is_key(key) else None
    form = HardwareForm(request.POST or None, initial=_probed_values(host) if host else None)
    if request.method == "POST" and form.is_valid() and (saved := form.saved()):
        if host:
            Host.objects.filter(pk=host.pk, hardware=None).update(hardware=saved)
        price = f"{reverse('price-add')}?of=hardware:{saved.pk}"
        sentence = '{} is saved. <a href="{}">Add its price</a> next, so that its transactions can be priced.'
        messages.success(request, format_html(sentence, saved, price))
        return redirect("host", host.pk) if host else redirect("hardware-list")
    intro = "What was bought, not what a virtual machine shows: prices and licences are counted by it."
    if host:
        intro = _probed_intro(host)
    page = FormPage(form=form, title="Add hardware", action="Add the hardware", intro=intro, crumb=_hardware_crumb())
    return page.show(request, HARDWARE_FORM)


def _probed_values(host: Host) -> dict[str, Any]:
    """Return the fields that a probe may fill: of a guest its own shape alone, for it cannot see what was bought."""
    memory_gib = round(Decimal(host.facts.get("memory_bytes", 0)) / GIB, 2) or None
    if not guest_reason(host.facts):
        counts = {**bought_shape(host.facts), **_unlike_values(host)}
        return {**dict.fromkeys(COUNTS), **counts, "name": host.name, "memory_gib": memory_gib}
    unknown = dict.fromkeys(COUNTS)
    return {**unknown, "name": host.name, "vm_vcpus": cpu_count(host.facts), "vm_memory_gib": memory_gib}


def _unlike_values(host: Host) -> dict[str, Any]:
    """Return sockets and cores where the probe counted sockets with unlike cores; nothing where they are alike."""
    if not (cores := bought_unlike_sockets(host.facts)):
        return {}
    threads = host.facts["cpu"].get("threads_per_core")
    numbers = ", ".join(map(str, cores))
    shape = {"sockets": len(cores), "cores_per_socket": max(cores), "threads_per_core": threads}
    return {**shape, "unlike_cores": numbers}


def _probed_intro(host: Host) -> str:
    if reason := guest_reason(host.facts):
        return (
            f"{host.name} is a virtual machine or a container ({reason}). It sees its own shape, which is filled in "
            "below as its virtual machine; what was bought it cannot see: write that from the order or the offer."
        )
    if host.facts.get("cpu", {}).get("cpus_offline"):
        return (
            f"Some CPUs of {host.name} are offline, so that its cores could not all be counted: "
            "write sockets, cores and threads as they were bought."
        )
    return f"Filled in with what the probe of {host.name} saw: correct it to what was bought."


def hardware_revise(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Hardware, pk=pk)
    name, revision = str(row), row.revision + 1
    uses = [(row.host_set.count(), "host"), (row.pooler_instances.exclude(pooler="").count(), "pooler")]
    form = HardwareForm(request.POST or None, instance=row)
    if request.method == "POST" and form.is_valid() and (saved := form.saved()):
        before = Hardware.objects.get(pk=pk)
        consequence = SAME_MACHINE if saved.is_same_thing(before) else OTHER_MACHINE.format(before)
        messages.success(request, f"{saved} is saved. {consequence}")
        return redirect("hardware-list")
    intro = f"{note_revision(revision, uses)} {WHILE_ALIKE}"
    title, action = f"Revise {name}", f"Save revision {revision}"
    page = FormPage(form=form, title=title, action=action, intro=intro, crumb=_hardware_crumb())
    return page.show(request, HARDWARE_FORM)


def _hardware_crumb() -> Crumb:
    return Crumb.to("hardware-list", "Hardware")
