"""The numbers of one run that must agree with each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# The code of a doubt, and its sentence.
Finding = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Shape:
    """A histogram in four numbers; `error` is by what share a value may differ from the middle of its bin."""

    total: int
    average_ms: float
    stddev_ms: float
    lowest_ms: float
    highest_ms: float
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The numbers of one run, as asked for, as printed and as counted elsewhere.

    `latency_is_derived`: pgbench computed the printed average from clients and transactions, so it proves
    nothing; leave it False for published figures, where a mislabelled row shows in it. `logged_*` come from
    the per-transaction log. `xact_commit_growth` is of pg_stat_database over the run, and
    `commits_per_transaction` says how often one transaction of the script commits (None: not known, as with
    custom scripts). `rate_limited` is an open loop (-R), where clients wait by design. `connect_each` is -C.
    `duration_is_planned`: the duration is the one asked for, which a run leaves by up to one transaction.
    `planned_s` is what was asked for where the duration is the one that was measured.
    `connection_time_ms` is what connecting took each transaction with -C. `planned_transactions` is their number where
    a run ends with that and not by the clock.
    `average_is_of_clients`: a derived average is clients / rate, so that it must give the clients again.
    `histogram` is of a whole log or of the report itself. `progress` are transactions a second, one value a second,
    and `progress_busy_s` the seconds that they took together at least; `stalled_before_s` is for how long the same
    clients may have stood still in a warm-up before, with transactions that ended in these seconds.
    `pause_average_ms` is what clients that think waited before each transaction, which is in no latency, and
    `longest_pause_ms` the most that they may wait.
    `leaves_out_by_thread`: TPS without connecting is without a thread's share of it, not a client's; None where the
    version does not tell.
    `rate_rounding` is by how much TPS may differ from what is printed, `report_rounding_s` the time of a report.
    """

    clients: int
    tps: float
    threads: int | None = None
    duration_s: float | None = None
    transactions: int | None = None
    failed_transactions: int = 0
    latency_average_ms: float | None = None
    latency_is_derived: bool = False
    initial_connection_time_ms: float = 0.0
    tps_including: float | None = None
    tps_excluding: float | None = None
    leaves_out_by_thread: bool | None = None
    logged_transactions: int | None = None
    logged_latency_average_ms: float | None = None
    log_sampling_rate: float = 1.0
    xact_commit_growth: int | None = None
    commits_per_transaction: int | None = 1
    rate_limited: bool = False
    connect_each: bool = False
    duration_is_planned: bool = False
    planned_s: float | None = None
    average_is_of_clients: bool = False
    latency_stddev_ms: float | None = None
    latency_min_ms: float | None = None
    latency_max_ms: float | None = None
    latency_sum_ms: float | None = None
    percentiles_ms: Mapping[float, float] = field(default_factory=dict)
    histogram: Shape | None = None
    progress: Sequence[float] = ()
    progress_busy_s: Sequence[float] = ()
    stalled_before_s: float = 0.0
    failures_by_kind: Sequence[int] = ()
    retried_transactions: int | None = None
    retries: int | None = None
    late_transactions: int | None = None
    lag_average_ms: float | None = None
    lag_max_ms: float | None = None
    connection_time_ms: float | None = None
    planned_transactions: int | None = None
    skipped_transactions: int = 0
    pause_average_ms: float = 0.0
    longest_pause_ms: float = 0.0
    rate_rounding: float = 0.0
    report_rounding_s: float = 0.15

    @property
    def lasted_s(self) -> float | None:
        """Return how long the load lasted by its own count and rate, connecting included where both are printed."""
        rate = self.tps_including or self.tps
        return self.transactions / rate if self.transactions and rate else None

    @property
    def rounding_share(self) -> float:
        """Return by what share the rate may be lower than it is printed, and a time that it gives longer.

        It is infinite where the rate may be 0.
        """
        if not self.rate_rounding:
            return 0.0
        least_tps = self.tps - self.rate_rounding
        return self.rate_rounding / least_tps if least_tps > 0 else math.inf
