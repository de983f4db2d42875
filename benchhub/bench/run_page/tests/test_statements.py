"""How long each statement took stands on the page of a run whose workload asked for it."""

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench import testing
from benchhub.bench.models import Evidence

pytestmark = pytest.mark.django_db
PRINTED = b"statement latencies in milliseconds and failures:\n         0.163           0  SELECT '<b>';\n"


@pytest.mark.parametrize("is_timed", [True, False])
def test_the_statements_of_a_run_that_timed_them_stand_on_its_page_and_of_no_other(planner, is_timed):
    system = testing.make_system("18", testing.make_host(), testing.make_box())
    spec = testing.whole_spec()
    spec["parameters"] = {**spec["parameters"], **({"statement_latencies": True} if is_timed else {})}
    run = testing.make_run(testing.make_experiment([system]), system, 8, 1, spec=spec)
    attempt = testing.succeeded(run, 160.0).attempt
    Evidence.objects.create(
        attempt=attempt, name="out.log", content=PRINTED, size_bytes=len(PRINTED), sha256="0" * 64
    )  # fmt: skip
    response = planner.get(reverse("run", args=[run.pk]))
    if is_timed:
        assertContains(response, "<code>SELECT &#x27;&lt;b&gt;&#x27;;</code>", html=True)
        assertContains(response, '<data value="0.163"')
    else:
        assertNotContains(response, "Latency by statement")


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
