"""Load, machine and server over one axis of time: what is drawn, what stands in the table, what is downloaded."""

import csv
import io
from itertools import pairwise

import pytest
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.bench import testing
from benchhub.bench.models import RunTelemetry, Series
from benchhub.bench.run_page.timeline.figure import draw, view
from benchhub.bench.run_page.timeline.ghosts import ghosts_of
from benchhub.bench.run_page.timeline.panels import Source, Timeline, timeline_of
from runners.telemetry import compact

pytestmark = pytest.mark.django_db


@pytest.fixture
def run():
    made = testing.make_measured_run()
    testing.with_everything(made)
    return made


def observe(run, **metrics):
    for metric, (unit, values) in metrics.items():
        name = metric.replace("__", ":")
        RunTelemetry.objects.create(
            run=run, metric=name, unit=unit, start_epoch_s=1.0, step_s=1.0, packed=compact.pack(values)
        )


def page_of(run):
    return reverse("run", args=[run.pk])


def test_a_run_with_telemetry_has_one_axis_of_time_for_load_machine_and_server(planner, run):
    observe(
        run, cpu_user=("%", [40.0, 60.0]), cpu_steal=("%", [0.0, 0.0]), wait__CPU=("sessions", [3.0, 4.0]),
        frequency=("MHz", [2300.0, None]), checkpointing=("0 or 1", [0.0, 1.0]),
    )  # fmt: skip
    response = planner.get(page_of(run))
    page = response.context["page"]
    assert [panel.title for panel in page.timeline.first] == ["Throughput", "CPU", "Waits"]
    assert page.timeline_first.rows == [(1, 900.0, 40.0, 3.0), (2, 1100.0, 60.0, 4.0)]
    assert [panel.title for panel in page.timeline.further] == ["Frequency", "Checkpoints"]
    assert page.timeline.checkpoints == [(1.0, 2.0)]
    figure = page.timeline_first.figure
    assert {trace.get("xaxis", "x") for trace in figure["data"]} == {"x"}
    assert [trace["yaxis"] for trace in figure["data"]] == ["y", "y2", "y3"]
    assertContains(response, "<li>CPU: steal</li>")
    assertContains(response, reverse("run-telemetry", args=[run.pk]))
    assertContains(response, "Shaded: checkpoints, second")


def test_a_run_without_telemetry_keeps_its_page_and_has_nothing_to_download(planner, run):
    response = planner.get(page_of(run))
    assertNotContains(response, "data-timeline")
    assertNotContains(response, "telemetry.csv")
    assert planner.get(reverse("run-telemetry", args=[run.pk])).status_code == 404


def test_every_value_is_downloaded_with_its_panel_unit_and_second(planner, run):
    observe(run, cpu_user=("%", [40.0, None]))
    answer = planner.get(reverse("run-telemetry", args=[run.pk]))
    heads, *rows = csv.reader(io.StringIO(answer.content.decode()))
    assert heads == ["panel", "metric", "unit", "second", "value", "source"]
    assert [row for row in rows if row[0] == "CPU"] == [
        ["CPU", "user", "%", "1.0", "40.0", "BenchHub"], ["CPU", "user", "%", "2.0", "", "BenchHub"],
    ]  # fmt: skip
    assert ["Throughput", "TPS", "TPS", "2.0", "1100.0", "load generator"] in rows


def test_a_failed_run_shows_what_was_observed_until_it_failed(planner, run):
    failed = testing.make_run(run.experiment, run.system, 8, 2)
    testing.ended(failed, "failed", "pgbench was killed.")
    observe(failed, cpu_user=("%", [40.0]))
    response = planner.get(page_of(failed))
    assert [panel.title for panel in response.context["page"].timeline.first] == ["CPU"]


def test_a_row_that_is_damaged_and_a_metric_that_is_no_more_are_left_out(planner, run):
    observe(run, cpu_user=("%", [40.0, 60.0]), once_there_was=("%", [1.0, 2.0]))
    RunTelemetry.objects.create(run=run, metric="dirty", unit="GB", start_epoch_s=1, step_s=1, packed=b"\1no")
    response = planner.get(page_of(run))
    assert response.status_code == 200
    assertNotContains(response, "once there was")
    assertNotContains(response, "Dirty pages")


def test_a_wait_event_of_a_hostile_server_is_written_as_text(planner, run):
    observe(run, **{"wait__<script>alert(1)</script>": ("sessions", [1.0, 2.0])})
    assertNotContains(planner.get(page_of(run)), "<script>alert(1)")


