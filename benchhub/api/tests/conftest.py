import pytest

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.api.conftest import program
from benchhub.api.tests.delivered import WORKLOADS
from benchhub.catalog.models import Configuration, Host, Workload

FACTS = {
    "builds": [
        {
            "bin_directory": "/opt/pg18/bin", "version": "18.1", "version_num": 180001, "pgbench_version": "18.1",
            "postgres_sha256": "18" * 32,
        }
    ]
}  # fmt: skip


@pytest.fixture
def courier(hardware):
    Configuration.objects.create(name="defaults", settings={"fsync": "on"})
    for name, parameters in WORKLOADS.items():
        Workload.objects.create(name=name, tool="pgbench", parameters=parameters)
    Workload.objects.create(name="oltp", tool="sysbench", parameters={"script": "oltp_read_write"})
    return program(make_user("ci", Role.RUNNER), "ingest", "read")


@pytest.fixture
def plan(waiting, host):
    """A plan on the instance of the experiment that waits, whose host has a pgbench."""
    Host.objects.filter(pk=host.pk).update(facts=FACTS, hardware=waiting.systems.get().hardware_id)
    instance = waiting.systems.get().instance_id
    return {
        "name": "From a program", "workload": waiting.workload_id, "levels": "1, 4", "repeats": 2, "duration_s": 5,
        "systems": [{"instance": instance}],
    }  # fmt: skip
