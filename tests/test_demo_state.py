"""What a demonstration remembers of itself: secrets, ports, folders, and who holds it."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from benchhub.demo import state
from benchhub.demo.servers import Demo
from benchhub.embedded import EmbeddedError, ports, proc
from benchhub.embedded.account import Account
from benchhub.embedded.processes import Processes


@pytest.fixture
def home_account(tmp_path: Path) -> Account:
    """An account whose folder is the test's own, run by the present user."""
    return Account("someone", os.geteuid(), os.getegid(), tmp_path)


def test_temporary_files_lie_where_clean_finds_them_unless_sockets_do_not_fit(
    home_account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "/elsewhere")
    monkeypatch.setenv("DATABASE_URL", "postgresql:///given")
    demo = Demo(Path("/short"), home_account, Processes(home_account.home, "mark"), state.load_secrets(home_account))
    assert demo.environment["TMPDIR"] == "/short/var/tmp"
    assert "TMPDIR" not in demo.own_environment, "commands in the shell keep theirs"
    demo.clone = Path("/" + 90 * "x")
    assert demo.environment["TMPDIR"] == "/elsewhere"
    demo.web_listener.close()


def test_secrets_are_made_once_and_closed_to_others(home_account: Account) -> None:
    first = state.load_secrets(home_account)
    assert state.load_secrets(home_account) == first
    assert (home_account.home / "secrets.json").stat().st_mode & 0o777 == 0o600
    assert len({first.secret_key, first.field_keys, first.broker_password, first.demo_password}) == 4


def test_a_port_is_remembered_while_it_is_free(home_account: Account) -> None:
    port = state.choose_port(home_account, "broker")
    assert state.choose_port(home_account, "broker") == port
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        moved = state.choose_port(home_account, "broker")
    assert moved != port
    assert state.choose_port(home_account, "broker") == moved


def test_two_that_start_at_once_never_get_one_web_port_although_neither_serves_yet(
    home_account: Account, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = replace(home_account, home=tmp_path_factory.mktemp("other"))
    with state.web_listener(home_account) as ours, state.web_listener(other) as theirs:
        port, next_port = ours.getsockname()[1], theirs.getsockname()[1]
        assert port >= state.WEB_PORT and next_port > port
        assert not ports.is_free(port)
        assert (state.wished_web_port(home_account), state.wished_web_port(other)) == (port, next_port)


def test_ports_that_a_power_cut_emptied_are_chosen_anew(home_account: Account) -> None:
    (home_account.home / "ports.json").touch()
    port = state.choose_port(home_account, "warehouse")
    assert state.remembered_ports(home_account) == {"warehouse": port}


@pytest.mark.parametrize("text", ["", "[]", '{"secret_key": "only"}'])
def test_secrets_that_cannot_be_read_are_not_replaced_but_named(home_account: Account, text: str) -> None:
    file = home_account.home / "secrets.json"
    file.write_text(text)
    with pytest.raises(EmbeddedError, match=r"secrets.json cannot be read.*or begin anew with `make clean`"):
        state.load_secrets(home_account)
    assert file.read_text() == text


def test_no_two_servers_are_promised_one_port(home_account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "LOWEST", 20_000)
    monkeypatch.setattr(ports, "HIGHEST", 20_020)
    numbers = [state.choose_port(home_account, name) for name in ("a", "b", "c", "d")]
    assert len(set(numbers)) == 4


def test_too_little_room_is_said_before_anything_is_written(
    home_account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "FIRST_START_BYTES", 10**18)
    with pytest.raises(EmbeddedError, match=r"has \d+ MB free, and the demonstration needs \d+ MB"):
        state.check_space(home_account, is_first=True)
    assert list(home_account.home.iterdir()) == []


def test_the_lock_names_who_holds_it(tmp_path: Path) -> None:
    with state.only_one(tmp_path):
        state.note_supervisor(tmp_path, "http://127.0.0.1:8000")
        with pytest.raises(state.AlreadyRunningError) as error, state.only_one(tmp_path):
            raise AssertionError("two hold the lock")
        assert error.value.process == proc.identify(os.getpid())
        assert error.value.url == "http://127.0.0.1:8000"
    assert not (tmp_path / "run" / "demo.json").exists()
