"""Keep a comparison, publish it, share it and take it back, as a program does."""

import hashlib

import pytest
from django.contrib.auth import get_user_model

from benchhub.accounts.models import Answer, Entry
from benchhub.bench import testing
from benchhub.bench.models import Comparability, Protocol
from benchhub.reports.models import Comparison, Link, Snapshot

pytestmark = pytest.mark.django_db


@pytest.fixture
def query(experiment, systems):
    return "&".join(f"curve={experiment.pk}-{system.pk}" for system in systems)


@pytest.fixture
def snapshot(runner, query):
    comparison = runner.send("post", "kept-comparisons/", {"title": "16 and 18", "query": query}).json()
    return runner.send("post", f"kept-comparisons/{comparison['id']}/publish/").json()


def make_link(runner, snapshot, **sent):
    """Read the review as a person would, then make the link."""
    hidden = sent.get("hidden", ["host", "address", "discount"])
    query = "&".join(f"hidden={name}" for name in hidden or [""])
    review = runner.send("get", f"snapshots/{snapshot['id']}/review/?{query}").json()
    return runner.send("post", f"snapshots/{snapshot['id']}/links/", {**sent, "reviewed": review["digest"]})


def pointers(answer):
    assert answer.status_code == 422, answer.content
    return [error["pointer"] for error in answer.json()["errors"]]


def test_a_comparison_is_kept_changed_and_published(runner, viewer, query):
    created = runner.send("post", "kept-comparisons/", {"title": "16 and 18", "query": f"{query}&term=5"})
    assert created.status_code == 201, created.content
    assert (created.json()["query"], created.json()["created_by"]) == (f"{query}&term=5", "rosa")
    changed = runner.send("patch", created.json()["url"].partition("/v1/")[2], {"title": "Upgrade"})
    assert (changed.json()["title"], changed.json()["query"]) == ("Upgrade", f"{query}&term=5"), changed.content
    assert changed.json()["changed_at"] > created.json()["changed_at"]
    published = runner.send("post", f"kept-comparisons/{created.json()['id']}/publish/")
    assert (published.status_code, published.json()["title"], published.json()["taken_by"]) == (201, "Upgrade", "rosa")
    document = viewer.send("get", f"snapshots/{published.json()['id']}/document/")
    assert document["Content-Type"] == "application/json" and document.json()["title"] == "Upgrade"
    runner.send("patch", f"kept-comparisons/{created.json()['id']}/", {"title": "Later"})
    assert viewer.send("get", f"snapshots/{published.json()['id']}/").json()["title"] == "Upgrade"


def test_the_document_has_the_bytes_that_its_digest_is_of(viewer, snapshot):
    document = viewer.send("get", f"snapshots/{snapshot['id']}/document/")
    row = Snapshot.objects.get()
    assert hashlib.sha256(bytes(row.content)).hexdigest() == snapshot["sha256"]
    assert document.json()["unit"] == "TPS"
    assert viewer.send("get", f"snapshots/{snapshot['id']}/today/").json() == []  # nothing of it has a price


@pytest.mark.parametrize("wrong", ["", "term=3", "curve=a-b", "curve=1-1&colour=red", "curve=1-1&term=9"])
def test_a_comparison_without_curves_or_with_terms_nobody_reads_is_not_kept(runner, wrong):
    assert pointers(runner.send("post", "kept-comparisons/", {"title": "x", "query": wrong})) == ["/query"]
    assert not Comparison.objects.exists()


def test_curves_that_cannot_be_compared_are_not_published(runner):
    comparison = runner.send("post", "kept-comparisons/", {"title": "x", "query": "curve=999-999"})
    refused = runner.send("post", f"kept-comparisons/{comparison.json()['id']}/publish/")
    assert refused.status_code == 409 and refused.json()["detail"].startswith("Not published.")
    assert not Snapshot.objects.exists()


def test_a_link_tells_its_address_once_and_opens_until_it_is_revoked(runner, client, snapshot):
    created = make_link(runner, snapshot, name="Board")
    assert created.status_code == 201, created.content
    address, pk = created.json()["address"], created.json()["id"]
    assert created.json()["hidden"] == ["host", "address", "discount"]  # as the page has ticked
    assert client.get(address).status_code == 200
    assert "address" not in runner.send("get", f"links/{pk}/").json()
    for act, state, status in (("pause", "paused", 403), ("resume", "open", 200), ("revoke", "revoked", 410)):
        assert runner.send("post", f"links/{pk}/{act}/").json()["state"] == state
        assert client.get(address).status_code == status, act
    assert runner.send("post", f"links/{pk}/resume/").status_code == 409
    assert client.get(address).status_code == 410


def test_the_address_of_a_link_is_not_kept_for_a_repeated_request(runner, snapshot):
    digest = runner.send("get", f"snapshots/{snapshot['id']}/review/").json()["digest"]
    sent = {"data": {"name": "Board", "reviewed": digest}, "headers": {"Idempotency-Key": "1"}}
    first, again = (runner.send("post", f"snapshots/{snapshot['id']}/links/", **sent).json() for _ in range(2))
    assert first["address"] and again == {**first, "address": None}
    assert Link.objects.count() == 1
    assert first["address"].split("/")[-2] not in bytes(Answer.objects.get().body).decode()


