import hashlib

import pytest
from django.template.loader import render_to_string
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.bench import testing
from benchhub.bench.models import Attempt, Evidence, Experiment, Found, Result, Series, Watch
from benchhub.bench.run_page.evidence import command_line
from benchhub.bench.run_page.measures import unreported_text
from benchhub.bench.run_page.page import RunPage, runs
from benchhub.catalog.models import Hardware
from runners.tools.pgbench.parameters import scripts_digest

pytestmark = pytest.mark.django_db
RUN_QUERIES = 11  # session, user, run, attempts, evidence, histograms, live log, command, series, telemetry, events
ENDED, NOWHERE = "the load generator ended before it reported", ", which is in no throughput."


@pytest.fixture
def queued():
    hardware = Hardware.objects.create(name="Box", sockets=2, cores_per_socket=10)
    system = testing.make_system("18", testing.make_host(), hardware)
    return testing.make_run(testing.make_experiment([system]), system, 8, 1)


@pytest.fixture
def run(queued):
    doubts = [{"code": "client_bound", "text": "The client may be the limit."}]
    testing.succeeded(queued, 1234.5678, doubts=doubts, remarks=["A quarter was logged."])
    testing.with_everything(queued)
    return queued


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({"boot_epoch_s": 1e30}, ">boot</dt>"),
        ({"disks": [{"name": "sda"}, "and others"]}, "and others"),
        ({"disks": [["sda"], 3]}, "[&#x27;sda&#x27;], 3"),
    ],
)
def test_facts_that_were_brought_in_may_be_anything_and_the_page_shows_them(planner, run, facts, text):
    Found.objects.filter(run=run).update(host=facts)
    assertContains(planner.get(page_of(run)), text)


def page_of(run):
    return reverse("run", args=[run.pk])


def test_nothing_is_shown_without_signing_in(client, run):
    for page in (page_of(run), reverse("evidence", args=[run.pk, "out.log"])):
        assertRedirects(client.get(page), f"{reverse('login')}?next={page}", fetch_redirect_response=False)


def test_the_page_shows_what_was_measured_with_its_doubts(planner, run):
    response = planner.get(page_of(run))
    assertContains(response, 'title="1,234.5678">1,235</data>')
    assertContains(response, "The client may be the limit.")
    assertContains(response, "A quarter was logged.")
    assertContains(response, "<dt>transactions</dt><dd>123,456</dd>")
    assertContains(response, "exec pgbench -c 8 &lt;&amp;-")
    assertContains(response, '<details id="script">')
    assertContains(response, "Read from attempt 1 by pgbench/1")
    assertNotContains(response, "every 5s")


def test_settings_that_are_not_as_asked_for_stand_on_top(planner, run):
    page = planner.get(page_of(run)).content.decode()
    settings = page[page.index('id="settings"') :]
    headings = [settings.index(text) for text in ("Not as asked for", "Asked for by defaults", "All 2 settings")]
    assert headings == sorted(headings)
    assert '<td>256MB</td><td class="bad">128MB</td>' in settings
    assert "<td>256MB</td><td>128MB</td>" in settings


def test_percentiles_say_how_much_was_logged_and_too_few_samples_give_none(planner, run):
    response = planner.get(page_of(run))
    assertContains(response, "25% of the transactions were logged")
    assertContains(response, "too few", count=3)  # 100 samples: none of p95, p99, p99.9 has 10 above it


def test_facts_and_differences_are_written_whatever_their_shape(planner, run):
    response = planner.get(page_of(run))
    for text in ("steal", "1.25</data>%", "2 KiB", "123,456", "A CPU", "PostgreSQL 18.4"):
        assertContains(response, text)


