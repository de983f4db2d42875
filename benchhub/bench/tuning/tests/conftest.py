import pytest
from django.contrib.auth import get_user_model

from benchhub.bench import testing
from benchhub.bench.tuning.testing import make_cluster, make_workload


@pytest.fixture
def runner(client):
    client.force_login(get_user_model().objects.create_superuser("ada"))
    return client


@pytest.fixture
def host(db):
    return testing.probed_host("18")


@pytest.fixture
def cluster(host):
    return make_cluster(host)


@pytest.fixture
def workload(db):
    return make_workload()
