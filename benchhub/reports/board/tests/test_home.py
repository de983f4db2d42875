import re
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench import testing
from benchhub.bench.models import Attempt, Experiment, LiveLog, Recurrence, Reservation, Run, Watch
from benchhub.catalog.models import Hardware, Host
from benchhub.reports.board import findings, needs, trends
from benchhub.reports.models import Comparison

pytestmark = pytest.mark.django_db
MOST_QUERIES = 40


def start(run, **watch):
    for state in ("reserved", "starting", "running"):
        Run.objects.filter(pk=run.pk).update(state=state)
    Run.objects.filter(pk=run.pk).update(started_at=timezone.now() - timedelta(seconds=30))
    return Watch.objects.create(run=run, **watch)


def part(response, name):
    """The section of the page under this heading."""
    page = response.content.decode()
    return page[page.index(f'id="{name}"') :].split("</section>")[0]


def test_an_empty_warehouse_shows_three_steps_and_what_is_done(reader):
    response = reader.get("/")
    assertContains(response, "Three steps to a first curve")
    assertContains(response, "make demo")
    assertContains(response, reverse("experiment-new"))
    assertNotContains(response, "Running now")
    assertNotContains(response, "done</span>")
    hardware = Hardware.objects.create(name="Box", sockets=1, cores_per_socket=1)
    assertNotContains(reader.get("/"), "done</span>")  # published reports bring some that nobody here has
    Host.objects.filter(pk=testing.make_host().pk).update(hardware=hardware)
    assertContains(reader.get("/"), "done</span>", count=1)
    assertNotContains(reader.get("/"), "(done)")


def test_a_demonstration_leads_to_the_servers_of_ones_own_and_counts_as_no_step(reader, systems):
    experiment = testing.make_experiment(systems, is_demonstration=True)
    Host.objects.update(hardware=Hardware.objects.first(), facts_at=timezone.now(), trust=Host.Trust.PINNED)
    response = reader.get("/")
    assertContains(response, "Three steps to a first curve of your own server")
    assertContains(response, "The week ahead")
    assertNotContains(response, "make demo")
    assertNotContains(response, "done</span>")
    assertNotContains(response, "(done)")
    Host.objects.filter(pk=testing.make_host("own", "192.0.2.77").pk).update(
        hardware=Hardware.objects.first(), facts_at=timezone.now()
    )
    assertContains(reader.get("/"), "(done)", count=1)
    Experiment.objects.filter(pk=experiment.pk).update(is_demonstration=False)
    assertNotContains(reader.get("/"), "Three steps")


def test_what_runs_has_its_step_rate_line_and_the_time_it_still_takes(reader, experiment, systems, monkeypatch):
    run = testing.make_run(experiment, systems[0], 16, 1)
    start(run, step="measuring", live_tps=4321.9)
    run.refresh_from_db()
    clock = SimpleNamespace(now=lambda: run.started_at + timedelta(seconds=30))
    monkeypatch.setattr("benchhub.reports.board.views.timezone", clock)
    attempt = Attempt.objects.create(run=run, number=1)
    text = b"".join(b"progress: %d.0 s, %d tps, lat 1 ms\n" % (second, 4000 + second) for second in range(1, 6))
    LiveLog.objects.create(attempt=attempt, stream="err", content=text, end_offset=len(text))
    response = reader.get("/")
    now = part(response, "now")
    for text in ("measuring", "4,320</data> TPS", "8 of 9 runs", "5 values from 4,001 to 4,005 TPS"):
        assert text in now
    left_s = re.search(r"about (\d+) s left", now)
    assert left_s is not None and int(left_s[1]) <= 31  # less, where the page took its time
    assertNotContains(response, "Three steps")


