"""The form of a licence model: every parameter of its rules, and a trial that shows its arithmetic on a machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django import forms
from django.core.validators import RegexValidator
from django.http import QueryDict

from benchhub.analysis.pricing.licences import words as rule_words
from benchhub.analysis.pricing.licences.cost import Licence, LicenceCost, price_licence
from benchhub.analysis.pricing.licences.metrics import METRICS
from benchhub.analysis.pricing.licences.metrics.plain import NONE
from benchhub.analysis.pricing.licences.rules import (
    CHOICES,
    UNDER_METRIC,
    UNDER_PAYMENT,
    LicenceRules,
    RulesError,
    defaults,
)
from benchhub.analysis.pricing.licences.rules_form import rules_from, to_mapping
from benchhub.analysis.pricing.licences.units import Count, NotEligible, count_licences
from benchhub.analysis.pricing.listed import Price
from benchhub.analysis.pricing.money import PricingError
from benchhub.analysis.pricing.topology import Deployment, Node
from benchhub.catalog.models import Hardware, LicenceModel
from benchhub.catalog.shared.forms import RevisedForm, offer_rows
from benchhub.ui import row_set
from benchhub.ui.row_set import RowSet

from .fields import FACTOR, GROUPS, LABELS, TIER, WORDS_OF_CHOICES

TABLES = {"factors": FACTOR, "tiers": TIER}
YES_NO = (("yes", "yes"), ("no", "no"))
STANDBY = "standby"
# Django's own sentence repeats what was sent, however long that is.
NO_CHOICE = {"invalid_choice": "Select a valid choice: one of the list."}
PLAIN = RegexValidator(r"\A-?[0-9]+(\.[0-9]+)?\Z", "Write a number with a point and without separators: 0.5.")


class LicenceModelForm(RevisedForm):
    derived = ("rules",)
    metric = forms.ChoiceField(
        choices=(("", "choose"), *((name, metric.label) for name, metric in METRICS.items())),
        label="Counted",
        error_messages=NO_CHOICE,
        help_text="What one licence is of. Hardware only: the software is free and support not bought.",
    )

    class Meta:
        model = LicenceModel
        fields = ("name", "metric", "product", "remark")
        widgets = {"remark": forms.Textarea(attrs={"rows": 2})}

    def __init__(self, *args: Any, tables: Mapping[str, RowSet], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.tables, self.table_errors = tables, dict[str, str]()
        self.rules: LicenceRules | None = None
        stored = to_mapping(self.instance.licence_rules()) if self.instance.pk else {}
        for name, (label, help_text) in LABELS.items():
            self.fields[name] = _field(name, label, help_text)
            self.initial[name] = _text(name, stored.get(name))

    def clean(self) -> dict[str, Any]:
        """Have the engine read the rules; what it refuses stands beside the field."""
        cleaned = super().clean()
        self.instance.rules = {}
        is_read = not self.errors.keys() & {"metric", *LABELS}
        if not is_read or not all(table.is_valid for table in self.tables.values()):
            return cleaned
        try:
            self.rules = rules_from({"metric": cleaned["metric"], **dict(self._parameters()), **self._rows()})
        except RulesError as error:
            for name, message in error.messages.items():
                if name in self.tables:
                    self.table_errors[name] = message
                self.add_error(name if name in self.fields else None, message)
            return cleaned
        self.instance.rules = {name: value for name, value in to_mapping(self.rules).items() if name != "metric"}
        return cleaned

    def _parameters(self) -> Iterator[tuple[str, Any]]:
        for name in LABELS:
            typed = self.cleaned_data.get(name, "")
            if typed == "":
                continue
            if name == "exempt_roles":
                yield name, [role.strip() for role in typed.split(",") if role.strip()]
            else:
                yield name, typed == "yes" if isinstance(defaults()[name], bool) else typed

    def _rows(self) -> dict[str, list[dict[str, Any]]]:
        return {name: [dict(row.values) for row in table.filled] for name, table in self.tables.items()}


def _field(name: str, label: str, help_text: str) -> forms.Field:
    default, choices = defaults()[name], WORDS_OF_CHOICES.get(name, ())
    options: dict[str, Any] = {"label": label, "help_text": help_text, "required": False, "label_suffix": ""}
    if isinstance(default, bool):
        return forms.ChoiceField(choices=YES_NO, error_messages=NO_CHOICE, **options)
    if name in CHOICES:
        return forms.ChoiceField(choices=choices, error_messages=NO_CHOICE, **options)
    if name == "exempt_roles":
        return forms.CharField(max_length=200, widget=forms.TextInput(attrs={"autocomplete": "off"}), **options)
    hint = "" if default is None else str(default)
    attrs = {"placeholder": hint, "autocomplete": "off", "inputmode": "decimal"}
    return forms.CharField(max_length=20, validators=[PLAIN], widget=forms.TextInput(attrs=attrs), **options)


def _text(name: str, stored: Any) -> str:
    default = defaults()[name]
    if isinstance(default, bool):
        return "yes" if (default if stored is None else stored) else "no"
    if name in CHOICES:
        return str(stored or default)
    return ", ".join(stored) if isinstance(stored, list) else str("" if stored is None else stored)


class TrialForm(forms.Form):
    """A machine and a price to try the rules on; nothing of it is saved."""

    prefix = "trial"
    hardware = forms.ModelChoiceField(Hardware.objects.none(), required=False, empty_label="Choose a machine")
    standbys = forms.IntegerField(min_value=0, max_value=1000, required=False, help_text="Machines of the same kind.")
    users = forms.IntegerField(min_value=0, max_value=10_000_000, required=False, label="Named users")
    price = forms.DecimalField(min_value=Decimal(0), max_digits=20, decimal_places=8, required=False)
    currency = forms.RegexField(
        r"^[A-Za-z]{3}$", required=False, error_messages={"invalid": "Write a currency code such as EUR or USD."}
    )
    years = forms.IntegerField(min_value=1, max_value=20, required=False, label="Term, years")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        offer_rows(self, "hardware", Hardware.objects.current().order_by("name"))

    def deployment(self) -> Deployment | None:
        values = self.cleaned_data
        if not values.get("hardware"):
            return None
        machine = values["hardware"].machine()
        nodes = [Node(machine)]
        if values.get("standbys"):
            nodes.append(Node(machine, values["standbys"], STANDBY))
        return Deployment(tuple(nodes), values.get("users"))


@dataclass(frozen=True, slots=True)
class Trial:
    """A count of licences for the chosen machine and, with a price, its cost."""

    words: str
    price_of: str
    counted: Count | None = None
    cost: LicenceCost | None = None
    not_eligible: str = ""
    error: str = ""
    years: int = 0

    @property
    def total(self) -> Decimal:
        return self.cost.paid + self.cost.paid_support if self.cost else Decimal(0)


class LicenceDraft:
    """A licence model as it stands in the form. `revised` is the model that it revises."""

    def __init__(
        self, data: QueryDict | None, licence_model: LicenceModel | None = None, trial: Mapping[str, Any] | None = None
    ):
        self.revised = licence_model
        stored = to_mapping(licence_model.licence_rules()) if licence_model else {}
        self.tables = {name: self._table(name, data, stored.get(name, [])) for name in TABLES}
        self.form = LicenceModelForm(data, instance=licence_model, tables=self.tables)
        self.trial_form = TrialForm(data, initial={"years": 3, "currency": "EUR", "standbys": 0, **(trial or {})})
        self.rules = self._rules(licence_model, is_sent=data is not None)
        self.trial = self._trial(data is not None) if self.rules else None

    @staticmethod
    def _table(name: str, data: QueryDict | None, stored: list[dict[str, Any]]) -> RowSet:
        sent = row_set.resized(row_set.sent(data, name, TABLES[name]), name, data) if data is not None else None
        rows = [{key: str(value) for key, value in row.items()} for row in stored] if sent is None else sent
        return RowSet(name, name.removesuffix("s").capitalize(), TABLES[name], rows)

    def _rules(self, licence_model: LicenceModel | None, is_sent: bool) -> LicenceRules | None:
        if is_sent:
            self.form.is_valid()
            return self.form.rules
        return licence_model.licence_rules() if licence_model else None

    @property
    def problems(self) -> list[str]:
        problems = [f"{self.form[name].label}: {' '.join(map(str, errors))}" for name, errors in self._errors()]
        return problems + [sentence for table in self.tables.values() for sentence in table.problems]

    def _errors(self) -> Iterator[tuple[str, Any]]:
        """Yield the errors of the rules alone: a name can wait until the model is saved."""
        for name, errors in self.form.errors.items():
            if name in LABELS or name == "metric":
                yield name, errors

    @property
    def groups(self) -> Iterator[dict[str, Any]]:
        """Yield headings with their fields, each with the metrics and ways to pay under which it matters."""
        for title, names in GROUPS.items():
            fields = [_PlacedField(self.form[name], *_conditions(name)) for name in names if name in LABELS]
            errors = self.form.table_errors
            tables = [(self.tables[name], errors.get(name), *_conditions(name)) for name in names if name in TABLES]
            yield {"title": title, "fields": fields, "tables": tables}

    def _trial(self, is_sent: bool) -> Trial:
        assert self.rules is not None
        words, price_of = rule_words.words(self.rules), rule_words.price_of(self.rules)
        if not is_sent or not self.trial_form.is_valid():
            return Trial(words, price_of)
        try:
            return self._priced(self.rules, words, price_of)
        except PricingError as error:
            return Trial(words, price_of, error=str(error))

    def _priced(self, rules: LicenceRules, words: str, price_of: str) -> Trial:
        values, deployment = self.trial_form.cleaned_data, self.trial_form.deployment()
        if deployment is None:
            return Trial(words, price_of)
        name = self.form.cleaned_data.get("name") or (self.revised.name if self.revised else "the licence")
        licences = count_licences(name, rules, deployment)
        if isinstance(licences, NotEligible):
            return Trial(words, price_of, not_eligible=str(licences))
        if values.get("price") is None or rules.metric == NONE.name:
            return Trial(words, price_of, licences)
        years = values.get("years") or 3
        cost = price_licence(Licence(name, rules, (self._price(values),)), deployment, years)
        return Trial(words, price_of, licences, None if isinstance(cost, NotEligible) else cost, years=years)

    @staticmethod
    def _price(values: Mapping[str, Any]) -> Price:
        currency = (values.get("currency") or "EUR").upper()
        return Price("a trial", values["price"], currency, datetime.now(UTC).date(), "the trial")


@dataclass(frozen=True, slots=True)
class _PlacedField:
    field: Any
    metrics: str
    payments: str


def _conditions(name: str) -> tuple[str, str]:
    metrics = UNDER_METRIC.get(name, UNDER_METRIC["payment"])
    return " ".join(metrics), " ".join(UNDER_PAYMENT.get(name, CHOICES["payment"]))
