"""docker-compose.yml without an engine: each service of ours started from what the file says, as a plain process."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchhub.embedded import ports
from benchhub.embedded.account import Account
from benchhub.embedded.broker import Broker
from benchhub.embedded.processes import PLAIN_ENVIRONMENT, Child, Processes
from benchhub.reports.sharing.output import pdf
from conftest import CLONE
from tests.servers import new_cluster, new_key_pair

FILE = CLONE / "docker-compose.yml"
OURS = {"prepare", "web", "worker", "ticker"}
PATIENCE_S = 240  # a machine that others use as well
REFERENCE = re.compile(r"\$(?:(?P<escaped>\$)|\{(?P<name>\w+)(?::(?P<kind>[-?])(?P<rest>[^}]*))?\})")


def interpolated(value: Any, variables: dict[str, str]) -> Any:
    """As Compose does it: ${NAME}, ${NAME:-default}, ${NAME:?message} and $$ in every string of the file."""
    if isinstance(value, dict):
        return {key: interpolated(inner, variables) for key, inner in value.items()}
    if isinstance(value, list):
        return [interpolated(inner, variables) for inner in value]
    return REFERENCE.sub(lambda match: _value(match, variables), value) if isinstance(value, str) else value


def _value(match: re.Match[str], variables: dict[str, str]) -> str:
    if match["escaped"]:
        return "$"
    value = variables.get(match["name"], "")
    if match["kind"] == "?" and not value:
        raise KeyError(f"{match['name']}: {match['rest']}")
    return value or (match["rest"] if match["kind"] == "-" else "")


def new_env(folder: Path) -> dict[str, str]:
    """Return the variables that docker/new-env.sh writes."""
    subprocess.run(["sh", CLONE / "docker" / "new-env.sh"], cwd=folder, check=True)
    return read_env(folder / ".env")


def read_env(file: Path) -> dict[str, str]:
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def services(variables: dict[str, str]) -> dict[str, Any]:
    document: dict[str, Any] = interpolated(yaml.safe_load(FILE.read_text()), variables)
    return document["services"]


@dataclass
class Place:
    """The place where the services run here. `addresses` turns what the file says into what is on this machine."""

    processes: Processes
    folder: Path
    addresses: dict[str, str]
    services: dict[str, Any]
    environment: dict[str, str]

    def here(self, text: str) -> str:
        for there, here in self.addresses.items():
            text = text.replace(there, here)
        return text

    def variables(self, name: str) -> dict[str, str]:
        own = {key: self.here(str(value)) for key, value in self.services[name]["environment"].items()}
        return {**self.environment, **own}

    def start(self, name: str, account: Account | None = None) -> Child:
        command = [self.here(word) for word in self.services[name]["command"]]
        where = {"folder": CLONE if account is None else self.folder, "environment": self.variables(name)}
        return self.processes.start(f"compose-{name}", command, account=account, **where)

    @contextmanager
    def running(self, name: str, account: Account | None = None) -> Iterator[Child]:
        child = self.start(name, account)
        try:
            yield child
        finally:
            self.processes.stop(child)

    def is_healthy(self, name: str) -> bool:
        kind, *words = [self.here(word) for word in self.services[name]["healthcheck"]["test"]]
        command = ["/bin/sh", "-c", *words] if kind == "CMD-SHELL" else words
        return subprocess.run(command, env=self.variables(name), capture_output=True, check=False).returncode == 0

    def becomes_healthy(self, name: str) -> bool:
        deadline = time.monotonic() + PATIENCE_S
        while not (is_healthy := self.is_healthy(name)) and time.monotonic() < deadline:
            time.sleep(2)  # the check itself is a program that takes long to start
        return is_healthy


@pytest.fixture(scope="module")
def place(request: pytest.FixtureRequest, processes: Processes, server_folder: Path, account: Account) -> Place:
    """A database and a broker of the module's own under the names and passwords of the file."""
    cluster = new_cluster("compose-db", 18, request)
    name = "compose-broker"
    broker = Broker(server_folder / name, ports.free_port(), secrets.token_hex(), account, name)
    broker.start(processes)
    folder = account.make_folder(server_folder / "compose")
    variables = new_env(folder)
    variables |= {"POSTGRES_PASSWORD": cluster.password, "BROKER_PASSWORD": broker.password}
    variables |= {"ALLOWED_HOSTS": "bench.example.org"}
    web, ssh = (f"127.0.0.1:{ports.free_port()}" for _ in range(2))
    addresses = {
        "@db:5432/": f"@127.0.0.1:{cluster.port}/",
        "@broker:6379/": f"@127.0.0.1:{broker.port}/",
        "0.0.0.0:8000": web,
        "127.0.0.1:8000": web,
        "0.0.0.0:2222": ssh,
        "-p 2222": f"-p {ssh.rpartition(':')[2]}",
        "/tmp/": f"{folder}/",
        "/var/lib/postgresql": str(folder),
        "/var/run/postgresql": str(folder),
        "target.sh": str(folder / "target.sh"),
    }
    programs = f"{Path(sys.executable).parent}:{PLAIN_ENVIRONMENT['PATH']}"
    environment = {**PLAIN_ENVIRONMENT, "PATH": programs, "STATIC_ROOT": str(folder / "static")}
    return Place(processes, folder, addresses, services(variables), environment)


