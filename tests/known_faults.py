"""Hold the pinned packages against faults that are known of them, without a network: tests/known_faults.csv lists them.

python tests/known_faults.py        fails where a package is older than the release that mends a fault
python tests/known_faults.py PATH   reads another list of pinned packages

The list is kept by hand, from advisories; with a network, `pip-audit -r requirements.txt` knows more.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "known_faults.csv"
PINNED = re.compile(r"([A-Za-z0-9._-]+)(?:\[[a-z,]+\])?==([^\s;#]+)")


def main(paths: list[str]) -> int:
    files = [Path(path) for path in paths] or [ROOT / "requirements.txt", ROOT / "requirements-dev.txt"]
    faults = [sentence for file in files for sentence in faults_in(file.read_text(encoding="utf-8"))]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


def faults_in(requirements: str) -> Iterator[str]:
    """Yield a sentence for each fault of the pinned packages, and for each package that is not pinned."""
    with LIST.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for line in requirements.splitlines():
        text = line.partition("#")[0].strip()
        if not text or text.startswith("-r"):
            continue
        if not (pin := PINNED.match(text)):
            yield f"{text} is not pinned: write ==."
            continue
        name, version = normal(pin[1]), Version(pin[2])
        for row in rows:
            if normal(row["package"]) == name and version < Version(row["mended_in"]):
                yield f"{pin[1]} {version} has {row['fault']}, mended in {row['mended_in']}: upgrade it."


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
