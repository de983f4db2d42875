"""The spread of repeated measurements: their range now, whatever their number; and how many digits it leaves known."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

RANGE = "range of repeats"


@dataclass(frozen=True, slots=True)
class Spread:
    """Repeats of one measurement, in the unit they were measured in. `kind` says what lowest..highest is."""

    n: int
    mean: float
    median: float
    lowest: float
    highest: float
    kind: str = RANGE

    @property
    def percent(self) -> float | None:
        """Width of the range in per cent of the median; None for one value, which has no spread."""
        return None if self.n < 2 else 100 * (self.highest - self.lowest) / self.median

    @property
    def digits(self) -> int:
        """Significant digits worth reading: 4 where repeats agree within 1%, otherwise 3."""
        return 3 if self.percent is None or self.percent > 1 else 4


def summarise(values: Sequence[float]) -> Spread:
    """Sum up repeats. Raises ValueError for none, and for what is no positive finite number."""
    if not values:
        raise ValueError("There is no value to sum up.")
    if bad := [value for value in values if not (math.isfinite(value) and value > 0)]:
        raise ValueError(f"{bad[0]} is not a throughput: it must be a positive, finite number.")
    return Spread(
        n=len(values),
        mean=statistics.fmean(values),
        median=statistics.median(values),
        lowest=min(values),
        highest=max(values),
    )


def round_significant(value: float, digits: int) -> float:
    """Round to significant digits: 21,347.6 to three is 21,300."""
    if value == 0 or not math.isfinite(value):
        return value
    return round(value, digits - 1 - math.floor(math.log10(abs(value))))
