"""Make .venv and install pinned requirements in it: `python3 benchhub/install.py requirements.txt`.

Run by the Python of the machine, before anything is installed. It does nothing when .venv is complete, makes
good an interrupted installation, and says in one sentence what is missing.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent
VENV = CLONE / ".venv"
PYTHON = VENV / "bin" / "python"
LOG = VENV / "install.log"
NEEDED_BYTES = 800_000_000
# What pip says -> what it means. The first that is found counts.
REASONS = (
    ("No space left on device", "the disk is full: make room and start again."),
    ("Temporary failure in name resolution", "the package index cannot be reached: is there a network?"),
    ("Name or service not known", "the package index cannot be reached: is there a network?"),
    ("Network is unreachable", "the package index cannot be reached: is there a network?"),
    ("Connection refused", "the package index refuses connections: is a proxy needed (HTTPS_PROXY)?"),
    ("timed out", "the package index does not answer: is there a network, or a proxy needed (HTTPS_PROXY)?"),
    ("CERTIFICATE_VERIFY_FAILED", "the certificate of the package index is not trusted on this machine."),
    ("connection broken by", "the package index cannot be reached: is there a network?"),
    ("not a trusted or secure host", "pip does not trust the package index that it was told to use."),
    ("No matching distribution found", "a package has no wheel for this machine or Python."),
    ("Could not find a version that satisfies", "a package has no wheel for this machine or Python."),
    ("Permission denied", ".venv belongs to another user: remove it or run as that user."),
)


def main(requirements: Path) -> None:
    stamp = VENV / f"{requirements.stem}.installed"
    digest = _digest(requirements)
    if stamp.exists() and stamp.read_text() == digest and _venv_works():
        return
    free = shutil.disk_usage(CLONE).free
    if free < NEEDED_BYTES:
        sys.exit(f"{CLONE} has {free // 10**6} MB free, and the packages need {NEEDED_BYTES // 10**6} MB.")
    if not _venv_works():
        _make_venv()
    print(f"Installing the packages of {requirements.name} in .venv (about a minute) ...", flush=True)
    _install(requirements)
    stamp.write_text(digest)


def _digest(requirements: Path) -> str:
    """Return a digest of the requirements, those they include, and the Python they are installed for."""
    return hashlib.sha256((_text(requirements) + sys.version).encode()).hexdigest()


def _text(requirements: Path) -> str:
    text = requirements.read_text()
    included = [line.split()[1] for line in text.splitlines() if line.startswith("-r ")]
    return text + "".join(_text(requirements.with_name(name)) for name in included)


def _venv_works() -> bool:
    """Tell whether pip runs there: not after its Python was removed, or an interruption left it without pip."""
    if not PYTHON.exists():
        return False
    check = f"import pip, sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]!r})"
    return subprocess.run([PYTHON, "-c", check], capture_output=True, check=False).returncode == 0


def _make_venv() -> None:
    try:
        import ensurepip  # noqa: F401  # Debian has venv without it
        import venv
    except ImportError:
        sys.exit(
            "This Python cannot make virtual environments: install its venv module "
            "(Debian and Ubuntu: apt-get install python3-venv) and start again."
        )
    print(f"Making .venv with Python {sys.version.split()[0]} ...", flush=True)
    for stamp in VENV.glob("*.installed"):  # first: what is left of an interrupted removal is not complete
        stamp.unlink()
    try:
        venv.create(VENV, clear=True, with_pip=True)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:  # ValueError: a path with a colon
        shutil.rmtree(VENV, ignore_errors=True)
        sys.exit(f".venv cannot be made: {error}.")


def _install(requirements: Path) -> None:
    options = ["--only-binary", ":all:", "--disable-pip-version-check", "--progress-bar", "off"]
    command = [str(PYTHON), "-m", "pip", "install", *options, "-r", str(requirements)]
    with LOG.open("w") as log:
        done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        sys.exit(_sentence(LOG.read_text(errors="replace")))


def _sentence(log: str) -> str:
    for phrase, meaning in REASONS:
        line = next((line for line in log.splitlines() if phrase in line), None)
        if line is not None:
            return f"The packages cannot be installed: {meaning} pip said: {line.strip()[:200]} (whole log: {LOG})"
    last = ([line for line in log.splitlines() if line.strip()] or ["nothing"])[-1]
    return f"The packages cannot be installed. pip said: {last.strip()[:200]} (whole log: {LOG})"


if __name__ == "__main__":
    try:
        main(CLONE / sys.argv[1])
    except KeyboardInterrupt:
        sys.exit("Interrupted: start again to go on.")
    except OSError as error:
        sys.exit(f"{error.filename or VENV}: {error.strerror}.")
