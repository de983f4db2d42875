"""Hardware profiles."""

from __future__ import annotations

from benchhub.api.core.json_forms import serializer_of
from benchhub.api.core.views import RowSerializer
from benchhub.catalog import models
from benchhub.catalog.hardware.forms import HardwareForm

from .rows import REVISED, ReviseView


class Hardware(RowSerializer):
    class Meta:
        model = models.Hardware
        fields = (
            *REVISED, "processor", "sockets", "cores_per_socket", "unlike_cores", "threads_per_core",
            "disabled_cores_per_socket", "clock_ghz", "memory_bytes", "disks", "vm_vcpus", "vm_memory_bytes", "vm_smt",
            "remark",
        )  # fmt: skip


class HardwareProfiles(ReviseView):
    queryset = models.Hardware.objects.order_by("pk")
    serializer_class = Hardware
    form_class = HardwareForm
    takes = serializer_of(HardwareForm, "HardwareRequest")
