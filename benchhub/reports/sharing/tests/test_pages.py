import json
import re

import pytest
from django.contrib.auth import get_user_model
from django.utils.html import escape
from pytest_django.asserts import assertContains

from benchhub.accounts.models import Entry
from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.models import CitedRun, Comparability, Protocol
from benchhub.catalog.models import ListPrice
from benchhub.reports.models import Comparison, Link, Snapshot
from benchhub.reports.published import files
from benchhub.reports.published import page as published_page
from benchhub.reports.published import views as published_views
from benchhub.reports.sharing import publish
from benchhub.reports.sharing.document.comparison import NothingToPublishError
from benchhub.reports.sharing.review import Review
from benchhub.reports.testing import both, key

pytestmark = pytest.mark.django_db


@pytest.fixture
def viewer(client):
    client.force_login(get_user_model().objects.create_user("grace"))
    return client


def test_a_comparison_is_kept_with_its_curves_and_terms(client, publisher, experiment, systems):
    query = both(experiment, systems, term=1, discount=10).removeprefix("/compare/")
    page = client.get(f"/compare/{query}").content.decode()
    assert f'href="/comparisons/new{query.replace("&", "&amp;")}"' in page
    client.post(f"/comparisons/new{query}", {"title": "Which one?", "remarks": "Look."})
    comparison = Comparison.objects.get()
    assert (comparison.title, comparison.remarks, comparison.created_by) == ("Which one?", "Look.", publisher)
    response = client.get(f"/comparisons/{comparison.pk}/")
    assert response.headers["Location"] == f"/comparisons/{comparison.pk}/?{comparison.query}"
    text = client.get(response.headers["Location"]).content.decode()
    assert "<h1>Which one?</h1>" in text
    assert "Publish</button>" in text


def test_nothing_is_kept_without_curves(client, publisher):
    assert client.post("/comparisons/new", {"title": "x"}).headers["Location"] == "/compare/"
    assert not Comparison.objects.exists()


def test_what_was_kept_changes_only_when_somebody_says_so(client, publisher, comparison):
    changed = f"/comparisons/{comparison.pk}/?{comparison.query}&term=1"
    page = client.get(changed).content.decode()
    assert "Keep these changes" in page
    assert "Publish</button>" not in page
    comparison.refresh_from_db()
    assert "term=1" not in comparison.query
    client.post(f"/comparisons/{comparison.pk}/keep?{comparison.query}&term=1")
    comparison.refresh_from_db()
    assert "term=1" in comparison.query


def test_what_somebody_keeps_is_changed_by_them_and_by_administrators_only(client, publisher, comparison):
    Comparison.objects.update(created_by=publisher)
    address, query = f"/comparisons/{comparison.pk}", comparison.query
    other = make_user("otto", Role.RUNNER)
    client.force_login(other)
    assert "Title and remarks" not in client.get(f"{address}/?{query}").content.decode()
    assert client.post(f"{address}/edit", {"title": "Mine now"}).status_code == 403
    assert client.post(f"{address}/keep?{query}&term=1").status_code == 403
    Comparison.objects.filter(pk=comparison.pk, title=comparison.title, query=query).get()
    client.force_login(make_user("olga", Role.ADMINISTRATOR))
    assert client.post(f"{address}/edit", {"title": "Which?"}).status_code == 302
    client.force_login(publisher)
    assert client.post(f"{address}/keep?{query}&term=1").status_code == 302


def test_publishing_leads_to_the_snapshot_and_keeps_who_did_it(client, publisher, comparison, experiment, systems):
    other = testing.make_run(testing.make_experiment(systems[:1], name="Another"), systems[0], 8, 1)
    testing.succeeded(other, 900.0)
    cited = set(experiment.runs.values_list("pk", flat=True))
    response = client.post(f"/comparisons/{comparison.pk}/publish")
    snapshot = Snapshot.objects.get()
    assert response.headers["Location"] == f"/snapshots/{snapshot.pk}/"
    assert (snapshot.taken_by, snapshot.comparison, snapshot.title) == (publisher, comparison, "16 or 18 on quokka")
    page = client.get(f"/snapshots/{snapshot.pk}/")
    assert set(CitedRun.objects.values_list("run", flat=True)) == cited
    assert "css/answer.css" in page.content.decode()  # it has the parts of a comparison's answer
    comparisons = client.get("/comparisons/").content.decode()
    assert '<td class="n" data-label="Published">1</td>' in comparisons


