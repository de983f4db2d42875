"""Exclusive periods: whom they keep out, until when, and who may have one."""

from datetime import UTC, datetime, time, timedelta

import pytest
from django.utils import timezone

from benchhub.analysis.planning.timetable import Period
from benchhub.bench import testing
from benchhub.bench.models import Experiment, Recurrence, Run, System, Tenancy, Window
from benchhub.bench.models.states import State
from benchhub.bench.operations import doctor
from benchhub.bench.plan import repeats
from benchhub.bench.queue import exclusive, gates, queue, timetable
from benchhub.bench.queue.forms.times import OnceForm, WeeklyForm
from benchhub.bench.queue.page import QueuePage
from benchhub.bench.queue.testing import new_experiment, new_host, new_run, new_system
from benchhub.catalog.models import Host, Instance, InterferenceGroup

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def system():
    return new_system(new_host("alpha"))


def reserve(experiment, start, end):
    """Give the experiment the hosts of its runs to itself, in hours from now."""
    for position, run in enumerate(experiment.runs.all()):
        experiment.systems.add(run.system, through_defaults={"position": position})
    Experiment.objects.filter(pk=experiment.pk).update(is_exclusive=True, name="night")
    now = timezone.now()
    return timetable.reserve_once(experiment, now + start * HOUR, now + end * HOUR, zone="UTC", reason="")


def reasons(run):
    return gates.sentences(gates.with_gates(Run.objects.filter(pk=run.pk)).get(), without=gates.CONTENTION)


@pytest.fixture
def night(system):
    """Queue an experiment that has its host to itself from an hour ago until in seven hours."""
    experiment = new_experiment(priority=-5)
    new_run(experiment, system, 1, expected_s=60)
    reserve(experiment, -1, 7)
    return experiment


@pytest.fixture
def other_run(system):
    return new_run(new_experiment(priority=5), system, 1, expected_s=600)


def test_the_run_of_another_waits_and_says_for_whom_and_until_when(night, other_run):
    [sentence] = reasons(other_run)
    end = night.reservations.get().period.upper
    assert sentence.startswith(f"night has its hosts to itself until {end:%Y-%m-%d %H:%M} ")
    assert sentence.endswith("(UTC), or until that ends or is paused.")
    [started] = queue.reserve()
    assert Run.objects.get(pk=started).experiment == night  # although the other has the higher priority
    assert Run.objects.get(pk=other_run.pk).state == State.QUEUED


def test_without_the_tick_others_may_run_meanwhile(night, other_run):
    Experiment.objects.update(is_exclusive=False)
    assert reasons(other_run) == []
    assert queue.reserve() == [other_run.pk]


def test_a_run_that_would_reach_into_the_period_does_not_begin_and_a_shorter_one_does(system, other_run):
    night = new_experiment()
    new_run(night, system, 1)
    reserve(night, 0.1, 8)  # in six minutes, and the run takes ten
    [sentence] = reasons(other_run)
    assert "night has its hosts to itself from " in sentence
    assert sentence.endswith(", and the run would not end before.")
    Run.objects.filter(pk=other_run.pk).update(expected_s=300)
    assert reasons(other_run) == []


def test_what_is_under_way_goes_on_and_the_experiment_waits_for_it(system, other_run):
    assert queue.reserve() == [other_run.pk]
    night = new_experiment()
    own_run = new_run(night, system, 1)
    reserve(night, -1, 7)
    assert queue.reserve() == []
    busy = gates.sentences(gates.with_gates(Run.objects.filter(pk=own_run.pk)).get())
    assert busy == ["Its host, its server or hardware that they share is busy or rests."]
    assert queue.slept_over(Run.objects.get(pk=other_run.pk)) == ""


@pytest.mark.parametrize("end", ["paused", "cancelled"])
def test_the_period_ends_when_its_experiment_is_paused_or_ends(end, night, other_run):
    if end == "paused":
        queue.pause(night, "Paused by ada.")
    else:
        queue.ask_to_cancel(night.runs.all())
    assert reasons(other_run) == []
    assert queue.reserve() == [other_run.pk]


@pytest.mark.parametrize("fault", [{"paused_at": "2026-11-27 20:00Z"}, {"trust": "quarantined"}])
def test_nobody_waits_for_an_experiment_that_cannot_start_itself_while_it_keeps_its_claim(fault, night, system):
    rack = InterferenceGroup.objects.create(name="rack")
    Host.objects.filter(pk=system.driver_id).update(interference_group=rack)
    beside = new_system(new_host("beside", interference_group=rack), label="beside")
    other_run = new_run(new_experiment(), beside, 1)
    assert len(reasons(other_run)) == 1
    Host.objects.filter(pk=system.driver_id).update(**fault)
    assert reasons(other_run) == []
    assert exclusive.in_force(timezone.now()) == []
    assert exclusive.refusal([beside], [Period(timezone.now(), timezone.now() + HOUR)], "UTC")


