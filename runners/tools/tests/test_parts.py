"""Texts of several runs, whole and cut: each run keeps its own lines."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from runners import tools
from runners.contract import Outputs
from runners.tools.parts import Part
from runners.tools.pgbench.testing import RECORDED, recorded
from runners.tools.pgbench.testing import SPEC as PGBENCH_SPEC
from runners.tools.tatp.testing import SPEC as TATP_SPEC

PGBENCH, SYSBENCH = tools.get("pgbench"), tools.get("sysbench")
SYSBENCH_SPEC = replace(PGBENCH_SPEC, tool="sysbench", parameters={"script": "oltp_read_write"})
VERSIONS = ["13", "14", "15", "16", "18"]
REPORT = (RECORDED / "sysbench-1.0.20-oltp_read_write.txt").read_text()
NINE = (RECORDED / "hand_made" / "9.3_hand_made.out").read_text()


def summary(version: str, case: str = "plain") -> str:
    return recorded(version, case).stdout.decode()


def progress(version: str) -> str:
    return recorded(version, "progress").stderr.decode()


def lines(parts: tuple[Part, ...]) -> list[int]:
    return [part.line for part in parts]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", ["plain", "progress", "several_scripts", "connect_each", "rate_limited", "vacuumed"])
def test_a_single_run_is_one_part_with_all_of_its_text(version: str, case: str) -> None:
    text = summary(version, case)
    clients = int(re.findall(r"^number of clients: (\d+)$", text, re.MULTILINE)[0])
    threads = int(re.findall(r"^number of threads: (\d+)$", text, re.MULTILINE)[0])
    assert PGBENCH.parts(text) == (Part(1, text, clients, threads),)
    assert len(PGBENCH.parts(recorded(version, case).stderr.decode())) <= 1


def test_texts_of_three_runs_are_told_apart_by_the_lines_at_which_they_begin() -> None:
    texts = [summary("18"), summary("18", "several_scripts"), summary("13")]
    parts = PGBENCH.parts("".join(texts))
    first, second = (text.count("\n") for text in texts[:2])
    assert lines(parts) == [1, first + 1, first + second + 1]
    assert [part.text.strip() for part in parts] == [text.strip() for text in texts]
    assert len(PGBENCH.parts(NINE * 4)) == len(SYSBENCH.parts(REPORT * 4)) == 4


@pytest.mark.parametrize("cut", [5, 8, 10])
def test_a_cut_summary_is_apart_from_the_next_one_and_borrows_no_number(cut: int) -> None:
    whole = summary("18")
    head = "".join(whole.splitlines(keepends=True)[:cut])
    for text in (head + whole, whole + head, whole + "".join(whole.splitlines(keepends=True)[cut - 3 :])):
        assert len(PGBENCH.parts(text)) == 2
        result = PGBENCH.parse(replace(PGBENCH_SPEC, log_sampling_rate=0), Outputs(0, text.encode(), b""))
        assert (result.outcome, dict(result.measures)) == ("failed", {})


@pytest.mark.parametrize("cut", [6, 30, 170, 180, 190])
def test_a_cut_report_of_sysbench_is_apart_from_the_next_one(cut: int) -> None:
    head = "".join(REPORT.splitlines(keepends=True)[:cut])
    for text in (head + REPORT, REPORT + head):
        parts = SYSBENCH.parts(text)
        assert len(parts) == 2
        assert parts[text.startswith(head)].text.strip() in text
        result = SYSBENCH.parse(SYSBENCH_SPEC, Outputs(0, text.encode(), b""))
        assert (result.outcome, "holds 2 runs, beginning at lines" in result.reason) == ("failed", True)


def test_progress_that_was_merged_into_the_output_stays_with_its_run() -> None:
    """A pipe has it before the summary; a terminal has the banner first; a file may have it appended."""
    merged = [progress("18") + summary("18", "progress"), progress("13") + summary("13", "progress")]
    parts = PGBENCH.parts("".join(merged))
    assert [part.text.strip() for part in parts] == [text.strip() for text in merged]
    banner, rest = summary("18", "progress").split("\n", 1)
    assert len(PGBENCH.parts(f"{banner}\n{progress('18')}{rest}" * 2)) == 2
    assert len(PGBENCH.parts((summary("18", "progress") + progress("18")) * 2)) == 2


def test_progress_of_a_second_run_is_a_run_also_without_its_summary() -> None:
    for text in (progress("18") * 2, progress("18") + summary("18", "progress") + progress("18")):
        assert len(PGBENCH.parts(text)) == 2
        assert len(PGBENCH.parts("$ pgbench\n" + text)) == 2


def test_two_reports_of_progress_in_one_tenth_of_a_second_are_of_one_run() -> None:
    line = "progress: 2.0 s, 10.0 tps, lat 1.000 ms stddev 0.100\n"
    assert len(PGBENCH.parts(line * 2)) == 1


def test_other_programs_banners_and_shells_lines_begin_no_run() -> None:
    preceding = "pgbench (PostgreSQL) 18.4\n+ pgbench -c 8 bench\n"
    assert PGBENCH.parts(preceding) == ()
    assert len(PGBENCH.parts(preceding + summary("18") + preceding)) == 1
    prepared = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nCreating table 'sbtest1'...\n"
    assert len(SYSBENCH.parts(prepared + REPORT + prepared)) == 1
    assert lines(SYSBENCH.parts(prepared + REPORT)) == [5]


def test_stderr_of_two_runs_is_a_failed_run_as_well() -> None:
    outputs = recorded("18", "progress")
    result = PGBENCH.parse(replace(PGBENCH_SPEC, log_sampling_rate=0), replace(outputs, stderr=outputs.stderr * 2))
    assert result.reason.startswith("stderr holds 2 runs, beginning at lines 1 and ")


def test_several_runs_of_tatp_are_a_failed_run() -> None:
    folder = RECORDED / "tatp-16"
    outputs = Outputs(0, b"", b"", {path.name: path.read_bytes() for path in folder.iterdir()})
    twice = replace(outputs, files={**outputs.files, "tatp.messages": outputs.files["tatp.messages"] * 2})
    for several in (twice, replace(outputs, stdout=summary("16").encode() * 2)):
        result = tools.get("tatp").parse(replace(TATP_SPEC, duration_s=6, warmup_s=2), several)
        assert (result.outcome, "holds 2 runs" in result.reason) == ("failed", True)


def test_many_runs_are_counted_and_not_all_named() -> None:
    result = PGBENCH.parse(PGBENCH_SPEC, Outputs(0, summary("18").encode() * 3_000, b""))
    assert result.reason.startswith("Standard output holds 3,000 runs, beginning at lines 1, ")
    assert "and further on: " in result.reason and len(result.reason) < 400
