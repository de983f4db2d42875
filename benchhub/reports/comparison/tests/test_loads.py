import json
import re

import pytest
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench import testing
from benchhub.bench.models import LatencyHistogram, Protocol
from benchhub.catalog.models import Workload
from benchhub.reports.testing import both, key, rows_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def tatp(systems):
    """16 has 100 MQTh at 1 and 4 clients and 2,000 at 32; 18 has 360 at 4 and 8,400 at 32."""
    workload = Workload.objects.create(name="tatp", tool="tatp", parameters={"subscribers": 100_000, "mix": "80/20"})
    experiment = testing.make_experiment(systems, workload=workload, client_levels=[1, 4, 32])
    measured = ((1, 1, 100.0, 0), (4, 1, 100.0, 0), (32, 1, 2000.0, 0), (4, 1, 360.0, 1), (32, 1, 8400.0, 1))
    for clients, repeat, mqth, place in measured:
        run = testing.make_run(experiment, systems[place], clients, repeat)
        testing.succeeded(run, mqth, unit="MQTh")
        with_types(run, 1000 if place else 3000)
    return experiment


def with_types(run, slow_us):
    """90 of 100 updates of a location take 100 us, the others longer."""
    for name, latency_us in (("latency", 50), ("UPDATE_LOCATION", slow_us)):
        edges = {"lower_us": [100, latency_us], "upper_us": [101, latency_us + 1], "counts": [85, 15]}
        LatencyHistogram.objects.create(run=run, name=name, **edges, sum_us=1, min_us=50, max_us=latency_us)


def figure(response, name):
    return json.loads(re.search(f'<script id="figure-{name}".*?>(.*?)</script>', response.content.decode())[1])


def test_throughput_is_set_against_the_baseline_at_the_lowest_and_highest_load_that_all_have(reader, tatp, systems):
    response = reader.get(both(tatp, systems))
    first, second, *_ = figure(response, "loads")["data"]
    assert (first["x"], first["y"]) == (["4 clients", "32 clients"], [1.0, 1.0])
    assert second["y"] == [3.6, 4.2]
    rows = rows_of(reader.get(both(tatp, systems, csv="loads")))
    assert [(row["Clients"], row["Times the baseline, with its interval"]) for row in rows][1::2] == [
        ("4", "3.60x"),
        ("32", "4.20x"),
    ]


def test_ratios_of_single_runs_are_not_tested(reader, tatp, systems):
    assertContains(reader.get(both(tatp, systems)), "With fewer repeats than three on a side the ratio is not tested")
    rows = rows_of(reader.get(both(tatp, systems, csv="loads")))
    assert {row["Verdict"] for row in rows} == {"baseline", "not tested"}


def test_of_three_repeats_figure_table_and_file_have_the_ratio_of_geometric_means(reader, tatp, systems):
    """At 32 clients 1,000, 2,000 and 4,000 against 2,000, 2,000 and 16,000: 2.00x of means of 2,000 and 4,000."""
    experiment = testing.make_experiment(systems, workload=tatp.workload, client_levels=[32])
    for place, throughputs in enumerate(((1000.0, 2000.0, 4000.0), (2000.0, 2000.0, 16_000.0))):
        for repeat, mqth in enumerate(throughputs, start=1):
            testing.succeeded(testing.make_run(experiment, systems[place], 32, repeat), mqth, unit="MQTh")
    response = reader.get(both(experiment, systems))
    assertContains(response, "It is the ratio of the geometric means")
    assertNotContains(response, "edian throughput")
    *_, row = rows_of(reader.get(both(experiment, systems, csv="loads")))
    assert row["Geometric mean, MQTh"] == "4000.0"
    assert row["Times the baseline, with its interval"].startswith("2.00x, ")
    assert row["Verdict"] == "not distinguishable"


def test_labels_stand_above_the_lines_on_the_bars_and_the_baseline_has_none(reader, tatp, systems):
    for place, throughputs in enumerate(((90.0, 110.0), (350.0, 400.0))):
        for repeat, mqth in enumerate(throughputs, start=2):
            testing.succeeded(testing.make_run(tatp, systems[place], 4, repeat), mqth, unit="MQTh")
    first, second, first_label, second_label = figure(reader.get(both(tatp, systems)), "loads")["data"]
    assert "error_y" not in first
    assert first_label["y"] == first["y"] == [1.0, 1.0]
    assert second_label["y"][0] == pytest.approx(second["y"][0] + second["error_y"]["array"][0])
    assert second["error_y"]["array"][0] > 0 and second["error_y"]["array"][1] is None


