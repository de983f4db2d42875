"""No page offers a reader what the reader's role or permit refuses; every result stays to be seen."""

import re
from urllib.parse import urlsplit

import pytest
from django.contrib.auth import get_user_model
from django.urls import Resolver404, resolve, reverse

from benchhub.accounts import policy
from benchhub.accounts.rights import Hosts, Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.plan import presets
from runners.tools.pgbench import kinds as pgbench_kinds
from runners.tools.pgbench.parameters import scripts_digest

from .pages import PAGES

pytestmark = pytest.mark.django_db
WAY = re.compile(r'\s(?:href|action|formaction|hx-post)="(/[^"]*)"')
SENT_TO_ITSELF = re.compile(r'<form(?![^>]*\saction=)[^>]*method="post"')
# What needs no host: the permit does not matter.
ANYWHERE = {
    "results-import",
    "experiment-new",
    "experiment-plan",
    "tuning-new",
    "tuning-plan",
    "published-publish",
    "comparability-withdraw",
}
ANYWHERE |= {name for name in policy.RUNNERS if name.startswith(("comparison-", "link-"))}
ON_HOSTS = (policy.RUNNERS - ANYWHERE) | policy.ON_THE_HOST | policy.ON_ITS_HOST | policy.ON_HOST_OF_BUILD
# They stand on pages of other rows: a failed run, one that is set aside, a host that is not paused, an ended design,
# a queue of several experiments, a run that BenchHub did not observe.
SOMEWHERE_ELSE = {"run-put-back", "run-rerun", "host-pause", "experiment-resume", "again", "design-again"}
SOMEWHERE_ELSE |= {"time-remove", "experiment-move", "recurrence-resume"}
SOMEWHERE_ELSE |= {"run-telemetry-add", "run-telemetry-remove"}
CATALOGUE = {f"{kind}-add" for kind in ("host", "instance", "hardware", "price", "licence-model", "workload")}


@pytest.fixture
def offered(client, rows):
    """Find where the pages that the user may look at lead: names in urls.py, each with the pages that do."""

    def find(user):
        client.force_login(user)
        ways: dict[str, set[str]] = {}
        for page, row in PAGES.items():
            kwargs = {"pk": rows[row].pk} if row else {}
            if page == "login" or policy.least_role(page) != Role.VIEWER:
                continue
            text = client.get(reverse(page, kwargs=kwargs), follow=True).content.decode()
            if SENT_TO_ITSELF.search(text):
                ways.setdefault(f"{page} itself", set()).add(page)
            for name in filter(None, map(name_of, WAY.findall(text))):
                ways.setdefault(name, set()).add(page)
        return ways

    return find


def name_of(address):
    """Empty for what is none of the pages, such as a style sheet."""
    try:
        return resolve(urlsplit(address).path).view_name
    except Resolver404:
        return ""


def refused(ways, user):
    """Return the names that lead nowhere for this user, whatever the host."""
    own_ways = {name: pages for name, pages in ways.items() if ":" not in name and " " not in name}
    return {name: pages for name, pages in own_ways.items() if policy.refusal(user, name, {"pk": 0})}


def test_a_viewer_is_offered_nothing_to_change_and_sees_the_results(client, offered, rows):
    viewer = make_user("vera", Role.VIEWER)
    ways = offered(viewer)
    assert refused(ways, viewer) == {}
    assert {name for name in ways if name.endswith(" itself")} == {
        "token-add itself",
        "password-change itself",
        "second-factor-add itself",
    }
    assert {"experiment", "run", "experiment-curve", "compare", "host", "price-sheet-csv", "evidence"} <= ways.keys()
    page = client.get(reverse("experiment", args=[rows["experiment"].pk])).content.decode()
    assert "Throughput and latency against clients" in page and ">305<" in page
    assert "Download CSV" in page


def test_a_runner_is_offered_what_the_permit_opens_and_not_the_catalogue(offered, rows):
    runner = make_user("rosa", Role.RUNNER, rows["host"])
    ways = offered(runner)
    on_a_host = policy.ON_THE_HOST | policy.ON_ITS_HOST | policy.ON_HOST_OF_BUILD
    assert refused({name: pages for name, pages in ways.items() if name not in on_a_host}, runner) == {}
    assert ways.keys() >= ON_HOSTS - SOMEWHERE_ELSE - policy.ON_THE_HOST
    assert CATALOGUE.isdisjoint(ways)


def test_a_runner_of_another_host_may_plan_and_share_and_is_offered_nothing_else(offered):
    runner = make_user("otto", Role.RUNNER, testing.make_host("other", "192.0.2.9"))
    ways = offered(runner)
    assert not {name: ways[name] for name in ON_HOSTS & ways.keys()}
    assert {"experiment-new", "link-new"} <= ways.keys()


def test_an_administrator_is_offered_everything(offered):
    ways = offered(get_user_model().objects.create_superuser("ada"))
    assert ways.keys() >= (ON_HOSTS | CATALOGUE) - SOMEWHERE_ELSE


def test_only_runners_start_from_a_published_method(client):
    client.force_login(make_user("vera", Role.VIEWER))
    assert client.post(reverse("presets"), {"preset": "report-b"}).status_code == 403
    client.force_login(make_user("rosa", Role.RUNNER))
    assert client.post(reverse("presets"), {"preset": "report-b"}).status_code == 302


def test_the_workload_of_report_b_is_the_same_whichever_way_it_is_started_from():
    [planned] = [workload for workload in presets.REPORT_B.workloads if workload.scripts_digest]
    assert planned.scripts_digest == scripts_digest(pgbench_kinds.PRESETS["report-b"]["parameters"])


@pytest.mark.parametrize(
    ("role", "everywhere", "near", "both", "none"),
    [
        (Role.VIEWER, True, False, False, False),
        (Role.RUNNER, False, True, False, True),
        (Role.RUNNER, True, True, True, True),
        (Role.ADMINISTRATOR, False, True, True, True),
    ],
)
def test_the_hosts_of_a_user_are_asked_by_key_or_by_several(role, everywhere, near, both, none):
    hosts = [testing.make_host("near", "192.0.2.1"), testing.make_host("far", "192.0.2.2")]
    user = make_user("someone", role, hosts[0], everywhere=everywhere)
    open_to = Hosts(user)
    assert (hosts[0].pk in open_to) is near
    assert ({host.pk for host in hosts} in open_to) is both
    assert ({None, hosts[0].pk} in open_to) is near
    assert (None in open_to) is none


def test_many_hosts_are_asked_for_with_the_queries_of_one(django_assert_num_queries):
    user = make_user("rosa", Role.RUNNER, host := testing.make_host())
    open_to = Hosts(user)
    with django_assert_num_queries(3):  # groups, permit, its hosts
        assert all(host.pk in open_to for _ in range(5))
        assert -1 not in open_to
