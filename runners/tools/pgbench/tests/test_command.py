"""The commands as text, and run by sh with stand-ins for programs of versions that cannot be had."""

from __future__ import annotations

import gzip
import os
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runners.contract import Outputs, RunSpec
from runners.tools.pgbench.testing import CUSTOM, PGBENCH, SPEC, measured_and_reduced

SUMMARY = "number of transactions actually processed: 3\ntps = 1.500000 (without initial connection time)\n"


def pgbench_line(command: str) -> str:
    [line] = [line for line in command.splitlines() if "bin/pgbench" in line]
    return line


def measure(**changes: Any) -> str:
    return pgbench_line(PGBENCH.measure_command(replace(SPEC, **changes)))


def test_the_measured_run_logs_and_reports_its_progress() -> None:
    assert measure() == (
        "/opt/pg/bin/pgbench -l --log-prefix=log/pgbench_log -n -c 4 -j 2 -T 3 -M simple -P 1 -b select-only || rc=$?"
    )


def test_the_warm_up_runs_the_same_load_unlogged_and_prints_elsewhere() -> None:
    command = PGBENCH.warmup_command(replace(SPEC, warmup_s=7))
    assert pgbench_line(command) == (
        "/opt/pg/bin/pgbench -n -c 4 -j 2 -T 7 -M simple -P 1 -b select-only > warmup.out 2> warmup.err || rc=$?"
    )


@pytest.mark.parametrize(
    ("version", "script", "words"),
    [
        ("9.3.25", "select-only", "-l -n -c 4 -j 2 -T 3 -M simple -S"),
        ("9.4.4", "simple-update", "-l -n -c 4 -j 2 -T 3 -M simple -P 1 -N"),
        ("9.5.7", "tpcb-like", "-l -n -c 4 -j 2 -T 3 -M simple -P 1"),
        ("9.6.24", "tpcb-like", "-l -n -c 4 -j 2 -T 3 -M simple -P 1 -b tpcb-like"),
        (
            "10.1",
            "select-only",
            "-l --log-prefix=log/pgbench_log -n -c 4 -j 2 -T 3 -M simple -P 1 -b select-only",
        ),
    ],
)
def test_old_versions_get_only_what_they_know(version: str, script: str, words: str) -> None:
    line = measure(tool_version=version, parameters={"script": script, "scale": 10})
    assert line == f"/opt/pg/bin/pgbench {words} || rc=$?"


def test_a_sampled_log_is_asked_for_and_an_unlogged_run_is_not_reduced() -> None:
    assert " --sampling-rate=0.05 " in measure(log_sampling_rate=0.05)
    unlogged = replace(SPEC, log_sampling_rate=0.0)
    assert " -l" not in PGBENCH.measure_command(unlogged)
    assert PGBENCH.reduce_command(unlogged) == ""


def test_a_pilot_runs_the_load_unlogged_and_the_measured_run_logs_the_share_that_it_allows() -> None:
    spec = replace(SPEC, log_sampling_rate=0.05, pilot_s=1)
    pilot, command = PGBENCH.pilot_command(spec), PGBENCH.measure_command(spec)
    load = "/opt/pg/bin/pgbench -n -c 4 -j 2 -T 1 -M simple -P 1 -b select-only > pilot.out 2> pilot.err"
    assert pgbench_line(pilot) == load
    assert pilot.endswith(" pilot.out > log.share 2> /dev/null ||\n    echo 0.05 > log.share\n")
    assert ' --sampling-rate="$(cat log.share)" ' in pgbench_line(command)
    assert "> log.share" not in command


def test_a_warm_up_tells_the_rate_and_no_other_load_is_needed() -> None:
    pilot = PGBENCH.pilot_command(replace(SPEC, log_sampling_rate=0.05, pilot_s=1, warmup_s=7))
    assert "bin/pgbench" not in pilot
    assert " warmup.out > log.share " in pilot


@pytest.mark.parametrize("changes", [{"log_sampling_rate": 0.05}, {"pilot_s": 1, "log_sampling_rate": 0.0}])
def test_there_is_no_pilot_where_the_share_is_known_or_nothing_is_logged(changes: dict[str, Any]) -> None:
    spec = replace(SPEC, **changes)
    assert PGBENCH.pilot_command(spec) == ""
    assert ("\necho 0.05 > log.share &&\n" in PGBENCH.measure_command(spec)) == bool(spec.log_sampling_rate)


def test_what_is_measured_is_the_load_alone() -> None:
    assert "awk" not in PGBENCH.measure_command(SPEC)
    assert "awk" in PGBENCH.reduce_command(SPEC)


