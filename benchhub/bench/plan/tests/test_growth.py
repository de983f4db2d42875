"""Plans that grow, in a real database; what runs would have measured is stored as their results."""

import re
import threading

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.analysis.protocol import digest as digests
from benchhub.bench import testing
from benchhub.bench.models import Experiment, Growth, Run
from benchhub.bench.models.states import State
from benchhub.bench.plan import growth, plan
from benchhub.bench.queue import queue
from benchhub.catalog.models import DataSet, Hardware

pytestmark = pytest.mark.django_db
LEVELS = list(range(2, 161, 2))
FIRST = [104, 28, 8]


@pytest.fixture
def systems():
    host, hardware = testing.make_host(), Hardware.objects.create(name="h", sockets=1, cores_per_socket=4)
    return [testing.make_system(version, host, hardware) for version in ("16", "18")]


@pytest.fixture
def planned(systems):
    """Queue an experiment that grows; the data sets of its systems are there."""

    def make(used_systems=None, **fields):
        used_systems = systems[:1] if used_systems is None else used_systems
        values = {"client_levels": LEVELS, "duration_s": 60, "grows": "peak", "most_runs": 12, **fields}
        workload = testing.make_experiment(used_systems).workload
        for system in used_systems:
            recipe = {"tool": "pgbench", "scale": testing.PARAMETERS["scale"]}
            data_set = {"recipe": recipe, "recipe_digest": digests.digest(recipe), "size_bytes": 1, "checksum": "x"}
            DataSet.objects.create(instance=system.instance, build=system.build, **data_set)
        build = used_systems[0].build
        experiment = Experiment(name="e", workload=workload, client_build=build, client_bin_directory="/b", **values)
        plan.queue(experiment, used_systems)
        return experiment

    return make


def curve(clients, peak=40, contention=0.02):
    coherency = (1 - contention) / peak**2
    return 1000 * clients / (1 + contention * (clients - 1) + coherency * clients * (clients - 1))


def waiting(experiment):
    return list(experiment.runs.filter(state=State.QUEUED).order_by("position"))


def followed(experiment, tps):
    """End each run with what `tps` says of it, until nothing more is planned; returns how often it was."""
    steps = 0
    while growth.grow():
        steps += 1
        assert steps <= experiment.noisy_runs
        for run in waiting(experiment):
            testing.succeeded(run, tps(run))
    return steps


def test_nothing_but_the_first_level_is_planned_before_there_is_a_result(planned):
    experiment = planned()
    assert experiment.runs.count() == 0
    assert growth.grow() == 1
    [run] = waiting(experiment)
    assert (run.clients, run.repeat, run.position, run.kind) == (104, 1, 1, "measure")
    assert run.spec["application_name"] == f"benchhub-{run.uuid}"
    assert growth.grow() == 0 and experiment.runs.count() == 1


def test_a_search_grows_to_the_peak_within_its_budget_and_ends(planned):
    experiment = planned()
    steps = followed(experiment, lambda run: curve(run.clients))
    runs = list(experiment.runs.order_by("position"))
    assert steps == len(runs) <= 12
    assert [run.clients for run in runs[:3]] == FIRST
    grown = experiment.growth
    assert grown.stopped in (Growth.Stopped.KNOWN, Growth.Stopped.SPENT) and grown.stopped_at
    assert curve(grown.found["best"]) >= 0.99 * max(map(curve, LEVELS))
    assert len(grown.steps) == steps and grown.steps[0]["clients"] == 104
    assert growth.grow() == 0


def test_a_plan_that_cannot_go_on_is_paused_with_the_reason_and_holds_up_no_other(planned, systems):
    broken = planned(grows="decide", client_levels=[8])  # a decision is between two systems, and it has one
    sound = planned(systems[1:])
    assert growth.grow() == 1
    broken.refresh_from_db()
    assert broken.paused_at and broken.pause_reason.startswith("BenchHub could not plan its next step: ValueError(")
    assert len(waiting(sound)) == 1 and waiting(broken) == []
    assert growth.grow() == 0
    queue.resume(broken)
    growth.grow()
    broken.refresh_from_db()
    assert broken.paused_at, "resumed, it is tried once more"


