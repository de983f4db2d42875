"""Rows for hosts and servers that BenchHub never sees, and the systems that results of elsewhere are of."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.db.models.functions import Now

from benchhub.bench.plan.systems import system_under_test
from benchhub.catalog.instances.forms import managed_build
from benchhub.catalog.models import Configuration, Host, Instance, PgBuild

from .check import NamedRows
from .lines import Place

LONGEST_NAME = 120


class Places:
    """Systems of results that come from elsewhere; each is made once, and found again by the next delivery."""

    def __init__(self, catalogue: NamedRows) -> None:
        self.catalogue = catalogue
        self.build = cache(managed_build)
        self.host = cache(_host)
        self.system = cache(self._system)

    def _system(self, place: Place) -> Any:
        build, configuration = self.build(place.postgresql), self.catalogue.configurations[place.configuration]
        return system_under_test(
            _instance(self.host(place.host), build, configuration),
            driver=self.host(place.driver),
            hardware=self.catalogue.hardware[place.hardware],
            path=place.path,
            label=place.label or f"{build} on {place.host}",
        )


def _host(name: str) -> Host:
    """Return the host of this name, or make one that BenchHub never connects to."""
    elsewhere = {"address": name, "port": 22, "username": "", "trust": Host.Trust.ELSEWHERE}
    return Host.objects.get_or_create(name=name, defaults=elsewhere)[0]


def _instance(host: Host, build: PgBuild, configuration: Configuration) -> Instance:
    """Return the instance of a place, retired from its first day: no plan offers it."""
    name = f"{build.version} on {host.name}, {configuration.name}"[:LONGEST_NAME]
    defaults = {
        "host": host,
        "build": build,
        "configuration": configuration,
        "address": "elsewhere",
        "database": "",
        "username": "",
        "retired_at": Now(),
    }
    return Instance.objects.get_or_create(name=name, defaults=defaults)[0]
