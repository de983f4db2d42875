"""One form for each kind of workload: a load generator with what it is asked to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

from django import forms

from benchhub.catalog.models import Workload
from benchhub.catalog.shared.forms import RevisedForm, offer
from runners import tools
from runners.tools.pgbench import presets
from runners.tools.pgbench.parameters import (
    BUILTIN_SCRIPTS,
    CUSTOM,
    HIGHEST_SCALE,
    QUERY_MODES,
    check_init,
    check_length,
    check_new_text,
    check_variables,
)
from runners.tools.sysbench import tool as sysbench_tool
from runners.tools.tatp import parameters as tatp_parameters
from runners.tools.tatp.parameters import CUSTOM_MIX, HIGHEST_WEIGHT, TRANSACTIONS

from .configuration_form import SettingsField

SCALE_HELP = (
    "100,000 accounts each, about 15 MB: 10 is 150 MB, 1,000 is 15 GB. With scripts that write, choose "
    "it larger than the number of clients, or they wait for each other."
)
MODE_HELP = "How statements are sent; prepared saves planning."
FEWEST_SLOTS = 4
SEVEN_WEIGHTS = f"Write {len(TRANSACTIONS)} whole numbers, one for each transaction"
LONGEST_SHOWN = 24
# What is wrong with these says nothing of the parameters, which are looked at all the same.
BESIDE_THE_PARAMETERS = {"name", "remark"}
WHOLE_NUMBER, WEIGHT = re.compile(r"-?\d{1,18}"), re.compile(r"[0-9]{1,9}")


def _count(unit: str, lowest: int, highest: int | None = None, **options: Any) -> forms.IntegerField:
    """A whole number that says with its unit what it may be at least and at most."""
    said = {"min_value": f"At least {lowest:,} {unit}."}
    said |= {"max_value": f"At most {highest:,} {unit}."} if highest is not None else {}
    return forms.IntegerField(min_value=lowest, max_value=highest, error_messages=said, **options)


class WorkloadForm(RevisedForm):
    """`kind` is its name in addresses, `title` its name for people. Each has the fields of its own parameters."""

    kind: ClassVar[str]
    title: ClassVar[str]
    tool_name: ClassVar[str]
    # The field beside which it stands what the load generator says against its parameters.
    refused_at: ClassVar[str]
    tool = forms.ChoiceField(widget=forms.HiddenInput)
    derived = ("parameters",)

    class Meta:
        model = Workload
        fields = ("name", "tool", "remark")
        widgets = {"remark": forms.Textarea(attrs={"rows": 3})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "tool", [(self.tool_name, self.tool_name)])
        self.initial = {**self.from_parameters(self.instance.parameters), **self.initial, "tool": self.tool_name}
        self.order_fields([*(name for name in self.fields if name != "remark"), "remark"])

    def from_parameters(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """What the fields show of parameters that there are already."""
        return {name: value for name, value in parameters.items() if name in self.fields}

    def to_parameters(self, cleaned: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters that were asked for; those that the form does not ask for are kept from the instance."""
        raise NotImplementedError

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if not self.errors.keys() & self.together:
            try:
                parameters = self.to_parameters(cleaned)
                tools.get(self.tool_name).data_set(parameters)
                self.instance.parameters = parameters
            except ValueError as error:
                self.add_error(self.refused_at, str(error))
        return cleaned

    def save(self, commit: bool = True) -> Any:
        """A revision in which nothing differs is none: the row stays as it is."""
        asked = self.changes()
        same = Workload.objects.filter(pk=self.instance.pk, **asked).first() if self.instance.pk else None
        return same or super().save(commit)

    @property
    def together(self) -> set[str]:
        """The fields without which nothing can be said of the parameters as a whole."""
        return self.fields.keys() - BESIDE_THE_PARAMETERS


class BuiltinForm(WorkloadForm):
    kind, title, tool_name, refused_at = "pgbench", "pgbench", "pgbench", "scale"
    script = forms.ChoiceField(
        choices=[(name, name) for name in BUILTIN_SCRIPTS],
        help_text="select-only reads one account; simple-update and tpcb-like write in each transaction.",
    )
    query_mode = forms.ChoiceField(choices=[(name, name) for name in QUERY_MODES], help_text=MODE_HELP)
    scale = _count("for the scale", 1, HIGHEST_SCALE, initial=10, help_text=SCALE_HELP)

    def to_parameters(self, cleaned: Mapping[str, Any]) -> dict[str, Any]:
        return {**self.instance.parameters, **{name: cleaned[name] for name in ("script", "query_mode", "scale")}}


