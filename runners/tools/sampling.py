"""Choose how many transactions pgbench logs: all of them where that costs the load next to nothing, else every kth.

A line takes pgbench some `LINE_CPU_S` to format, whoever reads it and wherever it goes: only a line that is not
written costs nothing. So the log is a file, it is reduced after the load, and where a load is too fast for a line of
each transaction, the share to log is chosen from the rate that it had before: in an earlier run, in the warm-up, or in
a pilot of a second.
"""

from __future__ import annotations

import math
import shlex
from dataclasses import replace

from runners.contract import Outputs, RunSpec

# docs/measured/execution.md has the measurement. The most that lines may take is half a per cent of the CPU time.
LINE_CPU_S, MOST_COST = 1.25e-6, 0.005
LINES_PER_CPU_S = round(MOST_COST / LINE_CPU_S)
BYTES_PER_TRANSACTION = 31
LOG_CAP_BYTES = 256 * 1024 * 1024
# More than today's machines reach, so that the guess for a large one stays bounded.
UNKNOWN_TPS = 1_000_000
MARGIN = 2.0  # of what a load is not expected to exceed, over what was seen
PILOT_S = 1
PILOT_FILE, SHARE_FILE = "pilot.out", "log.share"
LONGEST_SHARE = 32

# Reads what pgbench sums up. Of versions that print two rates, it takes the one without the time to connect.
SHARE_AWK = f"""\
function ceiling(x) {{ return x > int(x) ? int(x) + 1 : int(x) }}
/^tps = [0-9]/ && (!tps || /excluding|without/) {{ tps = $3 + 0 }}
END {{
    if (!tps) exit 1
    if (threads < cpus) cpus = threads
    every = ceiling(tps / ({LINES_PER_CPU_S} * cpus))
    capped = ceiling(tps * seconds * {BYTES_PER_TRANSACTION} / {LOG_CAP_BYTES})
    printf "%.15g\\n", 1 / (every > capped ? every : capped)
}}
"""


def choose_sampling_rate(
    expected_tps: float, duration_s: float, cpus: int = 1, cap_bytes: int = LOG_CAP_BYTES
) -> float:
    """Return the share of transactions to log: 1/k for the least whole k that costs the load next to nothing.

    `cpus` are those of the driver on which threads of the load work. The log stays under the cap.
    """
    if expected_tps < 0 or duration_s < 0 or cpus < 1 or cap_bytes <= 0:
        raise ValueError(
            "A sampling rate needs a rate and a duration that are not negative, and CPUs and a cap above 0."
        )
    log_bytes = expected_tps * duration_s * BYTES_PER_TRANSACTION
    return 1 / max(1, math.ceil(expected_tps / (LINES_PER_CPU_S * cpus)), math.ceil(log_bytes / cap_bytes))


def planned(spec: RunSpec, seen_tps: float | None, guess_tps: float, cpus: int) -> RunSpec:
    """Return the spec with the share to log by the rate that was seen; without one by a pilot, if the guess is fast."""
    tps = seen_tps or min(UNKNOWN_TPS, guess_tps)
    share = choose_sampling_rate(tps, spec.duration_s, cpus)
    pilot_s = 0 if seen_tps or share == 1 else PILOT_S
    return replace(spec, log_sampling_rate=share, expected_tps=MARGIN * tps if seen_tps else tps, pilot_s=pilot_s)


def share_command(spec: RunSpec, summary: str) -> str:
    """Return the line that leaves the share to log in a file: by pgbench's summary there, or else as it was planned."""
    values = f'-v cpus="$(nproc 2> /dev/null || echo 1)" -v threads={spec.threads} -v seconds={spec.duration_s}'
    planned = f"echo {_written(spec.log_sampling_rate)} > {SHARE_FILE}"
    return f"awk {values} {shlex.quote(SHARE_AWK)} {summary} > {SHARE_FILE} 2> /dev/null ||\n    {planned}\n"


def share_words(spec: RunSpec) -> list[str]:
    """Return the words with which pgbench logs its share; none where that is every transaction."""
    if spec.pilot_s:
        return [f'--sampling-rate="$(cat {SHARE_FILE})"']
    return [f"--sampling-rate={_written(spec.log_sampling_rate)}"] if spec.log_sampling_rate < 1 else []


def share_kept(spec: RunSpec) -> str:
    """Return the line, ending in &&, that writes the share down where no pilot has."""
    return "" if spec.pilot_s else f"echo {_written(spec.log_sampling_rate)} > {SHARE_FILE} &&\n"


def _written(share: float) -> str:
    return f"{share:.15g}"


def as_logged(spec: RunSpec, outputs: Outputs) -> RunSpec:
    """Return the spec with the share that the driver logged; as it is where the driver left none that can be."""
    text = outputs.files.get(SHARE_FILE, b"").strip()
    try:
        share = float(text) if len(text) <= LONGEST_SHARE else 0.0
    except ValueError:
        return spec
    if not spec.log_sampling_rate or not 0 < share <= 1:
        return spec
    every = round(1 / share)
    # Decimal digits do not give a third back.
    return replace(spec, log_sampling_rate=1 / every if abs(every * share - 1) < 1e-9 else share)
