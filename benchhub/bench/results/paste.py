"""Import in the browser: a pasted output is read first, its reader sees what it holds, and only then is it stored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils import timezone

from benchhub.analysis.words import significant
from benchhub.bench.models import System
from benchhub.catalog.instances.cluster_form import AS_FOUND
from benchhub.catalog.models import Configuration, Hardware, Host, Workload
from runners import tools
from runners.contract import Outputs
from runners.tools.base import Tool

from . import import_check
from .import_check import Fault, ImportedRun, Reading, RejectedError

LONGEST_TEXT = 1_000_000
DAY_S = 86_400
NOTHING = ""
# What a text says of itself fills a field that was left empty: the field, and where pgbench and sysbench print it.
PRINTED = {
    "client_version": re.compile(r"^(?:pgbench \(|sysbench )([0-9]{1,2}(?:\.[0-9]{1,3}){1,2})", re.MULTILINE),
    "postgresql": re.compile(r"^pgbench \([^,\n]{1,80}, server ([0-9]{1,2}(?:\.[0-9]{1,3}){1,2})", re.MULTILINE),
    "duration_s": re.compile(r"^(?:duration: |Running the test for )([0-9]{1,6}) s", re.MULTILINE),
}
VERSION = re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,3}){1,2}|[0-9]{1,2}(?:devel|(?:beta|rc)[0-9]{1,2})")
FIELDS = {
    "/output": "text", "/clients": "text", "/workload": "workload", "/client_version": "client_version",
    "/system/postgresql": "postgresql", "/duration_s": "duration_s", "/system/host": "host",
    "/system/hardware": "hardware", "/experiment": "experiment", "/measured_at": "measured_at",
}  # fmt: skip


def _usual(rows: QuerySet[Any]) -> Any:
    """Return the row that most mean: the only one there is, or the configuration that asks for nothing."""
    few = list(rows[:2])
    return few[0] if len(few) == 1 else rows.filter(name=AS_FOUND).first()


class ImportForm(forms.Form):
    """What was printed, and what no output says: where it was measured and what it is to be called."""

    text = forms.CharField(
        max_length=LONGEST_TEXT,
        strip=False,
        label="Output",
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false", "data-drop": "", "class": "mono"}),
        help_text="Paste what pgbench or sysbench printed, or drop its files here: several runs after one another "
        "become several results.",
    )
    experiment = forms.CharField(max_length=160, label="Name of the experiment")
    workload = forms.ModelChoiceField(Workload.objects.none())
    hardware = forms.ModelChoiceField(Hardware.objects.none(), help_text="Prices are counted by it.")
    configuration = forms.ModelChoiceField(Configuration.objects.none())
    host = forms.CharField(
        max_length=60,
        label="Host of the server",
        widget=forms.TextInput(attrs={"list": "hosts"}),
        help_text="Any name, if BenchHub never sees it.",
    )
    path = forms.ChoiceField(choices=System.Path.choices, label="Connected by")
    postgresql = forms.CharField(required=False, max_length=20, label="PostgreSQL")
    client_version = forms.CharField(required=False, max_length=20, label="Load generator's version")
    duration_s = forms.IntegerField(required=False, min_value=1, max_value=DAY_S, label="Duration, s")
    measured_at = forms.DateTimeField(
        label="When the first run began",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text="In UTC.",
    )
    source = forms.CharField(max_length=300, label="Where it comes from")

    def __init__(self, data: QueryDict | None, user: Any) -> None:
        now = timezone.now().replace(second=0, microsecond=0)
        usual = {"measured_at": now, "source": f"pasted by {user}", "experiment": f"Imported on {now:%Y-%m-%d}"}
        super().__init__(data, initial=usual)
        self.label_suffix = NOTHING
        for name, model in (("workload", Workload), ("hardware", Hardware), ("configuration", Configuration)):
            choice: Any = self.fields[name]
            choice.queryset = model.objects.current().order_by("name")
            choice.empty_label = "Choose one"
            # No output says on which machine it was measured: a guess would price it by another one.
            choice.initial = None if name == "hardware" else _usual(choice.queryset)
        for name in PRINTED:
            self.fields[name].help_text = "Left empty: as the output says."

    @property
    def hosts(self) -> list[str]:
        return list(Host.objects.order_by("name").values_list("name", flat=True))

    def clean(self) -> dict[str, Any]:
        values = dict(super().clean() or self.cleaned_data)
        for name, pattern in PRINTED.items():
            match = pattern.search(values.get("text") or NOTHING)
            if not values.get(name) and name not in self.errors:
                values[name] = match[1] if match else NOTHING
                if not match:
                    self.add_error(name, "The output does not say it: write it here.")
        for name in ("postgresql", "client_version"):
            if values.get(name) and not VERSION.fullmatch(values[name]):
                self.add_error(name, "Write the version with its minor number: 18.1.")
        return values

    def as_run(self) -> ImportedRun:
        """Return the output as a delivery would have it; needs a form that is valid."""
        values = self.cleaned_data
        place = import_check.Place(
            host=values["host"],
            driver=values["host"],
            hardware=values["hardware"].name,
            configuration=values["configuration"].name,
            postgresql=values["postgresql"],
            path=values["path"],
        )
        conditions = import_check.Conditions(
            experiment=values["experiment"],
            workload=values["workload"].name,
            client_version=values["client_version"],
            duration_s=int(values["duration_s"]),
        )
        text = values["text"].replace("\r\n", "\n")
        output = Outputs(None, text.encode(), b"", {})
        return ImportedRun(
            1, place, conditions, values["source"], None, values["measured_at"], output=output, text=text
        )


@dataclass(frozen=True, slots=True)
class Row:
    """A run that the text holds, as its reader sees it before it is stored."""

    clients: int
    threads: int
    throughput: str
    unit: str
    latency: str
    remarks: tuple[str, ...]

    @classmethod
    def of_reading(cls, reading: Reading) -> Row:
        tool, result = tools.get(reading.spec.tool), reading.result
        throughput = result.measures[tool.unit.lower()]
        latency = result.measures.get("latency_average_ms")
        return cls(
            reading.spec.clients,
            reading.spec.threads,
            significant(throughput.value, 5),
            tool.unit,
            f"{significant(latency.value, 3)} ms" if latency else "–",
            (*(doubt.text for doubt in result.doubts), *result.remarks),
        )


@dataclass
class ImportPage:
    """The page: the form, and once it was read, its runs or what speaks against them."""

    form: ImportForm
    rows: Sequence[Row] = ()
    faults: Sequence[Fault] = field(default_factory=list)

    @classmethod
    def read(cls, form: ImportForm) -> ImportPage:
        """Read what the form holds; faults stand beside their fields."""
        page = cls(form)
        if not form.is_valid():
            return page
        try:
            readings, _ = import_check.read([form.as_run()])
        except RejectedError as error:
            page.refuse(error)
            return page
        page.rows = [Row.of_reading(reading) for reading in readings]
        return page

    def refuse(self, error: RejectedError) -> None:
        self.rows = ()
        for name, text in _by_field(error.faults):
            self.form.add_error(name, text)

    @property
    def tools(self) -> list[Tool]:
        """Return the tools whose output alone is enough."""
        return [tool for tool in tools.TOOLS.values() if not tool.needed_files]


def _by_field(faults: Sequence[Fault]) -> Iterator[tuple[str | None, str]]:
    for fault in faults:
        names = [name for pointer, name in FIELDS.items() if fault.pointer.startswith(pointer)]
        yield next(iter(names), None), fault.detail
