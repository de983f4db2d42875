"""Print what a release is made of as CycloneDX 1.6: the packages of requirements.txt as installed, and the scripts in
the tree that come from elsewhere.

    python -m benchhub.sbom > sbom.json
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

from packaging.markers import Marker

from benchhub.release import VERSION, release

ROOT = Path(__file__).resolve().parent.parent
PINNED = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,]+\])?==(?P<version>[\w.!+-]+)")
VENDORED = {
    "plotly-small.min.js": ("plotly.js", "MIT"),
    "htmx.min.js": ("htmx.org", "0BSD"),
    "idiomorph-ext.min.js": ("idiomorph", "0BSD"),
}
Component = dict[str, Any]


def bill() -> dict[str, Any]:
    """Return the bill of materials. The same release with the same packages gives the same bill."""
    components = [*_packages((ROOT / "requirements.txt").read_text(encoding="utf-8")), *_scripts()]
    own = {"type": "application", "name": "benchhub", "version": VERSION, "bom-ref": f"benchhub@{release()}"}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": components,
    }


def _packages(requirements: str) -> Iterator[Component]:
    for line in requirements.splitlines():
        if (match := PINNED.match(line)) and _is_of_this_python(line):
            name, version = match["name"], match["version"]
            purl = f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}@{version}"
            yield {"type": "library", "name": name, "version": version, "purl": purl, "bom-ref": purl} | _licences(name)


def _is_of_this_python(line: str) -> bool:
    """Tell whether a requirement's marker, such as python_full_version < "3.11.3", lets it be installed here."""
    marker = line.partition(";")[2].partition("#")[0].strip()
    return not marker or Marker(marker).evaluate()


def _licences(name: str) -> Component:
    """Return the licence that an installed package states; nothing where it is not installed or states none."""
    try:
        facts: Any = metadata(name)
    except PackageNotFoundError:
        return {}
    if expression := facts.get("License-Expression"):
        return {"licenses": [{"expression": expression}]}
    text = (facts.get("License") or "").strip().splitlines()
    return {"licenses": [{"license": {"name": text[0][:120]}}]} if text else {}


def _scripts() -> Iterator[Component]:
    for file in sorted((ROOT / "frontend/static/vendor").glob("*.js")):
        name, licence = VENDORED.get(file.name, (file.name, ""))
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        component: Component = {"type": "library", "name": name, "bom-ref": f"file:{file.name}"}
        component["hashes"] = [{"alg": "SHA-256", "content": digest}]
        yield component | ({"licenses": [{"license": {"id": licence}}]} if licence else {})


if __name__ == "__main__":
    json.dump(bill(), sys.stdout, indent=1)
    sys.stdout.write("\n")
