"""Against a real OpenSSH daemon. As root the account's shell is bash with a noisy .bashrc throughout."""

import asyncio
import os
import signal
import socket
from dataclasses import replace

import pytest

from runners.conftest import PATIENCE_S
from runners.keys import make_key_pair
from runners.ssh import Connections, HostKeyChanged, RemoteFailure, Unreachable, fingerprint, offered_host_key

pytestmark = pytest.mark.target


async def test_output_comes_back_exactly_with_nul_bytes_and_without_a_last_newline(connections, target):
    output = await connections.run(target, r"printf 'a\000\377\n\nEND-'", timeout_s=PATIENCE_S)
    assert output == b"a\x00\xff\n\nEND-"


async def test_input_reaches_the_command_and_empty_input_ends_at_once(connections, target):
    data = bytes(range(256)) * 5000
    assert await connections.run(target, "cat", input=data, timeout_s=PATIENCE_S) == data
    assert await connections.run(target, "cat", timeout_s=PATIENCE_S) == b""


async def test_noise_of_the_login_shell_is_cut_off_before_and_after(connections, make_daemon):
    daemon = make_daemon()
    noisy = daemon.folder / "noisy.sh"
    noisy.write_text('#!/bin/sh\necho Welcome; echo oops >&2\nsh -c "$SSH_ORIGINAL_COMMAND"\necho END-of it\n')
    noisy.chmod(0o755)
    daemon.start(f"ForceCommand {noisy}\n")
    assert await connections.run(daemon.target, "echo payload", timeout_s=PATIENCE_S) == b"payload\n"


async def test_a_failing_command_tells_its_exit_code_and_what_it_said(connections, target):
    with pytest.raises(RemoteFailure, match="exit code 3: no such thing") as caught:
        await connections.run(target, "echo half; echo no such thing >&2; exit 3", timeout_s=PATIENCE_S)
    assert (caught.value.returncode, caught.value.stdout) == (3, b"half\n")
    assert b"no such thing" in caught.value.stderr


async def test_an_account_that_runs_nothing_is_a_failure_and_not_an_empty_answer(connections, make_daemon):
    daemon = make_daemon()
    daemon.start("ForceCommand echo This account is not available.\n")
    with pytest.raises(RemoteFailure, match=r"ran no command: .*This account is not available"):
        await connections.run(daemon.target, "echo payload", timeout_s=PATIENCE_S)


async def test_a_changed_host_key_sends_neither_log_in_nor_command(connections, make_daemon, tmp_path):
    daemon = make_daemon()
    daemon.start("LogLevel DEBUG1\n")
    target = daemon.target
    await connections.run(target, "true", timeout_s=PATIENCE_S)
    assert "userauth-request" in daemon.log_of()
    await connections.close()
    daemon.stop()
    (daemon.folder / "log").unlink()
    daemon.make_host_key()
    daemon.start("LogLevel DEBUG1\n")

    with pytest.raises(HostKeyChanged) as caught:
        await connections.run(target, f"touch {tmp_path}/sent", timeout_s=PATIENCE_S)

    assert caught.value.offered_fingerprint == fingerprint(daemon.target.host_key)
    assert fingerprint(target.host_key) in str(caught.value)
    assert "userauth-request" not in daemon.log_of()
    assert not (tmp_path / "sent").exists()
    assert target.private_key not in str(caught.value)


async def test_a_host_that_no_longer_has_the_pinned_kind_of_key_counts_as_changed(connections, make_daemon):
    daemon = make_daemon()
    target = daemon.target
    command = ["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", str(daemon.folder / "ecdsa")]
    process = await asyncio.create_subprocess_exec(*command)
    assert await process.wait() == 0
    (daemon.folder / "ecdsa").rename(daemon.folder / "host_key")
    daemon.start()
    with pytest.raises(HostKeyChanged) as caught:
        await connections.run(target, "true", timeout_s=PATIENCE_S)
    assert caught.value.offered.startswith("ecdsa-sha2-nistp256 ")


