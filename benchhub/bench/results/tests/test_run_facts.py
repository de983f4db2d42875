from types import SimpleNamespace

import pytest

from benchhub.analysis.doubts.verdict import of_run
from benchhub.bench.results import run_facts


def facts_of(deltas, *, locally=True, measures=None, series=None, parameters=None):
    system = SimpleNamespace(driven_locally=locally)
    spec = {"tool": "pgbench", "parameters": parameters or {}, "duration_s": 60}
    run = SimpleNamespace(clients=8, threads=4, spec=spec, system=system)
    return run_facts.facts(run, (), measures or {}, series, deltas)


def test_a_driver_s_cpu_counts_only_where_it_is_not_the_server_s():
    deltas = {"cpu": {"idle_share": 0.03, "iowait_share": 0.01}}
    assert facts_of(deltas, locally=False).driver_busy_share == pytest.approx(0.96)
    assert facts_of(deltas).driver_busy_share is None


def test_how_busy_the_threads_of_the_load_generator_were_is_told_where_their_time_was_counted():
    deltas = {"elapsed_s": 60.0, "load_cpu_s": 228.0}  # of 4 threads x 60 s = 240 s
    assert facts_of(deltas).thread_busy_share == pytest.approx(0.95)
    assert facts_of({"elapsed_s": 60.0}).thread_busy_share is None
    assert facts_of({"load_cpu_s": 1.0}).thread_busy_share is None


def test_stolen_time_is_that_of_the_host_that_lost_more():
    deltas = {"cpu": {"steal_share": 0.01}, "server_host": {"cpu": {"steal_share": 0.2}}}
    assert facts_of(deltas).stolen_share == 0.2
    assert facts_of({}).stolen_share is None


def test_how_busy_each_host_was_before_the_load_is_told_by_what_it_is_to_the_run():
    both = {"busy_before_share": 0.3, "server_host": {"busy_before_share": 0.1}}
    assert facts_of(both, locally=False).busy_before == {"the driver's host": 0.3, "the server's host": 0.1}
    assert facts_of({"busy_before_share": 0.3}).busy_before == {"the host": 0.3}
    assert facts_of({"server_host": {}}, locally=False).busy_before == {}


def test_throttling_is_that_of_the_host_that_was_slowed_down_more():
    assert facts_of({"throttle_events": 0, "server_host": {"throttle_events": 3}}).throttle_events == 3
    assert facts_of({}).throttle_events is None


def test_a_load_that_varies_by_its_plan_is_not_judged_by_how_steady_it_was():
    series = ([100.0] * 30 + [400.0] * 30, 1.0)
    assert facts_of({}, series=series).steadiness is not None
    shaped = facts_of({}, series=series, parameters={"load_shape": "100 for 30, 400 for 30"})
    assert (shaped.steadiness, shaped.covered_s, of_run(shaped).doubts) == (None, 60.0, ())
    assert "steadiness, which takes 20 values" not in of_run(shaped).unchecked


def test_whether_the_generator_was_the_limit_of_a_load_that_varies_is_asked_at_its_highest_rate():
    # 144 of 4 threads x 60 s = 60% on average, of 250 TPS; at 400 TPS that is 96%.
    shaped = facts_of({"elapsed_s": 60.0, "load_cpu_s": 144.0}, parameters={"load_shape": "100 for 30, 400 for 30"})
    assert shaped.thread_busy_share == pytest.approx(0.96)
    [doubt] = of_run(shaped).doubts
    assert doubt.code == "client-bound" and doubt.text.startswith("At its highest rate, by the CPU time")
    assert "whether the load generator was the limit" not in of_run(shaped).unchecked
    assert of_run(facts_of({"elapsed_s": 60.0, "load_cpu_s": 144.0})).doubts == ()
    # Five rates are five processes, and so at least five threads.
    steps = ", ".join(f"{rate_tps} for 12" for rate_tps in (100, 200, 300, 400, 500))
    stepped = facts_of({"elapsed_s": 60.0, "load_cpu_s": 150.0}, parameters={"load_shape": steps})
    assert stepped.thread_busy_share == pytest.approx(150 / (5 * 60) * 500 / 300)


def test_the_series_says_how_long_the_run_was_covered():
    assert facts_of({}, series=([1.0] * 40, 1.0)).covered_s == 40
    assert facts_of({}).covered_s is None


def test_blocks_are_counted_per_transaction():
    facts = facts_of({"pg_stat_database": {"blks_read": 500}}, measures={"transactions": 1000.0})
    assert facts.blocks_per_transaction == 0.5