def test_numbers_that_stand_for_times_versions_and_shares_are_written_as_these(planner, run):
    server = {"epoch_s": 1_800_000_000.5, "postmaster_start_epoch_s": 1_800_000_000, "server_version_num": 180_004}
    deltas = {"pg_stat_database": {"active_time": 12.5}, "remarks": [], "settings_changed": []}
    Found.objects.filter(run=run).update(server=server, deltas=deltas, host={"missing": [], "kernel": "6.1"})
    response = planner.get(page_of(run))
    for text in (
        '>time</dt><dd><time datetime="2027-01-15T08:00:00Z"',
        ">postmaster start</dt><dd><time",
        ">server version</dt><dd>18.4</dd>",
        ">logged</dt><dd>1 of 4 transactions</dd>",
        "12.5</data> ms",
    ):
        assertContains(response, text)
    for text in (">epoch", "1,800,000,000", ">remarks</dt>", ">settings changed</dt>", ">missing</dt>"):
        assertNotContains(response, text)


@pytest.mark.parametrize(
    ("script", "line"),
    [
        ("# pgbench\nstep warmup\n(\nx/pgbench -T 1\n)\nstep measure\n(\nrc=0\nprintf 'pgbench' > a &&\n"
         "x/pgbench -T 60 || rc=$?\n(exit)\n)\ncode=$?\nrm pgbench_log\n", "x/pgbench -T 60"),
        ("#!/bin/sh\nstep load\n(\nx/pgbench -i\n)\ncode=$?\n", "x/pgbench -i"),
        ("exec other\n", ""),
    ],
)  # fmt: skip
def test_the_command_of_a_script_is_that_of_the_measured_part(script, line):
    assert command_line(script, "pgbench") == line


@pytest.mark.parametrize(("number", "version"), [(180_004, "18.4"), (90_624, "9.6.24")])
def test_a_version_is_written_as_people_say_it(planner, run, number, version):
    Found.objects.filter(run=run).update(server={"server_version_num": number})
    assertContains(planner.get(page_of(run)), f"<dd>{version}</dd>")


def test_facts_of_another_depth_do_not_break_the_page(planner, run):
    odd = {"load": 1.5, "none": None, "list": [1, 2], "a": {"b": {"c": "deep"}}, "empty": {}}
    Found.objects.filter(run=run).update(deltas=odd, host=odd, settings={}, differences=[])
    response = planner.get(page_of(run))
    assertContains(response, "deep")
    assertContains(response, "not found")


def test_the_page_takes_the_same_queries_whatever_belongs_to_the_run(planner, run, django_assert_num_queries):
    with django_assert_num_queries(RUN_QUERIES):
        planner.get(page_of(run))
    attempt = run.attempts.get()
    for number in range(20):
        Evidence.objects.create(attempt=attempt, name=f"log.{number}", content=b"", size_bytes=0, sha256="0" * 64)
    with django_assert_num_queries(RUN_QUERIES):
        planner.get(page_of(run))


def like(run, spec):
    """Another run of the same system, of this spec."""
    return testing.make_run(run.experiment, run.system, 4, run.experiment.runs.count() + 1, spec=spec)


def test_custom_scripts_are_shown_as_they_are_read_with_their_weights_and_digest(planner, queued):
    scripts = [{"text": "\\set id 1\nSELECT :id;\n", "weight": 3}, {"text": "SELECT 2;\n"}]
    own = {"variables": {"cutoff": 1000, "b": "x"}, "init": "CREATE TABLE own (id int)"}
    spec = {"tool": "pgbench", "parameters": {"script": "custom", "scale": 1, "scripts": scripts, **own}}
    response = planner.get(page_of(like(queued, spec)))
    assertContains(response, "<h3>Script 1, weight 3</h3>")
    assertContains(response, ">\\set id 1\nSELECT :id;\n</pre>")
    assertContains(response, "<h3>Script 2, weight 1</h3>")
    assertContains(response, "<h3>Init script</h3>")
    assertContains(response, "b x, cutoff 1000")
    assertContains(response, scripts_digest(spec["parameters"]))
    assertNotContains(response, "{&#x27;")


