"""Every operation, tried by an outsider, a viewer, a runner of another host, and a token that lacks the scope."""

import json

import pytest

from benchhub.accounts import tokens
from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.api.conftest import Api, program
from benchhub.api.testing import described
from benchhub.bench import testing

# operation -> scope it takes. A new operation fails the first test until it stands here.
READ = """
GET hosts/ hosts/{id}/ builds/ builds/{id}/ instances/ instances/{id}/ hardware/ hardware/{id}/ configurations/
configurations/{id}/ workloads/ workloads/{id}/ licence-models/ licence-models/{id}/ price-sheets/ price-sheets/{id}/
prices/ prices/{id}/ exchange-rates/ exchange-rates/{id}/ systems/ systems/{id}/ experiments/ experiments/{id}/
experiments/{id}/curves/ runs/ runs/{id}/ runs/{id}/series/ runs/{id}/found/ runs/{id}/events/ runs/{id}/evidence/
runs/{id}/log/{stream}/ reservations/ reservations/{id}/ windows/ windows/{id}/ comparisons/
recurrences/ recurrences/{id}/
deliveries/ deliveries/{id}/ kept-comparisons/ kept-comparisons/{id}/ snapshots/ snapshots/{id}/
snapshots/{id}/document/ snapshots/{id}/today/ snapshots/{id}/review/ links/ links/{id}/
published-reports/ published-reports/{id}/
declarations/ declarations/{id}/ presets/ presets/{id}/ designs/ designs/{id}/
snapshots/{id}/files/{name}/ runs/{id}/bundle/ comparisons/document/ tuning-steps/ published-reports/{id}/document/
leaderboard/ price-sheets/{id}/csv/ account/ tokens/ tokens/{id}/ queue/ curves/ experiments/{id}/growth/
runs/{id}/evidence/{file}/ laboratory/ source-builds/ source-builds/{id}/
source-builds/{id}/log/{number}/ clusters/ clusters/{id}/ inspections/ inspections/{id}/
tuning-series/ tuning-series/{id}/ tuning-series/{id}/effects/
"""
RUN = """
POST experiments/ experiments/plan/ experiments/{id}/cancel/ experiments/{id}/rerun/ experiments/{id}/again/
experiments/{id}/pause/ experiments/{id}/resume/ experiments/{id}/move/ runs/{id}/cancel/ runs/{id}/rerun/
hosts/{id}/probe/ hosts/{id}/pause/ hosts/{id}/resume/ reservations/ windows/
kept-comparisons/ kept-comparisons/{id}/publish/ snapshots/{id}/links/ links/{id}/pause/ links/{id}/resume/
links/{id}/revoke/ published-reports/{id}/publish/ runs/{id}/set-aside/ runs/{id}/put-back/ experiments/{id}/repeats/
declarations/ declarations/{id}/withdraw/ presets/{id}/plan/ designs/{id}/cancel/ designs/{id}/again/
recurrences/ recurrences/{id}/pause/ recurrences/{id}/resume/ recurrences/{id}/end/
clusters/ clusters/{id}/ask/ clusters/{id}/remove/ inspections/
source-builds/ source-builds/{id}/again/ source-builds/{id}/cancel/ source-builds/{id}/remove/
tuning-series/ tuning-series/plan/
PUT experiments/{id}/tags/
PATCH experiments/{id}/ kept-comparisons/{id}/
DELETE reservations/{id}/ windows/{id}/
"""
INGEST = "POST deliveries/ runs/{id}/telemetry/ DELETE runs/{id}/telemetry/"
ADMIN = """
GET webhooks/ webhooks/{id}/ notices/ notices/{id}/ users/ users/{id}/ audit-log/ audit-log/{id}/
POST users/ tokens/{id}/revoke/ licence-models/preview/ price-sheets/preview/
hosts/ hosts/{id}/look/ hosts/{id}/approve/ hosts/{id}/new-key/
instances/ instances/{id}/retire/ instances/{id}/show-again/
hardware/ hardware/{id}/revise/ hardware/{id}/retire/ hardware/{id}/show-again/
configurations/ configurations/{id}/revise/ configurations/{id}/retire/ configurations/{id}/show-again/
workloads/ workloads/{id}/revise/ workloads/{id}/retire/ workloads/{id}/show-again/
licence-models/ licence-models/{id}/revise/ licence-models/{id}/retire/ licence-models/{id}/show-again/
price-sheets/ price-sheets/{id}/revise/ price-sheets/{id}/retire/ price-sheets/{id}/show-again/
prices/ prices/{id}/take-back/ exchange-rates/ webhooks/
PATCH hosts/{id}/ instances/{id}/ webhooks/{id}/ users/{id}/
DELETE hosts/{id}/ instances/{id}/ webhooks/{id}/
"""
# What a runner without a permit is refused, with a body that names the other's host or experiment.
ON_A_HOST = """
POST experiments/{id}/cancel/ experiments/{id}/rerun/ experiments/{id}/again/ experiments/{id}/pause/
experiments/{id}/resume/ experiments/{id}/move/ runs/{id}/cancel/ runs/{id}/rerun/ hosts/{id}/probe/
hosts/{id}/pause/ hosts/{id}/resume/ reservations/ windows/ runs/{id}/set-aside/ runs/{id}/put-back/
runs/{id}/telemetry/ experiments/{id}/repeats/ recurrences/
PATCH experiments/{id}/
"""
BODIES = {
    "experiments/{id}/move/": {"direction": "up"},
    "reservations/": {"host": 1, "start": "2030-01-01T00:00", "end": "2030-01-02T00:00"},
    "recurrences/": {"experiment": 1, "weekdays": [0], "starts_at": "01:00"},
    "windows/": {"host": 1, "weekdays": [0], "starts_at": "01:00", "ends_at": "02:00"},
}
pytestmark = pytest.mark.django_db


