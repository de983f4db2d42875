"""The systems of a plan: the rows that it can choose from, and the form of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from typing import Any

from django import forms

from benchhub.bench.models import System
from benchhub.bench.plan.clients import client_builds
from benchhub.catalog.instances import poolers
from benchhub.catalog.instances.applying import refusals
from benchhub.catalog.instances.clusters.settings import NOT_MADE
from benchhub.catalog.instances.grants import changes, is_own
from benchhub.catalog.models import Cluster, Configuration, Hardware, Host, Instance, Workload

MOST_SYSTEMS = 12
LOOPBACK = ("127.", "::1", "localhost")


class Catalogue:
    """The rows that a plan can choose from, by key as text; each list is one query, however many forms show it."""

    @cached_property
    def workloads(self) -> dict[str, Workload]:
        return _by_key(Workload.objects.current().order_by("name"))

    @cached_property
    def instances(self) -> dict[str, Instance]:
        rows = Instance.objects.current().select_related("host__hardware", "build", "configuration", "cluster")
        return _by_key(rows.order_by("name"))

    @cached_property
    def configurations(self) -> dict[str, Configuration]:
        return _by_key(Configuration.objects.current().order_by("name"))

    @cached_property
    def hardware(self) -> dict[str, Hardware]:
        return _by_key(Hardware.objects.current().order_by("name"))

    @cached_property
    def hosts(self) -> dict[str, Host]:
        return _by_key(Host.objects.exclude(trust=Host.Trust.ELSEWHERE).order_by("name"))

    def clients(self) -> list[tuple[str, str]]:
        """Return (folder, label) of each pgbench that a probe found."""
        versions_by_folder: dict[str, list[str]] = {}
        for host in self.hosts.values():
            for folder, build in client_builds(host).items():
                versions_by_folder.setdefault(folder, []).append(f"{build['pgbench_version']} on {host}")
        return [
            (folder, f"pgbench {', '.join(versions)} ({folder})")
            for folder, versions in sorted(versions_by_folder.items())
        ]


def _by_key(rows: Iterable[Any]) -> dict[str, Any]:
    return {str(row.pk): row for row in rows}


def row_choice(rows: Mapping[str, Any], empty: str, *, required: bool = True, **options: Any) -> forms.TypedChoiceField:
    choices = [("", empty), *((key, str(row)) for key, row in rows.items())]
    return forms.TypedChoiceField(
        choices=choices,
        coerce=partial(row_of, rows),
        empty_value=None,
        required=required,
        error_messages={"required": "Choose one."},
        **options,
    )


class SeveralField(forms.TypedMultipleChoiceField):
    def to_python(self, value: Any) -> list[str]:
        """Return the chosen keys without empty ones."""
        keys: list[str] = super().to_python([key for key in value or [] if key])
        return keys


def row_of(rows: Mapping[str, Any], key: str) -> Any:
    """Return the row of this key. ValueError, which the field reports, if it has gone since the form was shown."""
    if key not in rows:
        raise ValueError(key)
    return rows[key]


class SystemForm(forms.Form):
    """One system under test; all but the instance can be left to what is known of it."""

    label = forms.CharField(
        max_length=160, required=False, label="Label (optional)", help_text="Left empty: the build and the instance."
    )
    path = forms.ChoiceField(
        choices=[("", "guessed from the address"), *System.Path.choices], required=False, label="Connection path"
    )

    def __init__(self, *args: Any, catalogue: Catalogue, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        self.fields["instance"] = row_choice(catalogue.instances, "Choose an instance")
        self.fields["configuration"] = row_choice(
            catalogue.configurations,
            "the instance's own",
            required=False,
            help_text="Applied for each run: on clusters that BenchHub makes, and where a server's owner grants it.",
        )
        self.fields["hardware"] = row_choice(catalogue.hardware, "that of the host", required=False)
        self.fields["driver"] = row_choice(
            catalogue.hosts, "the instance's own host", required=False, label="Driver host"
        )
        self.order_fields(["instance", "configuration", "hardware", "driver", "path", "label"])

    def clean(self) -> dict[str, Any]:
        """Fill in what was left empty; say beside the field what cannot be known."""
        values = self.cleaned_data
        instance = values.get("instance")
        if instance is None:
            return values
        values["driver"] = values.get("driver") or instance.host
        values["hardware"] = values.get("hardware") or (instance.host and instance.host.hardware)
        if values["driver"] is None:
            self.add_error("driver", f"{instance} has no host of its own: choose the host that runs the load.")
        if values["hardware"] is None:
            self.add_error("hardware", f"The hardware of {instance}'s host is not known: choose it.")
        guess = guessed_path(instance, values.get("driver"))
        values["path"] = values.get("path") or guess
        values["configuration"] = values.get("configuration") or instance.configuration
        values["label"] = values.get("label") or usual_label(instance, values, guess)
        for field, sentence in system_refusals(instance, values).items():
            self.add_error(field, sentence)
        return values


def usual_label(instance: Instance, values: Mapping[str, Any], guessed_path: str) -> str:
    """Name a system by what it is alone: every later plan shows the same row under this label."""
    unusual = "" if values["path"] == guessed_path else f", {values['path']}"
    configuration = values["configuration"]
    applied = "" if configuration == instance.configuration else f", {configuration}"
    return f"{instance.build}, {instance}{applied}{unusual}"[:160]


def system_refusals(instance: Instance, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return by field why the instance cannot be run so: its configuration, and how it is driven."""
    problems = _cluster_refusals(instance, values) if instance.own_cluster else _server_refusals(instance, values)
    if sentence := poolers.refusal(instance):
        problems.setdefault("instance", sentence)
    if "instance" not in problems and (sentences := refusals(instance, values["configuration"])):
        problems["configuration"] = sentences
    return problems


def _server_refusals(instance: Instance, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return why somebody's server cannot be driven so: what a run changes is put back from the server's own host."""
    configuration = values["configuration"]
    is_changed = not is_own(instance, configuration) and changes(instance, configuration)
    if not (is_changed and values.get("driver") and values["driver"] != instance.host):
        return {}
    return {"driver": f"Runs change settings of {instance}: {instance.host} itself drives them."}


def _cluster_refusals(instance: Instance, values: Mapping[str, Any]) -> dict[str, Any]:
    cluster = instance.cluster
    problems: dict[str, Any] = {}
    if cluster.made_at is None or cluster.wanted == Cluster.Wanted.REMOVE:
        return {"instance": NOT_MADE}
    if values.get("driver") and values["driver"] != instance.host:
        problems["driver"] = f"{instance} listens on its socket alone: {instance.host} itself drives it."
    if values["path"] != System.Path.SOCKET:
        problems["path"] = f"{instance} listens on its socket alone."
    return problems


def guessed_path(instance: Instance, driver: Host | None) -> str:
    """Guess the path by which the load gets to the server, from its address and that of its pooler."""
    if not poolers.is_on_driver(instance, driver):
        return System.Path.NETWORK
    if instance.address.startswith("/"):
        return System.Path.SOCKET
    is_own = driver is not None and instance.host_id == driver.pk
    own_addresses = {"localhost", driver.address} if driver else {"localhost"}
    if is_own and (instance.address.startswith(LOOPBACK) or instance.address in own_addresses):
        return System.Path.LOOPBACK
    return System.Path.NETWORK


SystemFormSet = forms.formset_factory(
    SystemForm,
    extra=0,
    min_num=1,
    max_num=MOST_SYSTEMS,
    absolute_max=MOST_SYSTEMS + 1,  # so many are made, however many somebody says there are
    validate_min=True,
    validate_max=True,
)
