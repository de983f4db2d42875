"""Faults of the line to a host, of its account and daemon, its disk, and of the loads there."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from contextlib import suppress

from runners.frame import BEGIN_TIMEOUT_S

from .storm import Storm

# The real time-outs of SSH, which no lease scales: a dead line is noticed after 20 s and tried again after 2 s, and a
# connection that was being made just then has 15 s.
DEAD_LINE_S = 37
LOG_INS_DROPPED_S = 25  # the sum of the pauses between tries, where sshd drops them
COLLECTOR_S = 10
MOST_LOG_INS = 2
CLOSED = ("exit 1", "echo 'This account is closed.'; exit 0", "exec sleep 2")
# By the program that each needs. The first five run nothing, or as any other shell; the others are odd profiles.
SHELLS = {
    "rbash": 'exec rbash -c "$SSH_ORIGINAL_COMMAND"',
    "bash": "exec bash",
    "tcsh": 'exec tcsh -c "$SSH_ORIGINAL_COMMAND"',
    "fish": 'exec fish -c "$SSH_ORIGINAL_COMMAND"',
    "zsh": 'exec zsh -c "$SSH_ORIGINAL_COMMAND"',
    "env": 'PATH=/nowhere; export PATH; exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"',
    "head": "head -c 100000 /dev/zero | tr '\\0' x; echo",
}


def drop_connections(storm: Storm) -> None:
    host = storm.any_host()
    host.site.proxy.drop()
    storm.momentary("drop_connections", [host])


def part_line(storm: Storm) -> None:
    host = storm.any_host()
    host.site.proxy.part()
    storm.lasting("part_line", host.site.proxy.mend, [host], timeouts_s=DEAD_LINE_S)


def hold_answers(storm: Storm) -> None:
    host = storm.any_host()
    host.site.proxy.hold_answers()
    storm.lasting("hold_answers", host.site.proxy.mend, [host], timeouts_s=DEAD_LINE_S)


def refuse_line(storm: Storm) -> None:
    host = storm.any_host()
    host.site.proxy.stop()
    storm.lasting("refuse_line", host.site.proxy.start, [host])


def kill_daemon(storm: Storm) -> None:
    host = storm.any_host()
    host.stop_daemon()
    options = storm.chance.choice(["", "MaxSessions 1\n"])
    storm.lasting("kill_daemon", lambda: host.start_daemon(options), [host], most_leases=1)


def few_log_ins(storm: Storm) -> None:
    """Let sshd admit two log-ins at a time, which strangers take and never finish."""
    host = storm.any_host()
    host.stop_daemon()
    host.start_daemon(f"MaxStartups {MOST_LOG_INS}:100:{MOST_LOG_INS}\n")
    strangers = [socket.create_connection(("127.0.0.1", host.site.machine.port)) for _ in range(MOST_LOG_INS)]

    def leave() -> None:
        for stranger in strangers:
            stranger.close()

    storm.lasting("few_log_ins", leave, [host], timeouts_s=LOG_INS_DROPPED_S)


def close_account(storm: Storm) -> None:
    """Let a forced command answer every command, until the account is mended under the connections that are there."""
    host = storm.any_host()
    host.log_in_through(storm.chance.choice(CLOSED))
    storm.lasting("close_account", host.log_in_as_ever, [host])


def change_shell(storm: Storm) -> None:
    """Give the account another login shell, of those that the machine has."""
    host = storm.any_host()
    host.log_in_through(SHELLS[storm.chance.choice([name for name in SHELLS if shutil.which(name)])])
    storm.lasting("change_shell", host.log_in_as_ever, [host], timeouts_s=BEGIN_TIMEOUT_S)


def server_away(storm: Storm) -> None:
    """Let the host of a server, which is no driver, be away or refuse."""
    host = storm.beside
    if storm.chance.random() < 0.5:
        host.site.proxy.stop()
        mend = host.site.proxy.start
    else:
        host.log_in_through("exit 1")
        mend = host.log_in_as_ever
    storm.lasting("server_away", mend, [host], timeouts_s=COLLECTOR_S)


def break_disk(storm: Storm) -> None:
    """Fill the disk of a host, which is its home as well, or make it read-only where nobody writes just then."""
    host = storm.chance.choice(storm.hosts[1:])  # the first one loads data sets, which no disk is to end
    if not (storm.chance.random() < 0.5 and host.make_disk_read_only()):
        host.fill_disk()

    def mend() -> None:
        host.make_disk_writable()
        host.empty_disk()

    storm.lasting("break_disk", mend, [host])


def hang_load(storm: Storm) -> None:
    """Let the next load of a second hang there: its deadline ends it."""
    host = storm.any_host()
    host.let_a_load_hang()
    storm.lasting("hang_load", host.let_none_hang, [host], most_leases=4, blocks=False)


def kill_job(storm: Storm) -> None:
    """Kill wrapper and load of a host's newest attempt, as the kernel does when memory is short."""
    host = storm.any_host()
    files = sorted(host.site.machine.work_directory.glob("runs/*/*/pid"), key=lambda path: path.stat().st_mtime)
    if files and not (files[-1].parent / "rc").exists():
        _, wrapper, _, command, _ = (files[-1].read_text().split() + ["0"] * 5)[:5]
        for target in (int(wrapper), -int(command)):
            if target not in (0, 1, -1):
                with suppress(ProcessLookupError):
                    os.kill(target, signal.SIGKILL)
    storm.momentary("kill_job", [host])