def test_a_plan_that_is_paused_grows_no_further_until_it_is_resumed(planned):
    experiment = planned()
    queue.pause(experiment, "Paused by ada.")
    assert growth.grow() == 0 and not experiment.runs.exists()
    queue.resume(experiment)
    assert growth.grow() == 1


def test_a_plan_that_was_paused_between_two_steps_can_be_seen_and_resumed(planned, client):
    """No run of it waits just then."""
    experiment, resume = planned(), "Resume<span"
    growth.grow()
    [run] = waiting(experiment)
    testing.succeeded(run, 1000.0)
    user = get_user_model().objects.create_superuser("ada", password="x")
    client.force_login(user)
    addresses = reverse("experiment", args=[experiment.pk]), reverse("queue")
    page, queue_page = map(client.get, addresses)
    assertNotContains(page, resume)
    assertNotContains(queue_page, "as needed")
    queue.pause(experiment, "Paused by ada.")
    addresses = reverse("experiment", args=[experiment.pk]), reverse("queue")
    page, queue_page = map(client.get, addresses)
    assertContains(page, "Paused since")
    for response in (page, queue_page):
        assertContains(response, resume, count=1)
    assertContains(queue_page, "as needed")
    Growth.objects.update(stopped=Growth.Stopped.CANCELLED)
    assert not Experiment.objects.waiting().exists()
    assertNotContains(client.get(reverse("experiment", args=[experiment.pk])), resume)


def test_the_next_step_follows_from_the_stored_results_alone(planned):
    experiment = planned()
    for _ in range(6):
        growth.grow()
        [run] = waiting(experiment)
        testing.succeeded(run, curve(run.clients))
    Growth.objects.all().delete()
    growth.grow()
    clients = waiting(experiment)[0].clients
    waiting(experiment)[0].delete()
    growth.grow()
    assert waiting(experiment)[0].clients == clients


def test_the_best_load_under_a_ceiling_is_found(planned):
    experiment = planned(grows="ceiling", ceiling_ms=1.02, most_runs=16)
    followed(experiment, lambda run: 1000 * min(run.clients, 40))
    assert 38 <= experiment.growth.found["best"] <= 42


def test_a_level_that_fails_twice_is_left_out_and_failures_are_paid_for(planned):
    experiment = planned(most_runs=8)
    growth.grow()
    for _ in range(2):
        [run] = waiting(experiment)
        assert run.clients == 104
        testing.ended(run, "failed", "out of memory")
        growth.grow()
    [run] = waiting(experiment)
    assert run.clients != 104
    assert experiment.growth.found["runs_left"] == 6 and experiment.growth.found["spoilt"] == 2


def test_a_run_that_is_set_aside_no_longer_counts(planned):
    experiment = planned()
    growth.grow()
    [run] = waiting(experiment)
    testing.succeeded(run, 1.0)
    Run.objects.filter(pk=run.pk).update(set_aside_at="2026-01-01T00:00Z", set_aside_reason="a backup ran")
    growth.grow()
    assert waiting(experiment)[0].clients == 104
    assert experiment.growth.found["n"] == 0 and experiment.growth.found["spoilt"] == 1


def test_a_cancelled_run_ends_the_growth(planned):
    experiment = planned()
    growth.grow()
    queue.ask_to_cancel(experiment.runs.all())
    assert growth.grow() == 0
    assert experiment.growth.stopped == "cancelled" and not waiting(experiment)


def test_cancelling_between_two_steps_ends_it_too(planned, client):
    client.force_login(get_user_model().objects.create_superuser("ada"))
    experiment = planned()
    growth.grow()
    testing.succeeded(waiting(experiment)[0], 100.0)
    address = reverse("experiment-cancel", args=[experiment.pk])
    assertContains(client.get(address), "Cancel the experiment")
    client.post(address)
    assert growth.grow() == 0
    assert experiment.growth.stopped == "cancelled"


