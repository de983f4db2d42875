"""What is hidden is gone in every spelling; what only looks like it stays."""

import random
import unicodedata
from base64 import b64encode

import pytest

from benchhub.analysis.snapshot import addresses, escapes, machines, nodes
from benchhub.analysis.snapshot.redaction import Redactor, names_in, plain_of
from benchhub.analysis.snapshot.settings import is_shown, shown, shown_of_kernel, shown_of_os

HOST = [nodes.name("host", "Straße-Host.rack.example.org", "host A"), nodes.name("host", "quokka", "host B")]
# A host's name across the end of its first line of 76 letters, which stand for 57 bytes.
WRAPPED = b64encode(b"." * 53 + b" quokka " + b"." * 20).decode()


def hidden(text, *names, classes=("host", "address")):
    return Redactor([*HOST, *names], classes).text(text)


@pytest.mark.parametrize(
    "text",
    [
        "10.20.30.41", "10.20.30.41.", "v10.20.30.41", "(10.20.30.41)", "10.20.30.41:5433", "10.20.30.0/24",
        "::ffff:10.20.30.42", "fd00::7", "fe80::1", "fe80::1%eth0", "[fd00::7]:5432", "2001:db8:0:1::7", "::1",
        "fd00::7.", "ip-10-20-30-41", "ip-10-20-30-41.ec2.internal", "10-20-30-41.example.net",
        "41.30.20.10.in-addr.arpa", "\uff11\uff10.\uff12\uff10.\uff13\uff10.\uff14\uff11", "10\u200b.20.30.41",
        "10%2e20%2E30.41", "10&#46;20.30.41", "10\\u002e20.30.41", "52:54:00:12:34:56", "http://10.20.30.41/x",
        "010.020.030.042", "0010.0020.0030.0042", "0x0a.0x14.0x1e.0x2a", "10.20.0x1e.052", "10[.]20[.]30[.]41",
        "10&amp;#46;20.30.41", "10&#00046;20.30.41", "10%252e20%25252e30.41", "10\\x2e20.30.41",
        "10\\05620.30.41", "10\\u{2e}20.30.41", "10.<b>20</b>.30.41", "10.20.<!-- -->30.41",
        "10\u00b720\u00b730\u00b741",
        "ip_10_20_30_41", "fe80::1%eth0.4094-with_a.long_name", "fd00--7.ipv6-literal.net", "5254.0012.3456",
        "80:00:02:08:fe:80:00:00:00:00:00:00:f4:52:14:03:00:7b:cb:a1", "enx525400123456", "MTAuMjAuMzAuNDE=",
        "31302e32302e33302e3431",
    ],
)  # fmt: skip
def test_an_address_is_hidden_in_each_spelling(text):
    redacted = hidden(f"From {text} on")
    assert redacted.startswith("From ") and redacted.endswith(" on")
    assert "hidden" in redacted
    left = plain_of(redacted.replace("hidden", "")).text
    assert not set(left) & set("0123456789"), redacted


@pytest.mark.parametrize(
    "text",
    [
        "PostgreSQL 16.14", "kernel 5.10.0-28-amd64", "gcc 12.2.0-14", "at 10:05:33", "2026-11-25 10:05:33.123",
        "1,024.5 TPS", "levels 1-2-4-8", "x::integer", "'5'::text", "1:2:3", "std::string", "0.28x",
        "14.2.1 20250110", "256.300.1.2", "1.2.3.4567", "ratio 1.08 to 1.16", "d1a423caf71370dee81b", "0x1f.2.3",
        "2026_11_25_10", "serial reads", "i-node", "pg_stat_statements", "64 @ 8 threads", "/home page", "a ~ b",
        "a ~b", "~5 %", "transaction per second", "12345678", "shared_buffers",
        "https://example.com/a?b=c", "sha256-AbCdEf0123456789+/",
    ],
)  # fmt: skip
def test_what_only_looks_like_an_address_stays(text):
    assert hidden(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "Straße-Host.rack.example.org", "STRASSE-HOST.RACK.EXAMPLE.ORG", "strasse-host.rack.example.org",
        "db7.rack.example.org", "other.example.org", "Straße-Host.rack.example.org:5433",
        "Stra\u00adße-Host.rack.example.org", "ｓｔｒａｓｓｅ－ｈｏｓｔ.rack.example.org",
        "Quokka", "QUOKKA.", "quok\u200bka", "quókka", "quokka.attic.invalid",
        "a.quokka.b", '"quokka"', "quo<br>kka", "%71uokka", "&#113;uokka", "\\u0071uokka", "stra%C3%9Fe-host",
        "%2571uokka", "&amp;amp;#113;uokka", "&#113uokka", "\\x71uokka", "stra\\xc3\\x9fe-host", "\\U00000071uokka",
        "\\161uokka", "\\ud835\\udc92uokka", "quo<wbr>kka", "quo\x08kka", "quo\u3164kka", "quo\u2800kka",
        "cXVva2th", "aG9zdD1xdW9ra2EgcG9ydD0x", "71756f6b6b61", "pre_71756f6b6b61", "0x71756f6b6b61",
        "x-cXVva2th", "srv/cXVva2th/log", "aG9zdABxdW9ra2EAMQ==", "cQB1AG8AawBrAGEA",
        WRAPPED[:76] + "\n" + WRAPPED[76:],
    ],
)  # fmt: skip
def test_a_host_is_hidden_in_each_spelling_with_its_domain(text):
    left = unicodedata.normalize("NFKD", hidden(f"On {text} now")).casefold()
    assert not any(word in left for word in ("quokka", "kka", "rack", "example", "strasse", "attic")), left
    assert left.startswith("on ") and left.endswith(" now")


