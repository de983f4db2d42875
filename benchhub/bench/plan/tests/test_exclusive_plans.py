"""Plans and tuning series that ask for their hosts alone: on the form, again, by a rule, and later."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.api.conftest import program
from benchhub.bench import testing
from benchhub.bench.additions import recurring
from benchhub.bench.models import Experiment, Recurrence, Reservation, Run, TuningSeries, Window
from benchhub.bench.plan import plan, preview
from benchhub.bench.plan.testing import NEW, form_of, look
from benchhub.bench.queue import exclusive, queue, timetable
from benchhub.bench.tuning.testing import NEW as NEW_SERIES
from benchhub.bench.tuning.testing import form_of as series_form
from benchhub.bench.tuning.testing import make_cluster

pytestmark = pytest.mark.django_db
NIGHT = {"window_days": ["4"], "window_from": "22:00", "window_until": "06:00", "window_zone": "Europe/Berlin"}
HOUR = timedelta(hours=1)
ALONE = {**NIGHT, "is_exclusive": "on", "name": "Night"}
HELD = "Night has hosts of it to itself from "


@pytest.fixture
def night(planner, servers, recipe):
    response = planner.post(NEW, {**form_of(recipe, servers[0]), **ALONE, "queue": ""})
    assert response.status_code == 302, response.content
    return Experiment.objects.get()


def test_the_tick_is_queued_with_its_times_and_offered_again_in_a_plan_like_it(planner, night):
    assert night.is_exclusive
    assert str(night.windows.get()) == "Friday 22:00 to 06:00, Europe/Berlin"
    values, _ = preview.like(night)
    assert (values["is_exclusive"], values["window_days"]) == (True, [4])
    assertContains(planner.get(reverse("experiment-times", args=[night.pk])), "Nobody else runs meanwhile.")


def test_without_times_the_tick_is_refused_unless_they_come_later(planner, servers, recipe):
    form = {**form_of(recipe, servers[0]), "is_exclusive": "on", "queue": ""}
    assertContains(
        planner.post(NEW, form), "Choose the days and times at which nobody else may run, or queue it paused"
    )
    assert not Experiment.objects.exists()
    planner.post(NEW, {**form, "is_paused": "on"})
    assert Experiment.objects.get().is_exclusive


def test_a_second_one_on_the_host_is_refused_with_who_has_it_and_an_ordinary_one_is_told(
    planner, night, servers, recipe
):
    response = planner.post(NEW, {**form_of(recipe, servers[1]), **ALONE, "name": "Second", "queue": ""})
    assertContains(response, HELD)
    assertContains(response, 'value="Second"')  # what was typed is kept
    assert Experiment.objects.get() == night
    [sentence] = [text for text in look(form_of(recipe, servers[1])).warnings if "to itself" in text]
    assert sentence.startswith("Night has hosts of it to itself, next from ")
    evening = {**ALONE, "name": "Evening", "window_from": "20:00", "window_until": "22:00"}
    assert look({**form_of(recipe, servers[1]), **evening}).times_text == (
        "Its runs begin only on Friday 20:00 to 22:00, Europe/Berlin, and nobody else's on its hosts."
    )
    assert planner.post(NEW, {**form_of(recipe, servers[1]), **evening, "queue": ""}).status_code == 302


def test_a_host_that_is_lent_for_less_refuses_a_longer_night(planner, box, servers, recipe):
    type(box).objects.update(longest_exclusive_h=4)
    response = planner.post(NEW, {**form_of(recipe, servers[0]), **ALONE, "queue": ""})
    assertContains(response, " for 4 hours within any 24, but would have it for 8 h: choose ")
    assert not Experiment.objects.exists()


def test_it_is_not_run_again_beside_itself_and_is_when_it_has_ended(night):
    assert preview.again_refusal([night]).startswith(HELD)
    with pytest.raises(exclusive.OverlapError):
        plan.again(night)
    assert Experiment.objects.count() == 1
    Run.objects.update(state="cancelled")
    assert plan.again(night).is_exclusive


def test_each_turn_of_a_rule_has_the_host_alone_and_its_nights_are_nobody_elses(planner, night, servers, recipe):
    Run.objects.update(state="cancelled")
    rule = recurring.save_rule(
        night, night.created_by, weekdays=[4], starts_at=timezone.now().time(), zone="UTC", until=None
    )
    response = planner.post(NEW, {**form_of(recipe, servers[1]), **ALONE, "name": "Second", "queue": ""})
    assertContains(response, HELD)
    Recurrence.objects.filter(pk=rule.pk).update(next_at=timezone.now())
    assert recurring.queue_due() == 1
    rule.refresh_from_db()
    assert rule.pause_reason == ""
    turn = Experiment.objects.get(occasion_of=rule)
    assert (turn.is_exclusive, turn.windows.count()) == (True, 1)


def test_a_turn_keeps_others_out_from_the_tick_on_that_queues_it(night, recipe):
    now = timezone.now().replace(second=0, microsecond=0)
    night.windows.update(weekdays=list(range(7)), starts_at=now.time(), ends_at=(now - 3 * HOUR).time(), zone="UTC")
    Window.objects.update(expanded_until=None)
    Reservation.objects.all().delete()
    timetable.expand()
    Run.objects.update(state="cancelled")
    days = {"weekdays": list(range(7)), "starts_at": now.time(), "zone": "UTC", "until": None}
    rule = recurring.save_rule(night, night.created_by, **days)
    Recurrence.objects.filter(pk=rule.pk).update(next_at=now)
    system = night.systems.get()
    rival = testing.make_run(testing.make_experiment([system]), system, 1, 1)
    testing.make_worker()
    assert queue.reserve() == []
    assert recurring.queue_due() == 1
    [started] = queue.reserve()
    assert Run.objects.get(pk=started).experiment.occasion_of == rule
    assert Run.objects.get(pk=rival.pk).state == "queued"


def test_a_tuning_series_has_the_same_tick(planner, recipe):
    own = make_cluster(testing.probed_host("18"))
    form = series_form(own, recipe, ("memory", "shared_buffers = 2GB"), **ALONE)
    response = planner.post(NEW_SERIES, {**form, "queue": ""})
    assert response.status_code == 302, response.content
    experiment = TuningSeries.objects.get().experiment
    assert experiment.is_exclusive
    assert experiment.windows.exists()
    assertContains(planner.post(NEW_SERIES, {**form, "name": "Second", "queue": ""}), HELD)
    assert TuningSeries.objects.count() == 1


def test_the_api_queues_changes_and_refuses_it_by_the_same_words(night, box, servers, recipe):
    caller = program(make_user("rosa", Role.RUNNER, box), "read", "run")
    typed = {"window_days": [4], "window_from": "22:00", "window_until": "06:00", "window_zone": "Europe/Berlin"}
    body = {
        **{"name": "Second", "workload": recipe.pk, "systems": [{"instance": servers[1].pk}], "levels": "1"},
        **{"is_exclusive": True, **typed},
    }
    refused = caller.send("post", "experiments/", body)
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/is_exclusive"), refused.content
    queued = caller.send("post", "experiments/", {**body, "is_exclusive": False})
    assert (queued.status_code, queued.json()["is_exclusive"]) == (202, False), queued.content
    address = f"experiments/{queued.json()['id']}/"
    changed = caller.send("patch", address, {"is_exclusive": True})
    assert HELD in changed.json()["errors"][0]["detail"]
    assert caller.send("patch", f"experiments/{night.pk}/", {"is_exclusive": False}).status_code == 200
    assert caller.send("patch", address, {"is_exclusive": True}).json()["is_exclusive"]


def test_the_api_and_the_page_say_who_has_got_the_hosts_of_what_is_to_go_on(planner, night, box, servers, recipe):
    Run.objects.update(state="failed")
    rule = recurring.save_rule(
        night, night.created_by, weekdays=[4], starts_at=timezone.now().time(), zone="UTC", until=None
    )
    rule.pause("Paused by rosa.")
    second = planner.post(NEW, {**form_of(recipe, servers[1]), **ALONE, "name": "Second", "queue": ""})
    assert second.status_code == 302, second.content
    caller = program(make_user("rosa", Role.RUNNER, box), "read", "run")
    refused = caller.send("post", f"experiments/{night.pk}/rerun/")
    assert (refused.status_code, refused.json()["detail"][:34]) == (409, "Second has hosts of it to itself f")
    assert caller.send("post", f"recurrences/{rule.pk}/resume/").status_code == 409
    page = planner.post(reverse("recurrence-resume", args=[night.pk]), follow=True)
    assertContains(page, "It stays paused. Second has hosts of it to itself from ")
    assert not Run.objects.filter(experiment=night, state="queued").exists()
