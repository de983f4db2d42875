"""Pages of webhooks: the list, the form, and the log of what each was told. The secret is shown once."""

from __future__ import annotations

from django.contrib import messages
from django.db.models import Count, Max, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache

from benchhub.bench.models import Notice, Webhook
from benchhub.ui.acts import explain_form
from benchhub.ui.listing import Column, Filter, Listing
from benchhub.ui.pages import Crumb, FormPage, Question

from . import notices
from .forms import WebhookForm

COLUMNS = (
    Column("name", "Webhook", ("name",)),
    Column("url", "Address", ("url", "name")),
    Column("events", "Told of"),
    Column("last", "Last delivered", ("last_sent_at", "name")),
    Column("troubles", "Not delivered", ("trouble_count", "name"), is_number=True),
)
NOTICE_COLUMNS = (
    Column("created", "When", ("created_at",)),
    Column("event", "Event", ("event", "-created_at")),
    Column("of", "Of", ("experiment", "-created_at")),
    Column("state", "State", ("state", "-created_at")),
    Column("attempts", "Attempts", ("attempts", "-created_at"), is_number=True),
    Column("answer", "Answer", ("status", "-created_at")),
    Column("next", "Next attempt", ("next_at",)),
)
STATES = Filter(
    "state", "State", {value: (str(label), Q(state=value)) for value, label in Notice.State.choices}
)  # fmt: skip


def webhooks(request: HttpRequest) -> HttpResponse:
    in_trouble = Q(notices__state=Notice.State.GIVEN_UP) | Q(notices__state=Notice.State.DUE, notices__attempts__gt=0)
    rows = Webhook.objects.defer("secret").annotate(
        last_sent_at=Max("notices__sent_at"), trouble_count=Count("notices", filter=in_trouble)
    )
    listing = Listing(request.GET, rows, COLUMNS, search=("name", "url"), default="name")
    return render(request, "bench/webhooks.html", {"listing": listing})


@never_cache
def add(request: HttpRequest) -> HttpResponse:
    form = WebhookForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and (row := form.saved_by(request)):
        explain_form(request, form)
        return render(request, "bench/webhook_secret.html", {"webhook": row}, status=201)
    crumb = Crumb.to("webhooks", "Webhooks")
    return FormPage(form=form, title="Add a webhook", action="Add the webhook", crumb=crumb).show(request)


def edit(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Webhook, pk=pk)
    form = WebhookForm(request.POST or None, instance=row)
    if request.method == "POST" and form.is_valid() and form.saved_by(request):
        explain_form(request, form)
        messages.success(request, f"{row.name} is saved.")
        return redirect("webhook", pk)
    return FormPage(form=form, title=f"Edit {row.name}", crumb=Crumb.to("webhook", row.name, pk)).show(request)


def webhook(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Webhook.objects.defer("secret"), pk=pk)
    rows = Notice.objects.filter(webhook=row).select_related("experiment")
    listing = Listing(request.GET, rows, NOTICE_COLUMNS, filters=(STATES,), default="-created")
    return render(request, "bench/webhook.html", {"webhook": row, "listing": listing})


def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask on GET, delete on POST."""
    row = get_object_or_404(Webhook, pk=pk)
    if request.method == "POST":
        notices.delete_webhook(pk)
        messages.success(request, f"{row.name} is deleted.")
        return redirect("webhooks")
    question = Question(
        title=f"Delete {row.name}?",
        consequence="Nothing is sent to it any more, and the log of its deliveries goes with it. To keep the log, "
        "edit it and make it inactive instead.",
        action="Delete it",
        crumb=Crumb.to("webhook", row.name, pk),
    )
    return question.ask(request)
