"""Changing FIELD_KEYS: what was stored with the old key is stored with the new one, and reads as before."""

import pytest
from cryptography.fernet import Fernet, InvalidToken
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connection

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench.models import Webhook
from benchhub.catalog.models import Host

pytestmark = pytest.mark.django_db


def stored():
    with connection.cursor() as cursor:
        cursor.execute("SELECT private_key FROM catalog_host ORDER BY name")
        return [text for (text,) in cursor.fetchall()]


def test_after_it_the_old_key_is_no_longer_needed(settings, capsys):
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    settings.FIELD_KEYS = [old]
    Host.objects.create(name="a", address="192.0.2.1", username="bench", private_key="secret")
    Host.objects.create(name="b", address="192.0.2.2", username="bench", private_key="")
    settings.FIELD_KEYS = [new, old]
    call_command("encrypt_again")
    output = capsys.readouterr().out
    assert output.startswith("Secrets encrypted with the newest key: 1. Take the older keys out of FIELD_KEYS:")
    settings.FIELD_KEYS = [new]
    assert [host.private_key for host in Host.objects.order_by("name")] == ["secret", ""]
    assert "secret" not in "".join(stored())


def test_a_key_that_is_missing_is_named_and_nothing_is_lost(settings):
    settings.FIELD_KEYS = [Fernet.generate_key().decode()]
    Host.objects.create(name="a", address="192.0.2.1", username="bench", private_key="secret")
    before = stored()
    settings.FIELD_KEYS = [Fernet.generate_key().decode()]
    with pytest.raises(ImproperlyConfigured, match="add the key it was stored with"):
        call_command("encrypt_again")
    assert stored() == before


def test_with_one_key_it_says_that_only_a_new_key_ends_what_was_stored_before(capsys):
    call_command("encrypt_again")
    assert "Take the older" not in (output := capsys.readouterr().out)
    assert "put a new key before it, and run this again" in output


def stored_by_an_older_release(key, secret):
    """Store a host's key as a release did that bound secrets to no column; return the ciphertext."""
    Host.objects.create(name="a", address="192.0.2.1", username="bench", private_key="x")
    token = Fernet(key).encrypt(secret).decode()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE catalog_host SET private_key = %s", [token])
    return token


def swapped():
    """Store what is in the column of host keys as the secret of a webhook, as whoever writes SQL would."""
    Host.objects.create(name="a", address="192.0.2.1", username="bench", private_key="secret")
    [token] = stored()
    return webhook_with(token)


def webhook_with(token):
    """Make a webhook whose secret is a ciphertext from elsewhere."""
    fields = {"events": [Webhook.On.RUN], "created_by": make_user("ada", Role.ADMINISTRATOR)}
    webhook = Webhook.objects.create(name="w", url="https://example.org/", secret="own", **fields)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE bench_webhook SET secret = %s", [token])
    return Webhook.objects.get(pk=webhook.pk)


def test_the_ciphertext_of_one_column_is_no_secret_of_another():
    webhook = swapped()
    with pytest.raises(ImproperlyConfigured, match="FIELD_KEYS"):
        _ = webhook.secret
    assert Host.objects.get().private_key == "secret"


def test_what_an_older_release_stored_is_read_and_belongs_to_its_column_once_it_is_stored_anew(settings):
    settings.FIELD_KEYS = [Fernet.generate_key().decode()]
    stored_by_an_older_release(settings.FIELD_KEYS[0], b"secret")
    assert Host.objects.get().private_key == "secret"
    call_command("encrypt_again")
    assert Host.objects.get().private_key == "secret"
    with pytest.raises(InvalidToken):
        Fernet(settings.FIELD_KEYS[0]).decrypt(stored()[0])


def test_a_copy_of_what_an_older_release_stored_opens_in_no_other_column_once_its_key_is_taken_out(settings):
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    settings.FIELD_KEYS = [old]
    token = stored_by_an_older_release(old, b"secret")
    settings.FIELD_KEYS = [new, old]
    call_command("encrypt_again")
    webhook = webhook_with(token)
    assert webhook.secret == "secret"  # storing anew alone does not end it
    settings.FIELD_KEYS = [new]
    with pytest.raises(ImproperlyConfigured, match="FIELD_KEYS"):
        _ = Webhook.objects.get(pk=webhook.pk).secret
    assert Host.objects.get().private_key == "secret"
