import gzip
import importlib
import json
import sys
from pathlib import Path

import pytest
from django.apps import apps
from django.urls import reverse

from benchhub.accounts import tokens
from benchhub.accounts.models import Answer
from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.api.bench.deliveries import EXAMPLE
from benchhub.api.conftest import program
from benchhub.bench.models import Delivery, Evidence, Experiment, Result, Run, System
from benchhub.bench.plan.testing import FREE_FORM
from benchhub.bench.results.imports import store as import_store
from benchhub.catalog.models import Configuration, Host, Instance, Workload

pytestmark = pytest.mark.django_db
RECORDED = Path(__file__).resolve().parents[3] / "runners" / "tools" / "recorded"
NUMBERS = {"throughput": 1234.5, "unit": "TPS", "latency_average_ms": 6.48}


@pytest.fixture
def catalogue(hardware):
    Configuration.objects.create(name="defaults", settings={"fsync": "on"})
    return Workload.objects.create(
        name="select-only", tool="pgbench", parameters={"script": "select-only", "query_mode": "simple", "scale": 10}
    )


@pytest.fixture
def courier(catalogue):
    return program(make_user("ci", Role.RUNNER), "ingest", "read")


def make_result(**changes):
    """A result with the output of the example, on hardware that is in the catalogue."""
    sent = json.loads(json.dumps(EXAMPLE))
    sent["system"]["hardware"] = "Box"
    return {**sent, **changes}


def numbers(**changes):
    sent = make_result(**{"numbers": {**NUMBERS}, **changes})
    del sent["output"]
    return sent


def send_lines(courier, *lines, **more):
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return courier.post("/api/v1/deliveries/", text, content_type="application/x-ndjson", **more)


def test_printed_output_becomes_a_run_with_its_result_and_its_raw_text(courier):
    answer = courier.send("post", "deliveries/", make_result())
    assert answer.status_code == 201, answer.content
    run = Run.objects.get()
    assert (answer.json()["runs"], answer.json()["by"], answer.json()["token"]) == ([run.pk], "ci", "ci")
    assert (run.state, run.clients, run.threads, run.repeat, run.source) == (
        "succeeded", 8, 8, 1, "https://ci.example.org/jobs/4711",
    )  # fmt: skip
    assert (run.result.throughput, run.result.unit, run.result.parser) == (20004.0, "TPS", "pgbench/7")
    assert run.result.latency_average_ms == 0.4
    assert Evidence.objects.get().text == EXAMPLE["output"]["stdout"]
    assert (run.ended_at - run.started_at).total_seconds() == 60


def test_it_is_marked_everywhere_as_imported_and_that_is_no_doubt(courier, client):
    courier.send("post", "deliveries/", make_result())
    run = Run.objects.get()
    client.force_login(make_user("vera", Role.VIEWER))
    page_text = client.get(reverse("run", args=[run.pk])).content.decode()
    assert (
        "ci imported it from" in page_text
        and "brought in" not in page_text
        and "https://ci.example.org/jobs/4711" in page_text
    )
    assert ">imported</span>" in client.get(reverse("experiments")).content.decode()
    page = client.get(reverse("experiment", args=[run.experiment_id])).content.decode()
    assert (
        "BenchHub did not see them. Imported by ci from https://ci.example.org/jobs/4711." in page
        and "Run it again" not in page
    )
    answer = courier.send("get", f"runs/{run.pk}/").json()
    assert answer["provenance"] == "Imported by ci from https://ci.example.org/jobs/4711: BenchHub did not see the run."
    assert run.result.doubts == []
    [curve] = courier.send("get", f"experiments/{run.experiment_id}/curves/").json()[0]["curves"]
    assert (curve["is_imported"], curve["levels"][0]["doubts"]) == (True, [])
    comparison = client.get(reverse("compare"), {"curve": curve["key"]}).content.decode()
    assert "was imported from https://ci.example.org/jobs/4711: BenchHub did not see these runs." in comparison
    table = client.get(reverse("compare"), {"curve": curve["key"], "csv": "levels"}).content.decode()
    assert table.splitlines()[1].endswith(",imported from https://ci.example.org/jobs/4711,,0")


