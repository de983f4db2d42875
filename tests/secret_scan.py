"""Scan all files of the clone for secrets, beside those that were looked at: tests/secrets.json has their digests.

python tests/secret_scan.py           fails where there is a new one
python tests/secret_scan.py --accept  takes what there is as looked at
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from detect_secrets.plugins import keyword
from detect_secrets.plugins.base import BasePlugin
from detect_secrets.plugins.high_entropy_strings import HighEntropyStringsPlugin
from detect_secrets.settings import default_settings, get_plugins
from detect_secrets.transformers import get_transformed_file
from detect_secrets.util.filetype import determine_file_type

ROOT = Path(__file__).resolve().parent.parent
KNOWN = ROOT / "tests" / "secrets.json"
# What was found in each file, by a digest of its name, its bytes and the release that looked: most files stay.
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
    findings = findings_by_file([name for name, key in keys.items() if key not in before])
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


def findings_by_file(names: list[str], folder: Path = ROOT) -> dict[str, list[tuple[str, str]]]:
    """Return (digest, place) by file of the folder; each line is looked at only where a plugin may find something."""
    names = suspects(names, folder)
    if not names:
        return {}
    command = [sys.executable, "-m", "detect_secrets", "scan", "--all-files", *names]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return {
        name: [(row["hashed_secret"], f"{name}:{row['line_number']} ({row['type']})") for row in rows]
        for name, rows in json.loads(done.stdout)["results"].items()
    }


def suspects(names: list[str], folder: Path = ROOT) -> list[str]:
    """Return the files in which a plugin's own expressions match anywhere, and those that it does not read as they are.

    Each plugin looks at each line by itself, which takes ten times as long as a look at the whole file.
    """
    with default_settings():
        plugins = [(plugin, list(_expressions(plugin))) for plugin in get_plugins()]
    return [name for name in names if _is_suspect(folder / name, plugins)]


def _is_suspect(path: Path, plugins: list[tuple[BasePlugin, list[re.Pattern[str]]]]) -> bool:
    try:
        with path.open() as file:
            text = file.read()
            file.seek(0)
            if any(get_transformed_file(file, use_eager_transformers=eager) for eager in (False, True)):
                return True
    except UnicodeDecodeError:
        return False  # detect-secrets reads no binary files
    return any(_may_find(plugin, expressions, path, text) for plugin, expressions in plugins)


def _may_find(plugin: BasePlugin, expressions: list[re.Pattern[str]], path: Path, text: str) -> bool:
    if isinstance(plugin, keyword.KeywordDetector):
        return _KEYWORD.search(text.lower()) is not None and any(
            expression.search(text) for expression in _keyword_expressions(path)
        )
    if isinstance(plugin, HighEntropyStringsPlugin):
        strings = (match[2] for expression in expressions for match in expression.finditer(text))
        return any(plugin.calculate_shannon_entropy(string) > plugin.entropy_limit for string in strings)
    matches = (match[0] for expression in expressions for match in expression.finditer(text))
    return not expressions or any(_LETTER.search(match) for match in matches)


_KEYWORD = re.compile("|".join(keyword.DENYLIST))
_LETTER = re.compile("[a-zA-Z]")  # what has none, such as an address of IPv4, is no secret to detect-secrets


def _keyword_expressions(path: Path) -> Mapping[re.Pattern[str], int]:
    return keyword.REGEX_BY_FILETYPE.get(
        determine_file_type(path.name), keyword.QUOTES_REQUIRED_DENYLIST_REGEX_TO_GROUP
    )


def _expressions(plugin: BasePlugin) -> Iterator[re.Pattern[str]]:
    """Yield what the plugin looks for in a line, so that the ends of any line of a text count as its ends."""
    expressions = [plugin.regex] if isinstance(plugin, HighEntropyStringsPlugin) else getattr(plugin, "denylist", [])
    for expression in expressions:
        yield re.compile(expression.pattern, expression.flags | re.MULTILINE)


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
