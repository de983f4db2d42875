"""The pages of the queue, of times and policies, and the buttons on them."""

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.analysis.planning.timetable import Period
from benchhub.bench import testing
from benchhub.bench.models import Experiment, Reservation, Run, Window
from benchhub.bench.queue import page as queue_page
from benchhub.bench.queue import queue, timetable
from benchhub.bench.queue.page import Times
from benchhub.catalog.models import Host
from benchhub.ui import feeds

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
# session, user; version: events, runs, experiments, hosts, periods; active; waiting, their runs, gates, experiments,
# systems;
# rests, windows, periods, workers, hosts in trouble,
# counts by system, their hosts; experiments that wait: rows, counts
QUEUE_QUERIES = 23


def hours(owner, start, end):
    now = timezone.now()
    return timetable.reserve_once(owner, now + start * HOUR, now + end * HOUR, zone="UTC", reason="")


# --- the queue -------------------------------------------------------------------------------------------------


def test_the_queue_says_that_nothing_waits(ada):
    assertContains(ada.get("/queue/"), "Nothing waits.")


def test_the_queue_shows_what_comes_next_and_when(ada, experiment):
    response = ada.get("/queue/")
    assertContains(response, "Two builds")
    assertContains(response, "It starts with the next look at the queue.")
    assertContains(response, "The runs before it come first.", count=3)
    assertContains(response, "4 min")


def test_the_page_takes_as_many_queries_for_one_run_as_for_many(ada, experiment, django_assert_num_queries):
    with django_assert_num_queries(QUEUE_QUERIES):
        ada.get("/queue/")
    for repeat in range(2, 30):
        testing.make_run(experiment, experiment.runs.first().system, 1, repeat)
    with django_assert_num_queries(QUEUE_QUERIES):
        assertContains(ada.get("/queue/"), "27 more wait for this host.")


def test_the_page_comes_again_only_when_something_has_moved(ada, experiment, monkeypatch):
    monkeypatch.setattr(queue_page, "REFRESH_S", 10**12)
    version = ada.get("/queue/").context["version"]
    monkeypatch.setattr(feeds, "feeds", feeds.Feeds())
    assert ada.get("/queue/", headers={feeds.VERSION: version}).status_code == 204
    for change in (pause, plan_another, block):
        before = queue_page.version()
        change(experiment)
        assert queue_page.version() != before, change
    monkeypatch.setattr(feeds, "feeds", feeds.Feeds())
    assertContains(ada.get("/queue/", headers={feeds.VERSION: version}), "paused")


def test_the_page_is_drawn_once_for_all_who_may_do_the_same_with_a_token_for_each(ada, experiment, monkeypatch):
    monkeypatch.setattr(feeds, "drawings", feeds.Feeds(fresh_s=float("inf")))
    monkeypatch.setattr(queue_page, "REFRESH_S", 10**12)
    loads, load = [], queue_page.QueuePage.load
    monkeypatch.setattr(queue_page.QueuePage, "load", lambda *args: loads.append(args) or load(*args))
    eve, viewer = Client(enforce_csrf_checks=True), Client()
    eve.force_login(get_user_model().objects.create_superuser("eve"))
    viewer.force_login(get_user_model().objects.create_user("vic"))
    own, hers = refreshed(ada), refreshed(eve, "?x=1")
    assert len(loads) == 1 and feeds.TOKEN_MARK not in own + hers
    address = reverse("experiment-pause", args=[experiment.pk])
    assert eve.post(address, {"csrfmiddlewaretoken": token(own)}).status_code == 403
    assert eve.post(address, {"csrfmiddlewaretoken": token(hers)}).status_code == 302
    assert "Resume" in refreshed(eve) and "Resume" not in refreshed(viewer)


def refreshed(client, query=""):
    return client.get(f"/queue/{query}", headers={feeds.VERSION: "another"}).content.decode()


def token(page):
    return page.partition('name="csrfmiddlewaretoken" value="')[2][:64]


def test_the_next_runs_are_looked_for_beyond_experiments_without_any(experiment, monkeypatch):
    monkeypatch.setattr(queue_page, "LOOKED_AT", 2)
    monkeypatch.setattr(queue_page, "CHUNKS", (1,))
    system = experiment.systems.first()
    without, second, third = (testing.make_experiment([system]) for _ in range(3))
    keys = [testing.make_run(other, system, 1, 1).pk for other in (second, third)]
    assert queue_page.next_keys([without.pk, second.pk]) == keys[:1]
    assert queue_page.next_keys([without.pk, second.pk, without.pk, third.pk]) == keys
    more = testing.make_run(third, system, 1, 2).pk
    assert queue_page.next_keys([without.pk, second.pk, third.pk]) == [*keys, more]
    assert queue_page.QueuePage.load(timezone.now()).is_cut


