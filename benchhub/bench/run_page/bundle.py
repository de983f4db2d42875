"""A run as plain files with which anybody repeats it without BenchHub: shell commands, scripts, settings, data set."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from benchhub.archive import ArchiveError
from benchhub.bench.models import Evidence, Run
from benchhub.bench.plan import specs
from benchhub.ui.csv_files import csv_text
from runners import tools
from runners.contract import ConnectionPath, RunSpec
from runners.tools.base import Tool
from runners.tools.shell import CHECK_FAILED

# The programs are called through a link that connection.sh makes, so that no path of another machine is in a command.
PROGRAMS = "../bin"
CONFIGURATION, OS_SETTINGS = "postgresql.conf", "os-settings.json"
WORKLOAD, MEASURED = "workload.json", "measured.json"
PATHS: Mapping[ConnectionPath, str] = {
    "socket": "a Unix socket on the server's own machine: leave PGHOST empty, or name the socket's folder",
    "loopback": "TCP on the server's own machine, without TLS",
    "network": "the network, without TLS, from another machine",
    "tls": "the network, with TLS, from another machine",
}
LARGEST_EVIDENCE_BYTES = 256 * 1024
HEAD = '#!/bin/sh\n# {title}\ncd "$(dirname "$0")" && . ./connection.sh && mkdir -p {folder} && cd {folder} || exit 1\n'
NOT_REPEATED = (
    "endpoint", "bin_directory", "application_name", "telemetry", "data_directory", "cluster", "server_settings",
    "pooler",
)  # fmt: skip
PSQL = f"{PROGRAMS}/psql -X -q -w -v ON_ERROR_STOP=1 -c"


def files(run: Run, settings: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Return the text of each file by its name; none names a host, an address or a user.

    The run comes with its experiment, system and result. `settings` are those that it found.
    """
    spec = replace(_spec(run), bin_directory=PROGRAMS, application_name="repeat")
    tool = tools.get(spec.tool)
    texts = {
        "README.txt": _readme(run, spec, tool),
        "connection.sh": _connection(spec, tool.client(spec.tool_version)),
        "1-load.sh": _load(spec, tool),
        "2-run.sh": _run(spec, tool),
        CONFIGURATION: configuration(run.system.configuration.settings),
        "data-set.json": _json(tool.data_set(spec.parameters)),
        WORKLOAD: _json({**_plain(spec), "parameters": dict(spec.parameters)}),
    }
    texts |= os_settings_file(run.system.configuration.os_settings)
    if hasattr(run, "result"):
        texts[MEASURED] = _json(_result_fields(run))
    if settings:
        texts["settings-as-found.csv"] = _settings(settings)
    return texts


def _spec(run: Run) -> RunSpec:
    """Return the spec with the share that was logged, which a repeat needs no pilot to find."""
    spec = replace(specs.spec_of(run), pilot_s=0, telemetry="", data_directory="", cluster=None, server_settings=None)
    histogram = run.histograms.first()
    return replace(spec, log_sampling_rate=histogram.sampling_rate) if histogram else spec


class NoBundleError(Exception):
    """The run cannot be repeated by files; the message is a sentence for people."""


