import pytest

from benchhub.bench import testing

pytestmark = pytest.mark.django_db


def test_telemetry_of_sysstat_is_added_with_its_source_and_removed(admin_client, experiment):
    testing.dated(run := experiment.runs.filter(clients=8).first())
    address, kind = f"/api/v1/runs/{run.pk}/telemetry/", "application/vnd.sysstat+json"
    answer = admin_client.post(address, testing.sysstat_json(), content_type=kind)
    assert (answer.status_code, answer.json()["host"], answer.json()["outside_count"]) == (201, "box", 0)
    series = admin_client.get(f"/api/v1/runs/{run.pk}/series/").json()
    assert series["telemetry_source"]["by"] == "admin"
    assert "cpu_user" in {item["metric"] for item in series["telemetry"]}
    refused = admin_client.post(address, b"\x96\xd5\x75\x21", content_type=kind)
    assert (refused.status_code, "sadf -j -- -A saNN" in refused.json()["detail"]) == (422, True)
    assert admin_client.post(address, b"{}", content_type="application/json").status_code == 415
    assert admin_client.delete(address).status_code == 204
    assert admin_client.delete(address).status_code == 409
    assert admin_client.get(f"/api/v1/runs/{run.pk}/series/").json()["telemetry"] == []