def pause(experiment):
    queue.pause(experiment, "Paused by ada.")


def plan_another(experiment):
    testing.make_run(experiment, experiment.runs.first().system, 16, 1)


def block(experiment):
    hours(experiment.runs.first().system.driver, 1, 2)


def test_experiments_and_hosts_have_pages_and_places_go_on_from_one_to_the_next(ada, experiment, monkeypatch):
    monkeypatch.setattr(queue_page, "EXPERIMENTS_PER_PAGE", 2)
    system = experiment.runs.first().system
    for name in ("Second", "Third"):
        testing.make_run(testing.make_experiment([system], name=name), system, 1, 1)
    first, last = ada.get("/queue/?page=1"), ada.get("/queue/?page=1&experiments=2")
    assertContains(first, "Page 1 of 2, 3 experiments in all")
    assertContains(first, '<a href="?page=1&amp;experiments=2" rel="next">Later</a>', html=True)
    [third] = last.context["page"].experiments
    assert (third.name, third.queued_count, third.queued_loads, third.queued_s) == ("Third", 1, 0, 60)
    assertContains(last, '<td class="n first" data-label="Place">3</td>', html=True)
    assertContains(last, 'name="direction" value="up"')
    assertNotContains(last, 'name="direction" value="down"')
    ada.post(reverse("experiment-move", args=[third.pk]), {"direction": "up"})
    assert [row.name for row in Experiment.objects.waiting()] == ["Two builds", "Third", "Second"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"trust": Host.Trust.QUARANTINED}, "Its host key has changed."),
        ({"paused_at": Now()}, "The host box is paused."),
        ({"unreachable_since": Now(), "contact_error": "It timed out."}, "Not reached since"),
    ],
)
def test_the_queue_says_what_is_wrong_with_a_host(change, sentence, ada, experiment):
    Host.objects.update(**change)
    assertContains(ada.get("/queue/"), sentence)


def test_a_host_in_trouble_is_shown_although_nothing_waits_for_it(ada):
    testing.make_host()
    assertNotContains(ada.get("/queue/"), "box")
    Host.objects.update(paused_at=Now())
    assertContains(ada.get("/queue/"), "box")


def test_expected_starts_follow_one_another_with_load_margin_and_rest(experiment):
    """60 s of load, 5 s for collecting and 30 s of rest: a run starts every 95 s."""
    now = timezone.now()
    rows = forecast(now)
    assert [row.expected_at - now for row in rows] == [timedelta(seconds=95 * i) for i in range(4)]
    assert [row.is_due for row in rows] == [True, False, False, False]


def test_expected_starts_wait_for_what_runs_and_jump_over_blocks(experiment, host):
    now = timezone.now()
    blocked = {host.pk: [Period(now + timedelta(seconds=200), now + HOUR)]}
    free = {f"host:{host.pk}": now + timedelta(seconds=20)}
    # 20 s until the host is free; 20 + 95 = 115, which ends at 180; 210 would lie in the block: after it; and so on.
    starts = [row.expected_at - now for row in forecast(now, free, Times(blocked, {}))]
    assert [start.total_seconds() for start in starts] == [20, 115, 3600, 3695]


def test_a_run_that_fits_into_no_window_says_so(experiment):
    now = timezone.now()
    [first, *_] = forecast(now, {}, Times({}, {experiment.pk: [Period(now, now + timedelta(seconds=64))]}))
    assert first.expected_at is None
    assert first.reasons == ("Within the next 60 days no period is long enough for it.",)
    [first, *_] = forecast(now, {}, Times({}, {experiment.pk: [Period(now, now + timedelta(seconds=65))]}))
    assert first.expected_at == now


def test_nobody_can_say_when_a_paused_experiment_starts_and_it_holds_up_no_other(experiment):
    queue.pause(experiment, "Paused by ada.")
    other = testing.make_experiment([experiment.runs.first().system], name="Other")
    testing.make_run(other, experiment.runs.first().system, 16, 1)
    now = timezone.now()
    *paused_rows, last = forecast(now)
    assert {row.expected_at for row in paused_rows} == {None}
    assert last.expected_at == now


def forecast(now, free=None, times=None):
    keys = queue_page.next_keys(Experiment.objects.waiting().values_list("pk", flat=True))
    queued = queue_page.queued_runs(keys)
    return queue_page.forecast(queued, free or {}, times or queue_page.times(queued, now), now)