async def test_the_offered_key_is_the_hosts_and_needs_no_log_in(sshd):
    offered = await offered_host_key("127.0.0.1", sshd.port)
    assert offered.split() == sshd.target.host_key.split()[:2]


async def test_a_key_that_is_not_installed_says_which_to_install_and_is_tried_once(connections, make_daemon):
    daemon = make_daemon()
    daemon.start()
    pair = make_key_pair("another")
    with pytest.raises(Unreachable) as caught:
        await connections.run(replace(daemon.target, private_key=pair.private_key), "true", timeout_s=PATIENCE_S)
    assert "authentication failed" in str(caught.value)
    assert " ".join(pair.public_key.split()[:2]) in str(caught.value)
    assert daemon.log_of().count("Connection from") + daemon.log_of().count("[preauth]") <= 1


async def test_a_key_that_cannot_be_read_is_unreachable_with_a_sentence(connections, target):
    with pytest.raises(Unreachable, match="cannot be read"):
        await connections.run(replace(target, private_key="nonsense"), "true", timeout_s=PATIENCE_S)


async def test_nobody_listening_is_refused_and_a_silent_host_times_out(connections, target):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        with pytest.raises(Unreachable, match="refused the connection: check the port"):
            await connections.run(replace(target, port=port), "true", timeout_s=PATIENCE_S)
        silent.listen()
        with pytest.raises(Unreachable, match=r"did not answer within 0\.5 s"):
            await connections.run(replace(target, port=port), "true", timeout_s=0.5)
        with pytest.raises(Unreachable, match="cannot be reached"):
            await connections.run(replace(target, address="nowhere.invalid"), "true", timeout_s=PATIENCE_S)


async def test_a_name_that_is_no_target_offers_no_key():
    with pytest.raises(Unreachable):
        await offered_host_key("nowhere.invalid", 22)


async def test_a_command_that_takes_too_long_is_unreachable_and_leaves_its_session_free(connections, target):
    for _ in range(12):
        with pytest.raises(Unreachable, match="did not answer within"):
            await connections.run(target, "sleep 300", timeout_s=0.1)
    assert await connections.run(target, "echo fine", timeout_s=PATIENCE_S) == b"fine\n"


async def test_one_connection_serves_all_and_more_sessions_than_the_host_allows_wait(connections, make_daemon):
    daemon = make_daemon()
    daemon.start("MaxSessions 3\n")
    commands = (connections.run(daemon.target, f"echo {n} $PPID; sleep 0.05", timeout_s=PATIENCE_S) for n in range(30))
    answers = [answer.split() for answer in await asyncio.gather(*commands)]
    assert [int(number) for number, _ in answers] == list(range(30))
    assert len({parent for _, parent in answers}) == 1


async def test_a_lost_connection_is_unreachable_once_and_then_made_again(connections, target):
    sessions = int(await connections.run(target, "echo $PPID", timeout_s=PATIENCE_S))
    begun = asyncio.Event()
    waiting = asyncio.create_task(
        connections.run(target, "echo; sleep 300", timeout_s=PATIENCE_S, on_line=lambda _: begun.set())
    )
    await asyncio.wait_for(begun.wait(), PATIENCE_S)
    os.kill(sessions, signal.SIGKILL)
    with pytest.raises(Unreachable, match=r"lost"):
        await waiting
    assert int(await connections.run(target, "echo $PPID", timeout_s=PATIENCE_S)) != sessions


def test_connections_refuse_a_second_event_loop(target):
    connections = Connections()

    async def once():
        try:
            return await connections.run(target, "echo hello", timeout_s=PATIENCE_S)
        finally:
            await connections.close()

    assert asyncio.run(once()) == b"hello\n"
    with pytest.raises(RuntimeError, match="event loop"):
        asyncio.run(once())


def test_a_target_does_not_show_its_private_key(target):
    assert "PRIVATE" not in repr(target)
