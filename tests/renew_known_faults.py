"""Write tests/known_faults.csv anew: what the advisory database of PyPA has of the packages that are pinned.

git clone --depth 1 https://github.com/pypa/advisory-database
python tests/renew_known_faults.py advisory-database

The file says of which commit and day the database was. A fault that is newer stands in tests/known_faults_by_hand.csv
until the database has it: lines there that are known by now are named, to be taken out.
"""

from __future__ import annotations

import csv
import io
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from packaging.version import Version

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.known_faults import BY_HAND, FIELDS, LIST, REQUIREMENTS, Fault, faults_of, normal, pins

# Of what is bounded by no version, the first that there can be.
FIRST = "0"


def main(arguments: list[str]) -> int:
    [checkout] = arguments
    packages = sorted({normal(name) for file in REQUIREMENTS for name, _ in pins(file.read_text(encoding="utf-8"))})
    faults = sorted(set(read(checkout, packages)), key=lambda fault: (fault.package, fault.fault, fault.order))
    LIST.write_text(text_of(faults, origin(checkout)), encoding="utf-8")
    names = {(fault.package, fault.fault) for fault in faults}
    for fault in faults_of(BY_HAND):
        if (normal(fault.package), fault.fault) in names:
            print(f"{BY_HAND.name}: {fault.package} {fault.fault} is in the database by now: take the line out.")
    print(f"{len(faults)} ranges of {len(packages)} packages.")
    return 0


def origin(checkout: str) -> str:
    """Return of which commit and day the database is."""
    return f"pypa/advisory-database {_git(checkout, 'log', '-1', '--format=%H %cs').decode().strip()}"


def read(checkout: str, packages: Iterable[str]) -> Iterator[Fault]:
    """Yield each range of versions with a fault of the packages, as the checkout's commit has them."""
    folders = set(_git(checkout, "ls-tree", "-d", "--name-only", "HEAD", "vulns/").decode().split())
    there = [folder for package in packages if (folder := f"vulns/{package}") in folders]
    with tarfile.open(fileobj=io.BytesIO(_git(checkout, "archive", "HEAD", *there))) as archive:
        for member in archive:
            if file := archive.extractfile(member):
                yield from ranges(yaml.safe_load(file))


def ranges(advisory: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield the ranges of an advisory; none where it was withdrawn."""
    if advisory.get("withdrawn"):
        return
    name = next((alias for alias in advisory.get("aliases", ()) if alias.startswith("CVE-")), advisory["id"])
    for affected in advisory["affected"]:
        package = normal(affected["package"]["name"])
        events = [row["events"] for row in affected.get("ranges", ()) if row["type"] == "ECOSYSTEM"]
        for span in (span for row in events for span in spans(row)):
            yield Fault(package=package, fault=name, **span)
        if not events:
            for version in affected.get("versions", ()):
                yield Fault(package=package, fault=name, introduced=str(version), last_affected=str(version))


def spans(events: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, str]]:
    """Yield from which version to which a fault is there, of events in any order."""
    ordered = sorted(((key, str(value)) for event in events for key, value in event.items()), key=_place)
    begin = ""
    for key, version in ordered:
        if key == "introduced":
            begin = begin or version
        elif begin:
            yield {"introduced": begin, {"fixed": "mended_in"}.get(key, key): version}
            begin = ""
    if begin:
        yield {"introduced": begin}


def _place(event: tuple[str, str]) -> tuple[Version, bool]:
    """Return the place of an event; what ends before a version comes before what begins with it."""
    key, version = event
    return Version(version), key == "introduced"


def text_of(faults: Iterable[Fault], source: str) -> str:
    text = io.StringIO()
    text.write(f"# {source}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    writer.writerows([getattr(fault, name) for name in FIELDS] for fault in faults)
    return text.getvalue()


def _git(checkout: str, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", checkout, *arguments], capture_output=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