def test_the_page_of_a_queued_run_says_why_it_waits(ada, experiment):
    run = experiment.runs.first()
    assertNotContains(ada.get(reverse("run", args=[run.pk])), "is paused")
    ada.post(reverse("host-pause", args=[Host.objects.get().pk]))
    assertContains(ada.get(reverse("run", args=[run.pk])), "The host box is paused.")


# --- buttons ---------------------------------------------------------------------------------------------------


def test_nothing_is_done_without_signing_in_or_by_a_link(client, ada, experiment, host):
    client.logout()
    run = experiment.runs.first()
    addresses = [reverse(f"experiment-{name}", args=[experiment.pk]) for name in ("pause", "resume", "move", "rerun")]
    addresses += [reverse("host-pause", args=[host.pk]), reverse("host-resume", args=[host.pk])]
    addresses += [reverse("run-rerun", args=[run.pk])]
    for address in addresses:
        assert client.post(address).url.startswith(reverse("login"))
    client.force_login(get_user_model().objects.get())
    for address in addresses:
        assert client.get(address).status_code == 405
    assert not Experiment.objects.filter(paused_at__isnull=False).exists()
    assert not Host.objects.filter(paused_at__isnull=False).exists()


def test_an_experiment_is_paused_and_resumed_and_says_by_whom(ada, experiment):
    page = reverse("experiment", args=[experiment.pk])
    assertRedirects(ada.post(reverse("experiment-pause", args=[experiment.pk])), page)
    assertContains(ada.get(page), "Paused by ada.")
    assertContains(ada.get("/queue/"), "Paused by ada.")
    assertContains(ada.get("/queue/"), "The experiment is paused.", count=4)
    ada.post(reverse("experiment-resume", args=[experiment.pk]))
    assertNotContains(ada.get(page), "Paused by ada.")


@pytest.mark.parametrize(("address", "target"), [("/queue/", "/queue/"), ("https://elsewhere.test/", None), ("", None)])
def test_a_button_goes_back_to_the_page_that_it_stands_on_and_never_elsewhere(address, target, ada, experiment):
    response = ada.post(reverse("experiment-pause", args=[experiment.pk]), {"next": address})
    assert response.url == (target or reverse("experiment", args=[experiment.pk]))


def test_experiments_are_moved_on_the_page_of_the_queue(ada, experiment):
    system = experiment.runs.first().system
    testing.make_run(testing.make_experiment([system], name="Later"), system, 16, 1)
    later = Experiment.objects.get(name="Later")
    ada.post(reverse("experiment-move", args=[later.pk]), {"direction": "up"})
    assert list(Experiment.objects.waiting()) == [later, experiment]
    response = ada.post(reverse("experiment-move", args=[later.pk]), {"direction": "up"}, follow=True)
    assertContains(response, "Nothing was moved")
    assert ada.post(reverse("experiment-move", args=[later.pk]), {"direction": "sideways"}).status_code == 302


def test_a_policy_is_changed_and_a_wrong_one_is_refused_beside_the_field(ada, experiment):
    address = reverse("experiment-policy", args=[experiment.pk])
    values = {"priority": "7", "failure_policy": "pause", "failure_limit": "0", "attempts_if_lost": "3"}
    response = ada.post(address, values)
    assertContains(response, "Not saved")
    assertContains(response, 'value="7"')
    assertContains(response, "greater than or equal to 1")
    ada.post(address, {**values, "failure_limit": "2"})
    experiment.refresh_from_db()
    assert (experiment.priority, experiment.failure_policy) == (7, "pause")
    assert (experiment.failure_limit, experiment.attempts_if_lost) == (2, 3)


def test_saving_a_policy_does_not_undo_a_pause_that_came_meanwhile(ada, experiment):
    queue.pause(experiment, "by policy")
    values = {"priority": "7", "failure_policy": "pause", "failure_limit": "2", "attempts_if_lost": "3"}
    ada.post(reverse("experiment-policy", args=[experiment.pk]), values)
    assert Experiment.objects.get().paused_at is not None


def test_all_failed_and_lost_runs_are_run_again_by_one_button(ada, experiment):
    first, second, third, _ = experiment.runs.order_by("position")
    testing.ended(first, "failed", "no good")
    testing.succeeded(second, 100.0)
    Run.objects.filter(pk=third.pk).update(state="reserved")
    page = reverse("experiment", args=[experiment.pk])
    assertContains(ada.get(page), "Run the 1 failed or lost again")
    response = ada.post(reverse("experiment-rerun", args=[experiment.pk]), follow=True)
    assertContains(response, "1 run queued again")
    assert list(experiment.runs.order_by("position").values_list("state", flat=True)) == [
        "queued", "succeeded", "reserved", "queued",
    ]  # fmt: skip
    assertContains(ada.post(reverse("run-rerun", args=[second.pk]), follow=True), "Nothing was queued")