def test_a_data_set_that_could_not_be_loaded_stops_it_until_it_is_loaded_again(planned, systems):
    experiment = planned()
    system = systems[0]
    step, protocol = plan.Step(system, kind=Run.Kind.LOAD), plan.Protocol.stored({"path": "socket"})
    [load] = plan.save_runs([plan.run_of(experiment, step, protocol, 1)])
    testing.ended(load, "failed", "disk full")
    assert growth.grow() == 0
    assert experiment.growth.stopped == "unprepared" and not growth.due().exists()
    queue.run_again(experiment.runs.all())
    assert growth.grow() == 0
    load.refresh_from_db()
    for state in ("reserved", "starting", "running", "collecting", "succeeded"):
        Run.objects.filter(pk=load.pk).update(state=state)
    assert growth.grow() == 1
    experiment.growth.refresh_from_db()
    assert experiment.growth.stopped == ""


def test_pairs_are_planned_until_the_ratio_is_known(planned, systems):
    experiment = planned(systems, grows="decide", client_levels=[8], most_runs=40, precision=0.02)
    wobble = [1.0, 1.001, 0.999, 1.0, 1.0005, 0.9995, 1.0, 1.001]
    pairs = followed(
        experiment, lambda run: (1100 if run.system == systems[1] else 1000) * wobble[run.repeat * run.system_id % 8]
    )
    runs = list(experiment.runs.order_by("position"))
    assert len(runs) == 2 * pairs < 40
    keys = {system.pk for system in systems}
    for first, second in zip(runs[::2], runs[1::2], strict=True):
        assert {first.system_id, second.system_id} == keys and first.repeat == second.repeat
    assert len({run.system_id for run in runs[::2]}) == 2
    findings = experiment.growth.found
    assert (findings["answer"], experiment.growth.stopped) == ("faster", "known")
    assert findings["low"] < 1.1 < findings["high"]
    assert "PostgreSQL 18 gives 1.10x the throughput of PostgreSQL 16" in findings["sentence"]


def test_a_decision_that_cannot_be_made_says_so_when_the_budget_is_spent(planned, systems):
    experiment = planned(systems, grows="decide", client_levels=[8], most_runs=8, precision=0.01)
    scatter = {1: 0.9, 2: 1.1, 3: 1.0, 4: 1.05}
    followed(experiment, lambda run: 1000 * (scatter[run.repeat] if run.system == systems[1] else 1))
    assert experiment.runs.count() == 8
    assert (experiment.growth.found["answer"], experiment.growth.stopped) == ("cannot tell", "spent")


def test_the_page_says_what_is_tried_next_what_is_believed_and_why_it_ended(planned, client):
    client.force_login(get_user_model().objects.create_superuser("ada"))
    experiment = planned(most_runs=8)
    address = reverse("experiment", args=[experiment.pk])
    assertContains(client.get(address), "0 of at most 8 runs were planned so far")
    growth.grow()
    page = client.get(address)
    assertContains(page, "Next: 104 clients.")
    assertNotContains(page, "It has ended")
    testing.succeeded(waiting(experiment)[0], curve(104))
    followed(experiment, lambda run: curve(run.clients))
    page = client.get(address)
    assertContains(page, f"{experiment.growth.found['best']} clients")
    assertContains(page, "This level and this throughput are <b>believed</b>")
    assertContains(page, "It has ended: ")
    assertNotContains(page, "Next: ")


def test_a_search_that_does_not_know_the_best_level_says_why(planned, client):
    client.force_login(get_user_model().objects.create_superuser("ada"))
    experiment = planned(client_levels=list(range(1, 17)), most_runs=4)
    jumping = iter([15_200.0, 22_900, 7_100, 9_800, 23_300, 11_000, 8_700, 21_400])
    followed(experiment, lambda _: next(jumping))
    findings = experiment.growth.found
    assert experiment.growth.stopped == "spent" and "noise" in findings["doubts"]
    assert experiment.runs.filter(clients=findings["best"]).exists()
    page = client.get(reverse("experiment", args=[experiment.pk]))
    assertContains(page, "Which level is the best is not")
    for reason in findings["reasons"]:
        assertContains(page, reason)


def page_of_a_search(client, experiment, best, estimate):
    """Return the experiment's page, as if it believed in this best level and estimate."""
    client.force_login(get_user_model().objects.create_superuser("ada"))
    Growth.objects.filter(experiment=experiment).update(
        found={"best": best, "probability": 0.9, "estimate": estimate, "low": 1.0, "high": 9.0, "noise": 0.01, "n": 3}
    )
    return client.get(reverse("experiment", args=[experiment.pk]))


