"""`manage.py write_scripts ada` lets ada write custom scripts; `--withdraw` takes the right back."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from benchhub.accounts import audit, rights


class Command(BaseCommand):
    help = "Give an account the right to write custom scripts, which run on servers as they are written."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--withdraw", action="store_true")

    def handle(self, **options: Any) -> None:
        user = get_user_model().objects.filter(username=options["name"]).first()
        if user is None:
            raise CommandError(f"There is no account named {options['name']}.")
        rights.let_write_scripts(user, not options["withdraw"])
        change = "withdrawn from" if options["withdraw"] else "given to"
        audit.note_command(f"right to write scripts {change} {user}")
        may = "may no longer" if options["withdraw"] else "may now"
        self.stdout.write(f"{user} {may} write custom scripts.")