def test_of_a_run_of_tatp_its_page_says_how_keys_are_drawn_and_the_weights_of_its_mix(planner, queued):
    parameters = {"subscribers": 2_000_000, "mix": "W100"}
    response = planner.get(page_of(like(queued, {"tool": "tatp", "parameters": parameters})))
    assertContains(response, "non-uniform, A = 1,048,575: ((random(0, A) | random(1, N)) % N) + 1 of N subscribers")
    assertContains(response, "UPDATE_SUBSCRIBER_DATA 8, UPDATE_LOCATION 76")
    sysbench = {"tool": "sysbench", "tool_version": "16.9", "parameters": {"script": "oltp_point_select"}}
    response = planner.get(page_of(like(queued, sysbench)))
    assertContains(response, "<dt>client program</dt><dd>sysbench</dd>", html=True)
    assertNotContains(response, "16.9")
    uniform = like(queued, {"tool": "tatp", "parameters": {**parameters, "keys": "uniform"}})
    assertNotContains(planner.get(page_of(uniform)), "non-uniform")


def test_the_strict_rate_is_shown_where_it_is_the_throughput_itself_too(planner, queued):
    rate = {"value": 1961.25, "unit": "MQTh"}
    run = like(queued, {"tool": "tatp", "parameters": {"subscribers": 1_000}})
    testing.succeeded(run, 1961.25, unit="MQTh", measures={"mqth": rate, "strict_mqth": rate})
    response = planner.get(page_of(run))
    assertContains(response, "<dt>By the strict rule</dt>")
    assertNotContains(response, "<dt>MQTh</dt>")


def test_latencies_are_named_by_the_number_that_the_workload_gives_to_a_script(planner, run):
    bins = {"lower_us": [10], "upper_us": [11], "counts": [2], "sum_us": 20, "min_us": 10, "max_us": 10}
    for name in ("latency", "latency of script 0", "latency of script 1"):
        run.histograms.create(name=name, sampling_rate=1.0, **bins)
    response = planner.get(page_of(run))
    for name in ("all", "script 1", "script 2"):
        assertContains(response, f'<td class="line">{name}</td>')
    assertNotContains(response, "script 0")


def test_a_failed_run_shows_its_reason_and_history_and_no_measures(planner, queued):
    testing.ended(queued, "failed", "pgbench aborted: connection lost")
    response = planner.get(page_of(queued))
    assertContains(response, '<p class="error">pgbench aborted: connection lost</p>', html=True)
    assertContains(response, "collecting</span>")
    assertNotContains(response, "What was measured")


def test_a_run_in_the_queue_has_a_page_too(planner, queued):
    response = planner.get(page_of(queued))
    assertContains(response, "every 5s")
    assertContains(response, "Nothing is known about the server yet.")


def test_a_run_under_way_shows_its_step_and_what_keeps_the_host_away(planner, queued):
    error = "The host did not answer in time."
    Watch.objects.create(run=queued, step="measuring", live_tps=4321.9, contact_error=error)
    response = planner.get(page_of(queued))
    assertContains(response, "Measuring. <span data-until-drawn>Now")
    assertContains(response, error)


def test_evidence_is_a_download_of_plain_text_byte_for_byte(planner, run):
    response = planner.get(reverse("evidence", args=[run.pk, "out.log"]))
    assert response.content == b"tps = 1000\n"
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response["Content-Disposition"] == f'attachment; filename="run-{run.pk}-out.log"'
    assert response["X-Content-Type-Options"] == "nosniff"
    assertContains(planner.get(page_of(run)), hashlib.sha256(b"tps = 1000\n").hexdigest())


def test_evidence_of_an_earlier_attempt_is_not_mixed_up_with_the_newest(planner, run):
    second = Attempt.objects.create(run=run, number=2, ended_at=run.created_at)
    Evidence.objects.create(attempt=second, name="out.log", content=b"second", size_bytes=6, sha256="0" * 64)
    address = reverse("evidence", args=[run.pk, "out.log"])
    assert planner.get(address).content == b"second"
    assert planner.get(address, {"attempt": 1}).content == b"tps = 1000\n"
    assert planner.get(address, {"attempt": 3}).status_code == 404
    assert planner.get(address, {"attempt": "9" * 5000}).status_code == 404


