"""command.sh: what an attempt executes on its driver, composed so that a person can read it and run it by hand."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import asdict, fields
from itertools import takewhile

from runners.clusters import script as cluster_script
from runners.contract import (
    FINGERPRINT_FAILED,
    PREPARATION_FAILED,
    VERIFY_FAILED,
    DataCopy,
    Outputs,
    RunSpec,
)
from runners.counters import QUIET_S, quiet_command, snapshot_command
from runners.password_file import PASSWORD_FILE
from runners.poolers import script as pooler_script
from runners.server_settings import script as server_script
from runners.telemetry import collector
from runners.tools.base import Tool
from runners.tools.printed import text_of
from runners.tools.shell import (
    CHECK_FAILED,
    NO_ANSWER,
    STANDBY,
    UNSET,
    answered,
    connection_variables,
    is_standby,
    loaded,
    psql,
)

BEFORE_FILE = "before.snapshot"
AFTER_FILE = "after.snapshot"
FINGERPRINT_FILE = "fingerprint.txt"
SIZE_FILE = "size_bytes.txt"
AGE_FILE = "age.txt"
IDLE_FILE = "idle.txt"
# A server that fell silent ends a connection after a minute: libpq has no variables for this, but reads a file.
SERVICE_FILE = "service.conf"
KEEPALIVES = ("keepalives_idle=30", "keepalives_interval=10", "keepalives_count=3")
USER_TIMEOUT, FIRST_WITH_USER_TIMEOUT = "tcp_user_timeout=60000", 12
# A shell's exit codes where it could not run a program, and the lines of shells and of the loader of libraries then:
# from their start, where the shell names its script. A server's words stand behind psql's.
NOT_RUN = (126, 127)
NO_PROGRAM = re.compile(
    rf"(?:{NO_ANSWER}: )?(?:(?:setsid: failed to execute |[\w./-]{{1,200}}: (?:line )?[0-9]{{1,6}}: (?:exec: )?)"
    r"(?P<shell>[^:]{1,4096}): "
    r"(?:not found|No such file or directory|Permission denied|cannot execute|command not found)\b"
    r"|(?P<loader>[^:]{1,4096}): error while loading shared libraries: )"
)
# Its message may have further lines, which look like anything.
OF_SERVER = re.compile(r"\bpsql: (?:error|warning): |\b[A-Z]{3,}: {1,2}(?=\S)|server closed the connection")
TAIL_BYTES = 16 << 10
DROP_CACHES = """\
sync
if [ -w /proc/sys/vm/drop_caches ]; then echo 3 > /proc/sys/vm/drop_caches
else sudo -n sh -c 'echo 3 > /proc/sys/vm/drop_caches'; fi"""

HELPERS = f"""\
step() {{ read -r uptime _ < /proc/uptime; echo "$1 $uptime" >> step; }}
fail() {{ echo "$2" >&2; exit "$1"; }}
if [ -e {PASSWORD_FILE} ]; then
    PGPASSFILE=$(pwd)/{PASSWORD_FILE}
    export PGPASSFILE
