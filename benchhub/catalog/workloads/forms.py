"""A form for each kind of workload, made of the fields that its load generator describes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

from django import forms

from benchhub.catalog.models import Workload
from benchhub.catalog.shared.forms import RevisedForm, offer
from runners import tools
from runners.tools import Tool
from runners.tools.kinds import Kind, Scripts

from .fields import FORM_FIELDS, script_slots

FEWEST_SLOTS = 4
# What is wrong with these says nothing of the parameters, which are looked at all the same.
BESIDE_THE_PARAMETERS = {"name", "remark"}


class WorkloadForm(RevisedForm):
    """The name, the remark and the fields of a kind. Scripts have a slot each, and some more that may stay empty."""

    kind: ClassVar[Kind]
    tool_name: ClassVar[str]
    tool = forms.ChoiceField(widget=forms.HiddenInput)
    derived = ("parameters",)

    class Meta:
        model = Workload
        fields = ("name", "tool", "remark")
        widgets = {"remark": forms.Textarea(attrs={"rows": 3})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "tool", [(self.tool_name, self.tool_name)])
        self.slots = range(0)
        if field := self._scripts_field:
            self.slots = range(1, max(FEWEST_SLOTS, len(self._scripts) + 1) + 1)
            self.fields.update(script_slots(field, self.slots))
        self.initial = {**self._from_parameters(), **self.initial, "tool": self.tool_name}
        self.order_fields(["name", "tool", *self._field_names, "remark"])

    @property
    def _scripts_field(self) -> Scripts | None:
        return next((field for field in self.kind.fields if isinstance(field, Scripts)), None)

    @property
    def _scripts(self) -> list[Mapping[str, Any]]:
        field = self._scripts_field
        return list(self.instance.parameters.get(field.name, ())) if field else []

    @property
    def _field_names(self) -> list[str]:
        slots = [name for number in self.slots for name in (f"script_{number}", f"weight_{number}")]
        names = [slots if isinstance(field, Scripts) else [field.name] for field in self.kind.fields]
        return [name for part in names for name in part]

    @property
    def rare_names(self) -> list[str]:
        """Return the names of the fields that stand folded."""
        return [field.name for field in self.kind.fields if field.is_rare]

    @property
    def has_rare_values(self) -> bool:
        """Tell whether what is folded has to be seen: something there is not the default, or is wrong."""
        defaults = {name: self.fields[name].initial for name in self.rare_names}
        texts = {name: (str(self[name].value() or ""), str(default or "")) for name, default in defaults.items()}
        return any(name in self.errors or value not in ("", default) for name, (value, default) in texts.items())

    def _from_parameters(self) -> dict[str, Any]:
        values = {name: value for name, value in self.instance.parameters.items() if name in self.fields}
        for number, script in enumerate(self._scripts, start=1):
            values |= {f"script_{number}": script["text"], f"weight_{number}": script.get("weight", 1)}
        return values

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        judged = set(self.kind.judged) or self.fields.keys() - BESIDE_THE_PARAMETERS
        if not self.errors.keys() & judged:
            try:
                parameters = self.kind.to_parameters(self._values(cleaned), self.instance.parameters)
                tools.get(self.tool_name).data_set(parameters)
                self.instance.parameters = parameters
            except ValueError as error:
                field = self._scripts_field
                is_in_slots = field is not None and field.name == self.kind.refused_at
                self.add_error("script_1" if is_in_slots else self.kind.refused_at, str(error))
        return cleaned

    def _values(self, cleaned: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the kind's fields hold; the slots that are filled are its scripts."""
        values = {field.name: cleaned[field.name] for field in self.kind.fields if field.name in cleaned}
        filled = [number for number in self.slots if cleaned[f"script_{number}"]]
        scripts = [{"text": cleaned[f"script_{n}"], "weight": cleaned[f"weight_{n}"] or 1} for n in filled]
        return {**values, **({self._scripts_field.name: scripts} if self._scripts_field else {})}

    def save(self, commit: bool = True) -> Any:
        """Save the workload; a revision in which nothing differs is none, and the row stays as it is."""
        pk = self.instance.pk
        unchanged = Workload.objects.filter(pk=pk, **self.changes()).first() if pk else None
        return unchanged or super().save(commit)


@cache
def _form(tool: Tool, kind: Kind) -> type[WorkloadForm]:
    fields = {field.name: FORM_FIELDS[type(field)](field) for field in kind.fields if type(field) in FORM_FIELDS}
    attributes: dict[str, Any] = {"kind": kind, "tool_name": tool.name, "__module__": __name__}
    return type("WorkloadForm", (WorkloadForm,), {**attributes, **fields})


def forms_by_kind() -> dict[str, type[WorkloadForm]]:
    """Return the form of each kind of each load generator, by the kind's name; the usual one first."""
    return {kind.name: _form(tool, kind) for tool in tools.TOOLS.values() for kind in tool.kinds}


def form_of(workload: Workload) -> type[WorkloadForm]:
    """Return the form that shows a workload."""
    tool = tools.get(workload.tool)
    return _form(tool, tool.kind_of(workload.parameters))