def test_a_stored_doubt_of_having_been_imported_becomes_provenance_and_the_run_is_judged(courier):
    failures = ("failed transactions: 0 (0.000%)", "failed transactions: 6161350 (83.700%)")
    printed = EXAMPLE["output"]["stdout"].replace(*failures)
    courier.send("post", "deliveries/", make_result(output={"stdout": printed}))
    other = {"code": "settings_differ", "text": "fsync was off, although on was asked for."}
    Result.objects.update(doubts=[{"code": "brought_in", "text": "Measured elsewhere."}, other])
    migration = importlib.import_module("benchhub.bench.migrations.0002_imports_are_provenance")
    for _ in range(2):  # what was migrated stays as it is
        migration.make_provenance(apps, None)
        assert [doubt["code"] for doubt in Result.objects.get().doubts] == ["settings_differ", "failures"]
    assert Run.objects.get().provenance_text.startswith("Imported by ci from https://ci.example.org/jobs/4711")


def test_failed_transactions_of_an_import_are_doubted_as_those_of_an_own_run(courier):
    printed = EXAMPLE["output"]["stdout"].replace(
        "failed transactions: 0 (0.000%)", "failed transactions: 6161350 (83.700%)"
    )
    assert courier.send("post", "deliveries/", make_result(output={"stdout": printed})).status_code == 201
    run = Run.objects.get()
    [text] = [doubt["text"] for doubt in run.result.doubts if doubt["code"] == "failures"]
    assert text == (
        "6,161,350 transactions failed (84% of all): the server worked on them, and they are in no throughput. A "
        "log of errors, where there is one, may say why."
    )
    [curve] = courier.send("get", f"experiments/{run.experiment_id}/curves/").json()[0]["curves"]
    assert text in curve["levels"][0]["doubts"]


@pytest.mark.parametrize("version", ["15", "16", "18"])
def test_recorded_output_of_real_versions_is_read(courier, version):
    text = (RECORDED / version / "plain" / "out.log").read_text()
    clients = int(text.partition("number of clients: ")[2].partition("\n")[0])
    threads = text.partition("number of threads: ")[2].partition("\n")[0]
    scale = int(text.partition("scaling factor: ")[2].partition("\n")[0])
    parameters = {"script": "select-only", "query_mode": "simple", "scale": scale}
    Workload.objects.create(name="recorded", tool="pgbench", parameters=parameters)
    release = text.partition("pgbench (")[2].partition(")")[0].split()[0]
    sent = make_result(workload="recorded", client_version=release, clients=clients, thread_rule=threads, duration_s=1)
    sent |= {"system": {**sent["system"], "postgresql": release}, "output": {"stdout": text}}
    answer = courier.send("post", "deliveries/", sent)
    assert answer.status_code == 201, answer.content
    assert f"tps = {Result.objects.get().throughput:.6f}" in text


@pytest.fixture
def tatp(courier):
    """Return the files of a run of TATP: 2 s of warm-up, 6 s measured, 4 clients on 2 threads."""
    Workload.objects.create(name="tatp", tool="tatp", parameters={"subscribers": 100_000})
    names = ("tatp.messages", "tatp.told", "tatp.before", "tatp.after")
    files = {name: (RECORDED / "tatp-16" / name).read_text() for name in names}
    files["tatp.latency"] = gzip.decompress((RECORDED / "tatp-16" / "tatp.latency.gz").read_bytes()).decode()
    how = {"workload": "tatp", "clients": 4, "thread_rule": "2", "duration_s": 6, "warmup_s": 2}
    return make_result(**how, output={"stdout": "", "files": files})


def test_what_tatp_left_becomes_a_run_with_its_mqth_its_latencies_and_its_files(courier, tatp):
    answer = courier.send("post", "deliveries/", tatp)
    assert answer.status_code == 201, answer.content
    run = Run.objects.get()
    ended = 18474.5 + 16685.6 + 23570.8 + 21309.4 + 25891.4 + 17606.9  # of seconds 3 to 8, as tatp.messages has them
    assert (run.result.unit, run.result.throughput) == ("MQTh", pytest.approx((ended - 4303) / 6))
    assert run.result.latency_p99_ms and run.histograms.exists() and run.series.exists()
    texts = {file.name: file.text for file in Evidence.objects.all()}
    assert texts == tatp["output"]["files"]
    [curve] = courier.send("get", f"experiments/{run.experiment_id}/curves/").json()[0]["curves"]
    assert (curve["unit"], curve["levels"][0]["clients"]) == ("MQTh", 4)


