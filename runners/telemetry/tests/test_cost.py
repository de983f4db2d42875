"""Whether a plan has telemetry by default follows from what was measured, and from nothing else."""

from pathlib import Path

import pytest

from runners.telemetry.cost import MEASURED, Cost, is_within_limits

DOCUMENT = Path(__file__).resolve().parents[3] / "docs/measured/execution.md"


@pytest.mark.parametrize(
    ("lowest", "highest", "is_usual"),
    [(0.9576, 1.0011, False), (0.9899, 0.9990, False), (0.99, 1.0, True), (0.995, 1.01, True)],
)
def test_telemetry_is_usual_only_where_all_of_the_interval_lies_at_or_above_99_percent(lowest, highest, is_usual):
    assert Cost(0.995, lowest, highest).is_usual is is_usual


@pytest.mark.parametrize(
    ("lowest", "cores", "is_within"),
    [(0.99, 0.003, True), (0.9576, 0.003, False), (0.995, 0.0043, False), (0.9899, 0.001, False)],
)
def test_the_benchmark_passes_where_the_interval_excludes_a_loss_of_one_percent_and_little_cpu_is_used(
    lowest, cores, is_within
):
    assert is_within_limits(lowest, cores) is is_within


def test_the_words_say_what_it_costs_and_what_is_not_settled():
    assert Cost(0.9795, 0.9576, 1.0011).text == (
        "Where its cost was measured it left 98.0% of the throughput (95%: 95.8 to 100.1%): whether it costs more than "
        "1% is not settled, so that it is off unless you ask for it."
    )
    assert "costs less than 1%, so that it is on" in Cost(0.998, 0.994, 1.002).text


def test_the_cost_is_the_one_that_the_documents_have():
    assert f"gave {MEASURED.ratio} ({MEASURED.lowest} to {MEASURED.highest})" in DOCUMENT.read_text()
