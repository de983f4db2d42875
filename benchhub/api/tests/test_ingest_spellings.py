"""Honest deliveries as people and systems write them: each is read for what it is, or refused with what to do."""

from __future__ import annotations

import re

import pytest

from benchhub.api.tests.delivered import RECORDED, delivery, faults
from benchhub.bench.models import Experiment, Result, Run

pytestmark = pytest.mark.django_db
PLAIN = (RECORDED / "18" / "plain" / "out.log").read_text()
COUNTED = (RECORDED / "odd" / "18-transactions" / "out.log").read_text()
WARMED_UP = (RECORDED / "sysbench-1.1-warmup.txt").read_text()


def version_line(text: str, version: str) -> str:
    return text.replace("pgbench (18.4)", f"pgbench ({version})")


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + PLAIN,
        PLAIN.replace("\n", "\r\r\n"),
        "".join(f"    {line}\n" for line in PLAIN.splitlines()),
        PLAIN.replace("\n", "\x1b[0m\x1b[K  \n"),
        f"Script started on 2026-01-31 02:00:00+00:00\n$ pgbench -c 9 -j 9 bench\n{PLAIN}$ exit\nScript done\n",
        f"done in 0.21 s (drop tables 0.00 s).\n{PLAIN}\nreal\t0m1.012s\n",
    ],
)
def test_a_text_from_a_terminal_is_read_as_it_was_printed(courier, text):
    assert courier.send("post", "deliveries/", delivery(text, "reads", "18.4")).status_code == 201
    result = Result.objects.get()
    assert result.doubts == [] and result.measures["reported_clients"]["value"] == 4
    assert f"tps = {result.throughput:.6f} " in text


@pytest.mark.parametrize("prefix", ["2026-01-31T02:00:00.1234567Z ", "[02:00:01] ", "pgbench_1  | "])
def test_what_a_log_puts_before_every_line_is_no_part_of_the_text(courier, prefix):
    text = "".join(f"{prefix}{line}\n" for line in PLAIN.splitlines())
    assert courier.send("post", "deliveries/", delivery(text, "reads", "18.4")).status_code == 201
    assert f"tps = {Result.objects.get().throughput:.6f} " in text


@pytest.mark.parametrize("prefix", ["2026-01-31T02:00:00.1234567Z ", "[02:00:01] ", "pgbench_1  | "])
def test_what_stands_before_some_of_the_lines_is_refused_by_what_it_is(courier, prefix):
    first, *lines = PLAIN.splitlines()
    text = "".join([f"{first}\n", *(f"{prefix}{line}\n" for line in lines)])
    [(pointer, sentence)] = faults(courier, delivery(text, "reads", "18.4"))
    assert pointer == "/output/stdout"
    assert f"stands '{prefix}'" in sentence and "ended well" not in sentence
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("printed", "sent", "version"),
    [
        ("18.4 (Debian 18.4-1.pgdg120+1)", "18.4 (Debian 18.4-1.pgdg120+1)", "18.4"),
        ("18.4", "18.4-1.pgdg120+1", "18.4"),
        ("18.4", "PostgreSQL 18.4", "18.4"),
        ("18beta1", "18beta1", "18beta1"),
        ("18devel", "18devel", "18devel"),
    ],
)
def test_a_version_is_taken_as_a_program_prints_it(courier, printed, sent, version):
    assert courier.send("post", "deliveries/", delivery(version_line(PLAIN, printed), "reads", sent)).status_code == 201
    [run] = Run.objects.select_related("system__build")
    assert run.system.build.version == version and run.system.build.version_num // 10_000 == 18
    assert Result.objects.get().doubts == []


@pytest.mark.parametrize("sent", ["18", "eighteen", "18.4.1.2", "18.x", ""])
def test_a_version_that_cannot_be_is_refused_with_how_to_write_it(courier, sent):
    [(pointer, sentence)] = faults(courier, delivery(PLAIN, "reads", "18.4", client_version=sent))
    assert pointer == "/client_version"
    assert sent == "" or "as the program prints it: 18.1." in sentence


