"""What a run may set on a server that is somebody's, by theme; whatever no line names may be set by its owner alone."""

from __future__ import annotations

import re

# How fast the server works, never who gets in, what a statement means, or what outlives a crash of its machine.
THEMES: tuple[tuple[str, str], ...] = (
    ("memory", "shared_buffers|work_mem|maintenance_work_mem|autovacuum_work_mem|temp_buffers|hash_mem_multiplier"),
    ("memory", "effective_cache_size|logical_decoding_work_mem|vacuum_buffer_usage_limit|min_dynamic_shared_memory"),
    ("memory", "huge_pages|huge_page_size|wal_buffers|gin_pending_list_limit"),
    ("memory", "(commit_timestamp|multixact_(member|offset)|notify|serializable|subtransaction|transaction)_buffers"),
    ("planner", "(seq|random)_page_cost|cpu_(index_tuple|operator|tuple)_cost|cursor_tuple_fraction|plan_cache_mode"),
    ("planner", "enable_[a-z_]+|geqo(_effort|_generations|_pool_size|_selection_bias|_threshold|_seed)?"),
    ("planner", "(from|join)_collapse_limit|constraint_exclusion|default_statistics_target|recursive_worktable_factor"),
    ("jit", "jit|jit_(inline_|optimize_)?above_cost|jit_expressions|jit_tuple_deforming"),
    ("parallelism", "max_parallel_(workers|workers_per_gather|maintenance_workers)|parallel_leader_participation"),
    ("parallelism", "parallel_(setup|tuple)_cost|min_parallel_(index|table)_scan_size"),
    ("WAL", "(min|max)_wal_size|wal_compression|wal_writer_(delay|flush_after)|wal_skip_threshold|wal_init_zero"),
    ("WAL", "wal_recycle|commit_(delay|siblings)|synchronous_commit"),
    ("checkpoints", "checkpoint_(timeout|completion_target|flush_after|warning)"),
    ("writers", "bgwriter_(delay|flush_after|lru_maxpages|lru_multiplier)|backend_flush_after"),
    ("reading", "(effective|maintenance)_io_concurrency|io_(method|workers|max_concurrency|(max_)?combine_limit)"),
    ("vacuum", "vacuum_cost_(delay|limit|page_dirty|page_hit|page_miss)|autovacuum|autovacuum_max_workers"),
    ("vacuum", "autovacuum_(naptime|vacuum_cost_(delay|limit)|(analyze|vacuum(_insert)?)_(threshold|scale_factor))"),
    ("connections", "max_connections"),
    ("logging", "log_(checkpoints|autovacuum_min_duration|lock_waits|temp_files)|track_(wal_)?io_timing"),
)
OWNER_ALONE = "its owner alone sets it, as it is none of the settings that runs may change on somebody's server"
MOST_CONNECTIONS = 5_000
_GRANTABLE = tuple(re.compile(pattern) for _, pattern in THEMES)


def is_grantable(name: str) -> bool:
    """Tell whether an owner's grant is for this setting; the server reads names in small or capital letters."""
    return any(pattern.fullmatch(name.lower()) for pattern in _GRANTABLE)


def beyond_bounds(name: str, value: str, in_force: str) -> str:
    """Return why a run may not give a setting this value, as a sentence; empty if it may. Both are as pg_settings says.

    Fewer connections than the server has now would lock others out.
    """
    if name != "max_connections":
        return ""
    if not value.isdecimal():
        return f"{name} is no number of connections there: test the instance again."
    if in_force.isdecimal() and int(value) < int(in_force):
        return f"{name} is {in_force} there, and runs only raise it: leave it out, or write {in_force} or more."
    if int(value) > MOST_CONNECTIONS:
        return f"{name} may be {MOST_CONNECTIONS:,} at most on somebody's server, not {int(value):,}."
    return ""
