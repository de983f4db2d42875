"""Which Pythons `make test-matrix` finds, and which packages it takes for pinned."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests import matrix

THIS = f"{sys.version_info[0]}.{sys.version_info[1]}"


def test_names_of_packages_are_compared_as_the_index_writes_them(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text('# Why\nasync-timeout==5.0.1; python_full_version < "3.11.3"\n')
    development = tmp_path / "requirements-dev.txt"
    development.write_text("-r requirements.txt\ncelery[redis]==5.7.0\nast_serialize==0.13.1\n")
    assert matrix.pinned(development) == {"async-timeout", "celery", "ast-serialize"}


def test_every_package_that_is_installed_here_has_a_pin() -> None:
    installed = matrix.installed(Path(sys.executable))
    assert "django" in installed
    assert installed - matrix.pinned(matrix.REQUIREMENTS) - matrix.OF_EVERY_VENV == set()


def test_a_python_of_another_version_or_one_that_does_not_run_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shim = tmp_path / f"python{THIS}"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    other = tmp_path / "python3.2"
    other.symlink_to(sys.executable)
    assert matrix.is_of(sys.executable, THIS)
    assert not matrix.is_of(str(shim), THIS)
    assert not matrix.is_of(str(other), "3.2")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert matrix.find("3.2") is None


def test_a_version_that_is_missing_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert matrix.main(["3.2"]) == 1
    assert capsys.readouterr().out.startswith("Python 3.2: not tested, as there is no python3.2")
