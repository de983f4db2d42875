import csv
import io
import tarfile

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchhub.accounts.models import Answer
from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.api.conftest import program
from benchhub.bench import testing
from benchhub.bench.models import Evidence, Experiment, Growth, LiveLog, Reservation, Run, Webhook
from benchhub.catalog.models import Instance, LicenceModel, Workload
from benchhub.reports.testing import list_price

pytestmark = pytest.mark.django_db


def test_a_plan_is_looked_at_without_saving_anything(runner, plan):
    answer = runner.send("post", "experiments/plan/", plan)
    assert answer.status_code == 200, answer.content
    assert (answer.json()["run_count"], answer.json()["load_count"]) == (5, 1)  # 2 levels x 2 repeats, and a load
    assert Experiment.objects.count() == 1


def test_an_experiment_is_queued_and_answered_with_where_to_look(runner, plan):
    answer = runner.send("post", "experiments/", plan, headers={"Idempotency-Key": "1"})
    assert answer.status_code == 202, answer.content
    experiment = Experiment.objects.get(name="From a program")
    assert answer["Location"] == f"http://testserver/api/v1/experiments/{experiment.pk}/"
    assert (experiment.created_by.username, experiment.runs.count(), experiment.warmup_s) == ("rosa", 5, 10)
    looked = runner.get(answer["Location"]).json()
    assert (looked["is_over"], looked["run_count"], looked["created_by"]) == (False, 5, "rosa")
    runner.send("post", "experiments/", plan, headers={"Idempotency-Key": "1"})
    assert Experiment.objects.filter(name="From a program").count() == 1


def test_what_is_wrong_with_a_plan_is_named_by_its_pointer(runner, plan):
    wrong = {**plan, "levels": "none", "systems": [{"instance": 999}]}
    answer = runner.send("post", "experiments/", wrong)
    pointers = {error["pointer"] for error in answer.json()["errors"]}
    assert (answer.status_code, pointers) == (422, {"/levels", "/systems/0/instance"})
    assert runner.send("post", "experiments/", {**plan, "systems": []}).status_code == 422


def test_a_level_with_too_few_clients_for_a_load_shape_is_refused_by_the_workload(runner, plan):
    own = {**testing.PARAMETERS, "load_shape": "100 for 3, 400 for 2"}
    shaped = Workload.objects.create(name="burst", tool="pgbench", parameters=own)
    answer = runner.send("post", "experiments/", {**plan, "workload": shaped.pk})
    assert answer.status_code == 422, answer.content
    (error,) = answer.json()["errors"]
    assert error["pointer"] == "/workload"
    assert "needs at least 2 clients, not 1" in error["detail"]
    assert not Experiment.objects.filter(name="From a program").exists()


def test_an_experiment_is_cancelled_paused_and_moved(runner, waiting):
    assert runner.send("post", f"experiments/{waiting.pk}/pause/").json()["paused_at"]
    assert runner.send("post", f"experiments/{waiting.pk}/resume/").json()["paused_at"] is None
    assert runner.send("post", f"experiments/{waiting.pk}/move/", {"direction": "up"}).status_code == 409
    assert runner.send("patch", f"experiments/{waiting.pk}/", {"priority": 7}).json()["priority"] == 7
    cancelled = runner.send("post", f"experiments/{waiting.pk}/cancel/")
    assert (cancelled.status_code, cancelled.json()["count"]) == (202, 1)
    assert waiting.runs.get().state == "cancelled"
    assert runner.send("post", f"experiments/{waiting.pk}/cancel/").json()["count"] == 0


def test_a_run_is_cancelled_once_and_run_again_only_where_it_failed(runner, waiting, systems):
    run = waiting.runs.get()
    assert runner.send("post", f"runs/{run.pk}/cancel/").status_code == 202
    assert runner.send("post", f"runs/{run.pk}/cancel/").status_code == 409
    failed = testing.make_run(waiting, systems[0], 2, 1)
    testing.ended(failed, "failed", "no space")
    assert runner.send("post", f"runs/{run.pk}/rerun/").status_code == 409
    again = runner.send("post", f"runs/{failed.pk}/rerun/")
    assert (again.status_code, again.json()["state"]) == (202, "queued")


