from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from benchhub.catalog.shared.fixtures_loader import FixtureError, load


class Command(BaseCommand):
    help = "Create what fixtures/ holds and the catalogue has not; what is there stays as it is."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("directory", nargs="?", type=Path, default=settings.BASE_DIR / "fixtures")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            created = load(options["directory"])
        except FixtureError as error:
            raise CommandError(str(error)) from error
        words = [f"{count} {kind.replace('_', ' ')}" for kind, count in created.items() if count]
        self.stdout.write(f"Created {', '.join(words)}." if words else "Nothing new in the fixtures.")
