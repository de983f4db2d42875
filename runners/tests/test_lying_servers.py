"""Servers that answer what no PostgreSQL would: nothing that one says becomes a command on the driver."""

import os
import shlex
import shutil
import socket
import struct
import subprocess
from pathlib import Path

import pytest

from runners.contract import Endpoint, RunSpec, ServerSettings
from runners.counters import MOST_BYTES, parse_snapshot, snapshot_command
from runners.inspection import look
from runners.inspection.answer import read
from runners.poolers import script as poolers
from runners.readings import read_sections
from runners.server_settings.script import FILE, SCRIPTS, files
from runners.telemetry.collector import files as telemetry_files
from runners.tests.liar import Liar, message
from runners.tests.patience import PATIENCE_S
from runners.tools import shell

PSQL = shutil.which("psql")
COLUMNS = ("query", "part", "names")
# psql as the machine has it: the server beside it is a fake.
pytestmark = pytest.mark.skipif(PSQL is None, reason="psql is not installed")


@pytest.fixture
def lie(tmp_path):
    """Make servers that answer with these texts; {0} in them is the command that they would have the driver run.

    {1} is the same one within a line.
    """
    liars = []
    command = f"\\! touch {tmp_path}/taken"

    def make(texts, columns=COLUMNS):
        lies = {part: text.replace("{0}", f"{command}\n").replace("{1}", command) for part, text in texts.items()}
        liars.append(Liar(lies, columns))
        return liars[-1]

    yield make
    for liar in liars:
        liar.listener.close()


def _carry_out(text: str, liar: Liar, folder: Path) -> subprocess.CompletedProcess[bytes]:
    where = {"PGHOST": "127.0.0.1", "PGPORT": str(liar.port), "PGUSER": "x", "PGDATABASE": "x", "PGSSLMODE": "disable"}
    environment = {"PATH": "/usr/bin:/bin", "PGAPPNAME": "load", **where}
    return subprocess.run(["/bin/sh", "-c", text], cwd=folder, env=environment, capture_output=True, timeout=PATIENCE_S)


def test_a_snapshot_of_a_server_that_lies_runs_no_command_on_the_driver(lie, tmp_path):
    liar = lie({"": "{0}; {0}"})
    _carry_out(snapshot_command(str(Path(PSQL).parent)), liar, tmp_path)
    assert any("pg_stat_wal" in query for query in liar.queries)
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_talks_without_end_fills_neither_a_snapshot_nor_the_memory_of_its_reader(lie, tmp_path):
    line = 'setting|{"name":"a%d","setting":"x","unit":null,"source":"default"}'
    liar = lie({"pg_settings": "\n".join(line % number for number in range(40_000)), "": ""})
    text = _carry_out(snapshot_command(str(Path(PSQL).parent)), liar, tmp_path).stdout
    assert len(text) < MOST_BYTES
    assert parse_snapshot(text).host_last["uptime_s"] > 0
    endless = b"".join(b'setting|{"name":"a%d","setting":""}\n' % number for number in range(200_000))
    assert len(parse_snapshot(endless).settings) < MOST_BYTES / 30


def test_a_collector_at_a_server_that_lies_runs_no_command_on_the_driver(lie, tmp_path):
    liar = lie({"": "{0}; {0}"})
    (tmp_path / "telemetry.sql").write_text(telemetry_files("/x")["telemetry.sql"])
    _carry_out(f"{PSQL} -X -q -A -t -w -v at=1 -f telemetry.sql", liar, tmp_path)
    assert any("sample" in query for query in liar.queries)
    assert [path.name for path in tmp_path.iterdir()] == ["telemetry.sql"]


STATEMENT = 'ALTER SYSTEM RESET "work_mem";'
# One literal or two, as the server says how it reads backslashes.
AMBIGUOUS = r"ALTER SYSTEM SET work_mem TO '\''; {0}';"
# Literals byte by byte; where each \x81 is half a character, the last one ends before the command.
HALVES = "('a\x81', NULL::text, E'\x81\\{1} #')"
ROWS = "string_agg"
MOST_KEPT_BYTES = 1 << 20


