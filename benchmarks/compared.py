"""Measure CPU time and queries of a comparison of 12 curves under 8 licence models, the most that a page shows at once.

A warehouse of its own: 4 machines (one by a price sheet of 40 lines), 3 builds on each, 8 client levels of 5 repeats,
and licences of every kind. The page is asked of Django itself, without a web server: the time is what one process
calculates and writes. Limit: 200 ms of CPU, the median of 15 answers after 3 that warm up, on a quiet machine.
With `--profile` it says where the time goes instead.
"""

from __future__ import annotations

import cProfile
import os
import pstats
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import django
from cryptography.fernet import Fernet

from benchhub.embedded import account as accounts
from benchhub.embedded import ports, programs
from benchhub.embedded.postgres import Cluster
from benchhub.embedded.processes import Processes
from benchmarks.machine import undisturbed

CLONE = Path(__file__).resolve().parent.parent
LIMIT_MS = 200
ANSWERS, WARM_UPS = 15, 3
MACHINES, BUILDS, CLIENTS, REPEATS, LINES = 4, ("15", "16", "17"), (1, 2, 4, 8, 16, 32, 64, 128), 5, 40
DAY = date(2026, 1, 1)
PERPETUAL = {"payment": "perpetual", "support_percent": "22", "yearly_uplift_percent": "3"}
TIERS = [{"from_units": 11, "percent_off": "10"}, {"from_units": 41, "percent_off": "20"}]
HOURLY = {"payment": "hourly", "hours_per_month": "730", "utilisation_percent": "60"}
# Name -> metric, rules, list price.
LICENCES: dict[str, tuple[str, dict[str, Any], str]] = {
    "Hardware only": ("none", {}, ""),
    "Per server": ("server", {}, "12000"),
    "Per socket": ("socket", {"cores_per_licence": 32}, "4200"),
    "Per core": ("core", {"minimum_per_server": 16, "pack": 2}, "1800"),
    "Per core, for good": ("core", PERPETUAL, "7000"),
    "Per core, in tiers": ("core", {"tiers": TIERS, "discount_percent": "12.5"}, "2100"),
    "By memory": ("memory", {"memory_block_gb": "64"}, "900"),
    "By the hour": ("core", HOURLY, "0.12"),
}


def main() -> int:
    with warehouse():
        address = _fill()
        if "--profile" in sys.argv:
            return _profiled(address)
        queries, size = _asked(address)
        median_ms, worst_ms = undisturbed(lambda: _times_ms(address), "comparison")
    curves = MACHINES * len(BUILDS)
    print(f"{curves} curves x {len(LICENCES)} licence models, {len(CLIENTS)} levels of {REPEATS} repeats each")
    print(f"{queries} queries, {size / 1000:,.0f} kB of HTML")
    print(f"{'CPU time, median':20} {median_ms:7.0f} ms, worst {worst_ms:.0f} ms")
    print(f"{'limit':20} {LIMIT_MS:7} ms: {'within' if median_ms < LIMIT_MS else 'OVER'}")
    return 0 if median_ms < LIMIT_MS else 1


@contextmanager
def warehouse() -> Iterator[None]:
    """Yield while a warehouse of its own is there, empty, with Django set up for it."""
    account = accounts.for_clone(CLONE)
    with tempfile.TemporaryDirectory(prefix="benchhub-compared-") as name:
        folder = Path(name)
        account.own(folder)
        processes = Processes(folder, marker=f"compared-{secrets.token_hex(4)}")
        try:
            cluster = Cluster("warehouse", folder / "pg", programs.builds(account)[18], ports.free_port(), account)
            cluster.create(processes)
            cluster.start(processes)
            _set_up(cluster.url)
            yield
        finally:
            processes.stop_all()


def _set_up(url: str) -> None:
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "benchhub.settings",
        "DATABASE_URL": url,
        "SECRET_KEY": secrets.token_hex(),
        "FIELD_KEYS": Fernet.generate_key().decode(),
        "BROKER_URL": "redis://127.0.0.1:1/0",
        "LOG_LEVEL": "WARNING",
    }
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


