"""Roles and permits: the one place that says whether a user may do something."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from functools import cached_property
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.db import models

from .models import Permit


class Role(models.IntegerChoices):
    """Each may do what those before it may. The groups of Django's accounts carry the names."""

    VIEWER = 1, "viewer"
    RUNNER = 2, "runner"
    ADMINISTRATOR = 3, "administrator"


MEANING = {
    Role.VIEWER: "sees everything and changes nothing",
    Role.RUNNER: "also plans, runs and cancels on the hosts of the permit, and imports results",
    Role.ADMINISTRATOR: "also edits hosts, the catalogue and accounts, and runs everywhere",
}
# Custom scripts reach servers as they are written: no role brings this right. Superusers have every right.
WRITE_SCRIPTS = "catalog.write_scripts"


def role(user: Any) -> Role:
    """Return the highest role of the user's groups; an account without any is a viewer's."""
    if user.is_superuser:
        return Role.ADMINISTRATOR
    if not hasattr(user, "_role"):
        names = set(user.groups.values_list("name", flat=True))
        user._role = highest(names)
    highest_role: Role = user._role
    return highest_role


def highest(groups: Collection[str]) -> Role:
    """Return the highest role that these groups name."""
    return max((role for role in Role if role.label in groups), default=Role.VIEWER)


def give_role(user: Any, new_role: Role) -> None:
    user.groups.remove(*Group.objects.filter(name__in=Role.labels))
    user.groups.add(Group.objects.get_or_create(name=new_role.label)[0])
    user._role = new_role


def is_at_least(user: Any, least: Role) -> bool:
    return role(user) >= least


def let_write_scripts(user: Any, may: bool) -> None:
    app, codename = WRITE_SCRIPTS.split(".")
    right = Permission.objects.get(content_type__app_label=app, codename=codename)
    (user.user_permissions.add if may else user.user_permissions.remove)(right)


def script_writers() -> set[int]:
    """Return the keys of the accounts that have the right, also of those that may not sign in now."""
    manager: Any = get_user_model().objects
    return set(manager.with_perm(WRITE_SCRIPTS, is_active=None).values_list("pk", flat=True))


def denied_hosts(user: Any, hosts: Iterable[int | None]) -> set[int]:
    """Return the keys of the given hosts on which the user may not run; None stands for no host."""
    keys = {key for key in hosts if key is not None}
    if not keys or role(user) == Role.ADMINISTRATOR:
        return set()
    if role(user) == Role.VIEWER:
        return keys
    permit = Permit.objects.filter(user=user).first()
    if permit is None or permit.is_on_all_hosts:
        return set() if permit else keys
    return keys - set(permit.hosts.filter(pk__in=keys).values_list("pk", flat=True))


class Hosts:
    """The hosts on which a user may run, read once: `in` takes a host's key, or several; None is no host."""

    def __init__(self, user: Any) -> None:
        self._user = user

    def __contains__(self, key: object) -> bool:
        keys = set(key) if isinstance(key, list | tuple | set) else {key}
        user_role = role(self._user)
        if user_role != Role.RUNNER:
            return user_role == Role.ADMINISTRATOR
        return bool(self._permit and self._permit.is_on_all_hosts) or keys - {None} <= self._keys

    @property
    def rights(self) -> Hashable:
        """Return a value that is the same for all who may do the same on the same hosts."""
        user_role = role(self._user)
        if user_role != Role.RUNNER:
            return user_role
        return user_role, bool(self._permit and self._permit.is_on_all_hosts), frozenset(self._keys)

    @cached_property
    def _permit(self) -> Permit | None:
        return Permit.objects.filter(user=self._user).first()

    @cached_property
    def _keys(self) -> set[int]:
        return set(self._permit.hosts.values_list("pk", flat=True)) if self._permit else set()