@pytest.mark.parametrize(
    "texts",
    [
        {"": STATEMENT + " {0}"},
        {"": AMBIGUOUS},
        {ROWS: "('work_mem', NULL::text, '4096'); {0}", "": STATEMENT},
        {ROWS: HALVES, "": STATEMENT},
    ],
)
def test_what_a_server_that_lies_would_have_put_back_is_not_carried_out(lie, tmp_path, texts):
    done = _keep(lie(texts, COLUMNS[:1]), tmp_path)
    assert not (tmp_path / "taken").exists() and not (tmp_path / "state").exists()
    assert b"nothing of that is carried out" in done.stderr


@pytest.mark.parametrize("is_endless", [True, False])
def test_what_a_server_says_without_end_is_neither_written_down_whole_nor_put_back(lie, tmp_path, is_endless):
    statements = "\n".join([STATEMENT] * (100_000 if is_endless else 1))
    _keep(lie({ROWS: "('work_mem', NULL::text, '4096')", "": statements}, COLUMNS[:1]), tmp_path)
    assert (tmp_path / "state").exists() != is_endless
    assert all(path.stat().st_size <= MOST_KEPT_BYTES for path in tmp_path.glob("state*/*"))


@pytest.mark.parametrize("kind", ["file", "link", "pipe"])
def test_only_a_plain_file_of_the_account_is_copied_from_the_folder_that_a_server_names(lie, tmp_path, kind):
    (tmp_path / "secret").write_text("a key of the account\n")
    (tmp_path / "named").mkdir()
    path = tmp_path / "named" / "postgresql.auto.conf"
    makers = {"file": path.touch, "link": lambda: path.symlink_to(tmp_path / "secret"), "pipe": lambda: os.mkfifo(path)}
    makers[kind]()
    texts = {ROWS: "('work_mem', NULL::text, '4096')", "data_directory": f"{tmp_path}/named", "": STATEMENT}
    _keep(lie(texts, COLUMNS[:1]), tmp_path)
    assert (tmp_path / "state" / "restore.sql").exists()
    assert (tmp_path / "state" / "auto.conf").exists() == (kind == "file")


def test_what_cannot_be_read_is_of_no_form(tmp_path):
    (tmp_path / FILE).write_text((SCRIPTS / FILE).read_text())
    done = subprocess.run(["/bin/sh", "-c", f". ./{FILE}; server_is_of_form '.*' missing"], cwd=tmp_path)
    assert done.returncode == 1


def test_rows_that_say_nothing_are_not_what_there_was(lie, tmp_path):
    _keep(lie({ROWS: "", "": STATEMENT}, COLUMNS[:1]), tmp_path)
    assert not (tmp_path / "state").exists()


