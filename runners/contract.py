"""The only words that the warehouse and the runners share.

Everything here is plain, frozen data: it is made by a plan, travels to a target, comes back as a result,
and is stored. It knows neither Django nor SSH. Units are in the names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

SPEC_VERSION = 1
# Exit codes of an attempt in which a step beside the load failed: then its reason is the last line of stderr, and what
# speaks for it stands above. Data set not as asked for; vacuum to warm-up; a loaded data set not summed up.
VERIFY_FAILED, PREPARATION_FAILED, FINGERPRINT_FAILED = 97, 96, 95
# The files that an attempt's wrapper leaves where it ended the command: at its deadline, or as it printed too much.
OVERDUE_FILE, OVERFLOW_FILE = "overdue", "overflow"
# The one that it leaves where the process that beats, and keeps to the deadline, was killed or stopped under the load.
UNGUARDED_FILE = "unguarded"

# Within what BenchHub itself asks a server beside a load, which is not counted among what the load ran. It stands
# behind the first word: a comment in front of it may be no part of the statement.
OWN_STATEMENT = "/* benchhub */"

# Measures of one type of transaction: before its name in small letters. The bounds are those that success must keep to.
EXECUTIONS, SUCCESS, SUCCESS_LOW, SUCCESS_HIGH = "executions_", "success_", "success_low_", "success_high_"
# Measures of one segment of a load shape: before its number from 1 and their name, as in segment_2_offered_tps.
SEGMENT = "segment_"
# The measure that says that one in so many reads was looked at; absent where each was.
READS_PER_LOOK = "reads_per_look"

ConnectionPath = Literal["socket", "loopback", "network", "tls"]
Kind = Literal["load", "measure"]
Outcome = Literal["succeeded", "failed"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the driver finds the PostgreSQL server. A password never stands here: it goes by a 0600 file."""

    path: ConnectionPath
    address: str
    port: int
    database: str
    user: str


@dataclass(frozen=True, slots=True)
class Pooler:
    """A connection pooler in front of the server, as the driver reaches it. Only the load goes through it.

    It takes the same database, user and password as the server. `address` is a name, an IP address or a folder. `tls`
    left empty is as for the server, but never to a pooler on the driver itself.
    """

    kind: Literal["PgBouncer"]
    address: str
    port: int
    tls: Literal["", "disable", "require"] = ""


@dataclass(frozen=True, slots=True)
class DataCopy:
    """A copy of a data directory, beside it on the host, as it was right after the load that `key` names.

    A load with `restores` puts it in place, where it is there, instead of loading. One with `keeps` that had to load
    leaves it behind, where there is room. One with neither removes what is there.
    """

    key: str
    restores: bool = False
    keeps: bool = False


