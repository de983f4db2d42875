"""The list in which curves are ticked to be compared."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.models import Experiment, ExperimentSystem
from benchhub.catalog.models import Configuration
from benchhub.reports.models import Tag
from benchhub.reports.testing import COMPARE, both, key, variant

pytestmark = pytest.mark.django_db
PICK_QUERIES = 11  # session, user, hosts, workloads, builds, configurations, tags, count, page, levels, peaks


def test_a_warehouse_without_a_curve_says_what_to_do_first(reader):
    assertContains(reader.get(COMPARE), "There is no finished curve yet")


def test_finished_curves_are_listed_with_their_peak_and_can_be_ticked(reader, experiment, systems):
    response = reader.get(COMPARE)
    assertContains(response, f'name="curve" value="{key(experiment, systems[0])}"')
    assertContains(response, "1,120")
    assertContains(response, "at 8 clients")
    assertContains(response, '1 min<span class="under">no warm-up</span>')
    assertNotContains(response, " checked")


def test_a_curve_that_is_still_being_run_is_not_listed(reader, experiment, systems):
    testing.make_run(experiment, systems[0], 16, 1)
    response = reader.get(COMPARE)
    assertNotContains(response, f'value="{key(experiment, systems[0])}"')
    assertContains(response, f'value="{key(experiment, systems[1])}"')


def test_a_search_keeps_what_was_ticked_even_where_it_is_not_found(reader, experiment, systems):
    response = reader.get(both(experiment, systems[:1], pick=1, q="PostgreSQL 18"))
    assertContains(response, "Also chosen")
    assertContains(response, f'value="{key(experiment, systems[0])}" checked')
    assertContains(response, f'id="curve-{key(experiment, systems[1])}"')
    assertNotContains(response, f'id="curve-{key(experiment, systems[0])}"')
    assertContains(response, f'href="?curve={key(experiment, systems[0])}&amp;pick=1">Show all')


def test_the_list_narrows_by_host_and_says_when_nothing_matches(reader, experiment, host):
    assertContains(reader.get(COMPARE, {"host": host.pk}), "PostgreSQL 16")
    assertContains(reader.get(COMPARE, {"q": "no such thing"}), "Nothing matches")


@pytest.mark.parametrize(("name", "right"), [("build", 0), ("configuration", 1), ("since", 0), ("tag", 0)])
def test_the_list_narrows_by_build_configuration_date_and_tag(reader, experiment, systems, name, right):
    """18 is of another experiment, which is older, with a configuration of its own."""
    other = testing.make_experiment(systems[1:], name="Old")
    Experiment.objects.filter(pk=other.pk).update(created_at=timezone.now() - timedelta(days=40))
    experiment.experimentsystem_set.filter(system=systems[1]).delete()
    tuned = variant(systems[1], configuration_id=Configuration.objects.create(name="tuned").pk, label="18 tuned")
    ExperimentSystem.objects.filter(experiment=other).update(system=tuned)
    testing.succeeded(testing.make_run(other, tuned, 8, 1), 900.0)
    Tag.objects.create(experiment=experiment, name="before")
    filters = {"build": systems[0].build_id, "configuration": tuned.configuration_id, "since": "30", "tag": "before"}
    response = reader.get(COMPARE, {name: filters[name]})
    keys = [key(experiment, systems[0]), key(other, tuned)]
    assertContains(response, f'id="curve-{keys[right]}"')
    assertNotContains(response, f'id="curve-{keys[1 - right]}"')


def test_tags_are_put_to_an_experiment_as_words_between_commas(client, experiment):
    client.force_login(make_user("ada", Role.RUNNER, everywhere=True))
    path = f"/experiments/{experiment.pk}/tags"
    client.post(path, {"tags": "NVMe, before  the upgrade,, NVMe"})
    client.post(path, {"tags": "NVMe, after"})
    assert {tag.name for tag in experiment.tags.all()} == {"after", "NVMe"}
    assertContains(client.get(f"/experiments/{experiment.pk}/"), '<span class="tag">NVMe</span>')
    assertContains(client.post(path, {"tags": "x" * 41}), "is longer than 40 characters")
    assertContains(client.post(path, {"tags": ",".join(map(str, range(13)))}), "at most 12 tags; these are 13")
    assert experiment.tags.count() == 2


def test_who_only_reads_puts_no_tags(client, experiment):
    client.force_login(make_user("grace", Role.VIEWER))
    assert client.post(f"/experiments/{experiment.pk}/tags", {"tags": "x"}).status_code == 403
    assert not experiment.tags.exists()


def test_the_button_leads_to_an_address_without_the_search(reader, experiment, systems):
    page = both(experiment, systems, pick=1, q="Two", sort="date", go=1, term=5)
    assertRedirects(reader.get(page), both(experiment, systems, term=5))


def test_comparing_nothing_asks_to_tick_first(reader, experiment):
    assertContains(reader.get(COMPARE, {"pick": 1, "go": 1}), "Tick the curves to compare first.")


def test_an_experiment_leads_to_all_its_curves(reader, experiment, systems):
    assertRedirects(reader.get(COMPARE, {"experiment": experiment.pk}), both(experiment, systems))


def test_an_experiment_without_a_result_has_nothing_to_compare(reader, systems):
    empty = testing.make_experiment(systems, name="Empty")
    assertContains(
        reader.get(COMPARE, {"experiment": empty.pk}), "Empty&#x27; has no result, so there is nothing to compare"
    )
    assert reader.get(COMPARE, {"experiment": "x"}).status_code == 404


def test_the_list_takes_the_same_queries_however_many_curves_there_are(
    reader, experiment, systems, django_assert_num_queries
):
    with django_assert_num_queries(PICK_QUERIES):
        reader.get(COMPARE)
    other = testing.make_experiment(systems, name="Again")
    for system in systems:
        testing.succeeded(testing.make_run(other, system, 1, 1), 300.0)
    with django_assert_num_queries(PICK_QUERIES):
        reader.get(COMPARE)
