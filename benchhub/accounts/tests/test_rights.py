import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from benchhub.accounts import policy, rights
from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.catalog.models import Host

pytestmark = pytest.mark.django_db


def names(patterns=None):
    """The names of all pages; those of the API are guarded by their scopes."""
    for pattern in patterns or get_resolver().url_patterns:
        if isinstance(pattern, URLResolver):
            if pattern.namespace is None:
                yield from names(pattern.url_patterns)
        elif isinstance(pattern, URLPattern) and getattr(pattern.callback, "login_required", True):
            yield pattern.name


@pytest.fixture
def hosts():
    return testing.make_host("near", "192.0.2.1"), testing.make_host("far", "192.0.2.2")


def test_each_name_of_the_policy_is_a_page_and_stands_there_once():
    listed = [*policy.VIEWERS, *policy.RUNNERS, *policy.ON_THE_HOST, *policy.ON_ITS_HOST]
    assert set(listed) <= set(names())
    assert len(listed) == len(set(listed))


def test_what_the_policy_does_not_name_takes_an_administrator():
    assert policy.least_role("host-approve") == Role.ADMINISTRATOR
    assert policy.least_role("a-page-of-tomorrow") == Role.ADMINISTRATOR
    assert policy.least_role("experiment-cancel") == Role.RUNNER
    assert policy.least_role("experiment") == Role.VIEWER


@pytest.mark.parametrize("name", sorted(set(names())))
def test_a_viewer_is_refused_every_page_that_changes_something(name):
    viewer = make_user("vera", Role.VIEWER)
    changes = any(word in name for word in ("add", "edit", "cancel", "revise", "retire", "delete", "approve", "pause"))
    own = name in ("token-add", "second-factor-add")
    assert bool(policy.refusal(viewer, name, {"pk": 1})) or not changes or own


def test_roles_rise_and_an_account_in_no_group_is_a_viewers(django_user_model):
    assert rights.role(django_user_model.objects.create_user("nobody")) == Role.VIEWER
    assert rights.role(django_user_model.objects.create_superuser("root")) == Role.ADMINISTRATOR
    runner = make_user("rosa", Role.RUNNER)
    assert rights.is_at_least(runner, Role.VIEWER) and not rights.is_at_least(runner, Role.ADMINISTRATOR)
    rights.give_role(runner, Role.VIEWER)
    assert set(runner.groups.values_list("name", flat=True)) == {"viewer"}


def test_a_runner_runs_on_the_hosts_of_the_permit_only(hosts):
    near, far = hosts
    runner = make_user("rosa", Role.RUNNER, near)
    assert rights.denied_hosts(runner, [near.pk, None]) == set()
    assert rights.denied_hosts(runner, [near.pk, far.pk]) == {far.pk}
    assert rights.denied_hosts(make_user("all", Role.RUNNER, everywhere=True), [near.pk, far.pk]) == set()
    assert rights.denied_hosts(make_user("none", Role.RUNNER), [near.pk]) == {near.pk}
    assert rights.denied_hosts(make_user("ada", Role.ADMINISTRATOR), [near.pk]) == set()
    assert rights.denied_hosts(make_user("vera", Role.VIEWER, everywhere=True), [near.pk]) == {near.pk}


def test_a_permit_does_not_keep_a_host_from_being_deleted(hosts):
    make_user("rosa", Role.RUNNER, *hosts)
    hosts[0].delete()
    assert Host.objects.filter(name="near").count() == 0


@pytest.mark.parametrize(("role", "may"), [(Role.VIEWER, False), (Role.RUNNER, True), (Role.ADMINISTRATOR, True)])
def test_publishing_belongs_to_runners_and_writing_scripts_to_no_role(role, may):
    user = make_user("ada", role)
    assert user.has_perm("reports.add_snapshot") is may
    assert not user.has_perm("catalog.write_scripts")
    user.is_active = False
    assert not user.has_perm("reports.add_snapshot")
