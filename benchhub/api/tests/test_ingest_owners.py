"""Whose results are whose: nobody changes a curve of somebody else's by what they import."""

import csv
import json
import tarfile
from io import BytesIO, StringIO

import pytest
from django.urls import reverse

from benchhub.accounts import rights
from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.api.bench.deliveries import EXAMPLE
from benchhub.api.conftest import program
from benchhub.bench.models import Delivery, Experiment, Run
from benchhub.catalog.models import Configuration, Host, Workload

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner(hardware):
    Configuration.objects.create(name="defaults", settings={"fsync": "on"})
    parameters = {"script": "select-only", "query_mode": "simple", "scale": 10}
    Workload.objects.create(name="select-only", tool="pgbench", parameters=parameters)
    return make_user("ci", Role.RUNNER)


def deliver(user, **changes):
    sent = json.loads(json.dumps(EXAMPLE))
    sent["system"]["hardware"] = "Box"
    return program(user, "ingest", "read", "run").send("post", "deliveries/", {**sent, **changes})


def test_nobody_adds_a_result_to_the_experiment_of_another(owner):
    assert deliver(owner).status_code == 201
    refused = deliver(make_user("rival", Role.RUNNER))
    assert refused.status_code == 422
    [error] = refused.json()["errors"]
    assert error["pointer"] == "/experiment"
    assert error["detail"].startswith("ci has imported the results of 'nightly of main' under these conditions")
    assert (Run.objects.count(), Delivery.objects.count()) == (1, 1)
    assert deliver(make_user("rita", Role.RUNNER), experiment="of my own").status_code == 201


def test_its_owner_and_administrators_add_to_it(owner):
    for user in (owner, owner, make_user("ada", Role.ADMINISTRATOR)):
        assert deliver(user).status_code == 201
    assert Experiment.objects.get().runs.count() == 3


def test_a_result_of_a_host_that_benchhub_reaches_takes_a_permit_for_it(owner):
    name = EXAMPLE["system"]["host"]
    host = Host.objects.create(name=name, address="192.0.2.1", username="bench")
    refused = deliver(owner)
    assert refused.status_code == 422
    [error] = refused.json()["errors"]
    assert error["pointer"] == "/system/host" and "take a permit to run there" in error["detail"]
    assert not Run.objects.exists() and not Experiment.objects.exists()
    assert deliver(make_user("permitted", Role.RUNNER, host)).status_code == 201


def test_who_imported_a_result_sets_it_aside_and_no_other_runner_does(owner, client):
    deliver(owner)
    run = Run.objects.get()
    address, reason = reverse("run-set-aside", args=[run.pk]), {"reason": "The wrong build."}
    client.force_login(make_user("rival", Role.RUNNER))
    assert client.post(address, reason).status_code == 403
    run.refresh_from_db()
    assert run.set_aside_at is None
    client.force_login(owner)
    assert client.post(address, reason).status_code == 302
    run.refresh_from_db()
    assert run.set_aside_at is not None
    assert program(owner, "run").send("post", f"runs/{run.pk}/put-back/").status_code == 200


def test_who_is_a_viewer_by_now_sets_no_import_of_their_own_aside(owner, client):
    deliver(owner)
    run = Run.objects.get()
    token = program(owner, "run")
    rights.give_role(owner, Role.VIEWER)
    client.force_login(owner)
    address, reason = reverse("run-set-aside", args=[run.pk]), {"reason": "The wrong build."}
    answers = [
        client.get(address),
        client.post(address, reason),
        client.post(reverse("run-put-back", args=[run.pk])),
        token.send("post", f"runs/{run.pk}/set-aside/", reason),
        token.send("post", f"runs/{run.pk}/put-back/"),
    ]
    assert [answer.status_code for answer in answers] == [403] * 5
    run.refresh_from_db()
    assert run.set_aside_at is None


def test_what_an_administrator_set_aside_is_not_put_back_by_who_imported_it(owner, client):
    deliver(owner)
    run = Run.objects.get()
    ada = program(make_user("ada", Role.ADMINISTRATOR), "run", "admin")
    assert ada.send("post", f"runs/{run.pk}/set-aside/", {"reason": "Invented."}).status_code == 200
    assert program(owner, "run").send("post", f"runs/{run.pk}/put-back/").status_code == 403
    client.force_login(owner)
    assert client.post(reverse("run-put-back", args=[run.pk])).status_code == 403
    run.refresh_from_db()
    assert run.set_aside_at is not None
    assert ada.send("post", f"runs/{run.pk}/put-back/").status_code == 200


HOSTILE_FACTS = [
    {"cpu": {"sockets": True, "cores_per_socket": 10**30, "cpus": "x", "core_kinds": [{"cores": {}, "name": []}]}},
    {"cpu": {"sockets": 10**400, "threads_per_core": 10**400}, "kernel": 10**4000},
    {"cpu": [1], "dmi": 5, "filesystems": [{"folder": 5, "name": {}}, {"folder": None}], "os": [[]]},
    {"filesystems": [{"folder": {"a": 1}, "disks": [None], "rests_on": {"x": 1}}], "a_epoch_s": 1e300},
    {"cpu": {"version_num": 1e308, "log_sampling_rate": 5e-324, "x_time": 1e308}, "memory_bytes": 10**4000},
]


@pytest.mark.parametrize("facts", HOSTILE_FACTS)
def test_facts_that_no_host_has_make_no_page_fail(owner, client, facts):
    assert deliver(owner, facts={"ci-1": facts}).status_code == 201
    client.force_login(owner)
    run = Run.objects.get()
    curve = f"{run.experiment_id}-{run.system_id}"
    addresses = [f"/runs/{run.pk}/", f"/experiments/{run.experiment_id}/", f"/compare/?curve={curve}"]
    addresses += [f"/api/v1/comparisons/document/?curve={curve}", "/", "/leaderboard/"]
    assert {address: client.get(address).status_code for address in addresses} == dict.fromkeys(addresses, 200)


def test_settings_that_a_spreadsheet_would_take_for_formulas_are_texts_in_the_bundle(owner, client):
    deliver(owner, settings={"application_name": "=HYPERLINK(1)", "\tcmd": "\r=1"})
    client.force_login(owner)
    bundle = client.get(reverse("run-bundle", args=[Run.objects.get().pk]))
    with tarfile.open(fileobj=BytesIO(bundle.getvalue())) as files:
        [name] = [name for name in files.getnames() if name.endswith("settings-as-found.csv")]
        rows = list(csv.reader(StringIO(files.extractfile(name).read().decode(), newline="")))
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert "'=HYPERLINK(1)" in [cell for row in rows for cell in row]
