import hashlib
import re

from django.conf import settings

VENDOR = settings.BASE_DIR / "frontend" / "static" / "vendor"


def test_files_of_others_are_as_their_list_says():
    digests = dict(re.findall(r"^\| (\S+\.js) \|.*\| ([0-9a-f]{64}) \|$", (VENDOR / "README.md").read_text(), re.M))
    assert digests.keys() == {path.name for path in VENDOR.glob("*.js")}
    for name, digest in digests.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest
