from __future__ import annotations

from typing import Any

from django import forms
from django.db import transaction
from django.db.models import Q

from benchhub.analysis.words import listing
from benchhub.catalog.models import Hardware, Host, InterferenceGroup
from benchhub.catalog.shared.forms import NO_BLANKS, CatalogForm, offer_rows, port_field

WORK_DIRECTORY = ".benchhub"
EXCLUSIVE_H, MOST_EXCLUSIVE_H = 24, 24 * 31
HOST_FIELDS = (
    "name",
    "address",
    "port",
    "username",
    "hardware",
    "work_directory",
    "bin_directories",
    "interference_group",
    "longest_exclusive_h",
)
PLACE = ("address", "port", "username")
# A job on the host is found again by these alone.
WITHIN_THE_HOST = ("username", "work_directory")
WHERE_JOBS_LIE = (*PLACE, "work_directory")


class HostForm(CatalogForm):
    address = forms.CharField(max_length=253, validators=[NO_BLANKS], help_text="A host name or an IP address.")
    port = port_field(22)
    username = forms.CharField(
        max_length=64,
        validators=[NO_BLANKS],
        label="User",
        help_text="Who runs the load there. It needs no privileges, and no password is ever sent.",
    )
    hardware = forms.ModelChoiceField(
        Hardware.objects.none(),
        required=False,
        empty_label="not described yet",
        help_text="What was bought: prices are counted by it. It can be added later.",
    )
    work_directory = forms.CharField(
        max_length=300,
        required=False,
        initial=WORK_DIRECTORY,
        help_text="Where runs leave their folders, below the user's home unless it begins with /.",
    )
    bin_directories = forms.RegexField(
        r"^(/[^\s*?\[]+)( +/[^\s*?\[]+)*$",
        max_length=600,
        required=False,
        label="PostgreSQL is installed in",
        help_text="Directories of programs that a probe would not find by itself, several apart by a space.",
        error_messages={"invalid": "Write absolute paths, apart by a space: /opt/pg18/bin /opt/pg16/bin."},
    )
    group = forms.CharField(
        max_length=120,
        required=False,
        label="Interference group",
        help_text="Hosts of one group share hardware, so that only one run at a time takes place on any of them.",
        widget=forms.TextInput(attrs={"list": "groups"}),
    )

    longest_exclusive_h = forms.IntegerField(
        min_value=0,
        max_value=MOST_EXCLUSIVE_H,
        required=False,
        initial=EXCLUSIVE_H,
        label="Exclusive experiments together, at most h",
        help_text="Within any 24 hours; from 22 h on, within 3 hours more than the limit. 0: never.",
    )

    class Meta:
        model = Host
        fields = (
            *("name", "address", "port", "username", "hardware", "work_directory", "bin_directories"),
            "longest_exclusive_h",
        )
        error_messages = {"name": {"unique": "There is already a host of this name: choose another one."}}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        present = Q(retired_at=None) | Q(pk=self.instance.hardware_id)
        offer_rows(self, "hardware", Hardware.objects.filter(present).order_by("name"))
        if self.instance.interference_group:
            self.fields["group"].initial = self.instance.interference_group.name

    def clean_work_directory(self) -> str:
        return self.cleaned_data["work_directory"] or WORK_DIRECTORY

    def clean_longest_exclusive_h(self) -> int:
        hours = self.cleaned_data["longest_exclusive_h"]
        return EXCLUSIVE_H if hours is None else int(hours)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        place = {name: cleaned[name] for name in PLACE if name in cleaned}
        others = (
            Host.objects.filter(**place).exclude(pk=self.instance.pk)
            if len(place) == len(PLACE)
            else Host.objects.none()
        )
        if other := others.values_list("name", flat=True).first():
            self.add_error("address", f"The host {other} has this address, port and user already.")
        self._refuse_to_lose_jobs()
        return cleaned

    def _refuse_to_lose_jobs(self) -> None:
        """Refuse to move the host away from jobs under way: nobody would find them, and others would join them.

        A host that is away may have another address by now. Its key tells whether it is the same machine.
        """
        where = WHERE_JOBS_LIE if self.instance.unreachable_since is None else WITHIN_THE_HOST
        moved = [name for name in where if name in self.changed_data and name not in self.errors]
        if moved and (keys := self.instance.runs_under_way()):
            runs = listing(f"run {key}" for key in keys)
            self.add_error(moved[0], f"{runs.capitalize()} would not be found any more: wait for the end, or cancel.")
        elif moved and self.instance.pk and self.instance.source_builds.under_way().exists():
            self.add_error(moved[0], "A build there would not be found any more: wait for its end, or cancel it.")

    def saved(self) -> Any:
        """Return the saved host; None, with a sentence on the form, where a run has begun there at this moment."""
        with transaction.atomic():
            if self.instance.pk:
                Host.lock([self.instance.pk])
                self._refuse_to_lose_jobs()
            return None if self.errors else super().saved()

    @property
    def is_moved(self) -> bool:
        """Tell whether an edit points the host at another machine or account."""
        return any(name in self.changed_data for name in PLACE)

    def write(self) -> Host:
        """Write only what the form asks for: a worker may be writing the rest at this moment."""
        host: Host = self.instance
        group = self.cleaned_data["group"]
        host.interference_group = InterferenceGroup.objects.get_or_create(name=group)[0] if group else None
        if host._state.adding:
            host.make_key_pair()
            host.save()
        elif self.is_moved:
            host.facts, host.facts_at = {}, None
            host.save(update_fields=[*HOST_FIELDS, "facts", "facts_at"])
        else:
            host.save(update_fields=HOST_FIELDS)
        return host