def test_tatp_without_what_was_told_or_of_another_number_of_clients_is_refused(courier, tatp):
    summary = "number of clients: 8\nnumber of threads: 2\nnumber of transactions actually processed: 1\n"
    summary += "latency average = 1.0 ms\ntps = 1.0 (without initial connection time)\n"
    other = {**tatp, "output": {**tatp["output"], "stdout": summary}}
    assert "of 8 clients, not of 4" in courier.send("post", "deliveries/", other).json()["errors"][0]["detail"]
    del tatp["output"]["files"]["tatp.told"]
    [fault] = courier.send("post", "deliveries/", tatp).json()["errors"]
    assert (fault["pointer"], "there is no tatp.told" in fault["detail"]) == ("/output", True)
    assert not Run.objects.exists()


def test_a_recorded_report_of_sysbench_is_read_and_its_threads_are_its_clients(courier):
    parameters = {"script": "oltp_read_write", "tables": 4, "table_size": 50_000}
    Workload.objects.create(name="oltp", tool="sysbench", parameters=parameters)
    text = (RECORDED / "sysbench-1.0.20-oltp_read_write.txt").read_text()
    sent = make_result(workload="oltp", clients=4, duration_s=15, client_version="1.0.20", output={"stdout": text})
    wrong = courier.send("post", "deliveries/", {**sent, "clients": 8})
    assert wrong.json()["errors"] == [{"pointer": "/clients", "detail": "The output is of 4 clients, not of 8."}]
    assert not Run.objects.exists()
    assert courier.send("post", "deliveries/", sent).status_code == 201
    result = Result.objects.get()
    assert (result.throughput, result.unit, result.latency_average_ms) == (1306.21, "TPS", 3.06)
    assert result.run.histograms.count() == 1


@pytest.mark.parametrize("name", ["../secret", "out.log", "", "a b", "x" * 61])
def test_a_file_of_a_name_that_is_none_is_refused(courier, name):
    sent = make_result()
    sent["output"]["files"] = {name: "x"}
    answer = courier.send("post", "deliveries/", sent)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/output/files")
    assert not Run.objects.exists()


def test_output_of_another_run_than_said_is_refused(courier):
    answer = courier.send("post", "deliveries/", make_result(clients=4))
    assert answer.status_code == 422
    assert answer.json()["errors"] == [{"pointer": "/clients", "detail": "The output is of 8 clients, not of 4."}]
    assert not Run.objects.exists() and not Delivery.objects.exists()


def test_a_log_of_tatp_that_holds_another_share_than_was_said_is_refused(courier, tatp):
    """The recorded log has each of the 119,236 transactions that count, and not 1 of 5."""
    output = {**tatp["output"], "log_sampling_rate": 0.2}
    [fault] = courier.send("post", "deliveries/", {**tatp, "output": output}).json()["errors"]
    assert fault["pointer"] == "/output/log_sampling_rate"
    assert fault["detail"].endswith("which is no sample of 1 of 5.")
    assert not Run.objects.exists()


def test_output_of_numbers_that_no_run_can_have_is_refused(courier, tatp):
    printed = EXAMPLE["output"]["stdout"]
    endless = make_result(output={"stdout": printed.replace("tps = 20004", f"tps = {'9' * 400}")})
    assert endless["output"]["stdout"] != printed
    files = tatp["output"]["files"]
    states = ({**files, "tatp.before": "-1|-5|-2|-7"}, {**files, "tatp.after": f"{'9' * 400}|1|1|1"})
    for sent in (endless, *({**tatp, "output": {"stdout": "", "files": damaged}} for damaged in states)):
        [fault] = courier.send("post", "deliveries/", sent).json()["errors"]
        assert fault["pointer"] == "/output"
    assert not Run.objects.exists()


