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


def test_a_tool_is_shown_with_what_decides_and_without_scripts_that_stand_by_themselves() -> None:
    custom = {"script": "custom", "scripts": [{"text": "SELECT 1;"}], "init": "SELECT 2;", "scale": 3}
    assert tools.get("pgbench").in_full(custom) == {"script": "custom", "scale": 3}
    assert tools.get("tatp").in_full({"mix": "R100"})["weights"]["UPDATE_LOCATION"] == 0
    assert tools.get("sysbench").in_full({"tables": 2}) == {"tables": 2}


def test_only_pgbench_takes_a_rate() -> None:
    assert [name for name, tool in tools.TOOLS.items() if tool.takes_rate] == ["pgbench"]


def test_only_what_keeps_a_log_can_leave_a_share_of_it_out() -> None:
    assert {name for name, tool in tools.TOOLS.items() if tool.samples_log} == {"pgbench", "tatp"}


def test_the_rarest_of_several_scripts_has_the_least_weight() -> None:
    scripts = [{"text": "SELECT 1;", "weight": 9}, {"text": "SELECT 2;"}]
    assert tools.get("pgbench").rarest_share({"script": "custom", "scripts": scripts}) == 0.1
    assert tools.get("pgbench").rarest_share({"script": "tpcb-like"}) == 1


def test_an_unknown_tool_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="no load generator named 'sysbnch'; choose one of: pgbench, sysbench, tatp"):
        tools.get("sysbnch")