def test_curves_of_other_protocols_are_not_published(comparison, experiment, systems, publisher):
    comparison.query = "curve=0-0&curve=0-1"
    with pytest.raises(NothingToPublishError, match="There are no curves 0-0 and 0-1"):
        publish.comparison_snapshot(comparison, publisher)
    assert not Snapshot.objects.exists()


def test_curves_that_somebody_declared_comparable_are_published_with_the_reason(experiment, systems, publisher):
    slow = testing.make_experiment(systems[:1], name="By TLS")
    testing.succeeded(testing.make_run(slow, systems[0], 8, 1, protocol=Protocol.stored({"path": "tls"})), 500.0)
    comparison = Comparison.objects.create(
        title="x", query=f"curve={key(experiment, systems[0])}&curve={key(slow, systems[0])}"
    )
    with pytest.raises(NothingToPublishError, match="not comparable"):
        publish.comparison_snapshot(comparison, publisher)
    digests = sorted(Protocol.stored({"path": path}).pk for path in ("socket", "tls"))
    reason = {"reason": "The network is never the bottleneck here.", "declared_by": publisher}
    Comparability.objects.create(first_id=digests[0], second_id=digests[1], **reason)
    snapshot = publish.comparison_snapshot(comparison, publisher)
    method = next(section for section in json.loads(bytes(snapshot.content))["sections"] if section["id"] == "method")
    assert method["blocks"][0]["text"].endswith("all the same: The network is never the bottleneck here.")
    cells = [[cell["text"] for cell in row["cells"]] for row in method["blocks"][1]["rows"]]
    assert ["connection path", "socket", "tls"] in cells


def test_the_review_says_first_what_stands_out_and_folds_the_rest(client, publisher, snapshot):
    fields = {"name": "The board", "hidden": ["host"], "expires": "7", "password": "", "embedded_by": ""}
    page = client.post(f"/snapshots/{snapshot.pk}/links/new", fields).content.decode()
    above, _, folded = page.partition('<details id="unmarked">')
    review = Review(snapshot, ["host"])
    assert len(review.marked) + len(review.unmarked) == len(review.texts)
    assert above.count("<dt>") == len(review.marked)
    assert folded.count("<dt>") == len(review.unmarked) > 5
    assert ("Nothing stands out." in above) == (not review.marked)


def test_the_address_of_a_link_is_shown_once_and_works(client, publisher, snapshot):
    fields = {"name": "The board", "hidden": ["host"], "expires": "7", "password": "", "embedded_by": ""}
    digest = Review(snapshot, ["host"]).digest
    answer = client.post(f"/snapshots/{snapshot.pk}/links/new", {**fields, "reviewed": digest})
    page = answer.content.decode()
    address = re.search(r'value="http://testserver(/s/[^"]+/)"', page)[1]
    assert b"16 or 18 on host A" in client.get(address).content
    assert answer.status_code == 201
    assert Entry.objects.filter(action="link new").count() == 1  # an act, which the audit log keeps
    later = client.get(f"/snapshots/{snapshot.pk}/").content.decode()
    assert "The board" in later
    assert address not in later


def test_the_answer_leads_to_the_doubts_which_have_one_place(client, share):
    html = client.get(share()[1]).content.decode()
    assert html.count('href="#doubts"') == 1
    assert html.count('id="doubts"') == 1