@pytest.mark.parametrize(
    ("deltas", "begun"),
    [
        ({"pg_stat_checkpointer": {"num_timed": 1, "num_requested": 2}}, 3),
        ({"pg_stat_bgwriter": {"checkpoints_timed": 0, "checkpoints_req": 1}}, 1),
        ({"pg_stat_bgwriter": {"buffers_clean": 5}}, None),
        ({}, None),
    ],
)
def test_checkpoints_are_counted_in_old_and_new_servers(deltas, begun):
    assert run_facts.checkpoints(deltas) == begun


@pytest.mark.parametrize(("reports", "is_cut"), [(11, False), (10, True)])
def test_a_last_interval_that_is_not_whole_has_no_report_in_a_whole_run(reports, is_cut):
    every_5_s = [100.0 + report % 2 for report in range(reports) for _ in range(5)]
    judged = of_run(facts_of({}, measures={"transactions": 6_000, "tps": 100.0}, series=(every_5_s, 1.0)))
    assert ("truncated" in judged.codes) == is_cut


@pytest.mark.parametrize(("rate_tps", "is_cut"), [(0.8, False), (800, True)])
def test_the_thread_that_reports_ends_where_its_next_transaction_is_due_after_a_run_at_a_rate(rate_tps, is_cut):
    measures = {"transactions": 60.0 * rate_tps, "tps": float(rate_tps)}
    series = ([rate_tps + 0.001 * (second % 2) for second in range(50)], 1.0)
    judged = of_run(facts_of({}, measures=measures, series=series, parameters={"rate_tps": rate_tps}))
    assert ("truncated" in judged.codes) == is_cut


@pytest.mark.parametrize(("planned", "is_cut"), [({"planned_transactions": 6_000.0}, False), ({}, True)])
def test_the_clients_of_the_thread_that_reports_may_be_the_first_to_end_their_number_of_transactions(planned, is_cut):
    measures = {"transactions": 6_000, "tps": 100.0, **planned}
    judged = of_run(facts_of({}, measures=measures, series=([100.0, 101.0] * 20, 1.0)))
    assert ("truncated" in judged.codes) == is_cut


def test_values_that_are_alike_are_no_long_interval_where_the_reports_say_theirs():
    alike = ([1.0] * 40, 1.0)
    assert "truncated" in of_run(facts_of({}, measures={"report_interval_s": 1.0}, series=alike)).codes
    every_20_s = facts_of({}, measures={"report_interval_s": 20.0}, series=alike)
    assert "truncated" not in of_run(every_20_s).codes


@pytest.mark.parametrize(("covered_s", "is_cut"), [(50, False), (30, True)])
def test_a_thread_with_a_number_of_transactions_at_a_rate_ends_by_its_schedule(covered_s, is_cut):
    """Of 6,000 in 60 s each of 4 threads has 1,500, at 25 TPS: they are due no sooner than 6 errors before that."""
    measures = {"transactions": 6_000, "tps": 100.0, "planned_transactions": 6_000.0, "report_interval_s": 1.0}
    series = ([100.0, 101.0] * (covered_s // 2), 1.0)
    judged = of_run(facts_of({}, measures=measures, series=series, parameters={"rate_tps": 100}))
    assert ("truncated" in judged.codes) == is_cut


def test_clients_that_only_wait_are_judged_by_how_their_latencies_vary():
    measures = {"tps": 3.6, "latency_average_ms": 280.0, "latency_stddev_ms": 230.0, "transactions": 216.0}
    still = [4.0] * 18 + [0.0] * 2
    series = (still * 3, 1.0)
    assert facts_of({}, measures=measures, series=series).steadiness.stalls_s == (2, 2, 2)
    others = ({"rate_tps": 4}, {"connect_each": True}, {"think_ms": 100})
    for parameters in others:
        assert facts_of({}, measures=measures, series=series, parameters=parameters).steadiness.stalls_s == ()
    assert facts_of({}, measures={**measures, "failed_transactions": 9.0}, series=series).steadiness.stalls_s == ()


def test_the_seconds_in_which_clients_end_after_the_planned_time_are_not_of_the_load():
    assert facts_of({}, series=([100.0] * 60 + [3.0] * 30, 1.0)).steadiness.stalls_s == ()
    assert facts_of({}, series=([100.0] * 30 + [3.0] * 30, 1.0)).steadiness.has_trend


@pytest.mark.parametrize("parameters", [{}, {"connect_each": True}, {"rate_tps": 20}])
def test_before_the_first_transaction_ends_nothing_stands_still(parameters):
    series = ([0.0] * 2 + [20.0, 24.0] * 29, 1.0)
    waits = {"tps": 20.0, "transactions": 1_200.0, "latency_average_ms": 3_000.0}
    assert facts_of({}, measures=waits, series=series, parameters=parameters).steadiness.stalls_s == ()
    lags = {**waits, "rate_limit_lag_average_ms": 2_000.0}
    assert facts_of({}, measures=lags, series=series, parameters=parameters).steadiness.stalls_s == (2,)
