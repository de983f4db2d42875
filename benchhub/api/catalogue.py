"""The catalogue: what is tested, on what, at what price. Everything is written by the forms of its pages."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import ProtectedError
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers as drf
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.accounts import rights
from benchhub.catalog import models
from benchhub.catalog.hardware import forms as hardware_forms
from benchhub.catalog.hosts import forms as hosts_forms
from benchhub.catalog.instances import forms as instances_forms
from benchhub.catalog.shared import retire as shared_retire
from benchhub.catalog.shared.citations import citations
from benchhub.catalog.workloads import configuration_form

from . import serializers
from .core import json_forms, problems
from .core.json_forms import serializer_of
from .core.views import Added, Read

NAMED = {"name": ["exact", "icontains"]}
BY_REVISION = {**NAMED, "revision": ["exact"], "retired_at": ["isnull"]}
KEY = inline_serializer("HostKey", {"key": drf.CharField(max_length=4000, help_text="The offered key that you saw.")})


class Retired(Added):
    """Rows that are retired instead of deleted, and shown again."""

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def retire(self, request: Request, pk: str) -> Response:
        row = self.get_object()
        if users := shared_retire.users_of(row):
            raise problems.Problem(409, f"{row} is in use: change {', '.join(users)} first.")
        self.get_queryset().filter(pk=row.pk).retire()
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"], url_path="show-again")
    def show_again(self, request: Request, pk: str) -> Response:
        row = self.get_object()
        if not self.get_queryset().filter(pk=row.pk).show_again():
            raise problems.Problem(409, f"{row} has a newer revision: that one can be shown again.")
        return Response(self.get_serializer(self.get_object()).data)


class Revised(Retired):
    """Rows that results cite: a change is a new revision, answered with its own address."""

    filterset_fields: ClassVar[Any] = BY_REVISION
    ordering_fields: ClassVar[Any] = ("id", "name")

    @action(detail=True, methods=["post"])
    def revise(self, request: Request, pk: str) -> Response:
        row = self.get_object()
        self.require_unchanged(row)
        return self.added(self.save(self.changed_values(row, request), row))


class Edited(Retired):
    """Rows that are edited in place, and deleted while nothing cites them."""

    filterset_fields: ClassVar[Any] = NAMED

    def partial_update(self, request: Request, pk: str) -> Response:
        row = self.get_object()
        self.require_unchanged(row)
        return self.edited(self.save(self.changed_values(row, request), row))

    def edited(self, row: Any) -> Response:
        return Response(self.get_serializer(self.get_queryset().get(pk=row.pk)).data)

    def destroy(self, request: Request, pk: str) -> Response:
        row = self.get_object()
        self.require_unchanged(row)
        if not citations(row) and _deleted(row):
            return Response(status=204)
        raise problems.Problem(409, f"{row} stays, because results or plans need it: {', '.join(citations(row))}.")


def _deleted(row: Any) -> bool:
    """False where a result or a plan has come to cite the row since it was asked."""
    try:
        row.delete()
    except ProtectedError:
        return False
    return True


class Hosts(Edited):
    queryset = models.Host.objects.select_related("hardware", "interference_group").defer("private_key")
    serializer_class = serializers.Host
    form_class = hosts_forms.HostForm
    takes = serializer_of(hosts_forms.HostForm, "HostRequest")
    filterset_fields: ClassVar[Any] = {**NAMED, "trust": ["exact"], "hardware": ["exact"], "facts_at": ["isnull"]}
    ordering_fields: ClassVar[Any] = ("id", "name")
    search_fields = ("name", "address")
    scopes: ClassVar[dict[str, str]] = dict.fromkeys(("probe", "pause", "resume"), "run")
    retire = show_again = None  # a host is deleted, or stays

    def added(self, row: Any) -> Response:
        self._ask(row, models.Host.Wanted.KEY)
        return super().added(row)

    def save(self, values: dict[str, Any], instance: Any = None) -> Any:
        form = self.form(values, instance)
        row = json_forms.saved(form)
        if instance and form.moved:
            self._ask(row, models.Host.Wanted.KEY)
        return row

    @extend_schema(request=None, responses={202: serializers.Host})
    @action(detail=True, methods=["post"])
    def look(self, request: Request, pk: str) -> Response:
        """Ask for the key that the host offers now."""
        return self._asked(models.Host.Wanted.KEY)

    @extend_schema(request=None, responses={202: serializers.Host})
    @action(detail=True, methods=["post"])
    def probe(self, request: Request, pk: str) -> Response:
        """Read what the machine is and which PostgreSQL it has."""
        row = self._permitted()
        if row.trust != models.Host.Trust.PINNED:
            raise problems.Problem(409, f"Nothing is sent to {row} before its key is approved.")
        return self._asked(models.Host.Wanted.FACTS)

    @extend_schema(request=KEY)
    @action(detail=True, methods=["post"])
    def approve(self, request: Request, pk: str) -> Response:
        """Pin the offered key, if it is still the one that was seen."""
        row, sent = self.get_object(), json_forms.checked(type(KEY), request.data)
        if not row.approve(sent["key"]):
            raise problems.Problem(409, "The host offers another key than this one: compare again.")
        return self.edited(row)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, pk: str) -> Response:
        """Let no further run start there."""
        row = self._permitted()
        row.pause()
        return self.edited(row)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, pk: str) -> Response:
        row = self._permitted()
        row.resume()
        return self.edited(row)

    def _permitted(self) -> models.Host:
        row: models.Host = self.get_object()
        if rights.denied_hosts(self.request.user, [row.pk]):
            raise problems.Problem(403, f"You have no permit to run on {row}.")
        return row

    def _asked(self, wanted: str) -> Response:
        row = self.get_object()
        self._ask(row, wanted)
        return self.accepted(row)

    @staticmethod
    def _ask(row: models.Host, wanted: str) -> None:
        row.ask(wanted)


class Builds(Read):
    queryset = models.PgBuild.objects.order_by("pk")
    serializer_class = serializers.Build
    filterset_fields: ClassVar[Any] = {"version": ["exact", "startswith"], "version_num": ["exact", "gte", "lte"]}


class Instances(Edited):
    queryset = models.Instance.objects.select_related("host", "build", "configuration").defer("password")
    serializer_class = serializers.Instance
    takes = serializer_of(instances_forms.InstanceForm, "InstanceRequest")
    filterset_fields: ClassVar[Any] = {
        **NAMED, "host": ["exact", "isnull"], "build": ["exact"], "configuration": ["exact"], "retired_at": ["isnull"],
    }  # fmt: skip
    ordering_fields: ClassVar[Any] = ("id", "name")

    def form(self, values: dict[str, Any], instance: Any = None) -> Any:
        return instances_forms.InstanceForm(values, instance=instance or models.Instance(), hosts=self._hosts())

    def blank(self, instance: Any = None) -> Any:
        return instances_forms.InstanceForm(instance=instance or models.Instance(), hosts=self._hosts())

    @staticmethod
    def _hosts() -> list[models.Host]:
        return list(models.Host.objects.defer("private_key").order_by("name"))


class Hardware(Revised):
    queryset = models.Hardware.objects.order_by("pk")
    serializer_class = serializers.Hardware
    form_class = hardware_forms.HardwareForm
    takes = serializer_of(hardware_forms.HardwareForm, "HardwareRequest")


class Configurations(Revised):
    queryset = models.Configuration.objects.order_by("pk")
    serializer_class = serializers.Configuration
    form_class = configuration_form.ConfigurationForm
    takes = serializer_of(configuration_form.ConfigurationForm, "ConfigurationRequest")


class Prices(Added):
    """List prices are added and never changed."""

    queryset = models.ListPrice.objects.order_by("pk")
    serializer_class = serializers.Price
    form_class = hardware_forms.PriceForm
    takes = serializer_of(hardware_forms.PriceForm, "PriceRequest")
    filterset_fields: ClassVar[Any] = {
        "hardware": ["exact"], "licence_model": ["exact"], "currency": ["exact"], "priced_on": ["exact", "gte", "lte"],
    }  # fmt: skip
    ordering_fields: ClassVar[Any] = ("id", "priced_on", "amount")
    search_fields = ("description", "source", "part_number")


class Rates(Added):
    """Exchange rates are added and never changed."""

    queryset = models.ExchangeRate.objects.order_by("pk")
    serializer_class = serializers.Rate
    form_class = hardware_forms.RateForm
    takes = serializer_of(hardware_forms.RateForm, "RateRequest")
    filterset_fields: ClassVar[Any] = {
        "base": ["exact"], "quoted": ["exact"], "priced_on": ["exact", "gte", "lte"],
    }  # fmt: skip
    ordering_fields: ClassVar[Any] = ("id", "priced_on")
