"""The command that prepares BenchHub before it serves: at the first start and after each upgrade."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connection

ONE_AT_A_TIME = 0x62656E6368  # "bench", as the number of an advisory lock


class Command(BaseCommand):
    help = (
        "Bring the warehouse to this release: tables, catalogue, and a first user named ADMIN_USERNAME with "
        "ADMIN_PASSWORD if there is no user yet."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        with _alone():
            call_command("migrate", interactive=False, stdout=self.stdout)
            call_command("load_fixtures", stdout=self.stdout)
            self.stdout.write(make_first_user(os.environ.get("ADMIN_USERNAME"), os.environ.get("ADMIN_PASSWORD")))


def make_first_user(username: str | None, password: str | None) -> str:
    """Make an administrator unless anyone can log in already; returns what was done, for people."""
    users = get_user_model().objects
    if users.exists():
        return "There are users already: none was made."
    if not username or not password:
        return "There is no user yet: set ADMIN_USERNAME and ADMIN_PASSWORD, or run manage.py createsuperuser."
    users.create_superuser(username, password=password)
    return f"Made the first user, {username}."


@contextmanager
def _alone() -> Iterator[None]:
    """Hold a lock of the database: of two that start at once the second waits, and finds nothing left to do."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [ONE_AT_A_TIME])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [ONE_AT_A_TIME])
