"""The form by which a PostgreSQL is built on a host: one source, and options of configure."""

from __future__ import annotations

import shlex
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction

from benchhub.catalog.models import Host, SourceBuild
from benchhub.catalog.shared.forms import CatalogForm
from runners.builds.recipe import LONGEST_OPTIONS, RELEASES, REPOSITORY, Recipe, options_of, source_refusals

ONE_SOURCE = "Give one source: a release, a commit or tag of git, or a tarball with its SHA-256."
FORBIDDEN_SOURCE = (
    "Only an administrator may have another source built than PostgreSQL's own: whatever it holds is run."
)
AS_ROOT = "BenchHub logs in to {} as root, and PostgreSQL does not run as root: enter another user at the host."
MOST_JOBS = 1024
# Fields that only an administrator fills in.
OWN_SOURCES = ("git_url", "tarball", "sha256")


class SourceBuildForm(CatalogForm):
    """A PostgreSQL to be built on a host. The same source and options on one host are one build, built once."""

    release = forms.CharField(
        max_length=20, required=False, help_text="Its version, for example 17.2; from ftp.postgresql.org."
    )
    git_revision = forms.CharField(
        max_length=80,
        required=False,
        label="Commit or tag",
        help_text="All 40 digits of a commit, or a tag such as REL_17_2; from git.postgresql.org.",
    )
    git_url = forms.CharField(
        max_length=500, required=False, label="Repository", help_text=f"An https:// URL. Left empty: {REPOSITORY}."
    )
    tarball = forms.CharField(
        max_length=300,
        required=False,
        label="Tarball on the host",
        help_text="Its whole path there, for a host that reaches no network.",
    )
    sha256 = forms.CharField(
        max_length=64, required=False, label="SHA-256 of the tarball", help_text="As sha256sum prints it."
    )
    configure_options = forms.CharField(
        max_length=LONGEST_OPTIONS,
        required=False,
        label="Options of configure",
        help_text="For example --without-icu --with-blocksize=16 CFLAGS='-O3 -march=native'; no folders.",
    )
    jobs = forms.IntegerField(
        min_value=0,
        max_value=MOST_JOBS,
        required=False,
        label="Jobs of make at a time",
        help_text="Left empty: as many as the host has CPUs.",
    )

    class Meta:
        model = SourceBuild
        fields = ()

    def __init__(self, *args: Any, host: Host, has_any_source: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.host, self.has_any_source = host, has_any_source
        self.is_anew = False
        if not has_any_source:
            for name in OWN_SOURCES:
                del self.fields[name]

    @property
    def is_of_git(self) -> bool:
        """Tell whether something was typed, or is wrong, among the fields of git, which are folded away otherwise."""
        return self._is_used("git_revision", "git_url")

    @property
    def is_of_tarball(self) -> bool:
        return self._is_used("tarball", "sha256")

    def _is_used(self, *names: str) -> bool:
        there = [name for name in names if name in self.fields]
        return any(self[name].value() or name in self.errors for name in there)

    def clean_configure_options(self) -> tuple[str, ...]:
        try:
            return options_of(self.cleaned_data["configure_options"])
        except ValueError as error:
            raise ValidationError(str(error)) from error

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if "root" in (self.host.username, self.host.facts.get("username")):
            self.add_error(None, AS_ROOT.format(self.host))
        sources = [name for name in ("release", "git_revision", "tarball") if cleaned.get(name)]
        if len(sources) != 1 or (cleaned.get("git_url") and "git_revision" not in sources):
            self.add_error(None, ONE_SOURCE)
        elif not self.errors:
            self._check(self._recipe())
        return cleaned

    def _check(self, recipe: Recipe) -> None:
        fields = {
            "release": {"revision": "release"},
            "git": {"revision": "git_revision", "place": "git_url"},
            "tarball": {"revision": "sha256", "place": "tarball"},
        }[recipe.kind]
        for name, sentence in source_refusals(recipe).items():
            self.add_error(fields[name], sentence)

    def _recipe(self) -> Recipe:
        values = self.cleaned_data
        options = values["configure_options"]
        if values.get("release"):
            return Recipe("release", values["release"], RELEASES, options)
        if values.get("git_revision"):
            return Recipe("git", values["git_revision"], values.get("git_url") or REPOSITORY, options)
        return Recipe("tarball", values["sha256"].lower(), values["tarball"], options)

    @transaction.atomic
    def write(self) -> SourceBuild:
        """Ask for the build; what is built already, or under way, is returned as it is, and `is_anew` is false."""
        recipe = self._recipe()
        values = {
            "kind": recipe.kind,
            "revision": recipe.revision,
            "place": recipe.place,
            "options": list(recipe.options),
            "jobs": self.cleaned_data["jobs"] or 0,
        }
        build, self.is_anew = SourceBuild.objects.get_or_create(host=self.host, digest=recipe.digest, defaults=values)
        if not self.is_anew and build.ask():
            # A tarball may lie elsewhere by now.
            SourceBuild.objects.filter(pk=build.pk).update(place=recipe.place, jobs=values["jobs"])
            self.is_anew = True
        return build


def options_text(build: SourceBuild) -> str:
    """Return the options as a person would type them."""
    return shlex.join(build.options)
