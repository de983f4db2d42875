"""The files and shell text of the collector that runs beside a load, with nothing installed on its machine."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import Literal

from .metrics import names_of
from .statements import statements

SCRIPTS = Path(__file__).parent.parent / "target"
LOG_FILE, ERROR_FILE = "telemetry.log", "telemetry.err"
SERVER_LOG = "server.telemetry.log"  # of the server's machine, where that is another one
APPLICATION_NAME = "benchhub-telemetry"
MOST_SAMPLES = 7200
MOST_BYTES = 24 << 20
NICENESS = 10

Place = Literal["", "here", "elsewhere"]

# It is no child of the shell that waits for the load, which would count its CPU time as the load's.
BEGIN = """\
# Whatever is of the collector works in this folder: a number that is another process's by now, as after a reboot, is
# left alone. What has ended works nowhere, although nobody has reaped it: in a container that may be never.
is_there() {{ [ "/proc/$1/cwd" -ef . ]; }}
begin_telemetry() {{
    [ -e telemetry.sh ] && [ -e telemetry.awk ] || return 0
    rm -f telemetry.end
    (nice -n {niceness} /bin/sh ./telemetry.sh $$ {step_s} {most_bytes} {place} {folder} \\
        > {log} 2> {errors} < /dev/null &)
    tries=0
    while [ ! -s {log} ] && [ "$tries" -lt 20 ]; do
        sleep 0.1 2> /dev/null || sleep 1
        tries=$((tries + 1))
    done
}}
# Its pause is cut short, so that it notes the last moment of the load; what does not end by itself is killed.
end_telemetry() {{
    [ -e telemetry.pid ] || return 0
    read -r uptime _ < /proc/uptime && echo "$uptime" > telemetry.end
    read -r collector < telemetry.pid
    tries=0
    while is_there "$collector" && [ "$tries" -lt 60 ]; do
        if [ -e telemetry.clock ]; then
            : <> telemetry.tick
        elif [ "$tries" -lt 3 ] && read -r pause < telemetry.pause && is_there "$pause"; then
            kill "$pause"
        fi 2> /dev/null
        sleep 0.05 2> /dev/null || sleep 1
        tries=$((tries + 1))
    done
    if is_there "$collector"; then
        kill -s KILL "$collector"
        read -r session < telemetry.psql && is_there "$session" && kill -s KILL "$session"
    fi 2> /dev/null
    {{ read -r clock < telemetry.clock && is_there "$clock" && kill "$clock"; }} 2> /dev/null
    rm -f telemetry.pid telemetry.psql telemetry.pause telemetry.clock telemetry.tick telemetry.now telemetry.end
}}
"""
# For where the command was killed before it could end its collector. A number that is another's by now is left alone.
KILL = """\
for file in telemetry.pid telemetry.psql telemetry.clock; do
    read -r process < $file && [ "/proc/$process/cwd" -ef . ] && kill -s KILL "$process"
done 2> /dev/null
"""
# When psql has ended, for whatever reason, the rest is read all the same: the collector writes into no broken pipe.
SESSION = """\
exec 3<&0
PGAPPNAME={name} {psql} -X -q -A -t -w -v ON_ERROR_STOP=0 <&3 &
echo $! > telemetry.psql
wait
exec cat > /dev/null
"""


def step_s(load_s: int) -> int:
    """Return the seconds between two samples: 1, and more only where a load of so many seconds has too many."""
    return max(1, math.ceil(load_s / MOST_SAMPLES))


def functions(place: Place, load_s: int, folder: str = "") -> str:
    """Return POSIX sh functions that begin and end the collector; without its files in the folder they do nothing.

    `place` says whether the server runs on this machine. `folder` is its data directory, where that is known.
    """
    return BEGIN.format(
        niceness=NICENESS, step_s=step_s(load_s), most_bytes=MOST_BYTES, place=place, folder=shlex.quote(folder),
        log=LOG_FILE, errors=ERROR_FILE,
    )  # fmt: skip


def files(bin_directory: str) -> dict[str, str]:
    """Return the collector's files by name, to be written beside command.sh; with no folder of psql, only a host's."""
    texts = {name: (SCRIPTS / name).read_text() for name in ("telemetry.sh", "telemetry.awk", "telemetry.clock.sh")}
    texts |= {f"telemetry.{name}": " ".join(names_of(group)) for name, group in (("meminfo", "mem"), ("vmstat", "vm"))}
    return {**texts, **_session_files(bin_directory)} if bin_directory else texts


def _session_files(bin_directory: str) -> dict[str, str]:
    psql = shlex.quote(f"{bin_directory}/psql")
    return {"telemetry.psql.sh": SESSION.format(name=APPLICATION_NAME, psql=psql), "telemetry.sql": statements()}