def test_a_long_run_is_averaged_to_so_many_moments_and_says_so(planner, run):
    observe(run, cpu_user=("%", [float(i % 2) * 100 for i in range(1200)]))
    response = planner.get(page_of(run))
    timeline = response.context["page"].timeline
    assert (timeline.step_s, len(timeline.seconds)) == (2, 600)
    assert set(next(panel for panel in timeline.first if panel.title == "CPU").lines[0].values) == {50.0}
    assertContains(response, "Each point is the mean of 2 s.")


def test_what_is_folded_is_fetched_when_it_is_opened_and_is_no_part_of_the_page(planner, run):
    observe(run, cpu_user=("%", [40.0, 60.0]), frequency=("MHz", [2301.0, None]))
    page = planner.get(page_of(run))
    assertNotContains(page, "2301")
    assertNotContains(page, "2,301")
    for name, text in (("further", "2301"), ("timeline-further", "2,301"), ("timeline-first", "1,100")):
        assertContains(part(planner, run, name), text)
    assertContains(page, reverse("run-part", args=[run.pk, "series"]))
    assertContains(part(planner, run, "series"), "series-figure-1")
    assertContains(part(planner, run, "series-figure-1"), "1,100")
    assert part(planner, run, "elsewhere").status_code == 404


def part(client, run, name):
    return client.get(reverse("run-part", args=[run.pk, name]), headers={"HX-Request": "true"})


def test_who_comes_to_a_part_by_hand_or_after_a_sign_in_gets_the_page_of_the_run(planner, run):
    address = reverse("run-part", args=[run.pk, "series"])
    assertRedirects(planner.get(f"{address}?with=2"), f"{page_of(run)}?with=2", fetch_redirect_response=False)
    assertRedirects(planner.get(address), page_of(run), fetch_redirect_response=False)


def test_series_of_other_steps_and_lengths_share_the_seconds():
    sources = [
        Source("Throughput", "TPS", "TPS", 1.0, [10.0, 20.0, 30.0]),
        Source("CPU", "%", "user", 2.0, [50.0, 70.0]),
    ]
    timeline = Timeline(sources)
    assert (timeline.step_s, timeline.seconds) == (2, [2, 4])
    assert [line.values for panel in timeline.first for line in panel.lines] == [(15.0, 30.0), (50.0, 70.0)]


def test_the_more_lines_stand_on_a_page_the_fewer_moments_each_has_but_those_of_the_load():
    """7,200 values are 200 of 36 lines, so that 600 s are drawn by steps of 3 s; 12 lines keep every second."""
    lines = [Source("Waits", "sessions", f"LWLock:{n}", 1.0, [1.0] * 600, is_area=True) for n in range(36)]
    stall = [1000.0] * 100 + [0.0] + [1000.0] * 499
    timeline = Timeline([Source("Throughput", "TPS", "TPS", 1.0, stall), *lines])
    assert (timeline.step_s, timeline.machine_step_s, timeline.is_averaged) == (1, 3, True)
    throughput, waits = timeline.first
    assert throughput.lines[0].values == tuple(stall)
    assert {len(line.values) for line in waits.lines} == {200}
    rows = view("first", timeline, timeline.first).rows
    assert [(*row[:3], len(row)) for row in rows[100:103]] == [
        (101, 0.0, None, 38), (102, 1000.0, 1.0, 38), (103, 1000.0, None, 38),
    ]  # fmt: skip
    few = Timeline(lines[:12])
    assert (few.step_s, few.machine_step_s, few.is_averaged) == (1, 1, False)


def test_ghosts_are_as_coarse_as_the_machine_and_a_last_moment_may_end_behind_the_load():
    lines = [Source("Waits", "sessions", f"LWLock:{n}", 1.0, [1.0] * 601, is_area=True) for n in range(36)]
    ghost = Source("Throughput", "TPS", "repeat 1", 1.0, [2.0] * 601, is_ghost=True)
    timeline = Timeline([Source("Throughput", "TPS", "TPS", 1.0, [5.0] * 601), ghost, *lines])
    own, earlier = timeline.first[0].lines
    assert (own.step_s, earlier.step_s, len(own.values), len(earlier.values)) == (2, 4, 301, 151)
    rows = view("first", timeline, timeline.first).rows
    assert [row[:3] for row in rows[-2:]] == [(602, 5.0, None), (604, None, 2.0)]