def test_a_run_has_its_result_and_a_failed_one_has_none(viewer, experiment, systems):
    run = experiment.runs.filter(clients=8).first()
    document = viewer.send("get", f"runs/{run.pk}/").json()
    assert (document["state"], document["result"]["throughput"], document["result"]["unit"]) == (
        "succeeded",
        980.0,
        "TPS",
    )
    failed = testing.make_run(experiment, systems[0], 16, 1)
    testing.ended(failed, "failed", "no space")
    document = viewer.send("get", f"runs/{failed.pk}/").json()
    assert (document["result"], document["reason"]) == (None, "no space")
    rows = viewer.send("get", f"runs/?state__in=failed,lost&experiment={experiment.pk}").json()["results"]
    assert [row["id"] for row in rows] == [failed.pk]


def test_a_run_is_set_aside_with_a_reason_and_put_back(runner, experiment):
    run = experiment.runs.filter(clients=8).first()
    assert runner.send("post", f"runs/{run.pk}/put-back/").status_code == 409
    assert runner.send("post", f"runs/{run.pk}/set-aside/", {"reason": ""}).status_code == 422
    document = runner.send("post", f"runs/{run.pk}/set-aside/", {"reason": "A backup ran."}).json()
    assert (document["set_aside_reason"], document["state"]) == ("A backup ran.", "succeeded")
    [group] = runner.send("get", f"experiments/{experiment.pk}/curves/").json()
    assert [level["n"] for level in group["curves"][0]["levels"]] == [2, 1]  # it was one of two at 8 clients
    assert runner.send("post", f"runs/{run.pk}/set-aside/", {"reason": "Again."}).status_code == 409
    assert runner.send("post", f"runs/{run.pk}/put-back/").json()["set_aside_at"] is None


def test_repeats_are_added_at_levels_that_the_experiment_has(runner, experiment):
    before = experiment.runs.count()
    Experiment.objects.filter(pk=experiment.pk).update(client_levels=[1, 8])
    other = runner.send("post", f"experiments/{experiment.pk}/repeats/", {"levels": "3", "repeats": 1})
    assert (other.status_code, other.json()["errors"][0]["pointer"]) == (422, "/levels")
    added = runner.send("post", f"experiments/{experiment.pk}/repeats/", {"levels": "8", "repeats": 1})
    assert added.status_code == 202, added.content
    assert experiment.runs.filter(clients=8, repeat=3).count() == 2  # one of each system
    assert experiment.runs.count() == before + added.json()["count"]


def test_an_experiment_that_grows_is_over_only_once_no_more_is_planned(runner, waiting):
    Experiment.objects.filter(pk=waiting.pk).update(grows="peak", most_runs=12)
    runner.send("post", f"runs/{waiting.runs.get().pk}/cancel/")
    document = runner.send("get", f"experiments/{waiting.pk}/").json()
    assert (document["run_count"], document["ended_count"], document["is_over"]) == (1, 1, False)
    assert runner.send("post", f"experiments/{waiting.pk}/cancel/").status_code == 202
    waiting.refresh_from_db()
    assert waiting.growth.stopped == "cancelled"
    assert runner.send("get", f"experiments/{waiting.pk}/").json()["is_over"] is True


def test_a_plan_starts_from_a_published_method_and_its_design_is_cancelled(runner, plan, host):
    names = [preset["id"] for preset in runner.send("get", "presets/").json()]
    assert names == ["report-a", "report-b"]
    values = runner.send("post", "presets/report-b/plan/").json()
    assert not Experiment.objects.filter(name=values["name"]).exists()
    queued = runner.send("post", "experiments/", {**values, "systems": plan["systems"]})
    assert queued.status_code == 202, queued.content
    assert queued["Location"] == f"http://testserver/api/v1/designs/{queued.json()['design']}/"
    design = runner.send("get", f"designs/{queued.json()['design']}/").json()
    assert (design["preset"], len(design["experiments"])) == ("report-b", 2)
    runs = Run.objects.filter(experiment__in=design["experiments"])
    assert runs.filter(kind=Run.Kind.MEASURE).count() == 2 * 9 * 5  # workloads x levels x trials
    stranger = program(make_user("otto", Role.RUNNER), "run")
    assert stranger.send("post", f"designs/{design['id']}/cancel/").status_code == 403
    assert not runs.filter(state="cancelled").exists()
    assert runner.send("post", f"designs/{design['id']}/cancel/").status_code == 202
    assert set(runs.values_list("state", flat=True)) == {"cancelled"}


def test_conditions_cross_systems_with_the_parts_of_a_design_and_all_parts_are_run_again(runner, plan):
    plan = {
        **plan,
        "systems": [{"instance": instance.pk} for instance in Instance.objects.order_by("pk")],
        "scales": "10, 20",
    }
    crossed = {**plan, "kept_only": "system=2; scale=20; clients=1"}
    assert runner.send("post", "experiments/", crossed).status_code == 202
    [part] = Experiment.objects.filter(name=plan["name"])
    assert (part.design_id, part.workload.parameters["scale"], part.kept_only) == (None, 20, ["system=2; clients=1"])
    ran = part.runs.values_list("system__instance__name", "kind", "clients").order_by("position")
    assert list(ran) == [("pg18", "load", 0), ("pg18", "measure", 1), ("pg18", "measure", 1)]
    complete = runner.send("post", "experiments/", {**plan, "left_out": "scale=10; system=1"})
    design = Experiment.objects.get(pk=complete.json()["id"]).design
    answer = runner.send("post", f"designs/{design.pk}/again/")
    assert (answer.status_code, len(answer.json()["experiments"])) == (202, 2)
    assert answer.json()["id"] != design.pk


def test_tags_are_given_by_who_may_run_on_the_hosts(experiment):
    other = program(make_user("otto", Role.RUNNER), "run")
    answer = other.send("put", f"experiments/{experiment.pk}/tags/", {"tags": ["mine"]})
    assert (answer.status_code, experiment.tags.count()) == (403, 0)


def test_tags_take_the_place_of_those_that_were_there(runner, experiment):
    address = f"experiments/{experiment.pk}/tags/"
    assert runner.send("put", address, {"tags": ["NVMe", "before  18"]}).json()["tags"] == ["NVMe", "before 18"]
    assert runner.send("put", address, {"tags": ["a,b"]}).json()["errors"][0]["pointer"] == "/tags"
    assert runner.send("put", address, {"tags": ["NVMe"]}).json()["tags"] == ["NVMe"]
    rows = runner.send("get", "experiments/?tags__name=NVMe").json()["results"]
    assert [row["id"] for row in rows] == [experiment.pk]
    assert runner.send("get", "experiments/?tags__name=before").json()["results"] == []
    assert runner.send("put", address, {"tags": []}).json()["tags"] == []


def test_everything_that_belongs_to_a_run_is_there(viewer, experiment):
    run = experiment.runs.filter(clients=8).first()
    assert viewer.send("get", f"runs/{run.pk}/found/").status_code == 404
    testing.with_everything(run)
    series = viewer.send("get", f"runs/{run.pk}/series/").json()
    assert [row["metric"] for row in series["series"]] == ["latency_average", "tps"]
    assert series["series"][1]["values"] == [900.0, 1100.0]
    assert series["histograms"][0]["counts"] == [75, 25]
    assert viewer.send("get", f"runs/{run.pk}/found/").json()["differences"][0]["asked"] == "256MB"
    assert viewer.send("get", f"runs/{run.pk}/events/").json()[-1]["new_state"] == "succeeded"
    files = viewer.send("get", f"runs/{run.pk}/evidence/").json()
    assert {file["name"]: file["text"] for file in files}["out.log"] == "tps = 1000\n"


def test_the_live_log_is_read_from_a_byte_on(viewer, waiting):
    run = waiting.runs.get()
    attempt = run.attempts.create(number=1)
    LiveLog.objects.create(attempt=attempt, stream="out", content=b"one two", end_offset=7)
    assert viewer.send("get", f"runs/{run.pk}/log/nothing/").status_code == 404
    answer = viewer.send("get", f"runs/{run.pk}/log/out/?after=4")
    assert (answer.json()["text"], answer.json()["end"]) == ("two", 7)


