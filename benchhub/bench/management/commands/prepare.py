"""The command that prepares BenchHub before it serves: at the first start and after each upgrade."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection, transaction

from benchhub.bench.operations import releases
from benchhub.bench.operations.app_role import RoleError, grant

ONE_AT_A_TIME = 0x62656E6368  # "bench", as the number of an advisory lock


class Command(BaseCommand):
    help = (
        "Bring the warehouse to this release: tables, catalogue, and a first user named ADMIN_USERNAME with "
        "ADMIN_PASSWORD if there is no user yet. With APP_ROLE and APP_PASSWORD, also the role of the other processes."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        with _alone():
            if reason := releases.refusal():
                raise CommandError(reason)
            call_command("migrate", interactive=False, stdout=self.stdout)
            call_command("load_fixtures", stdout=self.stdout)
            self.stdout.write(make_first_user(os.environ.get("ADMIN_USERNAME"), os.environ.get("ADMIN_PASSWORD")))
            if name := os.environ.get("APP_ROLE"):
                self.stdout.write(app_role(name, os.environ.get("APP_PASSWORD", "")))


def make_first_user(username: str | None, password: str | None) -> str:
    """Make an administrator unless anyone can log in already; returns what was done, for people."""
    users = get_user_model().objects
    if users.exists():
        return "There are users already: none was made."
    if not username or not password:
        return "There is no user yet: set ADMIN_USERNAME and ADMIN_PASSWORD, or run manage.py createsuperuser."
    users.create_superuser(username, password=password)
    return f"Made the first user, {username}."


def app_role(name: str, password: str) -> str:
    """Give web, worker and ticker their own role. Raises CommandError."""
    if not password:
        raise CommandError("APP_ROLE is set and APP_PASSWORD is not: set both, or neither.")
    try:
        with transaction.atomic():
            return grant(name, password)
    except RoleError as error:
        raise CommandError(str(error)) from error


@contextmanager
def _alone() -> Iterator[None]:
    """Hold a lock of the database: of two that start at once the second waits, and finds nothing left to do."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [ONE_AT_A_TIME])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [ONE_AT_A_TIME])
