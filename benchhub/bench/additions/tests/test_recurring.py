"""Plans that recur: queued when their time has come, once, in the name of who made the rule."""

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.additions import recurring
from benchhub.bench.additions.form import RecurrenceForm
from benchhub.bench.models import Experiment, Recurrence, Run, Window
from benchhub.bench.plan import plan
from benchhub.bench.plan.fields import size

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
PAGE_QUERIES = 10


def occasions(recurrence):
    return list(Experiment.objects.filter(occasion_of=recurrence).order_by("pk"))


def due_again(recurrence, at=None):
    Recurrence.objects.filter(pk=recurrence.pk).update(next_at=at or timezone.now())


def end(experiment):
    Run.objects.filter(experiment=experiment).update(state="cancelled")


def test_its_plan_is_queued_as_an_experiment_of_its_own_with_the_windows_and_the_next_time(recurrence, planned, ada):
    Window.objects.create(experiment=planned, weekdays=[1], starts_at="20:00", ends_at="06:00", zone="UTC")
    assert recurring.queue_due() == 1
    [experiment] = occasions(recurrence)
    assert (experiment.name, experiment.created_by) == ("Nightly", ada)
    assert experiment.runs.queued().count() == planned.runs.count() == 3
    assert experiment.windows.count() == 1
    recurrence.refresh_from_db()
    assert timedelta(0) < recurrence.next_at - timezone.now() <= 24 * HOUR
    assert (recurrence.next_at.hour, recurrence.next_at.minute) == (22, 0)
    assert recurring.queue_due() == 0


def test_a_time_at_which_the_one_before_has_not_ended_is_skipped_and_said(recurrence, planned):
    recurring.queue_due()
    [first] = occasions(recurrence)
    due_again(recurrence)
    assert recurring.queue_due() == 0
    recurrence.refresh_from_db()
    assert [skip["experiment"] for skip in recurrence.skips] == [first.pk]
    assert recurrence.next_at > timezone.now()
    end(first)
    due_again(recurrence)
    assert recurring.queue_due() == 1
    assert len(occasions(recurrence)) == 2


def test_times_that_passed_while_nobody_worked_are_not_made_up_for(recurrence):
    due_again(recurrence, timezone.now() - 72 * HOUR)
    assert recurring.queue_due() == 1
    end(occasions(recurrence)[0])
    assert recurring.queue_due() == 0
    assert len(occasions(recurrence)) == 1


def test_paused_it_queues_nothing_and_resumed_it_goes_on_with_the_time_to_come(recurrence):
    recurrence.pause("Paused by ada.")
    assert recurring.queue_due() == 0
    recurring.go_on(recurrence)
    recurrence.refresh_from_db()
    assert (recurrence.state, recurrence.next_at > timezone.now()) == ("active", True)
    assert recurring.queue_due() == 0


def test_it_ends_after_its_last_day(recurrence):
    Recurrence.objects.filter(pk=recurrence.pk).update(until=timezone.now().date() - timedelta(days=1))
    assert recurring.queue_due() == 1
    recurrence.refresh_from_db()
    assert recurrence.state == "ended"


def test_nothing_is_queued_in_the_name_of_who_may_not_run_any_more(recurrence, ada):
    ada.is_active = False
    ada.save()
    assert recurring.queue_due() == 0
    recurrence.refresh_from_db()
    assert recurrence.state == "paused"
    assert "not active any more" in recurrence.pause_reason
    assert occasions(recurrence) == []


def test_a_plan_whose_instance_was_retired_is_paused_with_its_name(recurrence, system):
    system.instance.retired_at = timezone.now()
    system.instance.save()
    assert recurring.queue_due() == 0
    recurrence.refresh_from_db()
    assert recurrence.pause_reason == "An instance of it is retired: pg16."


def test_a_plan_that_is_too_large_today_is_paused_with_what_to_do(recurrence, monkeypatch):
    monkeypatch.setattr(size, "MOST_RUNS", 1)
    assert recurring.queue_due() == 0
    recurrence.refresh_from_db()
    assert recurrence.state == "paused"
    assert recurrence.pause_reason.startswith("These are 2 runs, and a plan has at most 1: use fewer levels")


def test_a_rule_that_cannot_be_carried_out_holds_up_no_other(recurrence, system, ada):
    other = plan.again(testing.make_experiment([system], name="Other"))
    end(other)
    rule = {"weekdays": [0, 1, 2, 3, 4, 5, 6], "starts_at": recurrence.starts_at, "until": None}
    second = recurring.save_rule(other, ada, zone="UTC", **rule)
    due_again(second)
    Recurrence.objects.filter(pk=recurrence.pk).update(zone="Nowhere/Atlantis")
    assert recurring.queue_due() == 1
    recurrence.refresh_from_db()
    assert "BenchHub could not queue it" in recurrence.pause_reason
    assert occasions(recurrence) == []
    assert len(occasions(second)) == 1


def test_a_copy_of_what_a_rule_queued_is_no_occasion_of_it(recurrence, ada):
    recurring.queue_due()
    assert plan.again(occasions(recurrence)[0], ada).occasion_of is None


