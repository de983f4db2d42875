from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from benchhub import archive
from benchhub.analysis.words import count, size
from benchhub.bench.models import ArchiveRule
from benchhub.bench.results import archive as moves
from benchhub.bench.results.archive import Extent, Outcome

MOST_DAYS = 36_500


def days(text: str) -> int:
    if text.isascii() and text.isdecimal() and 0 < int(text[:9]) <= MOST_DAYS:
        return int(text)
    raise ValueError(text)


class Command(BaseCommand):
    help = (
        "Move what old runs printed and logged from the warehouse to the archive (ARCHIVE_DIR). Without an option: say "
        "what the rule is, what is in the archive, and what would move."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        acts = parser.add_mutually_exclusive_group()
        acts.add_argument(
            "--rule", metavar="DAYS", help="from now on move files so long after their run; 'off' ends it"
        )
        acts.add_argument("--older-than", metavar="DAYS", type=days, help="move now what is older than so many days")
        acts.add_argument("--fetch-back", action="store_true", help="bring files back into the warehouse")
        parser.add_argument(
            "--dry-run", action="store_true", help="with --rule or --older-than: only say what would move"
        )
        parser.add_argument("--run", type=int, help="with --fetch-back: those of this run only")

    def handle(self, *_args: Any, **options: Any) -> None:
        if options["run"] is not None and not options["fetch_back"]:
            raise CommandError("--run goes with --fetch-back only.")
        if options["rule"] == "off":
            ArchiveRule.objects.all().delete()
            self.stdout.write("No rule: nothing moves by itself from now on. What is in the archive stays there.")
        elif options["rule"]:
            self._set_rule(options["rule"], options["dry_run"])
        elif options["older_than"]:
            self._move(options["older_than"], options["dry_run"])
        elif options["fetch_back"]:
            self._require_archive()
            self._report("Fetched back", moves.fetch_back(options["run"]))
        else:
            self._describe()

    def _set_rule(self, text: str, is_dry: bool) -> None:
        try:
            after_days = days(text)
        except ValueError:
            raise CommandError(f"--rule takes a number of days from 1 to {MOST_DAYS}, or 'off'.") from None
        if is_dry:
            self._tell_movable(after_days)
            return
        self._require_archive()
        ArchiveRule.objects.set(after_days)
        self._tell_movable(after_days)
        self.stdout.write("The worker moves them in small batches.")

    def _move(self, after_days: int, is_dry: bool) -> None:
        if is_dry:
            self._tell_movable(after_days)
            return
        self._require_archive()
        self._report("Moved", moves.move(after_days))

    def _describe(self) -> None:
        rule = ArchiveRule.objects.first()
        self.stdout.write(f"Rule: {rule}." if rule else "Rule: none, so nothing moves by itself (--rule DAYS sets it).")
        if rule and rule.trouble:
            self.stdout.write(f"Not moved: {rule.trouble}")
        self.stdout.write(f"In the archive: {_text(moves.archived())}.")
        if rule:
            self._tell_movable(rule.after_days)

    def _tell_movable(self, after_days: int) -> None:
        old = f"older than {count(after_days, 'day')}"
        self.stdout.write(f"To move: {_text(moves.movable(after_days))}, {old} and cited by no snapshot.")

    def _require_archive(self) -> None:
        if not archive.is_set_up():
            raise CommandError(archive.NOT_SET)

    def _report(self, act: str, outcome: Outcome) -> None:
        self.stdout.write(f"{act}: {_text(outcome.extent)}.")
        for failure in outcome.failures:
            self.stderr.write(failure)
        if outcome.failures:
            raise CommandError(f"{count(len(outcome.failures), 'file')} stayed as they were.")


def _text(extent: Extent) -> str:
    return f"{count(extent.files, 'file')} of {size(extent.size_bytes)}"