def test_what_waits_is_named_by_experiment_and_not_by_run(reader, experiment, systems):
    runs = [testing.make_run(experiment, systems[1], 16, repeat) for repeat in (1, 2)]
    response = reader.get("/")
    assertContains(response, "Next in the queue")
    assertContains(response, "2 runs wait")
    assertContains(response, "Nothing runs · 2 runs wait · nothing needs you")
    assertNotContains(response, reverse("run", args=[runs[0].pk]))


def test_a_finding_is_the_verdict_of_an_experiment_that_has_ended(reader, repeated):
    text = part(reader.get("/"), "findings")
    assert "Fastest: PostgreSQL 18, 1,120 TPS at 8 clients" in text
    assert "Repeated" in text and "confidence" in text
    assert reverse("experiment", args=[repeated.pk]) in text


def test_an_experiment_under_way_is_no_finding(reader, repeated, systems):
    testing.make_run(repeated, systems[0], 64, 1)
    assert "No experiment has ended" in part(reader.get("/"), "findings")


def test_a_kept_comparison_is_a_finding_and_one_that_names_nothing_is_not(reader, repeated, systems):
    keys = [f"{repeated.pk}-{system.pk}" for system in systems]
    Comparison.objects.create(title="Old or new", query=f"curve={keys[0]}&curve={keys[1]}")
    Comparison.objects.create(title="Gone", query="curve=9999-9999")
    text = part(reader.get("/"), "findings")
    assert "Old or new" in text
    assert "Gone" not in text


def test_a_finding_is_computed_once_until_a_result_comes(repeated, systems, django_assert_max_num_queries):
    [before] = findings.findings(timezone.now())
    with django_assert_max_num_queries(7):
        assert findings.findings(timezone.now()) == [before]
    testing.succeeded(testing.make_run(repeated, systems[1], 16, 1), 5000.0)
    [after] = findings.findings(timezone.now())
    assert "5,000 TPS at 16 clients" in after.verdict.words


def measured_again(systems, tps):
    experiment = testing.make_experiment(systems[:1], name="Nightly")
    testing.succeeded(testing.make_run(experiment, systems[0], 8, 1), tps)
    return experiment


def test_a_trend_is_of_one_system_measured_again_under_the_same_protocol(reader, systems):
    first, second = measured_again(systems, 1000.0), measured_again(systems, 950.0)
    text = part(reader.get("/"), "trends")
    assert "PostgreSQL 16" in text and "measured 2 times" in text
    assert "−5.0%" in text
    assert f"curve={first.pk}-{systems[0].pk}&amp;curve={second.pk}-{systems[0].pk}" in text


def test_a_trend_needs_two_experiments_that_have_ended(systems):
    measured_again(systems, 1000.0)
    assert list(trends.trends(timezone.now())) == []
    under_way = measured_again(systems, 10.0)
    testing.make_run(under_way, systems[0], 16, 1)
    assert list(trends.trends(timezone.now())) == []


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"trust": "quarantined"}, "its host key changed"),
        ({"trust": "offered"}, "waits for your approval"),
        ({"contact_error": "No route to host."}, "No route to host."),
    ],
)
def test_a_host_in_trouble_needs_a_person(reader, experiment, systems, changes, why):
    Host.objects.update(contacted_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), **changes)
    text = part(reader.get("/"), "needs")
    assert why in text
    assert "2026-01-02 03:04:05 UTC" in text


def test_a_host_that_a_run_cannot_reach_needs_a_person_too(reader, experiment, systems):
    run = testing.make_run(experiment, systems[0], 16, 1)
    Run.objects.filter(pk=run.pk).update(state="reserved")
    Watch.objects.create(run=run, contact_error="It did not answer in time.")
    assert "It did not answer in time." in part(reader.get("/"), "needs")


def test_a_paused_host_needs_a_person(reader, experiment):
    Host.objects.get().pause("Its disk is full.")
    assert "Paused: no further run starts there. Its disk is full." in part(reader.get("/"), "needs")


