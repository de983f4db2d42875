from datetime import date
from decimal import Decimal

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError, connection, transaction
from django.db.models import ProtectedError

from benchhub.bench import testing
from benchhub.catalog.models import Hardware, Host, LicenceModel, ListPrice, secret_field

pytestmark = pytest.mark.django_db


def machine(**fields):
    return Hardware.objects.create(**{"name": "S822L", "sockets": 2, "cores_per_socket": 10, **fields})


def price(hardware, **fields):
    defaults = {"amount": Decimal("38364"), "currency": "EUR", "priced_on": date(2015, 11, 12), "source": "report A"}
    return ListPrice.objects.create(hardware=hardware, description="S822L", **{**defaults, **fields})


def refused(action, match):
    with pytest.raises(IntegrityError, match=match), transaction.atomic():
        action()


def test_hardware_cannot_be_edited_in_place_and_an_edit_makes_a_revision():
    first = machine()
    refused(lambda: Hardware.objects.filter(pk=first.pk).update(sockets=4), "make a new revision")
    second = first.revise(sockets=4)
    first.refresh_from_db()
    assert (first.sockets, first.retired_at is None) == (2, False)
    assert (second.sockets, second.revision, second.cores) == (4, 2, 40)
    assert list(Hardware.objects.current()) == [second]
    assert str(second) == "S822L (revision 2)"


def test_two_current_revisions_of_one_name_are_refused():
    machine()
    refused(lambda: machine(revision=2), "hardware_one_current")
    assert Hardware.objects.get().revision == 1


def test_a_price_is_append_only():
    row = price(machine())
    refused(lambda: ListPrice.objects.filter(pk=row.pk).update(amount=1), "append-only")
    refused(row.delete, "append-only")
    assert ListPrice.objects.get().amount == Decimal("38364")


def test_a_price_is_of_one_thing_in_a_named_currency_and_not_negative():
    hardware, licence = machine(), LicenceModel.objects.create(name="l", metric="socket")
    refused(lambda: price(None), "list_price_of_one_thing")
    refused(lambda: price(hardware, licence_model=licence), "list_price_of_one_thing")
    refused(lambda: price(hardware, currency="eur"), "list_price_currency")
    refused(lambda: price(hardware, amount=Decimal("-1")), "list_price_not_negative")
    assert not ListPrice.objects.exists()


def test_what_a_result_cites_cannot_be_deleted():
    system = testing.make_system("18", testing.make_host(), machine())
    run = testing.make_run(testing.make_experiment([system]), system, 1, 1)
    testing.succeeded(run, 1000.0)
    cited = (run, run.experiment, run.protocol, system, system.instance, system.build, system.hardware, system.driver)
    for row in (*cited, system.configuration, run.experiment.workload, run.attempts.get()):
        with pytest.raises(ProtectedError):
            row.delete()


def test_a_system_stays_what_it_was_when_it_was_measured():
    system = testing.make_system("18", testing.make_host(), machine())
    system.label = "something better"
    refused(system.save, "cited as it stands")
    system.refresh_from_db()
    assert system.label == "PostgreSQL 18"


def test_a_private_key_is_unreadable_in_the_database_and_never_in_the_public_half():
    host = Host(name="h", address="h.test", username="bench")
    host.make_key_pair()
    host.save()
    with connection.cursor() as cursor:
        cursor.execute("SELECT private_key FROM catalog_host")
        [(stored,)] = cursor.fetchall()
    assert "PRIVATE KEY" not in stored
    assert Host.objects.get().private_key.startswith("-----BEGIN OPENSSH PRIVATE KEY-----")
    assert host.public_key.startswith("ssh-ed25519 ")
    assert "PRIVATE" not in host.public_key


def test_each_host_gets_a_key_pair_of_its_own():
    hosts = [Host(name=name) for name in "ab"]
    for host in hosts:
        host.make_key_pair()
    assert hosts[0].public_key != hosts[1].public_key


def test_a_secret_stored_with_an_older_key_is_still_read_and_one_without_its_key_says_what_to_do(settings):
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    settings.FIELD_KEYS = [old]
    token = secret_field.encrypt("s3cret", "app.model.field")
    settings.FIELD_KEYS = [new, old]
    assert secret_field.decrypt(token, "app.model.field") == "s3cret"
    settings.FIELD_KEYS = [new]
    with pytest.raises(ImproperlyConfigured, match="FIELD_KEYS"):
        secret_field.decrypt(token, "app.model.field")


def test_a_secret_whose_key_is_gone_stops_nobody_who_does_not_ask_for_it(settings):
    host = Host(name="h", address="h.test", username="bench")
    host.make_key_pair()
    host.save()
    settings.FIELD_KEYS = [Fernet.generate_key().decode()]
    stored = Host.objects.get()
    assert stored.public_key == host.public_key
    with pytest.raises(ImproperlyConfigured, match="FIELD_KEYS"):
        _ = stored.private_key


def test_a_row_whose_secret_nobody_opened_keeps_it_when_it_is_saved(settings):
    host = Host(name="h", address="h.test", username="bench")
    host.make_key_pair()
    host.save()
    keys, settings.FIELD_KEYS = settings.FIELD_KEYS, [Fernet.generate_key().decode()]
    stored = Host.objects.get()
    stored.name = "renamed"
    stored.save()
    settings.FIELD_KEYS = keys
    assert Host.objects.get(name="renamed").private_key == host.private_key


def test_a_pinned_host_must_have_a_key():
    refused(lambda: Host.objects.create(name="x", address="x", username="u", trust="pinned"), "host_pinned_has_key")
    assert not Host.objects.exists()


BOUGHT = {"name": "Box", "sockets": 2, "cores_per_socket": 10, "processor": "POWER8", "memory_bytes": 2**38}


@pytest.mark.parametrize(
    ("changes", "is_same"),
    [
        ({"revision": 2, "remark": "In rack 7", "vm_vcpus": 160, "disabled_cores_per_socket": 2}, True),
        ({"clock_ghz": Decimal("3.42"), "disks": "4 x 300 GB"}, True),  # filled in since
        ({"processor": "", "memory_bytes": None}, True),
        ({"sockets": 4}, False),
        ({"processor": "POWER9"}, False),
        ({"memory_bytes": 2**39}, False),
        ({"name": "Other box"}, False),
    ],
)
def test_a_revision_is_of_the_same_machine_while_its_parts_are_alike(changes, is_same):
    first, other = Hardware(pk=1, **BOUGHT), Hardware(pk=2, **{**BOUGHT, **changes})
    assert first.is_same_thing(other) is is_same
    assert other.is_same_thing(first) is is_same
    price = ListPrice(hardware=first, amount=Decimal(5))
    assert price.counts_for(other) is is_same