def test_curves_come_as_json_and_as_csv(viewer, experiment, systems):
    [group] = viewer.send("get", f"experiments/{experiment.pk}/curves/").json()
    first = group["curves"][0]
    assert (first["key"], first["unit"], first["peak_clients"]) == (f"{experiment.pk}-{systems[0].pk}", "TPS", 8)
    level = first["levels"][1]
    assert (level["clients"], level["n"], level["median"], level["lowest"]) == (8, 2, 1000.0, 980.0)
    assert level["geometric_mean"] == pytest.approx((980 * 1020) ** 0.5)
    answer = viewer.send("get", f"experiments/{experiment.pk}/curves/", headers={"Accept": "text/csv"})
    assert answer["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [float(row["geometric_mean"]) for row in rows] == pytest.approx([304.959, 999.8, 304.959, 1119.8214])


def test_a_comparison_has_ratios_and_prices(viewer, experiment, systems, hardware):
    LicenceModel.objects.create(name="Hardware only", metric="none")
    list_price("5000", hardware=hardware)
    keys = [f"{experiment.pk}-{system.pk}" for system in systems]
    answer = viewer.send("get", f"comparisons/?curve={keys[0]}&curve={keys[1]}&load=8")
    document = answer.json()
    assert (answer.status_code, document["refusal"], document["baseline"]) == (200, "", keys[0])
    [ratio] = [row for row in document["ratios"] if (row["key"], row["clients"]) == (keys[1], 8)]
    assert (ratio["ratio"], ratio["verdict"]) == (pytest.approx((1100 * 1140 / 980 / 1020) ** 0.5), "not tested")
    assert (ratio["is_highest"], ratio["is_best"], ratio["candidates"]) == (True, False, [])
    assert "1.12" in " ".join(document["findings"][1]["sentences"])
    prices = {row["key"]: row for row in document["prices"]["rows"]}
    assert prices[keys[0]]["price"].startswith("5.0") and prices[keys[0]]["currency"] == "EUR"  # 5,000 / 999.8
    assert prices[keys[0]]["total"] == "5000.00"
    assert any("999.8" in step for step in prices[keys[0]]["derivation"])


def test_a_comparison_refuses_terms_that_it_does_not_understand(viewer, experiment, systems):
    key = f"{experiment.pk}-{systems[0].pk}"
    answer = viewer.send("get", f"comparisons/?curve={key}&term=9")
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "?term")
    assert viewer.send("get", "comparisons/").status_code == 400
    assert viewer.send("get", f"comparisons/?curve={key}&colour=red").status_code == 400


def test_unlike_protocols_are_refused_with_the_reason(viewer, experiment, systems, waiting):
    other = testing.make_experiment(systems[1:], name="Other")
    from benchhub.bench.models import Protocol

    run = testing.make_run(other, systems[1], 1, 1, protocol=Protocol.stored({"path": "network"}))
    testing.succeeded(run, 100.0)
    keys = [f"{experiment.pk}-{systems[0].pk}", f"{other.pk}-{systems[1].pk}"]
    document = viewer.send("get", f"comparisons/?curve={keys[0]}&curve={keys[1]}").json()
    assert "not comparable" in document["refusal"]
    assert (document["ratios"], document["prices"]) == ([], None)


def test_periods_block_a_host_and_are_removed(runner, host):
    sent = {"host": host.pk, "start": "2030-01-01T20:00", "end": "2030-01-02T06:00", "zone": "Europe/Berlin"}
    created = runner.send("post", "reservations/", sent)
    assert (created.status_code, created.json()["start"]) == (201, "2030-01-01T19:00:00Z"), created.content
    assert runner.send("post", "reservations/", sent).status_code == 422  # it overlaps
    assert runner.send("post", "reservations/", {**sent, "host": None}).status_code == 422
    assert runner.send("delete", f"reservations/{created.json()['id']}/").status_code == 204
    weekly = {"host": host.pk, "weekdays": [5, 6], "starts_at": "00:00", "ends_at": "00:00"}
    window = runner.send("post", "windows/", weekly)
    assert window.status_code == 201, window.content
    period = Reservation.objects.filter(window=window.json()["id"]).first()
    assert runner.send("delete", f"reservations/{period.pk}/").status_code == 409
    assert runner.send("delete", f"windows/{window.json()['id']}/").status_code == 204
    assert not Reservation.objects.exists()