def test_output_of_a_run_that_failed_never_becomes_a_point(courier):
    answer = courier.send("post", "deliveries/", make_result(output={"stdout": "", "stderr": "boom", "returncode": 1}))
    assert answer.status_code == 422
    lost = courier.send("post", "deliveries/", make_result(output={"stdout": "x", "returncode": 0}))
    assert "did not" in lost.json()["detail"] or lost.status_code == 422
    assert not Run.objects.exists()


def test_parsed_numbers_keep_the_line_that_they_came_in(courier):
    assert courier.send("post", "deliveries/", numbers()).status_code == 201
    result = Result.objects.get()
    assert (result.throughput, result.latency_average_ms, result.parser) == (1234.5, 6.48, "numbers/1")
    assert json.loads(Evidence.objects.get(name="brought.json").text)["numbers"] == NUMBERS
    wrong = courier.send("post", "deliveries/", numbers(numbers={**NUMBERS, "unit": "NOPM"}))
    assert "counts in TPS" in wrong.json()["errors"][0]["detail"]


def test_results_of_one_experiment_stand_together_and_get_the_next_repeat(courier):
    for _ in range(2):
        courier.send("post", "deliveries/", numbers())
    courier.send("post", "deliveries/", numbers(clients=16))
    other = numbers(duration_s=30)
    courier.send("post", "deliveries/", other)
    first, second = Experiment.objects.order_by("pk")
    assert (first.client_levels, first.repeats) == ([8, 16], 2)
    assert list(first.runs.order_by("pk").values_list("clients", "repeat")) == [(8, 1), (8, 2), (16, 1)]
    assert (second.name, second.duration_s, second.runs.count()) == (first.name, 30, 1)
    assert System.objects.count() == 1


def test_hosts_and_servers_that_are_never_seen_are_offered_by_no_plan(courier, client):
    courier.send("post", "deliveries/", numbers())
    host, instance = Host.objects.get(), Instance.objects.get()
    assert (host.name, host.trust, host.private_key) == ("ci-1", "elsewhere", "")
    assert instance.retired_at is not None
    client.force_login(make_user("ada", Role.ADMINISTRATOR))
    assert "ci-1" not in client.get(FREE_FORM).content.decode()
    assert client.get(reverse("host", args=[host.pk])).status_code == 200


def test_many_lines_are_stored_in_one_delivery(courier):
    lines = [numbers(clients=clients) for clients in (1, 2, 4)] + [make_result()]
    answer = send_lines(courier, *lines)
    assert (answer.status_code, answer.json()["run_count"]) == (201, 4), answer.content
    deliveries = courier.send("get", "deliveries/").json()["results"]
    assert [(row["by"], row["run_count"]) for row in deliveries] == [("ci", 4)]
    assert Run.objects.filter(delivery=deliveries[0]["id"]).count() == 4


def test_lines_with_faults_are_named_by_number_and_nothing_is_stored(courier):
    answer = send_lines(
        courier,
        numbers(),
        "{broken",
        "",
        numbers(clients=0),
        numbers(measured_at="2026-01-31"),
        numbers(colour="red"),
        numbers(clients=2),
    )
    problem = answer.json()
    faults = {(fault["line"], fault["pointer"]) for fault in problem["errors"]}
    assert (answer.status_code, faults) == (
        422,
        {(2, ""), (4, "/clients"), (5, "/measured_at"), (6, "/colour")},
    )
    assert "4 lines have faults" in problem["detail"]
    assert not Run.objects.exists() and not Host.objects.exists()


def test_faults_of_every_kind_are_named_at_once(courier):
    unit = numbers(numbers={**NUMBERS, "unit": "NOPM"})
    answer = send_lines(
        courier, unit, "{broken", numbers(workload="nothing"), make_result(clients=4), numbers(colour="red")
    )
    faults = [(fault["line"], fault["pointer"]) for fault in answer.json()["errors"]]
    assert faults == [(1, "/numbers/unit"), (2, ""), (3, "/workload"), (4, "/clients"), (5, "/colour")]
    assert "5 lines have faults" in answer.json()["detail"]
    assert not Experiment.objects.exists() and not Host.objects.exists()