def collect_static(place: Place) -> None:
    """By the line of the Dockerfile."""
    line = re.search(r"^RUN (.*collectstatic.*)$", (CLONE / "Dockerfile").read_text(), re.M)
    assert line is not None
    shell = ["/bin/sh", "-c", line[1]]
    collected = subprocess.run(shell, cwd=CLONE, env=place.environment, check=False, capture_output=True, text=True)
    assert collected.returncode == 0, collected.stderr


def say(place: Place, name: str) -> str:
    """Run a service that ends by itself; returns what it said."""
    child = place.start(name)
    place.processes.run(child)
    return child.log.read_text()


@pytest.fixture(scope="module")
def prepared(place: Place) -> str:
    """Prepare the warehouse, whichever test comes first; return what was said of it."""
    collect_static(place)
    return say(place, "prepare")


def test_web_worker_and_ticker_start_as_the_file_says_and_their_health_checks_succeed(
    place: Place, prepared: str
) -> None:
    assert "Made the first user, admin." in prepared
    assert "The role benchhub_app works with the rows, and owns nothing." in prepared
    assert not any(place.is_healthy(name) for name in ("web", "worker", "ticker")), "nothing runs yet"
    with place.running("web") as web, place.running("worker") as worker:
        assert place.becomes_healthy("web"), web.log.read_text()
        assert not place.is_healthy("worker"), "nobody has sent a tick"
        with place.running("ticker") as ticker:
            assert place.becomes_healthy("ticker"), ticker.log.read_text()
            assert place.becomes_healthy("worker"), worker.log.read_text()
    assert not place.is_healthy("web")


def test_an_old_sign_of_life_is_no_health(place: Place) -> None:
    heartbeat = Path(place.variables("worker")["HEARTBEAT_FILE"])
    heartbeat.touch()
    assert place.is_healthy("worker")
    os.utime(heartbeat, (time.time() - 120,) * 2)
    assert not place.is_healthy("worker")
    assert not place.is_healthy("ticker")


@pytest.mark.whole
def test_a_second_start_makes_no_second_administrator(place: Place, prepared: str) -> None:
    assert "Made the first user, admin." in prepared
    assert "There are users already: none was made." in say(place, "prepare")


def test_the_target_of_the_demonstration_serves_ssh_and_postgresql(place: Place, account: Account) -> None:
    if shutil.which("sshd", path="/usr/sbin:/usr/bin") is None:
        pytest.skip("OpenSSH is not installed: install the package openssh-server.")
    from benchhub.embedded import programs

    account.write(place.folder / "target.sh", (CLONE / "docker" / "target.sh").read_text()).chmod(0o700)
    path = f"{programs.builds(account)[18]}:{PLAIN_ENVIRONMENT['PATH']}"
    place = replace(place, environment={**place.environment, "PATH": path, "HOME": str(place.folder)})
    with place.running("target", account) as target:
        assert place.becomes_healthy("target"), target.log.read_text()
        assert ask_by_ssh(place, account, "psql -AtX -d bench -c 'SELECT 6 * 7' && type pgbench") == ["42", "pgbench"]
    assert not place.is_healthy("target")
    with place.running("target", account) as target:  # what the first start made serves the second
        assert place.becomes_healthy("target"), target.log.read_text()


