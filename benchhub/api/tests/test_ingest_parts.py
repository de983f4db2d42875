"""Outputs of several runs in one delivery: each whole run becomes a result, or all are refused by line."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.api.bench.deliveries import EXAMPLE
from benchhub.api.conftest import program
from benchhub.bench.models import Delivery, Run
from benchhub.catalog.models import Configuration, Workload
from runners.tools.pgbench.testing import RECORDED, recorded

pytestmark = pytest.mark.django_db
PRINTED = EXAMPLE["output"]["stdout"]
REPORT = (RECORDED / "sysbench-1.0.20-oltp_read_write.txt").read_text()


@pytest.fixture
def courier(hardware):
    Configuration.objects.create(name="defaults", settings={"fsync": "on"})
    for name, tool, parameters in (
        ("select-only", "pgbench", {"script": "select-only", "query_mode": "simple", "scale": 10}),
        ("oltp", "sysbench", {"script": "oltp_read_write", "tables": 4, "table_size": 50_000}),
    ):
        Workload.objects.create(name=name, tool=tool, parameters=parameters)
    return program(make_user("ci", Role.RUNNER), "ingest", "read")


def of_clients(clients):
    """Return the example's output as of so many clients and threads, at 1,000 TPS for each client."""
    latency = "latency average = 1.000 ms"
    text = PRINTED.replace("clients: 8", f"clients: {clients}").replace("threads: 8", f"threads: {clients}")
    text = text.replace("processed: 1200000", f"processed: {clients * 60_000}").replace(
        "latency average = 0.400 ms", latency
    )
    return text.replace("tps = 20004.000000", f"tps = {clients * 1000:.6f}")


def result_of(*texts, **changes):
    sent = json.loads(json.dumps(EXAMPLE))
    sent["system"]["hardware"] = "Box"
    sent = {**sent, "output": {**sent["output"], "stdout": "".join(texts)}, **changes}
    return {name: value for name, value in sent.items() if value is not None}


def refusal(courier, sent):
    [fault] = courier.send("post", "deliveries/", sent).json()["errors"]
    assert not Run.objects.exists() and not Delivery.objects.exists()
    return fault["pointer"], fault["detail"]


def test_clients_that_are_left_out_are_taken_from_the_output(courier):
    assert courier.send("post", "deliveries/", result_of(of_clients(8), clients=None)).status_code == 201
    assert Run.objects.get().clients == 8


def test_a_sweep_in_one_file_becomes_a_result_for_each_run(courier):
    texts = [f"### {clients} clients\n{of_clients(clients)}" for clients in (1, 8, 16)]
    answer = courier.send("post", "deliveries/", result_of(*texts, clients=None))
    assert answer.status_code == 201, answer.content
    runs = list(Run.objects.order_by("position"))
    assert answer.json()["runs"] == [run.pk for run in runs]
    assert [(run.clients, run.threads, run.repeat, run.result.throughput) for run in runs] == [
        (1, 1, 1, 1000.0), (8, 8, 1, 8000.0), (16, 16, 1, 16000.0),
    ]  # fmt: skip
    begun = parse_datetime(EXAMPLE["measured_at"])
    assert [(run.started_at - begun).total_seconds() for run in runs] == [0, 60, 120]
    assert runs[2].result.remarks[-1] == (
        "Run 3 of 3 in one text, at line 28. When it began is reckoned from the runs before it."
    )
    assert b"clients: 8" not in bytes(runs[2].attempts.get().evidence.get(name="out.log").content)


def test_repeats_in_one_file_become_repeats(courier):
    assert courier.send("post", "deliveries/", result_of(*[of_clients(8)] * 3)).status_code == 201
    assert [run.repeat for run in Run.objects.order_by("position")] == [1, 2, 3]


def test_several_reports_of_sysbench_are_told_apart_too(courier):
    sent = result_of(REPORT, REPORT, workload="oltp", clients=None, duration_s=15, client_version="1.0.20")
    assert courier.send("post", "deliveries/", sent).status_code == 201
    assert [run.result.throughput for run in Run.objects.all()] == [1306.21, 1306.21]


def test_runs_of_other_clients_than_were_sent_are_refused_by_line(courier):
    pointer, detail = refusal(courier, result_of(of_clients(1), of_clients(8), of_clients(16)))
    assert pointer == "/output/stdout"
    where = "It holds 3 runs, beginning at lines 1, 13 and 25"
    assert detail == f"{where}, of 1, 8 and 16 clients, not all of 8: deliver each on its own."


@pytest.mark.parametrize("cut", [5, 9, 11])
def test_a_cut_summary_refuses_all_with_its_line(courier, cut):
    head = "".join(of_clients(8).splitlines(keepends=True)[:cut])
    for line, texts in ((1, (head, of_clients(8))), (13, (of_clients(8), head))):
        pointer, detail = refusal(courier, result_of(*texts, clients=None))
        assert pointer in ("/output", "/clients")
        assert detail.startswith(f"The run that begins at line {line}: ")


def test_what_cannot_be_shared_out_is_refused(courier):
    texts = [of_clients(8)] * 2
    assert refusal(courier, result_of(*texts, repeat=2)) == (
        "/repeat",
        "The output holds 2 runs: leave the repeat out.",
    )
    output = {"stdout": "".join(texts)}
    pointer, detail = refusal(courier, result_of(output={**output, "files": {"latency.hist": "x"}}))
    assert (pointer, "its files are of one" in detail) == ("/output/stdout", True)
    pointer, detail = refusal(courier, result_of(output={**output, "stderr": "pgbench: error: client 3 aborted\n"}))
    assert (pointer, "stderr cannot be told apart" in detail) == ("/output/stdout", True)


def test_more_runs_than_can_have_ended_are_refused(courier):
    begun = (timezone.now() - timedelta(seconds=90)).isoformat()
    sent = result_of(*[of_clients(8)] * 3, measured_at=begun)
    assert refusal(courier, sent)[0] == "/measured_at"


def test_streams_that_are_both_of_two_runs_are_shared_out(courier):
    outputs = recorded("18", "progress")
    sent = result_of(
        outputs.stdout.decode() * 2, clients=None, duration_s=3, client_version="18.4",
        thread_rule="clients/2", workload="prepared",
    )  # fmt: skip
    parameters = {"script": "select-only", "query_mode": "prepared", "scale": 1}
    Workload.objects.create(name="prepared", tool="pgbench", parameters=parameters)
    sent["output"]["stderr"] = outputs.stderr.decode() * 2
    sent["system"]["postgresql"] = "18.4"
    answer = courier.send("post", "deliveries/", sent)
    assert answer.status_code == 201, answer.content
    series = [run.series.get(metric="tps").values for run in Run.objects.all()]
    assert len(series) == 2 and series[0] == series[1] and len(series[0]) == 3


def test_an_output_that_says_no_clients_needs_them(courier):
    text = "\n".join(line for line in of_clients(8).splitlines() if not line.startswith("number of clients"))
    assert refusal(courier, result_of(text, clients=None)) == (
        "/clients", "Write how many clients there were: no output says it.",
    )  # fmt: skip
