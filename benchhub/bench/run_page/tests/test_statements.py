"""How long each statement took stands on the page of a run whose workload asked for it."""

import pytest
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench import testing
from benchhub.bench.models import Evidence

pytestmark = pytest.mark.django_db
RETRIED = (
    b"statement latencies in milliseconds, failures and retries:\n"
    b"         0.137           2        4711  UPDATE counter SET n = n + 1;\n"
)
PRINTED = b"statement latencies in milliseconds and failures:\n         0.163           0  SELECT '<b>';\n"


def timed_run(content=PRINTED, *, parameters=None):
    system = testing.make_system("18", testing.make_host(), testing.make_box())
    spec = testing.whole_spec()
    spec["parameters"] = {**spec["parameters"], **(parameters or {})}
    run = testing.make_run(testing.make_experiment([system]), system, 8, 1, spec=spec)
    attempt = testing.succeeded(run, 160.0).attempt
    Evidence.objects.create(
        attempt=attempt, name="out.log", content=content, size_bytes=len(content), sha256="0" * 64
    )  # fmt: skip
    return run


@pytest.mark.parametrize("parameters", [{"statement_latencies": True}, {}])
def test_the_statements_of_a_run_that_timed_them_stand_on_its_page_and_of_no_other(planner, parameters):
    response = planner.get(reverse("run", args=[timed_run(parameters=parameters).pk]))
    if parameters:
        assertContains(response, "<code>SELECT &#x27;&lt;b&gt;&#x27;;</code>", html=True)
        assertContains(response, '<data value="0.163"')
        assertNotContains(response, "Retries</th>")
    else:
        assertNotContains(response, "Latency by statement")


def test_retries_of_a_statement_stand_beside_its_failures_where_there_may_be_some(planner):
    run = timed_run(RETRIED, parameters={"statement_latencies": True})
    response = planner.get(reverse("run", args=[run.pk]))
    assertContains(response, '<th class="n">Retries</th>', html=True)
    assertContains(response, "4,711")


def test_statements_whose_output_has_moved_to_the_archive_are_said_to_be_there(planner):
    run = timed_run(parameters={"statement_latencies": True})
    Evidence.objects.filter(attempt__run=run).update(content=b"", archived_at=timezone.now())
    response = planner.get(reverse("run", args=[run.pk]))
    assertContains(response, "output has moved to the archive: the averages stand in")
    assertContains(response, f'href="{reverse("evidence", args=[run.pk, "out.log"])}?attempt=1"', count=2)


def test_of_more_statements_than_a_page_has_it_says_how_many_are_left_out(planner):
    lines = b"".join(b"         0.163           0  SELECT %d;\n" % number for number in range(1003))
    run = timed_run(PRINTED.partition(b"\n")[0] + b"\n" + lines, parameters={"statement_latencies": True})
    response = planner.get(reverse("run", args=[run.pk]))
    assertContains(response, "<code>SELECT 999;</code>", html=True)
    assertNotContains(response, "<code>SELECT 1000;</code>", html=True)
    assertContains(response, "3 more stand in")


def test_what_pg_stat_statements_counted_is_a_table_of_its_own(planner):
    run = testing.make_measured_run()
    testing.with_everything(run)
    run.found.deltas |= {
        "pg_stat_statements": [{"query": "SELECT a_b < $1", "calls": 2.0, "rows": 3.0, "total_ms": 4.5}]
    }  # fmt: skip
    run.found.save()
    response = planner.get(reverse("run", args=[run.pk]))
    assertContains(response, "<code>SELECT a_b &lt; $1</code>", html=True, count=1)
    assertContains(response, '<h2 id="statement-counts">')
