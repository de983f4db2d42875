"""A fact that an output contradicts is named alike through every door: fields by doors, of one recorded output."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.api.tests.delivered import WORKLOADS, recorded
from benchhub.bench.models import Run
from benchhub.catalog.models import Configuration, Hardware, Workload
from clients import benchhub as program
from runners import tools
from runners.contract import Outputs
from runners.tools.pgbench.testing import SPEC

pytestmark = pytest.mark.django_db
READS = WORKLOADS["reads"]
# What is said of the run instead: of the delivery, or of its workload's parameters; and the end of the sentence.
FIELDS: Mapping[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "client-version": ({"client_version": "15.2"}, {}, "not of 15.2."),
    "server-version": ({"postgresql": "15.2"}, {}, "not of 15.2."),
    "clients": ({"clients": 8}, {}, "The output is of 4 clients, not of 8."),
    "threads": ({"thread_rule": "1"}, {}, "The output is of 2 threads, not of 1."),
    "duration": ({"duration_s": 60}, {}, "The output is of 1 s, not of 60."),
    "script": ({}, {"script": "simple-update"}, "not of the built-in simple-update."),
    "query-mode": ({}, {"query_mode": "prepared"}, "The output is of query mode simple, not of prepared."),
    "scale": ({}, {"scale": 2}, "The output is of scale 1, not of 2."),
    "partitions": ({}, {"partitions": 4}, "not of 4 range partitions."),
    "tries": ({}, {"max_tries": 3}, "The output is of 1 try at most, not of 3."),
    "failures": ({}, {"failures_detailed": True}, "not of those by kind."),
    "connections": ({}, {"connect_each": True}, "not of one for each transaction."),
    "rate-limit": ({}, {"rate_tps": 100}, "The output is of a run without a rate (-R), not of one at 100 TPS."),
    "latency-limit": ({}, {"latency_limit_ms": 5}, "not of one with 5 ms."),
}
# The page takes these from the output alone, so that nothing can contradict it.
READ_BY_PAGE = {"clients", "threads"}


class Client(program.Client):
    """The client of CI jobs, whose requests go to the views of this process."""

    def __init__(self, courier: Any) -> None:
        super().__init__("https://bench.example.org", "token")
        self.courier = courier

    def call(self, method: str, path: str, body: bytes | None = None, media_type: str = "", **_: Any) -> Any:
        answer = self.courier.post(f"/api/v1/{path}", body, content_type=media_type)
        raise program.Refused(answer.status_code, answer.json())


@pytest.fixture
def workloads(courier) -> None:
    for name, (_, parameters, _) in FIELDS.items():
        if parameters:
            Workload.objects.create(name=f"other {name}", tool="pgbench", parameters={**READS, **parameters})


def delivery_of(name: str) -> dict[str, Any]:
    changes, parameters, _ = FIELDS[name]
    sent = recorded("16", "plain", f"other {name}" if parameters else "reads", "16.14")
    sent["system"] |= {key: value for key, value in changes.items() if key == "postgresql"}
    return {**sent, **{key: value for key, value in changes.items() if key != "postgresql"}}


def like_of(name: str, folder: Any) -> tuple[str, str]:
    sent = delivery_of(name)
    output = folder / "out.log"
    output.write_text(sent.pop("output")["stdout"])
    like = folder / "like.json"
    like.write_text(json.dumps(sent))
    return str(output), str(like)


def details(answer: Any) -> list[str]:
    assert answer.status_code == 422, answer.content
    return [fault["detail"] for fault in answer.json()["errors"]]


def as_json(name: str, courier: Any, folder: Any) -> list[str]:
    return details(courier.send("post", "deliveries/", delivery_of(name)))


def as_ndjson(name: str, courier: Any, folder: Any) -> list[str]:
    line = json.dumps(delivery_of(name))
    return details(courier.post("/api/v1/deliveries/", line, content_type="application/x-ndjson"))


def by_client(courier: Any, words: list[str]) -> list[str]:
    arguments = program._parser().parse_args(words)
    with pytest.raises(program.Refused) as refused:
        arguments.does(Client(courier), arguments)
    return [error["detail"] for error in refused.value.problem["errors"]]


def by_push(name: str, courier: Any, folder: Any) -> list[str]:
    (folder / "results.ndjson").write_text(json.dumps(delivery_of(name)))
    return by_client(courier, ["push", str(folder / "results.ndjson")])


def by_pgbench(name: str, courier: Any, folder: Any) -> list[str]:
    output, like = like_of(name, folder)
    return by_client(courier, ["pgbench", output, "--like", like])


def by_run(name: str, courier: Any, folder: Any) -> list[str]:
    output, like = like_of(name, folder)
    sent = delivery_of(name)
    stdout, conditions = sent["output"]["stdout"], json.loads((folder / "like.json").read_text())
    arguments = program._parser().parse_args(["run", "--like", like, "--", "cat", output])
    result = program._conditions(arguments, conditions, ["cat", output], stdout)
    with pytest.raises(program.Refused) as refused:
        Client(courier).push([{**result, "measured_at": sent["measured_at"], "output": sent["output"]}])
    return [error["detail"] for error in refused.value.problem["errors"]]


# What a client of CI does is the same for all fields, so few go through it.
OF_CLIENT = ("client-version", "clients", "duration", "scale")


def assert_named(names: Iterable[str], sentences_of: Callable[[str], list[str]]) -> None:
    sentences = {name: sentences_of(name) for name in names}
    assert [name for name in sentences if not any(text.endswith(FIELDS[name][2]) for text in sentences[name])] == []
    # Without a rate of reconnecting its summary is no result of such a run either.
    assert {name: len(texts) for name, texts in sentences.items() if len(texts) > 1} in ({}, {"connections": 2})
    assert not Run.objects.exists()


@pytest.mark.parametrize("door", [as_json, as_ndjson])
def test_each_field_is_refused_by_the_same_sentence_in_json_and_ndjson(door, courier, workloads, tmp_path):
    assert_named(FIELDS, lambda name: door(name, courier, tmp_path))


@pytest.mark.parametrize("door", [by_push, by_pgbench, by_run])
def test_a_client_hands_on_what_a_field_is_refused_for(door, courier, workloads, tmp_path):
    assert_named(OF_CLIENT, lambda name: door(name, courier, tmp_path))


def test_the_page_refuses_each_field_by_the_same_sentence_beside_it(client, courier, workloads):
    client.force_login(make_user("ada", Role.RUNNER))
    assert_named([name for name in FIELDS if name not in READ_BY_PAGE], lambda name: of_page(name, client))


def of_page(name: str, client: Any) -> list[str]:
    sent = delivery_of(name)
    fields = {key: sent[key] for key in ("experiment", "client_version", "duration_s", "source")}
    place = {"host": "laptop", "path": "socket", "measured_at": "2026-01-31T02:00", "save": "1"}
    rows = {
        "workload": Workload.objects.get(name=sent["workload"]).pk,
        "hardware": Hardware.objects.get().pk,
        "configuration": Configuration.objects.get(name="defaults").pk,
    }
    text = {"text": sent["output"]["stdout"], "postgresql": sent["system"]["postgresql"]}
    page = client.post("/results/import", {**fields, **place, **rows, **text})
    return [str(text) for texts in page.context["page"].form.errors.values() for text in texts]


def judged(spec, text):
    """Judge the output of a run of our own as the worker's readers do."""
    return tools.get(spec.tool).judged(spec, Outputs(0, text.encode(), b"", {}), "16")


