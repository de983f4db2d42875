"""Warnings about a plan by what its load generator says of itself, or by what several systems share; and refusals."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.asserts import assertContains

from benchhub.bench.models import Experiment, Tenancy
from benchhub.bench.plan import plan
from benchhub.bench.plan.systems import system_under_test
from benchhub.bench.plan.testing import NEW, form_of, look
from benchhub.bench.queue import queue
from benchhub.bench.tuning.testing import make_cluster
from benchhub.catalog.models import Instance, Workload

pytestmark = pytest.mark.django_db
TPCB = {"script": "tpcb-like", "query_mode": "simple", "scale": 100}


def warnings_text(servers, tool, parameters):
    recipe = Workload.objects.create(name=str(parameters)[:120], tool=tool, parameters=parameters)
    return " ".join(look(form_of(recipe, *servers)).warnings)


@pytest.mark.parametrize(
    ("tool", "parameters", "is_writing"),
    [
        ("tatp", {"mix": "80/20"}, True),
        ("tatp", {"mix": "R100"}, False),
        ("sysbench", {"script": "oltp_read_write"}, True),
        ("sysbench", {"script": "oltp_point_select"}, False),
        ("pgbench", TPCB, True),
        ("pgbench", {**TPCB, "script": "select-only"}, False),
    ],
)
def test_every_load_generator_says_whether_it_writes(servers, tool, parameters, is_writing):
    """Runs of 60 s; PostgreSQL's checkpoint_timeout is 300 s."""
    sentence = "Runs of 60 s that write are shorter than two checkpoint cycles (600 s)"
    assert (sentence in warnings_text(servers, tool, parameters)) == is_writing


@pytest.mark.parametrize(
    ("tool", "parameters", "sentence"),
    [
        # 10,000,000 subscribers of 870 bytes are 8.1 GiB; 10 tables of 10,000,000 rows of 265 bytes 24.7 GiB.
        ("tatp", {"subscribers": 10_000_000}, "The data set of 10,000,000 subscribers takes about 8.1 GiB"),
        (
            "sysbench",
            {"script": "oltp_read_write", "tables": 10, "table_size": 10_000_000},
            "The data set of 10 x 10,000,000 rows takes about 24.7 GiB",
        ),
        ("pgbench", {**TPCB, "scale": 1000}, "The data set of scale 1,000 takes about 15.6 GiB"),
    ],
)
def test_every_load_generator_says_how_much_memory_its_data_would_need(box, servers, tool, parameters, sentence):
    box.facts |= {"memory_bytes": 8 * 2**30}
    box.save()
    assert f"{sentence}, more than the 8.0 GiB of memory of box" in warnings_text(servers, tool, parameters)
    box.facts |= {"memory_bytes": 32 * 2**30}
    box.save()
    assert "of memory of" not in " ".join(look(form_of(Workload.objects.get(tool=tool), *servers)).warnings)


@pytest.mark.parametrize(("free_gib", "is_odd"), [(3, True), (4, False)])
def test_data_sets_that_only_together_fill_a_disk_are_odd(box, servers, free_gib, is_odd):
    """Scale 100 takes 1,600 MiB, two of them 3.1 GiB."""
    Instance.objects.filter(pk__in=[server.pk for server in servers]).update(data_directory="/data/pg")
    box.facts |= {"filesystems": [{"folder": "/data", "free_bytes": free_gib * 2**30}]}
    box.save()
    text = warnings_text(servers, "pgbench", TPCB)
    assert ("take about 3.1 GiB together, but only 3.0 GiB are free in /data of box" in text) == is_odd


def test_a_load_generator_that_a_probe_did_not_find_on_the_driver_is_refused_before_it_is_queued(planner, box, servers):
    recipe = Workload.objects.create(name="sb", tool="sysbench", parameters={"script": "oltp_point_select"})
    form = {**form_of(recipe, *servers), "queue": "1"}
    box.facts |= {"tools": {"psql": "/usr/bin/psql"}}
    box.save()
    assertContains(planner.post(NEW, form), "sysbench is not installed on box, as its last probe found. Install it")
    assert not Experiment.objects.exists()
    box.facts["tools"]["sysbench"] = "/usr/bin/sysbench"
    box.save()
    planner.post(NEW, form)
    assert Experiment.objects.get().workload == recipe


