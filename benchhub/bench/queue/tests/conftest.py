"""A person, and four runs that wait for a host."""

import pytest
from django.contrib.auth import get_user_model

from benchhub.bench import testing
from benchhub.catalog.models import Hardware, Host


@pytest.fixture
def ada(client):
    client.force_login(get_user_model().objects.create_superuser("ada"))
    return client


@pytest.fixture
def experiment():
    """Queue four runs of 60 s for the host 'box', which a worker looks after."""
    testing.make_worker()
    hardware = Hardware.objects.create(name="Box", sockets=1, cores_per_socket=4)
    system = testing.make_system("18", testing.make_host(), hardware)
    experiment = testing.make_experiment([system], rest_s=30)
    for clients in (1, 2, 4, 8):
        testing.make_run(experiment, system, clients, 1)
    return experiment


@pytest.fixture
def host(experiment):
    return Host.objects.get()