def test_a_request_without_a_line_says_so(courier):
    kind = "application/x-ndjson"  # Django's test client names none for an empty body
    for text in ("", "\n \n"):
        answer = courier.post("/api/v1/deliveries/", text, content_type=kind, CONTENT_TYPE=kind)
        assert (answer.status_code, "There is no line in it" in answer.json()["detail"]) == (422, True)


def test_what_the_catalogue_does_not_know_is_named_by_line(courier):
    unknown = numbers()
    unknown["system"]["hardware"] = "Toaster"
    answer = send_lines(courier, numbers(), unknown, numbers(workload="nothing"))
    faults = [(fault["line"], fault["pointer"]) for fault in answer.json()["errors"]]
    assert faults == [(2, "/system/hardware"), (3, "/workload")]
    assert "add it first" in answer.json()["errors"][0]["detail"]
    assert not Experiment.objects.exists()


def test_a_repeat_that_is_there_refuses_the_whole_request(courier):
    assert courier.send("post", "deliveries/", numbers(repeat=1)).status_code == 201
    answer = send_lines(courier, numbers(repeat=2), numbers(repeat=1))
    assert [(fault["line"], fault["pointer"]) for fault in answer.json()["errors"]] == [(2, "/repeat")]
    assert Run.objects.count() == 1 and Delivery.objects.count() == 1


def test_settings_as_found_are_held_against_the_configuration(courier):
    courier.send("post", "deliveries/", numbers(settings={"fsync": "off"}, facts={"kernel": "6.1"}))
    run = Run.objects.get()
    assert [row["name"] for row in run.found.differences] == ["fsync"]
    assert run.found.host == {"kernel": "6.1"}
    assert any(doubt["code"] == "settings_differ" for doubt in run.result.doubts)


def test_text_that_the_warehouse_cannot_keep_is_refused(courier):
    for bad in ('"\\u0000"', '"\\ud800"', "NaN", "1e999", "[" * 100_000):
        line = json.dumps(numbers()).replace('"nightly of main"', bad)
        assert send_lines(courier, line).status_code == 422, bad
    assert courier.post("/api/v1/deliveries/", b"\xff\xfe", content_type="application/x-ndjson").status_code == 422
    assert send_lines(courier, "", "").status_code == 422


def test_a_key_makes_a_delivery_once(courier):
    for _ in range(2):
        answer = send_lines(courier, numbers(), headers={"Idempotency-Key": "job-1"})
        assert answer.status_code == 201
    assert Run.objects.count() == 1


def test_a_delivery_whose_process_ends_leaves_nothing_and_sent_again_with_its_key_is_stored_once(courier, monkeypatch):
    monkeypatch.setattr(import_store, "PART_LINES", 1)
    lines, headers = [numbers(clients=clients) for clients in (1, 2)], {"Idempotency-Key": "job-2"}
    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(import_store._Parts, "stored", sys.exit)
        send_lines(courier, *lines, headers=headers)
    assert not Run.objects.exists() and not Delivery.objects.exists() and not Answer.objects.exists()
    assert [send_lines(courier, *lines, headers=headers).status_code for _ in range(2)] == [201, 201]
    assert (Run.objects.count(), Delivery.objects.count()) == (2, 1)


def test_only_the_scope_ingest_brings_results_in(catalogue):
    for scopes in (["read"], ["run"], ["admin"]):
        other = program(make_user(f"not {scopes[0]}", Role.ADMINISTRATOR), *scopes)
        assert other.send("post", "deliveries/", numbers()).status_code == 403
    viewer = program(make_user("vera", Role.VIEWER), *tokens.SCOPES)
    assert viewer.send("post", "deliveries/", numbers()).status_code == 403
    assert not Run.objects.exists()


def test_a_thousand_lines_take_few_queries(courier, django_assert_max_num_queries):
    lines = [numbers(clients=clients) for clients in range(1, 201)]
    with django_assert_max_num_queries(60):
        assert send_lines(courier, *lines).status_code == 201
