from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

from django import forms
from django.db import transaction
from django.db.models import Q

from benchhub.analysis.words import listing
from benchhub.catalog.hosts.page import server_builds
from benchhub.catalog.models import Configuration, Hardware, Host, Inspection, Instance, PgBuild
from benchhub.catalog.shared.forms import ABSOLUTE, NO_BLANKS, CatalogForm, offer, offer_rows, port_field
from benchhub.celery import wake

from .clusters.settings import unfinished_runs

MANAGED = "managed"
LOG_IN = frozenset({"server", "address", "port", "database", "username", "password", "has_no_password"})
POOLER_PORT = 6432
GRANT = ("grant", "restart_command")
WHERE_A_PASSWORD_GOES = ("address", "port", "username")
POOLER = ("pooler", "pooler_address", "pooler_port", "pooler_tls")
FOLDED = (*POOLER, "pooler_hardware")
NAMED = 3
# What runs were planned with and go on using: see RunSpec.
WHERE_RUNS_GO = ("address", "port", "database", "username", "server")
MOVED = "Type the password: the stored one belongs to the server and user as they were, and is sent to no other."
KEPT_PASSWORD = (
    "Never shown. Empty keeps the one that is stored, unless the server, its address, port, user or pooler changes."
)
MOVED_GRANT = "It was granted for the server as it was: choose no, save and test it, then grant it anew."
NO_HOST = "The host of a managed server cannot be reached, and what a run changes is put back from there: choose no."
COMMAND_WORD = re.compile(r"[A-Za-z0-9@%+=:,./_-]+")
SUDO = "sudo"
Choices = list[tuple[str, Any]]


def managed_build(version: str) -> PgBuild:
    """Return the build of a managed server: its program cannot be read, so its version identifies it.

    A host may claim that digest for a build of another version: theirs is another one.
    """
    digest = hashlib.sha256(f"managed PostgreSQL {version}".encode()).hexdigest()
    defaults = {"version_num": version_num(version)}
    return PgBuild.objects.get_or_create(binary_digest=digest, version=version, defaults=defaults)[0]


def version_num(version: str) -> int:
    """Return a version as PostgreSQL counts: 160004 for 16.4, 90624 for 9.6.24, 180000 for 18beta1."""
    numbers = re.match(r"[0-9.]*", version)
    first, second, third = (int(part) for part in [*(numbers[0] if numbers else "").split("."), "0", "0"][:3])
    return first * 10000 + second if first >= 10 else first * 10000 + second * 100 + third


def server_choices(hosts: Iterable[Host]) -> Choices:
    """Return a group for each host with the servers that its probe found, as 'host:bin directory'."""
    choices: Choices = [(host.name, [_choice(host, build) for build in server_builds(host)]) for host in hosts]
    return [group for group in choices if group[1]]


def _choice(host: Host, build: dict[str, Any]) -> tuple[str, str]:
    folder = build["bin_directory"]
    return f"{host.pk}:{folder}", f"PostgreSQL {build['version']} in {folder}"


