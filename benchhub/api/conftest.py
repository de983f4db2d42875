from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from benchhub.accounts import tokens
from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.catalog.models import Hardware

ALL = {Role.VIEWER: ["read"], Role.RUNNER: ["read", "run", "ingest"], Role.ADMINISTRATOR: list(tokens.SCOPES)}


class Api(Client):
    """A program with a token, that speaks JSON."""

    def __init__(self, plain: str) -> None:
        super().__init__(headers={"Authorization": f"Bearer {plain}"}, raise_request_exception=True)

    def send(self, method, path, data=None, **more):
        if data is not None:
            more |= {"data": data, "content_type": "application/json"}
        return getattr(self, method)(f"/api/v1/{path}", **more)


def program(user, *scopes):
    _, plain = tokens.issue(user, "ci", list(scopes), timezone.now() + timedelta(days=1))
    return Api(plain)


def pointers(answer):
    """Return where the faults are that an answer names."""
    assert answer["Content-Type"] == "application/problem+json", answer.content
    return [error["pointer"] for error in answer.json()["errors"]]


@pytest.fixture
def host(db):
    return testing.make_host()


@pytest.fixture
def hardware(db):
    return Hardware.objects.create(name="Box", sockets=2, cores_per_socket=10)


@pytest.fixture
def systems(host, hardware):
    return [testing.make_system(version, host, hardware) for version in ("16", "18")]


@pytest.fixture
def experiment(systems):
    return testing.make_two_curves(systems)


@pytest.fixture
def waiting(systems):
    """Return an experiment with one run in the queue."""
    experiment = testing.make_experiment(systems[:1], name="Waiting")
    testing.make_run(experiment, systems[0], 1, 1)
    return experiment


@pytest.fixture
def admin(db):
    return program(make_user("ada", Role.ADMINISTRATOR), *tokens.SCOPES)


@pytest.fixture
def runner(db, host):
    return program(make_user("rosa", Role.RUNNER, host), *ALL[Role.RUNNER])


@pytest.fixture
def viewer(db):
    return program(make_user("vera", Role.VIEWER), "read")