def test_evidence_of_another_run_or_name_is_not_found(planner, run):
    assert planner.get(reverse("evidence", args=[run.pk + 1, "out.log"])).status_code == 404
    assert planner.get(reverse("evidence", args=[run.pk, "../out.log"])).status_code == 404


def test_an_experiment_is_run_again_by_a_button_and_never_by_a_link(planner, run):
    address = reverse("again", args=[run.experiment_id])
    assert planner.get(address).status_code == 405
    assert Experiment.objects.count() == 1
    response = planner.post(address)
    copy = Experiment.objects.latest("pk")
    assertRedirects(response, reverse("experiment", args=[copy.pk]))
    assert (Experiment.objects.count(), copy.created_by.username) == (2, "ada")
    assert copy.runs.filter(kind="measure", state="queued").exists()


def test_the_page_of_an_ended_experiment_offers_to_run_it_again_and_one_under_way_does_not(planner, queued):
    address = reverse("experiment", args=[queued.experiment_id])
    assertNotContains(planner.get(address), "Run it again")
    testing.succeeded(queued, 1000.0)
    assertContains(planner.get(address), "Run it again")


def test_the_page_gives_one_verdict_with_its_reasons_and_what_was_not_checked(planner, run):
    response = planner.get(page_of(run))
    assertContains(response, "Verdict: doubtful")
    assertContains(response, "The client may be the limit.", count=1)
    assertContains(response, "Not checked, because too little was recorded: steadiness, which takes 20 values;")
    assertNotContains(response, "How steady it was")


def test_a_run_of_many_seconds_shows_how_steady_it_was(planner, run):
    values = [500.0] * 7 + [990.0, 1010.0] * 30
    run.series.filter(metric="tps").update(values=values)
    run.found.deltas = {"pg_stat_checkpointer": {"num_timed": 1, "num_requested": 2}}
    run.found.save()
    response = planner.get(page_of(run))
    assertContains(response, "<dt>warm-up ended</dt><dd>after 7 s</dd>")
    assertContains(response, "<dt>checkpoints begun within the run</dt><dd>3</dd>")
    assertContains(response, "The first 7 s ran at 50% of the throughput of the rest", count=1)


def test_a_run_of_tatp_shows_each_type_with_its_share_and_what_it_must_be(planner, queued):
    shares = {
        "success_get_access_data": 70.5,
        "success_low_get_access_data": 60.25,
        "success_high_get_access_data": 65.0,
    }
    measures = {
        "mqth": {"value": 900.0, "unit": "MQTh"},
        "executions_get_access_data": {"value": 5000, "unit": "transactions"},
    }
    measures |= {name: {"value": value, "unit": "%"} for name, value in shares.items()}
    result = testing.succeeded(queued, 900.0, unit="MQTh", measures=measures)
    for metric, values in (("mqth", [500.0] * 7 + [990.0, 1010.0] * 30), ("warmup_mqth", [100.0, 200.0])):
        Series.objects.create(run=queued, metric=metric, unit="MQTh", start_epoch_s=1.0, step_s=1.0, values=values)
    response = planner.get(page_of(queued))
    assertContains(response, "<dt>warm-up ended</dt><dd>after 7 s</dd>")
    assertContains(response, "The dotted line up to second 0 is the warm-up", count=1)
    assertContains(response, '<td class="line">GET_ACCESS_DATA</td>')
    assertContains(response, 'class="n bad"><data value="70.5"')
    assertContains(response, "60.25")
    assertNotContains(response, "success low")
    assert response.context["page"].types[0][0].is_doubtful
    assert result.unit == "MQTh"


