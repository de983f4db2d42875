"""Price sheets: the list, a sheet with its derivation, its CSV, and the editor that shows what it comes to."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from benchhub.analysis.words import count
from benchhub.catalog.models import Hardware, PriceSheet
from benchhub.catalog.shared.revisions import REVISIONS, listing_of_revised
from benchhub.ui.listing import Column, Filter

from . import csv
from .csv import download
from .forms import SheetDraft
from .page import EditorPage, Imported, SheetPage, total_of
from .reported_form import ReportedForm
from .texts import SheetTexts, added_texts, empty_texts, is_untouched, sent_texts, texts_of

COLUMNS = (
    Column("name", "Price sheet", ("name", "-revision")),
    Column("hardware", "Hardware", ("hardware__name", "name")),
    Column("date", "Priced on", ("priced_on", "name")),
    Column("lines", "Lines", ("line_count", "name"), is_number=True),
    Column("total", "Total", is_number=True),
    Column("currency", "Currency", ("currency", "name")),
    Column("file", "Download"),
    Column("actions", "Change"),
)
SEARCH = ("name", "source", "remark", "hardware__name", "currency")
OF = Filter(
    "of", "Of", {"hardware": ("hardware", Q(hardware__isnull=False)), "other": ("anything else", Q(hardware=None))}
)


def sheets(request: HttpRequest) -> HttpResponse:
    rows = PriceSheet.objects.with_rows().annotate(line_count=Count("lines", distinct=True))
    codes = PriceSheet.objects.order_by("currency").values_list("currency", flat=True).distinct()
    currencies = Filter("currency", "Currency", {code: (code, Q(currency=code)) for code in codes})
    filters = (currencies, OF, REVISIONS)
    listing = listing_of_revised(request, rows, COLUMNS, search=SEARCH, filters=filters)
    for row in listing.page.object_list:
        row.total = total_of(row)
    return render(request, "catalog/price_sheets.html", {"listing": listing})


def sheet(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a sheet. `metric` in the address, with its unit, has the price of one of it shown."""
    row = get_object_or_404(PriceSheet.objects.with_rows().marked(), pk=pk)
    form = ReportedForm(request.GET if "metric" in request.GET else None)
    return render(request, "catalog/price_sheet.html", {"row": row, "page": SheetPage(row, form)})


def csv_file(_: HttpRequest, pk: int) -> HttpResponse:
    return download(get_object_or_404(PriceSheet.objects.with_rows(), pk=pk))


def add(request: HttpRequest) -> HttpResponse:
    """Add a sheet. `hardware` in the address chooses the machine."""
    if request.method == "POST":
        return _sent(request, None)
    texts = empty_texts()
    texts.sheet |= {"hardware": request.GET.get("hardware", ""), "priced_on": datetime.now(UTC).date().isoformat()}
    return _editor(request, SheetDraft(texts, is_started=False))


def revise(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(PriceSheet.objects.with_rows(), pk=pk)
    if request.method == "POST":
        return _sent(request, row)
    return _editor(request, SheetDraft(texts_of(row), row))


@require_POST
def preview(request: HttpRequest) -> HttpResponse:
    """Show what the sheet in the form comes to, as a part of its page; nothing is saved."""
    draft = SheetDraft(sent_texts(request.POST))
    return render(request, "catalog/price_sheet_preview.html", {"draft": draft, "is_live": True})


def _sent(request: HttpRequest, row: PriceSheet | None) -> HttpResponse:
    texts = sent_texts(request.POST)
    if "import" in request.POST:
        return _imported(request, texts, row)
    is_final = "save" in request.POST
    draft = SheetDraft(texts, row, is_final=is_final)
    if is_final and (saved := draft.save()):
        messages.success(request, f"{saved} is saved with {count(len(draft.lines.filled), 'line')}.")
        return redirect("price-sheet", saved.pk)
    if "HX-Request" not in request.headers:  # a page that is brought up to date keeps the reader's focus
        draft.focus(request.POST.get("add", ""))
    return _editor(request, draft)


def _imported(request: HttpRequest, typed: SheetTexts, row: PriceSheet | None) -> HttpResponse:
    """Show the form with what a file holds. A file with faults changes nothing; nothing is saved either way."""
    file: Any = request.FILES.get("file")
    pasted = request.POST.get("pasted", "")
    try:
        text = csv.decode(file.read(csv.LARGEST_BYTES + 1)) if file else ""
        texts = csv.read(text or pasted)
        _find_hardware(texts)
    except csv.CsvError as error:
        return _editor(request, SheetDraft(typed, row), Imported(problems=error.problems, pasted=pasted))
    is_replacing = "replace" in request.POST or is_untouched(typed)
    draft = SheetDraft(added_texts(typed, texts, is_replacing), row)
    counts = f"{count(len(texts.lines), 'line')}, {count(len(texts.discounts), 'discount')}"
    return _editor(request, draft, Imported(f"Read: {counts}. Nothing is saved yet."))


def _find_hardware(texts: SheetTexts) -> None:
    """Replace the name of the hardware by its key. Raises CsvError."""
    name = texts.sheet.pop("hardware", "")
    if not name:
        return
    row = Hardware.objects.current().filter(name=name).first()
    if row is None:
        sentence = f"There is no hardware named '{name}': add it first, or leave this empty."
        raise csv.CsvError([csv.Problem(2, "hardware", sentence)])
    texts.sheet["hardware"] = str(row.pk)


def _editor(request: HttpRequest, draft: SheetDraft, imported: Imported | None = None) -> HttpResponse:
    page = EditorPage(draft, imported or Imported())
    return render(request, "catalog/price_sheet_form.html", {"draft": draft, "page": page})