fi
"""


def spec_json(spec: RunSpec) -> str:
    """Return the spec in canonical JSON: sorted keys, no spaces, one line, its version included."""
    plain = {item.name: getattr(spec, item.name) for item in fields(spec)}
    plain |= {"endpoint": asdict(spec.endpoint), "parameters": dict(spec.parameters)}
    plain |= {"cluster": asdict(spec.cluster)} if spec.cluster else {}
    plain |= {"server_settings": asdict(spec.server_settings)} if spec.server_settings else {}
    plain |= {"pooler": asdict(spec.pooler)} if spec.pooler else {}
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"


def command_script(spec: RunSpec, tool: Tool) -> str:
    """Return POSIX sh text that runs the spec in the current folder; its exit code is the load generator's.

    97: the data set is not what was asked for; 96: a preparation (vacuum to warm-up) failed; 95: a loaded data set
    could not be summed up. The reason is then the end of standard error. The file `step` gets a line
    'name uptime' as each step begins.
    """
    parts = [_head(spec), f"snapshot() {{\n{snapshot_command(spec.bin_directory)}}}\n"]
    parts += [_watch_idle(spec.watch_idle_s)] if spec.watch_idle_s else []
    parts += [cluster_script.begin(spec.cluster)] if spec.cluster else []
    parts += [server_script.BEGIN] if spec.server_settings else []
    parts += [pooler_script.function(spec.pooler)] if spec.pooler else []
    parts += _load_steps(spec, tool) if spec.kind == "load" else _measure_steps(spec, tool)
    return "\n".join([*parts, "exit $code", ""])


def needed_programs(spec: RunSpec, tool: Tool) -> list[str]:
    """Return the programs without which the driver cannot run the spec: paths, and names that its PATH must know."""
    folders = [(spec.bin_directory, tool.in_folder)]
    if spec.restart_directory:
        folders.append((spec.restart_bin_directory, ("pg_ctl",)))
    if spec.cluster:
        folders.append((spec.cluster.bin_directory, cluster_script.PROGRAMS))
    paths = [f"{folder.rstrip('/')}/{name}" for folder, names in folders for name in names]
    return [*paths, *tool.on_path]


def has_lost_program(spec: RunSpec, tool: Tool, outputs: Outputs) -> bool:
    """Tell whether the run failed because a program that it needs is gone from the driver, or cannot run there."""
    if outputs.returncode not in (*NOT_RUN, PREPARATION_FAILED, VERIFY_FAILED, FINGERPRINT_FAILED):
        return False
    lines = takewhile(lambda line: not OF_SERVER.search(line), text_of(outputs.stderr[-TAIL_BYTES:]).splitlines())
    matches = filter(None, map(NO_PROGRAM.match, lines))
    return any((match["shell"] or match["loader"]) in needed_programs(spec, tool) for match in matches)


def leftover_script(spec: RunSpec) -> str:
    """Return POSIX sh text that ends the server processes which a killed load generator may have left working.

    A cluster of BenchHub's own is stopped.
    """
    name = "'" + spec.application_name.replace("'", "''") + "'"
    query = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        f" WHERE application_name = {name} AND usename = current_user AND pid <> pg_backend_pid()"
    )
    end_telemetry = [collector.KILL] if spec.telemetry else []
    end_server = f"PGAPPNAME=benchhub-cancel {psql(spec, query)}"
    if spec.cluster:  # its server ends with all its processes
        end_server = cluster_script.end_leftover(spec.cluster)
    return "\n".join([_head(spec), *end_telemetry, end_server, ""])


def _measure_steps(spec: RunSpec, tool: Tool) -> list[str]:
    """Return the steps of a measured run.

    The snapshot before comes after all preparation, so that the differences are the measured part's own.
    """
    verify = tool.verify_command(spec).rstrip()
    parts = [f"step verify\n{_writable(spec, tool)}(\n{verify}\n) >&2 || fail {VERIFY_FAILED} {CHECK_FAILED}\n"]
    parts += [pooler_script.begin(spec)] if spec.pooler else []
    warmup = _pooled(spec, tool.warmup_command(spec)) if spec.warmup_s else ""
    pilot = f"step pilot\n(\n{command.rstrip()}\n)\n" if (command := _pooled(spec, tool.pilot_command(spec))) else ""
    parts += [pilot] if pilot and not warmup else []
    if spec.vacuum:
        parts.append(_step("vacuum", psql(spec, "VACUUM ANALYZE"), PREPARATION_FAILED, "VACUUM failed."))
    if spec.checkpoint:
        parts.append(_step("checkpoint", psql(spec, "CHECKPOINT"), PREPARATION_FAILED, "CHECKPOINT failed."))
    if spec.restart_directory:
        parts.append(_step("restart", _restart(spec), PREPARATION_FAILED, "The restart of the server failed."))
    if spec.drop_caches:
        parts.append(_step("drop_caches", DROP_CACHES, PREPARATION_FAILED, "The caches could not be dropped."))
    parts.append(_settle(spec.settle_s) if spec.settle_s else _pause())
    parts += [_warmup(warmup), pilot] if warmup else []
    parts.append(_snapshot("before", BEFORE_FILE))
    parts += _observed(spec, _main("measure", _pooled(spec, tool.measure_command(spec))))
    parts.append(_snapshot("after", AFTER_FILE))
    if reduce := tool.reduce_command(spec):
        parts.append(f"step reduce\n(\n{reduce.rstrip()}\n)\n")
    query = tool.age_query(spec.parameters)
    return [*parts, f"{psql(spec, query)} > {AGE_FILE}\n"] if query else parts


def _pooled(spec: RunSpec, command: str) -> str:
    """Return the command of a subshell as it reaches the server: through its pooler, where it has one."""
    return f"{pooler_script.THROUGH}\n{command}" if spec.pooler and command else command


def _load_steps(spec: RunSpec, tool: Tool) -> list[str]:
    fingerprint = psql(spec, tool.fingerprint_query(spec.parameters))
    size = psql(spec, "SELECT pg_database_size(current_database())")
    command = f"{fingerprint} > {FINGERPRINT_FILE} &&\n{size} > {SIZE_FILE}"
    reason = "The loaded data set could not be summed up."
    check = f"{answered(spec)}{tool.scripts_command(spec)}".rstrip()
    return [
        f"step verify\n(\n{check}\n) >&2 || fail {VERIFY_FAILED} {CHECK_FAILED}\n{_writable(spec, tool)}",
        _snapshot("before", BEFORE_FILE),
        _main("load", _load_command(spec, tool)),
        _snapshot("after", AFTER_FILE),
        '[ "$code" = 0 ] || exit "$code"\n',
        _step("fingerprint", command, FINGERPRINT_FAILED, reason),
        *([cluster_script.KEEP_COPY.format(fingerprint=FINGERPRINT_FILE)] if _copy(spec) else []),
    ]


def _writable(spec: RunSpec, tool: Tool) -> str:
    """Return lines that fail on a standby, where the load writes; a cluster of BenchHub's own is none."""
    if spec.cluster or not tool.writes(spec.parameters):
        return ""
    return f"if {is_standby(spec)}; then fail {VERIFY_FAILED} {shlex.quote(STANDBY)}; fi\n"


