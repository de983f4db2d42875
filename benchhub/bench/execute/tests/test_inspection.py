"""Tests of instances on a real server, from a real host over SSH: by command, and by a worker as the pages ask."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from benchhub.bench.execute.inspections import visit_inspections
from benchhub.catalog.instances.inspection import looked_at
from benchhub.catalog.models import Host, Inspection, Instance
from benchhub.ui.findings import worst

pytestmark = [pytest.mark.django_db, pytest.mark.target]


def printed(name, **options):
    output = StringIO()
    try:
        call_command("test_instance", name, stdout=output, **options)
    except SystemExit:
        return "STOPS\n" + output.getvalue()
    return output.getvalue()


@pytest.fixture
def instance(system, cluster16):
    return system(cluster16).instance


def test_a_server_that_runs_can_use_is_said_to_be_so_with_its_room_and_rights(instance):
    text = printed(instance.name)
    assert not text.startswith("STOPS"), text
    assert "ok    Rights: It may create tables in the schema public." in text
    assert "GiB free, enough for a pgbench scale of about" in text
    assert "Version: PostgreSQL 16" in text
    assert instance.password not in text


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"password": "wrong"}, "PostgreSQL refused the log-in."),
        ({"password": ""}, "type it on the form of the instance"),
        ({"database": "nowhere"}, "Create the database, or choose one of those that are there: "),
        ({"port": 1}, "PostgreSQL could not be reached from the driver."),
        ({"bin_directory": "/nowhere"}, "There is no psql in /nowhere"),
        ({"username": "x' OR 1=1; --"}, "PostgreSQL refused the log-in."),
    ],
)
def test_what_keeps_runs_from_it_is_named_with_what_to_do(instance, changes, sentence):
    for name, value in changes.items():
        setattr(instance, name, value)
    instance.save()
    text = printed(instance.name)
    assert text.startswith("STOPS") and sentence in text, text


def test_an_instance_or_a_driver_that_is_not_there_is_said(instance):
    with pytest.raises(CommandError, match="no instance called nobody"):
        printed("nobody")
    with pytest.raises(CommandError, match="--driver NAME"):
        printed(instance.name, driver="nobody")
    assert Instance.objects.filter(pk=instance.pk).exists()


def test_a_worker_takes_the_look_that_was_asked_for_once(instance):
    asked_for = Inspection.ask(instance, instance.host)
    assert visit_inspections() == 1
    inspection = Inspection.objects.select_related("instance__build").get()
    assert (inspection.is_wanted, inspection.contact_error) == (False, "")
    assert inspection.seen_at > asked_for.instance.host.facts_at
    assert worst(looked_at(inspection)) != "bad", looked_at(inspection)
    assert instance.password not in str(inspection.sight)
    assert {instance.database, "postgres"} <= set(inspection.sight["databases"])
    assert visit_inspections() == 0


def test_a_driver_that_is_not_trusted_gets_no_log_in(instance):
    Host.objects.filter(pk=instance.host_id).update(trust=Host.Trust.OFFERED)
    Inspection.ask(instance, instance.host)
    assert visit_inspections() == 1
    inspection = Inspection.objects.get()
    assert "is not approved" in inspection.contact_error and inspection.sight is None
