from __future__ import annotations

import pytest

from runners import tools


def test_each_tool_is_registered_under_its_name() -> None:
    assert tools.get("pgbench").name == "pgbench"
    assert {name: tool.name for name, tool in tools.TOOLS.items()} == {
        "pgbench": "pgbench",
        "tatp": "tatp",
        "sysbench": "sysbench",
    }


def test_an_unknown_tool_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="no load generator named 'sysbnch'; choose one of: pgbench, sysbench, tatp"):
        tools.get("sysbnch")
