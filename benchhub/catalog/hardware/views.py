"""Hardware, and the list prices of hardware and licences."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from benchhub.analysis.words import GIB, count
from benchhub.catalog.models import ExchangeRate, Hardware, Host, ListPrice
from benchhub.catalog.shared.machines import COUNTS, bought_shape, bought_unlike_sockets, cpu_count, guest_reason
from benchhub.catalog.shared.revisions import REVISIONS, listing_of_revised, note_revision
from benchhub.ui.acts import explain
from benchhub.ui.listing import Column, Filter, Listing
from benchhub.ui.pages import Crumb, FormPage

from .forms import HardwareForm, PriceForm, RateForm, amount_help
from .price_list import PriceListForm
from .price_list_page import price_list_page
from .taking_back import ALONE, ALREADY, IMPORT, TakeBackForm

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
RATE_COLUMNS = (
    Column("date", "Day", ("priced_on", "base", "quoted")),
    Column("base", "From", ("base", "quoted", "priced_on")),
    Column("quoted", "To", ("quoted", "base", "priced_on")),
    Column("rate", "Rate", ("value", "priced_on"), is_number=True),
    Column("source", "Source", ("source", "priced_on")),
)
PRICE_COLUMNS = (
    Column("date", "Priced on", ("priced_on", "description")),
    Column("of", "Price of", ("hardware__name", "licence_model__name", "priced_on")),
    Column("description", "Description", ("description", "priced_on")),
    Column("amount", "Amount", ("currency", "amount"), is_number=True),
    Column("source", "Source", ("source", "priced_on")),
    Column("actions", "Change"),
)
PRICE_FILTERS = (
    Filter(
        "kind",
        "Of",
        {"hardware": ("hardware", Q(licence_model=None)), "licence": ("licences", Q(hardware=None))},
    ),
    Filter(
        "state",
        "In force",
        {"in-force": ("yes", Q(taken_back_at=None)), "taken-back": ("taken back", Q(taken_back_at__isnull=False))},
    ),
)
TAKE_BACK_INTRO = (
    "It stays in the list, struck through, and no price is computed from it any more. What is published keeps its "
    "numbers. This cannot be undone; the price can be added again."
)
PRICE_SEARCH = ("description", "part_number", "source", "currency", "hardware__name", "licence_model__name")


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
    host = Host.objects.defer("private_key").filter(pk=key).first() if _is_key(key) else None
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


def prices(request: HttpRequest) -> HttpResponse:
    rows = ListPrice.objects.select_related("hardware", "licence_model", "taken_back_by")
    columns, filters = PRICE_COLUMNS, PRICE_FILTERS
    listing = Listing(request.GET, rows, columns, search=PRICE_SEARCH, filters=filters, default="-date")
    return render(request, "catalog/prices.html", {"listing": listing})


def price_add(request: HttpRequest) -> HttpResponse:
    """Add a price. `of` in the address chooses what is priced; `after` fills in the words of an older price."""
    form = PriceForm(request.POST or None, initial=_initial_price(request.GET))
    if request.method == "POST" and form.is_valid() and (saved := form.saved()):
        later = f" It counts from {saved.priced_on} on, not before." if saved.priced_on > timezone.now().date() else ""
        messages.success(request, f"The price of {saved.description} is in the list.{later}")
        return redirect("prices")
    intro = (
        "A price is never changed: results cite it. When it changes, add a newer one with its day and source. "
        "A wrong one can be taken back."
    )
    crumb = Crumb.to("prices", "Prices")
    return FormPage(form=form, title="Add a price", action="Add the price", intro=intro, crumb=crumb).show(request)


def prices_import(request: HttpRequest) -> HttpResponse:
    """Add many prices at once: a first press shows what becomes of each line, a second one saves them."""
    form = PriceListForm(request.POST or None)
    is_read = request.method == "POST" and form.is_valid()
    if is_read and form.is_confirmed and not form.price_list.refused and (saved := form.saved(request.user)):
        address = f"{reverse('price-take-back', args=[saved[0].pk])}?scope={IMPORT}"
        sentence = '{} imported. If that was a mistake, <a href="{}">take the import back</a>.'
        messages.success(request, format_html(sentence, count(len(saved), "price"), address))
        return redirect("prices")
    return price_list_page(form, is_read=is_read).show(request, "catalog/prices_import.html")


def price_take_back(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a price back, or all of its import. GET asks, POST does; `scope` in the address chooses for the reader."""
    price = get_object_or_404(ListPrice.objects.select_related("price_import__made_by"), pk=pk)
    form = TakeBackForm(request.POST or None, price=price, initial={"scope": request.GET.get("scope", ALONE)})
    if request.method == "POST" and form.is_valid():
        text = form.text(form.take_back(request.user))
        explain(request, text)
        messages.success(request, text)
        return redirect("prices")
    if form.is_settled:
        messages.info(request, ALREADY)
        return redirect("prices")
    title, crumb = f"Take back {price}?", Crumb.to("prices", "Prices")
    page = FormPage(form=form, title=title, action="Take back", button="danger", intro=TAKE_BACK_INTRO, crumb=crumb)
    return page.show(request)


def price_unit(request: HttpRequest) -> HttpResponse:
    """Answer with what the amount is paid for, for the choice in the form."""
    return HttpResponse(amount_help(request.GET.get("of", "")), content_type="text/plain; charset=utf-8")


def _is_key(text: str) -> bool:
    return text.isdecimal() and len(text) < 10


def _initial_price(query: QueryDict) -> dict[str, Any]:
    after, values = query.get("after", ""), {"priced_on": timezone.now().date(), "currency": "EUR"}
    if row := ListPrice.objects.filter(pk=after).first() if _is_key(after) else None:
        values |= {name: getattr(row, name) for name in ("description", "part_number", "currency", "remark")}
        values["of"] = f"hardware:{row.hardware_id}" if row.hardware_id else f"licence_model:{row.licence_model_id}"
    return {**values, **({"of": query["of"]} if "of" in query else {})}


def _hardware_crumb() -> Crumb:
    return Crumb.to("hardware-list", "Hardware")


def rates(request: HttpRequest) -> HttpResponse:
    rows = ExchangeRate.objects.all()
    listing = Listing(request.GET, rows, RATE_COLUMNS, search=("base", "quoted", "source"), default="-date")
    return render(request, "catalog/exchange_rates.html", {"listing": listing})


def rate_add(request: HttpRequest) -> HttpResponse:
    form = RateForm(request.POST or None, initial={"priced_on": timezone.now().date()})
    if request.method == "POST" and form.is_valid() and (saved := form.saved()):
        messages.success(request, f"The rate is in the list: {saved}.")
        return redirect("exchange-rates")
    page = FormPage(
        form=form,
        title="Add an exchange rate",
        action="Add the rate",
        intro="A rate is never changed: conversions cite it. Add a newer one instead, with its day and source.",
        crumb=Crumb.to("exchange-rates", "Exchange rates"),
    )
    return page.show(request)