def test_what_was_typed_is_read_before_the_link_is_made(client, publisher, comparison):
    comparison.remarks = "Ask mara@example.net, in /srv/kiln/data on otter.example.net."
    comparison.save()
    snapshot = publish.comparison_snapshot(comparison, publisher)
    fields = {"name": "The board", "hidden": ["host", "address"], "expires": "7", "password": "long enough"}
    answer = client.post(f"/snapshots/{snapshot.pk}/links/new", fields)
    page = answer.content.decode()
    assert not Link.objects.exists()
    assert "16 or 18 on host A" in page  # as the reader will see it
    for word in ("/srv/kiln/data", "otter.example.net"):
        assert f">{word}</mark>" in page
    assert "mara@" not in page  # an account is hidden with the hosts
    sent = dict(re.findall(r'type="hidden" name="([a-z]+)" value="([^"]*)"', page))
    assert (sent["name"], sent["password"], sent["expires"]) == ("The board", "long enough", "7")
    digest = re.search(r'name="reviewed" value="([0-9a-f]{64})"', page)[1]
    of_less = {**fields, "hidden": ["host"], "reviewed": digest}
    assert client.post(f"/snapshots/{snapshot.pk}/links/new", of_less).status_code == 200  # is read again
    assert not Link.objects.exists()
    assert client.post(f"/snapshots/{snapshot.pk}/links/new", {**fields, "reviewed": digest}).status_code == 201
    assert Link.objects.get().projection.hidden == ["host", "address"]


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("password", "short", "at least 8 characters"),
        ("embedded_by", "wiki.example.org", "is no site: write https://"),
        ("embedded_by", "https://a.example; script-src *", "is no site"),
        ("hidden", "salary", "not one of the available choices"),
        ("expires", "1000", "not one of the available choices"),
        ("name", "", "This field is required."),
    ],
)
def test_a_link_that_cannot_be_is_refused_beside_its_field(client, publisher, snapshot, field, value, sentence):
    fields = {"name": "x", "hidden": ["host"], "expires": "7", "password": "", "embedded_by": "", field: value}
    answer = client.post(f"/snapshots/{snapshot.pk}/links/new", fields)
    assert sentence in answer.content.decode()
    assert not Link.objects.exists()


def test_a_link_is_paused_opened_again_and_withdrawn_for_good(client, publisher, share):
    link, address = share()
    states = []
    for step in ("pause", "resume", "revoke", "resume"):
        client.post(f"/links/{link.pk}/{step}")
        states.append((client.get(address).status_code, Link.objects.get().state))
    assert states == [(403, "paused"), (200, "open"), (410, "revoked"), (410, "revoked")]


def test_a_viewer_may_look_and_do_nothing_else(viewer, snapshot, comparison, share, experiment, systems):
    link, _ = share()
    viewer.force_login(get_user_model().objects.get(username="grace"))
    assert viewer.get(f"/snapshots/{snapshot.pk}/").status_code == 200
    assert viewer.get(f"/snapshots/{snapshot.pk}/data.json").status_code == 200
    assert b"Make a link" not in viewer.get(f"/snapshots/{snapshot.pk}/").content
    assert b"Keep and publish" not in viewer.get(both(experiment, systems)).content
    refused = [
        f"/comparisons/new?curve={key(experiment, systems[0])}",
        f"/comparisons/{comparison.pk}/edit",
        f"/comparisons/{comparison.pk}/keep?{comparison.query}&term=1",
        f"/comparisons/{comparison.pk}/publish",
        f"/snapshots/{snapshot.pk}/links/new",
        *(f"/links/{link.pk}/{step}" for step in ("pause", "resume", "revoke")),
    ]
    assert [viewer.post(path, {"title": "x", "name": "x"}).status_code for path in refused] == [403] * len(refused)
    assert (Snapshot.objects.count(), Link.objects.get().state) == (1, "open")


@pytest.mark.parametrize("slug", [report.about["slug"] for report in files.reports()])
def test_a_published_report_is_shared_with_all_its_tables(client, publisher, slug):
    location = client.post(f"/published/{slug}/publish").headers["Location"]
    snapshot = Snapshot.objects.get()
    assert (location, snapshot.published, snapshot.comparison) == (f"/snapshots/{snapshot.pk}/", slug, None)
    _, token = publish.link(snapshot, ["host", "address", "discount"], "", publisher, name="x")
    page = client.get(f"/s/{token}/").content.decode()
    assert "Published, not measured here." in page
    report = published_views.find(slug)
    for name, table in published_page.all_tables(report).items():
        assert client.get(f"/s/{token}/{name}.csv").content.decode() == table.csv()
    assert [check.subject for check in report.checks if escape(check.subject) not in page] == []
    assert client.get(f"/snapshots/{snapshot.pk}/today").status_code == 200
    assert location in client.get(f"/published/{slug}/").content.decode()


