"""The scan for secrets: what it finds, and its note of files when a process is ended while it writes it."""

import base64
import hashlib
import json
import os

import pytest
from detect_secrets.settings import default_settings, get_plugins

from tests.secret_scan import findings_by_file, read_note, suspects, write_note

NOISE = base64.b64encode(hashlib.sha512(b"no secret at all").digest()).decode().replace("+", "x").replace("/", "y")
HEX = hashlib.sha1(b"no secret at all").hexdigest()
# A line with a secret of each type, put together here so that this file has none.
PLANTED = {
    "Artifactory Credentials": f"token AKC{NOISE[:12]}",
    "AWS Access Key": f"AKIA{'Q7' * 8}",
    "Azure Storage Account access key": f"AccountKey={NOISE[:86]}==",
    "Basic Auth Credentials": f"https://ada:{NOISE[:9]}@db.example/",
    "Cloudant Credentials": f"https://ada:{HEX[:32] * 2}@ada.cloudant.com",
    "Discord Bot Token": f"M{NOISE[:23]}.{NOISE[:6]}.{NOISE[:27]}",
    "GitHub Token": f"ghp_{NOISE[:36]}",
    "GitLab Token": f"glpat-{NOISE[:20]}",
    "Base64 High Entropy String": f'name = "{NOISE[:60]}"',
    "Hex High Entropy String": f"name = '{HEX}'",
    "IBM Cloud IAM Key": f"ibm-cloud-iam-key: {NOISE[:44]}",
    "IBM COS HMAC Credentials": f"cos_hmac_secret_access_key = {HEX[:24] * 2}",
    "Public IP (ipv4)": "the server at 133.133.7.9",
    "JSON Web Token": ".".join(
        base64.urlsafe_b64encode(part).decode() for part in (b'{"alg":"HS256"}', b'{"sub":"ada!"}', b"x")
    ),
    "Secret Keyword": 'password = "{}"'.format("engine-of-1843"),
    "Mailchimp Access Key": f"{HEX[:32]}-us9",
    "NPM tokens": "//registry.example/:_authToken=" + f"npm_{NOISE[:30]}",
    "OpenAI Token": f"sk-{NOISE[:20]}T3BlbkFJ{NOISE[:20]}",
    "Private Key": f"-----BEGIN {'RSA'} PRIVATE KEY-----",
    "PyPI Token": f"pypi-AgEIcHlwaS5vcmc{NOISE[:72]}",
    "SendGrid API Key": f"SG.{NOISE[:22]}.{NOISE[:43]}",
    "Slack Token": "-".join(["xoxb", "12", "34", HEX[:12]]),
    "SoftLayer Credentials": f"softlayer_api_key = {HEX[:32] * 2}",
    "Square OAuth Secret": f"sq0csp-{NOISE[:43]}",
    "Stripe Access Key": f"sk_live_{NOISE[:24]}",
    "Telegram Bot Token": f"{'12345' * 2}:{NOISE[:35]}",
    "Twilio API Key": f"SK{HEX[:32]}",
}
NEVER_WITHOUT_LETTERS = {"Public IP (ipv4)"}
HARMLESS = "a line\n" * 3
NOTE = {"a" * 64: [["digest", "place"]]}


@pytest.mark.parametrize("content", ["", json.dumps(NOTE)[:40], "null", "\ud800"])
def test_a_note_that_cannot_be_read_counts_as_none(tmp_path, content):
    (tmp_path / "note.json").write_text(content, encoding="utf-8", errors="surrogatepass")
    assert read_note(tmp_path / "note.json") == {} == read_note(tmp_path / "no-such.json")


def test_a_note_is_replaced_by_a_whole_one_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "cache" / "note.json"
    write_note(path, {})
    os.link(path, tmp_path / "before")
    write_note(path, NOTE)
    assert read_note(path) == NOTE and list(path.parent.iterdir()) == [path]
    assert read_note(tmp_path / "before") == {}, "the file of before was written into"
    assert (tmp_path / "before").read_text() == "{}"


def test_a_secret_of_each_type_is_found_between_harmless_lines_and_nothing_in_these(tmp_path):
    with default_settings():
        assert {plugin.secret_type for plugin in get_plugins()} == set(PLANTED)
    for number, line in enumerate(PLANTED.values()):
        (tmp_path / f"{number}.py").write_text(f"{HARMLESS}{line}  \n{HARMLESS}")
    (tmp_path / "harmless.py").write_text(HARMLESS)
    (tmp_path / "unquoted.cfg").write_text(f"[login]\nvalue = {HEX}\n")  # quoted by the reader of such files only
    names = [path.name for path in tmp_path.iterdir()]
    findings = findings_by_file(names, tmp_path)
    places = {place for rows in findings.values() for _, place in rows}
    kinds = {f"{number}.py:4 ({kind})" for number, kind in enumerate(PLANTED) if kind not in NEVER_WITHOUT_LETTERS}
    assert kinds - places == set() and "unquoted.cfg:2 (Hex High Entropy String)" in places
    addresses = {f"{number}.py" for number, kind in enumerate(PLANTED) if kind in NEVER_WITHOUT_LETTERS}
    assert set(names) - set(suspects(names, tmp_path)) == {"harmless.py", *addresses}
    assert not findings.keys() & {"harmless.py", *addresses}
