"""Transactions whose process is silent: each connection has the warehouse end them; a few may take longer."""

import pytest
from django.db import connection, transaction

from benchhub import silence

pytestmark = pytest.mark.django_db(transaction=True)


def limit() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        return cursor.fetchone()[0]


@pytest.fixture
def limited(settings):
    """Connect anew with a limit, and once more without it."""
    settings.LONGEST_SILENCE_S = 60
    connection.close()
    yield
    connection.close()


def test_every_connection_has_the_warehouse_end_a_transaction_that_is_silent_for_a_lease(limited):
    assert limit() == "1min"


def test_a_transaction_that_may_take_longer_says_so_for_itself_alone(limited):
    with transaction.atomic():
        silence.allow(600)
        assert limit() == "10min"
        silence.allow(0)
        assert limit() == "0"
    assert limit() == "1min"
