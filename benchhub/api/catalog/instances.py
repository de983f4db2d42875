"""Instances and the builds they run."""

from __future__ import annotations

from typing import Any, ClassVar

from benchhub.api.core.json_forms import serializer_of
from benchhub.api.core.views import ReadView, RowSerializer
from benchhub.catalog import models
from benchhub.catalog.instances.clusters.form import OwnInstanceForm
from benchhub.catalog.instances.forms import InstanceForm

from .rows import NAMED, EditView


class Build(RowSerializer):
    class Meta:
        model = models.PgBuild
        fields = ("id", "url", "version", "version_num", "configure_options", "binary_digest")


class Instance(RowSerializer):
    class Meta:
        model = models.Instance
        fields = (
            "id", "url", "name", "host", "build", "configuration", "address", "port", "database", "username",
            "data_directory", "bin_directory", "grant", "restart_command", "pooler", "pooler_address", "pooler_port",
            "pooler_tls", "pooler_hardware", "retired_at",
        )  # fmt: skip


class Builds(ReadView):
    queryset = models.PgBuild.objects.order_by("pk")
    serializer_class = Build
    filterset_fields: ClassVar[Any] = {"version": ["exact", "startswith"], "version_num": ["exact", "gte", "lte"]}


class Instances(EditView):
    queryset = models.Instance.objects.select_related("host", "build", "configuration", "cluster").defer("password")
    serializer_class = Instance
    takes = serializer_of(InstanceForm, "InstanceRequest")
    filterset_fields: ClassVar[Any] = {
        **NAMED, "host": ["exact", "isnull"], "build": ["exact"], "configuration": ["exact"], "retired_at": ["isnull"],
    }  # fmt: skip
    ordering_fields: ClassVar[Any] = ("id", "name")

    def form(self, values: dict[str, Any], instance: Any = None) -> Any:
        if instance and instance.own_cluster:
            return OwnInstanceForm(values, instance=instance)
        return InstanceForm(values, instance=instance or models.Instance(), hosts=self._hosts())

    def blank_form(self, instance: Any = None) -> Any:
        if instance and instance.own_cluster:
            return OwnInstanceForm(instance=instance)
        return InstanceForm(instance=instance or models.Instance(), hosts=self._hosts())

    @staticmethod
    def _hosts() -> list[models.Host]:
        return list(models.Host.objects.defer("private_key").order_by("name"))