def test_a_period_into_which_no_run_of_it_fits_holds_nobody(night, other_run):
    night.runs.update(expected_s=8 * 3600)
    assert reasons(other_run) == []
    assert exclusive.in_force(timezone.now()) == []
    night.runs.update(expected_s=7 * 3600)
    assert len(reasons(other_run)) == 1


def test_of_two_whose_hosts_were_grouped_after_both_had_claimed_them_the_older_goes_first(night, system):
    late = new_experiment()
    late_run = new_run(late, new_system(new_host("beside"), label="beside"), 1, expected_s=60)
    reserve(late, -1, 7)
    Host.objects.update(interference_group=InterferenceGroup.objects.create(name="rack"))
    assert reasons(night.runs.get()) == []
    assert len(reasons(late_run)) == 1
    queue.ask_to_cancel(night.runs.all())
    assert reasons(late_run) == []


def test_all_hosts_of_the_experiment_are_reserved_and_those_that_share_hardware_and_no_others(system):
    group = InterferenceGroup.objects.create(name="rack")
    driver, server = new_host("driver"), new_host("server", interference_group=group)
    beside, free = new_host("beside", interference_group=group), new_host("free")
    night = new_experiment()
    for position, own_system in enumerate([system, new_system(server, driver, label="pair")]):
        new_run(night, own_system, position + 1)
    reserve(night, -1, 7)
    waiting = {
        host.name: bool(reasons(new_run(new_experiment(), new_system(host, label=host.name), 1)))
        for host in (system.driver, driver, server, beside, free)
    }
    assert waiting == {"alpha": True, "driver": True, "server": True, "beside": True, "free": False}


def test_a_recurring_plan_keeps_its_next_turn_free_and_lets_its_own_turns_in(system, other_run):
    plan = new_experiment()
    new_run(plan, system, 1, state=State.SUCCEEDED)
    reserve(plan, 0.1, 8)
    assert reasons(other_run) == []  # it has ended, and does not recur
    next_at = timezone.now() + 0.1 * HOUR
    rule = Recurrence.objects.create(plan=plan, weekdays=[0], starts_at=next_at.time(), zone="UTC", next_at=next_at)
    assert len(reasons(other_run)) == 1
    turn = new_run(new_experiment(occasion_of=rule), system, 1, expected_s=600)
    assert reasons(turn) == []
    Recurrence.objects.update(next_at=next_at + 24 * HOUR)  # this night's turn is queued, and has the night itself
    assert reasons(other_run) == []
    Recurrence.objects.update(next_at=next_at, paused_at=timezone.now())
    assert reasons(other_run) == []
    Recurrence.objects.update(paused_at=None)
    assert len(reasons(other_run)) == 1
    plan.runs.update(expected_s=8 * 3600)  # those of the next turn would not fit, although those of the plan have ended
    assert reasons(other_run) == []


def test_in_its_period_it_comes_between_the_runs_of_another_on_other_data(night, other_run):
    Tenancy.objects.create(instance=other_run.system.instance, experiment=other_run.experiment)
    Experiment.objects.filter(pk=night.pk).update(recipe_digest="other")
    assert [Run.objects.get(pk=key).experiment_id for key in queue.reserve()] == [night.pk]
    assert Tenancy.objects.get().experiment == night


def test_outside_of_its_period_it_waits_for_the_data_of_another(system, other_run):
    night = new_experiment(recipe_digest="other")
    own_run = new_run(night, system, 1)
    reserve(night, 5, 7)
    Tenancy.objects.create(instance=system.instance, experiment=other_run.experiment)
    assert any("whose data set stays" in sentence for sentence in reasons(own_run))


def test_estimates_place_the_runs_of_others_after_the_period(night, other_run):
    testing.make_worker()
    [lane] = QueuePage.load(timezone.now()).lanes
    starts = {row.run.experiment_id: row.expected_at for row in lane.waiting}
    assert starts[night.pk] - timezone.now() < timedelta(minutes=1)
    assert starts[other_run.experiment_id] == night.reservations.get().period.upper