@pytest.mark.parametrize(
    ("planned_s", "measured_s", "text"),
    [
        (3, 2.0, f"Of the 3 s that were asked for, 2 s were measured: {ENDED} the last second{NOWHERE}"),
        (9, 7.02, f"Of the 9 s that were asked for, 7.02 s were measured: {ENDED} the last 2 s{NOWHERE}"),
        (3, 3.0, ""),
        (3, 2.96, ""),
        (3, 3.0005, ""),
        (3, None, ""),
    ],
)  # fmt: skip
def test_a_last_second_that_was_not_reported_is_said_in_seconds(planned_s, measured_s, text):
    measures = {"measured_s": {"value": measured_s, "unit": "s"}} if measured_s else {}
    assert unreported_text({"duration_s": planned_s}, Result(measures=measures)) == text


def test_a_last_second_that_was_not_reported_is_said_beside_the_measures(planner, queued):
    run = testing.make_run(queued.experiment, queued.system, 8, 2, spec={**queued.spec, "duration_s": 3})
    measures = {"mqth": {"value": 900.0, "unit": "MQTh"}, "measured_s": {"value": 2.0, "unit": "s"}}
    testing.succeeded(run, 900.0, unit="MQTh", measures=measures)
    assertContains(planner.get(page_of(run)), "2 s were measured: the load generator ended before", count=1)


def test_raw_facts_lie_in_a_drawer_that_is_open_where_something_is_not_as_asked_for(planner, run):
    assertContains(planner.get(page_of(run)), '<details class="drawer" id="raw-facts" open>')
    assertContains(planner.get(page_of(run)), "1 not as asked for")
    Found.objects.filter(run=run).update(differences=[])
    assertContains(planner.get(page_of(run)), '<details class="drawer" id="raw-facts">')


def test_settings_of_the_operating_system_stand_beside_what_was_there_before_and_is_again(run):
    requests = {"vm.swappiness": "1", "vm.dirty_ratio": "40"}
    values = {
        "vm.swappiness": {"before": "60", "applied": "1", "end": "1", "after": "60"},
        "vm.dirty_ratio": {"before": "20", "applied": "40", "end": "33", "after": None},
    }
    Found.objects.filter(run=run).update(deltas={"os_settings": values})
    row = runs().get(pk=run.pk)
    row.spec = {**row.spec, "cluster": {"os_settings": requests}}  # in the warehouse it is frozen
    page = RunPage(row)
    first, second = page.os_settings
    assert (first.lasted, first.is_back) == (True, True)
    assert (second.end, second.lasted, second.after, second.is_back) == ("33", False, "", False)
    text = " ".join(render_to_string("bench/run/settings.html", {"page": page}).split())
    assert "Operating system, changed for this run and put back after it" in text
    end = '<td data-label="At the end"{}> {} </td>'
    assert end.format(' class="bad"', 33) in text and end.format("", 1) in text
    assert page.deltas == []


def test_settings_of_a_server_that_were_changed_stand_beside_what_was_there_before_and_is_again(run):
    values = {
        "work_mem": {"before": "4MB", "applied": "7MB", "end": "7MB", "after": "4MB"},
        "jit": {"before": "on", "applied": "off", "end": "on", "after": None},
    }
    Found.objects.filter(run=run).update(deltas={"server_settings": values})
    row = runs().get(pk=run.pk)
    change = {"settings": {"work_mem": "7168kB", "jit": "off"}, "settings_in_force": {}, "restart": []}
    row.spec = {**row.spec, "server_settings": change}  # in the warehouse it is frozen
    page = RunPage(row)
    first, second = page.server_settings
    assert (first.lasted, first.is_back) == (True, True)  # 7MB is what was applied, however it was written
    assert (second.lasted, second.after, second.is_back) == (False, "", False)
    text = render_to_string("bench/run/settings.html", {"page": page})
    _, caption, table = text.partition("Server, changed for this run and put back after it")
    assert caption and table.count('class="bad"') == 2
    assert page.deltas == []


def test_a_run_that_changed_nothing_on_its_host_has_no_such_table(planner, run):
    page = planner.get(page_of(run))
    assertNotContains(page, "Operating system, changed")
    assertNotContains(page, "Server, changed")
