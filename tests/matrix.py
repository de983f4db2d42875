"""Run the tests under every Python that BenchHub supports: `make test-matrix`.

Each has an environment of its own with the pinned packages and nothing else, so that a package without a pin fails.
Interpreters are those of PATH and of pyenv; uv, where it is installed, brings those that are missing.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent
FOLDER = CLONE / ".cache" / "matrix"
REQUIREMENTS = CLONE / "requirements-dev.txt"
VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
PARALLEL = ("-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder")
OF_EVERY_VENV = {"pip", "setuptools", "wheel"}


def main(words: list[str]) -> int:
    """Run the tests of the rooms among `words` (all where none is) under the versions among them; 1 if one failed."""
    versions = [word for word in words if word[:1].isdigit()] or VERSIONS
    rooms = [word for word in words if word not in versions]
    results = {version: result(version, rooms) for version in versions}
    for version, text in results.items():
        print(f"Python {version}: {text}")
    return int(any(not text.startswith("passed") for text in results.values()))


def result(version: str, rooms: list[str]) -> str:
    """Install and test under one version; returns what came of it as words that go after its name."""
    interpreter = find(version)
    if interpreter is None:
        return f"not tested, as there is no python{version}: install it, or uv, which brings it"
    environment = {**os.environ, "BENCHHUB_VENV": str(FOLDER / version)}
    python = FOLDER / version / "bin" / "python"
    if _run([interpreter, "benchhub/install.py", REQUIREMENTS.name], environment):
        return f"failed, as the packages cannot be installed for {interpreter}"
    if unpinned := sorted(installed(python) - pinned(REQUIREMENTS) - OF_EVERY_VENV):
        return f"failed, as these packages have no pin: {', '.join(unpinned)}"
    if _run([str(python), "-m", "pytest", *PARALLEL, *rooms], environment):
        return f"failed ({interpreter})"
    return f"passed ({interpreter})"


def find(version: str) -> str | None:
    """Return a Python of this version, downloaded by uv where that is installed and there is none."""
    if path := next((path for path in _candidates(version) if is_of(path, version)), None):
        return path
    if (uv := shutil.which("uv")) and _run([uv, "python", "install", version], dict(os.environ)) == 0:
        return _output(uv, "python", "find", version) or None
    return None


def is_of(path: str, version: str) -> bool:
    """Tell whether it runs and is of the version: a shim of pyenv's may lead to none."""
    return _output(path, "-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])") == version


def pinned(requirements: Path) -> set[str]:
    """Return the names of packages with a pin, in this file and in those it includes."""
    names: set[str] = set()
    for line in requirements.read_text().splitlines():
        if line.startswith("-r "):
            names |= pinned(requirements.with_name(line.split()[1]))
        elif "==" in line:
            names.add(_normal(line.partition("==")[0].partition("[")[0]))
    return names


def installed(python: Path) -> set[str]:
    lines = _output(str(python), "-m", "pip", "list", "--format=freeze").splitlines()
    return {_normal(line.partition("==")[0]) for line in lines}


def _candidates(version: str) -> Iterator[str]:
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        yield f"{folder}/python{version}"
    for path in sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python")):
        yield str(path)


def _output(*command: str) -> str:
    """Return what a command printed; nothing where it failed or is not there."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _run(command: list[str], environment: dict[str, str]) -> int:
    return subprocess.run(command, cwd=CLONE, env=environment, check=False).returncode


def _normal(name: str) -> str:
    return name.strip().lower().replace("_", "-").replace(".", "-")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
