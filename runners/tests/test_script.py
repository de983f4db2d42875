"""command.sh is run by a real shell; psql is a script that notes how it was called."""

import os
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from runners import tools
from runners.conftest import FakeTool, fake_spec
from runners.contract import Endpoint, Outputs
from runners.counters import parse_snapshot
from runners.script import KEEPALIVES, command_script, has_lost_program, leftover_script

PSQL = """\
#!/bin/sh
case "$*" in *VACUUM*) kind=vacuum ;; *CHECKPOINT*) kind=checkpoint ;; *benchhub.awaited*) kind=snapshot ;;
*awaited=*) kind=snapshot ;; *fingerprint*) kind=fingerprint ;; *pg_database_size*) kind=size ;;
*terminate*) kind=terminate ;; *) kind=other ;; esac
echo "$kind $PGAPPNAME" >> calls
[ ! -e "fail_$kind" ] || { echo "$kind: refused" >&2; exit 1; }
echo "$kind result"
"""


class Folder:
    """An attempt's folder with a bin directory of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "bin dir").mkdir()
        psql = path / "bin dir" / "psql"
        psql.write_text(PSQL)
        psql.chmod(0o755)

    def spec(self, **changes):
        return fake_spec(bin_directory=str(self.path / "bin dir"), application_name="bh-1", **changes)

    def run(self, text: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        (self.path / "command.sh").write_text(text)
        environment = {"PATH": "/usr/bin:/bin", **(environment or {})}
        command = ["/bin/sh", "./command.sh"]
        return subprocess.run(command, cwd=self.path, env=environment, capture_output=True, text=True, check=False)

    def steps(self) -> list[str]:
        return [line.split()[0] for line in (self.path / "step").read_text().splitlines()]

    def calls(self) -> list[str]:
        return (self.path / "calls").read_text().splitlines()


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def test_the_snapshot_before_comes_after_all_preparation_and_the_exit_code_is_the_loads(folder):
    tool = FakeTool(measure="echo load; exit 2", warmup="echo warm", age="SELECT age")
    done = folder.run(command_script(folder.spec(warmup_s=5, vacuum=True, checkpoint=True), tool))
    assert done.returncode == 2
    assert done.stdout == "load\n"
    assert folder.steps() == ["verify", "vacuum", "checkpoint", "pause", "warmup", "before", "measure", "after"]
    kinds = [call.split()[0] for call in folder.calls()]
    assert kinds == ["vacuum", "checkpoint", "snapshot", "snapshot", "other"]
    assert (folder.path / "warmup.log").read_text() == "warm\n"
    assert (folder.path / "age.txt").read_text() == "other result\n"


def test_a_pilot_comes_before_all_preparation_that_it_could_disturb_and_its_failure_is_none(folder):
    tool = FakeTool(pilot="echo pilot >> calls; (exit 1)", measure="echo load")
    done = folder.run(command_script(folder.spec(vacuum=True, checkpoint=True), tool))
    assert (done.returncode, done.stdout) == (0, "load\n")
    assert folder.steps() == ["verify", "pilot", "vacuum", "checkpoint", "pause", "before", "measure", "after"]
    assert [call.split()[0] for call in folder.calls()][:3] == ["pilot", "vacuum", "checkpoint"]


def test_a_warm_up_comes_before_what_reads_its_rate(folder):
    tool = FakeTool(warmup="echo warm", pilot="cat warmup.log >> calls", measure="echo load")
    folder.run(command_script(folder.spec(warmup_s=5, vacuum=True), tool))
    assert folder.steps() == ["verify", "vacuum", "pause", "warmup", "pilot", "before", "measure", "after"]
    assert "warm" in folder.calls()


def test_what_was_not_asked_for_is_not_done(folder):
    folder.run(command_script(folder.spec(), FakeTool()))
    assert folder.steps() == ["verify", "pause", "before", "measure", "after"]
    assert not (folder.path / "age.txt").exists()


def test_a_data_set_that_is_not_the_one_asked_for_ends_the_run_with_97_and_the_reason(folder):
    tool = FakeTool(verify="echo scale 5, not 10 >&2; (exit 1)", measure="echo never")
    done = folder.run(command_script(folder.spec(), tool))
    assert (done.returncode, done.stdout) == (97, "")
    assert done.stderr == "scale 5, not 10\nThe check of the data set failed.\n"
    assert folder.steps() == ["verify"]


def test_a_check_that_finds_fault_with_a_script_only_says_so(folder):
    sentence = "Script 1, line 2: error: none"
    done = folder.run(
        command_script(folder.spec(), FakeTool(verify=f"echo '{sentence}' >&2; (exit 3)", measure="echo never"))
    )
    assert (done.returncode, done.stdout) == (97, "")
    assert done.stderr == f"{sentence}\nThe check of the scripts failed.\n"


@pytest.mark.parametrize("kind", ["vacuum", "checkpoint"])
def test_failed_preparation_ends_the_run_with_96(folder, kind):
    (folder.path / f"fail_{kind}").touch()
    done = folder.run(command_script(folder.spec(vacuum=True, checkpoint=True), FakeTool(measure="echo never")))
    assert (done.returncode, done.stdout) == (96, "")
    assert f"{kind}: refused" in done.stderr


def test_a_failed_warmup_ends_the_run_with_96_and_shows_what_it_said(folder):
    tool = FakeTool(warmup="echo aborted >&2; (exit 2)", measure="echo never")
    done = folder.run(command_script(folder.spec(warmup_s=1), tool))
    assert (done.returncode, done.stdout) == (96, "")
    assert done.stderr == "aborted\nThe warm-up failed.\n"


def test_a_failed_snapshot_fails_no_run_and_is_told_in_it(folder):
    (folder.path / "fail_snapshot").touch()
    done = folder.run(command_script(folder.spec(), FakeTool(measure="echo load")))
    assert (done.returncode, done.stdout, done.stderr) == (0, "load\n", "")
    assert "remark|snapshot: refused\n" in (folder.path / "before.snapshot").read_text()


def test_a_load_leaves_its_fingerprint_and_size(folder):
    done = folder.run(command_script(folder.spec(kind="load"), FakeTool(load="echo loaded")))
    assert (done.returncode, done.stdout) == (0, "loaded\n")
    assert folder.steps() == ["verify", "before", "load", "after", "fingerprint"]
    assert (folder.path / "fingerprint.txt").read_text() == "fingerprint result\n"
    assert (folder.path / "size_bytes.txt").read_text() == "size result\n"


def test_a_failed_load_keeps_its_exit_code_and_one_without_a_fingerprint_is_95(folder):
    assert folder.run(command_script(folder.spec(kind="load"), FakeTool(load="(exit 3)"))).returncode == 3
    assert "fingerprint" not in folder.steps()
    (folder.path / "fail_fingerprint").touch()
    assert folder.run(command_script(folder.spec(kind="load"), FakeTool())).returncode == 95


def test_the_environment_is_the_specs_and_not_the_accounts(folder):
    endpoint = Endpoint("tls", "db.example", 5433, "data'base", "bench user")
    done = folder.run(
        command_script(folder.spec(endpoint=endpoint), FakeTool(measure="env")),
        {"PGOPTIONS": "-c fsync=off", "PGHOSTADDR": "10.0.0.1", "PGPASSWORD": "x", "LC_ALL": "de_DE.UTF-8"},
    )
    environment = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    expected = {
        "PGHOST": "db.example",
        "PGPORT": "5433",
        "PGDATABASE": "data'base",
        "PGUSER": "bench user",
        "PGSSLMODE": "require",
        "PGREQUIREAUTH": "!password",
        "PGAPPNAME": "bh-1",
        "LC_ALL": "C",
    }
    assert {name: environment[name] for name in expected} == expected
    assert not environment.keys() & {"PGOPTIONS", "PGHOSTADDR", "PGPASSWORD", "PGPASSFILE"}
    assert environment["PATH"].startswith(f"{folder.path}/bin dir:")


def test_a_password_file_is_used_only_where_there_is_one(folder):
    (folder.path / ".pgpass").touch()
    done = folder.run(command_script(folder.spec(), FakeTool(measure='echo "$PGPASSFILE"')))
    assert done.stdout == f"{folder.path}/.pgpass\n"


@pytest.mark.parametrize(
    ("path", "version", "last"),
    [
        ("network", "18.4", "tcp_user_timeout=60000"),
        ("tls", "12beta1", "tcp_user_timeout=60000"),
        ("network", "9.6.24", "keepalives_count=3"),
        ("network", "1.0.20", "keepalives_count=3"),
    ],
)
def test_a_connection_to_another_machine_ends_when_that_falls_silent(folder, path, version, last):
    spec = folder.spec(endpoint=replace(folder.spec().endpoint, path=path), tool_version=version)
    done = folder.run(command_script(spec, FakeTool(measure='echo "$PGSERVICE"; cat "$PGSERVICEFILE"')))
    assert done.stdout.splitlines() == ["server", "[server]", *KEEPALIVES, *([last] if last not in KEEPALIVES else [])]


@pytest.mark.parametrize("path", ["socket", "loopback"])
def test_a_connection_within_a_machine_is_left_as_it_is(folder, path):
    spec = folder.spec(endpoint=replace(folder.spec().endpoint, path=path))
    done = folder.run(
        command_script(spec, FakeTool(measure='echo "${PGSERVICE-none} ${PGSERVICEFILE-none}"')), {"PGSERVICE": "x"}
    )
    assert done.stdout == "none none\n"


@pytest.mark.parametrize("path", ["socket", "loopback", "network"])
def test_only_tls_asks_for_tls(folder, path):
    endpoint = replace(folder.spec().endpoint, path=path)
    done = folder.run(command_script(folder.spec(endpoint=endpoint), FakeTool(measure='echo "$PGSSLMODE"')))
    assert done.stdout == "disable\n"


def test_no_address_means_the_socket_of_the_client_programs(folder):
    endpoint = Endpoint("socket", "", 5432, "d", "u")
    done = folder.run(
        command_script(folder.spec(endpoint=endpoint), FakeTool(measure='echo "${PGHOST-none}"')),
        {"PGHOST": "elsewhere"},
    )
    assert done.stdout == "none\n"


def test_snapshots_and_cancelling_carry_other_names_than_the_load(folder):
    folder.run(command_script(folder.spec(vacuum=True), FakeTool()))
    assert folder.calls() == ["vacuum bh-1", "snapshot benchhub-snapshot", "snapshot benchhub-snapshot"]
    folder.run(leftover_script(folder.spec()))
    assert folder.calls()[-1] == "terminate benchhub-cancel"


def test_a_name_with_quotes_ends_no_literal():
    text = leftover_script(fake_spec(application_name="it's $(id)"))
    assert shlex.split(text.splitlines()[-1])[-1].count("'it''s $(id)'") == 1


# --- what a design may ask for before the load -----------------------------------------------------------------


def test_a_canary_counts_how_busy_the_driver_is_before_anything_else_is_done(folder):
    folder.run(command_script(folder.spec(watch_idle_s=1, vacuum=True), FakeTool(measure="true")))
    assert folder.steps()[:3] == ["watch", "verify", "vacuum"]
    before, after = (folder.path / "idle.txt").read_text().splitlines()
    assert before.startswith("cpu ") and after.startswith("cpu ")
    assert before != after


def test_settling_comes_after_all_other_preparation_and_before_the_warm_up(folder):
    spec = folder.spec(settle_s=1, checkpoint=True, warmup_s=1)
    folder.run(command_script(spec, FakeTool(measure="true", warmup="true")))
    assert folder.steps()[:4] == ["verify", "checkpoint", "settle", "warmup"]
    settled, warmed = (float(line.split()[1]) for line in (folder.path / "step").read_text().splitlines()[2:4])
    assert warmed - settled >= 0.9


def test_a_load_waits_until_its_start_was_written_down_unless_the_host_settles_before_it(folder):
    for before in ({}, {"warmup_s": 1}):
        assert "step pause" in command_script(folder.spec(**before), FakeTool(measure="true", warmup="true"))
    assert "step pause" not in command_script(folder.spec(settle_s=1), FakeTool(measure="true"))


@pytest.mark.parametrize("before", [{}, {"warmup_s": 1}, {"settle_s": 2}])
def test_the_snapshot_before_tells_how_busy_the_host_was_before_warm_up_and_load(folder, before):
    done = folder.run(command_script(folder.spec(**before), FakeTool(measure="echo load", warmup="true")))
    assert done.stdout == "load\n"
    lines = (folder.path / "before.snapshot").read_text().splitlines()
    assert [line.split("|")[0] for line in lines[:3]] == ["quiet_from", "quiet_to", "proc_stat"]
    share = parse_snapshot((folder.path / "before.snapshot").read_bytes()).host_last["busy_before_share"]
    assert 0 <= share <= 1
    earlier, later = (sum(map(int, line.split()[1:9])) for line in lines[:2])
    assert later > earlier
    assert not (folder.path / "after.snapshot").read_text().startswith("quiet")


PG_CTL = """\
#!/bin/sh
echo "$*" > restarted
(sleep 2; ls -l /proc/self/fd > /dev/null) &
ls /proc/$$/fd > descriptors
"""


def with_pg_ctl(folder, text=PG_CTL):
    program = folder.path / "bin dir" / "pg_ctl"
    program.write_text(text)
    program.chmod(0o755)
    data = folder.path / "data dir"
    data.mkdir()
    return {"restart_directory": str(data), "restart_bin_directory": str(folder.path / "bin dir")}


def test_a_restarted_server_holds_none_of_the_attempts_locks_and_is_no_part_of_its_session(folder):
    spec = folder.spec(**with_pg_ctl(folder))
    script = command_script(spec, FakeTool(measure="true"))
    done = folder.run(f"exec 7>lock7 8>lock8 9>lock9\n{script}")
    assert done.returncode == 0, done.stderr
    assert "-m fast -w -t 300" in (folder.path / "restarted").read_text()
    assert not {"7", "8", "9"} & set((folder.path / "descriptors").read_text().split())
    assert folder.steps()[:2] == ["verify", "restart"]


def test_a_restart_that_fails_ends_the_run_with_its_reason_and_without_a_load(folder):
    spec = folder.spec(**with_pg_ctl(folder, "#!/bin/sh\necho 'could not stop' >&2; exit 1\n"))
    done = folder.run(command_script(spec, FakeTool(measure="echo load")))
    assert (done.returncode, done.stdout) == (96, "")
    assert done.stderr.endswith("could not stop\nThe restart of the server failed.\n")


def test_the_kernel_drops_its_caches_where_they_may_be_dropped_and_the_run_ends_plainly_where_not(folder):
    counter = Path("/proc/vmstat")
    before = [line for line in counter.read_text().splitlines() if line.startswith("drop_pagecache")]
    done = folder.run(command_script(folder.spec(drop_caches=True), FakeTool(measure="echo load")))
    after = [line for line in counter.read_text().splitlines() if line.startswith("drop_pagecache")]
    if os.access("/proc/sys/vm/drop_caches", os.W_OK):
        assert (done.returncode, done.stdout) == (0, "load\n"), done.stderr
        assert after != before
    elif done.returncode:  # the count is the kernel's, and other guests of the machine raise it too
        assert (done.returncode, done.stdout) == (96, "")
        assert done.stderr.endswith("The caches could not be dropped.\n")


def test_without_being_asked_nothing_is_restarted_dropped_settled_or_watched(folder):
    script = command_script(folder.spec(), FakeTool(measure="true"))
    assert not [word for word in ("pg_ctl", "drop_caches", "step settle", "/proc/stat >>") if word in script]
    assert "drop_caches" in command_script(folder.spec(drop_caches=True), FakeTool(measure="true"))


@pytest.mark.parametrize(
    ("returncode", "stderr", "is_lost"),
    [
        (127, "command.sh: 12: /opt/pg/bin/pgbench: not found\n", True),
        (127, "./command.sh: line 12: /opt/pg/bin/pgbench: No such file or directory\nlater\n", True),
        (126, "command.sh: 12: /opt/pg/bin/pgbench: Permission denied\n", True),
        (127, "/opt/pg/bin/pgbench: error while loading shared libraries: libpq.so.5: cannot open\n", True),
        (97, "The server cannot be asked: command.sh: 9: /opt/pg/bin/psql: not found\n", True),
        (96, "setsid: failed to execute /opt/pg/bin/psql: No such file or directory\nThe restart failed.\n", True),
        (127, "command.sh: 12: gzip: not found\n", False),
        (97, "The server cannot be asked: psql: error: FATAL:  /opt/pg/bin/pgbench: not found\n", False),
        (96, "ERROR:  x\ncommand.sh: 9: /opt/pg/bin/psql: not found\nVACUUM failed.\n", False),
        (96, "WARNING:  command.sh: 9: /opt/pg/bin/psql: not found\nVACUUM failed.\n", False),
        (97, 'The data set is not the one asked for: found "x: 9: /opt/pg/bin/psql: not found".\n', False),
        (96, "mkdir: cannot create directory '/opt/pg/bin/pgbench.d': Permission denied\n", False),
        (96, "/home/opt/pg/bin/pgbench: No such file or directory\n", False),
        (1, "command.sh: 9: /opt/pg/bin/psql: not found\npgbench: error: aborted\n", False),
        (0, "command.sh: 9: /opt/pg/bin/psql: not found\n", False),
        (97, 'The data set is not the one asked for: found "1", expected "2".\n', False),
    ],
)
def test_a_program_that_was_lost_under_a_run_is_told_from_what_else_fails(returncode, stderr, is_lost):
    spec = fake_spec(bin_directory="/opt/pg/bin")
    outputs = Outputs(returncode, b"", stderr.encode())
    assert has_lost_program(spec, tools.get("pgbench"), outputs) == is_lost
