"""What is hidden is gone in every spelling; what only looks like it stays."""

import random
import unicodedata

import pytest

from benchhub.analysis.snapshot import addresses, nodes
from benchhub.analysis.snapshot.redaction import Redactor, plain_of
from benchhub.analysis.snapshot.settings import is_shown, shown, shown_of_kernel, shown_of_os

HOST = [nodes.name("host", "Straße-Host.rack.example.org", "host A"), nodes.name("host", "quokka", "host B")]


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
        "cXVva2th", "aG9zdD1xdW9ra2EgcG9ydD0x", "71756f6b6b61",
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
