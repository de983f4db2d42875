"""Requests made up from the description, to every operation: no fault, and no answer that it does not describe."""

import os

import pytest
import schemathesis
import yaml
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, settings
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.pytest.lazy import get_all_tests

from benchhub.accounts import tokens
from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.api.conftest import program
from benchhub.bench import testing
from benchhub.catalog.models import Hardware
from benchhub.wsgi import application
from conftest import CLONE, WHOLE

# `make test-api` and `make test-whole` make up 40 each, and besides a wrong value for each field alone: some minutes.
EXAMPLES = int(os.environ.get("API_EXAMPLES", "40" if WHOLE else "1"))
IS_THOROUGH = EXAMPLES >= 40
SETTINGS = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
METHODS = {"get", "post", "put", "patch", "delete"}
PATHS = yaml.load((CLONE / "docs" / "openapi.yaml").read_text(), yaml.CSafeLoader)["paths"]
OPERATIONS = [(path, method) for path, operations in PATHS.items() for method in operations if method in METHODS]
pytestmark = [pytest.mark.long, pytest.mark.django_db]


@pytest.fixture(scope="module")
def whole_schema():
    schema = schemathesis.openapi.from_dict(SchemaGenerator().get_schema(request=None, public=True))
    schema.app = application
    schema.config.phases.coverage.enabled = IS_THOROUGH
    # It would look through all modules of the application for values to try, once for each operation.
    schema.config.analysis.constants.enabled = IS_THOROUGH
    return schema


@pytest.fixture(autouse=True)
def one_connection():
    """Keep the connection of the test, in whose transaction all requests are: Django would close it after each."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture(scope="module")
def authorization(django_db_setup, django_db_blocker):
    """A token that opens everything, in a warehouse that has rows of most kinds: the same before each test."""
    with django_db_blocker.unblock(), transaction.atomic():
        host, hardware = testing.make_host(), Hardware.objects.create(name="Box", sockets=2, cores_per_socket=10)
        systems = [testing.make_system(version, host, hardware) for version in ("16", "18")]
        testing.with_everything(testing.make_two_curves(systems).runs.filter(clients=8).first())
        testing.make_run(testing.make_experiment(systems[:1], name="Waiting"), systems[0], 1, 1)
        yield program(make_user("ada", Role.ADMINISTRATOR), *tokens.SCOPES).defaults["HTTP_AUTHORIZATION"]
        transaction.set_rollback(True)


def check_answer(case, authorization):
    answer = case.call(headers={"Authorization": authorization, "Accept-Encoding": "identity"})
    case.validate_response(answer, checks=CHECKS)  # raises where the description does not name what came
    assert answer.status_code < 500


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_answer_is_described(path, method, whole_schema, authorization):
    """Requests are made up here and not while tests are collected: there, each process would make up all for 20 s."""
    operation_schema = whole_schema.include(path=path, method=method.upper())
    [built] = get_all_tests(schema=operation_schema, test_func=check_answer, settings=SETTINGS, given_kwargs=None)
    _, test = built.ok()
    test(authorization=authorization)


def test_no_operation_is_left_out(whole_schema):
    operations = {(operation.ok().path, operation.ok().method) for operation in whole_schema.get_all_operations()}
    assert operations == set(OPERATIONS)
