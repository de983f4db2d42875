import os
import shutil
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from benchhub.analysis.published import PublishedError
from benchhub.reports.published import text as published_text
from benchhub.reports.published.files import reports


class Command(BaseCommand):
    help = (
        "Recompute what four published reports derive from their own numbers, and say what does not survive. "
        "Needs no database; that a report disagrees with itself is a finding, not an error."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="the same for programs, numbers as text")
        parser.add_argument("--report", type=str.upper, choices=("A", "B", "C", "D"), help="one report only")
        parser.add_argument("--why", action="store_true", help="the arithmetic of every number in a sentence")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            selected = [report for report in reports() if options["report"] in (None, report.document.letter)]
        except PublishedError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            return self._say(published_text.as_json(selected))
        columns = shutil.get_terminal_size((published_text.NARROWEST, 24)).columns
        return self._say("\n".join(published_text.text(selected, columns, options["why"])))

    def _say(self, text: str) -> None:
        """Write what the terminal can show; a reader who has gone (`| head`) is no error."""
        encoding = getattr(self.stdout, "encoding", None) or "utf-8"
        if encoding.lower() in ("ascii", "ansi_x3.4-1968", "us-ascii"):
            text = text.replace("€", "EUR").encode("ascii", "replace").decode()
        try:
            self.stdout.write(text)
            self.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
