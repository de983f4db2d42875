"""What of a run goes through the pooler, and what does not."""

import subprocess
from dataclasses import replace

import pytest

from runners import tools
from runners.contract import Pooler
from runners.poolers.script import ELSEWHERE, NOT_IN_TIME, NOT_TRIED, THROUGH, endpoints, function, identity
from runners.script import command_script, service_file
from runners.tools.pgbench.testing import SPEC
from runners.tools.shell import NO_ANSWER

POOLER = Pooler("PgBouncer", "10.0.0.9", 6432)


def steps(**changes):
    text = command_script(replace(SPEC, pooler=POOLER, **changes), tools.get(SPEC.tool))
    parts = text.split("\nstep ")[1:]
    return {part.split("\n")[0]: f"\n{part}" for part in parts}


def test_warm_up_and_load_go_through_the_pooler_and_nothing_else_does():
    texts = steps(warmup_s=1, vacuum=True, checkpoint=True)
    assert {name for name, text in texts.items() if f"\n{THROUGH}\n" in text} == {"pooler", "warmup", "measure"}
    assert list(texts).index("pooler") == list(texts).index("verify") + 1


def test_a_load_of_the_data_set_and_a_run_without_a_pooler_know_none():
    assert THROUGH not in "".join(steps(kind="load").values())
    assert "pooler" not in command_script(SPEC, tools.get(SPEC.tool))


def test_tls_is_as_for_the_server_but_not_to_a_pooler_on_the_driver():
    assert "PGSSLMODE" not in function(POOLER)
    for address in ("127.0.0.1", "localhost", "/run/pgbouncer"):
        assert "PGSSLMODE=disable" in function(replace(POOLER, address=address))
        assert "PGSSLMODE=require" in function(replace(POOLER, address=address, tls="require"))
    assert "PGSSLMODE=disable" in function(replace(POOLER, tls="disable"))


def test_the_password_goes_to_the_pooler_and_its_console_and_only_where_there_is_one():
    places = [(place.address, place.port, place.database) for place in endpoints(SPEC.endpoint, POOLER)]
    assert places == [("10.0.0.9", 6432, SPEC.endpoint.database), ("10.0.0.9", 6432, "pgbouncer")]
    assert endpoints(SPEC.endpoint, None) == ()


@pytest.mark.parametrize(
    ("psql", "code", "text"),
    [
        ("echo WARNING >&2; echo 1", 0, ""),
        ("[ $PGPORT = 5432 ] || exit 124; echo 1", 1, f"{NO_ANSWER}: {NOT_IN_TIME}\n"),
        ("exit 124", 1, f"{NO_ANSWER}: {NOT_IN_TIME}\n{NOT_TRIED}\n"),
        ("[ $PGPORT = 5432 ] || { echo away >&2; exit 2; }; echo 1", 1, f"{NO_ANSWER}: away\n"),
        ("echo syntax >&2; exit 1", 1, f"syntax\n{NOT_TRIED}\n"),
        ("echo $PGPORT", 1, f"{ELSEWHERE}\n"),
    ],
)
def test_the_way_is_judged_by_how_psql_ends_and_not_by_what_it_warns_of(tmp_path, psql, code, text):
    program = tmp_path / "psql"
    program.write_text(f"#!/bin/sh\n{psql}\n")
    program.chmod(0o700)
    script = f"{function(POOLER)}PGPORT=5432; export PGPORT\n{identity(str(program))}"
    ended = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (code, text)


def test_a_pooler_on_another_machine_is_waited_for_no_longer_than_a_server_there():
    spec = replace(SPEC, endpoint=replace(SPEC.endpoint, path="loopback"))
    assert service_file(replace(spec, pooler=POOLER)) != []
    assert service_file(replace(spec, pooler=replace(POOLER, address="127.0.0.1"))) == []
