"""Configurations."""

from __future__ import annotations

from benchhub.api.core.json_forms import serializer_of
from benchhub.api.core.views import RowSerializer
from benchhub.catalog import models
from benchhub.catalog.workloads import configuration_form

from .rows import REVISED, ReviseView


class Configuration(RowSerializer):
    class Meta:
        model = models.Configuration
        fields = (*REVISED, "settings", "os_settings", "volatile_storage", "remark")


class Configurations(ReviseView):
    queryset = models.Configuration.objects.order_by("pk")
    serializer_class = Configuration
    form_class = configuration_form.ConfigurationForm
    takes = serializer_of(configuration_form.ConfigurationForm, "ConfigurationRequest")