def with_evidence(run: Run, settings: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the files with the evidence beside them. Raises NoBundleError."""
    try:
        return files(run, settings) | evidence(run)
    except (TypeError, ValueError, KeyError) as error:
        raise NoBundleError("It was planned by a tool or a release that is not here any more.") from error


def evidence(run: Run) -> dict[str, str]:
    """Return the small files that the newest attempt left, nearly as they came: these do name hosts and folders."""
    newest = run.attempts.order_by("-number").first()
    small = newest.evidence.filter(size_bytes__lte=LARGEST_EVIDENCE_BYTES) if newest else []
    return dict(_evidence_file(file) for file in small if not file.name.endswith(".gz"))


def _evidence_file(file: Evidence) -> tuple[str, str]:
    """Return the name and text of a file; of one that the archive should have and does not, why it is not here."""
    try:
        is_snapshot = file.name.endswith(".snapshot")
        return f"evidence/{file.name}", _without_statements(file.text) if is_snapshot else file.text
    except ArchiveError as error:
        return f"evidence/{file.name}.not-here.txt", f"{error}\n"


def _without_statements(text: str) -> str:
    """Return a snapshot without the texts that pg_stat_statements has, which may be of others."""
    return "\n".join(line for line in text.split("\n") if not line.startswith("statement|"))


def archive(folder: str, files: Mapping[str, str]) -> bytes:
    """Pack the files as a tar.gz of one folder; the same files always give the same bytes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, text in sorted(files.items()):
            content = text.encode()
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size, entry.mode = len(content), 0o755 if name.endswith(".sh") else 0o644
            tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), mtime=0)


def _plain(spec: RunSpec) -> dict[str, Any]:
    fields = asdict(spec)
    for name in NOT_REPEATED:
        del fields[name]
    return fields


def _readme(run: Run, spec: RunSpec, tool: Tool) -> str:
    client = tool.client(spec.tool_version)
    program = client if tool.name == tool.program else f"{tool.name} by {client}"
    last_line = "   Latencies of what it logged are beside it, as a histogram." if tool.reduce_command(spec) else ""
    last_line += f" The last line on the screen is {tool.unit}." if tool.throughput_command(spec) else ""
    lines = [
        f"How to repeat run {run.pk} without BenchHub",
        "",
        f"System:    {run.system}, {run.system.build}",
        f"Load:      {program}, {run.clients} clients on {run.threads} threads, {spec.duration_s} s"
        + (f" after {spec.warmup_s} s of warm-up" if spec.warmup_s else ", no warm-up"),
        f"Connected: by {PATHS[spec.endpoint.path]}",
        *(_pooled_lines(run) if spec.pooler else []),
        f"Measured:  {_measured_text(run)}",
        "",
        "1. Set up a PostgreSQL server with the lines of postgresql.conf, and an empty database.",
        "   Lines that are not there keep the server's default; settings-as-found.csv, if there is one, has all.",
        "2. Say in connection.sh where the server and the client programs are, or set the variables yourself.",
        "3. sh 1-load.sh makes the data set (data-set.json says which), replacing an older one.",
        "4. sh 2-run.sh checks the data set, prepares the server as the run did, and measures.",
        "   What the load generator prints is in run/out.log, and at the end on the screen.",
        *([last_line] if last_line else []),
        "",
        f"You need {client}, psql and awk. Another version of the load generator may measure other",
        "numbers. One run tells little: repeat it, and compare with the repeats that stand with the result.",
    ]
    return "\n".join(lines) + "\n"


def _pooled_lines(run: Run) -> list[str]:
    """Say how the load went through a pooler; the files here lead to the server itself."""
    pooler = run.system.description.get("pooler", {})
    mode = f", pooling by {pooler['pool_mode']}" if pooler.get("pool_mode") else ""
    words = f"{pooler.get('kind', 'a pooler')} {pooler.get('version', '')}".strip()
    return [
        f"Through:   {words}{mode}. To repeat that, set PGHOST and PGPORT to such a pooler for 2-run.sh;",
        "           1-load.sh goes to the server itself.",
    ]


def _measured_text(run: Run) -> str:
    result = getattr(run, "result", None)
    if result is None:
        return "nothing, the run has no result"
    latency = "" if result.latency_average_ms is None else f", latency {result.latency_average_ms:.3f} ms on average"
    return f"{result.throughput:,.2f} {result.unit}{latency}"


