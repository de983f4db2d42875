"""Attacks by asking for what one may not see: no answer tells whether it is there, by status, word or count."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from benchhub.accounts import policy, tokens
from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.api.conftest import program
from benchhub.api.testing import described
from benchhub.bench import testing
from benchhub.bench.models import Design, TuningSeries, Webhook
from benchhub.bench.tuning.testing import make_cluster
from benchhub.catalog.models import Host
from benchhub.reports.models import Link
from benchhub.reports.tuning.testing import CUMULATIVE, make_series
from tests import pages

pytestmark = pytest.mark.django_db
NOBODY = 987_654
HIDDEN_WORD = "zanzibar"
OTHERS = {"file": "data.json", "table": "effects", "place": 1, "stream": "out", "slug": "x", "token": "x", "key": "x"}


@pytest.fixture
def rows(db):
    """Return keys by the first word of an address; each row is somebody else's, and some carry a name to look for."""
    owner = make_user(f"{HIDDEN_WORD}-ada", Role.ADMINISTRATOR)
    token, _ = tokens.issue(owner, f"{HIDDEN_WORD}-token", ["read"], timezone.now() + timedelta(days=1))
    hook = Webhook.objects.create(
        name=f"{HIDDEN_WORD}-hook", url=f"https://{HIDDEN_WORD}.example.org/", events=["run.ended"], created_by=owner
    )
    testing.make_worker()
    far = testing.probed_host("18")
    instance = make_cluster(Host.objects.get(pk=far.pk))
    return {
        "users": owner.pk, "tokens": token.pk, "account": token.pk, "webhooks": hook.pk, "hosts": far.pk,
        "instances": instance.pk, "clusters": instance.pk, "hardware": far.hardware_id,
    }  # fmt: skip


@pytest.fixture
def strangers(db):
    """Return those who are asked to see nothing of it: a viewer, and a runner of another host."""
    near = testing.make_host("near", "192.0.2.9")
    return [make_user("vera", Role.VIEWER), make_user("rosa", Role.RUNNER, near)]


def addresses(key):
    """Yield name and address of each page that is about a row, with the row's key in it."""
    for name in sorted(set(pages.names())):
        if name.startswith("shared"):
            continue
        for kwargs in ({"pk": key}, *({"pk": key, other: value} for other, value in OTHERS.items())):
            try:
                yield name, reverse(name, kwargs=kwargs)
                break
            except NoReverseMatch:
                continue


def disclosure(answer, key):
    """Return what an answer tells, without the key that was asked for and what differs at each view."""
    text = answer.content.decode() + answer.headers.get("Location", "")
    text = re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", text)
    return answer.status_code, re.sub(rf"/{key}\b", "/#", text)


def test_who_has_not_signed_in_is_told_the_same_of_what_is_there_and_what_is_not(rows):
    stranger, count = Client(), 0
    for (name, there), (_, nowhere) in zip(addresses(rows["users"]), addresses(NOBODY), strict=True):
        for method in (stranger.get, stranger.post):
            assert disclosure(method(there), rows["users"]) == disclosure(method(nowhere), NOBODY), name
            count += 1
    assert count > 150


def test_pages_of_administrators_tell_others_nothing_of_what_is_there(rows, strangers):
    count = 0
    for user in strangers:
        client = Client()
        client.force_login(user)
        for first_word, key in rows.items():
            for (name, there), (_, nowhere) in zip(addresses(key), addresses(NOBODY), strict=True):
                is_theirs = policy.least_role(name) < Role.ADMINISTRATOR and name not in (
                    policy.ON_THE_HOST | policy.ON_ITS_HOST
                )
                if is_theirs or not there.startswith(f"/{first_word}"):
                    continue
                for method in (client.get, client.post):
                    answer = method(there)
                    assert answer.status_code == 403, (name, answer.status_code)
                    assert disclosure(answer, key) == disclosure(method(nowhere), NOBODY), name
                    count += 1
    assert count > 60


def test_operations_of_administrators_tell_others_nothing_of_what_is_there(rows, strangers):
    admin = [operation for operation, row in described().items() if "scope `admin`" in row["description"]]
    operations = [(method, path) for method, path in admin if "{id}" in path]
    assert len(operations) > 30
    for user in strangers:
        caller = program(user, *tokens.SCOPES)
        for method, path in operations:
            key = rows.get(path.split("/")[0], 1)
            there, nowhere = (
                caller.send(method, path.format(id=number), {} if method != "get" else None) for number in (key, NOBODY)
            )
            assert there.status_code in (403, 404), (method, path)
            assert disclosure(there, key) == disclosure(nowhere, NOBODY), (method, path)


def test_a_token_of_somebody_else_is_not_there_for_others(rows, strangers):
    for user in strangers:
        caller = program(user, *tokens.SCOPES)
        answers = [caller.get(f"/api/v1/tokens/{key}/") for key in (rows["tokens"], NOBODY)]
        assert disclosure(answers[0], rows["tokens"]) == disclosure(answers[1], NOBODY)
        assert answers[0].status_code == 404
        assert HIDDEN_WORD not in caller.get("/api/v1/tokens/?owner__username=zanzibar-ada").content.decode()
        assert HIDDEN_WORD not in caller.get("/api/v1/tokens/?page_size=1000").content.decode()


def test_a_token_of_somebody_else_is_not_revoked_and_not_told_of_on_pages(rows, strangers):
    for user in strangers:
        client = Client()
        client.force_login(user)
        answers = [client.post(reverse("token-revoke", args=[key])) for key in (rows["tokens"], NOBODY)]
        assert disclosure(answers[0], rows["tokens"]) == disclosure(answers[1], NOBODY)
    assert tokens.Token.objects.get(pk=rows["tokens"]).revoked_at is None


def test_users_webhooks_and_tokens_stand_on_no_list_search_or_export_of_others(rows, strangers):
    for user in strangers:
        client = Client()
        client.force_login(user)
        for name in sorted(set(pages.names())):
            try:
                answer = client.get(reverse(name), {"q": HIDDEN_WORD, "search": HIDDEN_WORD, "owner": HIDDEN_WORD})
            except NoReverseMatch:
                continue
            text = b"".join(answer.streaming_content) if answer.streaming else answer.content
            assert f"{HIDDEN_WORD}-" not in text.decode(errors="replace"), name


@pytest.fixture
def series(host, systems):
    return make_series(systems[0], CUMULATIVE)


@pytest.mark.parametrize("table", ["effects", "nothing", "../users", "effects.csv/.."])
def test_files_of_a_series_are_named_by_a_list_and_nothing_else_is_there(series, viewer, table):
    client = Client()
    client.force_login(make_user("olga", Role.VIEWER))
    for key in (series.pk, NOBODY):
        answer = client.get(f"/tuning/{key}/{table}.csv")
        assert answer.status_code in ((200, 404) if key == series.pk and table == "effects" else (404,))


def test_rows_that_were_never_made_are_the_only_ones_that_are_not_there(series):
    """Whoever signs in sees every experiment, series and design: that is the rule, and not a leak."""
    client = Client()
    client.force_login(make_user("olga", Role.VIEWER))
    design = Design.objects.create(name="Matrix")
    series.experiment.design = design
    series.experiment.save()
    assert client.get(f"/tuning/{series.pk}/").status_code == 200
    assert client.get(f"/designs/{design.pk}/").status_code == 200
    assert {client.get(f"/{room}/{NOBODY}/").status_code for room in ("tuning", "designs", "snapshots")} == {404}
    assert TuningSeries.objects.count() == 1 and not Link.objects.exists()