def test_two_experiments_do_not_get_one_host_at_the_same_time_and_one_may_have_it_after_the_other(night, system):
    hours = [timezone.now() + number * HOUR for number in (6, 7, 9, 30)]
    during, after = Period(*hours[:2]), Period(night.reservations.get().period.upper, hours[2])
    sentence = exclusive.refusal([system], [during], "UTC")
    assert sentence.startswith("night has hosts of it to itself from ")
    assert sentence.endswith("(UTC): choose other times, or wait for its end.")
    assert exclusive.refusal([system], [after], "UTC") == ""
    assert exclusive.refusal([new_system(new_host("beta"), label="beta")], [during], "UTC") == ""
    queue.pause(night, "Paused by ada.")  # it may be resumed: its claim stays, while others run
    assert exclusive.refusal([system], [during], "UTC") == sentence
    queue.ask_to_cancel(night.runs.all())
    assert exclusive.refusal([system], [during], "UTC") == ""


def test_a_weekly_window_and_a_period_far_ahead_are_refused_beside_each_other_whichever_came_first(system):
    weekly, once = new_experiment(is_exclusive=True), new_experiment(is_exclusive=True)
    for experiment in (weekly, once):
        experiment.systems.add(system, through_defaults={"position": 0})
    window = Window(weekdays=[0, 1, 2, 3, 4, 5, 6], starts_at=time(22), ends_at=time(6), zone="UTC")
    night = datetime.combine(timezone.now().date() + timedelta(days=900), time(23), UTC)
    new_run(once, system, 1)
    timetable.reserve_once(once, night, night + HOUR, zone="UTC", reason="")
    assert f"{night:%Y-%m-%d} 23:00" in exclusive.refusal([system], exclusive.periods([window], timezone.now()), "UTC")
    Run.objects.update(state=State.FAILED)
    timetable.confine(weekly, window)
    new_run(weekly, system, 1)
    assert f"{night:%Y-%m-%d} 22:00" in exclusive.refusal_of(once)
    evening = Period(night - 2 * HOUR, night - HOUR)
    assert exclusive.refusal([system], [evening], "UTC") == ""


def test_a_host_says_for_how_long_it_may_be_had_and_zero_is_never(system):
    now = timezone.now()
    long, short = Period(now, now + 25 * HOUR), Period(now, now + 24 * HOUR)
    sentence = (
        "Exclusive experiments together may have alpha for 24 hours within any 27, but would have it for 25 h: choose "
        "shorter or fewer times."
    )
    assert exclusive.refusal([system], [long], "UTC") == sentence
    assert exclusive.refusal([system], [short], "UTC") == ""
    system.driver.longest_exclusive_h = 0
    assert exclusive.refusal([system], [short], "UTC").startswith("Nobody may have alpha to themselves")
    assert exclusive.refusal([system], [], "UTC") == ""


def test_two_that_take_turns_are_had_together_for_no_longer_than_one(night, system):
    """The first has it until in seven hours, and since an hour ago."""
    now = timezone.now()
    beside = [Period(now + 8 * HOUR, now + 23 * HOUR)]
    assert exclusive.refusal([system], beside, "UTC") == ""
    sentence = exclusive.refusal([system], [*beside, Period(now + 24 * HOUR, now + 30 * HOUR)], "UTC")
    assert sentence.startswith(
        "Exclusive experiments together may have alpha for 24 hours within any 27, but with night "
    )
    assert exclusive.refusal([new_system(new_host("beta"), label="beta")], beside, "UTC") == ""


def test_a_host_beside_it_on_the_same_hardware_is_asked_as_well():
    group = InterferenceGroup.objects.create(name="rack")
    system = new_system(new_host("alpha", interference_group=group))
    new_host("beta", interference_group=group, longest_exclusive_h=0)
    period = Period(timezone.now(), timezone.now() + HOUR)
    sentence = exclusive.refusal([system], [period], "UTC")
    assert sentence.startswith("Nobody may have beta, which shares hardware with a host of it, to themselves")


def test_a_lowered_limit_lets_what_is_claimed_go_on_and_takes_nothing_more(system):
    """Two have 8 hours of each day, and only 8 are lent since; a turn of the plan has its windows."""
    plan, other = new_experiment(is_exclusive=True), new_experiment(is_exclusive=True)
    for experiment, name, starts_h in ((plan, "plan", 22), (other, "other", 10)):
        Experiment.objects.filter(pk=experiment.pk).update(name=name)
        new_run(experiment, system, 1)
        experiment.systems.add(system, through_defaults={"position": 0})
        times = {"starts_at": time(starts_h), "ends_at": time((starts_h + 8) % 24)}
        timetable.confine(experiment, Window(weekdays=list(range(7)), zone="UTC", **times))
    assert exclusive.refusal_of(plan) == ""
    system.driver.longest_exclusive_h = 8
    system.driver.save()
    assert exclusive.copy_refusal(plan, exclusive.family(plan)) == ""
    later = exclusive.periods([Window(weekdays=[0], starts_at=time(7), ends_at=time(8), zone="UTC")], timezone.now())
    sentence = exclusive.refusal([system], later, "UTC")
    assert sentence.endswith("but with other and plan would have it for 17 h: choose shorter or fewer times.")
    assert "but with other would have it for 16 h" in exclusive.refusal_of(plan)  # taken anew, it would add to it