def _connection(spec: RunSpec, client: str) -> str:
    mode = "require" if spec.endpoint.path == "tls" else "disable"
    return f"""\
# Where the server is. The run was driven by {PATHS[spec.endpoint.path]}.
# A password belongs into ~/.pgpass, or into the file that PGPASSFILE names with its whole path.
: "${{PGHOST={"" if spec.endpoint.path == "socket" else "127.0.0.1"}}}"
: "${{PGPORT=5432}}"
: "${{PGUSER=$(id -un)}}"
: "${{PGDATABASE=benchmark}}"
: "${{PGSSLMODE={mode}}}"
# The folder of {client} and psql.
: "${{BIN=$(dirname "$(command -v pgbench || command -v psql)")}}"
export LC_ALL=C PGHOST PGPORT PGUSER PGDATABASE PGSSLMODE PGAPPNAME=repeat
ln -sfn "$BIN" bin
"""


def _load(spec: RunSpec, tool: Tool) -> str:
    head = HEAD.format(title="Makes the data set, replacing an older one.", folder="load")
    command = tool.load_command(replace(spec, kind="load"))
    return f"{head}(\n{command.rstrip()}\n) || {{ echo 'The data set could not be made.' >&2; exit 1; }}\n"


def _run(spec: RunSpec, tool: Tool) -> str:
    steps = [("VACUUM", f"{PSQL} 'VACUUM ANALYZE'")] if spec.vacuum else []
    steps += [("CHECKPOINT", f"{PSQL} CHECKPOINT")] if spec.checkpoint else []
    # A warm-up that the measured command begins with has no command of its own.
    steps += [("The warm-up", warmup)] if spec.warmup_s and (warmup := tool.warmup_command(spec)) else []
    parts = [HEAD.format(title="Prepares the server as the run did, and measures.", folder="run")]
    parts.append(f"(\n{tool.verify_command(spec).rstrip()}\n) || {{ echo {CHECK_FAILED} >&2; exit 1; }}")
    parts += [_step(name, command) for name, command in steps]
    measure = tool.measure_command(spec).rstrip()
    parts.append(f"(\n{measure}\n) > out.log 2> err.log\ncode=$?\ncat err.log >&2\ncat out.log")
    parts.append("[ $code -eq 0 ] || exit $code")
    after = [("The reduction of the log", tool.reduce_command(spec)), ("The sum", tool.throughput_command(spec))]
    parts += [_step(name, command) for name, command in after if command]
    return "\n".join(parts) + "\n"


def _step(name: str, command: str) -> str:
    return f"(\n{command.rstrip()}\n) || {{ echo '{name} failed.' >&2; exit 1; }}"


def configuration(settings: Mapping[str, Any]) -> str:
    """Write the settings that were asked for as lines of postgresql.conf."""
    lines = [f"{name} = '{str(value).replace(chr(39), chr(39) * 2)}'" for name, value in settings.items()]
    return "\n".join(["# What was asked of the server.", *lines]) + "\n"


def os_settings_file(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the file of what was asked of the operating system by its name; none where that is nothing."""
    return {OS_SETTINGS: _json(settings)} if settings else {}


def _result_fields(run: Run) -> dict[str, Any]:
    result = run.result
    names = ("throughput", "unit", "latency_average_ms", "latency_p95_ms", "latency_p99_ms", "measures", "doubts")
    provenance = {"provenance": f"Imported from {run.source}: BenchHub did not see the run."} if run.is_imported else {}
    return {"run": run.pk, **provenance, **{name: getattr(result, name) for name in (*names, "remarks", "parser")}}


def _settings(settings: Mapping[str, Any]) -> str:
    return csv_text(("setting", "value", "unit", "source"), _setting_rows(settings))


def _setting_rows(settings: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    for name, value in sorted(settings.items()):
        row = value if isinstance(value, Mapping) else {"setting": value}
        yield (name, row.get("setting", ""), row.get("unit") or "", row.get("source") or "")


def _json(value: Mapping[str, Any]) -> str:
    # Escaped, a name would not be found by those who must leave it out.
    return json.dumps(value, indent=2, sort_keys=True, default=str, ensure_ascii=False) + "\n"
