"""Django's permissions, with those that a role brings: publishing and sharing belong to runners."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend

from .rights import Role, is_at_least

SHARING = "reports."


class RoleBackend(ModelBackend):
    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        if super().has_perm(user_obj, perm, obj):
            return True
        return perm.startswith(SHARING) and user_obj.is_active and is_at_least(user_obj, Role.RUNNER)