def test_a_password_is_checked_by_the_form_and_never_shown(runner, snapshot):
    sent = {"name": "Board", "password": "short", "expires": "", "hidden": []}
    assert pointers(make_link(runner, snapshot, **sent)) == ["/password"]
    link = make_link(runner, snapshot, **{**sent, "password": "long enough"}).json()
    assert (link["has_password"], link["expires_at"], link["hidden"]) == (True, None, [])
    assert "password" not in link


def test_no_link_is_made_by_whoever_has_not_read_what_it_tells(runner, query):
    remarks = "As agreed in ann.example.org with ann@example.org. password = hunter2"
    comparison = runner.send("post", "kept-comparisons/", {"title": "x", "remarks": remarks, "query": query}).json()
    snapshot = runner.send("post", f"kept-comparisons/{comparison['id']}/publish/").json()
    address = f"snapshots/{snapshot['id']}/links/"
    assert pointers(runner.send("post", address, {"name": "Board"})) == ["/reviewed"]
    refused = runner.send("post", address, {"name": "Board", "reviewed": "1"})
    assert refused.status_code == 422
    sentences = " ".join(error["detail"] for error in refused.json()["errors"])
    assert "'ann.example.org' looks like a host's name" in sentences and "looks like a secret" in sentences
    assert "ann@" not in sentences  # an account is hidden with the hosts
    review = runner.send("get", f"snapshots/{snapshot['id']}/review/?hidden=host").json()
    assert (review["hidden"], review["marked_count"]) == (["host"], 2)
    of_other_classes = {"name": "Board", "reviewed": review["digest"], "hidden": ["address"]}
    assert runner.send("post", address, of_other_classes).status_code == 422
    assert not Link.objects.exists()
    created = runner.send("post", address, {**of_other_classes, "hidden": ["host"]})
    assert created.status_code == 201, created.content
    detail = Entry.objects.get(action="snapshot links", status=201).detail
    assert detail.startswith("link ") and detail.endswith("without a password, leaves out host")


def test_a_wrong_password_of_a_link_is_in_the_audit_log(runner, client, snapshot):
    link = make_link(runner, snapshot, name="Board", password="long enough").json()
    assert client.post(link["address"], {"password": "short enough"}).status_code == 403
    line = Entry.objects.get(action="wrong password of a link")
    assert (line.address, line.status) == (f"link {link['id']} of snapshot {snapshot['id']}", 401)
    assert link["address"].split("/")[-2] not in repr(list(Entry.objects.values_list()))


def test_a_review_of_what_nobody_hides_is_refused(viewer, snapshot):
    assert viewer.send("get", f"snapshots/{snapshot['id']}/review/?hidden=colour").status_code == 400
    nothing_hidden = viewer.send("get", f"snapshots/{snapshot['id']}/review/?hidden=")
    assert nothing_hidden.json()["hidden"] == []


def test_published_reports_are_listed_and_frozen(runner, viewer):
    first = viewer.send("get", "published-reports/").json()[0]
    whole = viewer.send("get", f"published-reports/{first['id']}/").json()
    checks = whole.pop("checks")
    assert whole == first
    assert checks and all(check["published_low"] and check["computed_high"] for check in checks)
    assert viewer.send("get", "published-reports/nothing/").status_code == 404
    published = runner.send("post", f"published-reports/{first['id']}/publish/")
    assert (published.status_code, published.json()["published"]) == (201, first["id"]), published.content
    assert viewer.send("get", f"snapshots/{published.json()['id']}/document/").json()["title"] == first["title"]


def test_protocols_that_were_declared_comparable_are_compared_until_the_word_is_withdrawn(runner, experiment, systems):
    other = testing.make_experiment(systems[1:], name="Other")
    run = testing.make_run(other, systems[1], 1, 1, protocol=Protocol.stored({"path": "network"}))
    testing.succeeded(run, 100.0)
    keys = [f"{experiment.pk}-{systems[0].pk}", f"{other.pk}-{systems[1].pk}"]
    address = f"comparisons/?curve={keys[0]}&curve={keys[1]}"
    assert runner.send("get", address).json()["refusal"]
    sent = {"curves": keys, "reason": "The path is not what limits either of them."}
    assert pointers(runner.send("post", "declarations/", {**sent, "reason": "Fine."})) == ["/reason"]
    declared = runner.send("post", "declarations/", sent)
    assert declared.status_code == 201, declared.content
    [word] = declared.json()
    document = runner.send("get", address).json()
    assert document["declared"] == [{"id": word["id"], "by": "rosa", "reason": sent["reason"]}]
    assert document["refusal"] == "" and document["ratios"]
    assert runner.send("post", f"declarations/{word['id']}/withdraw/").json()["withdrawn_by"] == "rosa"
    assert runner.send("post", f"declarations/{word['id']}/withdraw/").status_code == 409
    assert runner.send("get", address).json()["refusal"]