def _load_command(spec: RunSpec, tool: Tool) -> str:
    command = tool.load_command(spec)
    if spec.cluster is None:
        return loaded(spec, command, tool.verify_command(spec))
    return cluster_script.LOAD_UNLESS_RESTORED.format(command.rstrip()) if spec.cluster.copy else command


def _copy(spec: RunSpec) -> DataCopy | None:
    return spec.cluster.copy if spec.cluster else None


def _head(spec: RunSpec) -> str:
    exports = {"LC_ALL": "C", **connection_variables(spec.endpoint, spec.application_name)}
    lines = [f"export {name}={shlex.quote(value)}" for name, value in exports.items()]
    lines.append(f'PATH={shlex.quote(spec.bin_directory)}:"$PATH"')
    lines += service_file(spec)
    title = f"# {spec.tool}, client programs {spec.tool_version}: {spec.kind}, as asked for in spec.json"
    return "\n".join(["#!/bin/sh", title, f"unset {UNSET}", *lines, HELPERS])


def service_file(spec: RunSpec) -> list[str]:
    """Return lines that limit how long a connection waits for a machine that is away; none where all are one."""
    is_pooler_away = spec.pooler is not None and not pooler_script.is_on_driver(spec.pooler)
    if spec.endpoint.path not in ("network", "tls") and not is_pooler_away:
        return []
    major = re.match("[0-9]{1,3}", spec.tool_version)
    has_user_timeout = major is not None and int(major[0]) >= FIRST_WITH_USER_TIMEOUT
    words = ["[server]", *KEEPALIVES, *([USER_TIMEOUT] if has_user_timeout else [])]
    return [
        f"printf '%s\\n' {shlex.join(words)} > {SERVICE_FILE}",
        f"PGSERVICEFILE=$(pwd)/{SERVICE_FILE} PGSERVICE=server",
        "export PGSERVICEFILE PGSERVICE",
    ]


def _pause() -> str:
    """Wait until the start is written down: BenchHub may share the target's CPUs, and a short load would notice."""
    return f"step pause\n{_quiet(QUIET_S)}"


def _settle(seconds: int) -> str:
    """Wait so many seconds, and count in the last of them, in which nothing should be at work any more."""
    return f"step settle\nsleep {seconds - 1}\n{_quiet(1)}"


def _quiet(seconds: float) -> str:
    return f"{{\n{quiet_command(seconds)}}} > {BEFORE_FILE}\n"


def _snapshot(name: str, file: str) -> str:
    return f"step {name}\nsnapshot >> {file}\n"


def _step(name: str, command: str, code: int, reason: str) -> str:
    return f"step {name}\n(\n{command.rstrip()}\n) >&2 || fail {code} {shlex.quote(reason)}\n"


def _warmup(command: str) -> str:
    failure = f"{{ cat warmup.log >&2; fail {PREPARATION_FAILED} 'The warm-up failed.'; }}"
    return f"step warmup\n(\n{command.rstrip()}\n) > warmup.log 2>&1 || {failure}\n"


def _watch_idle(seconds: int) -> str:
    """Write two lines of CPU counters, so many seconds apart, before anything is done."""
    read = f'read -r line < /proc/stat && echo "$line" >> {IDLE_FILE}'
    return f"step watch\n{read}\nsleep {seconds}\n{read}\n"


def _restart(spec: RunSpec) -> str:
    """Restart the server in a session of its own and without the attempt's locks: it outlives the attempt."""
    folder, program = shlex.quote(spec.restart_directory), shlex.quote(f"{spec.restart_bin_directory}/pg_ctl")
    log = shlex.quote(f"{spec.restart_directory}/benchhub-restart.log")
    return (
        f"[ -O {folder} ] || {{ echo 'The data directory is not of the account that drives the load.'; exit 1; }}\n"
        f"setsid -w {program} -D {folder} -m fast -w -t 300 -l {log} restart 4>&- 7>&- 8>&- 9>&-"
    )


def _observed(spec: RunSpec, main: str) -> list[str]:
    """Return the load with its telemetry: no failure of that is one of the load."""
    if not spec.telemetry:
        return [main]
    functions = collector.functions(spec.telemetry, spec.duration_s, spec.data_directory)
    return [functions, "begin_telemetry || :\n", main, "end_telemetry || :\n"]


def _main(name: str, command: str) -> str:
    return f"step {name}\n(\n{command.rstrip()}\n)\ncode=$?\n"
