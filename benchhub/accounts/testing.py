"""Users of each role for tests."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model

from . import rights
from .models import Permit
from .rights import Role

PASSWORD = "a rather long engine"


def with_password(user: Any) -> Any:
    """Give a user of a test the password PASSWORD; others have none, which is quicker."""
    user.set_password(PASSWORD)
    user.save()
    return user


def make_user(name: str, role: Role, *hosts: Any, everywhere: bool = False) -> Any:
    """Create a user with the permit to run on these hosts, or everywhere."""
    user = get_user_model().objects.create_user(name)
    rights.give_role(user, role)
    if hosts or everywhere:
        Permit.objects.create(user=user, is_on_all_hosts=everywhere).hosts.set(hosts)
    return get_user_model().objects.get(pk=user.pk)
