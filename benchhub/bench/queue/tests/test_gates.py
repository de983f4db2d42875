"""Who may start now, by the database; each rule apart, and that a gate holds up nobody else."""

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchhub.bench import testing
from benchhub.bench.additions import due
from benchhub.bench.models import Event, Experiment, Promise, Run, Window
from benchhub.bench.models.states import State
from benchhub.bench.queue import gates, queue, timetable
from benchhub.bench.queue.gates import statements
from benchhub.bench.queue.testing import new_experiment, new_host, new_run, new_system, states
from benchhub.catalog.models import Host, Instance, InterferenceGroup

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def host():
    return new_host("alpha")


@pytest.fixture
def run(host):
    """Put one run of 600 s into the queue."""
    system = new_system(host)
    return new_run(new_experiment(), system, 1, expected_s=600)


def reasons():
    return gates.sentences(gates.with_gates(Run.objects.select_related("system__driver")).get())


def hours(owner, start, end):
    now = timezone.now()
    return timetable.reserve_once(owner, now + start * HOUR, now + end * HOUR, zone="UTC", reason="")


def test_nothing_keeps_a_run_from_starting(run):
    assert reasons() == []
    assert len(queue.reserve()) == 1


def test_runs_of_a_paused_experiment_wait_and_those_of_others_do_not(run, host):
    other = new_run(new_experiment(), run.system, 2)
    queue.pause(run.experiment, "Paused by ada.")
    assert len(queue.reserve()) == 1
    other.refresh_from_db()
    assert (other.state, states()) == ("reserved", ["queued", "reserved"])
    queue.resume(run.experiment)
    assert not Experiment.objects.filter(paused_at__isnull=False).exists()


def test_a_paused_host_starts_nothing_whether_it_drives_or_serves(host):
    driver = new_host("driver")
    system = new_system(host, driver)
    run = new_run(new_experiment(), system, 1)
    for paused_host in (host, driver):
        paused_host.pause()
        assert len(queue.reserve()) == 0
        assert run_reasons(run) == [f"The host {paused_host.name} is paused."]
        paused_host.resume()
    assert len(queue.reserve()) == 1


def run_reasons(run):
    return gates.sentences(gates.with_gates(Run.objects.filter(pk=run.pk)).get())


def test_runs_wait_for_a_quarantined_host_instead_of_failing_one_after_the_other(run):
    Host.objects.update(trust=Host.Trust.QUARANTINED)
    assert len(queue.reserve()) == 0
    assert states() == ["queued"]
    assert "has changed" in reasons()[0]
    Host.objects.update(trust=Host.Trust.PINNED)
    assert len(queue.reserve()) == 1


def test_a_run_waits_for_the_load_of_its_data_set_even_where_that_waits_for_something_else(host):
    system = new_system(host)
    experiment = new_experiment()
    load = new_run(experiment, system, 1, kind="load", clients=0, threads=0, repeat=0, expected_s=7200)
    new_run(experiment, system, 2)
    hours(host, 1, 2)  # the load does not fit before it, the run would
    assert len(queue.reserve()) == 0
    assert states() == ["queued", "queued"]
    testing.ended(load, "succeeded")
    assert len(queue.reserve()) == 1
    assert states() == ["succeeded", "reserved"]


def test_a_run_that_would_reach_into_a_block_waits(run, host):
    block = hours(host, 600 / 3600, 2)  # 600 s from now: the run takes 605
    assert len(queue.reserve()) == 0
    assert reasons() == ["A host of it is blocked now, or would be before the run ends."]
    timetable.remove(block)
    hours(host, 620 / 3600, 2)
    assert len(queue.reserve()) == 1


def test_a_short_run_goes_before_a_block_that_keeps_a_long_one_waiting(run, host):
    short = new_run(run.experiment, run.system, 2, expected_s=60)
    hours(host, 0.1, 2)
    assert len(queue.reserve()) == 1
    short.refresh_from_db()
    assert (short.state, states()) == ("reserved", ["queued", "reserved"])


def test_a_block_of_the_server_keeps_a_driver_waiting_too():
    server, driver = new_host("server"), new_host("driver")
    system = new_system(server, driver)
    new_run(new_experiment(), system, 1)
    hours(server, -1, 1)
    assert len(queue.reserve()) == 0


@pytest.mark.parametrize(
    ("start", "end", "is_started"),
    [
        (-1, 605 / 3600 + 0.01, True),
        (-1, 600 / 3600, False),  # it would end five seconds too late
        (1, 3, False),
        (-3, -1, False),
    ],
)
def test_a_confined_run_starts_only_where_its_expected_end_lies_inside(run, start, end, is_started):
    hours(run.experiment, start, end)
    assert len(queue.reserve()) == is_started
    assert bool(run_reasons(run)) != is_started or states() == ["reserved"]


