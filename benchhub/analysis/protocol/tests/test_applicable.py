"""Settings before they are applied, by the recorded pg_settings of PostgreSQL 16.14 on a host of 8 GiB."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchhub.analysis.protocol.applicable import MOST_SETTINGS, Server, applied, need_restart, refusals, spelled
from benchhub.analysis.protocol.parameters import parameter

ROWS = json.loads((Path(__file__).parent / "pg_settings_16.json").read_text())
PARAMETERS = {name: parameter(name, row) for name, row in ROWS.items()}
SERVER = Server("16.14", PARAMETERS, libraries=("auto_explain", "pg_stat_statements"), memory_bytes=8 * 2**30)
HUGE = "9" * 30

BAD = [
    # There is no such setting, or it is no longer there.
    ("shared_bufers", "1GB", "shared_bufers is no setting of PostgreSQL 16.14. Is shared_buffers meant?"),
    ("checkpoint_segments", "16", "checkpoint_segments is no setting of PostgreSQL 16.14."),
    ("wal_keep_segments", "16", "wal_keep_segments is no setting of PostgreSQL 16.14."),
    ("io_method", "io_uring", "io_method is no setting of PostgreSQL 16.14."),
    ("", "1", " is no setting of PostgreSQL 16.14."),
    ("work_mem; DROP", "1", "work_mem; DROP is no setting of PostgreSQL 16.14."),
    ("pg_stat_statements.max", "100", "pg_stat_statements.max is a setting of an extension"),
    # It is of another type.
    ("fsync", "maybe", "fsync is on or off, not 'maybe'."),
    ("fsync", "", "fsync is on or off, not ''."),
    ("fsync", "o", "fsync is on or off, not 'o'."),
    ("full_page_writes", "2", "full_page_writes is on or off, not '2'."),
    ("autovacuum", "on off", "autovacuum is on or off, not 'on off'."),
    ("jit", "enabled", "jit is on or off, not 'enabled'."),
    ("max_connections", "many", "max_connections is a whole number, not 'many'."),
    ("max_connections", "", "max_connections is a whole number, not ''."),
    ("max_connections", "1,000", "max_connections is a whole number, not '1,000'."),
    ("max_connections", "nan", "max_connections is a whole number, not 'nan'."),
    ("max_connections", "0x", "max_connections takes no unit: write the number without 'x'."),
    ("max_connections", HUGE, "max_connections is a whole number, not '99"),
    ("random_page_cost", "cheap", "random_page_cost is a number, not 'cheap'."),
    ("random_page_cost", "inf", "random_page_cost is a number, not 'inf'."),
    ("random_page_cost", "1e999", "random_page_cost is a number, not '1e999'."),
    (
        "shared_buffers",
        "1/4 of RAM",
        "is a whole number, with one of the units B, kB, MB, GB, TB or none",
    ),
    ("shared_buffers", "25%", "shared_buffers is a whole number, with one of the units"),
    ("shared_buffers", "1 GB 2 MB", "shared_buffers is a whole number, with one of the units"),
    # It has another unit.
    ("shared_buffers", "1gb", "takes the units B, kB, MB, GB, TB, not 'gb': small and capital letters differ."),
    ("shared_buffers", "1G", "takes the units B, kB, MB, GB, TB, not 'G'"),
    ("shared_buffers", "64KB", "takes the units B, kB, MB, GB, TB, not 'KB'"),
    ("shared_buffers", "5min", "takes the units B, kB, MB, GB, TB, not 'min'"),
    ("checkpoint_timeout", "5MB", "takes the units us, ms, s, min, h, d, not 'MB'"),
    ("checkpoint_timeout", "5m", "takes the units us, ms, s, min, h, d, not 'm'"),
    ("checkpoint_timeout", "5 minutes", "takes the units us, ms, s, min, h, d, not 'minutes'"),
    ("max_connections", "100MB", "max_connections takes no unit: write the number without 'MB'."),
    ("random_page_cost", "1.1ms", "random_page_cost takes no unit: write the number without 'ms'."),
    # It is out of range.
    ("shared_buffers", "8kB", "shared_buffers is from 16 to 1073741823 8kB, not 8kB (1 8kB)."),
    ("shared_buffers", "15", "shared_buffers is from 16 to 1073741823 8kB, not 15."),
    ("shared_buffers", "-1", "shared_buffers is from 16 to 1073741823 8kB, not -1."),
    ("work_mem", "63", "work_mem is from 64 to 2147483647 kB, not 63."),
    ("work_mem", "4TB", "work_mem is from 64 to 2147483647 kB, not 4TB (4294967296 kB)."),
    ("max_connections", "0", "max_connections is from 1 to 262143, not 0."),
    ("max_connections", "262144", "max_connections is from 1 to 262143, not 262144."),
    ("checkpoint_timeout", "29", "checkpoint_timeout is from 30 to 86400 s, not 29."),
    ("checkpoint_timeout", "2d", "checkpoint_timeout is from 30 to 86400 s, not 2d (172800 s)."),
    ("checkpoint_completion_target", "1.5", "checkpoint_completion_target is from 0 to 1, not 1.5."),
    ("checkpoint_completion_target", "-0.1", "checkpoint_completion_target is from 0 to 1, not -0.1."),
    ("seq_page_cost", "-1", "seq_page_cost is from 0 to"),
    ("wal_buffers", "-2", "wal_buffers is from -1 to 262143 8kB, not -2."),
    ("bgwriter_lru_maxpages", "1073741824", "bgwriter_lru_maxpages is from 0 to 1073741823, not 1073741824."),
    ("effective_io_concurrency", "1001", "effective_io_concurrency is from 0 to 1000, not 1001."),
    ("max_wal_size", "1", "max_wal_size is from 2 to 2147483647 MB, not 1."),
    ("autovacuum_vacuum_scale_factor", "101", "autovacuum_vacuum_scale_factor is from 0 to 100, not 101."),
    # It is none of the words.
    ("wal_level", "archive", "wal_level is minimal, replica or logical, not 'archive'."),
    ("synchronous_commit", "sometimes", "synchronous_commit is local, remote_write, remote_apply, on or off"),
    ("wal_sync_method", "fsync_sometimes", "wal_sync_method is"),
    ("huge_pages", "maybe", "huge_pages is off, on or try, not 'maybe'."),
    ("wal_compression", "gzip", "wal_compression is"),
    ("ssl_max_protocol_version", "TLSv2", "ssl_max_protocol_version is TLSv1, TLSv1.1, TLSv1.2 or TLSv1.3, not"),
    # The server takes no blank around a word.
    ("jit", " off", "jit is on or off, not ' off'."),
    ("huge_pages", "try ", "huge_pages is off, on or try, not 'try '."),
    # It lies in a gap of its range: the server refuses it, or makes another number of it.
    ("wal_buffers", "0", "wal_buffers is -1 or at least 32 kB, not 0."),
    ("wal_buffers", "24kB", "wal_buffers is -1 or at least 32 kB, not 24kB."),
    ("autovacuum_work_mem", "1000", "autovacuum_work_mem is -1 or at least 1 MB, not 1000."),
    ("vacuum_buffer_usage_limit", "64kB", "vacuum_buffer_usage_limit is 0 or at least 128 kB, not 64kB."),
    # It cannot be set at all.
    ("block_size", "16384", "block_size cannot be set: it is fixed when the server is built or its cluster made."),
    ("data_checksums", "on", "data_checksums cannot be set"),
    ("wal_segment_size", "64MB", "wal_segment_size cannot be set"),
    ("server_version", "17", "server_version cannot be set"),
    ("max_index_keys", "64", "max_index_keys cannot be set"),
    ("transaction_isolation", "serializable", "transaction_isolation is not applied: it belongs to a transaction."),
    # BenchHub does not apply it.
    ("data_directory", "/data", "data_directory is not applied: BenchHub sets it itself"),
    ("config_file", "/etc/passwd", "config_file is not applied"),
    ("hba_file", "/tmp/hba", "hba_file is not applied"),  # nosec B108
    ("listen_addresses", "*", "listen_addresses is not applied: BenchHub sets it itself"),
    ("port", "5433", "port is not applied"),
    ("unix_socket_directories", "/run", "unix_socket_directories is not applied"),
    ("unix_socket_permissions", "0777", "unix_socket_permissions is not applied"),
    ("archive_command", "rm -rf /", "archive_command is not applied: it would run a command on the host."),
    ("archive_mode", "on", "archive_mode is not applied"),
    ("archive_library", "evil", "archive_library is not applied"),
    ("restore_command", "id", "restore_command is not applied"),
    ("ssl_passphrase_command", "id", "ssl_passphrase_command is not applied"),
    ("ssl_key_file", "/etc/shadow", "ssl_key_file is not applied: it names files or folders of the host."),
    ("dynamic_library_path", "/tmp", "dynamic_library_path is not applied"),  # nosec B108
    ("local_preload_libraries", "x", "local_preload_libraries is not applied"),
    ("log_directory", "/", "log_directory is not applied"),
    ("logging_collector", "on", "logging_collector is not applied"),
    ("primary_conninfo", "host=x", "primary_conninfo is not applied: it is for recovery and standbys"),
    ("synchronous_standby_names", "a", "synchronous_standby_names is not applied"),
    ("zero_damaged_pages", "on", "zero_damaged_pages is not applied: it hides damaged data."),
    # The host has not got it.
    ("shared_buffers", "9GB", "shared_buffers = 9GB is more than the memory of the host, 8.0 GiB."),
    ("maintenance_work_mem", "100GB", "maintenance_work_mem = 100GB is more than the memory of the host"),
    ("shared_preload_libraries", "pg_cron", "shared_preload_libraries asks for pg_cron, which is no library of this"),
    ("shared_preload_libraries", "auto_explain, /evil", "shared_preload_libraries asks for /evil"),
    ("session_preload_libraries", "$libdir/x", "session_preload_libraries asks for $libdir/x"),
    # It is no value of one line.
    ("search_path", "a\nport = 1", "search_path takes one line of at most 1,000 characters."),
    ("search_path", "x" * 1001, "search_path takes one line of at most 1,000 characters."),
    ("application_name", "a\0b", "application_name takes one line of at most 1,000 characters."),
]


@pytest.mark.parametrize(("name", "value", "sentence"), BAD)
def test_a_bad_setting_is_refused_with_its_name_and_what_is_wrong(name, value, sentence):
    [problem] = refusals({name: value}, SERVER)
    assert sentence in problem
    assert problem.startswith(name) and problem.endswith((".", " meant?"))
    assert refusals({"work_mem": "8MB", name: value}, SERVER) == [problem]  # what is right beside it stays right


def test_there_are_at_least_sixty_bad_settings():
    assert len(BAD) >= 60 and len({(name, value) for name, value, _ in BAD}) == len(BAD)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"max_connections": "3"}, "max_connections is 3, and 3 of them are reserved: leave some for the load."),
        ({"superuser_reserved_connections": "100"}, "max_connections is 100, and 100 of them are reserved"),
        ({"wal_level": "minimal"}, "wal_level = minimal needs max_wal_senders = 0 beside it: set both."),
        ({"huge_pages": "on", "shared_memory_type": "sysv"}, "huge_pages = on needs shared_memory_type = mmap."),
        ({"max_connections": "262143"}, "autovacuum_max_workers are 262164 together: the server takes at most 262141"),
        ({"min_wal_size": "31MB"}, "min_wal_size is at least two WAL segments, which are 16 MB each on this cluster."),
    ],
)
def test_settings_that_contradict_each_other_are_refused_together(settings, sentence):
    [problem] = refusals(settings, SERVER)
    assert sentence in problem


def test_all_that_is_wrong_is_said_at_once():
    problems = refusals({"shared_buffers": "1gb", "fsync": "on", "port": "1", "wurk_mem": "1"}, SERVER)
    assert [problem.split()[0] for problem in problems] == ["shared_buffers", "port", "wurk_mem"]


def test_more_settings_than_anybody_needs_are_refused():
    many = {f"name_{number}": "1" for number in range(MOST_SETTINGS + 1)}
    assert refusals(many, SERVER) == ["These are 201 settings: at most 200 are applied."]


@pytest.mark.parametrize(
    ("name", "value", "in_force"),
    [
        ("shared_buffers", "128MB", "16384"),
        ("shared_buffers", "16384", "16384"),
        ("shared_buffers", "1.5GB", "196608"),
        ("shared_buffers", " 128 MB ", "16384"),
        ("work_mem", "0x1000", "4096"),
        ("max_connections", "0100", "64"),  # octal, as the server reads it
        ("wal_compression", "on", "pglz"),
        ("checkpoint_timeout", "15min", "900"),
        ("checkpoint_timeout", "0.5h", "1800"),
        ("wal_writer_delay", "1s", "1000"),
        ("commit_delay", "10", "10"),
        ("random_page_cost", "1.10", "1.1"),
        ("random_page_cost", "4", "4"),
        ("checkpoint_completion_target", "0.9", "0.9"),
        ("vacuum_cost_delay", "2500us", "2.5"),
        ("fsync", "FALSE", "off"),
        ("fsync", "t", "on"),
        ("synchronous_commit", "no", "off"),
        ("synchronous_commit", "Local", "local"),
        ("wal_level", "LOGICAL", "logical"),
        ("shared_preload_libraries", "auto_explain, pg_stat_statements", "auto_explain, pg_stat_statements"),
        ("max_connections", "1e2", "100"),
        ("autovacuum_work_mem", "-1", "-1"),
        ("autovacuum_work_mem", "1MB", "1024"),
        ("vacuum_buffer_usage_limit", "0", "0"),
        ("ssl_max_protocol_version", "TLSV1.3", "TLSv1.3"),
    ],
)
def test_a_good_setting_is_written_as_the_server_shows_it(name, value, in_force):
    assert refusals({name: value}, SERVER) == []
    assert applied({name: value}, SERVER) == {name: in_force}


def test_newer_servers_count_slots_of_autovacuum_and_take_buffers_in_banks():
    rows = {"transaction_buffers": {"kind": "integer", "unit": "8kB", "lowest": "0", "highest": "131072"}}
    rows |= {"autovacuum_worker_slots": {"kind": "integer", "lowest": "1", "highest": "262143", "default": "16"}}
    newer = replace(SERVER, parameters={**PARAMETERS, **{name: parameter(name, row) for name, row in rows.items()}})
    assert refusals({"transaction_buffers": "40"}, newer) == ["transaction_buffers is a multiple of 16, not 40."]
    assert refusals({"transaction_buffers": "32", "autovacuum_max_workers": "262143"}, newer) == []
    [sentence] = refusals({"autovacuum_worker_slots": "262143"}, newer)
    assert "autovacuum_worker_slots are 262261 together" in sentence and "autovacuum_max_workers" not in sentence


@pytest.mark.parametrize(
    ("name", "value", "lies", "sentences"),
    [
        ("wal_buffers", "16.5", {"wal_buffers": {"kind": "real", "lowest": "-1", "highest": "262143"}}, []),
        ("wal_buffers", "16MB", {"wal_buffers": {"kind": "string"}}, []),
        ("wal_compression", "on", {"wal_compression": {"kind": "enum", "choices": ["lz4", "on", "off"]}}, []),
        (
            "autovacuum_work_mem",
            "1000",
            {"maintenance_work_mem": {"kind": "integer", "unit": "kB", "lowest": "1024.5"}},
            ["autovacuum_work_mem is -1 or at least 1049088 B, not 1000."],
        ),
        ("autovacuum_work_mem", "1000", {"maintenance_work_mem": {"kind": "string", "lowest": "little"}}, []),
    ],
)
def test_a_server_that_lies_about_its_settings_gets_sentences_and_no_error(name, value, lies, sentences):
    rows = {lie: parameter(lie, row) for lie, row in lies.items()}
    assert refusals({name: value}, replace(SERVER, parameters={**PARAMETERS, **rows})) == sentences


def test_what_is_left_to_the_server_is_not_compared():
    assert applied({"wal_buffers": "-1", "fsync": "on"}, SERVER) == {"fsync": "on"}
    assert applied({"wal_buffers": "16MB"}, SERVER) == {"wal_buffers": "2048"}


def test_what_takes_effect_at_a_start_alone_is_told():
    assert need_restart({"shared_buffers": "1GB", "work_mem": "8MB", "max_wal_size": "1GB"}, SERVER) == [
        "shared_buffers"
    ]


def test_where_the_memory_is_not_known_nothing_is_said_of_it():
    assert refusals({"shared_buffers": "9GB"}, Server("16.14", PARAMETERS)) == []


def test_every_default_of_the_server_is_good_or_not_for_configurations_at_all():
    defaults = {name: row["default"] for name, row in ROWS.items() if row["context"] != "internal" and "default" in row}
    problems = [problem for name, value in defaults.items() for problem in refusals({name: value}, SERVER)]
    assert len(defaults) > 300
    assert [problem for problem in problems if "is not applied: " not in problem] == []


@pytest.mark.parametrize(
    "name", ["include", "include_if_exists", "include_dir", "ARCHIVE_COMMAND", "Promote_Trigger_File"]
)
def test_what_a_host_says_that_its_build_knows_opens_no_way_to_commands_and_files(name):
    lying = Server("16.14", {**PARAMETERS, name: parameter(name, {"kind": "string"})})
    [sentence] = refusals({name: "/home/bench/settings"}, lying)
    assert sentence.startswith(f"{name} is not applied: it ")


@pytest.mark.parametrize(
    ("name", "value", "in_force"),
    [
        ("datestyle", "iso", "ISO, MDY"),
        ("DATESTYLE", "European, SQL", "SQL, DMY"),
        ("DateStyle", "german", "German, DMY"),
        ("DateStyle", "PostgreSQL, us", "Postgres, MDY"),
        ("DateStyle", '"ISO", "YMD"', "ISO, YMD"),
        ("timezone", "Europe/Berlin", "Europe/Berlin"),
        ("intervalstyle", "ISO_8601", "iso_8601"),
        ("Work_Mem", "8MB", "8192"),
    ],
)
def test_a_name_is_taken_in_any_case_and_applied_by_that_of_the_server(name, value, in_force):
    settings = spelled({name: value}, PARAMETERS)
    assert refusals(settings, SERVER) == []
    assert list(applied(settings, SERVER).values()) == [in_force]
    assert set(settings) <= set(PARAMETERS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DateStyle", ""), ("DateStyle", "ISO, SQL"), ("DateStyle", "MDY, DMY"), ("DateStyle", "isolated"),
        ("TimeZone", "-3"), ("TimeZone", "UTC'; x"), ("log_timezone", ""), ("TIMEZON", "UTC"), ("PORT", "5432"),
    ],
)  # fmt: skip
def test_what_no_server_takes_or_nobody_may_set_is_refused_in_any_case(name, value):
    assert len(refusals(spelled({name: value}, PARAMETERS), SERVER)) == 1


THEIRS = replace(SERVER, is_somebodys=True)
OF_REPORTS = {
    "shared_buffers": "2GB", "work_mem": "64MB", "maintenance_work_mem": "1GB", "effective_cache_size": "6GB",
    "max_wal_size": "64GB", "min_wal_size": "4GB", "wal_buffers": "16MB", "checkpoint_timeout": "30min",
    "checkpoint_completion_target": "0.9", "wal_compression": "on", "synchronous_commit": "off", "huge_pages": "try",
    "random_page_cost": "1.1", "effective_io_concurrency": "200", "default_statistics_target": "500", "jit": "off",
    "max_parallel_workers_per_gather": "0", "autovacuum": "off", "bgwriter_lru_maxpages": "1000",
    "autovacuum_vacuum_cost_limit": "2000", "log_checkpoints": "on", "enable_hashjoin": "off",
}  # fmt: skip


def test_what_reports_tune_is_taken_on_the_server_of_somebody():
    assert refusals(OF_REPORTS, THEIRS) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("db_user_namespace", "on"), ("lo_compat_privileges", "on"), ("standard_conforming_strings", "off"),
        ("backslash_quote", "on"), ("old_snapshot_threshold", "1"), ("temp_file_limit", "0"),
        ("client_min_messages", "error"), ("max_worker_processes", "0"),
        ("autovacuum_freeze_max_age", "100000"), ("array_nulls", "off"), ("transform_null_equals", "on"),
        ("exit_on_error", "on"), ("max_files_per_process", "64"), ("max_stack_depth", "100"), ("TimeZone", "UTC"),
        ("track_counts", "off"), ("log_statement", "all"), ("jit_dump_bitcode", "on"), ("jit_provider", "x"),
        ("default_toast_compression", "lz4"), ("extra_float_digits", "0"), ("synchronize_seqscans", "off"),
        ("log_min_messages", "panic"), ("authentication_timeout", "1"), ("fsync", "off"), ("DB_User_Namespace", "on"),
    ],
)  # fmt: skip
def test_what_is_not_about_speed_is_refused_by_name_on_the_server_of_somebody(name, value):
    [sentence] = refusals(spelled({name: value}, PARAMETERS), THEIRS)
    assert sentence.lower().startswith(f"{name.lower()} is not applied: ")


def test_a_name_that_nobody_has_thought_of_is_refused_on_the_server_of_somebody():
    newer = replace(THEIRS, parameters={**PARAMETERS, "novel": parameter("novel", {"kind": "bool"})})
    assert refusals({"novel": "on"}, newer) == [
        "novel is not applied: its owner alone sets it, as it is none of the settings that runs may change on "
        "somebody's server."
    ]
    assert refusals({"novel": "on"}, replace(newer, is_somebodys=False)) == []