class InstanceForm(CatalogForm):
    server = forms.ChoiceField(
        choices=(),
        help_text="The programs that probes found, by host. Is one missing? Probe its host, then come back.",
    )
    version = forms.RegexField(
        re.compile(r"\A\d{1,2}(\.\d{1,3}){1,2}\Z", re.ASCII),
        required=False,
        max_length=20,
        label="Version of a managed server",
        help_text="As SELECT version() says it, for example 16.4. Nobody can look at the programs of a managed "
        "server, so two of the same version count as the same build.",
        error_messages={"invalid": "Write the numbers only: 16.4."},
    )
    address = forms.CharField(
        max_length=253,
        validators=[NO_BLANKS],
        widget=forms.TextInput(attrs={"list": "addresses"}),
        help_text="As the load generator's host reaches it: a name, an IP address, or the directory of a socket.",
    )
    port = port_field(5432, offers="ports")
    database = forms.CharField(
        max_length=63,
        widget=forms.TextInput(attrs={"list": "databases"}),
        help_text="One for benchmarks alone: pgbench replaces its own tables there. Those that a probe or a test "
        "saw are offered.",
    )
    username = forms.CharField(max_length=63, label="User", help_text="A role that may create tables there.")
    password = forms.CharField(
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="Stored encrypted and never shown again.",
    )
    has_no_password = forms.BooleanField(
        required=False, label="The server asks for no password", help_text="A stored one is forgotten."
    )
    data_directory = forms.CharField(max_length=300, required=False, validators=[ABSOLUTE])
    grant = forms.ChoiceField(
        choices=Instance.Grant.choices,
        required=False,
        label="May runs change its settings",
        help_text="A run sets those of its configuration by ALTER SYSTEM, for all who use the server, and puts back "
        "what was there before, however it ends. A reload ends no session. A restart ends all: each run begins with "
        "one, and most end with another. The role must be a superuser.",
    )
    restart_command = forms.CharField(
        max_length=300,
        required=False,
        label="Command that restarts it",
        help_text="As the account that BenchHub logs in with would type it: sudo systemctl restart "
        "postgresql@16-main, or /usr/lib/postgresql/16/bin/pg_ctl -D ... -l ... -w restart. No shell reads it.",
    )
    pooler = forms.ChoiceField(
        choices=Instance.Pooler.choices,
        required=False,
        label="Pooler in front of it",
        help_text="Loads go through it, all else to the server itself. It takes the same database, user and password. "
        "How it pools is read from its console where the user is among its stats_users.",
    )
    pooler_address = forms.CharField(
        max_length=253,
        required=False,
        validators=[NO_BLANKS],
        label="Address of the pooler",
        help_text="As the load generator's host reaches it.",
    )
    pooler_port = forms.IntegerField(
        min_value=1, max_value=65535, initial=POOLER_PORT, required=False, label="Port of the pooler"
    )
    pooler_tls = forms.ChoiceField(
        choices=Instance.PoolerTls.choices,
        required=False,
        label="TLS to the pooler",
        help_text="Between the load generator and the pooler: to the server it connects as the pooler is configured.",
    )
    pooler_hardware = forms.ModelChoiceField(
        Hardware.objects.none(),
        required=False,
        empty_label="none: it shares one with the server or the driver",
        label="Machine of the pooler",
        help_text="Only one that is bought for it: prices of its systems count it.",
    )
    configuration = forms.ModelChoiceField(
        Configuration.objects.none(),
        empty_label="choose",
        help_text="The settings that it is meant to have; each run says where it found others.",
    )

    class Meta:
        model = Instance
        fields = (
            "name", "configuration", "address", "port", "database", "username", "data_directory", "grant",
            "restart_command", *FOLDED,
        )  # fmt: skip
        error_messages = {"name": {"unique": "There is already an instance of this name: choose another one."}}

    field_order = (
        "name", "server", "version", "configuration", "address", "port", "database", "username", "password",
        "has_no_password",
    )  # fmt: skip

    def __init__(self, *args: Any, hosts: Iterable[Host], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.is_new = self.instance.pk is None
        machines = Q(retired_at=None) | Q(pk=self.instance.pooler_hardware_id)
        offer_rows(self, "pooler_hardware", Hardware.objects.filter(machines).order_by("name"))
        self.hosts = {host.pk: host for host in hosts}
        choices = [*server_choices(self.hosts.values()), (MANAGED, "A managed server: its host cannot be reached")]
        offer(self, "server", [("", "choose"), *self._as_before(choices), *choices])
        present = Q(retired_at=None) | Q(pk=self.instance.configuration_id)
        offer_rows(self, "configuration", Configuration.objects.filter(present).order_by("name"))
        if self.instance.pk:
            self.initial["server"] = self._stored_server
            self.fields["password"].help_text = KEPT_PASSWORD
            if self._stored_server == MANAGED:
                self.initial["version"] = self.instance.build.version

    @property
    def open_fields(self) -> list[forms.BoundField]:
        """Return the fields that are not folded away."""
        return [field for field in self.visible_fields() if field.name not in FOLDED]

    @property
    def pooler_fields(self) -> list[forms.BoundField]:
        """Return the fields of the pooler, which are folded away where there is none."""
        return [self[name] for name in FOLDED]

    @property
    def has_pooler(self) -> bool:
        """Tell whether a pooler is typed or stored, or something is wrong among its fields."""
        return bool(self["pooler"].value()) or not {*FOLDED}.isdisjoint(self.errors)

    @property
    def _stored_server(self) -> str:
        return f"{self.instance.host_id}:{self.instance.bin_directory}" if self.instance.host_id else MANAGED

    def _as_before(self, choices: Choices) -> Choices:
        """Offer the instance's own programs, although no probe finds them any more."""
        values = {value for _, group in choices if isinstance(group, list) for value, _ in group}
        if not self.instance.pk or self._stored_server in (*values, MANAGED):
            return []
        instance = self.instance
        place = f" in {instance.bin_directory}" if instance.bin_directory else ""
        return [(self._stored_server, f"{instance.host}: {instance.build}{place}, as before")]

    def full_clean(self) -> None:
        super().full_clean()
        if self.is_bound and self.errors and self.data.get(self.add_prefix("password")):
            self.add_error("password", "Type the password again: it is not sent back to this page.")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if cleaned.get("server") == MANAGED and not cleaned.get("version") and "version" not in self.errors:
            self.add_error("version", "Say which version the managed server has.")
        self._refuse_to_take_the_password_along()
        self._refuse_to_leave_runs_behind()
        self._refuse_grant()
        self._refuse_pooler_without_address()
        return cleaned

    def clean_pooler_port(self) -> int:
        return self.cleaned_data["pooler_port"] or POOLER_PORT

    def clean_grant(self) -> str:
        return self.cleaned_data["grant"] or Instance.Grant.NONE

    def clean_restart_command(self) -> str:
        """Return the words of the command, by sudo without a question. No shell reads them."""
        words = self.cleaned_data["restart_command"].split()
        if not words:
            return ""
        if not all(map(COMMAND_WORD.fullmatch, words)):
            raise forms.ValidationError("Write words of letters, digits and @%+=:,./_- alone: no shell reads them.")
        if words[0] != SUDO and not words[0].startswith("/"):
            raise forms.ValidationError("Begin with the whole path of a program, or with sudo.")
        return " ".join([SUDO, "-n", *words[1:]] if words[0] == SUDO and "-n" not in words[1:2] else words)

    def _refuse_grant(self) -> None:
        """Refuse a grant that cannot be carried out, or that was given for another server."""
        grant, is_managed = self.cleaned_data.get("grant"), self.cleaned_data.get("server") == MANAGED
        if grant in (None, Instance.Grant.NONE):
            return
        if is_managed:
            self.add_error("grant", NO_HOST)
        elif not self.is_new and self.initial.get("grant") != Instance.Grant.NONE and self.is_moved:
            self.add_error("grant", MOVED_GRANT)
        is_restart = grant == Instance.Grant.RESTART and "restart_command" not in self.errors
        if is_restart and not self.cleaned_data.get("restart_command"):
            self.add_error("restart_command", "Write the command by which it is restarted, or grant a reload alone.")

    def _refuse_pooler_without_address(self) -> None:
        has_address = self.cleaned_data.get("pooler_address") or "pooler_address" in self.errors
        if self.cleaned_data.get("pooler") and not has_address:
            self.add_error("pooler_address", "Write where the driver reaches the pooler, or choose none.")

    def _refuse_to_leave_runs_behind(self) -> None:
        """Refuse to move the instance under runs that were planned with the place where it is now."""
        moved = [name for name in WHERE_RUNS_GO if name in self.changed_data and name not in self.errors]
        moved += ["pooler"] if self.is_pooler_moved and not self.errors else []
        if moved and (keys := unfinished_runs(self.instance, NAMED + 1)):
            runs = listing([*(f"run {key}" for key in keys[:NAMED]), *(["more"] if len(keys) > NAMED else [])])
            self.add_error(moved[0], f"{runs.capitalize()} would go to where it is now: wait for their end, or cancel.")

    def _refuse_to_take_the_password_along(self) -> None:
        """Refuse to send a stored password to another server than the one that it was typed for."""
        password, is_forgotten = self.cleaned_data.get("password"), self.cleaned_data.get("has_no_password")
        if password and is_forgotten:
            self.add_error("has_no_password", "Clear this, or the password.")
        elif password or is_forgotten or not self.instance.has_password():
            return
        elif self.is_moved or (self.is_pooler_moved and self.cleaned_data.get("pooler")):
            self.add_error("password", MOVED)

    @property
    def is_moved(self) -> bool:
        """Tell whether it is another server, or another user of it, than the one that is stored."""
        before, after = self._stored_server.split(":")[0], self.cleaned_data.get("server", "").split(":")[0]
        return before != after or any(name in self.changed_data for name in WHERE_A_PASSWORD_GOES)

    @property
    def is_pooler_moved(self) -> bool:
        """Tell whether loads go another way than before: through another pooler, or through none."""
        before, after = (
            [values.get(name) for name in POOLER] if values.get("pooler") else []
            for values in (self.initial, self.cleaned_data)
        )
        return before != after

    def save(self, commit: bool = True) -> Instance:
        instance: Instance = self.instance
        server = self.cleaned_data["server"]
        if server == MANAGED:
            instance.host, instance.bin_directory = None, ""
            instance.build = managed_build(self.cleaned_data["version"])
        else:
            self._take_build(*server.split(":", 1))
        password = self.cleaned_data["password"]
        if password or self.cleaned_data["has_no_password"]:
            instance.password = password
        super().save(commit)
        if self.has_another_log_in:
            self._test_at_once()
        return instance

    @property
    def has_another_log_in(self) -> bool:
        """Tell whether another log-in than before is stored now, which may fail where that one did not."""
        is_moved = not LOG_IN.isdisjoint(self.changed_data) or self.is_pooler_moved
        return self.is_new or is_moved or self.has_another_grant

    @property
    def has_another_grant(self) -> bool:
        return any(self.cleaned_data.get(name) != self.initial.get(name) for name in GRANT)

    def _test_at_once(self) -> None:
        """Have its driver log in, where there is no choice of one. What an earlier test saw was another server."""
        Inspection.objects.filter(instance=self.instance).delete()
        if driver := self._only_driver():
            Inspection.ask(self.instance, driver)
            transaction.on_commit(wake)

    def _only_driver(self) -> Host | None:
        """Return its host, or the only one that there is; none that nobody may log in to."""
        pinned = Host.objects.filter(trust=Host.Trust.PINNED)
        if self.instance.host:
            return pinned.filter(pk=self.instance.host.pk).first()
        hosts = list(pinned[:2])
        return hosts[0] if len(hosts) == 1 else None

    def _take_build(self, host_id: str, folder: str) -> None:
        """Take the build as the last probe found it; one that no probe finds any more stays as it is stored."""
        host = self.hosts.get(int(host_id))
        build_by_folder = {build["bin_directory"]: build for build in server_builds(host)} if host else {}
        if folder in build_by_folder:
            self.instance.host, self.instance.bin_directory = host, folder
            self.instance.build = PgBuild.from_facts(build_by_folder[folder])