@pytest.mark.parametrize(
    "text",
    [
        "4c4c4544-0042-3510-8057-b7c04f564432", "I-0abcd1234ef567890", "arn:aws:rds:eu-west-1:123456789012:db:x",
        "postgres-7d9c6b8f5-x2x4z", "serial number: CZ3401ABCD", "S/N=PF-0X12", "0x5000c500a1b2c3d4",
        "db9.eu-west-1.compute.internal", "mydb.abc123.eu-west-1.rds.amazonaws.com", "mara@other.example.net",
        "mara@db9", "mara+x@xn--bcher-kva.example",
    ],
)  # fmt: skip
def test_what_names_some_machine_or_person_is_hidden_with_the_hosts(text):
    assert hidden(f"From {text} on", classes=("host",)).replace("serial number: ", "").replace("S/N=", "") == (
        "From hidden on"
    )
    assert hidden(text, classes=("vendor",)) == text


@pytest.mark.parametrize(
    "text",
    [
        "TPS@p99 and 4.2ms@p95", "latency@p99.9", "900tps@peak", "Serial: 1234 TPS", "serial: 12.5 s", "serial: 12.5",
        "Serial: 123456 TPS", "~tps/client", "rc.local", "threading.local()", "jdk.internal.misc.Unsafe", "/users/min",
        "sun.local.py", "clients_1_2_4_8", "wal_1_2_4_8", "v1_2_4_8", "clients_1_2_4_8.csv", "p95 10.5 ms",
        "PostgreSQL 10.5", "10.0.5", "user=12 %", "user time", "psql -U postgres", "user=postgres", "ssh -p 22",
        "gcc -l pthread", "https://example.com/@docs",
        "autovacuum_vacuum_cost_limit", "effective-io-concurrency/random_page_cost",
        "ab" * 32,
    ],
)  # fmt: skip
def test_honest_texts_about_a_measurement_stay_with_a_short_address_known(text):
    forms = [nodes.name("address", form, "address A") for form in ("10.0.0.5", *addresses.forms("10.0.0.5"))]
    assert hidden(text, *forms) == text


@pytest.mark.parametrize("text", ["host=10.5", "mara@10.5", "http://10.0.5/x", "10.0.0.5", "ip_10_0_0_5"])
def test_a_short_form_of_a_known_address_is_hidden_where_a_host_is_named(text):
    forms = [nodes.name("address", form, "address A") for form in ("10.0.0.5", *addresses.forms("10.0.0.5"))]
    assert not set(hidden(f"On {text} now", *forms)) & set("0123456789")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("db.corp.acme.com", "hidden"), ("db7.internal.acme.de:5433", "hidden"), ("db-1.local", "hidden"),
        ("a.rds.amazonaws.com.cn", "hidden"), ("a.b.c.d.e.f.g.h.i.j.internal", "hidden"), ("nas.lan", "hidden"),
        ("postgres://u:pa/ss@h1/x", "postgres://hidden/x"), ("postgres://u:p@ss@h1/x", "postgres://hidden@h1/x"),
        (r"C:\Users\mara\x", r"C:\Users\hidden\x"), ("/Users/mara/x", "/Users/hidden/x"),
        ("eui.0025385b71b00000", "hidden"), ("ssh -p 22 -l mara h1", "ssh -p 22 -l hidden h1"),
        ("pgbench -c 8 -U mara", "pgbench -c 8 -U hidden"), ("user=mara", "user=hidden"), ("mara@p9", "mara@p9"),
        ("10_0_0_5.rack.acme.net", "hidden"), ("Serial: 12345678", "Serial: hidden"),
        ("serial: A1.2", "serial: hidden"),
    ],
)  # fmt: skip
def test_the_whole_of_what_names_a_machine_or_an_account_goes(text, left):
    assert hidden(f"On {text} now") == f"On {left} now"


def test_accounts_in_urls_and_folders_are_hidden_with_the_hosts():
    text = hidden("http://mara:pw@a.example.net/x ~mara/x /home/mara/x", classes=("host",))
    assert "mara" not in text and "pw" not in text
    assert text.endswith("/x ~hidden/x /home/hidden/x")