def test_periods_that_touch_count_as_one_and_those_with_a_gap_do_not(run):
    now = timezone.now()
    border = now + timedelta(seconds=300)
    timetable.reserve_once(run.experiment, now - HOUR, border, zone="UTC", reason="")
    second = timetable.reserve_once(run.experiment, border + timedelta(seconds=1), now + HOUR, zone="UTC", reason="")
    assert len(queue.reserve()) == 0
    timetable.remove(second)
    timetable.reserve_once(run.experiment, border, now + HOUR, zone="UTC", reason="")
    assert len(queue.reserve()) == 1


def test_an_experiment_with_a_window_that_is_not_written_out_yet_does_not_start(run):
    Window.objects.create(experiment=run.experiment, weekdays=[0], starts_at="00:00", ends_at="00:00", zone="UTC")
    assert len(queue.reserve()) == 0


def test_one_experiments_times_do_not_confine_another(run):
    hours(new_experiment(), 5, 6)
    assert len(queue.reserve()) == 1


def test_a_run_whose_server_is_busy_lets_a_later_one_of_its_driver_go_first():
    server, other, driver = new_host("server"), new_host("other"), new_host("driver")
    system = new_system(server, label="busy")
    busy = new_run(new_experiment(), system, 1)
    assert len(queue.reserve()) == 1
    waiting_run = new_run(busy.experiment, new_system(server, driver, label="waits"), 2)
    new_run(busy.experiment, new_system(other, driver, label="goes"), 3)
    assert len(queue.reserve()) == 1
    assert states() == ["reserved", "queued", "reserved"]
    assert "busy" in run_reasons(waiting_run)[0]


def test_of_two_drivers_that_want_one_server_the_higher_priority_gets_it():
    server, first, second = new_host("server"), new_host("first"), new_host("second")
    systems = [new_system(server, driver, label=driver.name) for driver in (first, second)]
    low = new_run(new_experiment(), systems[0], 1)
    high = new_run(new_experiment(priority=1), systems[1], 2)
    assert len(queue.reserve()) == 1
    assert (Run.objects.get(pk=low.pk).state, Run.objects.get(pk=high.pk).state) == ("queued", "reserved")


def test_a_rest_and_shared_hardware_are_busy_too(run, host):
    group = InterferenceGroup.objects.create(name="one hypervisor")
    Host.objects.update(interference_group=group)
    neighbour = new_run(run.experiment, new_system(new_host("n", interference_group=group), label="n"), 2)
    Experiment.objects.update(rest_s=60)
    assert len(queue.reserve()) == 1
    assert "busy or rests" in run_reasons(neighbour)[0]
    [claim] = queue.claim(1)
    with queue.fenced(claim) as claimed:
        queue.finish(claimed, claim, State.FAILED, "no good")
    assert len(queue.reserve()) == 0
    assert "busy or rests" in run_reasons(neighbour)[0]


def test_whatever_is_ready_has_no_sentence_and_whatever_has_one_is_not_ready(run, host):
    paused_run = new_run(new_experiment(paused_at=Now()), run.system, 2)
    hours(new_experiment(), 1, 2)
    for queued_run in (run, paused_run):
        is_ready = gates.ready(Run.objects.filter(pk=queued_run.pk)).exists()
        assert is_ready == (run_reasons(queued_run) == [])


