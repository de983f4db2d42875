"""Scan all files of the clone for secrets, beside those that were looked at: tests/secrets.json has their digests.

python tests/secret_scan.py           fails where there is a new one
python tests/secret_scan.py --accept  takes what there is as looked at
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KNOWN = ROOT / "tests" / "secrets.json"
# What was found in each file, by a digest of its name, its bytes and the release that looked: most take long and stay.
CACHE = ROOT / ".cache" / "secret_scan.json"
LEFT_OUT = (
    "frontend/static/",
    "frontend/templates/",
    "runners/tools/recorded/",
    "fixtures/",
    "docs/openapi.yaml",
    "docs/pictures/",
)
NOT_OURS = (".venv", ".cache/", "var/", ".git/")


def main() -> int:
    findings = scanned()
    if "--accept" in sys.argv[1:]:
        KNOWN.write_text(json.dumps(sorted({digest for digest, _ in findings}), indent=0) + "\n", encoding="utf-8")
        return 0
    accepted = set(json.loads(KNOWN.read_text(encoding="utf-8")))
    fresh = [place for digest, place in findings if digest not in accepted]
    for place in fresh:
        print(f"{place}: this looks like a secret. Take it out, or accept it: python tests/secret_scan.py --accept")
    return 1 if fresh else 0


def scanned() -> list[tuple[str, str]]:
    """Return (digest, place) of whatever looks like a secret; only files that have changed are looked at anew."""
    keys = {name: _key(name) for name in files()}
    before = read_note(CACHE)
    findings = _scanned([name for name, key in keys.items() if key not in before])
    by_key = {key: before.get(key, findings.get(name, [])) for name, key in keys.items()}
    write_note(CACHE, by_key)
    return [(digest, place) for row in by_key.values() for digest, place in row]


def read_note(path: Path) -> dict[str, Any]:
    """Return what was noted at the path; nothing where there is no note, or none that can be read."""
    try:
        note = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}


def write_note(path: Path, by_key: Mapping[str, Any]) -> None:
    """Write the note whole, or not at all where the process is ended."""
    path.parent.mkdir(exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_text(json.dumps(by_key), encoding="utf-8")
    fresh.replace(path)


def _key(name: str) -> str:
    head = f"{version('detect-secrets')} {name} ".encode()
    return hashlib.sha256(head + (ROOT / name).read_bytes()).hexdigest()


def _scanned(names: list[str]) -> dict[str, list[tuple[str, str]]]:
    """Return (digest, place) by file."""
    if not names:
        return {}
    command = [sys.executable, "-m", "detect_secrets", "scan", "--all-files", *names]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return {
        name: [(row["hashed_secret"], f"{name}:{row['line_number']} ({row['type']})") for row in rows]
        for name, rows in json.loads(done.stdout)["results"].items()
    }


def files() -> list[str]:
    """Return the files that belong to the clone: those that git knows, or all of the source's folders without it."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    names = done.stdout.split("\n") if done.returncode == 0 else [str(p.relative_to(ROOT)) for p in ROOT.rglob("*.*")]
    return [
        name
        for name in names
        if (ROOT / name).is_file() and not name.startswith((*LEFT_OUT, "tests/secrets.json", *NOT_OURS))
    ]


if __name__ == "__main__":
    sys.exit(main())
