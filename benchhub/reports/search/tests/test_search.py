from datetime import date

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.models import Webhook
from benchhub.catalog.models import Configuration, Host, LicenceModel, PriceSheet
from benchhub.reports.models import Comparison, Tag
from benchhub.reports.search.kinds import KINDS
from benchhub.reports.search.results import MOST_HITS, SearchPage

pytestmark = pytest.mark.django_db


def hits(user, text):
    return {(group.title, hit.title) for group in SearchPage.read(text, user).groups for hit in group.hits}


@pytest.fixture
def viewer():
    return make_user("vera", Role.VIEWER)


@pytest.fixture
def admin():
    return make_user("ada", Role.ADMINISTRATOR)


def test_everything_is_found_by_a_word_of_its_name(viewer, experiment, systems):
    LicenceModel.objects.create(name="Per core", metric="core", product="Postgres Plus")
    Comparison.objects.create(title="Old against new", query="curve=1-1")
    PriceSheet.objects.create(name="Offer", currency="EUR", priced_on=date(2026, 1, 1), source="a quote")
    assert ("Hosts", "box") in hits(viewer, "box")
    assert ("Experiments", experiment.name) in hits(viewer, experiment.name.upper())
    assert ("Licences", "Per core") in hits(viewer, "plus core")
    assert ("Comparisons", "Old against new") in hits(viewer, "against")
    assert ("Price sheets", "Offer") in hits(viewer, "quote")
    assert ("Workloads", "select-only") in hits(viewer, "select")
    assert ("Configurations", "defaults") in hits(viewer, "defaults")
    assert ("Instances", "pg18") in hits(viewer, "pg18")
    assert ("Pages", "Queue") in hits(viewer, "que")


def test_each_word_must_match_and_nothing_is_found_by_no_word(viewer, experiment):
    assert hits(viewer, f"{experiment.name} nowhere") == set()
    assert SearchPage.read("  \0 ", viewer).groups == []


def test_an_experiment_is_found_once_by_its_tags(viewer, experiment):
    for name in ("autumn one", "autumn two"):
        Tag.objects.create(experiment=experiment, name=name)
    [group] = [group for group in SearchPage.read("autumn", viewer).groups if group.title == "Experiments"]
    assert [hit.title for hit in group.hits] == [experiment.name]


@pytest.mark.parametrize("text", ["{}", "#{}"])
def test_a_run_is_found_by_its_number(reader, experiment, text):
    run = experiment.runs.first()
    response = reader.get(reverse("search"), {"q": text.format(run.pk)})
    assertContains(response, f'<a href="{reverse("run", args=[run.pk])}">')
    assertNotContains(reader.get(reverse("search"), {"q": "9" * 40}), reverse("run", args=[run.pk]))


def test_a_hit_that_has_no_page_leads_to_its_list(reader):
    Configuration.objects.create(name="big & fast")
    assertContains(reader.get(reverse("search"), {"q": "big"}), 'href="/configurations/?q=big+%26+fast"')


def test_users_and_webhooks_are_found_by_administrators_only(viewer, admin):
    user = make_user("zoltan", Role.VIEWER)
    Webhook.objects.create(name="zoltan's notices", url="https://example.org/", events=["run.ended"], created_by=user)
    assert {("Users", "zoltan"), ("Webhooks", "zoltan's notices")} <= hits(admin, "zoltan")
    assert hits(viewer, "zoltan") == set()
    assert ("Pages", "Users") not in hits(viewer, "users")
    assert ("Pages", "Plan an experiment") not in hits(viewer, "plan")


def test_many_hits_are_cut_and_their_number_adds_no_query(viewer, django_assert_max_num_queries):
    for number in range(MOST_HITS + 2):
        testing.make_host(f"node {number}", f"192.0.2.{number}")
    with django_assert_max_num_queries(len(KINDS) + 3):  # and the role
        [group] = SearchPage.read("node", viewer).groups
        assert (len(group.hits), group.is_cut) == (MOST_HITS, True)
    assert "private_key" in Host.objects.defer("private_key").first().get_deferred_fields()


def test_what_is_typed_is_no_markup_and_no_pattern(reader):
    assertContains(reader.get(reverse("search"), {"q": "<b>"}), "&lt;b&gt;")
    testing.make_host("100%", "192.0.2.1")
    testing.make_host("1000", "192.0.2.2")
    assertNotContains(reader.get(reverse("search"), {"q": "0%"}), ">1000")


def test_search_needs_somebody_who_has_signed_in(client):
    assert client.get(reverse("search"), {"q": "box"}).status_code == 302
