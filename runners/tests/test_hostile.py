"""Targets that answer what no honest one would: a real OpenSSH daemon whose account frames whatever it is given."""

import pytest

from runners import job
from runners.conftest import PATIENCE_S
from runners.ssh import RemoteFailure

pytestmark = pytest.mark.target
SHA256 = b"0" * 64
MANIFEST = b'0 999\n{"free_bytes": 9999999, "files": [{"name": "%b", "sha256": "%b", "bytes": %b}]}'
ATTEMPT = job.Attempt("0b7b1f0e", 1)
FORGER = r"""#!/bin/sh
nonce=$(printf '%s\n' "$SSH_ORIGINAL_COMMAND" | sed -n 's/.*BEGIN-\([0-9a-f]*\).*/\1/p' | head -n 1)
echo "BEGIN-$nonce"
cat "$(dirname "$0")/answer"
echo "END-$nonce 0"
"""


@pytest.fixture
def forger(make_daemon):
    """A daemon; what its folder's file `answer` holds is its answer to every command."""
    daemon = make_daemon()
    script = daemon.folder / "forger.sh"
    script.write_text(FORGER)
    script.chmod(0o755)
    daemon.start(f"ForceCommand {script}\n")
    return daemon


@pytest.mark.parametrize(
    "answer",
    [
        b"0 2\n{}file x -11\n",  # leads back into the stream, again and again
        b"0 2\n{}file x 99999999999999999999\n",
        b"0 2\n{}file x\n",
        b"0 2\n{}no newline",
        b"-1 2\n{}",
        b"0 -2\n{}",
        b"zero two\n{}",
        b"0 2\n[]",
        b'0 38\n{"free_bytes":9999999,"files":[{"x":1}]}',
        b"256 2\n{}",
        b"99999999999999 2\n{}",
        MANIFEST % (b"a", SHA256, b"-1"),
        MANIFEST % (b"a", SHA256, b"1e999"),
        MANIFEST % (b"a", b"no checksum", b"1"),
        MANIFEST % (b"../a", SHA256, b"1"),
        MANIFEST % (b"a" * 101, SHA256, b"1"),
        MANIFEST % (b"\\u0000", SHA256, b"1"),
        b"\xff\xfe\n",
        b"",
    ],
)
async def test_a_collection_that_makes_no_sense_fails_and_ends(connections, forger, answer):
    (forger.folder / "answer").write_bytes(answer)
    with pytest.raises(RemoteFailure, match="makes no sense"):
        await job.collect(connections, forger.target, ATTEMPT, cap_bytes=1000)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"boot_id=x\n\n",
        b"boot_id=x\nuptime=nan\nstarted=0\nerr_size=0\nerr_from=0\nout_size=0\nout_from=0\ncancelled=0\nholder=\n\n",
        b"boot_id=x\nuptime=1e999\nstarted=0\nerr_size=0\nerr_from=0\nout_size=0\nout_from=0\ncancelled=0\nholder=\n\n",
        b"boot_id=%b\nuptime=1\nstarted=0\nerr_size=0\nerr_from=0\nout_size=0\nout_from=0\ncancelled=0\nholder=\n\n"
        % (b"x" * 41),
        b"boot_id=x\nuptime=1\nstarted=0\nreturncode=999\nerr_size=0\nerr_from=0\nout_size=0\nout_from=0\n"
        b"cancelled=0\nholder=\n\n",
        b"boot_id=x\nuptime=1\nstarted=0\nerr_size=-5\nerr_from=0\nout_size=0\nout_from=0\ncancelled=0\nholder=\n\n",
    ],
)
async def test_a_look_that_makes_no_sense_fails(connections, forger, answer):
    (forger.folder / "answer").write_bytes(answer)
    with pytest.raises(RemoteFailure, match="makes no sense"):
        await job.look(connections, forger.target, ATTEMPT)


async def test_more_than_a_command_may_answer_with_is_cut_off(connections, forger):
    (forger.folder / "answer").write_bytes(b"x" * 300_000)
    with pytest.raises(RemoteFailure, match="sent more than the 200,000 bytes"):
        await connections.run(forger.target, "true", timeout_s=PATIENCE_S, most_bytes=200_000)
    (forger.folder / "answer").write_bytes(b"x" * 150_000)
    assert len(await connections.run(forger.target, "true", timeout_s=PATIENCE_S, most_bytes=200_000)) == 150_000


@pytest.mark.parametrize("status", ["", "x", "-1", "9" * 5000, "1000"])
async def test_an_answer_without_an_exit_code_fails(connections, forger, status):
    (forger.folder / "forger.sh").write_text(FORGER.replace("$nonce 0", f"$nonce {status}"))
    (forger.folder / "answer").write_bytes(b"x")
    with pytest.raises(RemoteFailure, match="sent no exit code"):
        await connections.run(forger.target, "true", timeout_s=PATIENCE_S)


async def test_the_sentence_on_a_failure_is_short_and_can_be_stored_whatever_the_target_wrote(connections, forger):
    (forger.folder / "answer").write_bytes(b"boot_id=" + b"\0\x1b[31m" * 100_000)
    with pytest.raises(RemoteFailure) as caught:
        await job.look(connections, forger.target, ATTEMPT)
    assert len(str(caught.value)) < 1100
    assert str(caught.value).isprintable()


async def test_an_account_that_ran_nothing_is_logged_in_to_anew(connections, make_daemon):
    """What the account may do is settled at the log-in: once it was mended, the next command must see that."""
    daemon = make_daemon()
    daemon.start("LogLevel VERBOSE\nForceCommand echo closed\n")
    for _ in range(2):
        with pytest.raises(RemoteFailure, match="ran no command"):
            await connections.run(daemon.target, "true", timeout_s=PATIENCE_S)
    assert daemon.log_of().count("Accepted publickey") == 2