def _fill() -> str:
    """Fill the warehouse and return the address of the comparison of all its curves."""
    from benchhub.bench import testing

    host = testing.make_host()
    systems = [_system(host, machine, build) for machine in _machines() for build in BUILDS]
    _licences()
    made = testing.make_experiment(systems, client_levels=list(CLIENTS), repeats=REPEATS)
    for number, system in enumerate(systems):
        for clients in CLIENTS:
            for repeat in range(1, REPEATS + 1):
                tps = 900.0 * min(clients, 8 + number) * (1 + repeat / 200)
                testing.succeeded(testing.make_run(made, system, clients, repeat), tps)
    return "/compare/?" + "&".join(f"curve={made.pk}-{system.pk}" for system in systems)


def _system(host: Any, machine: Any, build: str) -> Any:
    """Return a system of this machine and build; testing.make_system knows one machine to a build."""
    from benchhub.bench import testing
    from benchhub.bench.models import System

    first = System.objects.filter(build__version=build).first()
    if first is None:
        return testing.make_system(build, host, machine)
    values = {field.attname: getattr(first, field.attname) for field in System._meta.concrete_fields}
    label = f"{first.label} on {machine}"
    changed = {"id": None, "hardware_id": machine.pk, "label": label, "digest": testing.sha256(label)}
    return System.objects.create(**{**values, **changed})


def _machines() -> list[Any]:
    from django.db import transaction

    from benchhub.catalog.models import Hardware, ListPrice, PriceSheet, PriceSheetDiscount, PriceSheetLine

    made = [
        Hardware.objects.create(
            name=f"Machine {number}", sockets=2, cores_per_socket=8 * number, memory_bytes=number * 64 * 2**30
        )
        for number in range(1, MACHINES + 1)
    ]
    for machine in made[1:]:
        ListPrice.objects.create(
            hardware=machine, description=machine.name, amount=Decimal(9000 * machine.pk), currency="EUR",
            priced_on=DAY, source="a quotation",
        )  # fmt: skip
    with transaction.atomic():
        sheet = PriceSheet.objects.create(name="Offer", hardware=made[0], currency="EUR", priced_on=DAY, source="it")
        for number in range(1, LINES + 1):
            PriceSheetLine.objects.create(
                of_sheet=sheet, position=number, description=f"Part {number}", unit_price=Decimal("123.45"),
                quantity=number, maintenance_per="year", maintenance_price=Decimal("3.10"),
            )  # fmt: skip
        PriceSheetDiscount.objects.create(of_sheet=sheet, position=1, description="Volume", percent=Decimal("12.5"))
    return made


def _licences() -> None:
    from benchhub.catalog.models import LicenceModel, ListPrice

    for name, (metric, rules, amount) in LICENCES.items():
        model = LicenceModel.objects.create(name=name, metric=metric, rules=rules)
        model.full_clean()
        if amount:
            ListPrice.objects.create(
                licence_model=model, description=name, amount=Decimal(amount), currency="EUR", priced_on=DAY,
                source="a price list",
            )  # fmt: skip


def _client() -> Any:
    from django.contrib.auth import get_user_model
    from django.test import Client

    users = get_user_model().objects
    client = Client(SERVER_NAME="localhost")
    client.force_login(users.filter(username="bench").first() or users.create_superuser("bench"))
    return client


def _asked(address: str) -> tuple[int, int]:
    """Return the number of queries of an answer that is not the first, and its bytes."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    client = _client()
    if b"How was this computed?" not in client.get(address).content:
        raise SystemExit("The page has no prices.")
    with CaptureQueriesContext(connection) as queries:
        size = len(client.get(address).content)
    return len(queries), size


def _get(client: Any, address: str) -> None:
    """Ask for the page compressed, as a browser does."""
    answer = client.get(address, headers={"Accept-Encoding": "gzip"})
    if answer.status_code != 200:
        raise SystemExit(f"The page answered {answer.status_code}.")


def _times_ms(address: str) -> tuple[float, float]:
    """Return the CPU time of this process for an answer: median and worst."""
    client = _client()
    for _ in range(WARM_UPS):
        _get(client, address)
    times = [_time_ms(client, address) for _ in range(ANSWERS)]
    return statistics.median(times), max(times)


def _time_ms(client: Any, address: str) -> float:
    begun = time.process_time()
    _get(client, address)
    return 1000 * (time.process_time() - begun)


def _profiled(address: str) -> int:
    client = _client()
    for _ in range(WARM_UPS):
        _get(client, address)
    profile = cProfile.Profile()
    profile.runcall(_get, client, address)
    for order in ("cumulative", "tottime"):
        pstats.Stats(profile).sort_stats(order).print_stats(60)
    return 0


if __name__ == "__main__":
    sys.exit(main())