def test_a_webhook_shows_its_secret_once_and_what_it_was_told(admin, viewer, waiting):
    sent = {"name": "ci", "url": "https://ci.example.org/hook", "events": ["run.ended"]}
    created = admin.send("post", "webhooks/", sent)
    assert created.status_code == 201 and len(created.json()["secret"]) > 40, created.content
    admin.send("post", f"experiments/{waiting.pk}/cancel/")
    pk = created.json()["id"]
    answer = admin.send("get", f"webhooks/{pk}/")
    assert (answer.json()["target"], "secret" in answer.json()) == (sent["url"], False)
    [notice] = admin.send("get", f"notices/?webhook={pk}&state=due").json()["results"]
    assert (notice["event"], notice["state"], notice["payload"]["run"]["state"]) == ("run.ended", "due", "cancelled")
    assert notice["payload"]["run"]["address"].startswith("http://testserver/api/v1/runs/")
    assert admin.send("get", f"notices/?webhook={pk}&state=sent").json()["results"] == []
    assert viewer.send("get", "webhooks/").status_code == viewer.send("get", "notices/").status_code == 403
    assert admin.send("patch", f"webhooks/{pk}/", {"is_active": False}).json()["is_active"] is False
    private = admin.send("post", "webhooks/", {**sent, "name": "b", "url": "http://127.0.0.1/"})
    assert private.json()["errors"][0]["pointer"] == "/url"
    assert admin.send("delete", f"webhooks/{pk}/").status_code == 204


def test_the_secret_of_a_webhook_is_null_in_a_repeated_answer_and_kept_nowhere_in_plain(admin):
    data = {"name": "ci", "url": "https://ci.example.org/", "events": ["run.ended"]}
    sent = {"data": data, "headers": {"Idempotency-Key": "1"}}
    first, again = (admin.send("post", "webhooks/", **sent) for _ in range(2))
    secret = first.json()["secret"]
    assert secret and again.json() == {**first.json(), "secret": None}
    assert (again.status_code, again["Idempotent-Replayed"], again["Location"]) == (201, "true", first["Location"])
    assert Webhook.objects.get().secret == secret
    assert secret not in bytes(Answer.objects.get().body).decode()
    with connection.cursor() as cursor:
        cursor.execute("SELECT secret FROM bench_webhook")
        assert secret not in cursor.fetchone()[0]


def test_runs_are_listed_in_order_with_pages(viewer, experiment):
    page = viewer.send("get", f"runs/?experiment={experiment.pk}&ordering=clients&page_size=3").json()
    clients = [row["clients"] for row in page["results"]]
    while page["next"]:
        page = viewer.get(page["next"]).json()
        clients += [row["clients"] for row in page["results"]]
    assert clients == sorted(clients) and len(clients) == Run.objects.count() == 8


def test_a_run_is_taken_along_to_be_repeated_without_benchhub(viewer, experiment):
    run = testing.make_run(experiment, experiment.systems.first(), 2, 9, spec=testing.whole_spec())
    testing.succeeded(run, 1000.0)
    answer = viewer.send("get", f"runs/{run.pk}/bundle/", headers={"Accept": "application/json"})
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/gzip")
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as tar:
        assert f"benchhub-run-{run.pk}/2-run.sh" in tar.getnames()
    again = viewer.send("get", f"runs/{run.pk}/bundle/", headers={"If-None-Match": answer["ETag"]})
    assert again.status_code == 304
    unreadable = experiment.runs.exclude(pk=run.pk).first()  # its spec names no endpoint
    assert viewer.send("get", f"runs/{unreadable.pk}/bundle/").status_code == 409


