"""Import in the browser: a pasted output is read first, its reader sees what it holds, and only then is it stored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils import timezone

from benchhub.analysis.words import significant
from benchhub.bench.models import System
from benchhub.catalog.instances.clusters.form import AS_FOUND
from benchhub.catalog.models import Configuration, Hardware, Host, Workload
from runners import tools
from runners.contract import Outputs
from runners.tools.claims import CLIENT_VERSION, DURATION, SERVER_VERSION
from runners.tools.printed import printed_text

from . import check, texts
from .lines import HIGHEST_RATE_TPS, WHOLE_RATES, Conditions, Fault, ImportedRun, Place, Reading, RejectedError
from .parts import DAY_S, planned_duration_s, stated_duration_s
from .workload_match import Match, matches, missing_workload, tools_reading

LONGEST_TEXT = 1_000_000
# A rate has eight characters at most, and no text of a person has more runs than this has rates.
LONGEST_RATES = 5_000
NO_WORKLOAD = "There is no workload of {} to read it by: add one, then read it again."
NOTHING = ""
HELP = "Paste what {} printed, or drop its files here: several runs after one another become several results."
VERSION = re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,3}){1,2}|[0-9]{1,2}(?:devel|(?:beta|rc)[0-9]{1,2})")
FIELDS = {
    "/output": "text", "/clients": "text", "/workload": "workload", "/client_version": "client_version",
    "/system/postgresql": "postgresql", "/duration_s": "duration_s", "/system/host": "host",
    "/system/hardware": "hardware", "/experiment": "experiment", "/measured_at": "measured_at",
    "/rate_tps": "rate_tps",
}  # fmt: skip
# The fields that a text fills where they were left empty, by the names of the facts that it states.
PRINTED = {name: FIELDS[check.POINTERS[name]] for name in (CLIENT_VERSION, SERVER_VERSION, DURATION)}
# The fields that are filled already, or by the output; they stand folded unless there is something to do in them.
FOLDED = {
    "configuration", "path", "measured_at", "postgresql", "client_version", "duration_s", "rate_tps", "experiment",
    "source",
}  # fmt: skip


def _usual(rows: QuerySet[Any]) -> Any:
    """Return the row that most mean: the only one there is, or the configuration that asks for nothing."""
    few = list(rows[:2])
    return few[0] if len(few) == 1 else rows.filter(name=AS_FOUND).first()


class RatesField(forms.CharField):
    """A rate for all runs, or one for each, in a tuple; () where none is written."""

    def clean(self, value: Any) -> tuple[int, ...]:
        invalid = {"invalid": WHOLE_RATES}
        rate = forms.IntegerField(min_value=1, max_value=HIGHEST_RATE_TPS, error_messages=invalid)
        return tuple(rate.clean(word) for word in super().clean(value).replace(",", " ").split())


class ImportForm(forms.Form):
    """What was printed, and what no output says: where it was measured and what it is to be called.

    Until it `is_whole`, only the output is needed: the form is read before the rest is known.
    """

    text = forms.CharField(
        max_length=LONGEST_TEXT,
        strip=False,
        label="Output",
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false", "data-drop": "", "class": "mono"}),
    )
    workload = forms.ModelChoiceField(Workload.objects.none(), help_text="Left open: found by what the output says.")
    hardware = forms.ModelChoiceField(Hardware.objects.none(), help_text="Prices are counted by it.")
    host = forms.CharField(
        max_length=60,
        label="Host of the server",
        widget=forms.TextInput(attrs={"list": "hosts"}),
        help_text="Any name, if BenchHub never sees it.",
    )
    configuration = forms.ModelChoiceField(Configuration.objects.none())
    path = forms.ChoiceField(choices=System.Path.choices, label="Connected by")
    measured_at = forms.DateTimeField(
        label="When the first run began",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text="In UTC. Left empty: so that the last run has just ended.",
    )
    postgresql = forms.CharField(required=False, max_length=20, label="PostgreSQL")
    client_version = forms.CharField(required=False, max_length=20, label="Load generator's version")
    duration_s = forms.IntegerField(required=False, min_value=1, max_value=DAY_S, label="Duration, s")
    rate_tps = RatesField(
        required=False,
        max_length=LONGEST_RATES,
        label="Rate offered, TPS",
        help_text=(
            "pgbench's option -R, which it does not print; of several runs that of all, or each after a comma. Left "
            "empty: as fast as it could."
        ),
    )
    experiment = forms.CharField(max_length=160, label="Name of the experiment")
    source = forms.CharField(max_length=300, label="Where it comes from")

    def __init__(self, data: QueryDict | None, user: Any, *, is_whole: bool = True) -> None:
        usual = {
            "path": System.Path.values[0],
            "source": f"pasted by {user}",
            "experiment": f"Imported on {timezone.now():%Y-%m-%d}",
        }
        super().__init__(data, initial=usual)
        self.label_suffix = NOTHING
        self.fields["text"].help_text = HELP.format(texts.readable())
        self.is_whole = is_whole
        for name, model in (("workload", Workload), ("hardware", Hardware), ("configuration", Configuration)):
            choice: Any = self.fields[name]
            choice.queryset = model.objects.current().order_by("name")
            choice.empty_label = "Choose one"
        # The output says its workload, and none says on which machine it was measured: a guess would price it wrongly.
        self.fields["configuration"].initial = _usual(Configuration.objects.current())
        for name in PRINTED.values():
            self.fields[name].help_text = "Left empty: as the output says."
        for name in self.fields.keys() - {"text"}:
            self.fields[name].required &= is_whole

    @property
    def main_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in FOLDED]

    @property
    def folded_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name in FOLDED]

    @property
    def has_open_folded(self) -> bool:
        """Tell whether what is folded has to be seen: something there is wrong, or still to be filled."""
        labels = self.open_labels
        return any(field.errors or field.label in labels for field in self.folded_fields)

    @property
    def open_labels(self) -> list[str]:
        """Return the labels of the fields that are still to be filled before the form can be saved."""
        is_empty = [
            (field, not field.value())
            for field in self
            if field.name not in {*PRINTED.values(), "measured_at", "rate_tps"}
        ]
        return [str(field.label) for field, empty in is_empty if empty]

    @property
    def hosts(self) -> list[str]:
        return list(Host.objects.order_by("name").values_list("name", flat=True))

    def clean(self) -> dict[str, Any]:
        values = dict(super().clean() or self.cleaned_data)
        text = printed_text(values.get("text", NOTHING).encode())
        is_readable = values.get("workload") or tools_reading(text)
        durations_s = _durations_s(text) or [None]
        for name in PRINTED.values():
            is_of_each = PRINTED[DURATION] == name and all(durations_s)
            if is_readable and not values.get(name) and name not in self.errors and not is_of_each:
                self.add_error(name, "The output does not say it: write it here.")
        for name in ("postgresql", "client_version"):
            if values.get(name) and not VERSION.fullmatch(values[name]):
                self.add_error(name, "Write the version with its minor number: 18.1.")
        return values

    def as_run(self) -> ImportedRun:
        """Return the output as a delivery would have it; needs a form that is valid."""
        values = self.cleaned_data
        place = Place(
            host=values["host"],
            driver=values["host"],
            hardware=_name(values["hardware"]),
            configuration=_name(values["configuration"]),
            postgresql=values["postgresql"],
            path=values["path"],
        )
        conditions = Conditions(
            experiment=values["experiment"],
            workload=_name(values["workload"]),
            client_version=values["client_version"],
            duration_s=int(values["duration_s"] or 0),
        )
        text, rates_tps = values["text"].replace("\r\n", "\n"), values["rate_tps"]
        output = Outputs(None, text.encode(), b"", {})
        measured_at = values["measured_at"] or timezone.now()
        return ImportedRun(
            1,
            place,
            conditions,
            values["source"],
            None,
            measured_at,
            output=output,
            text=text,
            rate_tps=rates_tps[0] if len(rates_tps) == 1 else None,
            rates_tps=rates_tps if len(rates_tps) > 1 else (),
        )


def _name(row: Any) -> str:
    return row.name if row else NOTHING


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
    """The page: the form, and once it was read, its runs, and which workloads the output agrees with."""

    form: ImportForm
    rows: Sequence[Row] = ()
    matches: Sequence[Match] = ()
    missing_workload: Workload | None = None

    @classmethod
    def read(cls, posted: QueryDict, user: Any, *, is_whole: bool) -> ImportPage:
        """Read what was posted, and fill what was left empty as its output says; faults stand beside their fields."""
        text = printed_text(posted.get("text", NOTHING).encode())
        rows = matches(text, Workload.objects.current().order_by("name"))
        page = cls(ImportForm(_filled(posted, text, rows), user, is_whole=is_whole), matches=rows)
        page.missing_workload = None if page.agreeing else missing_workload(text)
        readers = tools_reading(text)
        if not readers and not posted.get("workload"):
            if text.strip():  # that there is none the field says itself
                page.form.add_error("text", texts.unread(text))
        elif sentence := texts.added_in(text, readers):
            page.form.add_error("text", sentence)
        elif not rows and not posted.get("workload"):
            page.form.add_error("workload", NO_WORKLOAD.format(readers[0].program))
        elif page.form.is_valid() and (workload := page.workload):
            page._preview(workload)
        return page

    def _preview(self, workload: Workload) -> None:
        try:
            readings = check.preview(self.form.as_run(), workload)
        except RejectedError as error:
            self.refuse(error)
        else:
            self.rows = [Row.of_reading(reading) for reading in readings]
            self.form.fields["text"].widget.attrs["rows"] = 4

    def refuse(self, error: RejectedError) -> None:
        self.rows = ()
        for name, text in _by_field(error.faults):
            self.form.add_error(name, text)

    @property
    def is_refused(self) -> bool:
        """Tell whether saving was refused: the next attempt need not be read first."""
        return self.form.is_bound and self.form.is_whole

    @property
    def workload(self) -> Workload | None:
        """Return the workload to read by: the one that was chosen, or the first that the output agrees with."""
        return self.form.cleaned_data["workload"] or next(iter(self.agreeing), None)

    @property
    def agreeing(self) -> list[Workload]:
        return [match.workload for match in self.matches if not match.contradictions]

    @property
    def nearest(self) -> Match | None:
        """Return the workload that the output contradicts least, where it agrees with none."""
        return self.matches[0] if self.matches and self.matches[0].contradictions else None


def _filled(posted: QueryDict, text: str, rows: Sequence[Match]) -> QueryDict:
    """Return what was posted, with what the text says of itself where it was left empty."""
    data = posted.copy()
    for tool in tools.TOOLS.values():
        for name, field in PRINTED.items():
            pattern = tool.stated.get(name) if name != DURATION else None
            if pattern and not data.get(field) and (match := pattern.search(text)):
                data[field] = match[1]
    durations_s = _durations_s(text)
    if not data.get("duration_s") and (duration_s := _alike_s(durations_s, _planned_durations_s(text))):
        data["duration_s"] = str(duration_s)
    if not data.get("measured_at"):
        data["measured_at"] = _latest_begin(durations_s, data.get("duration_s", NOTHING))
    agreeing = [row.workload for row in rows if not row.contradictions]
    if len(agreeing) == 1 and not data.get("workload"):
        data["workload"] = str(agreeing[0].pk)
    return data


def _durations_s(text: str) -> list[int | None]:
    """Return how long each run of a text was to last, or took where it was of a number of transactions."""
    return [stated_duration_s(tool, part.text) for tool in tools_reading(text) for part in tool.parts(text)]


def _planned_durations_s(text: str) -> set[int]:
    """Return the durations that runs of a text were to have, which are printed to the second as they were given."""
    planned_s = (planned_duration_s(tool, part.text) for tool in tools_reading(text) for part in tool.parts(text))
    return {duration_s for duration_s in planned_s if duration_s}


def _alike_s(durations_s: Sequence[int | None], planned_s: set[int]) -> int | None:
    """Return the duration of all runs; None where they differ by more than rounding, so that each has its own.

    Rounded is only how long a number of transactions took: durations that were planned are alike or are others.
    """
    stated_s = [duration_s for duration_s in durations_s if duration_s]
    if not stated_s or len(stated_s) < len(durations_s) or len(planned_s) > 1:
        return None
    duration_s = next(iter(planned_s), stated_s[0])
    is_alike = max(*stated_s, duration_s) - min(*stated_s, duration_s) <= 1
    return duration_s if is_alike else None


def _latest_begin(durations_s: Sequence[int | None], duration: str) -> str:
    """Return when the first run of a text began if the last has just ended; empty where no duration is known."""
    if duration.isdecimal() and int(duration) <= DAY_S:
        lasted_s = max(1, len(durations_s)) * int(duration)
    elif durations_s and all(durations_s) and not duration:
        lasted_s = sum(filter(None, durations_s))
    else:
        return NOTHING
    return f"{timezone.now() - timedelta(seconds=lasted_s):%Y-%m-%dT%H:%M}"


def _by_field(faults: Sequence[Fault]) -> Iterator[tuple[str | None, str]]:
    for fault in faults:
        names = [name for pointer, name in FIELDS.items() if fault.pointer.startswith(pointer)]
        yield next(iter(names), None), fault.detail
