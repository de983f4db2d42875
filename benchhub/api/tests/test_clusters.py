"""Clusters of BenchHub's own by the API: asked for, looked at and removed, by whoever has a permit for the host."""

import pytest
from django.utils import timezone

from benchhub.accounts import tokens
from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.api.conftest import program
from benchhub.bench import testing
from benchhub.bench.plan.systems import system_under_test
from benchhub.catalog.models import Cluster, Configuration

pytestmark = pytest.mark.django_db


@pytest.fixture
def box():
    return testing.probed_host("18.4")


@pytest.fixture
def sent(box):
    configuration = Configuration.objects.create(name="As found")
    return {"host": box.pk, "name": "tuned", "build": "/opt/pg18/bin", "configuration": configuration.pk}


@pytest.fixture
def runner(box):
    return program(make_user("rosa", Role.RUNNER, box), *tokens.SCOPES)


def test_a_cluster_is_asked_for_with_the_usual_options_of_initdb(runner, sent):
    answer = runner.send("post", "clusters/", sent)
    assert answer.status_code == 202, answer.content
    body = answer.json()
    assert (body["wanted"], body["has_checksums"], body["wal_segment_mib"]) == ("make", True, 16)
    cluster = Cluster.objects.get()
    assert runner.send("get", f"clusters/{cluster.pk}/").json()["folder"] == cluster.folder
    assert cluster.mark not in answer.content.decode().replace(cluster.folder, "")


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [({"host": 0}, "/host"), ({"host": 999}, "/host"), ({"folder": "x"}, "/folder"), ({"build": "/no"}, "/build")],
)
def test_what_is_no_cluster_is_refused_with_its_field(runner, sent, changes, pointer):
    answer = runner.send("post", "clusters/", {**sent, **changes})
    assert answer.status_code == 422
    assert pointer in answer.content.decode()
    assert not Cluster.objects.exists()


def test_it_is_removed_only_while_no_run_needs_it(runner, sent, box):
    runner.send("post", "clusters/", sent)
    Cluster.objects.update(wanted="", made_at=timezone.now())
    cluster = Cluster.objects.get()
    assert runner.send("post", f"clusters/{cluster.pk}/ask/", {"purpose": "remove"}).status_code == 422
    assert runner.send("post", f"clusters/{cluster.pk}/ask/", {"purpose": "look"}).json()["wanted"] == "look"
    assert runner.send("post", f"clusters/{cluster.pk}/remove/", {}).status_code == 409  # it is looked at first
    Cluster.objects.update(wanted="")
    place = {"driver": box, "hardware": box.hardware, "path": "socket", "label": "tuned"}
    system = system_under_test(cluster.instance, **place)
    run = testing.make_run(testing.make_experiment([system]), system, 1, 1)
    assert f"Run {run.pk} needs it" in runner.send("post", f"clusters/{cluster.pk}/remove/", {}).json()["detail"]
    testing.ended(run, "succeeded")
    assert runner.send("post", f"clusters/{cluster.pk}/remove/", {}).json()["wanted"] == "remove"


def test_its_copies_are_listed_and_discarded(runner, sent):
    runner.send("post", "clusters/", sent)
    Cluster.objects.update(wanted="", made_at=timezone.now())
    cluster = Cluster.objects.get()
    row = {"recipe": {"tool": "pgbench"}, "size_bytes": 2**26, "loaded_s": 40, "copied_s": 3}
    cluster.copies.create(key="a" * 32, **row)
    cluster.copies.create(key="b" * 32, is_there=False, **row)
    [copy] = runner.send("get", f"clusters/{cluster.pk}/").json()["copies"]
    assert (copy["key"], copy["loaded_s"], copy["restored_s"]) == ("a" * 32, 40.0, None)
    assert runner.send("post", f"clusters/{cluster.pk}/ask/", {"purpose": "discard"}).json()["wanted"] == "discard"


def test_a_runner_of_another_host_makes_and_removes_none(runner, sent):
    runner.send("post", "clusters/", sent)
    Cluster.objects.update(wanted="")
    key = Cluster.objects.get().pk
    stranger = program(make_user("otto", Role.RUNNER, testing.make_host("other", "192.0.2.9")), *tokens.SCOPES)
    acts = (("clusters/", {**sent, "name": "b"}), (f"clusters/{key}/ask/", {"purpose": "stop"}))
    for path, body in (*acts, (f"clusters/{key}/remove/", {})):
        answer = stranger.send("post", path, body)
        assert answer.status_code == 403 and "permit" in answer.json()["detail"], path
    assert Cluster.objects.get().wanted == ""


def test_where_it_lies_is_not_changed(sent, box):
    admin = program(make_user("ada", Role.ADMINISTRATOR), *tokens.SCOPES)
    admin.send("post", "clusters/", sent)
    key = Cluster.objects.get().instance_id
    assert admin.send("patch", f"instances/{key}/", {"port": 5433}).status_code == 422
    assert admin.send("patch", f"instances/{key}/", {"name": "renamed"}).json()["name"] == "renamed"
