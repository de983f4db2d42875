"""The check of a configuration before it is applied to a server: every refusal is a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from .gaps import LIKE, in_gap
from .guests import OWNER_ALONE, beyond_bounds, is_grantable
from .parameters import CHOSEN_BY_SERVER, Parameter, in_force, unit_bytes

PLACE = "BenchHub sets it itself, so that the cluster stays in its folder and on its socket"
COMMAND = "it would run a command on the host"
FILES = "it names files or folders of the host"
LOGGING = "BenchHub reads the server's log where it writes it itself"
RECOVERY = "it is for recovery and standbys, and BenchHub runs neither"
DAMAGE = "it hides damaged data"
# What no configuration may set there, and why. A pattern is of the whole name, in small or capital letters: the server
# reads names so, and what it is said to know comes from a host.
REFUSED: tuple[tuple[str, str], ...] = (
    ("data_directory|config_file|hba_file|ident_file|external_pid_file", PLACE),
    ("port|listen_addresses|unix_socket_.*|bonjour.*|cluster_name", PLACE),
    (".*_command|archive_library|oauth_validator_libraries|archive_mode", COMMAND),
    ("include|include_if_exists|include_dir", FILES),
    (".*_file|ssl_crl_dir|ssl|krb_.*|ssl_sni", FILES),
    ("dynamic_library_path|extension_control_path|stats_temp_directory|jit_provider", FILES),
    ("temp_tablespaces|default_tablespace", FILES),
    ("logging_collector|log_destination|log_directory|log_filename|log_file_mode|syslog_.*|event_source", LOGGING),
    ("recovery_.*|primary_.*|restore_.*|hot_standby.*|synchronous_standby_names|synchronized_standby_slots", RECOVERY),
    ("zero_damaged_pages|ignore_checksum_failure|ignore_invalid_pages|ignore_system_indexes", DAMAGE),
    ("transaction_(isolation|read_only|deferrable)", "it belongs to a transaction"),
    ("allow_system_table_mods|local_preload_libraries", "it is not for benchmarks"),
)
# The same of a server that is somebody's, where another reason holds.
OWNERS: Mapping[str, str] = {
    PLACE: "it is where others find the server",
    LOGGING: "where the server logs is its owner's affair",
    RECOVERY: "it is for recovery and standbys of the owner",
}
CRASH = "a crash during the run would damage what others have there, or leave it stopped"
BACKUPS = "backups, standbys and transactions of others depend on it"
ACCESS = "it is about who gets in, and who may do what"
MEANING = "it changes what statements of others mean, or answer"
RETURN = "the former settings could not be put back"
# Why a run may not set these on a server that is somebody's. It sets what guests.py lists alone: a name that is missing
# here is refused as well, without a reason of its own.
REFUSED_TO_GUESTS: tuple[tuple[str, str], ...] = (
    ("fsync|full_page_writes|data_sync_retry|restart_after_crash|wal_sync_method", CRASH),
    ("wal_level|wal_keep_.*|max_wal_senders|max_replication_slots|max_slot_wal_keep_size|idle_replication_.*", BACKUPS),
    ("max_prepared_transactions|track_commit_timestamp|wal_sender_.*|wal_receiver_.*|sync_replication_slots", BACKUPS),
    ("password_encryption|.*authentication_.*|scram_iterations|gss_.*|row_security|event_triggers", ACCESS),
    ("session_replication_role|createrole_self_grant|restrict_nonsystem_relation_kind|role|is_superuser", ACCESS),
    ("allow_alter_system|(superuser_)?reserved_connections|(pre|post)_auth_delay", RETURN),
    ("default_transaction_.*|(statement|lock|transaction|idle_.*)_timeout", "it would end what others do"),
    ("(shared|session|local)_preload_libraries", "it loads a library into somebody's server"),
    ("search_path", "it belongs to a database or a role"),
    ("max_worker_processes|max_locks_per_transaction", BACKUPS),
    ("db_user_namespace|lo_compat_privileges", ACCESS),
    ("standard_conforming_strings|backslash_quote|client_min_messages|default_table_access_method", MEANING),
    ("debug_.*|trace_.*|wal_consistency_checking", "it is for developers of PostgreSQL"),
)
MEMORY = (
    "shared_buffers", "wal_buffers", "work_mem", "maintenance_work_mem", "autovacuum_work_mem", "temp_buffers",
    "logical_decoding_work_mem", "min_dynamic_shared_memory",
)  # fmt: skip
LIBRARIES = ("shared_preload_libraries", "session_preload_libraries")
_REFUSED = tuple((re.compile(pattern), reason) for pattern, reason in REFUSED)
_REFUSED_TO_GUESTS = tuple((re.compile(pattern), reason) for pattern, reason in REFUSED_TO_GUESTS)
# Settings whose defaults count where others are checked together.
RESERVED = ("superuser_reserved_connections", "reserved_connections")
PROCESSES = (
    "max_connections", "max_worker_processes", "max_wal_senders", "autovacuum_max_workers", "autovacuum_worker_slots",
)  # fmt: skip
MOST_PROCESSES = 262_141  # MAX_BACKENDS, less those that every server has
CONTRADICTING = (*PROCESSES, *RESERVED, *LIKE)
MOST_SETTINGS = 200


@dataclass(frozen=True, slots=True)
class Server:
    """The build, and the host, that settings are to be applied on. `memory_bytes` is None where nobody knows it.

    `is_somebodys`: it is no cluster of BenchHub's own, and others may use it; its defaults are what is in force there.
    """

    version: str
    parameters: Mapping[str, Parameter]
    libraries: Sequence[str] = ()
    memory_bytes: int | None = None
    wal_segment_mib: int = 16
    is_somebodys: bool = False


def spelled(settings: Mapping[str, object], names: Iterable[str]) -> dict[str, str]:
    """Return the settings by the names of the server, which takes them in any case; a later one counts."""
    by_word = {name.lower(): name for name in names}
    return {by_word.get(name.lower(), name): str(value) for name, value in settings.items()}


def refusals(settings: Mapping[str, str], server: Server) -> list[str]:
    """Return a sentence for each setting that the server would not take, or that BenchHub does not apply."""
    if len(settings) > MOST_SETTINGS:
        return [f"These are {len(settings)} settings: at most {MOST_SETTINGS} are applied."]
    sentences = [sentence for name, value in settings.items() if (sentence := refusal(name, str(value), server))]
    return sentences or list(_contradictions(applied(settings, server), server))


def refusal(name: str, value: str, server: Server) -> str:
    """Return why this setting is not applied, as a sentence; empty if it is."""
    if reason := _never(name.lower(), server):
        return f"{name} is not applied: {reason}."
    parameter = server.parameters.get(name)
    if parameter is None:
        return _unknown(name, server)
    if parameter.context == "internal":
        return f"{name} cannot be set: it is fixed when the server is built or its cluster made."
    if server.is_somebodys and not is_grantable(name):
        return f"{name} is not applied: {OWNER_ALONE}."
    try:
        setting = in_force(parameter, value)
    except ValueError as error:
        return f"{name} {error}"
    if gap := in_gap(parameter, value, setting, server.parameters):
        return gap
    guest = beyond_bounds(name, setting, parameter.default) if server.is_somebodys else ""
    return guest or _beyond_memory(parameter, value, server) or _not_installed(name, value, server)


def _never(word: str, server: Server) -> str:
    """Return why no configuration may set this name there, whatever its value; empty where one may."""
    patterns = (*_REFUSED, *_REFUSED_TO_GUESTS) if server.is_somebodys else _REFUSED
    reason = next((reason for pattern, reason in patterns if pattern.fullmatch(word)), "")
    return OWNERS.get(reason, reason) if server.is_somebodys else reason


def applied(settings: Mapping[str, str], server: Server) -> dict[str, str]:
    """Return by name what pg_settings shows once these settings, none of them refused, are in force.

    What is left to the server is absent: nobody knows what it will choose.
    """
    values = {name: in_force(server.parameters[name], str(value)) for name, value in settings.items()}
    return {name: value for name, value in values.items() if CHOSEN_BY_SERVER.get(name) != value}


def need_restart(settings: Mapping[str, str], server: Server) -> list[str]:
    """Return the names of those that take effect at a start alone."""
    return [name for name in settings if name in server.parameters and server.parameters[name].needs_restart]


def _unknown(name: str, server: Server) -> str:
    if "." in name:
        return f"{name} is a setting of an extension: only the server's own are checked and applied."
    nearest = get_close_matches(name, server.parameters, n=1)
    hint = f" Is {nearest[0]} meant?" if nearest else ""
    return f"{name} is no setting of PostgreSQL {server.version}.{hint}"


def _beyond_memory(parameter: Parameter, value: str, server: Server) -> str:
    size = unit_bytes(parameter.unit)
    if parameter.name not in MEMORY or parameter.kind != "integer" or not size or server.memory_bytes is None:
        return ""
    if int(in_force(parameter, value)) * size <= server.memory_bytes:
        return ""
    return f"{parameter.name} = {value} is more than the memory of the host, {server.memory_bytes / 2**30:.1f} GiB."


def _not_installed(name: str, value: str, server: Server) -> str:
    if name not in LIBRARIES:
        return ""
    names = [part.strip().strip('"') for part in value.split(",") if part.strip()]
    missing = [library for library in names if library not in server.libraries]
    if not missing:
        return ""
    return f"{name} asks for {missing[0]}, which is no library of this PostgreSQL: install it, or leave it out."


def _contradictions(values: Mapping[str, str], server: Server) -> Iterator[str]:
    """Yield what the server refuses at its start although each setting alone is right."""

    def number(name: str) -> int:
        default = server.parameters[name].default if name in server.parameters else ""
        text = values.get(name, default)
        return int(text) if text.removeprefix("-").isdecimal() else 0

    reserved = sum(map(number, RESERVED))
    if {"max_connections", *RESERVED} & values.keys() and reserved >= (connections := number("max_connections")):
        yield f"max_connections is {connections}, and {reserved} of them are reserved: leave some for the load."
    # Newer servers start as many autovacuum workers as there are slots.
    idle = "autovacuum_max_workers" if "autovacuum_worker_slots" in server.parameters else ""
    names = [name for name in PROCESSES if name in server.parameters and name != idle]
    processes = sum(number(name) for name in names)
    if values.keys() & names and processes > MOST_PROCESSES:
        yield f"{', '.join(names)} are {processes} together: the server takes at most {MOST_PROCESSES} processes."
    if values.get("wal_level") == "minimal" and number("max_wal_senders") > 0:
        yield "wal_level = minimal needs max_wal_senders = 0 beside it: set both."
    if values.get("huge_pages") == "on" and values.get("shared_memory_type", "mmap") != "mmap":
        yield "huge_pages = on needs shared_memory_type = mmap."
    for name in ("min_wal_size", "max_wal_size"):
        if name in values and number(name) < 2 * server.wal_segment_mib:
            yield f"{name} is at least two WAL segments, which are {server.wal_segment_mib} MB each on this cluster."