def _keep(liar: Liar, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Have the keeper write down what the server says is there before a change, then put that back."""
    endpoint = Endpoint("loopback", "127.0.0.1", liar.port, "x", "x")
    change = ServerSettings({"work_mem": "8MB"}, {"work_mem": "8192"})
    spec = RunSpec("pgbench", "18.1", str(Path(PSQL).parent), endpoint, {}, server_settings=change)
    (folder / FILE).write_text(files(spec)[FILE])
    text = f"""\
. ./{FILE}
server_connection
server_state=$(pwd)/state
server_write_down
server_admin < state/restore.sql
server_sql_left "$(cat state/rows)" | server_ask
"""
    return _carry_out(text, liar, folder)


def test_a_folder_that_a_server_names_leads_to_no_other_file_of_the_account(tmp_path):
    (tmp_path / FILE).write_text((SCRIPTS / FILE).read_text())
    (tmp_path / "secret").write_text("a key of the account\n")
    for name in ("named", "state"):
        (tmp_path / name).mkdir()
    link = tmp_path / "named" / "postgresql.auto.conf"
    link.symlink_to(tmp_path / "secret")
    state = {"data_directory": f"{tmp_path}/named\n", "restarting": "", "auto.conf": "work_mem = '4MB'\n"}
    for name, text in state.items():
        (tmp_path / "state" / name).write_text(text)
    lines = [
        f". ./{FILE}",
        "server_restart() { :; }",
        "server_pattern=work_mem server_state=$(pwd)/state",
        "server_revive",
    ]
    done = subprocess.run(["/bin/sh", "-c", "\n".join(lines)], cwd=tmp_path, capture_output=True)
    assert done.returncode == 1, done.stderr
    assert link.is_symlink() and list((tmp_path / "named").iterdir()) == [link]
    assert (tmp_path / "secret").read_text() == "a key of the account\n"


def _fields(kind: bytes, text: bytes) -> bytes:
    return message(kind, b"SNOTICE\0C00000\0M" + text + b"\0\0")


ANNOUNCED = message(b"T", struct.pack("!h", 1) + b"a\0" + struct.pack("!ihihih", 0, 0, 25, -1, -1, 0))
MEGABYTE = 1 << 20
ROW = message(b"D", struct.pack("!hi", 1, MEGABYTE) + b"x" * MEGABYTE)
# What is sent once, and what again and again.
FLOODS = {
    "notices": (b"", _fields(b"N", b"x" * 8000)),
    "lengths below zero": (ANNOUNCED, b"D" + struct.pack("!i", -5)),
    "lengths of 2 GiB": (b"", b"T" + struct.pack("!i", 2**31 - 1)),
    "messages of no kind": (b"", message(b"\xff", b"x")),
    "a copy into nothing": (message(b"H", struct.pack("!bh", 0, 1)), message(b"d", b"x" * 8000)),
    "rows": (ANNOUNCED, ROW),
    "rows that nobody announced": (b"", ROW),
    "errors": (b"", _fields(b"E", b"x" * 8000)),
}
# They take a second of a machine, or 18 s until the time is over.
SLOW = {"rows", "rows that nobody announced", "a copy into nothing"}


def _questions() -> dict[str, str]:
    """Return the questions before a load whose answers the shell of an attempt holds."""
    bin_directory = str(Path(PSQL).parent)
    endpoint = Endpoint("loopback", "127.0.0.1", 1, "x", "x")
    spec = RunSpec("pgbench", "18.1", bin_directory, endpoint, {})
    pooler = f"through_pooler() {{ :; }}\n{poolers.identity(PSQL)}"
    settings = f"server_bin={bin_directory}\n{(SCRIPTS / FILE).read_text()}\nserver_answers 1\n"
    return {
        "is there a server": shell.answered(spec),
        "the data set": shell.verified(spec, "pgbench", "SELECT 1", "x"),
        "the pooler": pooler,
        "settings of the server": settings,
    }


@pytest.mark.parametrize("name", _questions() if PSQL else ())
def test_a_server_that_complains_without_end_ends_the_question_and_fills_no_memory(lie, tmp_path, name):
    liar = lie({"": "x"}, COLUMNS[:1])
    liar.floods[""] = FLOODS["notices"]
    done = _carry_out(f"({_questions()[name]}) 2>&1 | head -c {MEGABYTE}", liar, tmp_path)
    assert liar.sent_bytes < 64 * MEGABYTE
    if name == "the data set":  # psql takes no notice of its reader's end, and nothing else would end it
        done = _carry_out(f"trap '' PIPE; ({_questions()[name]}) 2>&1", liar, tmp_path)
    assert (shell.TOO_LONG.encode() in done.stdout) == (name != "settings of the server")
    assert list(tmp_path.iterdir()) == []


MISMATCH = _fields(b"N", b'database "x" has a collation version mismatch')


@pytest.mark.parametrize(("answer", "code", "complaint"), [("x", 0, ""), ("y", 1, 'found "y", expected "x".\n')])
def test_what_a_server_warns_each_session_is_no_part_of_its_answer(lie, tmp_path, answer, code, complaint):
    liar = lie({"": answer}, COLUMNS[:1])
    liar.greeting = MISMATCH
    done = _carry_out(_questions()["the data set"], liar, tmp_path)
    assert (done.returncode, done.stderr.decode().rpartition(": ")[2]) == (code, complaint)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("ERROR:  no such table", "ERROR:  no such table"),
        ("FEHLER:  fehlt\nLINE 1: SELECT * FROM t\n        ^\nDETAIL:  x\nHINT:  y", "FEHLER:  fehlt"),
        ("FEHLER:  fehlt\nCONTEXT:  SQL-Anweisung x\nPL/pgSQL-Funktion inline_code_block", "FEHLER:  fehlt"),
        ("WARNUNG:  w\npsql:x.sql:3: FEHLER:  fehlt\nDETAIL:  x\nund y", "psql:x.sql:3: FEHLER:  fehlt"),
        ("SCHWERWIEGEND:  Abbruch\nserver closed the connection\nconnection was lost", "SCHWERWIEGEND:  Abbruch"),
        ("PANIC:  no room\nthe connection was lost", "PANIC:  no room"),
        ("server closed the connection\n\tThis probably means", "server closed the connection"),
    ],
)
def test_an_error_is_the_reason_also_where_a_server_warns_each_session(tmp_path, lines, reason):
    spec = RunSpec("pgbench", "18.1", str(tmp_path), Endpoint("loopback", "127.0.0.1", 1, "x", "x"), {})
    complaint = f"printf 'WARNUNG:  mismatch\nDETAIL:  w\n{lines}\n' >&2; exit 1"
    done = _asked(tmp_path, complaint, shell.verified(spec, "pgbench", "SELECT 1", "x"))
    assert done.stderr.decode() == f"There is no pgbench data set: {reason}\n"


@pytest.mark.parametrize(("end", "complaint"), [(0, b""), (3, b"WARNING:  mismatch\n")])
def test_what_a_server_warns_a_keeper_of_settings_is_no_objection(end, complaint, tmp_path):
    done = _asked(tmp_path, f"echo 'WARNING:  mismatch' >&2; exit {end}", "echo 'SELECT 1' | server_ask")
    assert (done.returncode, done.stdout, done.stderr) == (end, b"", complaint)


@pytest.mark.parametrize("first", ["", "set -e"])
@pytest.mark.parametrize(("command", "code"), [("echo a; echo b >&2; exit 7", 7), ("exit 0", 0)])
def test_a_question_ends_as_its_program_does_and_leaves_the_descriptors_of_its_shell(first, command, code, tmp_path):
    question = f"code=0; line=$(briefly /bin/sh -c {shlex.quote(command)}) || code=$?"
    lines = ["exec 3> three 5> five", question, 'echo "$code" "$line"']
    text = "\n".join([first, shell.BRIEFLY, *lines, "echo x >&3", "echo y >&5"])
    done = subprocess.run(["/bin/sh", "-c", text], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.split() == [str(code), *(["a", "b"] if code == 7 else [])]
    assert (tmp_path / "three").read_text() == "x\n" and (tmp_path / "five").read_text() == "y\n"


@pytest.mark.parametrize(
    ("command", "code", "count"),
    [
        ("head -c 65536 /dev/zero", 0, 65_536),
        ("head -c 65537 /dev/zero", shell.CUT_SHORT, 65_536),
        ("trap '' PIPE; while :; do echo x; done", shell.CUT_SHORT, 65_536),  # its echo fails, and it goes on
        ("kill -9 $$", 137, None),  # some shells say so
    ],
)
def test_a_question_whose_answer_is_cut_says_so_and_ends_its_program(command, code, count, tmp_path):
    text = f"{shell.BRIEFLY}briefly /bin/sh -c {shlex.quote(command)}"
    done = subprocess.run(["/bin/sh", "-c", text], cwd=tmp_path, capture_output=True, timeout=PATIENCE_S)
    assert done.returncode == code and count in (None, len(done.stdout))


def test_a_server_that_takes_a_session_and_says_nothing_is_not_there_after_a_minute(tmp_path):
    (tmp_path / "timeout").write_text(
        f'#!/bin/sh\n[ "$3" = 60 ] && shift 3 && exec {shutil.which("timeout")} 0.1 "$@"\n'
    )
    (tmp_path / "timeout").chmod(0o700)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        where = f"PGHOST=127.0.0.1 PGPORT={silent.getsockname()[1]} PGUSER=x; export PGHOST PGPORT PGUSER"
        spec = RunSpec("pgbench", "18.1", str(Path(PSQL).parent), Endpoint("loopback", "127.0.0.1", 1, "x", "x"), {})
        text = f"PATH={tmp_path}:$PATH; {where}\n{shell.answered(spec)}"
        done = subprocess.run(["/bin/sh", "-c", text], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 1
    assert done.stderr == f"{shell.NO_ANSWER}: {shell.NOT_IN_TIME}\n"


# The program prints so many bytes and ends so, in place of psql; a file takes them, or a device that is full.
@pytest.mark.parametrize(
    ("count", "end", "file", "code"),
    [
        (MOST_KEPT_BYTES, 0, "rows", 0),
        (MOST_KEPT_BYTES + 1, 0, "rows", 1),
        (MOST_KEPT_BYTES - 1000, 0, "/dev/full", 1),
        (0, 3, "rows", 3),
    ],
)
def test_what_a_server_says_is_taken_whole_or_not_at_all(count, end, file, code, tmp_path):
    done = _asked(tmp_path, f"head -c {count} /dev/zero; exit {end}", f"echo 'SELECT 1' | server_ask > {file}")
    assert done.returncode == code
    assert file != "rows" or (tmp_path / file).stat().st_size == min(count, MOST_KEPT_BYTES)


def test_a_file_that_may_not_grow_is_not_taken_for_whole(tmp_path):
    lines = "ulimit -f 1\necho 'SELECT 1' | server_ask > rows"
    assert _asked(tmp_path, "head -c 100000 /dev/zero", lines).returncode != 0


def test_a_server_is_not_marked_as_changed_while_it_does_not_tell_what_there_was(tmp_path):
    """It takes the mark, and fails when asked what differs: nothing has been changed by then."""
    lines = (
        "server_state=$(pwd) server_count=1; : > mark\nserver_sql_mark() { echo mark; }\nserver_left() { return 1; }\n"
    )
    assert _asked(tmp_path, "cat > /dev/null", f"{lines}server_mark").returncode == 1
    assert not (tmp_path / "marked").exists()


def _asked(folder: Path, program: str, lines: str) -> subprocess.CompletedProcess[bytes]:
    (folder / "psql").write_text(f"#!/bin/sh\n{program}\n")
    (folder / "psql").chmod(0o700)
    text = f"server_bin={folder}\n{(SCRIPTS / FILE).read_text()}\n{lines}"
    return subprocess.run(["/bin/sh", "-c", text], cwd=folder, capture_output=True, timeout=PATIENCE_S)


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.whole) if n in SLOW else n for n in FLOODS])
def test_a_server_whose_protocol_is_broken_ends_a_look_and_fills_nothing(lie, tmp_path, name):
    liar = lie({"": "{}"}, COLUMNS[:1])
    liar.floods["row_to_json"] = FLOODS[name]
    endpoint = Endpoint("loopback", "127.0.0.1", liar.port, "x", "x")
    text = look._text(look.Place(endpoint, str(Path(PSQL).parent)), "secret")
    done = _carry_out(f"TMPDIR={tmp_path}; export TMPDIR\n{text}", liar, tmp_path)
    assert len(done.stdout) < look.MOST_BYTES
    assert read(dict(read_sections(done.stdout)), "x").errors
    assert list(tmp_path.iterdir()) == []
    if name == "notices":  # they stood in a file of the driver: 900 MB within the time of a look
        assert liar.sent_bytes < 64 * MEGABYTE