def test_the_90th_percentile_of_each_type_is_that_of_the_highest_load(reader, tatp, systems):
    response = reader.get(both(tatp, systems))
    assertContains(response, "90th percentile of response times by type, at 32 clients")
    first, second = figure(response, "types")["data"]
    assert (first["x"], first["y"], second["y"]) == (["update<br>location"], [3.0], [1.0])
    assertContains(response, "Too few were logged, or none was run, for each system to have: GET_SUBSCRIBER_DATA, ")
    rows = rows_of(reader.get(both(tatp, systems, csv="types")))
    assert [(row["Type"], row["90th percentile, ms"]) for row in rows] == [
        ("UPDATE_LOCATION", "3.0"),
        ("UPDATE_LOCATION", "1.0"),
    ]


def test_of_repeats_the_transactions_count_together_and_too_few_are_left_out(reader, tatp, systems):
    """170 of 200 take 100 us, 15 take 3 ms and 15 take 5 ms: nine of ten at most 3 ms."""
    again = testing.make_run(tatp, systems[0], 32, 2)
    testing.succeeded(again, 2000.0, unit="MQTh")
    with_types(again, 5000)
    assert figure(reader.get(both(tatp, systems)), "types")["data"][0]["y"] == [3.0]
    LatencyHistogram.objects.filter(run__system=systems[0], name="UPDATE_LOCATION").update(counts=[5, 1])
    assert figure(reader.get(both(tatp, systems)), "types")["data"][0]["y"] == []


def test_curves_without_a_common_load_say_so(reader, tatp, systems):
    only = testing.make_experiment(systems[1:], workload=tatp.workload, client_levels=[2])
    testing.succeeded(testing.make_run(only, systems[1], 2, 1), 7.0, unit="MQTh")
    page = f"/compare/?curve={key(tatp, systems[0])}&curve={key(only, systems[1])}"
    assertContains(reader.get(page), "There is no number of clients at which each of these was run.")


def test_mqth_is_never_drawn_with_tps(reader, tatp, experiment, systems):
    """Even where the protocols were the same."""
    assert Protocol.objects.count() == 1
    page = f"/compare/?curve={key(tatp, systems[0])}&curve={key(experiment, systems[1])}"
    response = reader.get(page)
    assertContains(response, "These curves are not compared")
    assertContains(response, "MQTh and TPS")
    assertNotContains(response, "figure-compare")


def test_curves_in_tps_have_neither_figure(reader, experiment, systems):
    response = reader.get(both(experiment, systems))
    assertNotContains(response, "figure-loads")
    assertNotContains(response, "figure-latencies")


def test_percentiles_of_a_level_are_those_of_all_its_transactions_on_page_and_in_files(reader, experiment, systems):
    """1,900 of 1 ms in one run and 100 of 7 ms in the other, of 2,000: p95 is 1 ms and p99 7 ms, at 8 clients."""
    runs = experiment.runs.filter(system=systems[0], clients=8).order_by("repeat")
    for run, latency_us, count in zip(runs, (1000, 7000), (1900, 100), strict=True):
        bins = {"lower_us": [latency_us], "upper_us": [latency_us + 1], "counts": [count]}
        LatencyHistogram.objects.create(
            run=run, name="latency", **bins, sum_us=1, min_us=latency_us, max_us=latency_us, sampling_rate=0.5
        )
    traces = figure(reader.get(both(experiment, systems)), "latencies")["data"]
    assert [(trace["name"], trace["x"], trace["y"]) for trace in traces] == [
        ("PostgreSQL 16, 95th", [8], [1.0]),
        ("PostgreSQL 16, 99th", [8], [7.0]),
    ]
    assert traces[0]["text"] == ["2,000 logged transactions of 2 runs"]
    rows = rows_of(reader.get(both(experiment, systems, csv="latencies")))
    at_8 = next(row for row in rows if row["Clients"] == "8")
    assert (at_8["99th percentile, ms"], at_8["Logged transactions"], at_8["Runs"]) == ("7.0", "2000", "2")
    levels = rows_of(reader.get(both(experiment, systems, csv="levels")))
    percentiles = [(row["latency_p95_ms"], row["latency_samples"]) for row in levels if row["clients"] == "8"]
    assert percentiles == [("1.0", "2000"), ("", "")]
    page = reader.get(f"/experiments/{experiment.pk}/")
    assertContains(page, "Of 2,000 logged transactions of 2 runs", count=2)


def test_a_price_is_one_of_mqth(reader, tatp, systems, hardware, prices):
    """5,000 EUR of hardware / 8,400 MQTh = 0.595."""
    response = reader.get(both(tatp, systems))
    assertContains(response, "EUR per MQTh")
    assertContains(response, "0.595")