def test_the_alias_stands_where_the_name_stood():
    assert hidden("quokka beats quokkas and QUOKKA.") == "host B beats quokkas and host B."


def test_what_is_not_hidden_stays_and_so_does_a_text_without_any_of_it():
    text = "quokka at 10.20.30.41"
    assert Redactor(HOST, ()).text(text) == text
    assert Redactor(HOST, ("vendor",)).text(text) == text
    assert hidden("nothing of it") == "nothing of it"


def test_other_spellings_of_a_known_address_are_names_of_it():
    assert set(addresses.forms("10.20.30.41")) >= {"169090601", "0x0a141e29", "10-20-30-41", "010.020.030.041"}
    assert set(addresses.forms("10.20.30.41")) >= {"10.20.7721", "10.1318441", "0a141e29", "291e140a", "10_20_30_41"}
    assert "10203041" not in addresses.forms("16.32.48.65")
    assert addresses.forms("db1.example.org") == ()
    assert "7.0.0.0" in addresses.forms("fd00::7")[2]


def test_a_long_text_of_nearly_addresses_takes_as_many_steps_as_it_has_characters():
    """Counted in spans that are looked at: no candidate begins within another one."""
    for text in (":" * 100_000, "1." * 100_000, "1-" * 100_000, "a:" * 100_000, "aa:" * 100_000):
        assert len(list(addresses.spans(text))) <= len(text) / 4


def test_a_long_text_of_nearly_names_or_codes_is_looked_at_a_bounded_number_of_times():
    """Counted in spans and in characters that are decoded, for each character of the text."""
    for text in ("a." * 50_000, "a@" * 50_000, "~a/" * 30_000, "://a:" * 20_000, "psql -u " * 10_000, "a-" * 50_000):
        assert len(list(machines.spans(text))) <= len(text) / 2
    for text in ("abcdefgh/" * 10_000, "a" * 100_000, "7175" * 25_000, "cXVva2th-" * 10_000, "_" * 100_000):
        assert sum(end - start for start, end, _ in escapes.encoded(text)) <= 24 * len(text)


def test_a_name_is_held_as_a_whole_word_and_ordinary_words_are_none():
    names = ["test", "db", "memory", "main", "otter", "db7", "kiln.example.org", "kiln"]
    assert names_in("The latest otters use main memory; test db of db70.", names) == []
    assert names_in("From OTTER, db7 to kiln.example.org", names) == ["otter", "db7", "kiln.example.org"]
    assert names_in("in b3R0ZXIgbm93", names) == ["otter"]


def test_settings_are_shown_by_an_allow_list_and_only_as_plain_values():
    settings = {
        "shared_buffers": {"setting": "16384", "unit": "8kB"},
        "fsync": "on",
        "shared_preload_libraries": "pg_stat_statements,auto_explain",
        "recovery_end_command": "PGPASSWORD=x psql",
        "primary_conninfo": "host=a password=b",
        "archive_command": "cp %p /archive/%f",
        "ssl_passphrase_command": "echo secret",
        "data_directory": "/srv/pg",
        "listen_addresses": "10.0.0.5",
        "port": "5433",
        "acme.token": "abc",
        "work_mem": "4MB; curl http://10.0.0.5/",
        "session_preload_libraries": "/home/mara/lib.so",
    }
    assert set(shown(settings)) == {"shared_buffers", "fsync", "shared_preload_libraries"}
    assert not is_shown("unheard_of", "1")


def test_settings_of_an_operating_system_are_shown_by_an_allow_list_too():
    settings = {"vm.swappiness": 1, "net.ipv4.tcp_rmem": "4096 87380 16777216", "kernel.sem": "/srv/x", "vm.acme": "1"}
    assert set(shown_of_os({**settings, "kernel.domainname": "acme"})) == {"vm.swappiness", "net.ipv4.tcp_rmem"}


def test_options_of_a_kernel_are_shown_by_an_allow_list_and_only_as_plain_values():
    options = [
        "isolcpus=2-7,10",
        "mitigations=off",
        "nosmt",
        "root=/dev/mapper/acme",
        "idle=http://10.0.0.5/",
        "memory",
    ]
    assert shown_of_kernel(options) == ["isolcpus=2-7,10", "mitigations=off", "nosmt"]


def test_random_noise_around_a_name_never_lets_it_through():
    random.seed(7)
    noise = ["\u200b", "\u00ad", "\u2060", "\u0301", "\ufe0f", "'", '"', "\\", ",", " ", "\n", "<br>"]
    for _ in range(300):
        name = "".join(character + random.choice(noise) * random.randint(0, 2) for character in "straße-host")
        assert "host" not in unicodedata.normalize("NFKD", hidden(f"[{name}.rack.example.org]")).replace("host A", "")
