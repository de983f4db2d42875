"""Hosts on which a user may run, for pages that ask many times: the database answers once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from .models import Permit
from .rights import Role, role


class Hosts:
    """The hosts on which a user may run: `in` takes a host's key, or several; None is no host."""

    def __init__(self, user: Any) -> None:
        self._user = user

    def __contains__(self, key: object) -> bool:
        keys = set(key) if isinstance(key, list | tuple | set) else {key}
        user_role = role(self._user)
        if user_role != Role.RUNNER:
            return user_role == Role.ADMINISTRATOR
        return bool(self._permit and self._permit.is_on_all_hosts) or keys - {None} <= self._keys

    @cached_property
    def _permit(self) -> Permit | None:
        return Permit.objects.filter(user=self._user).first()

    @cached_property
    def _keys(self) -> set[int]:
        return set(self._permit.hosts.values_list("pk", flat=True)) if self._permit else set()