@dataclass(frozen=True, slots=True)
class Cluster:
    """A PostgreSQL cluster of BenchHub's own on the driver, which a run makes where it is missing, starts and stops.

    `folder` is absolute and holds `mark`, data and socket: nothing without the mark is touched. `initdb_options` are
    words for initdb. `settings` are as asked for; of all else the server has its own defaults. `settings_in_force` are
    the same as pg_settings shows them once they are in force; what the server chooses itself is not among them.
    `os_settings` are the host's for the time of the run, as they are written; afterwards what was there before is put
    back. `copy` is of the data set that a load is for; None where it may have none.
    """

    folder: str
    mark: str
    bin_directory: str
    database: str
    initdb_options: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    settings_in_force: Mapping[str, str] = field(default_factory=dict)
    os_settings: Mapping[str, str] = field(default_factory=dict)
    copy: DataCopy | None = None


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings of somebody's server for the time of a run: set by ALTER SYSTEM, and put back afterwards.

    `settings` are as asked for, `settings_in_force` the same as pg_settings shows them; what the server chooses itself
    is not among them. `restart` are the words of the owner's command: with it, the run begins with a restart; without,
    a reload is all that is done.
    """

    settings: Mapping[str, str]
    settings_in_force: Mapping[str, str]
    restart: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One execution of a load generator, or of the load of its data set, as it was asked for.

    `parameters` are the tool's own (for pgbench: script, query_mode, scale, ...). `bin_directory` is where the
    driver has the client programs (the tool itself and psql). `log_sampling_rate` is the share of
    transactions whose latency is logged (0 < rate <= 1; 0 logs none). With a pilot, a load of `pilot_s` before all
    preparation, the driver chooses that share itself, by the rate that it saw there or in the warm-up; what is planned
    is the share where neither tells one. The load is not expected to be faster than `expected_tps` (0: nobody knows).

    Before the load, in this order: `watch_idle_s` of counting how busy the driver's CPU is without it, vacuum,
    checkpoint, a restart of the server whose data lie in `restart_directory` (empty: none), by the pg_ctl in
    `restart_bin_directory`, dropping of the driver's page cache, and `settle_s` of nothing. The last three make sense
    where the driver is the server's own host. With a `cluster`, it is made and started before all that, and stopped
    after the load: `endpoint` is its socket. `server_settings` are changed before all that, on somebody's
    server that runs on the driver, and put back at the end. With a `pooler`, pilot, warm-up and load go through it, and
    all else to the `endpoint`, which is the server itself.

    `telemetry` says where the server runs whose counters are noted once a second beside the load: here, on the driver,
    or elsewhere; empty for no telemetry. `data_directory` is the server's, where it is here and known.

    What has not ended after `deadline_s`, preparation included, is ended on the driver (0: never).
    """

    tool: str
    tool_version: str
    bin_directory: str
    endpoint: Endpoint
    parameters: Mapping[str, Any]
    kind: Kind = "measure"
    clients: int = 1
    threads: int = 1
    duration_s: int = 0
    warmup_s: int = 0
    vacuum: bool = False
    checkpoint: bool = False
    settle_s: int = 0
    drop_caches: bool = False
    restart_directory: str = ""
    restart_bin_directory: str = ""
    watch_idle_s: int = 0
    log_sampling_rate: float = 1.0
    expected_tps: float = 0.0
    pilot_s: int = 0
    deadline_s: int = 0
    telemetry: Literal["", "here", "elsewhere"] = ""
    data_directory: str = ""
    cluster: Cluster | None = None
    server_settings: ServerSettings | None = None
    pooler: Pooler | None = None
    application_name: str = "benchhub"
    version: int = SPEC_VERSION

    @property
    def expected_s(self) -> int:
        """Return the seconds that the run will take: load, warm-up and settling; other preparation comes on top."""
        return self.duration_s + self.warmup_s + self.settle_s


@dataclass(frozen=True, slots=True)
class Measure:
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Series:
    """Values of one metric in the order of time; value i covers the `step_s` that end at start + (i+1) steps.

    It is None where nothing is known of it.
    """

    metric: str
    unit: str
    start_epoch_s: float
    step_s: float
    values: tuple[float | None, ...]

    @property
    def numbers(self) -> tuple[float, ...]:
        """Return the values that are known: all of them, of what a load generator reports itself."""
        return tuple(value for value in self.values if value is not None)


@dataclass(frozen=True, slots=True)
class Histogram:
    """Latencies counted in bins: `bins[i]` lies in `lower_us[i] <= latency < upper_us[i]`, exact below 1,024 us.

    `sampling_rate` is the share of transactions that were logged: counts are of logged ones, not scaled up.
    """

    name: str
    lower_us: tuple[int, ...]
    upper_us: tuple[int, ...]
    counts: tuple[int, ...]
    sum_us: int
    min_us: int
    max_us: int
    sampling_rate: float = 1.0

    @property
    def total(self) -> int:
        return sum(self.counts)


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason not to trust a number as it stands. `code` is stable; `text` is a sentence for people."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Outputs:
    """The outputs that an attempt left on the target, verbatim. `files` are named relative to the attempt's folder.

    `returncode` is None where nobody has seen it: that is not 0.
    """

    returncode: int | None
    stdout: bytes
    stderr: bytes
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunResult:
    """The measurements of an attempt. A failed outcome has its reason and no measures that could become a point.

    With late reports of progress, or missing ones, the seconds of a series are only about right.
    """

    outcome: Outcome
    reason: str
    parser: str
    measures: Mapping[str, Measure] = field(default_factory=dict)
    series: tuple[Series, ...] = ()
    histograms: tuple[Histogram, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    remarks: tuple[str, ...] = ()
    has_late_reports: bool = False
