"""Two curves with prices, kept as a comparison and published; its host, machine and seller have names to be hidden."""

import hashlib

import pytest
from django.http import QueryDict

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.models import Found
from benchhub.catalog.models import Hardware, LicenceModel
from benchhub.reports.models import Comparison
from benchhub.reports.testing import key, list_price

from . import publish

SECRETS = {
    "host": ("quokka.example.org", "quokka"),
    "address": ("192.0.2.77",),
    "vendor": ("Acme Z9", "Per core of Initech", "A quote by Hooli", "Xeon", "Umbrella"),
}


@pytest.fixture
def publisher(client):
    """Somebody who may keep, publish and share, signed in."""
    user = make_user("ada", Role.RUNNER)
    client.force_login(user)
    return user


@pytest.fixture
def systems():
    host = testing.make_host("quokka.example.org", "192.0.2.77")
    hardware = Hardware.objects.create(name="Acme Z9", sockets=2, cores_per_socket=10, disks="4 drives of Umbrella")
    licence = LicenceModel.objects.create(name="Per core of Initech", metric="core")
    LicenceModel.objects.create(name="Hardware only", metric="none")
    list_price("5000", hardware=hardware)
    list_price("1800", licence_model=licence)
    return [testing.make_system(version, host, hardware) for version in ("16", "18")]


@pytest.fixture
def pooler():
    """Return no part of a spec: loads go to the servers themselves."""
    return {}


@pytest.fixture
def experiment(systems, pooler):
    """16 has a peak of 1,000 TPS (980 and 1,020) at 8 clients; 18 has one of 1,120 (1,100 and 1,140) there."""
    experiment = testing.make_experiment(systems, name="On quokka.example.org")
    for system, at_8 in zip(systems, ((980.0, 1020.0), (1100.0, 1140.0)), strict=True):
        for clients, repeat, tps in ((1, 1, 300.0), (1, 2, 310.0), (8, 1, at_8[0]), (8, 2, at_8[1])):
            spec = testing.whole_spec(clients=clients, **pooler)
            run = testing.make_run(experiment, system, clients, repeat, spec=spec)
            testing.succeeded(run, tps)
            facts(run)
    return experiment


def facts(run):
    Found.objects.create(
        run=run,
        settings={
            "shared_buffers": {"setting": "16384", "unit": "8kB", "source": "configuration file"},
            "fsync": {"setting": "on", "unit": None, "source": "default"},
        },
        server={"version": "PostgreSQL 18.4"},
        host={"quokka.example.org": {"kernel": "6.1.0", "cpu": {"model": "Xeon", "cpus": 20}, "username": "postgres"}},
        facts_digest=hashlib.sha256(b"facts").hexdigest(),
    )


@pytest.fixture
def comparison(experiment, systems):
    """A comparison with 12.5% off everything, which only a link that says so may show."""
    state = QueryDict(mutable=True)
    state.setlist("curve", [key(experiment, system) for system in systems])
    state["discount"] = "12.5"
    remarks = "Measured on quokka at 192.0.2.77.\n\nAsk <b>ada</b>."
    return Comparison.objects.create(title="16 or 18 on quokka", remarks=remarks, query=state.urlencode())


@pytest.fixture
def snapshot(comparison, publisher):
    return publish.comparison_snapshot(comparison, publisher)


@pytest.fixture
def share(snapshot, publisher):
    """Make a link and return its row and its address."""

    def make_link(hidden=(), password="", **fields):
        link, token = publish.link(snapshot, hidden, password, publisher, name="a reader", **fields)
        return link, f"/s/{token}/"

    return make_link
