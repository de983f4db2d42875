"""Workloads: each kind has a form of its own, and the API takes the fields of whichever kind is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cache
from typing import Any, ClassVar, cast

from django import forms
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework import serializers as drf
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.analysis.words import listing
from benchhub.api.core import json_forms, problems
from benchhub.api.core.json_forms import Strict
from benchhub.api.core.views import RowSerializer
from benchhub.catalog import models
from benchhub.catalog.workloads.configuration_form import SettingsField
from benchhub.catalog.workloads.forms import WorkloadForm, form_of, forms_by_kind
from runners.tools.kinds import LONGEST_SCRIPT

from .rows import BY_REVISION, REVISED, ReviseView

MOST_SCRIPTS = 30
TOO_LONG = f"A script has {LONGEST_SCRIPT:,} characters at most: shorten it."
Values = dict[str, Any]


class Script(Strict):
    text = drf.CharField(max_length=LONGEST_SCRIPT, trim_whitespace=False, error_messages={"max_length": TOO_LONG})
    weight = drf.IntegerField(min_value=1, max_value=1_000_000, required=False)


class OfAKind(Strict):
    """Refuses a kind that there is not before anything else: other fields mean nothing then."""

    def to_internal_value(self, data: Any) -> Any:
        kinds = self.fields["kind"].choices
        if isinstance(data, Mapping) and "kind" in data and data["kind"] not in [*kinds]:
            detail = f"There is no kind of workload named '{str(data['kind'])[:60]}': choose one of {listing(kinds)}."
            raise serializers.ValidationError({"kind": [detail]})
        return super().to_internal_value(data)


def workload_request() -> Any:
    """Return the serializer of what may be sent: the fields of all kinds, whose forms say which are whose."""
    return _request(tuple(forms_by_kind().values()))


@cache
def _request(forms: tuple[type[WorkloadForm], ...]) -> Any:
    kinds = [(form.kind.name, form.kind.title) for form in forms]
    kind = drf.ChoiceField(choices=kinds, required=False)  # comes first, as fields stand in the order of their making
    names = {name: None for form in forms for name in form.base_fields if name != "tool"}
    fields = {name: json_forms.json_field(_of_all_kinds(name, forms), is_usual=name != "name") for name in names}
    with_scripts = listing(form.kind.name for form in forms if form.kind.has_scripts)
    attributes: Values = {
        "kind": kind,
        **fields,
        "scripts": Script(many=True, required=False, max_length=MOST_SCRIPTS, help_text=f"Of {with_scripts}."),
        "__module__": __name__,
    }
    return type("WorkloadRequest", (OfAKind,), attributes)


def _of_all_kinds(name: str, workload_forms: Sequence[type[WorkloadForm]]) -> forms.Field:
    """Return a field that takes what any of several kinds takes, and says what is whose."""
    fields = {form.kind.name: form.base_fields[name] for form in workload_forms if name in form.base_fields}
    field: Any = deepcopy(next(iter(fields.values())))
    if isinstance(field, forms.ChoiceField):
        field.choices = dict(choice for kind_field in fields.values() for choice in _choices(kind_field)).items()
    attribute = "json_help" if isinstance(field, SettingsField) else "help_text"
    setattr(field, attribute, _help(fields) if name not in ("name", "remark") else "")
    return cast(forms.Field, field)


def _help(fields: Mapping[str, forms.Field]) -> str:
    """Return what each kind says of a field, with the values to choose from where kinds differ in them."""
    offered = {kind: ", ".join(value for value, _ in _choices(field)) for kind, field in fields.items()}
    kinds_by_text: dict[str, list[str]] = {}
    for kind, field in fields.items():
        values = f"{offered[kind]}. " if len(set(offered.values())) > 1 else ""
        kinds_by_text.setdefault(f"{values}{json_forms.help_of(field)}".strip(), []).append(kind)
    parts = ((listing(kinds), text) for text, kinds in kinds_by_text.items())
    return " ".join(f"Of {kinds}: {text}" if text else f"Of {kinds}." for kinds, text in parts)


def _choices(field: Any) -> list[tuple[str, str]]:
    return list(getattr(field, "choices", ()))


class Workload(RowSerializer):
    scripts_digest = serializers.CharField(
        read_only=True,
        help_text="SHA-256 of the custom scripts with their weights, variables and init script; empty without scripts.",
    )

    class Meta:
        model = models.Workload
        fields = (*REVISED, "tool", "parameters", "scripts_digest", "remark")


class Workloads(ReviseView):
    queryset = models.Workload.objects.order_by("pk")
    serializer_class = Workload
    filterset_fields: ClassVar[Any] = {**BY_REVISION, "tool": ["exact"]}
    takes = workload_request()

    @extend_schema(request=takes)
    def create(self, request: Request) -> Response:
        """Add a workload. Left out, `kind` is pgbench with one of its own scripts."""
        sent = json_forms.checked(workload_request(), request.data)
        forms = forms_by_kind()
        return self.created_answer(self._saved(forms[sent.pop("kind", next(iter(forms)))], None, sent))

    @extend_schema(request=takes(partial=True), responses={201: Workload, 200: Workload})
    @action(detail=True, methods=["post"])
    def revise(self, request: Request, pk: str) -> Response:
        """Make a new revision. If nothing changes there is none: then the answer is 200 with the row as it is."""
        answer = super().revise(request, pk)
        return Response(answer.data) if str(answer.data["id"]) == pk else answer

    def changed_values(self, row: models.Workload, request: Request) -> Values:
        return json_forms.checked(workload_request(), request.data, partial=True)

    def save(self, values: Values, instance: Any = None) -> Any:
        form = form_of(instance)
        if values.pop("kind", form.kind.name) != form.kind.name:
            detail = f"It is of the kind {form.kind.name}, and stays so."
            raise problems.invalid([{"pointer": "/kind", "detail": detail}])
        return self._saved(form, instance, values)

    def _saved(self, form: type[WorkloadForm], instance: models.Workload | None, sent: Values) -> Any:
        has_scripts = form.kind.has_scripts
        if has_scripts and not self.request.user.has_perm("catalog.write_scripts"):
            raise problems.Problem(403, "Your account has no right to write custom scripts: ask an administrator.")
        scripts = sent.pop("scripts", None)
        row = instance or models.Workload()
        if scripts is not None and has_scripts:
            row.parameters = {**row.parameters, "scripts": scripts}  # so that the form has a slot for each
            sent = _without_scripts(sent) | _slots(scripts)
        current = json_forms.form_values(form(instance=row))
        if scripts is not None:
            current = _without_scripts(current)
        allowed = {*current, *(name for name in sent if has_scripts and _is_slot(name))}
        if wrong := sorted(set(sent) - allowed) + (["scripts"] if scripts and not has_scripts else []):
            detail = f"{form.kind.title} has no such field: leave it out."
            raise problems.invalid({"pointer": f"/{name}", "detail": detail} for name in wrong)
        try:
            return json_forms.save_form(form({**current, **json_forms.texts(sent)}, instance=row))
        except problems.Problem as problem:
            raise problems.invalid(_as_sent(error, scripts) for error in problem.errors) from problem


def _is_slot(name: str) -> bool:
    return name.startswith(("script_", "weight_"))


def _as_sent(error: Mapping[str, Any], scripts: list[Values] | None) -> Mapping[str, Any]:
    """Name a problem by its place in the list of scripts, instead of the slot of the form."""
    name, _, number = str(error["pointer"]).lstrip("/").partition("_")
    if not _is_slot(f"{name}_") or not number.isdecimal():
        return error
    place = f"/{int(number) - 1}/{'text' if name == 'script' else name}" if scripts else ""
    return {**error, "pointer": f"/scripts{place}"}


def _without_scripts(values: Values) -> Values:
    return {name: value for name, value in values.items() if not _is_slot(name)}


def _slots(scripts: list[Values]) -> Values:
    """Number the scripts as the form does."""
    texts = {f"script_{number}": script["text"] for number, script in enumerate(scripts, start=1)}
    return texts | {f"weight_{number}": script.get("weight", 1) for number, script in enumerate(scripts, start=1)}
