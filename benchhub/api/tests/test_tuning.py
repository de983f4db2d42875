import pytest

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.api.conftest import program
from benchhub.bench import testing
from benchhub.bench.models import Experiment, TuningSeries
from benchhub.bench.tuning.testing import make_cluster, make_workload, with_helper
from benchhub.reports.tuning.testing import CUMULATIVE, make_series

pytestmark = pytest.mark.django_db
STEPS = [
    {"name": "memory", "settings": {"shared_buffers": "2GB"}},
    {"name": "wal", "settings": {"max_wal_size": "16GB"}},
]


@pytest.fixture
def own():
    return make_cluster(testing.probed_host("18"))


@pytest.fixture
def caller(own):
    return program(make_user("rosa", Role.RUNNER, own.host), "read", "run")


@pytest.fixture
def request_body(own):
    return {"name": "Night", "instance": own.pk, "workload": make_workload().pk, "steps": STEPS}


def test_a_series_is_planned_and_queued_as_on_its_page(caller, request_body):
    answer = caller.send("post", "tuning-series/", {**request_body, "repeats": 5})
    assert answer.status_code == 202, answer.content
    row = caller.get(answer.json()["url"]).json()
    assert [step["name"] for step in row["steps"]] == ["memory", "wal"]
    assert (row["kind"], row["planned_count"], row["ended_count"]) == ("cumulative", 15, 0)
    effects = caller.send("get", f"tuning-series/{row['id']}/effects/").json()
    assert (effects["best"], effects["is_whole"]) == (None, False)
    assert [step["text"] for step in effects["steps"]] == ["no result yet"] * 2


def test_a_plan_is_looked_at_without_saving_anything(caller, request_body):
    testing.make_worker()
    body = {**request_body, "kind": "factorial", "size": 4}
    plan = caller.send("post", "tuning-series/plan/", body).json()
    assert plan["configurations"] == ["baseline", "memory", "wal", "memory + wal"]
    assert (plan["run_count"], plan["design"], plan["mixed"]) == (13, "2^2, full", [])
    assert not TuningSeries.objects.exists()
    assert not Experiment.objects.exists()


def test_a_step_sets_the_operating_system_where_the_host_lets_it(caller, own, request_body):
    steps = [STEPS[0], {"name": "swapping", "os_settings": {"vm.swappiness": "1"}}]
    refused = caller.send("post", "tuning-series/", {**request_body, "steps": steps})
    assert [fault["pointer"] for fault in refused.json()["errors"]] == ["/steps/1/os_settings"]
    with_helper(own.host)
    answer = caller.send("post", "tuning-series/", {**request_body, "steps": steps})
    assert answer.status_code == 202, answer.content
    rows = caller.get(answer.json()["url"]).json()["steps"]
    assert [row["os_settings"] for row in rows] == [{}, {"vm.swappiness": "1"}]


def test_what_is_wrong_is_named_by_step(caller, request_body):
    steps = [{"name": "memory", "settings": {"shared_bufers": "2GB"}}]
    answer = caller.send("post", "tuning-series/", {**request_body, "steps": steps})
    assert answer.status_code == 422
    [fault] = answer.json()["errors"]
    assert fault["pointer"] == "/steps/0/settings"
    assert "Is shared_buffers meant?" in fault["detail"]
    assert not TuningSeries.objects.exists()


def test_a_runner_of_another_host_queues_no_series(own, request_body):
    other = program(make_user("otto", Role.RUNNER, testing.make_host("other", "192.0.2.9")), "read", "run")
    assert other.send("post", "tuning-series/", request_body).status_code in (403, 422)
    assert not TuningSeries.objects.exists()


def test_the_effects_are_those_of_the_page_with_the_best_settings(systems):
    series = make_series(systems[0], CUMULATIVE)
    viewer = program(make_user("vera", Role.VIEWER), "read")
    effects = viewer.send("get", f"tuning-series/{series.pk}/effects/").json()
    assert effects["sentence"] == "Best: steps 1 to 2, +12.0% (11.5 to 12.5%) over the baseline."
    assert [step["verdict"] for step in effects["steps"]] == ["more", "not distinguishable", "more"]
    assert effects["total"]["ratio"] == pytest.approx(2.128, rel=1e-4)
    assert effects["systems"][3]["less_durable"] == "synchronous_commit = off"
    assert effects["files"][0]["name"] == "postgresql.conf"
    assert "shared_buffers = '4GB'" in effects["files"][0]["text"]
    assert "synchronous_commit" not in effects["files"][0]["text"]
