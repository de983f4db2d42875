"""How many transactions are logged, worked out by hand, by Python for plans and by awk on the driver."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.contract import Outputs
from runners.tools.pgbench.testing import AWKS, SPEC
from runners.tools.sampling import SHARE_AWK, SHARE_FILE, as_logged, choose_sampling_rate, planned, share_command

RECORDED = Path(__file__).resolve().parents[1] / "recorded"
WITH_RATE = [file for file in sorted(RECORDED.glob("1*/*/out.log")) if "\ntps = " in file.read_text()]
SUMMARY = "tps = {} (without initial connection time)\n"


def awk_share(awk: list[str], summary: str, threads: int, cpus: int, seconds: int) -> float:
    values = {"threads": threads, "cpus": cpus, "seconds": seconds}
    options = [word for name, value in values.items() for word in ("-v", f"{name}={value}")]
    done = subprocess.run([*awk, *options, SHARE_AWK], input=summary, capture_output=True, text=True, check=True)
    return float(done.stdout)


@pytest.mark.parametrize(
    ("tps", "duration_s", "cpus", "every"),
    [
        (0, 300, 1, 1),
        (2_918, 6, 2, 1),  # 17,503 transactions of TATP, all seven types
        (8_000, 300, 2, 1),  # 4,000 lines a second for each of two CPUs: half a per cent of them
        (8_001, 300, 2, 2),
        (8_001, 300, 64, 1),
        (90_000, 3, 2, 12),  # 90,000 / 8,000 = 11.25
        (8_000, 3_000, 2, 3),  # 744,000,000 bytes / 268,435,456 = 2.8
        (600_000, 7_200, 64, 499),  # 133,920,000,000 bytes / 268,435,456 = 498.9
    ],
)
@pytest.mark.parametrize("awk", AWKS, ids=" ".join)
def test_every_transaction_is_logged_that_lines_and_bytes_allow(
    awk: list[str], tps: float, duration_s: int, cpus: int, every: int
) -> None:
    assert choose_sampling_rate(tps, duration_s, cpus) == 1 / every
    if tps:
        assert awk_share(awk, SUMMARY.format(tps), cpus, 64, duration_s) == pytest.approx(1 / every, rel=1e-9)
        assert awk_share(awk, SUMMARY.format(tps), 64, cpus, duration_s) == pytest.approx(1 / every, rel=1e-9)


@given(st.floats(0, 1e7), st.integers(1, 86_400), st.integers(1, 256), st.integers(1_000, 2**40))
def test_what_is_logged_costs_at_most_half_a_per_cent_and_stays_under_the_cap(
    tps: float, duration_s: int, cpus: int, cap_bytes: int
) -> None:
    rate = choose_sampling_rate(tps, duration_s, cpus, cap_bytes)
    assert 0 < rate <= 1
    assert rate * tps * duration_s * 31 <= cap_bytes * (1 + 1e-9)
    assert rate * tps * 1.25e-6 <= 0.005 * cpus * (1 + 1e-9)


@pytest.mark.parametrize("values", [(-1, 10, 1, 1), (1, -1, 1, 1), (1, 10, 0, 1), (1, 10, 1, 0)])
def test_a_sampling_rate_of_nothing_sensible_is_refused(values: tuple[float, float, int, int]) -> None:
    with pytest.raises(ValueError, match="not negative, and CPUs and a cap above 0"):
        choose_sampling_rate(*values)


def test_a_rate_that_was_seen_needs_no_pilot_and_a_slow_guess_neither() -> None:
    spec = replace(SPEC, duration_s=6)
    by_rate, by_guess, by_slow_guess = (
        planned(spec, 2_918.0, 120_000, 2),
        planned(spec, None, 120_000, 2),
        planned(spec, None, 90, 2),
    )
    assert [
        (plan.log_sampling_rate, plan.expected_tps, plan.pilot_s) for plan in (by_rate, by_guess, by_slow_guess)
    ] == [
        (1.0, 5_836.0, 0),
        (1 / 15, 120_000, 1),
        (1.0, 90, 0),
    ]


@pytest.mark.parametrize("awk", AWKS, ids=" ".join)
@pytest.mark.parametrize("file", WITH_RATE, ids=lambda file: "-".join(file.parts[-3:-1]))
def test_the_summary_of_every_version_tells_the_rate(awk: list[str], file: Path) -> None:
    text = file.read_text()
    rates = [line for line in text.splitlines() if line.startswith("tps = ")]
    [rate] = [line for line in rates if "excluding" in line] or rates
    assert awk_share(awk, text, 1, 1, 1) == pytest.approx(choose_sampling_rate(float(rate.split()[2]), 1), rel=1e-9)


@pytest.mark.parametrize("text", ["", "tps = 0.000000 (without initial connection time)\n", "tps = -nan (excluding)\n"])
def test_a_pilot_that_tells_no_rate_leaves_the_planned_share(tmp_path: Path, text: str) -> None:
    (tmp_path / "pilot.out").write_text(text)
    command = share_command(replace(SPEC, log_sampling_rate=1 / 15), "pilot.out")
    done = subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (tmp_path / SHARE_FILE).read_text() == "0.0666666666666667\n"


@pytest.mark.parametrize(
    ("text", "share"),
    [
        (b"1\n", 1.0),
        (b"0.0666666666666667\n", 1 / 15),
        (b"0.333333333333333", 1 / 3),
        (b"5e-05\n", 1 / 20_000),
        (b"0.37\n", 0.37),
        *((text, 0.25) for text in (b"", b"0", b"-1", b"1.5", b"nan", b"inf", b"all", b"\xff", b"0." + b"1" * 100)),
    ],
)
def test_the_share_is_what_the_driver_wrote_down_and_as_planned_where_that_can_be_none(
    text: bytes, share: float
) -> None:
    spec = replace(SPEC, log_sampling_rate=0.25)
    assert as_logged(spec, Outputs(0, b"", b"", {SHARE_FILE: text})).log_sampling_rate == share
    assert as_logged(spec, Outputs(0, b"", b"")) == spec
    unlogged = replace(SPEC, log_sampling_rate=0.0)
    assert as_logged(unlogged, Outputs(0, b"", b"", {SHARE_FILE: text})) == unlogged
