"""Whose long body is read at all."""

from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from benchhub.accounts import tokens
from benchhub.accounts.rights import Role
from benchhub.accounts.second_factor import codes
from benchhub.accounts.testing import PASSWORD, make_user, with_password
from benchhub.serve import gate
from benchhub.serve.request import UnaskedError

pytestmark = pytest.mark.django_db


HASTEN = gate._hasten


@pytest.fixture(autouse=True)
def connection_of_the_test(monkeypatch):
    monkeypatch.setattr(gate, "close_old_connections", lambda: None)
    monkeypatch.setattr(gate, "_hasten", lambda _: None)
    monkeypatch.setattr(gate, "_rest", gate.Rest())


def test_a_good_token_may_and_a_revoked_or_made_up_one_may_not():
    token, plain = tokens.issue(make_user("ada", Role.RUNNER), "x", ["ingest"], timezone.now() + timedelta(days=1))
    assert gate.may_send({"AUTHORIZATION": f"Bearer {plain}"})
    assert not gate.may_send({"AUTHORIZATION": f"Bearer {plain}x"})
    tokens.revoke(token)
    assert not gate.may_send({"AUTHORIZATION": f"Bearer {plain}"})


def test_who_is_signed_in_may_until_they_sign_out_or_are_switched_off(client):
    user = make_user("ada", Role.RUNNER)
    client.force_login(user)
    cookie = f"csrftoken=x; sessionid={client.cookies['sessionid'].value}"
    assert gate.may_send({"COOKIE": cookie})
    user.is_active = False
    user.save()
    assert not gate.may_send({"COOKIE": cookie})


def test_a_session_that_waits_for_a_code_may_not(client):
    user = with_password(make_user("ada", Role.RUNNER))
    codes.keep(user, codes.new_secret(), 0)
    client.post("/login/", {"username": "ada", "password": PASSWORD})
    assert "second_factor" in client.session
    assert not gate.may_send({"COOKIE": f"sessionid={client.session.session_key}"})


@pytest.mark.parametrize(
    "headers", [{}, {"COOKIE": "sessionid=made-up"}, {"COOKIE": "\x00;;="}, {"AUTHORIZATION": "Basic x"}]
)
def test_nobody_may(headers):
    assert not gate.may_send(headers)


def test_while_the_warehouse_hangs_the_gate_gives_up_and_says_so(monkeypatch):
    def hang(_):
        raise OperationalError("canceling statement due to statement timeout")

    monkeypatch.setattr(gate.tokens, "find", hang)
    monkeypatch.setattr(gate, "connection", connection.copy())
    with pytest.raises(UnaskedError):
        gate.may_send({"AUTHORIZATION": "Bearer made-up"})


def test_a_warehouse_that_did_not_answer_is_left_alone_for_a_while_whoever_sends_heads(monkeypatch):
    questions = []

    def hang(plain):
        questions.append(plain)
        raise OperationalError("canceling statement due to statement timeout")

    monkeypatch.setattr(gate, "connection", connection.copy())
    with monkeypatch.context() as hanging:
        hanging.setattr(gate.tokens, "find", hang)
        for number in range(40):
            with pytest.raises(UnaskedError):
                gate.may_send({"AUTHORIZATION": f"Bearer {number}"})
    assert questions == ["0"]
    _, plain = tokens.issue(make_user("ada", Role.RUNNER), "x", ["ingest"], timezone.now() + timedelta(days=1))
    gate._rest.until_s -= gate.REST_S
    assert gate.may_send({"AUTHORIZATION": f"Bearer {plain}"})


def test_only_the_connection_of_the_gate_has_short_time_outs():
    own = connection.copy()
    before = dict(connection.settings_dict["OPTIONS"])
    HASTEN(own)
    with own.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("1s",)
        HASTEN(own)
        assert own.connection is not None  # it stays open
    own.close()
    assert connection.settings_dict["OPTIONS"] == before