def test_custom_scripts_are_told_the_scale_and_keep_their_weights() -> None:
    scripts = [{"text": "SELECT ':it''s';", "weight": 3}, {"text": "SELECT 2;"}]
    parameters = {**CUSTOM, "scale": 30, "scripts": scripts, "variables": {"n": 5, "a": "x y"}}
    command = PGBENCH.measure_command(replace(SPEC, parameters=parameters))
    words = shlex.split(pgbench_line(command))
    assert words[words.index("-D") :][:10] == [
        "-D",
        "a=x y",
        "-D",
        "n=5",
        "-s",
        "30",
        "-f",
        "script_0.sql@3",
        "-f",
        "script_1.sql@1",
    ]


def test_the_options_of_the_load_are_passed_on() -> None:
    parameters = {
        **SPEC.parameters,
        "query_mode": "prepared",
        "rate_tps": 100,
        "latency_limit_ms": 2.5,
        "connect_each": True,
        "max_tries": 3,
        "failures_detailed": True,
        "statement_latencies": True,
    }
    assert "-M prepared -P 1 -C -R 100 -L 2.5 --max-tries=3 --failures-detailed -r -b" in measure(parameters=parameters)


def test_the_load_makes_the_data_set_then_vacuums_each_table() -> None:
    parameters = {
        **SPEC.parameters,
        "fillfactor": 90,
        "foreign_keys": True,
        "unlogged": True,
        "partitions": 4,
        "partition_method": "hash",
    }
    spec = replace(SPEC, kind="load", parameters=parameters, tool_version="17.4")
    first, *rest = PGBENCH.load_command(spec).splitlines()
    assert first == (
        "/opt/pg/bin/pgbench -i -n -q -s 10 -F 90 --foreign-keys --unlogged-tables "
        "--partitions=4 --partition-method=hash &&"
    )
    assert [shlex.split(line.removesuffix(" &&"))[-1] for line in rest] == [
        "VACUUM ANALYZE pgbench_branches",
        "VACUUM ANALYZE pgbench_tellers",
        "VACUUM ANALYZE pgbench_accounts",
        "VACUUM ANALYZE pgbench_history",
    ]


@pytest.mark.parametrize("name", ["load_command", "verify_command", "warmup_command", "measure_command"])
def test_no_command_names_the_server_or_leaves_the_callers_shell(name: str) -> None:
    command = getattr(PGBENCH, name)(SPEC)
    for word in (" -h", " -p ", " -U", "127.0.0.1", 'exit "$rc"\n'):
        assert word not in command.replace('(exit "$rc")\n', "").replace("mkdir -p log", "")


@pytest.mark.parametrize("name", ["load_command", "verify_command", "warmup_command", "measure_command"])
def test_a_run_that_cannot_be_has_no_command(name: str) -> None:
    with pytest.raises(ValueError, match="no script"):
        getattr(PGBENCH, name)(replace(SPEC, parameters={"script": "x; rm", "scale": 1}))


def stand_in(folder: Path, name: str, text: str) -> None:
    program = folder / "a bin" / name
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{text}")
    program.chmod(0o755)


def run(folder: Path, command: str, path: str | None = None) -> Outputs:
    attempt = folder / "attempt"
    attempt.mkdir(exist_ok=True)
    environment = {**os.environ, "LC_ALL": "C", "PATH": path or os.environ["PATH"]}
    done = subprocess.run(["/bin/sh", "-c", command], cwd=attempt, capture_output=True, env=environment)
    files = {str(path.relative_to(attempt)): path.read_bytes() for path in attempt.rglob("*") if path.is_file()}
    return Outputs(done.returncode, done.stdout, done.stderr, files)


def spec_in(folder: Path, **changes: Any) -> RunSpec:
    return replace(SPEC, bin_directory=str(folder / "a bin"), **changes)


def logging_pgbench(prefix: str, lines: int = 3, returncode: int = 0) -> str:
    return f"""\
for thread in 1 1.1; do
    awk 'BEGIN {{ for (i = 0; i < {lines}; i++) print 0, i, 100 + i, 0, 1700000000, i }}' > {prefix}.$thread
done
cat <<'END'
{SUMMARY}END
exit {returncode}
"""


def test_the_log_is_reduced_and_kept_compressed_while_it_is_small(tmp_path: Path) -> None:
    stand_in(tmp_path, "pgbench", logging_pgbench("log/pgbench_log"))
    spec = spec_in(tmp_path)
    outputs = run(tmp_path, measured_and_reduced(spec))
    assert (outputs.returncode, outputs.stderr) == (0, b"")
    assert sorted(outputs.files) == ["latency.hist", "latency.seconds", "log.gz", "log.share", "started_epoch"]
    assert len(gzip.decompress(outputs.files["log.gz"]).splitlines()) == 6
    result = PGBENCH.parse(spec, outputs)
    assert result.histograms[0].counts == (2, 2, 2)


