"""`manage.py test_instance` on a real server, from a real host over SSH."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from benchhub.catalog.models import Instance

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
