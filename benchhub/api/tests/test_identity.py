"""A delivery whose output states that it is of another run is refused with the field, and nothing is stored."""

from __future__ import annotations

import pytest

from benchhub.api.tests.delivered import RECORDED, delivery, faults, recorded
from benchhub.bench.models import Result, Run
from benchhub.catalog.models import Workload

pytestmark = pytest.mark.django_db
PLAIN = {"16": "16.14", "15": "15.18", "18": "18.4", "14": "14.1", "13": "13.4"}


@pytest.mark.parametrize("version", PLAIN)
def test_a_recording_of_each_version_is_stored_as_what_it_is(courier, version):
    assert courier.send("post", "deliveries/", recorded(version, "plain", "reads", PLAIN[version])).status_code == 201
    assert Result.objects.get().doubts == []


@pytest.mark.parametrize(
    ("case", "workload", "changes", "pointer", "sentence"),
    [
        ("vacuumed", "reads", {"clients": 2, "thread_rule": "1"}, "/workload",
         "The output is of the built-in tpcb-like, not of the built-in select-only."),
        ("plain", "reads, prepared", {}, "/workload", "The output is of query mode simple, not of prepared."),
        ("plain", "reads", {"client_version": "18.1"}, "/client_version",
         "The output is of pgbench 15.18 (Debian 15.18-0+deb12u1), not of 18.1."),
        ("plain", "reads", {"system": "16.0"}, "/system/postgresql",
         "The output is of a server of PostgreSQL 15.18, not of 16.0."),
        ("plain", "reads", {"duration_s": 60}, "/duration_s", "The output is of 1 s, not of 60."),
        ("plain", "reads", {"clients": 8}, "/clients", "The output is of 4 clients, not of 8."),
        ("plain", "reads", {"thread_rule": "clients"}, "/thread_rule", "The output is of 2 threads, not of 4."),
        ("several_scripts", "reads", {"clients": 2}, "/workload",
         "The output is of the file a.sql (weight 3), the file b.sql (weight 1), not of the built-in select-only."),
    ],
)  # fmt: skip
def test_a_field_that_the_output_contradicts_is_named_with_both(courier, case, workload, changes, pointer, sentence):
    sent = recorded("15", case, workload, "15.18", **{name: changes[name] for name in changes if name != "system"})
    sent["system"]["postgresql"] = changes.get("system", "15.18")
    assert (pointer, sentence) in faults(courier, sent)


def test_all_fields_that_are_wrong_are_named_at_once(courier):
    sent = recorded("16", "plain", "TPC-B", "18.1", clients=9, duration_s=5, thread_rule="clients")
    assert [pointer for pointer, _ in faults(courier, sent)] == [
        "/client_version", "/system/postgresql", "/workload", "/workload", "/clients", "/duration_s",
    ]  # fmt: skip


def test_a_server_that_a_later_program_names_is_held_against_the_delivery(courier):
    text = (RECORDED / "18" / "plain" / "out.log").read_text()
    text = text.replace("pgbench (18.4)", "pgbench (18.4, server 13.23 (Debian 13.23-0+deb11u1))")
    sent = delivery(text, "reads", "18.4")
    sent["system"]["postgresql"] = "16.0"
    [(pointer, sentence)] = faults(courier, sent)
    assert pointer == "/system/postgresql"
    assert sentence == "The output is of a server of PostgreSQL 13.23 (Debian 13.23-0+deb11u1), not of 16.0."
    sent["system"]["postgresql"] = "13.23"
    assert courier.send("post", "deliveries/", sent).status_code == 201


HAMMERDB = """\
HammerDB CLI v4.12
Vuser 1:Test complete, Taking end Transaction Count.
Vuser 1:2 Active Virtual Users configured
Vuser 1:TEST RESULT : System achieved 59078 NOPM from 134370 {} TPM
"""
GO_TPC = """\
[Current] NEW_ORDER - Takes(s): 5.0, Count: 2059, TPM: 24825.7, Sum(ms): 5581.1, Avg(ms): 2.7
Finished
[Summary] NEW_ORDER - Takes(s): 30.0, Count: 13239, TPM: 26495.3, Sum(ms): 33076.6, Avg(ms): 2.5
tpmC: 26495.3, tpmTotal: 58897.5, efficiency: 206028.5%
"""
BENCHBASE = """\
[INFO ] 2026-01-31 02:01:00,123 [main]  com.oltpbenchmark.DBWorkload runWorkload - ======================
[INFO ] 2026-01-31 02:01:00,124 [main]  com.oltpbenchmark.DBWorkload runWorkload - Rate limited reqs/s: Results(\
state=EXIT, nanoSeconds=60000000000, measuredRequests=28510) = 475.1 requests/sec (throughput), 472.2 (goodput)
"""
SYSBENCH = (RECORDED / "sysbench-1.0.20-oltp_read_write.txt").read_text()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (HAMMERDB.format("PostgreSQL"), "HammerDB against PostgreSQL"),
        (HAMMERDB.format("SQL Server"), "HammerDB against SQL Server"),
        (GO_TPC, "go-tpc"),
        (BENCHBASE, "BenchBase"),
        (SYSBENCH, "sysbench"),
        (f"$ sysbench oltp_read_write --db-driver=mysql run\n{SYSBENCH}", "sysbench against MySQL"),
    ],
)
def test_the_output_of_another_program_is_named_for_what_it_is(courier, text, name):
    [(pointer, sentence)] = faults(courier, delivery(text, "reads", "18.1"))
    assert pointer == "/output"
    assert sentence.startswith(f"It is the output of {name}, but the workload is one of pgbench. ")


