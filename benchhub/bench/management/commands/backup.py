from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from benchhub.analysis.words import count, size
from benchhub.bench.operations.backup import BackupError, back_up


class Command(BaseCommand):
    help = "Write the whole warehouse, as it is at this moment, into one file; BenchHub may go on meanwhile."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *_args: Any, file: Path, **_options: Any) -> None:
        try:
            manifest = back_up(file, self.stdout.write)
        except BackupError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{file} cannot be written ({error.strerror}): name a folder of your own.") from error
        runs = count(manifest.rows["bench.Run"], "run")
        self.stdout.write(f"{file}: {runs}, {size(manifest.size_bytes)}. Keep FIELD_KEYS apart from it: it has no key.")
