"""Against a real OpenSSH daemon, with the login shells that people have: a command works, or nothing ran."""

import asyncio
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from runners import job
from runners.conftest import PATIENCE_S
from runners.frame import framed
from runners.ssh import Connections, RemoteFailure, Unreachable

pytestmark = pytest.mark.target

ODD = r"""a='it''s "x" `echo hi` $HOME !! ^a^b \\n 100% %s ü ~'
printf '%s\n' "$a" | sed 's/\(x\)/[\1]/'
cat"""
ODD_OUTPUT = 'its "[x]" `echo hi` $HOME !! ^a^b \\\\n 100% %s ü ~\n'.encode()
SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "tcsh", "fish")


def _path(shell: str) -> str:
    return shutil.which(shell) or pytest.skip(f"{shell} is not installed")


def _through(daemon, lines: str) -> None:
    """Let a script of ours take the place of the account's login shell."""
    script = daemon.folder / "login.sh"
    script.write_text(f"#!/bin/sh\n{lines}\n")
    script.chmod(0o755)
    daemon.start(f"ForceCommand {script}\n")


def _shared(daemon) -> Path:
    """Return a folder that the account may write to."""
    folder = daemon.folder / "shared"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    return folder


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_command_and_its_input_arrive_unchanged_through_each_login_shell(connections, make_daemon, shell):
    daemon = make_daemon()
    _through(daemon, f'exec {_path(shell)} -c "$SSH_ORIGINAL_COMMAND"')
    answer = await connections.run(daemon.target, ODD, input=b"a\0b\n", timeout_s=PATIENCE_S)
    assert answer == ODD_OUTPUT + b"a\0b\n"


@pytest.mark.parametrize("shell", ["tcsh", "fish"])
async def test_a_job_runs_once_under_a_login_shell_that_is_no_posix_shell(bench, make_daemon, shell):
    daemon = make_daemon()
    _through(daemon, f'exec {_path(shell)} -c "$SSH_ORIGINAL_COMMAND"')
    bench = replace(bench, target=daemon.target)
    assert await bench.start("echo measured") is job.StartOutcome.STARTED
    assert await bench.ended()
    assert len(bench.executions()) == 1


def _with(daemon, lines: str) -> None:
    """Let the account's shell begin with these lines."""
    _through(daemon, f'{lines}\nexec /bin/sh -c "$SSH_ORIGINAL_COMMAND"')


async def test_all_that_a_job_left_is_collected_whatever_the_account_sets_for_its_people(bench, make_daemon):
    daemon = make_daemon()
    _with(
        daemon,
        "export QUOTING_STYLE=c POSIXLY_CORRECT=1 LC_ALL=xx_YY TIME_STYLE=+%s IFS=/ TZ=Asia/Tokyo"
        " TMPDIR=/gone HOME=/gone; umask 777; trap '' TERM; head -c 100000 /dev/zero; echo oops >&2",
    )
    bench = replace(bench, target=daemon.target)
    assert await bench.start("echo measured > some.txt") is job.StartOutcome.STARTED
    assert await bench.ended()
    collected = await bench.collect()
    assert collected.outputs.files["some.txt"] == b"measured\n" and collected.remarks == {}


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("ulimit -f 40", r"40 blocks of 512 bytes in a file \(ulimit -f\), and a run needs 2048"),
        ("ulimit -n 12", r"12 files open \(ulimit -n\), and a run needs 64"),
        ('PATH=$(dirname "$0"):$PATH', "takes no locks: choose one on a local disk"),
    ],
    ids=["file size", "open files", "file system without locks"],
)
async def test_an_account_that_cannot_carry_a_job_is_refused_with_the_reason_before_it_begins(
    bench, make_daemon, lines, words
):
    daemon = make_daemon()
    flock = daemon.folder / "flock"
    flock.write_text(f'#!/bin/sh\n[ "$*" != "-w 1 9" ] || exit 71\nexec {_path("flock")} "$@"\n')
    flock.chmod(0o755)
    _with(daemon, lines)
    bench = replace(bench, target=daemon.target)
    with pytest.raises(RemoteFailure, match=words) as failure:
        await bench.start("true")
    assert failure.value.returncode == 3 and bench.executions() == []
    assert not (await bench.look()).started


