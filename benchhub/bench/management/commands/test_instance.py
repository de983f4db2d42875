from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from benchhub.bench.execute.inspections import look_now
from benchhub.catalog.instances.inspection import looked_at
from benchhub.catalog.models import Host, Inspection, Instance
from benchhub.ui.findings import worst

from .doctor import line


class Command(BaseCommand):
    help = "Log in to an instance from its driver, change nothing, and say whether runs can use it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="of the instance")
        parser.add_argument("--driver", help="the name of the host that drives it; else its own host")

    def handle(self, *_args: Any, name: str, driver: str | None, **_options: Any) -> None:
        instance = Instance.objects.select_related("host", "build").filter(name=name).first()
        if instance is None:
            raise CommandError(f"There is no instance called {name}: see the list of instances.")
        host = Host.objects.filter(name=driver).first() if driver else instance.host
        if host is None:
            raise CommandError("Name a host that drives it: --driver NAME, as in the list of hosts.")
        inspection = Inspection(instance=instance, driver=host)
        look_now(inspection)
        findings = looked_at(inspection)
        for finding in findings:
            self.stdout.write(line(finding))
        if worst(findings) == "bad":
            sys.exit(1)
