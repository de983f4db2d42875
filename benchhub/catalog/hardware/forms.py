from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from django import forms
from django.core.validators import MinValueValidator

from benchhub.analysis.words import GIB, count
from benchhub.catalog.models import Hardware, Host, Instance
from benchhub.catalog.shared.forms import RevisedForm

CORES = re.compile(r"[1-9][0-9]{0,4}")
MEMORY = {"memory_gib": "memory_bytes", "vm_memory_gib": "vm_memory_bytes"}


def _memory_field(label: str, help_text: str) -> forms.DecimalField:
    least = Decimal("0.01")
    return forms.DecimalField(min_value=least, max_value=1_048_576, required=False, label=label, help_text=help_text)


class HardwareForm(RevisedForm):
    memory_gib = _memory_field("Memory, GiB", "As bought.")
    vm_memory_gib = _memory_field("Memory of the virtual machine, GiB", "For licences that count it.")
    unlike_cores = forms.CharField(
        required=False,
        max_length=2_000,
        label="Cores of each socket, where they differ",
        help_text="One number for each socket, for example 16, 8; then the most of them is the cores per socket.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    followers = ((Host, "hardware"), (Instance, "pooler_hardware"))
    derived = ("memory_bytes", "vm_memory_bytes", "unlike_cores")
    bought = (
        "name", "processor", "sockets", "cores_per_socket", "unlike_cores", "threads_per_core",
        "disabled_cores_per_socket", "clock_ghz", "memory_gib", "disks", "remark",
    )  # fmt: skip
    virtual = ("vm_vcpus", "vm_memory_gib", "vm_smt")

    class Meta:
        model = Hardware
        fields = (
            "name", "processor", "sockets", "cores_per_socket", "threads_per_core", "disabled_cores_per_socket",
            "clock_ghz", "disks", "remark", "vm_vcpus", "vm_smt",
        )  # fmt: skip
        labels = {
            "clock_ghz": "Clock, GHz",
            "processor": "Processor family",
            "disabled_cores_per_socket": "Cores per socket disabled in firmware",
            "vm_vcpus": "vCPUs",
            "vm_smt": "Two vCPUs share a physical core (SMT is on)",
        }
        help_texts = {
            "processor": "Core factors of licences go by it: write it as there, for example POWER8.",
            "sockets": "Occupied sockets as bought, not as a virtual machine shows them: licences count these.",
            "cores_per_socket": "Physical cores as bought, the disabled ones too, whatever the operating system shows.",
            "disabled_cores_per_socket": "Some licences count them all the same: their rules say.",
            "disks": "For example 4 x 300 GB SAS.",
            "vm_vcpus": "Licences per vCPU count these; all others count what was bought.",
        }
        widgets = {"remark": forms.Textarea(attrs={"rows": 3})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["disabled_cores_per_socket"].required = False
        if self.instance.unlike_cores:
            self.initial["unlike_cores"] = ", ".join(map(str, self.instance.unlike_cores))
        self.fields["vm_vcpus"].validators.append(MinValueValidator(1))
        for gib, stored in MEMORY.items():
            if (memory_bytes := getattr(self.instance, stored)) is not None:
                self.initial[gib] = round(Decimal(memory_bytes) / GIB, 2)

    @property
    def groups(self) -> list[tuple[str, list[Any]]]:
        bought = [self[name] for name in self.bought if name in self.fields]
        return [("", bought), ("Its virtual machine, if it runs in one", [self[name] for name in self.virtual])]

    def clean_disabled_cores_per_socket(self) -> int:
        disabled: int = self.cleaned_data["disabled_cores_per_socket"] or 0
        if disabled and disabled >= self.cleaned_data.get("cores_per_socket", disabled + 1):
            raise forms.ValidationError("Write fewer than the socket has cores.")
        return disabled

    def clean_unlike_cores(self) -> list[int]:
        words = self.cleaned_data["unlike_cores"].replace(",", " ").split()
        if any(not CORES.fullmatch(word) for word in words):
            raise forms.ValidationError("Write whole numbers from 1, one for each socket, for example: 16, 8.")
        return list(map(int, words))

    def _check_unlike_cores(self, cleaned: dict[str, Any]) -> None:
        """Say how the cores of each socket contradict the rest; sockets that are alike need no such list."""
        cores, sockets = cleaned.get("unlike_cores") or [], cleaned.get("sockets")
        if cores and sockets and len(cores) != sockets:
            numbers = count(len(cores), "number")
            self.add_error("unlike_cores", f"Write one number for each of {sockets:,} sockets, not {numbers}.")
        elif cores and max(cores) != cleaned.get("cores_per_socket", max(cores)):
            self.add_error("cores_per_socket", f"The largest socket has {max(cores):,} cores by the list: write that.")
        elif cores and min(cores) <= cleaned.get("disabled_cores_per_socket", 0):
            self.add_error("disabled_cores_per_socket", "Write fewer than the smallest socket has cores.")
        self.instance.unlike_cores = cores if len(set(cores)) > 1 else []

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        self._check_unlike_cores(cleaned)
        for gib, stored in MEMORY.items():
            if gib in self.changed_data:
                memory = cleaned.get(gib)
                setattr(self.instance, stored, None if memory is None else int(memory * GIB))
        if not cleaned.get("vm_vcpus"):
            cleaned["vm_smt"] = True
            if cleaned.get("vm_memory_gib") and "vm_vcpus" not in self.errors:
                self.add_error("vm_vcpus", "Write how many vCPUs the virtual machine has, or leave its memory empty.")
        return cleaned