class ScriptsForm(WorkloadForm):
    """Custom scripts of pgbench. As many slots as there are scripts, and some more; empty ones are left out."""

    kind, title, tool_name, refused_at = "scripts", "pgbench with custom scripts", "pgbench", "script_1"
    query_mode = forms.ChoiceField(choices=[(name, name) for name in QUERY_MODES], help_text=MODE_HELP)
    scale = _count("for the scale", 1, HIGHEST_SCALE, initial=10, help_text=SCALE_HELP)
    variables = SettingsField(
        "cutoff = 10000",
        keep_case=True,
        label="Variables",
        help_text="A line each, name = value: pgbench's option -D.",
        json_help="Each name with its value: pgbench's option -D.",
    )
    init = forms.CharField(
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        label="Init script",
        help_text="SQL for psql, run after each load of pgbench's own tables; it belongs to the data set. Begin with "
        "DROP TABLE IF EXISTS of what it creates: a second load finds that there.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.slots = range(1, max(FEWEST_SLOTS, len(self.instance.parameters.get("scripts", ())) + 1) + 1)
        for number in self.slots:
            self.fields[f"script_{number}"] = _script_field(number)
            self.fields[f"weight_{number}"] = _count(
                "for the weight", 1, initial=1, required=False, label=f"Weight of script {number}"
            )
        own = [name for number in self.slots for name in (f"script_{number}", f"weight_{number}")]
        self.order_fields(["name", *own, "variables", "init", "query_mode", "scale", "remark"])
        self.initial = {**self._of_scripts(self.instance.parameters), **self.initial}

    def _of_scripts(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        for number, script in enumerate(parameters.get("scripts", ()), start=1):
            shown |= {f"script_{number}": script["text"], f"weight_{number}": script.get("weight", 1)}
        return shown

    def clean_variables(self) -> Mapping[str, str]:
        variables: Mapping[str, str] = self.cleaned_data["variables"]
        _accept(check_variables, variables)
        return variables

    def clean_init(self) -> str:
        init: str = self.cleaned_data["init"]
        _accept(check_init, init)
        _accept(partial(check_length, "The init script"), init)
        return init

    def to_parameters(self, cleaned: Mapping[str, Any]) -> dict[str, Any]:
        given = [(cleaned[f"script_{n}"], cleaned[f"weight_{n}"] or 1) for n in self.slots if cleaned[f"script_{n}"]]
        scripts = [{"text": text.replace("\r\n", "\n"), "weight": weight} for text, weight in given]
        optional = {"variables": _numbers(cleaned["variables"]), "init": cleaned["init"].replace("\r\n", "\n").strip()}
        kept = {name: value for name, value in self.instance.parameters.items() if name not in optional}
        return {
            **kept,
            "script": CUSTOM,
            "scripts": scripts,
            **{name: value for name, value in optional.items() if value},
            **{name: cleaned[name] for name in ("query_mode", "scale")},
        }


def _script_field(number: int) -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": 6 if number == 1 else 2, "spellcheck": "false"})
    help_text = r"As pgbench reads it: \set, \if and SQL. \shell and \setshell are refused." if number == 1 else ""
    field = forms.CharField(
        required=number == 1,
        strip=False,
        widget=widget,
        label=f"Script {number}" if number == 1 else f"Script {number} (optional)",
        help_text=help_text,
    )
    field.validators = [partial(_accept, partial(check_new_text, number))]  # Django's own would repeat what it says
    return field


def _accept(check: Callable[[Any], None], value: Any) -> None:
    try:
        check(value)
    except ValueError as error:
        raise forms.ValidationError(str(error)) from error


def _numbers(variables: Mapping[str, str]) -> dict[str, int | str]:
    return {name: int(text) if WHOLE_NUMBER.fullmatch(text) else text for name, text in variables.items()}


def _is_weight(word: str) -> bool:
    return WEIGHT.fullmatch(word) is not None and int(word) <= HIGHEST_WEIGHT


class WeightsField(forms.CharField):
    """Seven whole numbers, kept as a mapping by transaction."""

    def clean(self, value: Any) -> dict[str, int]:
        words = super().clean(value).replace(",", " ").split()
        if not words:
            return {}
        if wrong := next((word for word in words if not _is_weight(word)), None):
            shown = wrong if len(wrong) <= LONGEST_SHOWN else f"{wrong[:LONGEST_SHOWN]}…"
            raise forms.ValidationError(f"A weight is a whole number from 0 to {HIGHEST_WEIGHT:,}, not {shown}.")
        if len(words) != len(TRANSACTIONS):
            raise forms.ValidationError(f"{SEVEN_WEIGHTS}; there are {len(words)}.")
        if not any(map(int, words)):
            raise forms.ValidationError("A mix needs at least one transaction with a weight above 0.")
        return {name: int(word) for name, word in zip(TRANSACTIONS, words, strict=True) if int(word)}

    def prepare_value(self, value: Any) -> Any:
        return " ".join(str(value.get(name, 0)) for name in TRANSACTIONS) if isinstance(value, Mapping) else value


class TatpForm(WorkloadForm):
    kind, title, tool_name, refused_at = "tatp", "TATP", "tatp", "weights"
    subscribers = _count(
        "subscribers",
        tatp_parameters.FEWEST_SUBSCRIBERS,
        tatp_parameters.MOST_SUBSCRIBERS,
        initial=100_000,
        help_text="100,000 are 90 MB with indexes; 1,000,000 are the definition's usual size, 0.9 GB.",
    )
    mix = forms.ChoiceField(
        choices=[(name, name) for name in tatp_parameters.CHOICES["mix"]],
        help_text="80/20 is the default: four reads to one write. R100 only reads, W100 only writes.",
    )
    weights = WeightsField(
        required=False,
        label="Weights of a custom mix",
        help_text=f"Seven numbers, for: {', '.join(TRANSACTIONS)}. Empty for a named mix.",
    )
    keys = forms.ChoiceField(
        choices=[(name, name) for name in tatp_parameters.CHOICES["keys"]],
        help_text="By the definition some subscribers are used more often than others; uniform is another workload.",
    )
    population = forms.ChoiceField(
        choices=[
            (tatp_parameters.DEFINITION, "by the definition, 1 to 8 hours"),
            (tatp_parameters.ORIGINAL_TOOL, "as the original tool does, 1 to 24 hours"),
        ],
        label="Call forwardings last",
    )
    seed = _count(
        "for the seed",
        0,
        tatp_parameters.HIGHEST_SEED,
        initial=1,
        help_text="The same seed makes the same rows, on any server.",
    )

    @property
    def together(self) -> set[str]:
        """A mix and its weights; the others are judged each by itself."""
        return {"mix", "weights"}

    def to_parameters(self, cleaned: Mapping[str, Any]) -> dict[str, Any]:
        if cleaned["mix"] == CUSTOM_MIX and not cleaned["weights"]:
            raise ValueError(f"A custom mix needs its weights. {SEVEN_WEIGHTS}.")
        defaults = {name: field.default for name, field in tatp_parameters.FIELDS.items()}
        asked = {name: cleaned.get(name, defaults[name]) for name in tatp_parameters.FIELDS if name != "weights"}
        shown = ("subscribers", "mix")
        found = {name: value for name, value in asked.items() if name in shown or value != defaults[name]}
        return found | ({"weights": cleaned["weights"]} if cleaned["weights"] else {})


class SysbenchForm(WorkloadForm):
    kind, title, tool_name, refused_at = "sysbench", "sysbench", "sysbench", "table_size"
    script = forms.ChoiceField(
        choices=[(name, name) for name in sysbench_tool.SCRIPTS],
        help_text="oltp_read_write sends 14 reads and 4 writes in each transaction; oltp_point_select one read by key.",
    )
    tables = _count("tables", 1, sysbench_tool.MOST_TABLES, initial=4)
    table_size = _count(
        "rows",
        1,
        sysbench_tool.MOST_ROWS,
        initial=50_000,
        label="Rows of each table",
        help_text="About 220 bytes.",
    )
    rand_type = forms.ChoiceField(
        choices=[(name, name) for name in sysbench_tool.DISTRIBUTIONS],
        label="How rows are drawn",
        help_text="special is sysbench's default: 1% of the rows get 75% of the requests.",
    )

    def to_parameters(self, cleaned: Mapping[str, Any]) -> dict[str, Any]:
        return {name: cleaned[name] for name in ("script", "tables", "table_size", "rand_type")}


FORMS: Mapping[str, type[WorkloadForm]] = MappingProxyType(
    {form.kind: form for form in (BuiltinForm, ScriptsForm, TatpForm, SysbenchForm)}
)
# What a new workload can start from: by its name in the address.
PRESETS: Mapping[str, Mapping[str, Any]] = presets.PRESETS


def kind_of(workload: Workload) -> str:
    """Which of FORMS shows a workload."""
    if workload.tool == "pgbench" and workload.parameters.get("script") == CUSTOM:
        return ScriptsForm.kind
    return next((kind for kind, form in FORMS.items() if form.tool_name == workload.tool), BuiltinForm.kind)