def test_curves_of_one_protocol_or_that_are_not_there_need_no_declaration(runner, experiment, systems):
    sent = {"curves": [f"{experiment.pk}-{system.pk}" for system in systems], "reason": "They are alike in all."}
    assert runner.send("post", "declarations/", sent).status_code == 409
    assert pointers(runner.send("post", "declarations/", {**sent, "curves": ["1-0", "2-0"]})) == ["/curves"]
    assert not Comparability.objects.exists()


def test_the_files_of_a_snapshot_are_those_of_its_page(viewer, client, runner, snapshot):
    client.force_login(get_user_model().objects.get(username="rosa"))
    for name, kind in (("data.json", "application/json"), ("levels.csv", "text/csv"), ("page.html", "text/html")):
        answer = viewer.send("get", f"snapshots/{snapshot['id']}/files/{name}/")
        assert (answer.status_code, answer["Content-Type"].partition(";")[0]) == (200, kind), answer.content[:200]
        assert answer.content == client.get(f"/snapshots/{snapshot['id']}/{name}").content
    none = viewer.send("get", f"snapshots/{snapshot['id']}/files/secrets.csv/")
    assert none.status_code == 404 and "levels.csv" in none.json()["detail"]


def test_a_report_as_pdf_is_refused_with_what_to_do_where_there_is_no_chromium(viewer, snapshot, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    answer = viewer.send("get", f"snapshots/{snapshot['id']}/files/report.pdf/")
    assert (answer.status_code, answer["Content-Type"]) == (501, "application/problem+json")
    assert "page.html" in answer.json()["remedy"]


def test_a_document_or_a_file_that_the_caller_has_is_not_sent_again(viewer, snapshot):
    for path in ("document/", "files/levels.csv/"):
        address = f"snapshots/{snapshot['id']}/{path}"
        first = viewer.send("get", address)
        again = viewer.send("get", address, headers={"If-None-Match": first["ETag"]})
        assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
        other = viewer.send("get", address, headers={"If-None-Match": '"another"'})
        assert other.content == first.content


def test_a_comparison_is_read_whole_without_being_frozen(viewer, query):
    answer = viewer.send("get", f"comparisons/document/?{query}")
    assert (answer.status_code, answer.json()["kind"], answer.json()["unit"]) == (200, "comparison", "TPS")
    assert {"levels", "findings", "systems"} <= {table["id"] for table in answer.json()["tables"]}
    assert viewer.send("get", f"comparisons/document/?{query}&colour=red").status_code == 400
    assert viewer.send("get", "comparisons/document/?curve=999-999").status_code == 409
    assert not Snapshot.objects.exists()


def test_curves_are_read_as_tuning_steps(viewer, query, experiment, systems):
    for system, tps in zip(systems, (1000.0, 1120.0), strict=True):
        testing.succeeded(testing.make_run(experiment, system, 8, 3), tps)
    series = viewer.send("get", f"tuning-steps/?{query}&clients=8").json()
    [step] = series["steps"]
    # geometric means of 980, 1,000 and 1,020, and of 1,100, 1,120 and 1,140: about 1,120 / 1,000
    assert (series["baseline"], step["effect"]["ratio"]) == ("PostgreSQL 16", pytest.approx(1.12, rel=1e-3))
    assert (step["verdict"], step["effect"]["n"]) == ("more", 3)
    assert series["is_measured"] is True
    assert viewer.send("get", f"tuning-steps/?{query}&way=sideways").json()["errors"][0]["pointer"] == "?way"
    assert viewer.send("get", f"tuning-steps/?{query}&clients=9").status_code == 409
    assert viewer.send("get", "tuning-steps/?curve=999-1").status_code == 409


def test_systems_are_ranked_as_on_the_leaderboard(viewer, experiment, systems):
    board = viewer.send("get", "leaderboard/").json()
    assert [(place["place"], place["label"]) for place in board["places"]] == [
        (1, "PostgreSQL 18"),
        (2, "PostgreSQL 16"),
    ]
    assert (board["unit"], board["by"]) == ("TPS", "throughput")
    assert all(place["price"] is None for place in board["places"])
    by_price = viewer.send("get", "leaderboard/?by=price&term=5").json()
    assert by_price["by"] == "price"
    for query in ("by=height", "workload=999", "protocol=x", "colour=red", "term=99"):
        answer = viewer.send("get", f"leaderboard/?{query}")
        assert answer.json()["errors"][0]["pointer"] == f"?{query.split('=')[0]}"


def test_a_published_report_is_read_whole(viewer):
    pk = viewer.send("get", "published-reports/").json()[0]["id"]
    document = viewer.send("get", f"published-reports/{pk}/document/").json()
    assert document["kind"] == "published" and document["tables"]
    assert not Snapshot.objects.exists()
