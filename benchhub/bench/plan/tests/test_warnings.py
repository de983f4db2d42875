"""Warnings about a plan by what its load generator says of itself, or by what several systems share; and refusals."""

import pytest
from pytest_django.asserts import assertContains

from benchhub.bench.models import Experiment
from benchhub.bench.plan.testing import NEW, form_of, look
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
