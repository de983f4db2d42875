"""`make demo` as a person meets it, on a copy of the tree: from nothing to a page with a curve, and back."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchhub.demo import page, state
from benchhub.demo.__main__ import INSTALLATION
from benchhub.demo.extent import Extent
from benchhub.demo.servers import target_marker
from benchhub.embedded import EmbeddedError, account, proc
from benchhub.embedded.processes import MARKER
from conftest import CLONE
from tests import places

pytestmark = pytest.mark.long
PATIENCE_S = 600
# In less than some seconds the clients of a busy machine have hardly logged in.
LITTLE = ("--seconds=5", "--repeats=1", "--levels=1 8")


# The doctor asks workers to answer in a second and a half, which says nothing where they wait for a core for longer.
PATIENT_DOCTOR = """
import runpy, sys
from celery.app.control import Control
ping = Control.ping
Control.ping = lambda control, timeout: ping(control, timeout=15)
sys.argv = ["manage.py", "doctor"]
runpy.run_path("manage.py", run_name="__main__")
"""


@pytest.fixture(scope="module")
def clone() -> Iterator[Path]:
    """A copy of what git would clone, with this tree's .venv, in a folder that only its owner can enter.

    What Python has compiled of it comes along: each process of the demonstration would compile it anew.
    """
    places.reap(places.CLONES, places.end_demonstration)
    with places.held(places.CLONES) as folder:
        files = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard"], cwd=CLONE, text=True)
        for name in (path for file in files.splitlines() for path in (file, compiled(file))):
            if (CLONE / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(CLONE / name, folder / name)
        yield folder
        run_demo(folder, "clean")
        private = account.private_folder(folder)
    assert not private.exists()


def compiled(name: str) -> str:
    return importlib.util.cache_from_source(name) if name.endswith(".py") else name


def command(clone: Path, *words: str) -> list[str]:
    assert clone.exists()
    return [sys.executable, "-m", "benchhub.demo", *words]


def test_stop_needs_no_package(clone: Path) -> None:
    # -S hides what is installed, as on a machine where nothing is yet.
    done = subprocess.run(
        [sys.executable, "-S", *command(clone, "stop")[1:]], cwd=clone, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done


def test_stop_ends_an_installation_that_goes_on_although_make_was_killed(clone: Path) -> None:
    left = subprocess.Popen(["sleep", "600"], env={**plain_environment(), INSTALLATION: str(clone.resolve())})
    assert run_demo(clone, "stop").stdout == "Stopped.\n"
    assert left.wait(PATIENCE_S) == -signal.SIGKILL


@pytest.mark.parametrize("url", ["mysql://127.0.0.1/x", "postgresql://127.0.0.1:99999/x", "postgresql://127.0.0.1"])
def test_a_database_url_that_cannot_be_read_is_refused_in_one_sentence(clone: Path, url: str) -> None:
    environment = {**plain_environment(), "DATABASE_URL": url}
    words = command(clone, "up", "--once")
    done = subprocess.run(words, cwd=clone, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("DATABASE_URL must read postgresql://user:password@host:port/name")
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "url", "sentence"),
    [
        (
            "DATABASE_URL",
            "postgresql://a:secret@127.0.0.1:1/x",
            "^The warehouse of DATABASE_URL .* refused",
        ),
        (
            "BROKER_URL",
            "redis://:secret@127.0.0.1:1/0",
            r"^The broker of BROKER_URL \(127.0.0.1:1\) does not",
        ),
        ("BROKER_URL", "amqp://127.0.0.1", "^BROKER_URL must read redis://"),
    ],
)
def test_a_server_of_ones_own_that_does_not_answer_is_named_and_not_waited_for(
    clone: Path, name: str, url: str, sentence: str
) -> None:
    done = run_demo(clone, "up", "--once", **{name: url})
    assert done.returncode == 1
    assert re.search(sentence, done.stdout)
    assert done.stdout.count("\n") == 1, done.stdout
    assert "secret" not in done.stdout and "Traceback" not in done.stdout


def plain_environment() -> dict[str, str]:
    """Without what would point the demonstration at the servers of the tests."""
    leave_out = ("DATABASE_URL", "BROKER_URL", "DJANGO_SETTINGS_MODULE", "SECRET_KEY", "FIELD_KEYS")
    return {name: value for name, value in os.environ.items() if name not in leave_out}


def run_demo(clone: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(clone, *words),
        cwd=clone,
        env=plain_environment() | more,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@contextlib.contextmanager
def serving(clone: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The demonstration with its output up to the last line before it serves; killed if the test forgets it."""
    demo = subprocess.Popen(
        command(clone, "up", *options),
        cwd=clone,
        env=plain_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert demo.stdout is not None
    lines: list[str] = []
    for line in demo.stdout:
        lines.append(line.rstrip())
        if line.startswith("  Watch it at "):
            check_that_its_user_can_sign_in(line)
        if line.startswith("Ctrl-C"):
            break
    try:
        yield demo, lines
    finally:
        demo.kill()
        demo.wait()


def check_that_its_user_can_sign_in(line: str) -> None:
    url, _user, username, _password, password = line.replace(",", "").split()[3:]
    assert page.visit(f"{url}/", username, password).status == 200


def left_running(clone: Path) -> list[str]:
    """Command lines of whatever belongs to the clone: by its marks, or because its folders are named."""
    marker = account.clone_id(clone)
    marked = [*proc.marked(MARKER, marker), *proc.marked(MARKER, target_marker(marker))]
    folders = (str(clone), str(account.private_folder(clone)))
    lines = [" ".join(proc.command_line(pid)) for pid in proc.pids() if pid != os.getpid()]
    mentions = [line for line in lines if any(folder in line for folder in folders)]
    return mentions + [str(process) for process in marked]


def experiment(clone: Path) -> dict[str, str]:
    home = account.private_folder(clone) if os.geteuid() == 0 else clone / "var"
    result: dict[str, str] = json.loads((home / "experiment.json").read_text())
    return result


def read_the_finished_curve(chromium: Any, url: str, username: str, password: str) -> None:
    """Log in with a browser and find both curves drawn whole, their table, and a price under every licence term."""
    tab = chromium.new_context(viewport={"width": 1440, "height": 900}).new_page()
    complaints: list[str] = []
    tab.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    tab.goto(url)
    tab.fill("[name=username]", username)
    tab.fill("[name=password]", password)
    tab.click("section [type=submit]")
    tab.wait_for_url(url)
    tab.locator(".chart.drawn").first.wait_for()
    at_lines = "".join(tab.locator(".chart").first.locator(".annotation-text").all_text_contents())
    assert all(name in at_lines.replace(" ", "") for name in ("PostgreSQL16.14", "PostgreSQL18.4")), at_lines
    levels = tab.locator("table.numbers").first.locator("tbody tr:has(td)")
    assert [row.locator("td").first.text_content() for row in levels.all()] == ["1", "8"] * 2
    prices = tab.locator(".price").all_text_contents()
    assert len(prices) >= 6 and all(float(price.replace(",", "")) > 0 for price in prices)
    assert complaints == []
    tab.context.close()


@pytest.mark.browser
def test_the_demonstration_measures_serves_mends_itself_and_leaves_nothing_running(clone: Path, chromium: Any) -> None:
    with taken(state.WEB_PORT), serving(clone, *LITTLE) as (demo, lines):
        output = "\n".join(lines)
        assert lines[-1].startswith("Ctrl-C"), output
        assert "Traceback" not in output
        assert "  Runs of 5 s on one machine support no verdict on the two builds." in lines
        assert "\x1b" not in output and "\r" not in output, "control characters without a terminal"
        assert any(line.startswith(f"  Port {state.WEB_PORT} is taken: the pages are on port ") for line in lines)
        url = next(line.strip() for line in lines if line.strip().startswith("http://"))
        words = next(line for line in lines if line.strip().startswith("user")).replace(",", "").split()
        answer = page.visit(url, words[1], words[3])
        assert (answer.status, experiment(clone)["name"] in answer.text) == (200, True)
        with pytest.raises(EmbeddedError, match="was not shown to user demo"):
            page.visit(url, words[1], "guess")
        read_the_finished_curve(chromium, url, words[1], words[3])

        again = run_demo(clone, "up")
        assert again.returncode == 0
        assert "runs already" in again.stdout and url.rpartition("/experiments")[0] in again.stdout
        assert run_demo(clone, "up", "--once").returncode == 1
        assert demo.poll() is None and page.visit(url, words[1], words[3]).status == 200

        check_that_the_doctor_looks_at_the_demonstration(clone)
        check_that_web_is_started_again(clone, demo, url)
        check_that_a_restarted_target_is_kept(clone, demo)
        demo.send_signal(signal.SIGINT)
        assert demo.wait(PATIENCE_S) == 0
    assert left_running(clone) == []
    assert not (clone / "var/run/environment.json").exists()


@pytest.mark.whole
def test_a_later_start_shows_what_was_measured_and_once_measures_anew(clone: Path) -> None:
    run_demo(clone, "clean")
    first = run_demo(clone, "up", "--once", *LITTLE)
    assert first.returncode == 0, first.stdout
    assert left_running(clone) == []
    check_that_a_second_start_measures_anew(clone, first.stdout)
    latest, port = experiment(clone), remembered_port(clone)
    with taken(port), serving(clone) as (demo, lines):
        assert any(line.startswith(f"  Port {port} is taken: the pages are on port ") for line in lines)
        assert experiment(clone) == latest, "without ONCE=1 nothing is run again"
        assert any(line.startswith("  There before, of an earlier start: ") and "4 runs" in line for line in lines)
        assert "  Nothing was left to run at this start: all succeeded" in lines
        demo.send_signal(signal.SIGINT)
        assert demo.wait(PATIENCE_S) == 0
    assert left_running(clone) == []


def check_that_a_second_start_measures_anew(clone: Path, first_output: str) -> None:
    before = experiment(clone)
    anew = run_demo(clone, "up", "--once", *LITTLE)
    assert anew.returncode == 0, anew.stdout
    assert experiment(clone)["path"] != before["path"], "a second ONCE=1 runs the experiment anew"
    assert "There before" not in first_output + anew.stdout, "whatever they show is of their own start"
    assert ": loaded" in first_output
    assert ": loaded" not in anew.stdout, "the data sets of the first run serve again"
    assert left_running(clone) == []


def remembered_port(clone: Path) -> int:
    """Return the port at which the last start served."""
    home = account.private_folder(clone) if os.geteuid() == 0 else clone / "var"
    return int(json.loads((home / "ports.json").read_text())["web"])


@contextlib.contextmanager
def taken(port: int) -> Iterator[None]:
    """Hold a port, unless somebody else does."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            other.bind(("127.0.0.1", port))
            other.listen()
        yield


def check_that_the_doctor_looks_at_the_demonstration(clone: Path) -> None:
    """As people type it, with nothing in the environment that names the warehouse; a busy worker is waited for."""
    assert (clone / "var/run/environment.json").stat().st_mode & 0o077 == 0
    answer = subprocess.run(
        [sys.executable, "-c", PATIENT_DOCTOR], cwd=clone, env=plain_environment(), capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "about the demonstration that runs in this clone" in answer.stderr
    assert "The tables are those of this release." in answer.stdout
    assert "bad" not in answer.stdout.lower()


def check_that_web_is_started_again(clone: Path, demo: subprocess.Popen[str], url: str) -> None:
    note = json.loads((clone / "var/run/web.child.json").read_text())
    os.kill(note["identity"]["pid"], signal.SIGKILL)
    assert demo.stdout is not None
    lines = list(iter(demo.stdout.readline, "Starting web again (1 of 3).\n"))
    assert any(line.startswith("web has ended by itself (exit code -9)") for line in lines)
    alive = url.partition("/experiments")[0] + "/alive"
    deadline = time.monotonic() + PATIENCE_S
    while not page.answers(alive) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert page.answers(alive)


def check_that_a_restarted_target_is_kept(clone: Path, demo: subprocess.Popen[str]) -> None:
    """As a run does it whose plan asks for a restart before each run."""
    note = clone / "var/run/target16.child.json"
    target = json.loads((clone / "var/target.json").read_text())["instances"][0]
    before = note.read_text()
    words = [f"{target['bin_directory']}/pg_ctl", "-D", target["data_directory"], "-w", "-l", "/dev/null", "restart"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, **account.for_clone(clone).popen_options())
    deadline = time.monotonic() + PATIENCE_S
    after = before
    while after == before and time.monotonic() < deadline:
        time.sleep(0.1)  # the demonstration looks at its servers from time to time
        with contextlib.suppress(FileNotFoundError):
            after = note.read_text()
    assert after != before and demo.poll() is None
    assert proc.is_alive(proc.Identity(**json.loads(after)["identity"]))


@pytest.mark.whole
def test_what_a_kill_leaves_ends_by_itself(clone: Path) -> None:
    with serving(clone) as (demo, _lines):
        assert left_running(clone) != []
        demo.kill()
        demo.wait()
    deadline = time.monotonic() + PATIENCE_S
    while left_running(clone) and time.monotonic() < deadline:
        time.sleep(0.2)  # each ends when it notices that its supervisor is gone
    assert left_running(clone) == []
    assert run_demo(clone, "stop").stdout == "Nothing of this clone runs.\n"


@pytest.mark.parametrize("name", ["stop", "clean"])
def test_a_python_that_is_gone_does_not_keep_make_from_cleaning_up(name: str, tmp_path: Path) -> None:
    shutil.copy2(CLONE / "Makefile", tmp_path / "Makefile")
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to("/nowhere/python3.9")
    environment = {
        word: value for word, value in os.environ.items() if word not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    }
    words = ["make", "-n", name]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("python3 -m benchhub.demo"), done.stdout


def test_how_much_is_measured_is_read_as_people_type_it() -> None:
    assert Extent.read("8 1, 32 8", "5", "10") == Extent((1, 8, 32), 5, 10)
    assert Extent((1, 8), 5).words() == ["--levels", "1", "8", "--repeats", "5"]
    assert Extent.read("", "", "").words() == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--seconds=0"], "SECONDS must be a whole number from 1 to 3,600, not '0'.\n"),
        (["--repeats=many"], "REPEATS must be a whole number from 1 to 100, not 'many'.\n"),
        (["--levels=1 -8"], "LEVELS must be a whole number from 1 to 100, not '-8'.\n"),
        (["--tuning", "--seconds=9"], "A tuning series has its own LEVELS, REPEATS and SECONDS: leave them out.\n"),
    ],
)
def test_an_extent_that_cannot_be_is_refused_in_one_sentence(clone: Path, options: list[str], sentence: str) -> None:
    done = run_demo(clone, "up", *options)
    assert (done.returncode, done.stdout) == (1, sentence)
    assert left_running(clone) == []