def listed(table):
    method = ""
    for word in table.split():
        if word.isupper():
            method = word.lower()
        else:
            yield method, word


TABLE = {
    operation: scope
    for table, scope in ((READ, "read"), (RUN, "run"), (INGEST, "ingest"), (ADMIN, "admin"))
    for operation in listed(table)
}


def filled(path, pk):
    # The token that asks is not to revoke itself, and no token changes an administrator, whatever its scopes.
    key = 0 if path.startswith(("tokens/", "users/")) else pk
    return path.format(id=key, stream="out", name="data.json", file=1, number=1)


def test_every_operation_stands_in_the_table():
    assert set(described()) == set(TABLE)


def test_the_description_names_the_scope_that_the_table_says():
    wrong = [
        operation
        for operation, scope in TABLE.items()
        if f"scope `{scope}`" not in described()[operation]["description"]
    ]
    assert wrong == []


def test_an_outsider_is_refused_everything(client):
    stranger = Api("bh_nobody-knows-this")
    for method, path in TABLE:
        for outsider in (stranger, client):
            answer = getattr(outsider, method)(f"/api/v1/{filled(path, 1)}")
            assert (answer.status_code, answer["Content-Type"]) == (401, "application/problem+json"), path
            assert answer["WWW-Authenticate"].startswith("Bearer")


def test_a_viewer_reads_everything_and_changes_nothing():
    viewer = program(make_user("vera", Role.VIEWER), *tokens.SCOPES)  # scopes that the role does not allow
    for (method, path), scope in TABLE.items():
        answer = viewer.send(method, filled(path, 1), {} if method != "get" else None)
        assert (answer.status_code == 403) == (scope != "read"), (method, path, answer.content)


def test_a_runner_changes_no_catalogue_and_no_host():
    runner = program(make_user("rosa", Role.RUNNER, everywhere=True), *tokens.SCOPES)
    for (method, path), scope in TABLE.items():
        answer = runner.send(method, filled(path, 1), {} if method != "get" else None)
        assert (answer.status_code == 403) == (scope == "admin"), (method, path, answer.content)


def test_a_token_without_the_scope_opens_nothing_whatever_its_owner_may():
    owner = make_user("ada", Role.ADMINISTRATOR)
    for held in tokens.SCOPES:
        caller = program(owner, held)
        for (method, path), scope in TABLE.items():
            answer = caller.send(method, filled(path, 1), {} if method != "get" else None)
            assert (answer.status_code == 403) == (scope != held), (held, method, path)


def test_a_runner_of_another_host_is_refused_each_act_on_this_one(host, waiting):
    other = testing.make_host("other", "192.0.2.7")
    runner = program(make_user("rosa", Role.RUNNER, other), *tokens.SCOPES)
    keys = {"hosts": host.pk, "runs": waiting.runs.get().pk}
    for method, path in listed(ON_A_HOST):
        own = {"host": host.pk, "experiment": waiting.pk}
        body = {name: own.get(name, value) for name, value in BODIES.get(path, {}).items()}
        answer = runner.send(method, filled(path, keys.get(path.split("/")[0], waiting.pk)), body)
        assert answer.status_code == 403, (method, path, answer.content)
        assert "permit" in answer.json()["detail"]
    host.refresh_from_db()
    waiting.refresh_from_db()
    assert host.paused_at is None and waiting.paused_at is None
    assert waiting.runs.get().cancel_asked_at is None


def test_a_plan_on_a_host_without_a_permit_is_refused_beside_its_system(host, hardware, waiting):
    other = testing.make_host("other", "192.0.2.7")
    runner = program(make_user("rosa", Role.RUNNER, other), "run")
    plan = {
        "name": "x",
        "workload": waiting.workload_id,
        "levels": "1",
        "systems": [{"instance": instance_of(waiting), "hardware": hardware.pk}],
    }
    answer = runner.send("post", "experiments/", plan)
    assert answer.status_code == 422
    assert {"pointer": "/systems/0/instance", "detail": refusal(host)} in answer.json()["errors"]


def instance_of(experiment):
    return experiment.systems.get().instance_id


def refusal(host):
    return f"Your account has no permit to run on {host}: ask an administrator for one."


def test_a_page_session_may_write_only_with_the_token_against_forgery():
    from django.test import Client

    strict = Client(enforce_csrf_checks=True)
    strict.force_login(make_user("ada", Role.ADMINISTRATOR))
    assert strict.get("/api/v1/hosts/").status_code == 200
    answer = strict.post("/api/v1/prices/", json.dumps({}), content_type="application/json")
    assert answer.status_code == 403 and "CSRF" in answer.json()["detail"]
