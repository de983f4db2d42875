from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from benchhub.analysis.words import count
from benchhub.bench.operations.backup import BackupError, restore


class Command(BaseCommand):
    help = "Restore a file of `manage.py backup` into the empty database that DATABASE_URL names: whole, or not at all."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *_args: Any, file: Path, **_options: Any) -> None:
        try:
            manifest = restore(file, self.stdout.write)
        except BackupError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"Restored {count(manifest.rows['bench.Run'], 'run')} as of {manifest.taken_at}. Start BenchHub: what ran "
            "since then is looked for on its hosts, and nothing is started twice."
        )
