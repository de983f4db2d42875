"""What is said of lines that somebody or something wrote before what a load generator printed."""

import pytest

from benchhub.bench.results.imports import texts
from runners.contract import Outputs
from runners.tools.pgbench.testing import PGBENCH, UNLOGGED, recorded

REPORT = "progress: {} s, 10.0 tps, lat 1.000 ms stddev 0.100\n"


@pytest.mark.parametrize(
    ("stderr", "prefix"),
    [
        ("psql:a.sql:1: NOTICE:  vacuum progress: 5\n", ""),
        (f"NOTICE:  progress: 5\n{REPORT.format('1.0')}", ""),
        (f"NOTICE:  a {REPORT.format('1.0')}{REPORT.format('2.0')}", ""),
        (f"err| {REPORT.format('1.0')}err| {REPORT.format('2.0')}", "err| "),
        (f"NOTICE:  progress: 5\n[load] {REPORT.format('1.0')}", "[load] "),
    ],
)
def test_a_message_of_a_script_is_no_report_with_something_before_it(stderr, prefix):
    outputs = Outputs(0, recorded("18", "plain").stdout, stderr.encode())
    sentences = [text for _, text in texts.faults(outputs, UNLOGGED, PGBENCH.parse(UNLOGGED, outputs))]
    assert len(sentences) == bool(prefix)
    assert all(f"before 'progress:' stands '{prefix}'." in text for text in sentences)


@pytest.mark.parametrize("lines", [1, 2, 3])
def test_a_summary_without_its_head_is_cut_off_and_not_of_another_language(lines):
    stdout = b"".join(recorded("18", "plain").stdout.splitlines(keepends=True)[-lines:])
    outputs = Outputs(0, stdout, b"")
    [(_, sentence)] = texts.faults(outputs, UNLOGGED, PGBENCH.parse(UNLOGGED, outputs))
    assert "cut off" in sentence
    assert "not in English" not in sentence