def test_a_canary_that_failed_needs_a_person_and_a_pause_by_hand_does_not(reader, experiment, systems):
    testing.make_run(experiment, systems[0], 16, 1)
    paused = Experiment.objects.filter(pk=experiment.pk)
    paused.update(paused_at=timezone.now(), pause_reason="Its canary failed. It was busy.")
    assert "Its canary failed. It was busy." in part(reader.get("/"), "needs")
    paused.update(pause_reason="")
    assert "Nothing waits for a person." in part(reader.get("/"), "needs")


def test_runs_that_failed_lately_need_a_person_until_they_are_set_aside(reader, experiment, systems):
    run = testing.make_run(experiment, systems[0], 16, 1)
    testing.ended(run, "failed", "pgbench exited with 2.")
    assert "1 run failed." in part(reader.get("/"), "needs")
    Run.objects.filter(pk=run.pk).update(ended_at=timezone.now() - timedelta(days=8))
    assert "1 run failed." not in part(reader.get("/"), "needs")


def test_a_plan_that_was_passed_over_or_is_not_queued_any_more_needs_a_person(reader, experiment):
    now = timezone.now()
    rule = {"weekdays": [0], "starts_at": "22:00", "zone": "UTC", "next_at": now + timedelta(days=1)}
    recurrence = Recurrence.objects.create(plan=experiment, **rule)
    assert "Nothing waits" in part(reader.get("/"), "needs")
    Recurrence.objects.update(skips=[{"at": (now - timedelta(days=9)).isoformat(), "experiment": experiment.pk}])
    assert "Nothing waits" in part(reader.get("/"), "needs")
    Recurrence.objects.update(skips=[{"at": now.isoformat(), "experiment": experiment.pk}])
    assert "Passed over" in part(reader.get("/"), "needs")
    recurrence.pause("The account is not active any more.")
    assert "Is not queued any more. The account is not active" in part(reader.get("/"), "needs")


def test_the_board_asks_no_more_queries_for_more_of_everything(reader, systems, django_assert_max_num_queries):
    def fill(number):
        for place in range(number):
            experiment = testing.make_two_curves(systems)
            start(testing.make_run(experiment, systems[0], 16 + place, 1), live_tps=10.0)
            testing.make_run(testing.make_experiment(systems), systems[1], 32, 1)
            testing.ended(testing.make_run(testing.make_two_curves(systems), systems[1], 64, 1), "failed")

    fill(1)
    reader.get("/")
    with CaptureQueriesContext(connection) as few:
        reader.get("/")
    number = len(few)
    assert 0 < number <= MOST_QUERIES
    fill(3)
    reader.get("/")
    with django_assert_max_num_queries(number):
        reader.get("/")


def test_the_board_asks_what_is_in_force_only_where_an_experiment_has_times(reader, systems):
    """Planned and written down, that statement takes as long as a third of the page."""
    experiment = testing.make_two_curves(systems)
    testing.make_run(experiment, systems[0], 64, 1)
    assert statements(reader, *IN_FORCE) == []
    now = timezone.now()
    Reservation.objects.create(experiment=experiment, period=(now, now + timedelta(hours=1)))
    assert statements(reader, *IN_FORCE)


def test_failures_and_trends_are_looked_up_by_the_keys_of_the_newest_experiments(reader, systems):
    """With a subquery the database reads what failed lately in all experiments, and joins all of them."""
    testing.ended(testing.make_run(testing.make_two_curves(systems), systems[1], 64, 1), "failed")
    number, curves = needs.LOOKED_AT, trends.MOST_EXPERIMENTS
    assert statements(reader, "bench_run", "IN (SELECT", f"LIMIT {number}") == []
    assert statements(reader, "bench_experimentsystem", "IN (SELECT", f"LIMIT {curves}") == []


IN_FORCE = 'SELECT "bench_reservation"', "bench_growth"


def statements(reader, *words):
    """Return the statements of the page that have all these words."""
    with CaptureQueriesContext(connection) as queries:
        reader.get("/")
    return [query["sql"] for query in queries if all(word in query["sql"] for word in words)]
