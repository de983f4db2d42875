"""cluster.sh: how an attempt makes, starts and stops the cluster of BenchHub's own that it runs on."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from runners.contract import FINGERPRINT_FAILED, PREPARATION_FAILED, Cluster, DataCopy, RunSpec
from runners.os_settings import script as os_script
from runners.tools.shell import psql

FILE = "cluster.sh"
SCRIPTS = Path(__file__).parent.parent / "target"
LEFTOVER_STOP_S = 8  # whoever was killed is waited for no longer
PROGRAMS = ("postgres", "initdb", "pg_ctl")
NOT_READY = "The cluster was not made ready."

# The end of the shell stops the server, also by a signal; a shell that is killed leaves that to the guard.
# Settings of the operating system are put back when the server has ended, whose memory they may be about.
HEAD = f"""\
. ./{FILE}
trap 'exit 143' TERM INT HUP
"""
WITHOUT_OS = "trap cluster_end EXIT\n"
WITH_OS = f". ./{os_script.FILE}\ntrap 'cluster_end; os_end' EXIT\n{os_script.BEGIN}"
BEGIN = f"""\
step cluster
cluster_begin >&2 || fail {PREPARATION_FAILED} '{NOT_READY}'
"""
# In a load that a copy may replace: its words, the check of what was restored, and the copy that is left behind.
LOAD_UNLESS_RESTORED = """\
if cluster_is_restored; then
    echo 'The data set was restored from a copy.' >&2
else
{}
fi"""
KEEP_COPY = f"""\
if cluster_is_restored; then
    cluster_restored_well {{fingerprint}} || fail {FINGERPRINT_FAILED} 'The restored data set is not what was copied.'
else
    step copy
    loaded_s=$(awk '$1 == "load" {{{{ begun = $2 }}}} $1 == "after" {{{{ print $2 - begun }}}}' step)
    cluster_locked cluster_keep {{fingerprint}} "$loaded_s" 2> copy.err ||
        [ -e copy.refused ] || copy_refuse 'No copy was kept: see copy.err.'
fi
copies_keys > copies.txt
"""
STOP_LEFTOVER = f"""\
[ ! -e {FILE} ] || {{ . ./{FILE}; cluster_locked cluster_stop_of "$(pwd)" {LEFTOVER_STOP_S}; }}
"""


def files(spec: RunSpec) -> dict[str, str]:
    """Return the files that an attempt needs beside command.sh; none where the server is somebody else's."""
    if spec.cluster is None:
        return {}
    unmet = psql(spec, _unmet_query(spec.cluster, _fixed(spec.cluster, spec.endpoint.port)))
    settings = settings_text({**spec.cluster.settings, **_fixed(spec.cluster, spec.endpoint.port)})
    parts = [
        values(spec.cluster),
        f"cluster_settings() {{\ncat << 'END_OF_SETTINGS'\n{settings}END_OF_SETTINGS\n}}",
        f"cluster_unmet() {{\n{unmet}\n}}",
        functions(),
    ]
    return {FILE: "\n".join(parts), **os_script.files(spec)}


def begin(cluster: Cluster) -> str:
    """Return sh text that changes the host's settings, if any are asked for, and starts the cluster."""
    return f"{HEAD}{WITH_OS if cluster.os_settings else WITHOUT_OS}{BEGIN}"


def end_leftover(cluster: Cluster) -> str:
    """Return sh text that stops what a killed attempt left, and puts back what its killed helper could not."""
    return STOP_LEFTOVER + (os_script.RESTORE_LEFTOVER if cluster.os_settings else "")


def functions() -> str:
    """Return the functions by which a cluster is made, copied, started, stopped and removed."""
    return "\n".join((SCRIPTS / name).read_text() for name in ("cluster_copies.sh", "cluster.sh"))


def values(cluster: Cluster) -> str:
    """Return sh text that names the cluster, for its functions."""
    copy = cluster.copy or DataCopy("")
    names = {
        "cluster": cluster.folder,
        "cluster_mark": cluster.mark,
        "cluster_bin": cluster.bin_directory,
        "cluster_database": cluster.database,
        "copy_key": copy.key,
        "copy_restores": "yes" if copy.restores else "",
        "copy_keeps": "yes" if copy.keeps else "",
    }
    lines = [f"{name}={shlex.quote(value)}" for name, value in names.items()]
    options = shlex.join(cluster.initdb_options)
    return "\n".join([*lines, f'cluster_initdb() {{ "$cluster_bin/initdb" -D "$1" {options}; }}'])


def settings_text(settings: Mapping[str, str]) -> str:
    """Return lines of postgresql.conf. Raises ValueError for a value that is not one line."""
    return "".join(f"{name} = {_literal(value)}\n" for name, value in settings.items())


def unmet_query(requests: Mapping[str, str], in_force: Mapping[str, str]) -> str:
    """Return SQL that gives a sentence for each setting that is not in force as pg_settings shows it."""
    triples = ((name, requests[name], value) for name, value in in_force.items())
    rows = ", ".join(f"({', '.join(map(sql_literal, triple))})" for triple in triples)
    # A cast of its own branch would be carried out beforehand where there is one row, whatever its type.
    is_other = (
        "CASE WHEN s.vartype = 'real'"
        " THEN s.setting::float8 <> (CASE WHEN s.vartype = 'real' THEN a.value END)::float8"
        " WHEN lower(s.name) IN ('timezone', 'log_timezone') THEN lower(s.setting) <> lower(a.value)"
        " ELSE s.setting IS DISTINCT FROM a.value END"
    )
    return (
        f"SELECT a.name || ' is not in force: ' || a.request || ' was asked for, and the server has '"
        f" || coalesce(s.setting || coalesce(' ' || s.unit, ''), 'no such setting') || '.'"
        f" FROM (VALUES {rows}) AS a(name, request, value) LEFT JOIN pg_settings AS s ON s.name = a.name"
        f" WHERE s.name IS NULL OR {is_other}"
    )


def _unmet_query(cluster: Cluster, fixed: Mapping[str, str]) -> str:
    """Return SQL that gives a sentence for each setting that is not in force, and for each that others have set.

    Settings of a role or a database, which custom scripts can make, would be in force beside those asked for.
    """
    return (
        unmet_query({**cluster.settings, **fixed}, {**cluster.settings_in_force, **fixed})
        + " UNION ALL SELECT name || ' is set to ' || setting || ' by the ' || source || ', which nobody asked for.'"
        " FROM pg_settings WHERE source IN ('global', 'database', 'user', 'database user')"
    )


def _fixed(cluster: Cluster, port: int) -> dict[str, str]:
    """Return what no configuration chooses: the cluster stays on the socket in its folder, its log where it is read."""
    return {
        "listen_addresses": "",
        "port": str(port),
        "unix_socket_directories": cluster.folder,
        "logging_collector": "off",
        "log_destination": "stderr",
    }


def _literal(value: str) -> str:
    if not value.isprintable():
        raise ValueError("The value of a setting is one line, without control characters.")
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def sql_literal(text: str) -> str:
    """Return the text as a literal of SQL, for servers that take backslashes as they are."""
    return "'" + text.replace("'", "''") + "'"
