"""Debian packages that the tests need: installed when root runs this, named otherwise.

Run by the Python of .venv or of the machine. Nothing that is installed is started: a policy-rc.d that forbids it
lies there meanwhile and is removed afterwards.
"""

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SBIN = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
DEBIANS = ("bookworm", "trixie", "forky")
POLICY = Path("/usr/sbin/policy-rc.d")
FORBID = "#!/bin/sh\nexit 101\n"


def missing_packages() -> dict[str, str]:
    """Package -> what the tests need it for."""
    missing = {}
    if shutil.which("sshd", path=SBIN) is None:
        missing["openssh-server"] = "integration tests against OpenSSH"
    if not any(shutil.which(name) for name in _browsers()):
        missing["chromium-headless-shell"] = "browser tests"
    if not _has_atomic_library():
        missing["libatomic1"] = "browser tests: what drives the browser"
    if _debian_release() == "bookworm" and not Path("/usr/lib/postgresql/15/bin/pgbench").exists():
        missing["postgresql-15"] = "tests against pgbench 15"
    if shutil.which("cc") is None:
        missing["gcc"] = "builds of PostgreSQL from their sources; faults: clocks an hour apart"
    if shutil.which("curl") is None:
        missing["curl"] = "sources of PostgreSQL that a host fetches"
    if can_install() and shutil.which("pgbouncer", path=SBIN) is None:  # elsewhere its tests are left out
        missing["pgbouncer"] = "loads through a pooler"
    if can_install() and shutil.which("docker-compose") is None:  # elsewhere its test is left out
        missing["docker-compose"] = "test of docker-compose.yml"
    if can_install() and shutil.which("sysbench") is None:
        missing["sysbench"] = "faults: black holes under its loads"
    return missing


def _has_atomic_library() -> bool:
    """A bare Debian lacks it, and no package of a browser brings it: Node.js, which drives the browser, needs it."""
    try:
        ctypes.CDLL("libatomic.so.1")
    except OSError:
        return False
    return True


def _browsers() -> tuple[str, ...]:
    """Where Debian gives it, only the one without windows: it takes a third of the time of the others."""
    others = ("chromium", "chromium-browser", "google-chrome")
    return ("chromium-headless-shell", *(() if can_install() and _debian_release() in DEBIANS else others))


def can_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def main() -> None:
    missing = missing_packages()
    if not missing:
        return
    needed = "\n".join(f"  {package:16} {purpose}" for package, purpose in missing.items())
    if not can_install():
        sys.exit(f"The tests need packages that only root can install. With apt-get, for instance:\n{needed}")
    print(f"Installing Debian packages for the tests:\n{needed}", flush=True)
    with _no_service_starts():
        _apt("update")
        _apt("install", "--yes", "--no-install-recommends", *missing)


@contextmanager
def _no_service_starts() -> Iterator[None]:
    """Keep a policy that the machine already has: it is not ours to remove."""
    if POLICY.exists():
        yield
        return
    POLICY.write_text(FORBID)
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        POLICY.unlink()


def _apt(*arguments: str) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(["apt-get", "-q", *arguments], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        sys.exit(f"apt-get {arguments[0]} failed: {last}")


def _debian_release() -> str:
    release = Path("/etc/os-release")
    lines = release.read_text().splitlines() if release.exists() else []
    return next((line.partition("=")[2] for line in lines if line.startswith("VERSION_CODENAME=")), "")


if __name__ == "__main__":
    main()
