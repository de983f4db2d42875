import pytest

from benchhub.bench.models import Experiment

pytestmark = pytest.mark.django_db


def test_a_plan_recurs_by_a_rule_that_is_paused_resumed_and_ended(runner, waiting):
    sent = {"experiment": waiting.pk, "weekdays": [0, 6], "starts_at": "22:00", "zone": "Europe/Berlin"}
    created = runner.send("post", "recurrences/", sent)
    assert created.status_code == 201, created.content
    assert created.json()["sentence"] == "Every Monday and Sunday at 22:00, Europe/Berlin"
    address = f"recurrences/{created.json()['id']}/"
    assert runner.send("get", address).json()["state"] == "active"
    for name, state in (("pause", "paused"), ("resume", "active"), ("end", "ended")):
        assert runner.send("post", f"{address}{name}/").json()["state"] == state
    assert runner.send("post", "recurrences/", {**sent, "until": "2020-01-01"}).status_code == 422
    assert runner.send("post", "recurrences/", {**sent, "zone": "Nowhere/Atlantis"}).status_code == 422


def test_what_a_rule_has_queued_is_listed_by_its_key(runner, waiting):
    sent = {"experiment": waiting.pk, "weekdays": [0], "starts_at": "22:00"}
    key = runner.send("post", "recurrences/", sent).json()["id"]
    assert runner.send("get", f"experiments/?occasion_of={key}").json()["results"] == []
    Experiment.objects.filter(pk=waiting.pk).update(occasion_of=key)
    [row] = runner.send("get", f"experiments/?occasion_of={key}").json()["results"]
    assert (row["id"], row["occasion_of"]) == (waiting.pk, key)
