"""Two curves to compare, and prices, for the tests of comparisons."""

import pytest
from django.contrib.auth import get_user_model

from benchhub.bench import testdata
from benchhub.catalog.models import Hardware, LicenceModel

from .testdata import list_price


@pytest.fixture
def reader(client):
    client.force_login(get_user_model().objects.create_superuser("ada"))
    return client


@pytest.fixture
def hardware():
    return Hardware.objects.create(name="Box", sockets=2, cores_per_socket=10)


@pytest.fixture
def host():
    return testdata.make_host()


@pytest.fixture
def systems(host, hardware):
    return [testdata.make_system(version, host, hardware) for version in ("16", "18")]


@pytest.fixture
def experiment(systems):
    """16 has a peak of 1,000 TPS (980 and 1,020) at 8 clients; 18 has one of 1,120 (1,100 and 1,140) there."""
    made = testdata.make_experiment(systems)
    for system, at_8 in zip(systems, ((980.0, 1020.0), (1100.0, 1140.0)), strict=True):
        for clients, repeat, tps in ((1, 1, 300.0), (1, 2, 310.0), (8, 1, at_8[0]), (8, 2, at_8[1])):
            testdata.succeeded(testdata.make_run(made, system, clients, repeat), tps)
    return made


@pytest.fixture
def repeated(systems):
    """Five repeats of 16 and 18 at 1, 8 and 32 clients: alike at 1 client, 12% apart at 8, the peak of both."""
    made = testdata.make_experiment(systems, name="Repeated")
    for system, medians in zip(systems, ((300.0, 1000.0, 900.0), (301.0, 1120.0, 990.0)), strict=True):
        for clients, median in zip((1, 8, 32), medians, strict=True):
            for repeat, percent in enumerate((-1.0, 1.0, 0.0, 0.5, -0.5), start=1):
                run = testdata.make_run(made, system, clients, repeat)
                testdata.succeeded(run, median * (1 + percent / 100))
    return made


@pytest.fixture
def prices(hardware):
    LicenceModel.objects.create(name="Hardware only", metric="none")
    socket = LicenceModel.objects.create(name="Per socket", metric="socket")
    core = LicenceModel.objects.create(name="Per core", metric="core")
    list_price("5000", hardware=hardware)
    list_price("4200", licence_model=socket)
    list_price("1800", licence_model=core)
    return {"socket": socket, "core": core}
