import pytest

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.api.conftest import program
from benchhub.api.tests.delivered import WORKLOADS
from benchhub.catalog.models import Configuration, Workload


@pytest.fixture
def courier(hardware):
    Configuration.objects.create(name="defaults", settings={"fsync": "on"})
    for name, parameters in WORKLOADS.items():
        Workload.objects.create(name=name, tool="pgbench", parameters=parameters)
    Workload.objects.create(name="oltp", tool="sysbench", parameters={"script": "oltp_read_write"})
    return program(make_user("ci", Role.RUNNER), "ingest", "read")
