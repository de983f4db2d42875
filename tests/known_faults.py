"""Hold the pinned packages against faults that are known of them, without a network.

python tests/known_faults.py        fails where a package is a version that has a fault
python tests/known_faults.py PATH   reads another list of pinned packages

tests/known_faults.csv is made of PyPA's advisory database by tests/renew_known_faults.py, and says of which day it is;
tests/known_faults_by_hand.csv has what became known since. With a network, `pip-audit -r requirements.txt` knows more.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
LIST, BY_HAND = ROOT / "tests" / "known_faults.csv", ROOT / "tests" / "known_faults_by_hand.csv"
REQUIREMENTS = (ROOT / "requirements.txt", ROOT / "requirements-dev.txt")
PINNED = re.compile(r"([A-Za-z0-9._-]+)(?:\[[a-z,]+\])?==([^\s;#]+)")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault of a package from `introduced` on, before `mended_in` or up to `last_affected`; empty: without an end."""

    package: str
    introduced: str
    mended_in: str = ""
    last_affected: str = ""
    fault: str

    @property
    def order(self) -> Version:
        return Version(self.introduced)

    def is_in(self, version: Version) -> bool:
        return (
            Version(self.introduced) <= version
            and (not self.mended_in or version < Version(self.mended_in))
            and (not self.last_affected or version <= Version(self.last_affected))
        )

    def advice(self) -> str:
        return (
            f"mended in {self.mended_in}: upgrade it." if self.mended_in else "and no release mends it: look for one."
        )


FIELDS = tuple(field.name for field in fields(Fault))


def main(paths: list[str]) -> int:
    files = [Path(path) for path in paths] or REQUIREMENTS
    sentences = [sentence for file in files for sentence in faults_in(file.read_text(encoding="utf-8"))]
    print("\n".join(sentences), end="\n" if sentences else "")
    return 1 if sentences else 0


def faults_in(requirements: str) -> Iterator[str]:
    """Yield a sentence for each fault of the pinned packages, and for each package that is not pinned."""
    faults = [*faults_of(LIST), *faults_of(BY_HAND)]
    for name, version in pins(requirements):
        if not version:
            yield f"{name} is not pinned: write ==."
            continue
        for fault in faults:
            if normal(fault.package) == normal(name) and fault.is_in(Version(version)):
                yield f"{name} {version} has {fault.fault}, {fault.advice()}"


def pins(requirements: str) -> Iterator[tuple[str, str]]:
    """Yield name and version of each package of a list; the line and no version where it is not pinned."""
    for line in requirements.splitlines():
        text = line.partition("#")[0].strip()
        if text and not text.startswith("-r"):
            pin = PINNED.match(text)
            yield (pin[1], pin[2]) if pin else (text, "")


def faults_of(file: Path) -> list[Fault]:
    with file.open(encoding="utf-8", newline="") as lines:
        return [Fault(**row) for row in csv.DictReader(line for line in lines if not line.startswith("#"))]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