def test_a_link_is_changed_by_its_maker_and_by_administrators_only(client, publisher, share):
    link, _ = share()
    page_address = f"/snapshots/{link.snapshot_id}/"
    assert b"Withdraw" in client.get(page_address).content
    client.force_login(make_user("rival", Role.RUNNER))
    assert b"Withdraw" not in client.get(page_address).content
    for act in ("pause", "resume", "revoke"):
        answer = client.post(f"/links/{link.pk}/{act}")
        assert answer.status_code == 403 and b"only they or an administrator" in answer.content
    link.refresh_from_db()
    assert link.state == "open"
    client.force_login(make_user("root", Role.ADMINISTRATOR))
    client.post(f"/links/{link.pk}/pause")
    link.refresh_from_db()
    assert link.state == "paused"


def test_nobody_who_has_not_signed_in_sees_a_snapshot_without_a_link(snapshot, client):
    client.logout()
    for path in (f"/snapshots/{snapshot.pk}/", f"/snapshots/{snapshot.pk}/data.json", "/comparisons/"):
        assert client.get(path).headers["Location"].startswith("/login/")


def test_todays_prices_stand_beside_the_frozen_ones_with_their_difference(client, snapshot, systems):
    dearer = {"description": "Acme Z9", "source": "Another quote", "currency": "EUR", "priced_on": "2026-02-01"}
    ListPrice.objects.create(hardware=systems[0].hardware, amount=10_000, **dearer)
    text = re.sub(r"\s+", " ", client.get(f"/snapshots/{snapshot.pk}/today").content.decode())
    # Hardware alone: 5,000 less 12.5% = 4,375, / 1,120 = 3.906; 10,000 less 12.5% = 8,750, / 1,120 = 7.8125
    row = (
        '<th scope="row" class="line">PostgreSQL 18</th><td class="line">Hardware only</td>'
        '<td class="n" data-label="Published">3.91</td><td class="n strong" data-label="Today">7.81</td>'
    )
    assert row in text
    assert "+100.0%" in text
    frozen = client.get(f"/snapshots/{snapshot.pk}/").content.decode()
    assert ">3.91<" in frozen
    assert ">7.81<" not in frozen


def test_a_snapshot_whose_list_price_was_taken_back_keeps_its_number_and_says_so(client, snapshot, systems):
    price = ListPrice.objects.get(hardware=systems[0].hardware)
    assert ListPrice.objects.filter(pk=price.pk).take_back(get_user_model().objects.get(username="ada")) == 1
    page = client.get(f"/snapshots/{snapshot.pk}/")
    assertContains(page, f"{price}, list price {price.pk}, was taken back")
    assertContains(page, "a mark stands at each that rests on it.", count=1)
    assertContains(page, ">3.91<")
    today = client.get(f"/snapshots/{snapshot.pk}/today")
    assertContains(today, "was taken back", count=1)
    assertContains(today, "There is no list price for the hardware")


def test_a_price_that_did_not_move_says_so(client, snapshot):
    text = client.get(f"/snapshots/{snapshot.pk}/today").content.decode()
    assert text.count('data-label="Difference">none</td>') == 4  # two curves under two licences


def test_the_page_of_a_snapshot_takes_few_queries(client, snapshot, share, django_assert_num_queries):
    for _ in range(3):
        share(["host"])
    # Session, user, its rights (3), snapshot, list prices that were taken back, links; once its content, to learn what
    # it cites, and to draw it.
    for count in (10, 8):
        with django_assert_num_queries(count):
            client.get(f"/snapshots/{snapshot.pk}/")