def ask_by_ssh(place: Place, account: Account, command: str) -> list[str]:
    """Log in to the target as BenchHub would; returns the first word of each line it says."""
    private, public = new_key_pair()
    key = place.folder / "key"
    key.write_text(private)
    key.chmod(0o600)
    with (place.folder / ".ssh" / "authorized_keys").open("a") as keys:
        keys.write(public + "\n")
    options = ["-F", "none", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-i", str(key)]
    port = place.here("-p 2222").split()
    words = ["ssh", *options, *port, f"{account.username}@127.0.0.1", command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return [line.split()[0] for line in done.stdout.splitlines()]


def test_no_secret_stands_in_the_file_and_each_is_asked_for(tmp_path: Path) -> None:
    variables = new_env(tmp_path)
    assert (tmp_path / ".env").stat().st_mode & 0o777 == 0o600
    for name in ("SECRET_KEY", "FIELD_KEYS", "POSTGRES_PASSWORD", "APP_PASSWORD", "BROKER_PASSWORD"):
        with pytest.raises(KeyError, match=f"{name}: make .env"):
            services({key: value for key, value in variables.items() if key != name})


def test_secrets_are_never_replaced(tmp_path: Path) -> None:
    before = new_env(tmp_path)
    again = subprocess.run(["sh", CLONE / "docker" / "new-env.sh"], cwd=tmp_path, check=False, capture_output=True)
    assert again.returncode != 0
    assert read_env(tmp_path / ".env") == before


def test_each_secret_stands_only_where_it_is_needed(tmp_path: Path) -> None:
    variables = new_env(tmp_path)
    needed_by = {
        "FIELD_KEYS": {"prepare", "web", "worker"},
        "SECRET_KEY": {"web"},
        "METRICS_TOKEN": {"web"},
        "POSTGRES_PASSWORD": {"db", "prepare"},
        "APP_PASSWORD": {"prepare", "web", "worker"},
        "BROKER_PASSWORD": {"broker", "web", "worker", "ticker"},
        "ADMIN_PASSWORD": {"prepare"},
    }
    assert needed_by.keys() == {name for name in variables if name.endswith(("_KEY", "_KEYS", "_PASSWORD", "_TOKEN"))}
    texts = {name: str(service) for name, service in services(variables).items()}
    for secret, names in needed_by.items():
        assert {name for name, text in texts.items() if variables[secret] in text} == names, secret


def test_no_service_writes_to_its_image_or_has_more_rights_than_it_needs(tmp_path: Path) -> None:
    by_name = services(new_env(tmp_path))
    for name, service in by_name.items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert not service.get("privileged") and "docker.sock" not in str(service), name
        assert service.get("read_only") is True or name == "target", name
    assert {name for name, service in by_name.items() if service.get("cap_add")} == {"db"}


def test_warehouse_and_broker_lead_nowhere_and_only_the_worker_reaches_hosts(tmp_path: Path) -> None:
    networks = yaml.safe_load(FILE.read_text())["networks"]
    by_name = {name: set(service["networks"]) for name, service in services(new_env(tmp_path)).items()}
    assert networks["data"] == {"internal": True}
    front = interpolated(networks["front"], read_env(tmp_path / ".env"))
    assert front == {"driver_opts": {"com.docker.network.bridge.enable_ip_masquerade": "false"}}
    assert by_name["db"] == by_name["broker"] == by_name["prepare"] == by_name["ticker"] == {"data"}
    assert {name for name, names in by_name.items() if "targets" in names} == {"worker", "target"}
    assert {name for name, names in by_name.items() if "front" in names} == {"web"}
    assert {name for name, service in services(read_env(tmp_path / ".env")).items() if service.get("ports")} == {"web"}


def test_every_service_that_stays_has_a_health_check(tmp_path: Path) -> None:
    by_name = services(new_env(tmp_path))
    assert {"db", "broker", "target"} | OURS == by_name.keys()
    assert {name for name, service in by_name.items() if "healthcheck" not in service} == {"prepare"}
    assert {name for name, service in by_name.items() if service["image"].startswith("benchhub:")} == OURS


def test_docker_compose_reads_the_file_as_we_do(tmp_path: Path) -> None:
    if shutil.which("docker-compose") is None:
        pytest.skip("docker-compose is not installed: install the package docker-compose.")
    variables = new_env(tmp_path)
    command = ["docker-compose", "--env-file", tmp_path / ".env", "-f", FILE, "config"]
    done = subprocess.run(command, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    theirs, ours = yaml.safe_load(done.stdout)["services"], services(variables)
    for name in OURS:
        environment = {key: str(value) for key, value in ours[name]["environment"].items()}
        assert environment == {key: str(value) for key, value in theirs[name]["environment"].items()}
        # It writes $ as $$, so that what it prints can be read again.
        assert ours[name]["command"] == [word.replace("$$", "$") for word in theirs[name]["command"]]


def test_the_image_holds_no_secret_and_does_not_run_as_root() -> None:
    dockerfile, ignored = (CLONE / "Dockerfile").read_text(), (CLONE / ".dockerignore").read_text()
    stages = re.split(r"^FROM ", dockerfile, flags=re.M)[1:]
    assert [re.findall(r"^USER (\w+)$", stage, re.M)[-1] for stage in stages] == ["benchhub", "postgres"]
    assert "*" in ignored.splitlines(), "only what is named goes into the image"
    assert not re.search(r"^!.*(\.env|var|\.git)", ignored, re.M)


def test_the_image_has_what_prints_pdf_unless_it_is_built_without() -> None:
    dockerfile = (CLONE / "Dockerfile").read_text()
    conditional = re.search(r'if \[ "\$PDF" = 1 \]; then(.*?)fi$', dockerfile, re.S | re.M)
    assert conditional
    assert any(f" {program} " in conditional[1] for program in pdf.PROGRAMS)
    for variables, is_built in (({}, "1"), ({"PDF": "0"}, "0")):
        assert interpolated(yaml.safe_load(FILE.read_text())["x-app"]["build"]["args"], variables) == {"PDF": is_built}
