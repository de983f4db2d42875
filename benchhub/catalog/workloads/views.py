"""Configurations and workloads: the lists, their forms, and the page of a workload."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from benchhub.catalog.models import Configuration, Workload
from benchhub.catalog.shared.revisions import REVISIONS, listing_of_revised, note_revision
from benchhub.ui.listing import Column, Filter
from benchhub.ui.pages import Crumb, FormPage
from runners.tools.kinds import Kind, Preset

from .configuration_form import ConfigurationForm
from .forms import WorkloadForm, form_of, forms_by_kind
from .listing import searched_fields, workload_columns, workload_filters
from .page import WorkloadPage
from .scaled import ScaledForm

CONFIGURATION_COLUMNS = (
    Column("name", "Configuration", ("name", "-revision")),
    Column("settings", "Server settings"),
    Column("os", "Operating system"),
    Column("instances", "Instances", ("instance_count", "name"), is_number=True),
    Column("actions", "Change"),
)
STORAGE = Filter(
    "storage",
    "Storage",
    {"lasting": ("lasting", Q(volatile_storage=False)), "volatile": ("RAM disk", Q(volatile_storage=True))},
)


@dataclass(frozen=True, kw_only=True)
class RecipeFormPage(FormPage):
    """The form of a configuration or workload; a new workload offers its kinds and the presets of its kind."""

    kinds: Sequence[tuple[Kind, bool]] = ()
    presets: Collection[tuple[str, Preset]] = ()
    scaled: ScaledForm | None = None


def configurations(request: HttpRequest) -> HttpResponse:
    rows = Configuration.objects.annotate(instance_count=Count("instance"))
    search, filters = ("name", "settings", "os_settings", "remark"), (STORAGE, REVISIONS)
    listing = listing_of_revised(request, rows, CONFIGURATION_COLUMNS, search=search, filters=filters)
    return render(request, "catalog/configurations.html", {"listing": listing})


def configuration_add(request: HttpRequest) -> HttpResponse:
    intro = (
        "What a server is meant to be set to. Runs on clusters of BenchHub's own apply it; elsewhere each run says "
        "where it found others."
    )
    texts = {"title": "Add a configuration", "action": "Add the configuration", "intro": intro}
    is_filled = "fill" in request.POST
    scaled = ScaledForm(request.POST if is_filled else None, prefix="scaled")
    form = (
        ConfigurationForm(initial=request.POST.dict() | scaled.values)
        if is_filled
        else ConfigurationForm(request.POST or None)
    )
    return _form(request, form, "configurations", "Configurations", scaled=scaled, **texts)


def configuration_revise(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Configuration, pk=pk)
    intro = note_revision(row.revision + 1, [(row.instance_set.count(), "instance")])
    texts = {"title": f"Revise {row}", "action": f"Save revision {row.revision + 1}", "intro": intro}
    form = ConfigurationForm(request.POST or None, instance=row)
    return _form(request, form, "configurations", "Configurations", **texts)


def workloads(request: HttpRequest) -> HttpResponse:
    rows, filters = Workload.objects.all(), (*workload_filters(), REVISIONS)
    listing = listing_of_revised(request, rows, workload_columns(), search=searched_fields(), filters=filters)
    return render(request, "catalog/workloads.html", {"listing": listing})


def workload_add(request: HttpRequest) -> HttpResponse:
    """Add a workload. `kind` in the address chooses the form, `preset` the values that it starts from."""
    forms = forms_by_kind()
    form_class = forms.get(request.GET.get("kind", ""), next(iter(forms.values())))
    _require_right_to_write(request, form_class)
    intro = "What the load generator does, and on how much data. The numbers of clients belong to the experiment."
    texts = {"title": "Add a workload", "action": "Add the workload", "intro": intro}
    preset = form_class.kind.presets.get(request.GET.get("preset", ""))
    start = {"name": preset.name, "remark": preset.remark} if preset else {}
    instance = Workload(parameters=preset.parameters if preset else {})
    kinds = [(form.kind, form is form_class) for form in forms.values() if _may_open(request, form)]
    return _form(
        request,
        form_class(request.POST or None, instance=instance, initial=start),
        "workloads",
        "Workloads",
        kinds=kinds,
        presets=form_class.kind.presets.items(),
        **texts,
    )


def workload_revise(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Workload, pk=pk)
    form_class = form_of(row)
    _require_right_to_write(request, form_class)
    intro = note_revision(row.revision + 1, []) + " Curves of the two are compared only if they load and do the same."
    texts = {"title": f"Revise {row}", "action": f"Save revision {row.revision + 1}", "intro": intro}
    form = form_class(request.POST or None, instance=row)
    return _form(request, form, "workloads", "Workloads", **texts)


def _may_open(request: HttpRequest, form_class: type[WorkloadForm]) -> bool:
    """Tell whether the user may see the form: a custom script runs on servers as it is written, which takes a right."""
    return not form_class.kind.has_scripts or request.user.has_perm("catalog.write_scripts")


def _require_right_to_write(request: HttpRequest, form_class: type[WorkloadForm]) -> None:
    if not _may_open(request, form_class):
        raise PermissionDenied(
            "Custom scripts run on servers as they are written, so your account needs the right to write them: "
            "ask an administrator."
        )


def _form(
    request: HttpRequest, form: ConfigurationForm | WorkloadForm, back: str, back_title: str, **context: Any
) -> HttpResponse:
    before = form.instance.pk
    if request.method == "POST" and form.is_valid() and (saved := form.saved()):
        _say_saved(request, saved, is_as_before=saved.pk == before)
        return redirect(back)
    page = RecipeFormPage(form=form, crumb=Crumb.to(back, back_title), **context)
    return page.show(request, "catalog/recipe_form.html")


def _say_saved(request: HttpRequest, saved: Configuration | Workload, is_as_before: bool) -> None:
    if is_as_before:
        messages.info(request, f"Nothing was changed, so there is no new revision: {saved} stays as it is.")
    else:
        messages.success(request, f"{saved} is saved.")


def workload(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Workload.objects.marked(), pk=pk)
    return render(request, "catalog/workload.html", {"page": WorkloadPage(row, _may_open(request, form_of(row)))})
