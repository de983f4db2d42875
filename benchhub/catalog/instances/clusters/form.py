"""The forms of a cluster of BenchHub's own: to have it made, and to rename it later."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from django import forms
from django.db import transaction
from django.utils.text import slugify

from benchhub.catalog.hosts.page import server_builds
from benchhub.catalog.models import Cluster, Configuration, Host, Instance, PgBuild
from benchhub.catalog.shared.forms import CatalogForm, offer, offer_rows

from .settings import OLDEST, refusals

AS_FOUND = "As found"
DATABASE = "bench"
LONGEST_FOLDER = 85  # and the name of a socket: a path of one has at most 107 bytes
FOLDER = re.compile(r"/[A-Za-z0-9._/-]+")
AS_ROOT = "BenchHub logs in to {} as root, and PostgreSQL does not run as root: enter another user at the host."


class ClusterForm(CatalogForm):
    """A new cluster on a host, and the instance that it is. Saving it asks a worker to make it."""

    name = forms.CharField(max_length=120, help_text="Plans and results call it so.")
    build = forms.ChoiceField(choices=(), label="PostgreSQL", help_text="The programs that the last probe found.")
    configuration = forms.ModelChoiceField(
        Configuration.objects.none(),
        empty_label="choose",
        help_text="Its own settings; a plan may choose others for each of its systems.",
    )
    folder = forms.CharField(
        max_length=LONGEST_FOLDER,
        required=False,
        help_text="Absolute, new or empty, for example on another disk. Left empty: below the host's work directory.",
    )

    class Meta:
        model = Cluster
        fields = ("folder", "has_checksums", "wal_segment_mib", "encoding", "locale")
        labels = {"has_checksums": "Data checksums", "wal_segment_mib": "Size of a WAL segment"}

    field_order = ("name", "build", "configuration", "folder")

    def __init__(self, *args: Any, host: Host, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.host = host
        self.builds = {build["bin_directory"]: build for build in server_builds(host) if build["version_num"] >= OLDEST}
        choices = [(folder, f"PostgreSQL {build['version']} in {folder}") for folder, build in self.builds.items()]
        offer(self, "build", [("", "choose"), *choices])
        current = Configuration.objects.current().order_by("name")
        offer_rows(self, "configuration", current)
        as_found = next((row.pk for row in current if row.name == AS_FOUND), None)
        self.initial = {"build": next(iter(self.builds), ""), "configuration": as_found, **self.initial}

    @property
    def is_unusual(self) -> bool:
        """Tell whether something that is folded away was changed, or is wrong."""
        return bool({*(self._meta.fields or ())} & {*self.errors, *(self.changed_data if self.is_bound else ())})

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if Instance.objects.filter(name=name).exists():
            raise forms.ValidationError("There is already an instance of this name: choose another one.")
        return name

    def clean_folder(self) -> str:
        folder: str = self.cleaned_data["folder"]
        if not folder:
            return ""
        if not FOLDER.fullmatch(folder) or posixpath.normpath(folder) != folder or folder.count("/") < 2:
            raise forms.ValidationError(
                "Write the whole path, two folders deep or more, of letters, digits, dots, hyphens and underscores."
            )
        taken = Instance.objects.filter(host=self.host, data_directory__in=(folder, f"{folder}/data"))
        if taken.exists() or Cluster.objects.filter(instance__host=self.host, folder=folder).exists():
            raise forms.ValidationError("An instance lies there already: choose another folder.")
        return folder

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if "root" in (self.host.username, self.host.facts.get("username")):
            self.add_error(None, AS_ROOT.format(self.host))
        if not self.errors and (sentences := self._refusals(cleaned)):
            self.add_error("configuration", sentences)
        return cleaned

    def _refusals(self, cleaned: dict[str, Any]) -> list[str]:
        """Return what the configuration asks for in vain, where a cluster of the same build was made there before."""
        build = self.builds[cleaned["build"]]
        builds = PgBuild.objects.filter(binary_digest=build["postgres_sha256"], version=build["version"])
        rows = Cluster.objects.select_related("instance__host", "instance__build", "server_parameters")
        earlier = rows.filter(server_parameters__isnull=False, instance__host=self.host, instance__build__in=builds)
        if (twin := earlier.order_by("-pk").first()) is None:
            return []
        twin.wal_segment_mib = cleaned["wal_segment_mib"]
        return refusals(twin, cleaned["configuration"])

    @transaction.atomic
    def save(self, commit: bool = True) -> Cluster:
        cluster: Cluster = super().save(commit=False)
        values = self.cleaned_data
        cluster.instance = Instance.objects.create(
            name=values["name"],
            host=self.host,
            build=PgBuild.from_facts(self.builds[values["build"]]),
            configuration=values["configuration"],
            database=DATABASE,
            username=self.host.username,
            bin_directory=values["build"],
        )
        cluster.folder = values["folder"] or f"clusters/{slugify(values['name'])[:24]}-{cluster.mark[:6]}"
        if commit:
            cluster.save()
        return cluster


class OwnInstanceForm(CatalogForm):
    """The instance of a cluster of BenchHub's own: where it lies and what it runs is BenchHub's to know."""

    configuration = forms.ModelChoiceField(
        Configuration.objects.none(), help_text="Its own settings; a plan may choose others for each of its systems."
    )

    class Meta:
        model = Instance
        fields = ("name", "configuration")
        error_messages = {"name": {"unique": "There is already an instance of this name: choose another one."}}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        current = Configuration.objects.current() | Configuration.objects.filter(pk=self.instance.configuration_id)
        offer_rows(self, "configuration", current.order_by("name"))

    def clean_configuration(self) -> Configuration:
        configuration: Configuration = self.cleaned_data["configuration"]
        cluster = self.instance.own_cluster
        if cluster and cluster.made_at and (sentences := refusals(cluster, configuration)):
            raise forms.ValidationError(sentences)
        return configuration
