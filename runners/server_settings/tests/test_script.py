"""The keeper's step as an attempt runs it, without a server."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from runners.contract import PREPARATION_FAILED, Endpoint, RunSpec, ServerSettings
from runners.script import HELPERS
from runners.server_settings.script import BEGIN, files
from runners.tools.layers import AWAY, layer_of
from runners.tools.shell import unanswered_text

PSQL = shutil.which("psql")


# psql as the machine has it; no server of the tests is needed beside it.
@pytest.mark.skipif(PSQL is None, reason="psql is not installed")
def test_a_server_that_is_away_when_its_keeper_begins_is_told_from_one_that_refuses_a_setting(tmp_path):
    folder, quick = tmp_path / "runs" / "1" / "1", tmp_path / "quick"
    folder.mkdir(parents=True)
    quick.mkdir()
    (quick / "sleep").write_text("#!/bin/sh\nexec /bin/sleep 0.01\n")
    (quick / "sleep").chmod(0o700)
    with socket.socket() as bound:  # it does not listen
        bound.bind(("127.0.0.1", 0))
        endpoint = Endpoint("loopback", "127.0.0.1", bound.getsockname()[1], "x", "x")
        change = ServerSettings({"work_mem": "8MB"}, {})
        spec = RunSpec("pgbench", "18.1", str(Path(PSQL).parent), endpoint, {}, server_settings=change)
        for name, text in files(spec).items():
            (folder / name).write_text(text)
        environment = {"PATH": f"{quick}:{os.environ['PATH']}"}
        command = ["/bin/sh", "-c", HELPERS + BEGIN]
        ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert ended.returncode == PREPARATION_FAILED
    assert layer_of(unanswered_text(ended.stderr)) is AWAY
    assert "Server setting error" not in ended.stderr
    assert not (tmp_path / "server_settings").exists()


# A server that refuses the mark, and takes all else.
REFUSING = """\
#!/bin/sh
case $(cat) in
    *'CREATE ROLE'*) echo 'ERROR:  no role for you' >&2; exit 3 ;;
    *data_directory*) echo /gone ;;
esac
"""


@pytest.mark.parametrize("shell", ["sh", "bash"])  # where sh is bash, a bare return in a trap tells how that began
def test_a_keeper_that_is_refused_the_mark_leaves_nothing_behind(tmp_path, shell):
    program = shutil.which(shell) or pytest.skip(f"{shell} is not installed")
    folder, psql = tmp_path / "runs" / "1" / "1", tmp_path / "psql"
    folder.mkdir(parents=True)
    psql.write_text(REFUSING)
    psql.chmod(0o700)
    endpoint, change = Endpoint("loopback", "127.0.0.1", 1, "x", "x"), ServerSettings({}, {})
    spec = RunSpec("pgbench", "18.1", str(tmp_path), endpoint, {}, server_settings=change)
    for name, text in files(spec).items():
        (folder / name).write_text(text)
    command = [program, "./server_settings.sh", "hold"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert (ended.returncode, ended.stdout) == (1, "refused ERROR:  no role for you \n"), ended.stderr
    assert not (tmp_path / "server_settings").exists()
