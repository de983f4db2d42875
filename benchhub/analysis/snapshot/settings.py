"""The settings that a published page shows: an allow-list, as others may carry secrets or name something.

These are the switches, numbers and choices of PostgreSQL 9.3 to 18. What commands, connections, files, folders, ports
and accounts are set to is not among them, nor is any setting of an extension.
Of the operating system they are the numbers and choices of memory, scheduling, files and network.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

NAMES = """
    allow_alter_system archive_mode archive_timeout array_nulls authentication_timeout autovacuum
    autovacuum_analyze_scale_factor autovacuum_analyze_threshold autovacuum_freeze_max_age
    autovacuum_max_workers autovacuum_multixact_freeze_max_age autovacuum_naptime autovacuum_vacuum_cost_delay
    autovacuum_vacuum_cost_limit autovacuum_vacuum_insert_scale_factor autovacuum_vacuum_insert_threshold
    autovacuum_vacuum_max_threshold autovacuum_vacuum_scale_factor autovacuum_vacuum_threshold
    autovacuum_work_mem autovacuum_worker_slots backend_flush_after backslash_quote bgwriter_delay
    bgwriter_flush_after bgwriter_lru_maxpages bgwriter_lru_multiplier block_size bytea_output
    check_function_bodies checkpoint_completion_target checkpoint_flush_after checkpoint_segments
    checkpoint_timeout checkpoint_warning client_connection_check_interval client_encoding client_min_messages
    commit_delay commit_siblings commit_timestamp_buffers compute_query_id constraint_exclusion
    cpu_index_tuple_cost cpu_operator_cost cpu_tuple_cost cursor_tuple_fraction data_checksums data_sync_retry
    DateStyle deadlock_timeout debug_assertions debug_parallel_query debug_pretty_print debug_print_parse
    debug_print_plan debug_print_rewritten default_statistics_target default_table_access_method
    default_text_search_config default_toast_compression default_transaction_deferrable
    default_transaction_isolation default_transaction_read_only default_with_oids dynamic_shared_memory_type
    effective_cache_size effective_io_concurrency enable_async_append enable_bitmapscan
    enable_distinct_reordering enable_gathermerge enable_group_by_reordering enable_hashagg enable_hashjoin
    enable_incremental_sort enable_indexonlyscan enable_indexscan enable_material enable_memoize
    enable_mergejoin enable_nestloop enable_parallel_append enable_parallel_hash enable_partition_pruning
    enable_partitionwise_aggregate enable_partitionwise_join enable_presorted_aggregate
    enable_self_join_elimination enable_seqscan enable_sort enable_tidscan escape_string_warning event_triggers
    exit_on_error extra_float_digits file_copy_method file_extend_method force_parallel_mode from_collapse_limit
    fsync full_page_writes geqo geqo_effort geqo_generations geqo_pool_size geqo_seed geqo_selection_bias
    geqo_threshold gin_fuzzy_search_limit gin_pending_list_limit gss_accept_delegation hash_mem_multiplier
    hot_standby hot_standby_feedback huge_page_size huge_pages huge_pages_status icu_validation_level
    idle_in_transaction_session_timeout idle_replication_slot_timeout idle_session_timeout in_hot_standby
    integer_datetimes IntervalStyle io_combine_limit io_max_combine_limit io_max_concurrency io_method
    io_workers jit jit_above_cost jit_inline_above_cost jit_optimize_above_cost jit_provider join_collapse_limit
    lc_collate lc_ctype lc_messages lc_monetary lc_numeric lc_time lo_compat_privileges lock_timeout
    log_autovacuum_min_duration log_checkpoints log_connections log_disconnections log_duration
    log_error_verbosity log_executor_stats log_file_mode log_hostname log_lock_failures log_lock_waits
    log_min_duration_sample log_min_duration_statement log_min_error_statement log_min_messages
    log_parameter_max_length log_parameter_max_length_on_error log_parser_stats log_planner_stats
    log_recovery_conflict_waits log_replication_commands log_rotation_age log_rotation_size
    log_startup_progress_interval log_statement log_statement_sample_rate log_statement_stats log_temp_files
    log_timezone log_transaction_sample_rate log_truncate_on_rotation logging_collector
    logical_decoding_work_mem maintenance_io_concurrency maintenance_work_mem max_active_replication_origins
    max_connections max_files_per_process max_function_args max_identifier_length max_index_keys
    max_locks_per_transaction max_logical_replication_workers max_notify_queue_pages
    max_parallel_apply_workers_per_subscription max_parallel_maintenance_workers max_parallel_workers
    max_parallel_workers_per_gather max_pred_locks_per_page max_pred_locks_per_relation
    max_pred_locks_per_transaction max_prepared_transactions max_replication_slots max_slot_wal_keep_size
    max_stack_depth max_standby_archive_delay max_standby_streaming_delay max_sync_workers_per_subscription
    max_wal_senders max_wal_size max_worker_processes md5_password_warnings min_dynamic_shared_memory
    min_parallel_index_scan_size min_parallel_relation_size min_parallel_table_scan_size min_wal_size
    multixact_member_buffers multixact_offset_buffers notify_buffers num_os_semaphores old_snapshot_threshold
    operator_precedence_warning parallel_leader_participation parallel_setup_cost parallel_tuple_cost
    password_encryption plan_cache_mode quote_all_identifiers random_page_cost recovery_init_sync_method
    recovery_min_apply_delay recovery_prefetch recovery_target_action recovery_target_inclusive
    recursive_worktable_factor replacement_sort_tuples reserved_connections restart_after_crash row_security
    scram_iterations segment_size seq_page_cost serializable_buffers server_encoding server_version
    server_version_num session_preload_libraries session_replication_role shared_buffers shared_memory_size
    shared_memory_size_in_huge_pages shared_memory_type shared_preload_libraries sql_inheritance ssl
    ssl_max_protocol_version ssl_min_protocol_version ssl_passphrase_command_supports_reload
    ssl_prefer_server_ciphers ssl_renegotiation_limit standard_conforming_strings statement_timeout
    stats_fetch_consistency subtransaction_buffers summarize_wal superuser_reserved_connections
    sync_replication_slots synchronize_seqscans synchronous_commit syslog_sequence_numbers syslog_split_messages
    tcp_keepalives_count tcp_keepalives_idle tcp_keepalives_interval tcp_user_timeout temp_buffers
    temp_file_limit TimeZone track_activities track_activity_query_size track_commit_timestamp
    track_cost_delay_timing track_counts track_functions track_io_timing track_wal_io_timing transaction_buffers
    transaction_timeout transform_null_equals update_process_title vacuum_buffer_usage_limit
    vacuum_cleanup_index_scale_factor vacuum_cost_delay vacuum_cost_limit vacuum_cost_page_dirty
    vacuum_cost_page_hit vacuum_cost_page_miss vacuum_defer_cleanup_age vacuum_failsafe_age
    vacuum_freeze_min_age vacuum_freeze_table_age vacuum_max_eager_freeze_failure_rate
    vacuum_multixact_failsafe_age vacuum_multixact_freeze_min_age vacuum_multixact_freeze_table_age
    vacuum_truncate wal_block_size wal_buffers wal_compression wal_consistency_checking wal_decode_buffer_size
    wal_init_zero wal_keep_segments wal_keep_size wal_level wal_log_hints wal_receiver_create_temp_slot
    wal_receiver_status_interval wal_receiver_timeout wal_recycle wal_retrieve_retry_interval wal_segment_size
    wal_sender_timeout wal_skip_threshold wal_summary_keep_time wal_sync_method wal_writer_delay
    wal_writer_flush_after work_mem xmlbinary xmloption
