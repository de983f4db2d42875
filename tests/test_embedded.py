"""The embedded servers, for real: they are made, stopped, killed and found again."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
import redis

from benchhub.embedded import EmbeddedError, broker, ports, proc, programs
from benchhub.embedded import account as accounts
from benchhub.embedded.account import Account
from benchhub.embedded.broker import Broker
from benchhub.embedded.postgres import Cluster
from benchhub.embedded.processes import MARKER, ChildError, InterruptError, Processes

pytestmark = pytest.mark.target


@pytest.fixture
def cluster(server_folder: Path, account: Account) -> Cluster:
    folder = server_folder / f"cluster-{secrets.token_hex(4)}"
    bin_directory = programs.builds(account)[16]
    return Cluster("cluster", folder, bin_directory, ports.free_port(), account, is_scratch=True)


@pytest.fixture(scope="module")
def template(server_folder: Path, account: Account, processes: Processes) -> Cluster:
    """A cluster that is never started: a copy of it is made in a tenth of the time."""
    folder = server_folder / f"cluster-{secrets.token_hex(4)}"
    made = Cluster("template", folder, programs.builds(account)[16], ports.free_port(), account, is_scratch=True)
    made.create(processes)
    return made


@pytest.fixture
def created(cluster: Cluster, template: Cluster) -> Cluster:
    subprocess.run(["cp", "-a", str(template.folder), str(cluster.folder)], check=True)
    return cluster


def value(cluster: Cluster, statement: str) -> object:
    with psycopg.connect(cluster.url) as connection:
        row = connection.execute(statement.encode()).fetchone()
    return row[0] if row else None


def start_anew(cluster: Cluster, processes: Processes) -> None:
    cluster.create(processes)
    cluster.start(processes)


def test_both_builds_are_created_alike(cluster16: Cluster, cluster18: Cluster) -> None:
    for cluster, major in ((cluster16, 16), (cluster18, 18)):
        assert str(value(cluster, "SHOW server_version")).split(".")[0] == str(major)
        for setting, expected in (
            ("data_checksums", "on"),
            ("fsync", "on"),
            ("server_encoding", "UTF8"),
            ("lc_collate", "C") if major < 16 else ("lc_messages", "C"),
            ("listen_addresses", "127.0.0.1"),
            ("unix_socket_directories", ""),
        ):
            assert value(cluster, f"SHOW {setting}") == expected


def test_debian_s_postgresql_15_serves_as_a_cluster_too(cluster15: Cluster) -> None:
    assert str(value(cluster15, "SHOW server_version")).startswith("15.")


def test_a_cluster_refuses_who_does_not_know_the_password(cluster16: Cluster) -> None:
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(cluster16.url.replace(cluster16.password, "guess"))


def test_settings_reach_the_server_and_a_new_port_is_taken_over(created: Cluster, own_processes: Processes) -> None:
    cluster = replace(created, settings={"shared_buffers": "24MB"})
    own_processes.stop(cluster.start(own_processes))
    moved = replace(cluster, port=ports.free_port())
    moved.start(own_processes)
    assert value(moved, "SHOW shared_buffers") == "24MB"
    assert ports.is_free(cluster.port)


def test_a_cluster_keeps_its_data_over_stop_and_create(cluster: Cluster, own_processes: Processes) -> None:
    cluster.create(own_processes)
    child = cluster.start(own_processes)
    with psycopg.connect(cluster.url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    own_processes.stop(child)
    start_anew(cluster, own_processes)
    assert value(cluster, "SELECT answer FROM kept") == 42


def test_what_an_interrupted_initdb_left_is_thrown_away(cluster: Cluster, own_processes: Processes) -> None:
    cluster.account.make_folder(cluster.folder)
    half = cluster.account.make_folder(cluster.folder / "data.making")
    (half / "PG_VERSION").write_text("16\n")
    start_anew(cluster, own_processes)
    assert not half.exists()
    assert value(cluster, "SELECT current_database()") == "benchhub"


def test_an_interrupted_create_can_be_repeated(cluster: Cluster, own_processes: Processes) -> None:
    own_processes.interrupted.set()
    with pytest.raises(InterruptError):
        cluster.create(own_processes)
    assert not cluster.exists
    own_processes.interrupted.clear()
    start_anew(cluster, own_processes)
    assert value(cluster, "SELECT 1") == 1


def test_a_server_killed_at_once_starts_again(created: Cluster, own_processes: Processes) -> None:
    child = created.start(own_processes)
    proc.kill([child.identity, *proc.family(child.identity.pid)])
    assert (created.data_directory / "postmaster.pid").exists()
    own_processes.stop(child)
    created.start(own_processes)
    assert value(created, "SELECT 1") == 1


def test_a_pid_file_that_names_another_program_does_not_stop_the_start(
    created: Cluster, own_processes: Processes
) -> None:
    stranger = own_processes.start("sleep", ["sleep", "60"], folder=created.folder, account=created.account)
    lines = [str(stranger.identity.pid), str(created.data_directory), "1", str(created.port)]
    created.account.write(created.data_directory / "postmaster.pid", "\n".join(lines) + "\n")
    created.start(own_processes)
    assert value(created, "SELECT 1") == 1
    assert proc.is_alive(stranger.identity)


def test_a_cluster_that_runs_is_not_started_twice(created: Cluster, own_processes: Processes) -> None:
    created.start(own_processes)
    with pytest.raises(EmbeddedError, match="runs already"):
        created.start(own_processes)
    assert value(created, "SELECT 1") == 1


def test_a_server_that_somebody_restarts_is_adopted_and_stopped_as_ours_would_be(
    created: Cluster, own_processes: Processes
) -> None:
    created.start(own_processes)
    first = created.running
    assert first is not None
    with pytest.raises(EmbeddedError, match="cluster runs already"):
        created.adopt(own_processes)
    words = [
        str(created.bin_directory / "pg_ctl"),
        "-D",
        str(created.data_directory),
        "-w",
        "-l",
        "/dev/null",
        "restart",
    ]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, **created.account.popen_options())
    adopted = created.adopt(own_processes)
    assert adopted is not None and adopted.identity == created.running != first
    assert adopted.exit_code is None and value(created, "SELECT 1") == 1
    own_processes.stop(adopted)
    assert adopted.exit_code == 0 and created.running is None
    assert created.adopt(own_processes) is None
    assert not (created.data_directory / "postmaster.pid").exists(), "it ended in order, not by a kill"


def test_a_port_in_use_ends_the_start_with_a_sentence(created: Cluster, own_processes: Processes) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", created.port))
        other.listen()
        with pytest.raises(ChildError, match="cluster did not start"):
            created.start(own_processes)


def test_the_broker_answers_only_with_its_password(broker_url: str) -> None:
    assert redis.Redis.from_url(broker_url).ping()
    with pytest.raises(redis.exceptions.AuthenticationError):
        redis.Redis.from_url("redis://" + broker_url.rpartition("@")[2]).ping()


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        (lambda url: "redis://:wrong@" + url.rpartition("@")[2], "refuses the log-in"),
        (lambda _url: f"redis://:x@127.0.0.1:{ports.free_port()}/0", "does not answer: .* Start it, or unset it"),
        (
            lambda _url: f"redis://127.0.0.1:{ports.free_port()}/0?password=wrong",
            r"\(127\.0\.0\.1:\d+\) does not answer: .* Start it",
        ),
        (lambda url: url.rpartition("/")[0] + "/9999", "cannot be used: .*DB index is out of range"),
        (lambda _url: "amqp://127.0.0.1", "BROKER_URL must read redis://"),
    ],
)
def test_a_broker_that_cannot_be_used_is_told_in_a_sentence_without_its_password(broker_url, url, sentence) -> None:
    broker.require(broker_url)
    with pytest.raises(EmbeddedError, match=sentence) as error:
        broker.require(url(broker_url))
    assert "wrong" not in str(error.value) and ":x@" not in str(error.value)
    assert ".." not in str(error.value)


def test_the_broker_is_found_by_its_mark_alone(own_processes: Processes, server_folder: Path, account: Account) -> None:
    folder = server_folder / f"broker-{own_processes.marker}"
    child = Broker(folder, ports.free_port(), secrets.token_hex(), account).start(own_processes)
    assert proc.marked(MARKER, own_processes.marker) == [child.identity]
    assert proc.kill_marked(MARKER, own_processes.marker) == 1
    assert not proc.is_alive(child.identity)


def test_a_stranger_is_found_by_no_mark(own_processes: Processes, server_folder: Path) -> None:
    """One with another mark, one without any, and one that only reads a log."""
    logged = own_processes.start("logged", ["sleep", "60"], folder=Path("/"))
    other = Processes(server_folder / f"other-{own_processes.marker}", marker="other")
    marked = other.start("marked", ["sleep", "60"], folder=Path("/"))
    with subprocess.Popen(["sleep", "60"]) as unmarked, subprocess.Popen(["tail", "-f", logged.log]) as reader:
        assert proc.marked(MARKER, own_processes.marker, own_processes.logs) == [logged.identity]
        assert own_processes.kill_marked() == 1
        assert proc.is_alive(marked.identity)
        assert unmarked.poll() is None and reader.poll() is None
        unmarked.kill()
        reader.kill()
    other.stop_all()


def test_files_of_the_account_are_closed_to_others(account: Account, cluster16: Cluster) -> None:
    for path in (cluster16.folder, cluster16.folder / "password", cluster16.data_directory):
        assert path.stat().st_uid == account.uid
        assert path.stat().st_mode & 0o077 == 0


def modes_below(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in (folder, *folder.rglob("*"))}


def test_copied_programs_can_be_run_by_another_user_whatever_umask_they_were_installed_with(tmp_path: Path) -> None:
    source = tmp_path / "package"
    for folder in (source, source / "bin", source / "bin" / "lib"):
        folder.mkdir(mode=0o700)
    for file, mode in (("bin/postgres", 0o700), ("bin/lib/libpq.so", 0o600), ("valkey-server", 0o755)):
        (source / file).write_text("")
        (source / file).chmod(mode)
    copy = programs._copied(source, ["bin", "valkey-server"], tmp_path / "copy")
    assert modes_below(copy) == {
        "copy": 0o755,
        "bin": 0o755,
        "lib": 0o755,
        "postgres": 0o755,
        "libpq.so": 0o644,
        "valkey-server": 0o755,
    }


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has servers run by a user of their own")
def test_the_folder_of_root_s_servers_lets_their_user_in_whatever_root_s_umask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "PRIVATE_PARENT", tmp_path / "parent")
    before = os.umask(0o077)
    try:
        account = accounts.for_clone(tmp_path)
    finally:
        os.umask(before)
    assert account.home.stat().st_mode & 0o777 == 0o710 and account.home.stat().st_gid == account.gid
    assert account.home.parent.stat().st_mode & 0o777 == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user has no folder outside the clone")
def test_the_folder_of_a_clone_that_was_removed_goes_unless_something_works_there(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(accounts, "PRIVATE_PARENT", tmp_path / "private")
    clones = [tmp_path / name for name in ("gone", "busy", "present", "ours")]
    for clone in clones:
        clone.mkdir()
        accounts.for_clone(clone)
    folders = [accounts.private_folder(clone) for clone in clones]
    for clone in clones[:2]:
        clone.rmdir()
    with subprocess.Popen(["sleep", "600"], cwd=folders[1]) as busy:
        removed = accounts.remove_private(clones[3])
        busy.kill()
    assert sorted(removed) == sorted(map(str, (folders[0], folders[3])))
    assert folders[1].exists() and folders[2].exists()