@pytest.mark.django_db(transaction=True)
def test_of_many_workers_that_look_at_once_one_queues_it(recurrence):
    counts = []

    def look():
        counts.append(recurring.queue_due())
        connection.close()

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts) == 1
    assert len(occasions(recurrence)) == 1


# --- its pages -----------------------------------------------------------------------------------------------------

FORM = {"weekdays": ["0", "2"], "starts_at": "03:30", "zone": "Europe/Berlin", "until": ""}


@pytest.fixture
def client_of_ada(client, ada):
    client.force_login(ada)
    return client


def test_a_rule_is_made_changed_paused_resumed_and_ended_from_the_page(client_of_ada, planned):
    page, edit = (reverse(name, args=[planned.pk]) for name in ("recurrence", "recurrence-edit"))
    assertContains(client_of_ada.get(reverse("experiment", args=[planned.pk])), page)
    assertRedirects(client_of_ada.get(page), edit)
    assertContains(client_of_ada.get(edit), "data-suggest-zone")
    assertRedirects(client_of_ada.post(edit, FORM), page)
    assertContains(client_of_ada.get(page), "Every Monday and Wednesday at 03:30, Europe/Berlin.")
    assertNotContains(client_of_ada.get(edit), "data-suggest-zone")
    for name, words in (("pause", "Paused by ada"), ("resume", "Next:"), ("end", "It has ended"), ("resume", "Next:")):
        client_of_ada.post(reverse(f"recurrence-{name}", args=[planned.pk]))
        assertContains(client_of_ada.get(page), words)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"weekdays": []}, "Choose at least one day."),
        ({"until": "2020-01-01"}, "No such time is left until then"),
        ({"zone": "Nowhere/Atlantis"}, "Nowhere/Atlantis is not one of the available choices"),
    ],
)
def test_a_wrong_rule_is_refused_beside_its_field(client_of_ada, planned, changes, sentence):
    assertContains(client_of_ada.post(reverse("recurrence-edit", args=[planned.pk]), {**FORM, **changes}), sentence)
    assert not Recurrence.objects.exists()


def test_a_plan_with_periods_given_once_does_not_recur(client_of_ada, planned):
    period = (timezone.now(), timezone.now() + HOUR)
    planned.reservations.create(period=period)
    response = client_of_ada.post(reverse("recurrence-edit", args=[planned.pk]), FORM)
    assertContains(response, "give it weekly windows instead")


def test_hosts_that_another_got_since_the_form_was_checked_are_refused_on_the_form(planned, ada):
    Window.objects.create(experiment=planned, weekdays=[1], starts_at="20:00", ends_at="06:00", zone="UTC")
    end(planned)
    other = plan.again(planned, ada)
    Experiment.objects.filter(pk=planned.pk).update(is_exclusive=True)
    planned.refresh_from_db()
    form = RecurrenceForm(FORM, experiment=planned)
    assert form.is_valid(), form.errors
    Experiment.objects.filter(pk=other.pk).update(is_exclusive=True)
    assert form.saved(ada) is None
    assert "has hosts of it to itself" in str(form.errors)
    assert not Recurrence.objects.exists()


def test_the_page_lists_each_time_with_the_peak_of_each_system(
    client_of_ada, recurrence, system, django_assert_num_queries
):
    recurring.queue_due()
    [experiment] = occasions(recurrence)
    for run, tps in zip(experiment.runs.filter(kind="measure"), (1200.0, 900.0), strict=True):
        testing.succeeded(run, tps)
    page = reverse("recurrence", args=[recurrence.plan_id])
    response = client_of_ada.get(page)
    assertContains(response, '<data value="1200.0"')
    assertNotContains(response, '<data value="900.0"')
    assertContains(response, f"#{experiment.pk}")
    for run in experiment.runs.unfinished():
        testing.ended(run, "cancelled", "Cancelled.")
    due_again(recurrence)
    assert recurring.queue_due() == 1
    with django_assert_num_queries(PAGE_QUERIES):
        client_of_ada.get(page)


def test_the_newest_two_are_compared_curve_by_curve(client_of_ada, recurrence, planned, system):
    recurring.queue_due()
    [experiment] = occasions(recurrence)
    for run in (experiment.runs.filter(kind="measure").first(), testing.make_run(planned, system, 4, 1)):
        testing.succeeded(run, 1000.0)
    address = f"{reverse('compare')}?curve={planned.pk}-{system.pk}&amp;curve={experiment.pk}-{system.pk}"
    assertContains(client_of_ada.get(reverse("recurrence", args=[planned.pk])), address)


def test_who_may_not_run_there_sees_it_and_changes_nothing(client, recurrence):
    client.force_login(make_user("vera", Role.VIEWER))
    page = client.get(reverse("recurrence", args=[recurrence.plan_id]))
    assertContains(page, "Every day at 22:00, UTC.")
    assertNotContains(page, "Change the rule")
    for name in ("edit", "pause", "resume", "end"):
        assert client.post(reverse(f"recurrence-{name}", args=[recurrence.plan_id])).status_code == 403
    recurrence.refresh_from_db()
    assert recurrence.paused_at is None