async def test_a_limit_that_was_raised_since_the_log_in_is_seen_by_the_next_start(bench, make_daemon):
    daemon = make_daemon()
    first = _shared(daemon) / "first"
    _with(
        daemon,
        f'[ -e {first} ] || echo "$SSH_CONNECTION" > {first}\n'
        f'[ "$SSH_CONNECTION" != "$(cat {first})" ] || ulimit -n 12',
    )
    bench = replace(bench, target=daemon.target)
    assert (await bench.connections.run(daemon.target, "ulimit -n", timeout_s=PATIENCE_S)).strip() == b"12"
    assert await bench.start("true") is job.StartOutcome.STARTED
    assert await bench.ended() and len(bench.executions()) == 1


async def test_a_connection_that_is_dropped_goes_on_for_what_is_under_way(connections, make_daemon):
    daemon = make_daemon()
    daemon.start("LogLevel VERBOSE\n")
    begun, goes_on = _shared(daemon) / "begun", _shared(daemon) / "goes_on"
    text = f"touch {begun}; until [ -e {goes_on} ]; do sleep 0.1; done; echo held"
    held = asyncio.create_task(connections.run(daemon.target, text, timeout_s=PATIENCE_S))
    async with asyncio.timeout(PATIENCE_S):
        while not begun.exists():
            await asyncio.sleep(0.05)
    dropped = connections._links[daemon.target].connection
    connections.drop(daemon.target)
    assert await connections.run(daemon.target, "echo new", timeout_s=PATIENCE_S) == b"new\n"
    goes_on.touch()
    assert await held == b"held\n"
    assert daemon.log_of().count("Accepted publickey") == 2
    async with asyncio.timeout(PATIENCE_S):
        await dropped.wait_closed()


async def test_a_path_that_leads_nowhere_is_mended_for_the_command(connections, make_daemon):
    daemon = make_daemon()
    _through(daemon, 'PATH=/nowhere exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"')
    assert await connections.run(daemon.target, "ls / >/dev/null && echo listed", timeout_s=PATIENCE_S) == b"listed\n"


@pytest.mark.parametrize(
    ("shell", "words"),
    [
        ("exec rbash -c", "exec: restricted"),
        ("exec false", "ran no command: "),
        ("echo No shell for you; exit 0;:", "No shell for you"),
    ],
)
async def test_a_shell_that_starts_nothing_is_named_and_nothing_ran(connections, make_daemon, login, shell, words):
    daemon = make_daemon()
    _through(daemon, f'{shell} "$SSH_ORIGINAL_COMMAND"')
    evidence = login.home / "ran"
    with pytest.raises(RemoteFailure, match=f"{words}.*must let BenchHub start /bin/sh"):
        await connections.run(daemon.target, f"touch {evidence}", input=b"x", timeout_s=PATIENCE_S)
    assert not evidence.exists()


async def test_an_account_for_files_alone_is_named_and_nothing_ran(connections, make_daemon):
    daemon = make_daemon()
    daemon.start("ForceCommand internal-sftp\n")
    with pytest.raises(RemoteFailure, match=r"sftp connections only.*must let BenchHub start /bin/sh"):
        await connections.run(daemon.target, "exec /bin/sh -s", input=b"echo ran\n", timeout_s=PATIENCE_S)


