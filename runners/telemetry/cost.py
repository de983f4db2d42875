"""What telemetry costs a load, as measured, and whether a plan has it by default: the one place that says so.

`make bench-telemetry` measures it anew and prints what to write here; docs/measured/execution.md has the series.
"""

from __future__ import annotations

from dataclasses import dataclass

LEAST_RATIO, MOST_CORES = 0.99, 0.003


def is_within_limits(lowest_ratio: float, cores: float) -> bool:
    """Tell whether a series shows that telemetry is cheap enough: all of its interval, and its CPU time."""
    return lowest_ratio >= LEAST_RATIO and cores <= MOST_CORES


@dataclass(frozen=True, slots=True)
class Cost:
    """The throughput with telemetry over that without it, and its 95% interval."""

    ratio: float
    lowest: float
    highest: float

    @property
    def is_usual(self) -> bool:
        """Tell whether plans have telemetry by default: where a loss of more than 1% is excluded."""
        return self.lowest >= LEAST_RATIO

    @property
    def text(self) -> str:
        """Return what it costs as sentences for whoever decides."""
        interval = f"{100 * self.lowest:.1f} to {100 * self.highest:.1f}%"
        measured = f"Where its cost was measured it left {100 * self.ratio:.1f}% of the throughput (95%: {interval})"
        least = f"{100 - 100 * LEAST_RATIO:.0f}%"
        if self.is_usual:
            return f"{measured}: it costs less than {least}, so that it is on unless you leave it out."
        return (
            f"{measured}: whether it costs more than {least} is not settled, so that it is off unless you ask for it."
        )


MEASURED = Cost(ratio=0.9795, lowest=0.9576, highest=1.0011)
