import pytest

from benchhub.bench import testing
from benchhub.bench.plan.clients import chosen_client
from benchhub.bench.plan.fields import designs
from benchhub.bench.plan.fields.systems import guessed_path
from benchhub.catalog.models import Host, Workload

pytestmark = pytest.mark.django_db


@pytest.fixture
def host():
    return testing.probed_host("16.4", "18.1")


@pytest.mark.parametrize(
    ("address", "own", "path"),
    [
        ("/run/postgresql", True, "socket"),
        ("127.0.0.1", True, "loopback"),
        ("localhost", True, "loopback"),
        ("192.0.2.1", True, "loopback"),
        ("192.0.2.9", True, "network"),
        ("192.0.2.1", False, "network"),
    ],
)
def test_the_path_is_guessed_from_the_address(host, address, own, path):
    instance = testing.make_instance(host, "16.4", address=address)
    other = Host(pk=host.pk + 1, address="192.0.2.2")
    assert guessed_path(instance, host if own else other) == path


def test_a_pooler_on_another_machine_makes_the_path_a_network(host):
    instance = testing.make_instance(host, "16.4", pooler="PgBouncer", pooler_address="192.0.2.9")
    assert guessed_path(instance, host) == "network"
    for address in ("127.0.0.1", host.address, "/run/pgbouncer"):
        instance.pooler_address = address
        assert guessed_path(instance, host) == "loopback"


def test_one_program_drives_all_systems_or_a_sentence_says_why_not(host):
    other = Host(name="other", facts={"builds": [testing.build("16.4")]})
    assert chosen_client([host], "")["version"] == "18.1"
    assert chosen_client([host, other], "")["version"] == "16.4"
    assert chosen_client([host], "/opt/pg16/bin")["version"] == "16.4"
    with pytest.raises(LookupError, match="other has no pgbench in /opt/pg18/bin"):
        chosen_client([host, other], "/opt/pg18/bin")
    with pytest.raises(LookupError, match="probe the host first"):
        chosen_client([Host(name="new")], "")
    with pytest.raises(LookupError, match=r"is 16.4 on box but 16.3 on third"):
        chosen_client([host, Host(name="third", facts={"builds": [testing.build("16.3", "/opt/pg16/bin")]})], "")
    with pytest.raises(LookupError, match="in a folder of the same name"):
        chosen_client([host, Host(name="fourth", facts={"builds": [testing.build("16.4", "/usr/bin")]})], "")


def test_a_build_without_pgbench_drives_nothing():
    with pytest.raises(LookupError, match="probe the host first"):
        chosen_client([Host(name="box", facts={"builds": [testing.build("18.1", pgbench_version="")]})], "")


@pytest.mark.parametrize(
    ("name", "scaled"),
    [
        ("reading", "reading, scale 20"),
        ("reading, scale 10", "reading, scale 20"),
        ("reading scale 1,000", "reading, scale 20"),
        ("scale 10 of old", "scale 10 of old, scale 20"),
    ],
)
def test_a_workload_at_another_scale_is_not_called_by_the_one_that_it_has_not(name, scaled):
    workload = Workload(name=name, tool="pgbench", parameters={"script": "select-only", "scale": 10})
    assert designs.at_scale(workload, 20).name == scaled