@pytest.mark.parametrize("shell", ["fish", "bash", "tcsh"])
async def test_a_profile_that_starts_another_shell_never_gets_the_input_as_commands(
    connections, make_daemon, login, monkeypatch, shell
):
    """Such a shell would carry out what it reads: what was meant for a command of ours ran there once."""
    monkeypatch.setattr("runners.frame.BEGIN_TIMEOUT_S", 1.0)
    daemon = make_daemon()
    evidence = login.home / "ran"
    _through(daemon, f"exec {_path(shell)}")
    with pytest.raises(RemoteFailure, match="ran no command"):
        await connections.run(daemon.target, "/bin/sh -s", input=f"touch {evidence}\n".encode(), timeout_s=PATIENCE_S)
    assert not evidence.exists()


async def test_a_shell_that_begins_too_late_for_its_input_is_a_time_out_and_no_empty_answer(
    connections, make_daemon, monkeypatch
):
    monkeypatch.setattr("runners.frame.BEGIN_TIMEOUT_S", 0.5)
    daemon = make_daemon()
    _through(daemon, 'cat; exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"')  # it begins when its input is given up
    with pytest.raises(Unreachable):
        await connections.run(daemon.target, "exec /bin/sh -s", input=b"echo started\n", timeout_s=PATIENCE_S)
    assert await connections.run(daemon.target, "echo no input is due", timeout_s=PATIENCE_S) == b"no input is due\n"


async def test_a_command_that_is_ended_on_the_way_is_not_called_one_that_never_ran(connections, target):
    with pytest.raises(RemoteFailure, match="ended before it was done: out of patience"):
        await connections.run(target, "echo out of patience >&2; kill -9 $$", timeout_s=PATIENCE_S)


async def log_ins(count, target):
    """Log in so many times at once, each with connections of its own, as each process has."""
    pools = [Connections() for _ in range(count)]
    try:
        commands = (pool.run(target, "echo in", timeout_s=2 * PATIENCE_S) for pool in pools)
        return await asyncio.gather(*commands, return_exceptions=True)
    finally:
        await asyncio.gather(*(pool.close() for pool in pools))


async def test_twelve_log_ins_at_once_all_succeed_at_a_daemon_that_admits_two(make_daemon, monkeypatch):
    daemon = make_daemon()
    daemon.start("MaxStartups 2:100:2\n")
    assert await log_ins(12, daemon.target) == [b"in\n"] * 12
    monkeypatch.setattr("runners.ssh.CONNECT_TRIES", 1)
    assert any(isinstance(answer, Unreachable) for answer in await log_ins(12, daemon.target))


async def test_a_command_that_gives_way_ends_where_the_host_takes_one_session_and_no_other_does(
    connections, make_daemon
):
    daemon = make_daemon()
    daemon.start("MaxSessions 1\n")
    begun = asyncio.Event()
    waiting = asyncio.create_task(
        connections.run(
            daemon.target, "echo; sleep 300", timeout_s=PATIENCE_S, gives_way=True, on_line=lambda _: begun.set()
        )
    )
    await asyncio.wait_for(begun.wait(), PATIENCE_S)
    working = asyncio.create_task(connections.run(daemon.target, "sleep 2; echo done", timeout_s=PATIENCE_S))
    assert await connections.run(daemon.target, "echo next", timeout_s=PATIENCE_S) == b"next\n"
    assert await working == b"done\n"
    with pytest.raises(Unreachable):
        await waiting


@pytest.mark.parametrize("shell", SHELLS)
def test_a_frame_is_one_line_that_the_shell_takes_from_an_argument(shell):
    text = framed(ODD, "1")
    assert "\n" not in text
    answer = subprocess.run([_path(shell), "-c", text], input=b"", capture_output=True, check=True).stdout
    assert answer == b"BEGIN-1\n" + ODD_OUTPUT + b"END-1 0\n"


def test_a_frame_holds_the_longest_command_that_ssh_can_pass_on():
    script = Path(job.__file__).read_text()[:12_000]
    text = framed(f"cat <<'END'\n{script}\nEND", "1")
    assert script in subprocess.run(["sh", "-c", text], capture_output=True, check=True, text=True).stdout