def test_panels_lie_above_each_other_and_never_over_each_other():
    sources = [Source(f"P{i}", "1/s", "a", 1.0, [1.0]) for i in range(40)]
    layout = draw([1], [], Timeline(sources).further)["layout"]
    domains = [layout["yaxis" + (str(i + 1) if i else "")]["domain"] for i in range(40)]
    assert all(0 <= low < high <= 1 for low, high in domains)
    assert all(above[0] > below[1] for above, below in pairwise(domains))


def test_a_run_of_a_tool_with_other_words_has_its_throughput_and_percentiles_on_the_timeline(run):
    values = {"run": run, "start_epoch_s": 1.0, "step_s": 1.0}
    rows = [
        Series(metric="mqth", unit="MQTh", values=[5.0], **values),
        *(Series(metric=f"latency_{name}_ms", unit="ms", values=[1.0], **values) for name in ("p50", "p95", "p99")),
    ]
    observe(run, cpu_user=("%", [1.0]))
    timeline = timeline_of(rows, list(run.telemetry.all()))
    assert [line.name for panel in timeline.first[:2] for line in panel.lines] == ["MQTh", "p50", "p95", "p99"]


def repeats(run, number, **fields):
    """Make further successful repeats of the run's level, each with throughput over time."""
    made = []
    for repeat in range(2, number + 2):
        further = testing.make_run(run.experiment, run.system, run.clients, repeat, **fields)
        testing.succeeded(further, 1000.0 + repeat)
        Series.objects.create(run=further, metric="tps", unit="TPS", start_epoch_s=9.0, step_s=1.0, values=[repeat, 1])
        made.append(further)
    return made


def test_earlier_repeats_of_the_level_are_ghosts_from_the_start_of_their_own_loads(planner, run):
    *_, third = repeats(run, 2)
    observe(third, cpu_user=("%", [40.0, 60.0]))
    response = planner.get(page_of(third))
    throughput = response.context["page"].timeline.first[0]
    lines = [(line.name, line.values[0], line.is_ghost) for line in throughput.lines]
    assert lines == [("TPS", 3.0, False), ("repeat 1", 900.0, True), ("repeat 2", 2.0, True)]
    assertContains(response, "Earlier repeats")
    traces = response.context["page"].timeline_first.figure["data"]
    assert [trace["meta"]["is_ghost"] for trace in traces[:3]] == [False, True, True]


def test_no_later_run_nor_one_of_another_level_or_set_aside_is_a_ghost(planner, run):
    second, _ = repeats(run, 2)
    other = testing.make_run(run.experiment, run.system, 16, 1)
    testing.succeeded(other, 5.0)
    testing.with_everything(other)
    type(run).objects.filter(pk=run.pk).update(set_aside_at=timezone.now(), set_aside_reason="wrong")
    observe(second, cpu_user=("%", [40.0]))
    assert not planner.get(page_of(second)).context["page"].timeline.has_ghosts
    assertNotContains(planner.get(page_of(second)), "Earlier repeats")


def test_ghosts_cost_one_query_however_many_there_are(planner, run, django_assert_num_queries):
    *_, last = repeats(run, 6)
    with django_assert_num_queries(1):
        sources = ghosts_of(last)
    assert [source.name for source in sources] == ["repeat 3", "repeat 4", "repeat 5", "repeat 6"]


def test_a_doubt_that_knows_its_seconds_has_its_number_there_and_the_others_say_whole_run(planner, run):
    values = [1000.0] * 20 + [0.0] * 4 + [1000.0] * 16
    Series.objects.filter(run=run, metric="tps").update(values=values)
    observe(run, cpu_user=("%", [40.0] * 40))
    response = planner.get(page_of(run))
    page = response.context["page"]
    pinned = [(pin.number, pin.spans_s) for pin in page.pinned]
    assert [spans for _, spans in pinned] == [((20.0, 24.0),)]
    layout = page.timeline_first.figure["layout"]
    assert [(shape["x0"], shape["x1"]) for shape in layout["shapes"] if shape["meta"] == "doubt"] == [(20.0, 24.0)]
    numbers = [note["text"] for note in layout["annotations"] if note.get("name") == "doubt"]
    assert numbers == [f"<b>{pinned[0][0]}</b>"]
    assertContains(response, 'data-second="20.0"')
    assertContains(response, "whole run")