def test_a_thread_rule_that_was_left_out_is_what_the_output_says(courier):
    sent = delivery(PLAIN, "reads", "18.4")
    del sent["thread_rule"]
    assert courier.send("post", "deliveries/", sent).status_code == 201
    assert Run.objects.get().threads == 2
    assert Experiment.objects.get().thread_rule == "2"


@pytest.mark.parametrize(("seconds", "is_stored"), [(1, True), (60, False)])
def test_a_run_of_so_many_transactions_took_as_long_as_it_took(courier, seconds, is_stored):
    sent = delivery(COUNTED, "updates", "18.4", clients=4, thread_rule="2", duration_s=seconds)
    if is_stored:
        assert courier.send("post", "deliveries/", sent).status_code == 201
        assert Result.objects.get().doubts == []
    else:
        [(pointer, sentence)] = faults(courier, sent)
        assert pointer == "/duration_s" and sentence.startswith("The output is of about 0.125 s")


@pytest.mark.parametrize(
    ("changes", "pointer", "words"),
    [
        ({"thread_rule": "clients/2"}, "/thread_rule", "The output is of 4 threads, not of 2."),
        ({"warmup_s": 60}, "/warmup_s", "The output is of a warm-up of 2 s, not of one of 60 s."),
    ],
)
def test_threads_and_warm_up_of_sysbench_are_held_against_the_delivery(courier, changes, pointer, words):
    how = {"client_version": "1.1.0-3ceba0b", "duration_s": 4, "thread_rule": "clients", **changes}
    assert (pointer, words) in faults(courier, delivery(WARMED_UP, "oltp", "18.4", **how))


@pytest.mark.parametrize("head", [2, 3, 4, 6])
def test_a_summary_whose_head_is_lost_says_of_no_workload_and_is_refused(courier, head):
    lines = PLAIN.splitlines(keepends=True)
    [(pointer, sentence)] = faults(courier, delivery("".join(lines[head:]), "reads", "18.4"))
    assert pointer == "/output/stdout" and sentence.startswith("It is cut off: it has no line 'transaction type:'")


def test_of_two_runs_in_one_text_the_second_cannot_borrow_its_workload_from_the_first(courier):
    text = (RECORDED / "18" / "vacuumed" / "out.log").read_text()
    tail = "".join(PLAIN.replace("clients: 4", "clients: 2").splitlines(keepends=True)[4:])
    sent = delivery(text + tail, "TPC-B", "18.4", clients=2, thread_rule="1")
    assert any("cut off" in sentence for _, sentence in faults(courier, sent))


def test_a_report_of_sysbench_without_its_end_is_refused(courier):
    text = WARMED_UP.partition("         sum:")[0]
    sent = delivery(text, "oltp", "18.4", client_version="1.1.0", duration_s=4, thread_rule="clients")
    [(pointer, sentence)] = faults(courier, sent)
    assert pointer == "/output/stdout" and "no line 'sum:'" in sentence


GERMAN = """\
pgbench (18.4)
Transaktionstyp: <builtin: select only>
Skalierungsfaktor: 1
Anfragemodus: simple
Anzahl Clients: 4
Anzahl Threads: 2
Dauer: 1 s
Anzahl tatsächlich verarbeiteter Transaktionen: 77265
tps = 77749.123 (ohne initiale Verbindungszeit)
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [(GERMAN, "It is not in English"), (re.sub(r"(\d)\.(\d)", r"\1,\2", PLAIN), "Its numbers have decimal commas")],
)
def test_another_language_is_named_with_what_to_do(courier, text, words):
    pointers_and_sentences = faults(courier, delivery(text, "reads", "18.4"))
    sentences = [sentence for pointer, sentence in pointers_and_sentences if pointer == "/output"]
    assert len(sentences) == 1 and sentences[0].startswith(words) and "LC_ALL=C" in sentences[0]