def test_the_queue_says_what_waits_where_and_why(viewer, admin, waiting, host):
    [lane] = viewer.send("get", "queue/").json()["hosts"]
    run = waiting.runs.get()
    assert (lane["host"], lane["queued"], lane["active"]) == (host.pk, 1, [])
    assert [entry["run"] for entry in lane["waiting"]] == [run.pk]
    admin.send("post", f"hosts/{host.pk}/pause/")
    [lane] = viewer.send("get", "queue/").json()["hosts"]
    assert lane["waiting"][0]["expected_at"] is None
    assert "paused" in " ".join(lane["waiting"][0]["reasons"])


def test_an_address_that_leads_nowhere_is_a_problem_whatever_stands_in_it(viewer):
    for path in ("nothing/", "experiments/a%0Ab/curves/"):
        answer = viewer.get(f"/api/v1/{path}")
        assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")


def test_evidence_is_listed_and_each_file_comes_byte_for_byte(viewer, experiment):
    first, other = experiment.runs.filter(clients=8)[:2]
    testing.with_everything(first)
    packed = Evidence.objects.create(
        attempt=first.attempts.get(), name="log.gz", content=b"\x1f\x8b\xff", size_bytes=3, sha256="0" * 64
    )
    listed = {file["name"]: file for file in viewer.send("get", f"runs/{first.pk}/evidence/").json()}
    assert (listed["log.gz"]["id"], "\ufffd" in listed["log.gz"]["text"]) == (packed.pk, True)
    got = viewer.get(listed["log.gz"]["url"])
    assert (got.content, got["Content-Type"]) == (b"\x1f\x8b\xff", "text/plain; charset=utf-8")
    assert got["Content-Disposition"] == f'attachment; filename="run-{first.pk}-log.gz"'
    assert viewer.send("get", f"runs/{other.pk}/evidence/{packed.pk}/").status_code == 404


def test_what_a_decision_has_found_is_told_with_its_steps(viewer, systems, experiment):
    deciding = testing.make_experiment(systems, name="Which?", grows="decide", most_runs=8, precision=0.02)
    runs = [testing.make_run(deciding, system, 8, 1) for system in systems]
    ratio = {"value": 1.25, "low": 1.2, "high": 1.3, "sentence": "18 does more."}
    Growth.objects.create(experiment=deciding, steps=[{}], found=ratio, stopped="known")
    document = viewer.send("get", f"experiments/{deciding.pk}/growth/").json()
    assert (document["grows"], document["precision"], document["used"], document["budget"]) == ("decide", 0.02, 2, 8)
    assert (document["is_open"], document["stopped"], document["found"]) == (False, "known", ratio)
    assert document["steps"] == [{"runs": [run.pk for run in runs], "before": {}}]
    assert viewer.send("get", f"experiments/{experiment.pk}/growth/").status_code == 404  # it does neither


def test_finished_curves_are_found_by_what_was_measured_and_named_for_comparisons(viewer, experiment, systems, waiting):
    listed = viewer.send("get", "curves/").json()["results"]
    assert {row["experiment"] for row in listed} == {experiment.pk}  # not the one that waits
    assert [row["key"] for row in listed] == [f"{experiment.pk}-{system.pk}" for system in reversed(systems)]
    query = f"system__build={systems[0].build_id}&experiment__workload={experiment.workload_id}"
    [curve] = viewer.send("get", f"curves/?{query}").json()["results"]
    assert (curve["system"], curve["peak_clients"], curve["unit"]) == (systems[0].pk, 8, "TPS")
    assert viewer.send("get", "curves/?search=nothing+like+it").json()["results"] == []
    compared = viewer.send("get", f"comparisons/?curve={listed[0]['key']}&curve={listed[1]['key']}").json()
    assert len(compared["curves"]) == 2


def test_a_list_of_curves_asks_no_more_of_the_database_the_more_curves_there_are(viewer, experiment, systems):
    with CaptureQueriesContext(connection) as first_queries:
        viewer.send("get", "curves/?page_size=1")
    with CaptureQueriesContext(connection) as all_queries:
        viewer.send("get", "curves/")
    assert len(first_queries) == len(all_queries)