def begun(server, workload, **fields):
    """Make an experiment of 600 s of which a run was started on the server."""
    host = server.host
    system = system_under_test(server, driver=host, hardware=host.hardware, path="socket", label="x")
    build, values = system.build, {"client_levels": [1, 2], "duration_s": 300, **fields}
    experiment = Experiment(name="Nightly", workload=workload, client_build=build, client_bin_directory="/b", **values)
    plan.queue(experiment, [system], to_load=[])
    Tenancy.objects.create(instance=server, experiment=experiment)
    return experiment


def test_a_plan_says_that_it_waits_for_what_has_begun_on_other_data_and_for_how_long(servers, recipe):
    other = Workload.objects.create(name="large", tool="pgbench", parameters=TPCB)
    nightly = begun(servers[0], other)
    [sentence] = [text for text in look(form_of(recipe, servers[0])).warnings if "Nightly" in text]
    assert sentence == "Nightly has begun on the same server, with other data: this waits for it, 10 min or more."
    queue.pause(nightly, "Paused by ada.")
    assert "Nightly" not in " ".join(look(form_of(recipe, servers[0])).warnings)
    queue.resume(nightly)
    assert "Nightly" not in " ".join(look(form_of(other, servers[0])).warnings)


def test_a_plan_that_comes_between_says_what_both_loads_cost_or_that_it_cannot(servers, recipe):
    begun(servers[0], Workload.objects.create(name="large", tool="pgbench", parameters=TPCB), priority=3)
    between = {"data_set_policy": "between"}
    low, high = (
        " ".join(look(form_of(recipe, servers[0], priority=priority, **between)).warnings) for priority in ("3", "4")
    )
    assert "To come between, it needs a priority above 3." in low
    assert "this waits for it" not in high
    assert "its own data set is loaded first (about 10 s), and that of Nightly anew afterwards (about " in high


WINDOW = {"window_days": ["5", "6"], "window_from": "22:00", "window_until": "22:30", "window_zone": "Europe/Berlin"}


def test_a_plan_that_fits_into_no_window_says_so_before_it_is_queued(servers, recipe):
    """A run of 60 s takes 75 s with its warm-up of 10 s and what is done around it; one of 1,800 s 1,815 s."""
    assert "no period" not in " ".join(look(form_of(recipe, servers[0], **WINDOW)).warnings)
    [sentence] = [
        text for text in look(form_of(recipe, servers[0], duration_s="1800", **WINDOW)).warnings if "no period" in text
    ]
    assert sentence.startswith("Its longest run takes 30 min 15 s, and no period of the next 60 days is as long")


def test_a_host_that_is_always_blocked_is_said_too(box, servers, recipe):
    period = (timezone.now(), timezone.now() + timedelta(days=90))
    box.reservations.create(period=period)
    assert "no period" in " ".join(look(form_of(recipe, servers[0])).warnings)


def test_a_window_of_the_plan_confines_what_is_queued_from_the_start(planner, servers, recipe):
    planner.post(NEW, {**form_of(recipe, servers[0], **WINDOW), "queue": ""})
    experiment = Experiment.objects.get()
    assert str(experiment.windows.get()) == "Saturday, Sunday 22:00 to 22:30, Europe/Berlin"
    assert experiment.reservations.exists()
    assertContains(planner.get(f"{NEW}?like={experiment.pk}"), 'value="22:30"')


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"window_from": ""}, "Write from when until when it may run on these days."),
        ({"window_days": []}, "Choose the days on which it may run then."),
        ({"window_zone": "Nowhere/Atlantis"}, "Nowhere/Atlantis is not one of the available choices"),
    ],
)
def test_half_a_window_is_refused_beside_its_field(planner, servers, recipe, changes, sentence):
    response = planner.post(NEW, {**form_of(recipe, servers[0], **{**WINDOW, **changes}), "queue": ""})
    assertContains(response, sentence)
    assert not Experiment.objects.exists()


def test_a_data_set_is_weighed_against_the_limit_of_the_account_for_a_cluster_of_benchhubs_own(box, servers):
    """A server that somebody else started has the limits of its own service, which nobody has read."""
    box.facts |= {"memory_bytes": 32 * 2**30, "limits": {"cpus": "none", "memory_bytes": 8 * 2**30}}
    box.save()
    recipe = {"tool": "pgbench", "parameters": {**TPCB, "scale": 1000}}
    assert "of memory of" not in warnings_text(servers, **recipe)
    own, workload = make_cluster(box), Workload.objects.get(**recipe)
    assert "more than the 8.0 GiB of memory of box" in " ".join(look(form_of(workload, own)).warnings)
