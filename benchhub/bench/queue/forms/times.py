"""Forms of periods: given once, or every week."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from django import forms
from django.db import IntegrityError, transaction
from django.utils import timezone

from benchhub.analysis.planning.timetable import Period, moment
from benchhub.bench.models import WEEKDAYS, Experiment, Reservation, System, Window
from benchhub.catalog.models import Host

from .. import exclusive, timetable

LONGEST, FARTHEST = timedelta(days=366), timedelta(days=3660)
WINDOW = {"is_exclusive", *(f"window_{part}" for part in ("days", "from", "until", "zone"))}
MEANWHILE = "Somebody gave a period that overlaps at this moment: look at the list, then save again."


@cache
def zones() -> list[tuple[str, str]]:
    """Return (name, name) of each time zone; cached, as every look walks the whole folder of zones."""
    return [(name, name) for name in sorted(available_timezones())]


def zone_field(form: forms.BaseForm, name: str = "zone") -> forms.ChoiceField:
    """Return a choice of a time zone for the form: the reader's, by a script, where nobody has chosen yet."""
    is_open = not form.is_bound and name not in form.initial
    return forms.ChoiceField(
        widget=forms.Select(attrs={"data-suggest-zone": True} if is_open else {}),
        choices=zones(),
        initial="UTC",
        label="Time zone",
        help_text="The times above are local times there, summer time included.",
    )


def reason_field() -> forms.CharField:
    return forms.CharField(max_length=200, required=False, label="Reason (optional)")


def exclusive_field() -> forms.BooleanField:
    return forms.BooleanField(
        required=False,
        label="Nobody else meanwhile",
        help_text="At its times no run of another experiment begins on its hosts, until this one ends or is paused. "
        "What is under way there when they begin goes on.",
    )


class Moment(forms.DateTimeField):
    """A date and time without a zone: the form's own zone says which moment it is."""

    widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")
    default_error_messages = {"invalid": "Write a date and a time: 2026-12-24 18:00."}

    def to_python(self, value: Any) -> Any:
        instant = super().to_python(value)
        return instant.astimezone(UTC).replace(tzinfo=None) if instant else instant


