"""The bill of materials names everything that is pinned, and every script from elsewhere."""

import hashlib
import re
from pathlib import Path

from benchhub.sbom import VENDORED, _packages, bill

ROOT = Path(__file__).resolve().parent.parent


def test_every_pinned_package_and_every_vendored_script_is_on_the_bill():
    whole = bill()
    assert (whole["bomFormat"], whole["specVersion"]) == ("CycloneDX", "1.6")
    pins = re.findall(r"^([\w.-]+)(?:\[\w+\])?==(\S+)$", (ROOT / "requirements.txt").read_text(), re.M)
    billed = {(part["name"], part.get("version")) for part in whole["components"]}
    assert len(pins) > 30
    assert set(pins) <= billed
    assert {file.name for file in (ROOT / "frontend/static/vendor").glob("*.js")} == VENDORED.keys()
    refs = [part["bom-ref"] for part in whole["components"]]
    assert len(refs) == len(set(refs))


def test_a_package_that_only_another_python_needs_is_not_on_the_bill():
    lines = 'a==1; python_full_version < "3.2"\nb==2; python_full_version >= "3.2"  # why\nc==3\n'
    assert [part["name"] for part in _packages(lines)] == ["b", "c"]


def test_a_script_has_the_digest_of_its_bytes_and_a_package_the_licence_it_states():
    parts = {part["bom-ref"]: part for part in bill()["components"]}
    file = ROOT / "frontend/static/vendor/htmx.min.js"
    expected = hashlib.sha256(file.read_bytes()).hexdigest()
    assert parts["file:htmx.min.js"]["hashes"] == [{"alg": "SHA-256", "content": expected}]
    django = next(part for ref, part in parts.items() if ref.startswith("pkg:pypi/django@"))
    assert "BSD" in str(django["licenses"])
