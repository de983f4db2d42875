"""The embedded SSH target, for real, by OpenSSH's daemon and by asyncssh's."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest

from benchhub.embedded import ports, proc
from benchhub.embedded.account import Account
from benchhub.embedded.processes import MARKER, Processes, stop_leftovers
from benchhub.embedded.sshd import FORCE_ASYNCSSH, SshTarget
from tests.servers import Target, new_key_pair

pytestmark = pytest.mark.target


async def run_on(target: Target, command: str, **changes: str) -> asyncssh.SSHCompletedProcess:
    pinned = asyncssh.import_known_hosts(f"[127.0.0.1]:{target.port} {changes.get('host_key', target.host_key)}")
    async with asyncssh.connect(
        "127.0.0.1",
        target.port,
        username=target.username,
        client_keys=[asyncssh.import_private_key(changes.get("private_key", target.private_key))],
        known_hosts=pinned,
        config=None,
    ) as connection:
        return await connection.run(command)


@pytest.fixture(params=["openssh", "asyncssh"])
def any_target(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    own_processes: Processes,
    server_folder: Path,
    account: Account,
) -> Target:
    """Return a target of each kind of daemon, one after the other."""
    if request.param == "asyncssh":
        monkeypatch.setenv(FORCE_ASYNCSSH, "asyncssh")
    marker = f"{own_processes.marker}-target"
    sshd = SshTarget(server_folder / f"sshd {marker}", ports.free_port(), account, marker)
    if request.param == "openssh" and not sshd.is_openssh:
        pytest.skip("OpenSSH's sshd is not installed")
    private_key, public_key = new_key_pair()
    sshd.start(own_processes)
    sshd.authorize(public_key)
    return Target("127.0.0.1", sshd.port, sshd.username, sshd.host_key, private_key, sshd.work_directory)


def test_a_login_runs_commands_as_the_account_in_its_own_home(any_target: Target, account: Account) -> None:
    done = asyncio.run(run_on(any_target, 'id -u; echo "$HOME"; echo oops >&2; exit 7'))
    assert done.stdout == f"{account.uid}\n{any_target.work_directory}\n"
    assert (done.stderr, done.exit_status) == ("oops\n", 7)


def test_a_command_ended_by_a_signal_says_so(any_target: Target) -> None:
    done = asyncio.run(run_on(any_target, "kill -KILL $$"))
    assert done.exit_signal is not None
    assert done.exit_signal[0] == "KILL"


def test_input_and_output_of_a_command_are_carried_whole(any_target: Target) -> None:
    done = asyncio.run(run_on(any_target, "head -c 3000000 /dev/zero | tr '\\0' x"))
    assert done.stdout == "x" * 3_000_000


def test_the_owner_of_another_key_is_refused(any_target: Target) -> None:
    with pytest.raises(asyncssh.PermissionDenied):
        asyncio.run(run_on(any_target, "true", private_key=new_key_pair()[0]))


def test_another_username_is_refused(any_target: Target) -> None:
    with pytest.raises(asyncssh.PermissionDenied):
        asyncio.run(run_on(replace(any_target, username="root" if os.geteuid() else "daemon"), "true"))


def test_a_host_key_other_than_the_pinned_one_is_refused(any_target: Target) -> None:
    with pytest.raises(asyncssh.HostKeyNotVerifiable):
        asyncio.run(run_on(any_target, "true", host_key=new_key_pair()[1]))


def _is_alone_and_asleep(marker: str) -> bool:
    """Tell whether setsid has become the program that it was asked to start, and nothing else is left."""
    return [proc.command_line(process.pid)[:1] for process in proc.marked(MARKER, marker)] == [["sleep"]]


def test_a_detached_child_outlives_its_connection_and_is_found_by_its_mark(
    any_target: Target, own_processes: Processes
) -> None:
    asyncio.run(run_on(any_target, "setsid sleep 600 </dev/null >/dev/null 2>&1 & echo"))
    marker = f"{own_processes.marker}-target"
    deadline = time.monotonic() + 60
    while not _is_alone_and_asleep(marker) and time.monotonic() < deadline:
        time.sleep(0.05)
    (detached,) = proc.marked(MARKER, marker)
    assert proc.command_line(detached.pid)[:2] == ["sleep", "600"]
    assert proc.kill_marked(MARKER, marker) == 1
    assert not proc.is_alive(detached)


def test_the_host_key_stays_the_same_over_starts(
    own_processes: Processes, server_folder: Path, account: Account
) -> None:
    sshd = SshTarget(server_folder / "steady", ports.free_port(), account, marker="steady")
    sshd.create()
    first = sshd.host_key
    own_processes.stop(sshd.start(own_processes))
    assert sshd.host_key == first
    assert ports.is_free(sshd.port)


def test_an_openssh_daemon_and_its_connections_are_found_without_a_note(
    own_processes: Processes, server_folder: Path, account: Account
) -> None:
    sshd = SshTarget(server_folder / f"left-{own_processes.marker}", ports.free_port(), account, "left")
    if not sshd.is_openssh:
        pytest.skip("OpenSSH's sshd is not installed")
    child = sshd.start(own_processes)
    daemon = child.identity
    # Whoever looked whether it answers has gone; that it noticed may take longer.
    own_processes.wait_until(lambda: proc.family(daemon.pid) == [], child, patience_s=60)
    with socket.create_connection(("127.0.0.1", sshd.port)) as connection:
        assert connection.recv(64).startswith(b"SSH-2.0-")
        connections = proc.family(daemon.pid)
        assert connections != []
        (own_processes.notes / "sshd.child.json").unlink()
        assert proc.marked(MARKER, own_processes.marker) == [], "its title stands where its environment was"
        assert stop_leftovers(own_processes.notes.parent, [own_processes.marker]) == 1 + len(connections)
    assert not any(proc.is_alive(process) for process in (daemon, *connections))
