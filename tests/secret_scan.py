"""Scan all files of the clone for secrets, beside those that were looked at: tests/secrets.json has their digests.

python tests/secret_scan.py           fails where there is a new one
python tests/secret_scan.py --accept  takes what there is as looked at
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KNOWN = ROOT / "tests" / "secrets.json"
LEFT_OUT = (
    "frontend/static/",
    "frontend/templates/",
    "runners/tools/recorded/",
    "fixtures/",
    "docs/openapi.yaml",
    "docs/pictures/",
)


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
    """Return (digest, place) of whatever looks like a secret."""
    command = [sys.executable, "-m", "detect_secrets", "scan", "--all-files", *files()]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    results = json.loads(done.stdout)["results"]
    return [
        (finding["hashed_secret"], f"{name}:{finding['line_number']} ({finding['type']})")
        for name, findings in results.items()
        for finding in findings
    ]


def files() -> list[str]:
    """Return the files that belong to the clone: those that git knows, or all of the source's folders without it."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    names = done.stdout.split("\n") if done.returncode == 0 else [str(p.relative_to(ROOT)) for p in ROOT.rglob("*.*")]
    return [
        name
        for name in names
        if name and not name.startswith((*LEFT_OUT, "tests/secrets.json", ".venv", "var/", ".git/"))
    ]


if __name__ == "__main__":
    sys.exit(main())