"""
OS_NAMES = """
    fs.aio-max-nr fs.file-max fs.nr_open kernel.io_uring_disabled kernel.msgmax kernel.msgmnb kernel.msgmni
    kernel.numa_balancing kernel.numa_balancing_scan_delay_ms kernel.numa_balancing_scan_period_max_ms
    kernel.numa_balancing_scan_period_min_ms kernel.numa_balancing_scan_size_mb kernel.perf_event_paranoid
    kernel.pid_max kernel.randomize_va_space kernel.sched_autogroup_enabled kernel.sched_latency_ns
    kernel.sched_migration_cost_ns kernel.sched_min_granularity_ns kernel.sched_nr_migrate kernel.sched_rr_timeslice_ms
    kernel.sched_rt_period_us kernel.sched_rt_runtime_us kernel.sched_wakeup_granularity_ns kernel.sem kernel.shmall
    kernel.shmmax kernel.shmmni kernel.threads-max kernel.timer_migration net.core.busy_poll net.core.busy_read
    net.core.default_qdisc net.core.netdev_budget net.core.netdev_max_backlog net.core.optmem_max
    net.core.rmem_default net.core.rmem_max net.core.rps_sock_flow_entries net.core.somaxconn net.core.wmem_default
    net.core.wmem_max net.ipv4.ip_local_port_range net.ipv4.tcp_autocorking net.ipv4.tcp_congestion_control
    net.ipv4.tcp_fastopen net.ipv4.tcp_fin_timeout net.ipv4.tcp_keepalive_intvl net.ipv4.tcp_keepalive_probes
    net.ipv4.tcp_keepalive_time net.ipv4.tcp_limit_output_bytes net.ipv4.tcp_low_latency net.ipv4.tcp_max_syn_backlog
    net.ipv4.tcp_max_tw_buckets net.ipv4.tcp_mem net.ipv4.tcp_moderate_rcvbuf net.ipv4.tcp_mtu_probing
    net.ipv4.tcp_no_metrics_save net.ipv4.tcp_notsent_lowat net.ipv4.tcp_rmem net.ipv4.tcp_sack
    net.ipv4.tcp_slow_start_after_idle net.ipv4.tcp_syncookies net.ipv4.tcp_timestamps net.ipv4.tcp_tw_reuse
    net.ipv4.tcp_window_scaling net.ipv4.tcp_wmem transparent_hugepage transparent_hugepages vm.compaction_proactiveness
    vm.dirty_background_bytes vm.dirty_background_ratio vm.dirty_bytes vm.dirty_expire_centisecs vm.dirty_ratio
    vm.dirty_writeback_centisecs vm.dirtytime_expire_seconds vm.extfrag_threshold vm.hugetlb_optimize_vmemmap
    vm.hugetlb_shm_group vm.lowmem_reserve_ratio vm.max_map_count vm.min_free_kbytes vm.min_slab_ratio
    vm.min_unmapped_ratio vm.nr_hugepages vm.nr_hugepages_mempolicy vm.nr_overcommit_hugepages vm.numa_stat
    vm.numa_zonelist_order vm.overcommit_kbytes vm.overcommit_memory vm.overcommit_ratio vm.page-cluster
    vm.page_lock_unfairness vm.percpu_pagelist_high_fraction vm.stat_interval vm.swappiness vm.vfs_cache_pressure
    vm.watermark_boost_factor vm.watermark_scale_factor vm.zone_reclaim_mode