def test_a_log_over_the_cap_is_dropped_and_that_is_said(tmp_path: Path) -> None:
    stand_in(tmp_path, "pgbench", logging_pgbench("log/pgbench_log", lines=25_000))
    spec = spec_in(tmp_path)
    outputs = run(tmp_path, measured_and_reduced(spec))
    assert sorted(outputs.files) == ["latency.hist", "latency.seconds", "log.dropped", "log.share", "started_epoch"]
    assert int(outputs.files["log.dropped"]) > 1024 * 1024
    result = PGBENCH.parse(spec, outputs)
    assert result.histograms[0].total == 50_000
    assert any("was not kept" in remark for remark in result.remarks)


def test_the_log_of_a_version_without_a_prefix_is_found(tmp_path: Path) -> None:
    stand_in(tmp_path, "pgbench", logging_pgbench("pgbench_log"))
    outputs = run(tmp_path, measured_and_reduced(spec_in(tmp_path, tool_version="9.6.24")))
    assert sorted(outputs.files) == ["latency.hist", "latency.seconds", "log.gz", "log.share", "started_epoch"]


@pytest.mark.parametrize("returncode", [1, 2, 137])
def test_the_exit_code_is_pgbenchs_and_the_log_is_reduced_all_the_same(tmp_path: Path, returncode: int) -> None:
    stand_in(tmp_path, "pgbench", logging_pgbench("log/pgbench_log", returncode=returncode))
    outputs = run(tmp_path, measured_and_reduced(spec_in(tmp_path)))
    assert outputs.returncode == returncode
    assert "latency.hist" in outputs.files


def test_the_commands_bear_being_part_of_a_longer_script(tmp_path: Path) -> None:
    stand_in(tmp_path, "pgbench", "exit 2\n")
    outputs = run(tmp_path, f"set -eu\n(\n{measured_and_reduced(spec_in(tmp_path))})\necho not reached")
    assert (outputs.returncode, outputs.stdout) == (2, b"")
    outputs = run(tmp_path, measured_and_reduced(spec_in(tmp_path)) + "echo then $?")
    assert outputs.stdout == b"then 2\n"


def test_a_failing_awk_fails_no_run_and_python_reads_the_kept_log(tmp_path: Path) -> None:
    stand_in(tmp_path, "pgbench", logging_pgbench("log/pgbench_log").replace("awk '", "/usr/bin/awk '"))
    stand_in(tmp_path, "awk", "echo out of memory >&2; exit 2\n")
    spec = spec_in(tmp_path)
    outputs = run(tmp_path, measured_and_reduced(spec), path=f"{tmp_path / 'a bin'}:{os.environ['PATH']}")
    assert outputs.returncode == 0
    assert sorted(outputs.files) == ["latency.error", "log.gz", "log.share", "started_epoch"]
    result = PGBENCH.parse(spec, outputs)
    assert result.outcome == "succeeded"
    assert result.histograms[0].total == 6
    assert any("out of memory" in remark for remark in result.remarks)


def test_custom_scripts_reach_pgbench_as_they_were_written(tmp_path: Path) -> None:
    text = "\\set a random(1, 10)\nSELECT 'it''s $HOME `date` %s \\n', :a;"
    stand_in(tmp_path, "pgbench", "cat script_0.sql\n")
    parameters = {**CUSTOM, "scripts": [{"text": text}]}
    outputs = run(tmp_path, measured_and_reduced(spec_in(tmp_path, parameters=parameters)))
    assert outputs.stdout.decode() == text + "\n"


def test_a_failing_warm_up_says_why_and_a_good_one_says_nothing(tmp_path: Path) -> None:
    spec = spec_in(tmp_path, warmup_s=1)
    stand_in(tmp_path, "pgbench", "echo tps; echo progress >&2\n")
    outputs = run(tmp_path, PGBENCH.warmup_command(spec))
    assert (outputs.returncode, outputs.stdout, outputs.stderr) == (0, b"", b"")
    assert outputs.files == {"warmup.out": b"tps\n", "warmup.err": b"progress\n"}
    stand_in(tmp_path, "pgbench", "echo no such server >&2; exit 1\n")
    outputs = run(tmp_path, PGBENCH.warmup_command(spec))
    assert (outputs.returncode, outputs.stderr) == (1, b"no such server\n")


def test_a_missing_psql_is_not_taken_for_a_missing_data_set(tmp_path: Path) -> None:
    outputs = run(tmp_path, PGBENCH.verify_command(spec_in(tmp_path)))
    assert outputs.returncode == 2
    assert outputs.stderr.startswith(b"The server cannot be asked: ")


def test_a_failed_load_stops_before_the_vacuum(tmp_path: Path) -> None:
    stand_in(tmp_path, "pgbench", "echo no space >&2; exit 1\n")
    stand_in(tmp_path, "psql", "echo vacuumed\n")
    outputs = run(tmp_path, PGBENCH.load_command(spec_in(tmp_path, kind="load")))
    assert (outputs.returncode, outputs.stdout) == (1, b"")