def doubts_of_our_own(spec, text):
    return [doubt for doubt in judged(spec, text).doubts if doubt.code in FIELDS]


def test_a_run_of_our_own_has_the_same_sentence_as_a_doubt():
    text = recorded("16", "plain", "reads", "")["output"]["stdout"]
    spec = replace(SPEC, tool_version="16.14", clients=4, threads=2, duration_s=1, parameters=READS)
    names = {"client_version": "tool_version", "thread_rule": "threads"}
    assert not doubts_of_our_own(spec, text)
    for name, (changes, parameters, ending) in FIELDS.items():
        if name == "server-version":
            continue
        fields = {names.get(key, key): value for key, value in changes.items()}
        fields |= {"threads": 1} if "threads" in fields else {}
        planned = replace(spec, parameters={**READS, **parameters}, **fields)
        if name == "connections":  # of such a run another line has the throughput
            assert "no line with the TPS" in judged(planned, text).reason
            continue
        [doubt] = doubts_of_our_own(planned, text)
        assert (doubt.code, doubt.text.endswith(ending)) == (name, True)
    other = text.replace("(16.14)", "(16.14, server 15.2)")
    [doubt] = doubts_of_our_own(spec, other)
    assert (doubt.code, doubt.text) == ("server-version", "The output is of a server of PostgreSQL 15.2, not of 16.")
