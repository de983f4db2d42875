"""The metrics that are observed once a second while a load runs: one line each, and nowhere else.

A source is 'group.name', as the collector notes it: `mem.` names a line of /proc/meminfo and `vm.` one of /proc/vmstat,
a view of PostgreSQL's statistics names its column; all of these are collected because they stand here. What else there
is, `runners/target/telemetry.awk` and `runners/telemetry/statements.py` print. 'a+b' adds, 'a|b' takes the first that
this kernel or server has; where there is none, the metric is missing. `disk.data`, `disk.wal` and `disk.all` are the
devices of the data directory, of WAL where that is another one, and of the machine where neither is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Derivation = Literal["rate", "gauge", "share", "ratio"]
Drawing = Literal["line", "area"]

CPU_TOTAL = "cpu.user+cpu.nice+cpu.system+cpu.idle+cpu.iowait+cpu.irq+cpu.softirq+cpu.steal"
SECTOR_MB = 512 / 1e6
KB_GB = 1024 / 1e9
PAGE_MB = 8192 / 1e6
US_PERCENT = 100 / 1e6
MS_PERCENT = 100 / 1e3


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: how it is called, and how it comes of raw counters.

    rate: growth a second, times `factor`. gauge: the value, times `factor`. share and ratio: growth of the source per
    growth of `base`, times `factor`. `side`: whether it is of a machine or of the PostgreSQL server.
    """

    name: str
    words: str
    unit: str
    source: str
    derivation: Derivation
    panel: str
    factor: float = 1.0
    base: str = ""
    drawing: Drawing = "line"