@pytest.mark.django_db(transaction=True)
def test_a_failure_policy_holds_at_the_gate_with_many_workers_at_once():
    """A run fails and its experiment pauses at the first failure: no worker starts the next one in between."""
    system = new_system(new_host("alpha"))
    experiment = new_experiment(failure_policy="pause")
    for position in range(1, 6):
        new_run(experiment, system, position)
    queue.reserve()
    [claim] = queue.claim(1)
    barrier = threading.Barrier(6)

    def end():
        barrier.wait()
        with queue.fenced(claim) as run:
            queue.finish(run, claim, State.FAILED, "no good")
        connection.close()

    def work():
        barrier.wait()
        for _ in range(20):
            queue.reserve()
        connection.close()

    threads = [threading.Thread(target=end), *(threading.Thread(target=work) for _ in range(5))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    queue.reserve()
    assert Event.objects.filter(new_state=State.RESERVED).count() == 1
    assert states() == ["failed", *["queued"] * 4]
    assert Experiment.objects.get().pause_reason.startswith("1 run failed or lost")


def test_gates_are_asked_of_the_first_of_runs_that_are_alike(run):
    experiment, system = run.experiment, run.system
    later = [new_run(experiment, system, clients, expected_s=600) for clients in (2, 4)]
    longer = new_run(experiment, system, 8, expected_s=900)
    other = new_run(new_experiment(), system, 1, expected_s=600)
    assert set(gates.candidates()) == {run, longer, other}
    Run.objects.filter(pk=run.pk).update(state="cancelled")
    assert set(gates.candidates()) == {later[0], longer, other}
    assert gates.keys_of_next(gates.free_drivers()) == [later[0].pk]


# Rows, and not entries of indexes: those include what earlier tests rolled back, until somebody reads or vacuums it.
FETCHED = """
    SELECT sum(pg_stat_get_xact_tuples_fetched(indexrelid))::bigint FROM pg_index
    WHERE indrelid = 'bench_run'::regclass
"""


def reads_of_a_tick():
    """Return the number of statements of a tick on hosts that are busy, and of the rows of runs that they fetch."""
    with connection.cursor() as cursor:
        # As where runs are many.
        cursor.execute("ANALYZE bench_run, bench_experiment, bench_system, bench_hold, catalog_instance, catalog_host")
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        cursor.execute(FETCHED)
        [before] = cursor.fetchone()
        with CaptureQueriesContext(connection) as queries:
            assert due.reserve() == []
        cursor.execute(FETCHED)
        [after] = cursor.fetchone()
    return len(queries), after - before


def queue_experiments(system, count):
    for experiment in (new_experiment() for _ in range(count)):
        for position in range(1, 5):
            new_run(experiment, system, position, expected_s=600)


def test_a_tick_asks_as_little_of_many_experiments_that_are_promised_nothing_as_of_few(host):
    system = new_system(host)
    reads = []
    for _ in range(3):
        queue_experiments(system, 5)
        queue.reserve()
        reads.append(reads_of_a_tick())
    assert reads[0] == reads[1] == reads[2]


def test_gates_are_asked_of_the_run_of_two_hosts_alone_however_many_experiments_wait_for_one(host):
    system = new_system(host)
    server, driver = new_host("server"), new_host("driver")
    busy = new_run(new_experiment(), new_system(server, label="server"), 1, expected_s=600)
    apart = new_run(busy.experiment, new_system(server, driver, label="apart"), 2, expected_s=600)
    reads = []
    for _ in range(2):
        queue_experiments(system, 10)
        queue.reserve()
        reads.append(reads_of_a_tick())
    assert reads[0][0] == reads[1][0]
    assert 0 < reads[1][1] < 3 * reads[0][1]
    assert Promise.objects.count() == 3  # both hosts and the instance
    first = statements.FIRST_OF_ALIKE.format(systems=statements.APART_SYSTEMS)
    assert [candidate.pk for candidate in gates.candidates(first)] == [apart.pk]
    assert gates.candidates().count() == 21


def rows_of_runs(node):
    """Return how many rows of runs a plan has gone through, each as often as it did."""
    count = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    own = node["Actual Loops"] * count if node.get("Relation Name") == "bench_run" else 0
    return own + sum(map(rows_of_runs, node.get("Plans", ())))


def test_many_runs_that_were_added_just_now_are_not_gone_through_once_for_each_of_them(run):
    """Statistics say that one waits: whatever is not asked once for all is then asked anew for each."""
    run.system.driver.pause()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE bench_run")
        for position in range(2, 102):
            new_run(run.experiment, run.system, position, clients=position, expected_s=600)
        statement, values = gates.candidates().values("pk").query.sql_with_params()
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING off, FORMAT json) {statement}", values)
        [([explained],)] = cursor.fetchall()
    assert 100 < rows_of_runs(explained["Plan"]) < 1500


@pytest.mark.parametrize(("grant", "change"), [("reload", {"restart": []}), ("none", None)])
def test_a_run_that_waits_for_a_grant_holds_up_none_that_needs_less(host, grant, change):
    system, experiment = new_system(host), new_experiment()
    Instance.objects.update(grant="restart")
    changes = [{"restart": ["systemctl", "restart"]}, change, change]
    run, later, _ = (
        new_run(experiment, system, position, expected_s=600, spec={"server_settings": change})
        for position, change in enumerate(changes, start=1)
    )
    assert gates.keys_of_next(gates.free_drivers()) == [run.pk]
    Instance.objects.update(grant=grant)
    assert gates.keys_of_next(gates.free_drivers()) == [later.pk]
    assert set(gates.candidates()) == {run, later}