def test_what_can_be_read_is_sent_to_a_workload_of_its_own(courier):
    [(_, sentence)] = faults(courier, delivery(SYSBENCH, "reads", "18.1"))
    assert sentence.endswith("Name a workload of sysbench.")
    [(_, sentence)] = faults(courier, recorded("16", "plain", "oltp", "16.14"))
    assert sentence.endswith("the workload is one of sysbench. Name a workload of pgbench and tatp.")
    [(_, sentence)] = faults(courier, delivery(GO_TPC, "reads", "18.1"))
    assert sentence.endswith("BenchHub reads pgbench, tatp and sysbench.")
    [(_, sentence)] = faults(courier, delivery("nothing that is known", "reads", "18.1"))
    assert sentence.startswith("It is not the output of a run that ended well.")


def test_a_report_of_sysbench_is_held_against_its_delivery(courier):
    sent = delivery(SYSBENCH, "oltp", "18.1", client_version="1.0.20", duration_s=15, thread_rule="clients")
    assert [pointer for pointer, _ in faults(courier, {**sent, "client_version": "1.0.18"})] == ["/client_version"]
    assert [pointer for pointer, _ in faults(courier, {**sent, "duration_s": 30})] == ["/duration_s"]
    on_mysql = {"stdout": f"$ sysbench oltp_read_write --mysql-host=db run\n{SYSBENCH}"}
    assert faults(courier, {**sent, "output": on_mysql}) == [
        ("/workload", "The output is of a run on MySQL, not of one on PostgreSQL.")
    ]
    Workload.objects.create(name="points", tool="sysbench", parameters={"script": "oltp_point_select"})
    [(pointer, sentence)] = faults(courier, {**sent, "workload": "points"})
    assert pointer == "/workload"
    assert sentence == (
        "The output is of transactions of 14 reads and 4 writes, not of 1 and 0, as oltp_point_select sends."
    )
    assert courier.send("post", "deliveries/", sent).status_code == 201


def test_a_connection_for_each_transaction_is_named_where_the_workload_has_one_for_each_client(courier):
    sent = recorded("16", "connect_each", "reads", "16.14", clients=2)
    assert (
        "/workload",
        "The output is of one connection for each transaction, not of one for each client.",
    ) in faults(courier, sent)


@pytest.mark.parametrize("case", ["one_killed", "all_killed", "table_dropped", "one_killed_transactions"])
def test_an_aborted_run_is_refused_by_either_stream_or_by_both_in_one(courier, case):
    folder = RECORDED / "ended" / f"16-{case}"
    stdout, stderr, merged = ((folder / name).read_text() for name in ("out.log", "err.log", "merged.log"))
    for output in ({"stdout": stdout, "stderr": stderr}, {"stdout": stdout, "returncode": 2}, {"stdout": merged}):
        sent = delivery("", "reads", "16.14", duration_s=3, output=output)
        assert ("/output", "It is not the output of a run that ended well. pgbench was aborted") in [
            (pointer, sentence.partition(":")[0].partition(" and said")[0])
            for pointer, sentence in faults(courier, sent)
        ]


def test_a_result_whose_end_was_not_seen_says_so_and_is_not_doubtful(courier, client):
    folder = RECORDED / "ended" / "16-whole"
    stdout, stderr = ((folder / name).read_text() for name in ("out.log", "err.log"))
    sent = delivery("", "reads", "16.14", duration_s=2)
    assert courier.send("post", "deliveries/", {**sent, "output": {"stdout": stdout}}).status_code == 201
    first = Run.objects.get()
    assert any(remark.startswith("Its end was not seen") for remark in first.result.remarks)
    assert (first.result.doubts, first.attempts.get().returncode) == ([], None)
    for output in ({"stdout": stdout, "stderr": stderr}, {"stdout": stdout, "returncode": 0}):
        assert courier.send("post", "deliveries/", {**sent, "output": output}).status_code == 201
        run = Run.objects.latest("pk")
        assert not any("end was not seen" in remark for remark in run.result.remarks)
    answer = courier.send("get", f"runs/{first.pk}/").json()
    assert any("Its end was not seen" in remark for remark in answer["result"]["remarks"])