METRICS = (
    Metric("cpu_user", "user", "%", "cpu.user+cpu.nice", "share", "CPU", 100, CPU_TOTAL, "area"),
    Metric("cpu_system", "system", "%", "cpu.system+cpu.irq+cpu.softirq", "share", "CPU", 100, CPU_TOTAL, "area"),
    Metric("cpu_iowait", "iowait", "%", "cpu.iowait", "share", "CPU", 100, CPU_TOTAL, "area"),
    Metric("cpu_steal", "steal", "%", "cpu.steal", "share", "CPU", 100, CPU_TOTAL, "area"),
    Metric("run_queue", "running", "threads", "sched.procs_running", "gauge", "Run queue"),
    Metric("blocked", "waiting for I/O", "threads", "sched.procs_blocked", "gauge", "Run queue"),
    Metric("context_switches", "context switches", "1/s", "sched.ctxt", "rate", "Context switches"),
    Metric("forks", "processes started", "1/s", "sched.processes", "rate", "Processes started"),
    Metric("psi_cpu", "CPU", "%", "psi.cpu.some", "rate", "Pressure", US_PERCENT),
    Metric("psi_io", "I/O", "%", "psi.io.some", "rate", "Pressure", US_PERCENT),
    Metric("psi_memory", "memory", "%", "psi.memory.some", "rate", "Pressure", US_PERCENT),
    Metric("psi_io_full", "I/O, all stalled", "%", "psi.io.full", "rate", "Pressure", US_PERCENT),
    Metric("memory_available", "available", "GB", "mem.MemAvailable|mem.MemFree", "gauge", "Memory", KB_GB),
    Metric("memory_cached", "page cache", "GB", "mem.Cached", "gauge", "Memory", KB_GB),
    Metric("memory_anonymous", "anonymous", "GB", "mem.AnonPages", "gauge", "Memory", KB_GB),
    Metric("memory_shared", "shared", "GB", "mem.Shmem", "gauge", "Memory", KB_GB),
    Metric("dirty", "dirty", "GB", "mem.Dirty", "gauge", "Dirty pages", KB_GB),
    Metric("writeback", "being written", "GB", "mem.Writeback", "gauge", "Dirty pages", KB_GB),
    Metric("major_faults", "major faults", "1/s", "vm.pgmajfault", "rate", "Paging"),
    Metric("swapped_in", "pages swapped in", "1/s", "vm.pswpin", "rate", "Paging"),
    Metric("swapped_out", "pages swapped out", "1/s", "vm.pswpout", "rate", "Paging"),
    Metric("data_read", "data, read", "MB/s", "disk.data.read_sectors", "rate", "Disks", SECTOR_MB),
    Metric("data_written", "data, written", "MB/s", "disk.data.write_sectors", "rate", "Disks", SECTOR_MB),
    Metric("wal_disk_read", "WAL, read", "MB/s", "disk.wal.read_sectors", "rate", "Disks", SECTOR_MB),
    Metric("wal_disk_written", "WAL, written", "MB/s", "disk.wal.write_sectors", "rate", "Disks", SECTOR_MB),
    Metric("disk_read", "read", "MB/s", "disk.all.read_sectors", "rate", "Disks", SECTOR_MB),
    Metric("disk_written", "written", "MB/s", "disk.all.write_sectors", "rate", "Disks", SECTOR_MB),
    Metric("data_reads", "data, reads", "1/s", "disk.data.reads", "rate", "Disk requests"),
    Metric("data_writes", "data, writes", "1/s", "disk.data.writes", "rate", "Disk requests"),
    Metric("wal_disk_writes", "WAL, writes", "1/s", "disk.wal.writes", "rate", "Disk requests"),
    Metric("disk_requests", "requests", "1/s", "disk.all.reads+disk.all.writes", "rate", "Disk requests"),
    Metric("data_read_ms", "data, a read", "ms", "disk.data.read_ms", "ratio", "Disk latency", 1, "disk.data.reads"),
    Metric(
        "data_write_ms", "data, a write", "ms", "disk.data.write_ms", "ratio", "Disk latency", 1,
        "disk.data.writes",
    ),
    Metric("wal_write_ms", "WAL, a write", "ms", "disk.wal.write_ms", "ratio", "Disk latency", 1, "disk.wal.writes"),
    Metric(
        "disk_ms", "a request", "ms", "disk.all.read_ms+disk.all.write_ms", "ratio", "Disk latency", 1,
        "disk.all.reads+disk.all.writes",
    ),
    Metric(
        "data_flush_ms", "data, a flush", "ms", "disk.data.flush_ms", "ratio", "Disk latency", 1,
        "disk.data.flushes",
    ),
    Metric("wal_flush_ms", "WAL, a flush", "ms", "disk.wal.flush_ms", "ratio", "Disk latency", 1, "disk.wal.flushes"),
    Metric("data_busy", "data", "%", "disk.data.busy_ms", "rate", "Disk utilisation", MS_PERCENT),
    Metric("wal_disk_busy", "WAL", "%", "disk.wal.busy_ms", "rate", "Disk utilisation", MS_PERCENT),
    Metric("disk_busy", "busiest by sum", "%", "disk.all.busy_ms", "rate", "Disk utilisation", MS_PERCENT),
    Metric("data_queue", "data", "requests", "disk.data.queue_ms", "rate", "Disk queue", 1e-3),
    Metric("wal_disk_queue", "WAL", "requests", "disk.wal.queue_ms", "rate", "Disk queue", 1e-3),
    Metric("disk_queue", "all", "requests", "disk.all.queue_ms", "rate", "Disk queue", 1e-3),
    Metric("network_received", "received", "MB/s", "net.rx_bytes", "rate", "Network", 1e-6),
    Metric("network_sent", "sent", "MB/s", "net.tx_bytes", "rate", "Network", 1e-6),
    Metric("packets_received", "received", "1/s", "net.rx_packets", "rate", "Packets"),
    Metric("packets_sent", "sent", "1/s", "net.tx_packets", "rate", "Packets"),
    Metric("packets_lost", "lost", "1/s", "net.lost", "rate", "Packets"),
    Metric("retransmitted", "sent again", "1/s", "tcp.retransmitted", "rate", "Packets"),
    Metric("frequency", "mean frequency", "MHz", "clock.mhz", "gauge", "Frequency"),
    Metric("throttled", "slowed down by heat", "1/s", "clock.throttled", "rate", "Throttling"),
    Metric("quota_throttled", "held back by a quota", "1/s", "cgroup.throttled", "rate", "Throttling"),
    Metric("commits", "commits", "1/s", "pg_stat_database.xact_commit", "rate", "Transactions"),
    Metric("rollbacks", "rollbacks", "1/s", "pg_stat_database.xact_rollback", "rate", "Transactions"),
    Metric("deadlocks", "deadlocks", "1/s", "pg_stat_database.deadlocks", "rate", "Transactions"),
    Metric("rows_returned", "read", "rows/s", "pg_stat_database.tup_returned", "rate", "Rows"),
    Metric("rows_inserted", "inserted", "rows/s", "pg_stat_database.tup_inserted", "rate", "Rows"),
    Metric("rows_updated", "updated", "rows/s", "pg_stat_database.tup_updated", "rate", "Rows"),
    Metric("rows_deleted", "deleted", "rows/s", "pg_stat_database.tup_deleted", "rate", "Rows"),
    Metric(
        "buffers_hit", "found in shared buffers", "%", "pg_stat_database.blks_hit", "ratio", "Shared buffers", 100,
        "pg_stat_database.blks_hit+pg_stat_database.blks_read",
    ),
    Metric("blocks_read", "read", "MB/s", "pg_stat_database.blks_read", "rate", "Blocks of the database", PAGE_MB),
    Metric(
        "temporary", "temporary files", "MB/s", "pg_stat_database.temp_bytes", "rate",
        "Blocks of the database", 1e-6,
    ),
    Metric("wal", "WAL", "MB/s", "wal.position", "rate", "WAL", 1e-6),
    Metric("wal_full_pages", "full pages", "1/s", "pg_stat_wal.wal_fpi", "rate", "WAL records"),
    Metric("wal_records", "records", "1/s", "pg_stat_wal.wal_records", "rate", "WAL records"),
    Metric("wal_buffers_full", "WAL buffers were full", "1/s", "pg_stat_wal.wal_buffers_full", "rate", "WAL records"),
    Metric("wal_writes", "writes", "1/s", "pg_stat_wal.wal_write|pg_stat_io_wal.writes", "rate", "WAL writes"),
    Metric("wal_syncs", "syncs", "1/s", "pg_stat_wal.wal_sync|pg_stat_io_wal.fsyncs", "rate", "WAL writes"),
    Metric(
        "checkpoint_written", "by checkpoints", "MB/s",
        "pg_stat_checkpointer.buffers_written|pg_stat_bgwriter.buffers_checkpoint", "rate", "Buffers written", PAGE_MB,
    ),
    Metric(
        "bgwriter_written", "by the background writer", "MB/s", "pg_stat_bgwriter.buffers_clean", "rate",
        "Buffers written", PAGE_MB,
    ),
    Metric(
        "backend_written", "by backends", "MB/s", "pg_stat_bgwriter.buffers_backend|pg_stat_io_backends.writes", "rate",
        "Buffers written", PAGE_MB,
    ),
    Metric(
        "bgwriter_stops", "it wrote too much at once", "1/s", "pg_stat_bgwriter.maxwritten_clean", "rate",
        "Background writer stopped",
    ),
    Metric(
        "checkpoints_started", "checkpoints begun", "1/s",
        "pg_stat_checkpointer.num_timed+pg_stat_checkpointer.num_requested"
        "|pg_stat_bgwriter.checkpoints_timed+pg_stat_bgwriter.checkpoints_req", "rate", "Checkpoints",
    ),
    Metric(
        "checkpoint_write", "checkpoints written", "ms/s",
        "pg_stat_checkpointer.write_time|pg_stat_bgwriter.checkpoint_write_time", "rate", "Checkpoints",
    ),
    Metric("checkpointing", "a checkpoint is under way", "0 or 1", "activity.checkpointing", "gauge", "Checkpoints"),
    Metric("io_reads", "reads", "1/s", "pg_stat_io.reads", "rate", "I/O of the server"),
    Metric("io_writes", "writes", "1/s", "pg_stat_io.writes", "rate", "I/O of the server"),
    Metric("io_extends", "extensions", "1/s", "pg_stat_io.extends", "rate", "I/O of the server"),
    Metric("io_fsyncs", "fsyncs", "1/s", "pg_stat_io.fsyncs", "rate", "I/O of the server"),
    Metric("io_evictions", "evictions", "1/s", "pg_stat_io.evictions", "rate", "I/O of the server"),
    Metric("sessions_active", "active", "sessions", "activity.active", "gauge", "Sessions"),
    Metric("sessions_idle", "idle in a transaction", "sessions", "activity.idle_in_transaction", "gauge", "Sessions"),
    Metric("lock_waits", "waiting for a lock", "sessions", "activity.lock_waits", "gauge", "Sessions"),
    Metric("autovacuum", "workers", "workers", "activity.autovacuum_workers", "gauge", "Autovacuum"),
    Metric("replicas", "standbys", "standbys", "replication.standbys", "gauge", "Standbys"),
    Metric(
        "replication_lag_bytes", "not yet replayed", "MB", "replication.lag_bytes", "gauge",
        "Replication lag", 1e-6,
    ),
    Metric("replication_lag_s", "replay lag", "s", "replication.lag_s", "gauge", "Replication delay"),
    Metric("collector_cpu", "collector", "cores", "self.ticks", "rate", "Collector"),
)  # fmt: skip
# Before the names of metrics of the driver's machine, where the server runs on another one.
DRIVER_PREFIX = "driver:"
# A metric for each wait event that was seen; the rarer ones are one together.
WAIT_PREFIX = "wait:"
WAIT_PANEL, WAIT_UNIT, WAIT_GROUP = "Waits", "sessions", "wait"
MOST_WAITS, OTHER_WAITS = 7, "others"
# The last two are parts of pg_stat_io (statements.py): what backends write, which pg_stat_bgwriter tells before 17, and
# WAL, which pg_stat_wal tells before 18.
VIEWS = (
    *("pg_stat_database", "pg_stat_bgwriter", "pg_stat_checkpointer", "pg_stat_wal"),
    *("pg_stat_io", "pg_stat_io_backends", "pg_stat_io_wal"),
)
SERVER_GROUPS = (*VIEWS, "activity", "wal", "replication")
BY_NAME = {metric.name: metric for metric in METRICS}


def is_of_server(metric: Metric) -> bool:
    """Tell whether PostgreSQL tells this metric itself, wherever it runs."""
    return metric.source.startswith(tuple(f"{group}." for group in SERVER_GROUPS))


def alternatives(source: str) -> list[list[str]]:
    """Return the names to add, for each way in which a source may be there."""
    return [alternative.split("+") for alternative in source.split("|")]


def names_of(group: str) -> list[str]:
    """Return the names that metrics read of a group of raw counters, each once, in their order."""
    sources = [metric.source for metric in METRICS] + [metric.base for metric in METRICS if metric.base]
    names = [name for source in sources for terms in alternatives(source) for name in terms]
    return list(dict.fromkeys(name.removeprefix(f"{group}.") for name in names if name.startswith(f"{group}.")))
