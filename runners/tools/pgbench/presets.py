"""Custom scripts of published reports, as they can be run today."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from runners.tools.kinds import PublishedWorkload

REPORT_B = r"""\set naccounts 100000 * :scale
\set aid random(1, :naccounts - 10000)
SELECT count(abalance) FROM pgbench_accounts WHERE aid BETWEEN :aid AND :aid + 10000;"""

PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "report-b": {
            "title": "Report B: count over 10,000 accounts",
            "name": "Report B, custom transaction, scale 1000",
            "parameters": {
                "script": "custom",
                "scale": 1000,
                "query_mode": "simple",
                "scripts": [{"text": REPORT_B, "weight": 1}],
            },
            "remark": (
                "SRA OSS Japan, PostgreSQL on POWER8, second test. Its \\setrandom is written as \\set and random(), "
                "and the scale is given to pgbench, which the printed command leaves out."
            ),
        }
    }
)

# What the reports ran, by the name of the plan that carries it out again.
PUBLISHED: Mapping[str, tuple[PublishedWorkload, ...]] = MappingProxyType(
    {
        "report-a": (
            PublishedWorkload(
                name="select-only", parameters={"script": "select-only", "query_mode": "simple", "scale": 100}
            ),
        ),
        "report-b": (
            PublishedWorkload(
                name="select-only", parameters={"script": "select-only", "query_mode": "simple", "scale": 1000}
            ),
            PublishedWorkload(name="range count (report B)", parameters=PRESETS["report-b"]["parameters"]),
        ),
    }
)
