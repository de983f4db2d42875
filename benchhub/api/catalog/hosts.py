"""Hosts."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework import serializers as drf
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.accounts import rights
from benchhub.api.core import json_forms, problems
from benchhub.api.core.json_forms import serializer_of
from benchhub.api.core.views import RowSerializer
from benchhub.catalog import models
from benchhub.catalog.hosts.forms import HostForm
from benchhub.catalog.hosts.page import fingerprint, install_line, key_stays, withdrawn_text
from benchhub.ui.acts import explain, explain_form

from .rows import NAMED, EditView


class Host(RowSerializer):
    interference_group = serializers.CharField(
        source="interference_group.name", default=None, read_only=True, allow_null=True
    )
    wanted = serializers.CharField(
        read_only=True, help_text="What a worker is asked to look for: key, facts or nothing."
    )
    fingerprint = serializers.SerializerMethodField(help_text="Of the approved key, as ssh-keygen -l prints it.")
    offered_fingerprint = serializers.SerializerMethodField(help_text="Of the key that waits for approval.")
    install_line = serializers.SerializerMethodField(help_text="Shell that lets BenchHub log in there.")

    class Meta:
        model = models.Host
        fields = (
            "id", "url", "name", "address", "port", "username", "hardware", "interference_group", "work_directory",
            "bin_directories", "longest_exclusive_h", "trust", "host_key", "fingerprint", "offered_host_key",
            "offered_fingerprint", "public_key", "install_line", "wanted", "contacted_at", "contact_error",
            "unreachable_since", "paused_at", "pause_reason", "facts_at", "facts",
        )  # fmt: skip

    def get_fingerprint(self, row: models.Host) -> str:
        return fingerprint(row.host_key)

    def get_offered_fingerprint(self, row: models.Host) -> str:
        return fingerprint(row.offered_host_key)

    def get_install_line(self, row: models.Host) -> str:
        return install_line(row)


KEY = inline_serializer("HostKey", {"key": drf.CharField(max_length=4000, help_text="The offered key that you saw.")})


class Hosts(EditView):
    queryset = models.Host.objects.select_related("hardware", "interference_group").defer("private_key")
    serializer_class = Host
    form_class = HostForm
    takes = serializer_of(HostForm, "HostRequest")
    filterset_fields: ClassVar[Any] = {**NAMED, "trust": ["exact"], "hardware": ["exact"], "facts_at": ["isnull"]}
    ordering_fields: ClassVar[Any] = ("id", "name")
    search_fields = ("name", "address")
    scopes: ClassVar[dict[str, str]] = dict.fromkeys(("probe", "pause", "resume"), "run")
    retire = show_again = None  # a host is deleted, or stays

    def created_answer(self, row: Any) -> Response:
        row.ask(models.Host.Wanted.KEY)
        return super().created_answer(row)

    def save(self, values: dict[str, Any], instance: Any = None) -> Any:
        form = self.form(values, instance)
        row = json_forms.save_form(form)
        explain_form(self.request, form)
        if instance and form.is_moved:
            row.ask(models.Host.Wanted.KEY)
        return row

    @extend_schema(request=None, responses={202: Host})
    @action(detail=True, methods=["post"])
    def look(self, request: Request, pk: str) -> Response:
        """Ask for the key that the host offers now."""
        return self._accepted_visit(models.Host.Wanted.KEY)

    @extend_schema(request=None, responses={202: Host})
    @action(detail=True, methods=["post"])
    def probe(self, request: Request, pk: str) -> Response:
        """Read what the machine is and which PostgreSQL it has."""
        row = self._permitted()
        if row.trust != models.Host.Trust.PINNED:
            raise problems.Problem(409, f"Nothing is sent to {row} before its key is approved.")
        return self._accepted_visit(models.Host.Wanted.FACTS)

    @extend_schema(request=KEY)
    @action(detail=True, methods=["post"])
    def approve(self, request: Request, pk: str) -> Response:
        """Pin the offered key, if it is still the one that was seen. In place of another one it ends grants there."""
        row, sent = self.get_object(), json_forms.checked(type(KEY), request.data)
        approval = row.approve(sent["key"])
        if approval is None:
            raise problems.Problem(409, "The host offers another key than this one: compare again.")
        explain(request, f"host key of {row}: {sent['key']}")
        explain(request, withdrawn_text(approval))
        return self.edited_answer(row)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"], url_path="new-key")
    def new_key(self, request: Request, pk: str) -> Response:
        """Replace BenchHub's own key pair for the host. Refused while a run is under way there."""
        row = self.get_object()
        if runs := row.replace_key_pair():
            raise problems.Problem(409, key_stays(runs))
        explain(request, f"new key pair for {row}")
        return self.edited_answer(row)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, pk: str) -> Response:
        """Let no further run start there."""
        row = self._permitted()
        row.pause()
        return self.edited_answer(row)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, pk: str) -> Response:
        row = self._permitted()
        row.resume()
        return self.edited_answer(row)

    def _permitted(self) -> models.Host:
        row: models.Host = self.get_object()
        if rights.denied_hosts(self.request.user, [row.pk]):
            raise problems.Problem(403, f"You have no permit to run on {row}.")
        return row

    def _accepted_visit(self, purpose: str) -> Response:
        row = self.get_object()
        row.ask(purpose)
        return self.accepted_answer(row)
