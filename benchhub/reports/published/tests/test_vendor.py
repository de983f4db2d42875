import hashlib
import re

from django.conf import settings

VENDOR = settings.BASE_DIR / "frontend" / "static" / "vendor"


def test_files_of_others_are_as_their_list_says():
    listed = dict(re.findall(r"^\| (\S+\.js) \|.*\| ([0-9a-f]{64}) \|$", (VENDOR / "README.md").read_text(), re.M))
    assert listed.keys() == {path.name for path in VENDOR.glob("*.js")}
    for name, digest in listed.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest
