"""Two curves to compare, and prices, for the tests of comparisons."""

import pytest
from django.contrib.auth import get_user_model

from benchhub.bench import testing
from benchhub.catalog.models import Hardware, LicenceModel

from .testing import list_price


@pytest.fixture
def reader(client):
    client.force_login(get_user_model().objects.create_superuser("ada"))
    return client


@pytest.fixture
def hardware():
    return Hardware.objects.create(name="Box", sockets=2, cores_per_socket=10)


@pytest.fixture
def host():
    return testing.make_host()


@pytest.fixture
def systems(host, hardware):
    return [testing.make_system(version, host, hardware) for version in ("16", "18")]


@pytest.fixture
def experiment(systems):
    return testing.make_two_curves(systems)


@pytest.fixture
def repeated(systems):
    """Five repeats of 16 and 18 at 1, 8 and 32 clients: alike at 1 client, 12% apart at 8, the peak of both."""
    experiment = testing.make_experiment(systems, name="Repeated")
    for system, medians in zip(systems, ((300.0, 1000.0, 900.0), (301.0, 1120.0, 990.0)), strict=True):
        for clients, median in zip((1, 8, 32), medians, strict=True):
            for repeat, percent in enumerate((-1.0, 1.0, 0.0, 0.5, -0.5), start=1):
                run = testing.make_run(experiment, system, clients, repeat)
                testing.succeeded(run, median * (1 + percent / 100))
    return experiment


@pytest.fixture
def prices(hardware):
    LicenceModel.objects.create(name="Hardware only", metric="none")
    socket = LicenceModel.objects.create(name="Per socket", metric="socket")
    core = LicenceModel.objects.create(name="Per core", metric="core")
    list_price("5000", hardware=hardware)
    list_price("4200", licence_model=socket)
    list_price("1800", licence_model=core)
    return {"socket": socket, "core": core}
