from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from benchhub.bench.operations import doctor
from benchhub.ui.findings import Finding, worst


class Command(BaseCommand):
    help = "Say what is wrong (warehouse, broker, workers, ticker, clocks, runs, hosts) and how to mend it."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
        parser.add_argument("--no-targets", action="store_true", help="do not log in to hosts")

    def handle(self, *_args: Any, json: bool, no_targets: bool, **_options: Any) -> None:
        findings = []
        for finding in doctor.thorough(with_targets=not no_targets):
            findings.append(finding)
            if not json:
                self.stdout.write(line(finding))
        if json:
            self.stdout.write(as_json(findings))
        if worst(findings) == "bad":
            sys.exit(1)


def line(finding: Finding) -> str:
    return f"{finding.level:4}  {finding.name}: {finding.text} {finding.remedy}".rstrip()


def as_json(findings: list[Finding]) -> str:
    return json.dumps({"status": worst(findings), "checks": [asdict(finding) for finding in findings]}, indent=1)