@pytest.fixture
def searched(planned):
    """Run 104 clients (1,000 TPS), 28 (2,000 and, once more by hand, 2,200) and 8 (2,400)."""
    experiment = planned()
    for tps in (1000.0, 2000.0, 2400.0):
        growth.grow()
        testing.succeeded(waiting(experiment)[0], tps)
    protocol = experiment.runs.first().protocol
    second_run = testing.make_run(experiment, experiment.systems.get(), 28, 2, protocol=protocol)
    testing.succeeded(second_run, 2200.0)
    return experiment


def test_what_is_believed_of_the_best_level_and_what_was_measured_there_are_told_apart(searched, client):
    page = page_of_a_search(client, searched, 28, 2345.0)
    text = " ".join(re.sub(r"<[^>]+>", " ", page.content.decode()).split())
    assert "Throughput believed there, TPS 2,345" in text
    assert "the geometric mean at 28 clients is 2,100 TPS (2 runs). The highest mean is" in text
    assert "The highest mean is 2,400 TPS at 8 clients (1 run). The highest of several means is partly luck" in text
    assertContains(page, "highest mean, at the edge</span>", count=1)
    assertContains(page, ">believed best</span>", count=1)


def test_a_level_that_is_believed_in_and_was_not_run_is_said_to_have_no_result(searched, client):
    page = page_of_a_search(client, searched, 20, 2500.0)
    assertContains(page, "there is no result at 20 clients itself")
    assertNotContains(page, ">believed best</span>")


def test_a_level_that_is_believed_in_and_has_the_highest_mean_is_said_to_be_both(searched, client):
    page = page_of_a_search(client, searched, 8, 2400.0)
    assertContains(page, "It is the highest of all levels.")
    assertNotContains(page, "partly luck")


def test_the_axis_of_a_search_is_that_of_the_levels_it_chooses_from_whatever_was_run(searched, client):
    page = page_of_a_search(client, searched, 8, 2400.0)  # 8 to 104 alone would be drawn by logarithm
    assertContains(page, '"axis": "linear"')
    assertNotContains(page, '"axis": "log2"')


def test_the_page_of_a_decision_gives_the_answer_in_words(planned, systems, client):
    client.force_login(get_user_model().objects.create_superuser("ada"))
    experiment = planned(systems, grows="decide", client_levels=[8], most_runs=12, precision=0.05)
    followed(experiment, lambda run: run.repeat + (1100 if run.system == systems[1] else 1000))
    page = client.get(reverse("experiment", args=[experiment.pk]))
    assertContains(page, "PostgreSQL 18 gives 1.10x the throughput of PostgreSQL 16")
    assertContains(page, "confidence sequence")


def test_an_experiment_that_does_not_grow_is_left_alone(systems):
    experiment = testing.make_experiment(systems)
    assert growth.grow() == 0
    growth.stop(experiment)
    assert not Growth.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_workers_plan_a_step_once(planned):
    experiment = planned()
    barrier = threading.Barrier(2)

    def work():
        barrier.wait()
        growth.grow()
        connection.close()

    workers = [threading.Thread(target=work) for _ in range(2)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    assert experiment.runs.count() == 1


@pytest.mark.target
def test_a_search_on_a_real_server_grows_from_tick_to_tick(worker, system, experiment, cluster18):
    search = experiment(system(cluster18), client_levels=[1, 2, 3], grows="peak", most_runs=2)
    assert [run.kind for run in search.runs.all()] == ["load"]
    worker.tick()
    worker.until(lambda: Growth.objects.filter(experiment=search).exclude(stopped="").exists())
    load, *measuring = search.runs.order_by("position")
    assert [run.state for run in (load, *measuring)] == ["succeeded"] * (1 + len(measuring))
    assert 2 <= len(measuring) <= 4
    assert [run.clients for run in measuring[:2]] == [3, 2]
    assert search.growth.stopped == "spent" and search.growth.found["best"] in (1, 2, 3)
