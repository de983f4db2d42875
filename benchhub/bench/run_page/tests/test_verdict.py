"""The verdict of the page is made of the rows of a run, and says what was said when they were stored."""

from dataclasses import asdict, replace
from types import SimpleNamespace

import pytest

from benchhub.bench.results import ingest
from benchhub.bench.run_page.measures import facts_for_verdict, verdict_on
from runners.contract import Outputs
from runners.tools.pgbench.testing import PGBENCH, UNLOGGED

SUMMARY = """\
transaction type: <builtin: select only>
scaling factor: 10
query mode: simple
number of clients: 4
number of threads: 2
duration: 7 s
number of transactions actually processed: 7000
latency average = 4.000 ms
latency stddev = 0.250 ms
tps = 1000.000000 (without initial connection time)
"""
REPORT = "progress: {} s, 1000.0 tps, lat 4.000 ms stddev 0.250\n"


def codes_by_place(at_s):
    """Return the codes of doubts about one report of 7 s as ingest has them, and as the page has them."""
    spec = replace(UNLOGGED, duration_s=7)
    result = PGBENCH.parse(spec, Outputs(0, SUMMARY.encode(), REPORT.format(at_s).encode()))
    assert result.outcome == "succeeded", result.reason
    system = SimpleNamespace(driven_locally=False)
    run = SimpleNamespace(spec=asdict(spec), clients=spec.clients, threads=spec.threads, system=system)
    stored = ingest.verdict_doubts(run, result, ingest.Observed())
    measures = {name: {"value": measure.value, "unit": measure.unit} for name, measure in result.measures.items()}
    doubts = [{"code": doubt.code, "text": doubt.text} for doubt in stored]
    page = facts_for_verdict(run, SimpleNamespace(doubts=doubts, measures=measures, unit="TPS"), result.series, {})
    return {doubt.code for doubt in stored}, verdict_on(page).codes


@pytest.mark.parametrize(
    ("at_s", "codes"), [("1700000005.000", set()), ("7.0", set()), ("1.4", {"truncated"}), ("1.0", {"truncated"})]
)
def test_a_single_report_cuts_a_run_short_only_where_its_time_in_it_is_known(at_s, codes):
    assert codes_by_place(at_s) == (codes, codes)
