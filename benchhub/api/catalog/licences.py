"""Licence models."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import QueryDict
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework import serializers as drf
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.analysis.pricing.licences.metrics import METRICS
from benchhub.api.core import json_forms, json_rows, problems
from benchhub.api.core.json_forms import serializer_of
from benchhub.api.core.views import RowSerializer
from benchhub.catalog import models
from benchhub.catalog.licences.fields import LABELS
from benchhub.catalog.licences.forms import TABLES, LicenceDraft, LicenceModelForm, Trial, TrialForm
from benchhub.ui.row_set import RowSet

from .rows import BY_REVISION, REVISED, ReviseView


class LicenceModel(RowSerializer):
    metric = serializers.ChoiceField([(name, metric.label) for name, metric in METRICS.items()])
    words = serializers.CharField(read_only=True, help_text="The rules in plain sentences.")
    price_of = serializers.CharField(read_only=True, help_text="What an amount in the price list buys.")

    class Meta:
        model = models.LicenceModel
        fields = (*REVISED, "metric", "rules", "words", "price_of", "product", "remark")


Values = dict[str, Any]


LICENCE_TABLES = {
    name: json_rows.serializer_of(fields, f"Licence{name.capitalize()}")(many=True, required=False)
    for name, fields in TABLES.items()
}


RULES = {
    **{
        name: drf.CharField(required=False, allow_blank=True, max_length=200, help_text=". ".join(filter(None, words)))
        for name, words in LABELS.items()
    },
    **LICENCE_TABLES,
}


TRIAL = serializer_of(TrialForm, "LicenceTrialRequest")


PREVIEWED_RULES = serializer_of(LicenceModelForm, "LicencePreviewRequest", **RULES, trial=TRIAL(required=False))


class LicencePreview(drf.Serializer):
    """`units` is null where no machine was named, or it is not eligible; money where no price was."""

    words = drf.CharField(help_text="The rules in plain sentences.")
    price_of = drf.CharField(help_text="What an amount in the price list buys.")
    units = drf.IntegerField(allow_null=True, help_text="Licences that the machine needs.")
    currency = drf.CharField(allow_null=True)
    total = drf.CharField(allow_null=True, help_text="Over the years of the trial, with support.")
    support = drf.CharField(allow_null=True)
    flags = drf.ListField(child=drf.CharField())
    steps = drf.ListField(child=drf.CharField(), help_text="How it came about.")
    refusal = drf.CharField(allow_blank=True, help_text="Why there is no number.")


class LicenceModels(ReviseView):
    queryset = models.LicenceModel.objects.order_by("pk")
    serializer_class = LicenceModel
    filterset_fields: ClassVar[Any] = {**BY_REVISION, "metric": ["exact"]}
    takes = serializer_of(LicenceModelForm, "LicenceModelRequest", **RULES)

    def create(self, request: Request) -> Response:
        sent = json_forms.checked(self.takes, request.data)
        return self.created_answer(self.save({**self._form_values(None), **sent}))

    @extend_schema(request=PREVIEWED_RULES(partial=True), responses=LicencePreview)
    @action(detail=False, methods=["post"])
    def preview(self, request: Request) -> Response:
        """Show what the rules come to on a machine, and at a price; nothing is saved."""
        sent = json_forms.checked(PREVIEWED_RULES, request.data, partial=True)
        draft = LicenceDraft(_form_data({**self._form_values(None), **sent}))
        if draft.trial is None:
            raise problems.invalid(_rule_problems(draft))
        if not draft.trial_form.is_valid():
            raise problems.invalid(problems.of_form(draft.trial_form, "/trial"))
        return Response(_trial_answer(draft.trial))

    def changed_values(self, row: models.LicenceModel, request: Request) -> Values:
        return {**self._form_values(row), **json_forms.checked(self.takes, request.data, partial=True)}

    @staticmethod
    def _form_values(model: models.LicenceModel | None) -> Values:
        draft = LicenceDraft(None, model)
        rows = {name: [dict(row.texts) for row in table.rows] for name, table in draft.tables.items()}
        return {**json_forms.form_values(draft.form), **rows}

    def save(self, values: Values, instance: Any = None) -> Any:
        tables = {name: RowSet(name, name, fields, json_rows.texts(values.get(name, ())))
                  for name, fields in TABLES.items()}  # fmt: skip
        data = json_forms.texts({name: value for name, value in values.items() if name not in tables})
        form = LicenceModelForm(data, instance=instance, tables=tables)
        table_problems = [problem for table in tables.values() for problem in json_rows.problems_of(table)]
        if not form.is_valid() or table_problems:
            raise problems.invalid([*problems.of_form(form), *table_problems])
        return json_forms.save_form(form)


def _form_data(values: Values) -> QueryDict:
    """Return a licence model and its trial as the page's form sends them."""
    data = QueryDict(mutable=True)
    data.update(
        json_forms.texts({name: value for name, value in values.items() if name not in ("trial", *LICENCE_TABLES)})
    )
    data.update({f"trial-{name}": text for name, text in json_forms.texts(values.get("trial", {})).items()})
    for name in LICENCE_TABLES:
        rows = json_rows.texts(values.get(name, ()))
        data[f"{name}-count"] = str(len(rows))
        data.update({f"{name}-{n}-{cell}": text for n, row in enumerate(rows) for cell, text in row.items()})
    return data


def _rule_problems(draft: LicenceDraft) -> list[dict[str, str]]:
    """Return what is wrong with the rules; a name can wait until they are saved."""
    fields = [problem for problem in problems.of_form(draft.form) if problem["pointer"] != "/name"]
    return fields + [problem for table in draft.tables.values() for problem in json_rows.problems_of(table)]


def _trial_answer(trial: Trial) -> Values:
    cost, counted = trial.cost, trial.cost or trial.counted
    return {
        "words": trial.words,
        "price_of": trial.price_of,
        "units": counted.units if counted else None,
        "currency": cost.currency if cost else None,
        "total": f"{trial.total:f}" if cost else None,
        "support": f"{cost.paid_support:f}" if cost else None,
        "flags": list(cost.flags) if cost else [],
        "steps": [str(step) for step in counted.steps] if counted else [],
        "refusal": trial.not_eligible or trial.error,
    }