"""
SHOWN = frozenset(NAMES.split())
OS_SHOWN = frozenset(OS_NAMES.split())
# Options of the kernel's command line that bear on speed (runners/probe.py reads no others).
KERNEL_SHOWN = re.compile(
    r"(?:mitigations|nosmt|isolcpus|nohz_full|rcu_nocbs|intel_pstate|amd_pstate|cpufreq\.\w{1,30}|intel_idle\.max_cstate"
    r"|processor\.max_cstate|idle|transparent_hugepage|hugepages|hugepagesz|default_hugepagesz|numa|numa_balancing"
    r"|elevator|clocksource|tsc|nopti|pti|maxcpus|nr_cpus|mem)"
)
# A switch, a number with its unit, a choice, or some of these by commas: no path, no address, no account.
PLAIN = re.compile(r"[A-Za-z0-9_.+% -]{0,40}(?:,[A-Za-z0-9_.+% -]{1,40}){0,15}")
# What pg_settings has in these columns: a server that lies has anything there.
UNIT = re.compile(r"|[0-9]{0,6}(?:[kMGT]?B|us|ms|s|min|h|d)")
SOURCES = frozenset(
    ("", "default", "environment variable", "configuration file", "command line", "global", "database", "user",
     "database user", "client", "override", "interactive", "test", "session")
)  # fmt: skip


def shown(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that may be shown, name -> text or {"setting", "unit", "source"}; others are left out."""
    return {name: value for name, value in settings.items() if is_shown(name, value)}


def shown_of_os(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of an operating system that may be shown, name -> text; others are left out."""
    return {name: value for name, value in settings.items() if name in OS_SHOWN and is_plain(value)}


def shown_of_kernel(options: Iterable[str]) -> list[str]:
    """Return the options of a kernel's command line that may be shown; others are left out."""
    return [option for option in options if _is_kernel_option(*option.partition("=")[::2])]


def _is_kernel_option(name: str, value: str) -> bool:
    return KERNEL_SHOWN.fullmatch(name) is not None and is_plain(value)


def is_shown(name: str, value: Any) -> bool:
    """Tell whether a setting may be shown: by its name, and as all that its server says of it is plain."""
    if not isinstance(value, Mapping):
        return name in SHOWN and is_plain(value)
    setting, unit, source = (str(value.get(part) or "") for part in ("setting", "unit", "source"))
    return name in SHOWN and is_plain(setting) and UNIT.fullmatch(unit) is not None and source in SOURCES


def is_plain(value: Any) -> bool:
    """Tell whether a value is a switch, a number or a few plain words: no path, address or quoted text."""
    return PLAIN.fullmatch(str(value)) is not None
