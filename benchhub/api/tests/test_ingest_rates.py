"""A delivery of a run at a rate sends the rate, and its output says the latency limit."""

from __future__ import annotations

import pytest

from benchhub.api.tests.delivered import faults, recorded
from benchhub.bench.models import Experiment, Run
from benchhub.catalog.models import Workload

pytestmark = pytest.mark.django_db
VERSIONS = {"13": "13.4", "14": "14.1", "15": "15.18", "16": "16.14", "18": "18.4"}


@pytest.fixture
def courier(courier):
    scripts = [{"text": "SELECT pg_sleep(0.03);", "weight": 1}]
    Workload.objects.create(
        name="slow", tool="pgbench", parameters={"script": "custom", "scale": 1, "scripts": scripts}
    )
    return courier


def at_rate(version="15", **changes):
    """One client at 60 TPS, which it cannot do, with a limit of 20 ms."""
    release = VERSIONS[version]
    return recorded(version, "rate_limited", "slow", release, clients=1, thread_rule="1", duration_s=3, **changes)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_recording_at_a_rate_stands_in_a_sweep(courier, version):
    answer = courier.send("post", "deliveries/", at_rate(version, rate_tps=60))
    assert answer.status_code == 201, answer.content
    run, experiment = Run.objects.get(), Experiment.objects.get()
    assert (run.rate_tps, run.spec["parameters"]["latency_limit_ms"]) == (60, 20)
    assert (experiment.rates_tps, experiment.latency_limit_us) == ([60], 20_000)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "what was asked for it does not say: write it."),
        ({"rate_tps": 600}, "not of one at 600 TPS."),
        ({"rate_tps": 60.5}, "BenchHub has whole rates only"),
        ({"rate_tps": 0}, "greater than or equal to 1"),
    ],
)
def test_a_rate_that_is_missing_or_another_is_refused_at_its_field(courier, changes, sentence):
    [(pointer, detail)] = faults(courier, at_rate(**changes))
    assert pointer == "/rate_tps"
    assert sentence in detail


def test_a_rate_is_no_rate_of_numbers_alone_or_of_a_program_that_takes_none(courier):
    sent = at_rate(rate_tps=60)
    del sent["output"]
    numbers = {**sent, "numbers": {"throughput": 60, "unit": "TPS"}}
    assert faults(courier, numbers) == [
        ("/rate_tps", "Numbers alone say nothing of a rate: send the output that they are of.")
    ]
    sysbench = {**at_rate(rate_tps=60), "workload": "oltp"}
    [(pointer, detail)] = faults(courier, sysbench)
    assert (pointer, detail.split(", and cannot")[0]) == (
        "/rate_tps",
        "oltp goes as fast as it can, and sysbench takes no rate: a run that was offered 60 TPS is another load",
    )


def test_a_run_of_a_program_that_has_rates_is_none_of_a_load_without_one_whether_or_not_its_rate_is_sent(courier):
    Workload.objects.create(name="phones", tool="tatp", parameters={"subscribers": 1000})
    phones = {**at_rate(), "workload": "phones"}
    assert ("/rate_tps", "not of as many as can be.") in [
        (pointer, detail[-len("not of as many as can be.") :]) for pointer, detail in faults(courier, phones)
    ]
    [(pointer, detail)] = faults(courier, {**phones, "rate_tps": 60})
    assert pointer == "/rate_tps" and "phones goes as fast as it can" in detail
    assert not Run.objects.exists()


def test_a_repeat_at_a_rate_is_one_of_that_rate(courier):
    assert courier.send("post", "deliveries/", at_rate(rate_tps=60, repeat=1)).status_code == 201
    assert courier.send("post", "deliveries/", at_rate(rate_tps=61, repeat=1)).status_code == 201
    answer = courier.send("post", "deliveries/", at_rate(rate_tps=60, repeat=1))
    [fault] = answer.json()["errors"]
    assert fault["detail"] == "Repeat 1 at 60 TPS is there already: leave it out to add another one."