class OnceForm(forms.Form):
    start = Moment(label="From")
    end = Moment(label="Until")

    def __init__(self, *args: Any, owner: Host | Experiment, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        self.owner = owner
        self.fields |= {"zone": zone_field(self), "reason": reason_field()}

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        if {"start", "end", "zone"} <= values.keys():
            zone = ZoneInfo(values["zone"])
            values["start"], values["end"] = moment(values["start"], zone), moment(values["end"], zone, last=True)
            self._check(values["start"], values["end"])
        return values

    def _check(self, start: datetime, end: datetime) -> None:
        if end <= start:
            self.add_error("end", "It ends before it begins: write a later time.")
        elif end <= timezone.now():
            self.add_error("end", "It has passed already: write a later time.")
        elif end - timezone.now() > FARTHEST:
            self.add_error("end", "That is more than ten years ahead: write an earlier time.")
        elif end - start > LONGEST:
            self.add_error("end", "That is more than a year: write a shorter period, or one of every week.")
        elif other := self.owner.reservations.filter(period__overlap=(start, end)).order_by("period").first():
            self.add_error("start", f"It overlaps with {other}: write what is left, or remove that one first.")
        elif sentence := _taken(self.owner, [Period(start, end)], self.cleaned_data["zone"]):
            self.add_error("start", sentence)

    def saved(self) -> Reservation | None:
        values = self.cleaned_data
        try:
            with transaction.atomic():
                row = timetable.reserve_once(
                    self.owner, values["start"], values["end"], zone=values["zone"], reason=values["reason"]
                )
                _claim(self.owner)
                return row
        except IntegrityError:
            self.add_error(None, MEANWHILE)
        except exclusive.OverlapError as error:
            self.add_error(None, str(error))
        return None


def _claim(owner: Host | Experiment) -> None:
    """Claim what was just written. Raises OverlapError where another got the hosts since the form was checked."""
    if isinstance(owner, Experiment):
        exclusive.claim(owner)


def _taken(owner: Host | Experiment, own_periods: Sequence[Period], zone: str) -> str:
    """Say why an experiment that keeps others out may not have these periods as well; empty if it may."""
    if not (isinstance(owner, Experiment) and owner.is_exclusive):
        return ""
    return exclusive.refusal_of(owner, more=own_periods, zone=zone)


class WindowFields(forms.Form):
    """The weekly window that a plan is confined to from the start; all empty: it may run at any time."""

    window_days = forms.TypedMultipleChoiceField(
        choices=list(enumerate(WEEKDAYS)),
        coerce=int,
        required=False,
        initial=list,
        label="Only on (optional)",
        widget=forms.CheckboxSelectMultiple,
        help_text="The days on which its window begins. None: it may run at any time.",
    )
    window_from = forms.TimeField(
        required=False, label="From", widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M")
    )
    window_until = forms.TimeField(
        required=False,
        label="Until",
        widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
        help_text="Not later than the first: of the next day.",
    )

    is_exclusive = exclusive_field()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["window_zone"] = zone_field(self, "window_zone")
        self.fields["window_zone"].required = False

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        self._check_window(values)
        if values.get("is_exclusive") and not (values.get("window_days") or values.get("is_paused")):
            self.add_error("is_exclusive", self._needs_window)
        return values

    @property
    def _needs_window(self) -> str:
        otherwise = ", or queue it paused and give it a period on its page" if "is_paused" in self.fields else ""
        return f"Choose the days and times at which nobody else may run{otherwise}."

    def _check_window(self, values: dict[str, Any]) -> None:
        days, times = values.get("window_days"), [values.get("window_from"), values.get("window_until")]
        if days and None in times and not {"window_from", "window_until"} & self.errors.keys():
            self.add_error("window_from", "Write from when until when it may run on these days.")
        elif any(times) and not days and "window_days" not in self.errors:
            self.add_error("window_days", "Choose the days on which it may run then.")

    def refuse_overlap(self, systems: Sequence[System]) -> None:
        """Refuse to let nobody else run where the hosts of these systems are another's then, or not for so long."""
        window = None if WINDOW & self.errors.keys() else window_of(self.cleaned_data)
        if self.cleaned_data.get("is_exclusive") and window and systems:
            own_periods = exclusive.periods([window], timezone.now())
            if sentence := exclusive.refusal(systems, own_periods, window.zone):
                self.add_error("is_exclusive", sentence)


def window_of(values: Mapping[str, Any]) -> Window | None:
    """Return the window that the fields ask for, unsaved; None for none."""
    if not values.get("window_days"):
        return None
    zone = values.get("window_zone") or "UTC"
    times = {"starts_at": values["window_from"], "ends_at": values["window_until"]}
    return Window(weekdays=values["window_days"], zone=zone, **times)


def window_values(experiment: Experiment) -> dict[str, Any]:
    """Return the fields' values for a plan like the experiment's, of its first window."""
    window = experiment.windows.order_by("pk").first()
    if window is None:
        return {"is_exclusive": False}
    times = {"window_from": f"{window.starts_at:%H:%M}", "window_until": f"{window.ends_at:%H:%M}"}
    own = {"window_days": window.weekdays, "window_zone": window.zone, "is_exclusive": experiment.is_exclusive}
    return {**own, **times}


class WeeklyForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable when it runs
    weekdays = forms.TypedMultipleChoiceField(
        choices=list(enumerate(WEEKDAYS)),
        coerce=int,
        label="On",
        widget=forms.CheckboxSelectMultiple,
        help_text="The days on which it begins.",
        error_messages={"required": "Choose at least one day."},
    )
    starts_at = forms.TimeField(label="From", widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"))
    ends_at = forms.TimeField(
        label="Until",
        widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
        help_text="A time that is not later than the first is that of the next day; the same time is a whole day.",
    )

    class Meta:
        model = Window
        fields = ("weekdays", "starts_at", "ends_at", "zone", "reason")

    def __init__(self, *args: Any, owner: Host | Experiment, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        self.fields |= {"zone": zone_field(self), "reason": reason_field()}
        self.owner = owner
        setattr(self.instance, "host" if isinstance(owner, Host) else "experiment", owner)

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors and isinstance(self.owner, Experiment):
            window = Window(**{name: values[name] for name in ("weekdays", "starts_at", "ends_at", "zone")})
            own_periods = exclusive.periods([window], timezone.now())
            if sentence := _taken(self.owner, own_periods, window.zone):
                self.add_error(None, sentence)
        return values

    def saved(self) -> Window | None:
        try:
            with transaction.atomic():
                window: Window = self.save()
                _claim(self.owner)
        except exclusive.OverlapError as error:
            self.add_error(None, str(error))
            return None
        timetable.expand()
        return window
