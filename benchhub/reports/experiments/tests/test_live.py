"""What those who look on are sent while an experiment is under way, and that it does not grow with their number."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains

from benchhub.bench import testing
from benchhub.bench.models import EndedTally, LiveLog, Run, Watch
from benchhub.bench.queue import queue
from benchhub.reports.experiments import live
from benchhub.ui import feeds
from benchhub.ui.feeds import VERSION, Feeds

pytestmark = pytest.mark.django_db
LOG = b"".join(b"progress: %d.0 s, %d.0 tps, lat 1.000 ms stddev 0.100, 0 failed\n" % (i, 100 * i) for i in (1, 2, 3))
DEADLINE_S = 1800
RUN_FEED_QUERIES = 6  # session, user, whether it is there; run, log, what runs took beside their loads
# Session, user, whether it is there; runs, logs, protocols, places of systems, what runs took, counts by state.
EXPERIMENT_FEED_QUERIES = 9


@pytest.fixture(autouse=True)
def own_feeds(monkeypatch):
    """Keep answers from test to test apart, and each for as long as its test takes."""
    monkeypatch.setattr(feeds, "feeds", Feeds(fresh_s=float("inf")))


@pytest.fixture
def running():
    """A run under load that has printed three seconds; another waits."""
    hardware = testing.make_box()
    system = testing.make_system("18", testing.make_host(), hardware)
    experiment = testing.make_experiment([system])
    spec = {"tool": "pgbench", "clients": 8, "parameters": testing.PARAMETERS, "deadline_s": DEADLINE_S}
    run = testing.make_run(experiment, system, 8, 1, spec=spec)
    testing.make_run(experiment, system, 8, 2)
    Run.objects.filter(pk=run.pk).update(state="reserved")
    Run.objects.filter(pk=run.pk).update(state="starting")
    Run.objects.filter(pk=run.pk).update(state="running", started_at=timezone.now())
    attempt = run.attempts.create(number=1)
    Watch.objects.create(run=run, step="measure")
    LiveLog.objects.create(attempt=attempt, stream="err", content=LOG, end_offset=len(LOG))
    return run


def address(run, kind="run"):
    return reverse("run-live", args=[run.pk]) if kind == "run" else reverse("experiment-live", args=[run.experiment_id])


def test_a_run_tells_every_second_that_it_has_printed_and_how_long_it_takes(reader, running):
    feed = reader.get(address(running)).json()
    assert (feed["values"], feed["unit"]) == ([100.0, 200.0, 300.0], "TPS")
    started_at = Run.objects.get(pk=running.pk).started_at
    assert feed["end_epoch_s"] == round(started_at.timestamp() + 60.7)  # the load and its steps


def test_an_experiment_has_a_point_for_each_run_under_load_at_the_mean_so_far(reader, running):
    feed = reader.get(address(running, "experiment")).json()
    [point] = feed["points"]
    assert point == {
        "run": running.pk, "figure": 1, "series": 0, "clients": 8, "value": 200.0, "seconds": 3, "unit": "TPS",
    }  # fmt: skip
    assert feed["end_epoch_s"] > timezone.now().timestamp() + 60  # the one that waits is in it
    assert feed["end_epoch_s"] % live.ROUNDED_S == 0


def test_a_late_run_says_when_it_was_to_end_and_when_its_host_ends_it(reader, running):
    started_at = timezone.now() - timedelta(seconds=900)
    Run.objects.filter(pk=running.pk).update(started_at=started_at)
    feed = reader.get(address(running)).json()
    start_s = started_at.timestamp()
    assert feed["end_epoch_s"] == round(start_s + 60.7)  # the load and its steps, though that is past
    assert feed["deadline_epoch_s"] == round(start_s + DEADLINE_S)
    page = reader.get(reverse("run", args=[running.pk]))
    assertContains(page, "It takes longer than expected")
    assertContains(page, "Its host ends it at the latest about")


def test_an_experiment_whose_last_run_is_late_was_to_end_when_that_was(reader, running):
    testing.ended(running.experiment.runs.get(repeat=2), "failed", "it broke")
    started_at = timezone.now() - timedelta(seconds=900)
    Run.objects.filter(pk=running.pk).update(started_at=started_at)
    end_s = reader.get(address(running, "experiment")).json()["end_epoch_s"]
    assert end_s == pytest.approx(started_at.timestamp() + 60.7, abs=live.ROUNDED_S)


def test_a_run_that_has_ended_is_no_point_and_has_nothing_left(reader, running):
    Run.objects.filter(pk=running.pk).update(state="failed", ended_at=timezone.now())
    assert reader.get(address(running, "experiment")).json()["points"] == []
    feed = reader.get(address(running)).json()
    assert (feed["values"], feed["end_epoch_s"]) == ([], None)


@pytest.mark.parametrize(("kind", "number"), [("run", RUN_FEED_QUERIES), ("experiment", EXPERIMENT_FEED_QUERIES)])
def test_further_viewers_cost_no_query_of_the_feed_and_get_nothing_twice(
    reader, running, kind, number, django_assert_num_queries
):
    with django_assert_num_queries(number):
        first = reader.get(address(running, kind))
    with django_assert_num_queries(3):  # session, user, whether it is there
        again = reader.get(address(running, kind), headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_what_is_not_there_has_no_feed(reader):
    assert reader.get(reverse("run-live", args=[1])).status_code == 404
    assert reader.get(reverse("experiment-live", args=[1])).status_code == 404


@pytest.mark.parametrize("name", ["run", "experiment"])
def test_a_page_under_way_comes_again_only_when_it_has_changed(reader, running, name):
    page = reverse(name, args=[running.pk if name == "run" else running.experiment_id])
    version = reader.get(page).context["version"]
    assert reader.get(page, headers={VERSION: version}).status_code == 204
    feeds.feeds = Feeds()
    Run.objects.filter(pk=running.pk).update(cancel_asked_at=timezone.now())
    changed = reader.get(page, headers={VERSION: version})
    assert changed.status_code == 200
    assert changed.context["version"] != version


def test_a_version_is_another_one_after_each_move_of_a_run(running):
    before = live.version(running.experiment_id)
    assert live.version(running.experiment_id) == before
    Run.objects.filter(experiment=running.experiment, repeat=2).update(reason="Its host was not reached.")
    given_back = live.version(running.experiment_id)
    assert given_back != before
    testing.ended(running.experiment.runs.get(repeat=2), "failed", "it broke")
    assert live.version(running.experiment_id) not in (before, given_back)


def test_a_version_is_another_one_where_a_run_ends_again_as_before_or_is_set_aside(running):
    failed = running.experiment.runs.get(repeat=2)
    testing.ended(failed, "failed", "it broke")
    versions = [live.version(running.experiment_id)]
    queue.run_again(Run.objects.filter(pk=failed.pk))
    versions.append(live.version(running.experiment_id))
    failed.refresh_from_db()
    begun_at = timezone.now() - timedelta(seconds=7)
    for state in ("reserved", "starting", "running"):
        Run.objects.filter(pk=failed.pk).update(state=state, started_at=begun_at)
    Run.objects.filter(pk=failed.pk).update(state="failed", ended_at=begun_at + timedelta(seconds=3))
    versions.append(live.version(running.experiment_id))
    Run.objects.filter(pk=failed.pk).update(set_aside_at=timezone.now())
    versions.append(live.version(running.experiment_id))
    assert len(set(versions)) == len(versions)
    EndedTally.objects.all().fold()
    assert live.version(running.experiment_id) == versions[-1]


def test_a_version_reads_of_the_runs_only_those_under_way_or_waiting_or_set_aside(running):
    with CaptureQueriesContext(connection) as queries:
        live.version(running.experiment_id)
    of_runs = [query["sql"] for query in queries if 'FROM "bench_run"' in query["sql"]]
    assert of_runs
    assert all("state" in sql.partition("WHERE")[2] or "IS NOT NULL" in sql for sql in of_runs)
    assert len(queries) == 5