def test_a_run_that_succeeded_offers_no_other_attempt(ada, experiment):
    run = experiment.runs.first()
    testing.succeeded(run, 100.0)
    assertNotContains(ada.get(reverse("run", args=[run.pk])), reverse("run-rerun", args=[run.pk]))


# --- times -----------------------------------------------------------------------------------------------------


def test_a_host_is_blocked_once_by_the_clock_of_a_zone(ada, host):
    address = reverse("host-times-once", args=[host.pk])
    values = {"start": "2030-07-01T20:00", "end": "2030-07-02T06:00", "zone": "Europe/Berlin", "reason": "a new disk"}
    assertRedirects(ada.post(address, values), reverse("host-times", args=[host.pk]))
    row = Reservation.objects.get()
    assert (row.host, row.experiment, row.zone) == (host, None, "Europe/Berlin")
    assert row.period.lower.strftime("%H:%M") == "18:00"  # UTC: two hours earlier in summer
    assertContains(ada.get(reverse("host-times", args=[host.pk])), "a new disk")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"end": "2030-07-01T19:00"}, "It ends before it begins"),
        ({"start": "2020-01-01T00:00", "end": "2020-01-02T00:00"}, "It has passed already"),
        ({"end": "2033-07-01T19:00"}, "more than a year"),
        ({"start": "soon"}, "Write a date and a time"),
        ({"zone": "Mars/Olympus"}, "Select a valid choice"),
        ({"start": "2030-06-30T00:00"}, "It overlaps with 2030-07-01 00:00 to 2030-07-01 12:00 UTC"),
    ],
)
def test_a_period_that_cannot_be_is_refused_with_a_sentence_and_keeps_what_was_typed(values, sentence, ada, host):
    timetable.reserve_once(
        host,
        timezone.datetime.fromisoformat("2030-07-01T00:00Z"),
        timezone.datetime.fromisoformat("2030-07-01T12:00Z"),
        zone="UTC",
        reason="",
    )
    form = {"start": "2030-07-01T20:00", "end": "2030-07-02T06:00", "zone": "UTC", "reason": "a new disk", **values}
    response = ada.post(reverse("host-times-once", args=[host.pk]), form)
    assertContains(response, sentence)
    assertContains(response, 'value="a new disk"')
    assertContains(response, f'value="{form["end"]}"')
    assert Reservation.objects.count() == 1


def test_an_experiment_is_confined_to_nights_and_shows_them_at_once(ada, experiment):
    address = reverse("experiment-times-weekly", args=[experiment.pk])
    values = {"weekdays": ["0", "4"], "starts_at": "20:00", "ends_at": "06:00", "zone": "Europe/Berlin", "reason": ""}
    response = ada.post(address, values, follow=True)
    assertContains(response, "Monday, Friday 20:00 to 06:00, Europe/Berlin")
    assertContains(response, "every week</td>", count=Reservation.objects.count())
    assert Reservation.objects.filter(experiment=experiment).count() in range(15, 20)
    assertContains(
        ada.get(reverse("experiment", args=[experiment.pk])), reverse("experiment-times", args=[experiment.pk])
    )


def test_a_window_without_a_day_is_refused_and_keeps_its_times(ada, experiment):
    address = reverse("experiment-times-weekly", args=[experiment.pk])
    response = ada.post(address, {"starts_at": "20:15", "ends_at": "late", "zone": "UTC"})
    assertContains(response, "Choose at least one day.")
    assertContains(response, 'value="20:15"')
    assert not Window.objects.exists()


def test_windows_and_single_periods_are_removed_by_buttons_and_periods_of_windows_are_not(ada, experiment, host):
    once = hours(host, 1, 2)
    window = Window.objects.create(experiment=experiment, weekdays=[0], starts_at="20:00", ends_at="06:00", zone="UTC")
    timetable.expand()
    window_period = window.reservations.first()
    assert ada.post(reverse("time-remove", args=[window_period.pk])).status_code == 404
    assertContains(ada.post(reverse("time-remove", args=[once.pk]), follow=True), "Removed:")
    assertContains(ada.post(reverse("window-remove", args=[window.pk]), follow=True), "It may run at any time.")
    assert not Reservation.objects.exists()


def test_what_is_not_there_is_not_found(ada):
    for name in ("experiment-times", "experiment-times-once", "experiment-policy", "host-times", "host-times-weekly"):
        assert ada.get(reverse(name, args=[999])).status_code == 404
    assert ada.post(reverse("time-remove", args=[999])).status_code == 404
    assert ada.get(reverse("run-log", args=[999, "err"])).status_code == 404
