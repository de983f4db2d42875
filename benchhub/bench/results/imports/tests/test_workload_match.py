"""A workload that is missing from the catalogue gets a name of what the output states."""

import pytest

from benchhub.bench.results.imports.workload_match import missing_workload
from benchhub.catalog.models import Workload
from runners import tools
from runners.tools.pgbench.testing import recorded


@pytest.mark.parametrize(("is_timed", "words"), [(True, "statement latencies"), (False, "without statement latencies")])
def test_the_name_of_a_missing_workload_says_what_is_not_set(monkeypatch, is_timed, words):
    stated = {"script": "select-only", "scale": 1, "query_mode": "simple", "statement_latencies": is_timed}
    monkeypatch.setattr(type(tools.get("pgbench")), "stated_parameters", lambda *_: stated)
    monkeypatch.setattr("benchhub.bench.results.imports.workload_match._contradictions", lambda *_: iter(()))
    workload = missing_workload(recorded("18", "plain").stdout.decode())
    assert isinstance(workload, Workload)
    assert workload.name == f"pgbench select-only, scale 1, simple, {words}"
