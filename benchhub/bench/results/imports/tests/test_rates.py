"""Runs at a rate stand in a sweep of rates, by the rate that was sent and the limit that they print."""

import pytest
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench.models import Experiment, Run
from benchhub.catalog.models import Configuration, Hardware, Workload

pytestmark = pytest.mark.django_db
PAGE = "/results/import"
HEAD = """pgbench (18.1)
transaction type: <builtin: select only>
scaling factor: 10
query mode: simple
number of clients: 4
number of threads: 4
maximum number of tries: 1
duration: 60 s
"""
LIMITED = f"""{HEAD}number of transactions actually processed: 5990
number of failed transactions: 0 (0.000%)
number of transactions skipped: 12 (0.200%)
number of transactions above the 20.5 ms latency limit: 15/5990 (0.250%)
latency average = 1.200 ms
latency stddev = 1.300 ms
rate limit schedule lag: avg 0.400 (max 19.700) ms
initial connection time = 12.000 ms
tps = 99.850000 (without initial connection time)
"""
UNLIMITED = "\n".join(line for line in LIMITED.split("\n") if "skipped" not in line and "latency limit" not in line)
CLOSED = f"""{HEAD}number of transactions actually processed: 600000
number of failed transactions: 0 (0.000%)
latency average = 0.400 ms
initial connection time = 12.000 ms
tps = 10002.000000 (without initial connection time)
"""
LIMIT_ALONE = CLOSED.replace(
    "latency average", "number of transactions above the 20.0 ms latency limit: 3/600000 (0.001%)\nlatency average"
)


@pytest.fixture
def fields(client):
    parameters = {"script": "select-only", "query_mode": "simple", "scale": 10}
    workload = Workload.objects.create(name="select-only", tool="pgbench", parameters=parameters)
    box = Hardware.objects.create(name="Box", sockets=2, cores_per_socket=10)
    configuration = Configuration.objects.create(name="as it was", settings={})
    client.force_login(make_user("ada", Role.ADMINISTRATOR))
    return {
        "text": LIMITED, "experiment": "From a laptop", "workload": workload.pk, "hardware": box.pk,
        "configuration": configuration.pk, "host": "laptop", "path": "socket", "source": "pasted by ada",
        "measured_at": "2026-01-31T02:00", "rate_tps": "100", "save": "1",
    }  # fmt: skip


def test_a_run_at_a_rate_stands_in_a_sweep_with_its_rate_and_the_limit_that_it_prints(client, fields):
    address = client.post(PAGE, fields).url
    run = Run.objects.get()
    assert (run.rate_tps, run.spec["parameters"]["rate_tps"], run.spec["expected_tps"]) == (100, 100, 100)
    assert run.spec["parameters"]["latency_limit_ms"] == 20.5
    experiment = run.experiment
    assert (experiment.rates_tps, experiment.latency_limit_us, experiment.client_levels) == ([100], 20_500, [4])
    assert run.protocol.form["open_loop"] == {"clients": 4, "latency_limit_us": 20_500}
    page = client.get(address)
    assertContains(page, "Rates by system")
    assertContains(page, "within 20.5 ms of when they were due, every rate was held")


def test_rates_of_one_name_are_one_sweep_and_a_closed_loop_of_that_name_stays_apart(client, fields):
    client.post(PAGE, fields)
    client.post(PAGE, fields)
    double = LIMITED.replace("5990", "11980").replace("99.85", "199.7")
    client.post(PAGE, {**fields, "text": double, "rate_tps": "200"})
    client.post(PAGE, {**fields, "text": CLOSED, "rate_tps": ""})
    swept, closed = Experiment.objects.order_by("pk")
    assert list(swept.runs.order_by("pk").values_list("rate_tps", "repeat")) == [(100, 1), (100, 2), (200, 1)]
    assert (swept.rates_tps, swept.repeats) == ([100, 200], 2)
    assert (closed.rates_tps, closed.runs.get().rate_tps) == ([], 0)
    assert closed.runs.get().protocol_id != swept.runs.first().protocol_id


def test_without_a_latency_limit_a_rate_is_held_by_its_throughput_alone_and_the_page_says_so(client, fields):
    page = client.get(client.post(PAGE, {**fields, "text": UNLIMITED}).url)
    assert Experiment.objects.get().latency_limit_us == 0
    assertContains(page, "Without a latency limit, by throughput alone, every rate was held")
    assertContains(page, "There was no latency limit, so none was late or skipped")
    assertNotContains(page, "within 0 ms")


