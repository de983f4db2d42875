"""On which hosts a user may run, asked by pages: many times for one answer of the database."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from .models import Permit
from .rights import Role, role


class Hosts:
    """`in` takes a host's key, or several; None is no host."""

    def __init__(self, user: Any) -> None:
        self._user = user

    def __contains__(self, host: object) -> bool:
        keys = set(host) if isinstance(host, list | tuple | set) else {host}
        user_role = role(self._user)
        return user_role == Role.ADMINISTRATOR or (user_role == Role.RUNNER and self._covers(keys - {None}))

    def _covers(self, keys: set[Any]) -> bool:
        return bool(self._permit and self._permit.is_on_all_hosts) or keys <= self._keys

    @cached_property
    def _permit(self) -> Permit | None:
        return Permit.objects.filter(user=self._user).first()

    @cached_property
    def _keys(self) -> set[int]:
        return set(self._permit.hosts.values_list("pk", flat=True)) if self._permit else set()
