import pytest

from benchhub.bench import testing
from benchhub.bench.models import Attempt, Design, Evidence, Experiment, Run
from benchhub.bench.queue import canary, gates, queue
from benchhub.catalog.models import Hardware

pytestmark = pytest.mark.django_db
IDLE = b"cpu 100 0 0 1000 0 0 0 0 0 0\ncpu 105 0 0 1095 0 0 0 0 0 0\n"  # 5 of 100 ticks
BUSY = b"cpu 100 0 0 1000 0 0 0 0 0 0\ncpu 140 0 0 1060 0 0 0 0 0 0\n"  # 40 of 100 ticks


@pytest.fixture
def system():
    hardware = Hardware.objects.create(name="h", sockets=1, cores_per_socket=4)
    return testing.make_system("18", testing.make_host(), hardware)


@pytest.fixture
def experiment(system):
    """Make an experiment with a canary of two runs, and one run that waits for it."""
    experiment = testing.make_experiment([system], canary="waits")
    for clients, is_canary in ((1, True), (8, True), (4, False)):
        testing.make_run(experiment, system, clients, 1, is_canary=is_canary)
    return experiment


def end(experiment, *states, idle=IDLE):
    for run, state in zip(experiment.runs.order_by("position"), states, strict=False):
        attempt = testing.ended(run, state, "It broke." if state == "failed" else "")
        content = {"content": idle, "size_bytes": len(idle), "sha256": ""}
        Evidence.objects.create(attempt=attempt, name="idle.txt", **content)
    queue.judge_canaries()
    experiment.refresh_from_db()


def waiting(experiment):
    return [run.clients for run in gates.ready(experiment.runs.all()).order_by("position")]


def test_nothing_but_the_canary_may_start_until_all_of_it_has_ended(experiment):
    assert waiting(experiment) == [1, 8]
    end(experiment, "succeeded")
    assert (experiment.canary, waiting(experiment)) == ("waits", [8])
    rest = gates.with_gates(Run.objects.all()).get(clients=4)
    assert "lowest and highest level, comes first." in " ".join(gates.sentences(rest))


def test_a_canary_that_ends_well_on_a_quiet_host_releases_the_rest(experiment):
    end(experiment, "succeeded", "succeeded")
    assert (experiment.canary, experiment.paused_at) == ("passed", None)
    assert waiting(experiment) == [4]


def test_a_canary_that_fails_pauses_the_experiment_with_the_reason(experiment):
    end(experiment, "succeeded", "failed")
    assert experiment.canary == "failed" and experiment.paused_at
    assert "8 clients, repeat 1) failed: It broke." in experiment.pause_reason
    assert waiting(experiment) == []


def test_a_host_that_was_busy_before_the_load_pauses_the_experiment(experiment):
    end(experiment, "succeeded", "succeeded", idle=BUSY)
    assert experiment.canary == "failed"
    assert "40% of the CPU of box was busy with other work" in experiment.pause_reason


def test_a_server_on_a_host_of_its_own_is_judged_by_a_glance_before_the_start(experiment, system):
    other = testing.make_host("driver", "192.0.2.9")
    run = experiment.runs.get(clients=8)
    busy = {"busy_before_share": 0.26, "load": [3.9, 0, 0]}
    attempt = Attempt(run=run, host_before=busy)
    assert canary._server_busy(run, attempt) == ""  # driven from the server's own host, whose CPU was counted
    run.system.driver = other
    sentence = f"Before run {run.pk} 26% of the CPU of box was busy with other work."
    assert canary._server_busy(run, attempt) == sentence
    attempt.host_before = {**busy, "busy_before_share": 0.25}  # whatever the run before it left in the load average
    assert canary._server_busy(run, attempt) == ""
    attempt.host_before = None
    assert canary._server_busy(run, attempt) == ""


def test_a_person_may_go_on_in_spite_of_it(experiment):
    end(experiment, "failed", "succeeded")
    queue.resume(experiment)
    queue.judge_canaries()
    experiment.refresh_from_db()
    assert (experiment.canary, experiment.paused_at) == ("waived", None)
    assert waiting(experiment) == [4]


def test_experiments_without_a_canary_are_left_alone(system):
    experiment = testing.make_experiment([system])
    testing.ended(testing.make_run(experiment, system, 1, 1), "failed")
    queue.judge_canaries()
    assert Experiment.objects.get(pk=experiment.pk).paused_at is None


# --- what else of a design keeps a run waiting ----------------------------------------------------------------------


def test_an_earlier_part_of_the_design_on_the_same_server_comes_first(system):
    design = Design.objects.create(name="d")
    first, second, other = (testing.make_experiment([system], design=parent) for parent in (design, design, None))
    runs = [testing.make_run(experiment, system, 1, 1) for experiment in (first, second, other)]
    assert set(gates.ready(Run.objects.all())) == {runs[0], runs[2]}
    testing.ended(runs[0], "failed")
    assert set(gates.ready(Run.objects.all())) == {runs[1], runs[2]}


def test_a_load_waits_for_what_was_planned_on_the_data_that_it_replaces_and_the_next_run_for_the_load(system):
    experiment = testing.make_experiment([system], loading="each")
    for clients in (1, 8):
        testing.make_run(experiment, system, clients, 1, kind="load")
        testing.make_run(experiment, system, clients, 1)
    order = list(experiment.runs.order_by("position"))
    for run in order:
        assert list(gates.ready(experiment.runs.all())) == [run]
        testing.ended(run, "succeeded")


def test_a_warm_up_that_fails_fails_what_it_was_to_warm(system):
    experiment = testing.make_experiment([system], warmup_run_s=60)
    warmup = testing.make_run(experiment, system, 1, 1, kind="warmup")
    run = testing.make_run(experiment, system, 8, 1)
    assert list(gates.ready(experiment.runs.all())) == [warmup]
    testing.ended(warmup, "failed", "No route.")
    queue.reserve()
    run.refresh_from_db()
    assert (run.state, run.reason) == ("failed", f"Its system was not warmed up (run {warmup.pk} failed): No route.")


def test_counters_that_were_cut_short_keep_neither_this_experiment_nor_the_queue(experiment):
    end(experiment, "succeeded", "succeeded", idle=IDLE[:-20])
    assert (experiment.canary, experiment.paused_at) == ("passed", None)
    assert queue.reserve() == [experiment.runs.get(clients=4).pk]


def test_a_canary_that_cannot_be_judged_pauses_its_experiment_and_holds_up_no_other(experiment, system):
    driver = testing.make_host("driver", "192.0.2.9")
    broken = testing.make_experiment([system], canary="waits")
    remote = testing.make_system("16", testing.make_host("server", "192.0.2.8"), system.hardware)
    remote.pk, remote.driver, remote.digest = None, driver, "driven from elsewhere"
    remote.save()
    attempt = testing.ended(testing.make_run(broken, remote, 1, 1, is_canary=True), "succeeded")
    Attempt.objects.filter(pk=attempt.pk).update(host_before={"busy_before_share": "much"})
    end(experiment, "succeeded", "succeeded")
    broken.refresh_from_db()
    assert broken.paused_at and broken.pause_reason.startswith("BenchHub could not judge its canary: TypeError(")
    assert (broken.canary, experiment.canary) == ("waits", "passed")
    assert queue.reserve() == [experiment.runs.get(clients=4).pk]
    Attempt.objects.filter(pk=attempt.pk).update(host_before=None)
    queue.resume(broken)
    queue.judge_canaries()
    broken.refresh_from_db()
    assert (broken.canary, broken.paused_at) == ("passed", None), "resumed, it is tried once more"