def test_who_was_quicker_keeps_the_period(night, system):
    late = new_experiment()
    new_run(late, system, 1)
    reserve(late, 1, 2)
    with pytest.raises(exclusive.OverlapError, match="night has hosts of it to itself"):
        exclusive.claim(late)
    Experiment.objects.filter(pk=night.pk).update(is_exclusive=False)
    exclusive.claim(late)


def test_one_that_has_ended_goes_on_only_if_nobody_has_got_its_hosts_since(night, system):
    run = night.runs.get()
    Run.objects.filter(pk=run.pk).update(state=State.FAILED)
    late = new_experiment()
    new_run(late, system, 1)
    reserve(late, 1, 2)
    with pytest.raises(exclusive.OverlapError, match="night has hosts of it to itself"):
        queue.run_again(night.runs.all())
    with pytest.raises(exclusive.OverlapError):
        repeats.add(night, [1], 1)
    assert (Run.objects.get(pk=run.pk).state, night.runs.count()) == (State.FAILED, 1)
    queue.ask_to_cancel(late.runs.all())
    assert queue.run_again(night.runs.all()) == 1


@pytest.mark.parametrize("kind", ["once", "weekly"])
def test_a_period_that_another_got_since_the_form_was_checked_is_refused_on_the_form(kind, night, system):
    late = new_experiment(is_exclusive=True)
    new_run(late, system, 1)
    late.systems.add(system, through_defaults={"position": 0})
    now = timezone.now().astimezone(UTC)
    start, end = now + HOUR, now + 2 * HOUR
    data = {"start": f"{start:%Y-%m-%d %H:%M}", "end": f"{end:%Y-%m-%d %H:%M}", "zone": "UTC"}
    form: OnceForm | WeeklyForm = OnceForm(data, owner=late)
    if kind == "weekly":
        times = {"starts_at": f"{start:%H:%M}", "ends_at": f"{end:%H:%M}"}
        form = WeeklyForm({"weekdays": [0, 1, 2, 3, 4, 5, 6], "zone": "UTC", **times}, owner=late)
    nights = Experiment.objects.filter(pk=night.pk)
    nights.update(is_exclusive=False)
    assert form.is_valid(), form.errors
    nights.update(is_exclusive=True)
    assert form.saved() is None
    assert "night has hosts of it to itself" in str(form.errors)
    assert not (late.reservations.exists() or late.windows.exists())


def test_machines_that_are_no_hosts_of_the_experiment_are_named_and_those_that_are_one_are_not():
    driver, server = Host(name="alpha", address="192.0.2.1"), Host(name="beta", address="192.0.2.2")
    pooled = {"pooler": "PgBouncer", "pooler_address": "192.0.2.9"}
    managed = Instance(name="managed", address="db.test", **pooled)
    assert exclusive.uncovered([System(driver=driver, instance=managed)]) == (
        "Nobody else runs on its hosts meanwhile: the machine of managed (db.test) and the machine of the pooler of "
        "managed (192.0.2.9) may be in use all the same."
    )
    apart = System(driver=driver, instance=Instance(name="own", host=server, address="192.0.2.2", **pooled))
    assert exclusive.uncovered([apart]) == (
        "Nobody else runs on its hosts meanwhile: the machine of the pooler of own (192.0.2.9) may be in use all the "
        "same."
    )
    assert exclusive.uncovered([apart, System(driver=Host(address="192.0.2.9"), instance=apart.instance)]) == ""
    for address in ("192.0.2.1", "192.0.2.2"):
        own = Instance(name="own", host=server, address="192.0.2.2", **{**pooled, "pooler_address": address})
        assert exclusive.uncovered([System(driver=driver, instance=own)]) == ""
    assert exclusive.uncovered([System(driver=driver, instance=Instance(host=server, address="192.0.2.2"))]) == ""


def test_what_people_ask_of_a_host_waits_meanwhile_and_the_doctor_asks_it_nothing(night, system):
    findings = [finding.text for finding in doctor.thorough()]
    assert [text for text in findings if text.startswith("Not asked. night has the host to itself, ")]
    assert [text for text in findings if text.startswith("night has its hosts to itself, ")]
    assert exclusive.visit_refusals([system.driver, new_host("beta")]).keys() == {system.driver_id}
    queue.pause(night, "Paused by ada.")
    assert exclusive.visit_refusals([system.driver]) == {}
