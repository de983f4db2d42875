"""Attacks by the chapters of the OWASP ASVS 5 that no test beside its own code makes; docs/threats.md has them all."""

import csv
import io

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.core import signing
from django.test import Client
from django.urls import reverse

from benchhub.accounts import devices
from benchhub.accounts.models import Entry
from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.catalog.models import Hardware
from benchhub.reports.tuning.testing import make_series
from benchhub.ui.csv_cells import harmless

pytestmark = pytest.mark.django_db
PASSWORD = "a rather long engine"
FORMULA = '=HYPERLINK("https://evil.example","x")'


@pytest.fixture
def vera(db):
    user = make_user("vera", Role.VIEWER)
    user.set_password(PASSWORD)
    user.save()
    return user


@pytest.fixture
def signed_in(vera):
    client = Client()
    assert client.post(reverse("login"), {"username": "vera", "password": PASSWORD}).status_code == 302
    return client


@pytest.mark.parametrize("address", ["/", "/login/", "/no/such/page", "/api/v1/hosts/", "/s/x/", "/users/", "/alive"])
def test_every_answer_has_the_headers_that_browsers_go_by(signed_in, address):
    for client in (signed_in, Client()):
        headers = client.get(address).headers
        assert "script-src 'self';" in headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert headers["Referrer-Policy"] in ("same-origin", "no-referrer")
        assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize(
    "target",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "\thttps://evil.example"],
)
def test_no_address_leads_to_another_site_after_the_sign_in(vera, target):
    answer = Client().post(reverse("login"), {"username": "vera", "password": PASSWORD, "next": target})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/")


@pytest.mark.parametrize("header", ["X-HTTP-Method-Override", "X-Method-Override", "X-Http-Method"])
def test_a_method_is_what_was_sent_and_not_what_a_header_says(signed_in, header):
    host = testing.make_host()
    answer = signed_in.get(f"/api/v1/hosts/{host.pk}/", headers={header: "DELETE"})
    assert answer.status_code == 200
    for method in ("TRACE", "CONNECT", "DELETE", "PROPFIND"):
        assert signed_in.generic(method, f"/hosts/{host.pk}/").status_code == 405
    assert signed_in.generic("TRACE", f"/api/v1/hosts/{host.pk}/").status_code == 405
    host.refresh_from_db()


def test_signing_out_ends_the_session_on_the_server_and_empties_the_browser_s_cache(signed_in):
    cookie = signed_in.cookies["sessionid"].value
    answer = signed_in.post(reverse("logout"))
    assert answer.headers["Clear-Site-Data"] == '"cache"'
    thief = Client()
    thief.cookies["sessionid"] = cookie
    assert thief.get("/").status_code == 302


def test_a_session_that_somebody_planted_before_the_sign_in_is_not_the_one_after_it(vera):
    client = Client()
    client.cookies["sessionid"] = "planted" * 4
    client.post(reverse("login"), {"username": "vera", "password": PASSWORD})
    assert client.cookies["sessionid"].value != "planted" * 4


@pytest.mark.parametrize("salt", ["benchhub.reader", "benchhub.link.", "django.core.signing", "benchhub.seal"])
def test_what_is_signed_for_one_purpose_is_nothing_for_another(vera, rf, salt):
    request = rf.get("/")
    request.COOKIES[devices.COOKIE] = signing.dumps(["key", "vera"], salt=salt)
    assert devices.device(request, "vera") == ""
    request.COOKIES[devices.COOKIE] = signing.dumps(["key", "vera"], salt=devices.SALT)
    assert devices.device(request, "vera") == "key"


def test_a_name_with_line_breaks_forges_no_line_of_a_log(vera, caplog):
    Client().post(reverse("login"), {"username": "x\n2026-01-01 sign in root", "password": "x"})
    Client().get("/no/such\nWARNING forged")
    assert not any("\n" in record.getMessage() for record in caplog.records)
    assert Entry.objects.filter(username__startswith="x").count() == 1


def test_names_that_a_spreadsheet_or_a_server_would_carry_out_are_text_in_the_files_of_a_series(signed_in):
    hardware = Hardware.objects.create(name="Box", sockets=2, cores_per_socket=10)
    system = testing.make_system("18", testing.make_host(), hardware)
    steps = ((FORMULA, {"work_mem": "8MB"}),)
    series = make_series(system, {(): 1000.0, (1,): 1100.0}, steps=steps, name=f"{FORMULA}\n; DROP")
    text = signed_in.get(f"/tuning/{series.pk}/effects.csv").content.decode()
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    assert any("HYPERLINK" in cell for cell in cells)
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)
    for name in ("postgresql.conf", "alter-system.sql"):
        answer = signed_in.get(f"/tuning/{series.pk}/settings/1/{name}")
        lines = answer.content.decode().splitlines()
        assert not any(line.startswith(("; DROP", "=")) for line in lines), name
        assert "\n" not in answer.headers.get("Content-Disposition", "")


def test_an_unknown_user_costs_as_many_hashes_as_a_user(vera, monkeypatch):
    counts, calls = [], []
    monkeypatch.setattr(MD5PasswordHasher, "encode", lambda *words: calls.append(words) or "md5$salt$0")
    for name in ("vera", "nobody"):
        calls.clear()
        Client().post(reverse("login"), {"username": name, "password": "wrong"})
        counts.append(len(calls))
    assert counts == [1, 1]


@pytest.mark.parametrize("address", ["/runs/1/log/%00", "/runs/1/evidence/%00", "/s/%00/"])
def test_a_name_that_no_warehouse_can_look_for_is_nowhere(signed_in, address):
    assert (signed_in.get(address).status_code, Client().get(address).status_code) == (404, 404)


@pytest.mark.parametrize("address", ["/api/v1/", "/api/v1/schema/"])
def test_what_is_only_read_refuses_a_stranger_s_change_like_everything_else(signed_in, address):
    assert Client().post(address).status_code == 401
    assert signed_in.post(address).status_code == 403


@pytest.mark.parametrize("cell", ["=1", "+1", "-x", "@x", "\uff1d1", "\uff0bx", "\uff0dx", "\uff20x", "\t=1", "\r=1"])
def test_what_a_spreadsheet_takes_for_a_formula_is_kept_as_text(cell):
    assert harmless(cell) == f"'{cell}"