def test_an_output_at_a_rate_finds_its_workload_and_asks_for_the_rate_alone(client, fields):
    page = client.post(PAGE, {"text": LIMITED})
    sentence = "The output is of a run at a rate (-R) of about 100 TPS; what was asked for it does not say: write it."
    assert page.context["page"].form.errors == {"rate_tps": [sentence]}
    assertContains(page, '<details id="more" open>')
    assertContains(page, "select-only is the workload that agrees with this output.")
    assertNotContains(page, "Add its workload")
    assertContains(client.post(PAGE, {"text": LIMITED, "rate_tps": "100"}), "What was read: 1 run")


def test_a_missing_workload_is_proposed_for_an_output_at_a_rate_without_that_rate(client, fields):
    page = client.post(PAGE, {"text": LIMITED.replace("factor: 10", "factor: 20")})
    parameters = page.context["page"].missing_workload.parameters
    assert parameters == {"script": "select-only", "scale": 20, "query_mode": "simple"}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"rate_tps": "400"}, "The output is of a run at a rate (-R) of about 100 TPS, not of one at 400 TPS."),
        ({"text": CLOSED}, "The output is of a run without a rate (-R), not of one at 100 TPS."),
        ({"rate_tps": "99.5"}, "BenchHub has whole rates only"),
        ({"rate_tps": "0"}, "greater than or equal to 1"),
        ({"text": LIMIT_ALONE, "rate_tps": ""}, "A latency limit can be imported with a rate only (-R)"),
    ],
)
def test_a_rate_that_the_output_is_not_of_is_refused_in_words(client, fields, changes, sentence):
    page = client.post(PAGE, {**fields, **changes})
    assertContains(page, sentence)
    assert not Run.objects.exists()


def test_a_workload_with_a_rate_of_its_own_takes_no_other(client, fields):
    parameters = {"script": "select-only", "scale": 10, "rate_tps": 100}
    own = Workload.objects.create(name="at 100", tool="pgbench", parameters=parameters)
    fields |= {"workload": own.pk, "text": UNLIMITED}
    refused = client.post(PAGE, {**fields, "rate_tps": "200"})
    assertContains(refused, "at 100 has a rate of its own, 100 TPS: leave this one out.")
    assert not Run.objects.exists()


def test_a_rate_that_is_the_workload_s_own_may_be_sent(client, fields):
    parameters = {"script": "select-only", "scale": 10, "rate_tps": 100}
    own = Workload.objects.create(name="at 100", tool="pgbench", parameters=parameters)
    client.post(PAGE, {**fields, "workload": own.pk, "text": UNLIMITED})
    assert (Run.objects.get().rate_tps, Experiment.objects.get().rates_tps) == (100, [])


def test_a_workload_with_a_rate_of_its_own_needs_none_sent(client, fields):
    parameters = {"script": "select-only", "scale": 10, "rate_tps": 100}
    own = Workload.objects.create(name="at 100", tool="pgbench", parameters=parameters)
    fields |= {"workload": own.pk, "text": UNLIMITED}
    client.post(PAGE, {**fields, "rate_tps": ""})
    assert (Run.objects.get().rate_tps, Experiment.objects.get().rates_tps) == (100, [])


def test_a_limit_that_no_workload_can_have_leads_nobody_to_add_one(client, fields):
    page = client.post(PAGE, {"text": LIMIT_ALONE})
    assertContains(page, "A latency limit can be imported with a rate only (-R)")
    assertNotContains(page, "Add its workload")


def test_runs_at_unlike_rates_in_one_text_have_each_its_own(client, fields):
    double = LIMITED.replace("5990", "11980").replace("99.85", "199.7")
    several = {**fields, "text": f"{LIMITED}\n{double}\n{LIMITED}"}
    for rates in ("100 200", "100"):
        assertContains(client.post(PAGE, {**several, "rate_tps": rates}), "Nothing was stored")
    assert not Run.objects.exists()
    client.post(PAGE, {**several, "rate_tps": "100, 200, 100"})
    runs = Run.objects.order_by("started_at").values_list("rate_tps", "spec__parameters__rate_tps", "repeat")
    assert list(runs) == [(100, 100, 1), (200, 200, 1), (100, 100, 2)]
    assert Experiment.objects.get().rates_tps == [100, 200]


def test_as_many_rates_are_written_as_there_are_runs_or_one_for_all(client, fields):
    page = client.post(PAGE, {**fields, "rate_tps": "100, 200"})
    sentence = "The output holds 1 run: write the rate of all, or that of each in their order."
    assert page.context["page"].form.errors == {"rate_tps": [sentence]}
    client.post(PAGE, {**fields, "text": f"{LIMITED}\n{LIMITED}"})
    assert list(Run.objects.values_list("rate_tps", flat=True)) == [100, 100]
