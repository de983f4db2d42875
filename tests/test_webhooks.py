"""Webhooks to a real server: over HTTPS with a certificate of a private authority, and sent by a real worker."""

from __future__ import annotations

import ipaddress
import json
import os
import socket
import ssl
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
from celery import Celery
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.conf import settings as used
from django.contrib.auth import get_user_model
from django.db import connection

from benchhub.bench import testing
from benchhub.bench.models import Notice, Run, Webhook
from benchhub.bench.queue import queue
from benchhub.bench.webhooks import notices, post
from conftest import CLONE

HERE = ["127.0.0.0/8", "::1/128"]
SECRET = "hush"
PATIENCE_S = 240  # of a busy machine


def authority(name: str) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    return signed(subject, key, subject, key, x509.BasicConstraints(ca=True, path_length=0)), key


def signed(
    subject: Any, key: Any, issuer: Any, issuer_key: Any, *extensions: Any, has_identifiers: bool = True
) -> x509.Certificate:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(subject_name=subject, issuer_name=issuer, public_key=key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    identifiers = [
        x509.SubjectKeyIdentifier.from_public_key(key.public_key()),
        x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
    ]
    for extension in [*extensions, *(identifiers if has_identifiers else [])]:
        builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
    return builder.sign(issuer_key, hashes.SHA256())


@pytest.fixture(scope="module")
def private_ca(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the authority's certificate, and those of servers with their keys.

    `right` and `wrong` are of this name and another, `plain` has no key identifiers, as private authorities make them.
    """
    folder = tmp_path_factory.mktemp("ca")
    certificate, key = authority("Private authority")
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    (folder / "ca.pem").write_bytes(pem)
    (folder / "other.pem").write_bytes(authority("Another")[0].public_bytes(serialization.Encoding.PEM))
    here = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    for file, names in (("right", here), ("plain", here), ("wrong", [x509.DNSName("elsewhere.example")])):
        own = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, file)])
        alternatives = x509.SubjectAlternativeName(names)
        made = signed(subject, own, certificate.subject, key, alternatives, has_identifiers=file != "plain")
        secret = own.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        (folder / f"{file}.pem").write_bytes(secret + made.public_bytes(serialization.Encoding.PEM))
    return folder


class Outside(ThreadingHTTPServer):
    """An HTTPS server called localhost, at the address that the name has here; `posts` is what it was sent."""

    daemon_threads = True

    def __init__(self, certificate: Path) -> None:
        self.posts: list[tuple[str, dict[str, str], bytes]] = []
        address = socket.getaddrinfo("localhost", 0, type=socket.SOCK_STREAM)[0]
        self.address_family = address[0]
        super().__init__(address[4][:2], Answers)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    @property
    def url(self) -> str:
        return f"https://localhost:{self.server_port}/hook"

    def handle_error(self, _request: Any, _address: Any) -> None:
        """A client that does not trust us hangs up: that is what some tests are about."""


class Answers(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posts.append((self.path, dict(self.headers), body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def outside(certificate: Path) -> Iterator[Outside]:
    server = Outside(certificate)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def webhook(url: str) -> Webhook:
    user = get_user_model().objects.create_superuser("ada")
    return Webhook.objects.create(name="ci", url=url, events=["run.ended"], secret=SECRET, created_by=user)


def end_a_run() -> Run:
    hardware = testing.make_box()
    made = testing.make_experiment([testing.make_system("18", testing.make_host(), hardware)])
    run = testing.make_run(made, made.systems.get(), 1, 1)
    queue.ask_to_cancel(Run.objects.filter(pk=run.pk))
    return run


def is_signed(headers: dict[str, str], body: bytes) -> bool:
    stamp, signature = (part.partition("=")[2] for part in headers["BenchHub-Signature"].split(","))
    return signature == notices.signature(SECRET, stamp, body)


@pytest.mark.django_db
def test_a_notice_goes_over_https_to_a_server_whose_authority_is_named(settings, private_ca):
    settings.WEBHOOK_NETWORKS, settings.WEBHOOK_CA_FILE = HERE, str(private_ca / "ca.pem")
    with outside(private_ca / "right.pem") as server:
        webhook(server.url)
        run = end_a_run()
        assert notices.send_due(partial(post.post, within_s=PATIENCE_S)) == 1
    [(path, headers, body)] = server.posts
    assert (path, json.loads(body)["run"]["id"], is_signed(headers, body)) == ("/hook", run.pk, True)
    assert headers["Host"] == urlsplit(server.url).netloc
    sent = Notice.objects.get()
    assert (sent.state, sent.status, sent.error) == ("sent", 204, "")


def test_a_private_authority_that_leaves_out_key_identifiers_is_trusted_by_every_python(settings, private_ca):
    settings.WEBHOOK_NETWORKS, settings.WEBHOOK_CA_FILE = HERE, str(private_ca / "ca.pem")
    with outside(private_ca / "plain.pem") as server:
        assert post.post(server.url, b"{}", {}, within_s=PATIENCE_S) == 204
    assert [body for _path, _headers, body in server.posts] == [b"{}"]


@pytest.mark.parametrize(
    ("certificate", "authorities", "word"),
    [
        ("right", "", "Set WEBHOOK_CA_FILE to a file"),
        ("right", "other.pem", "nor in the file of WEBHOOK_CA_FILE: add it there"),
        ("wrong", "ca.pem", "localhost'[.]$"),
    ],
    ids=["an authority that nobody named", "another authority is named", "the certificate of another name"],
)
def test_nothing_is_told_to_a_server_that_cannot_prove_who_it_is(settings, private_ca, certificate, authorities, word):
    settings.WEBHOOK_NETWORKS = HERE
    settings.WEBHOOK_CA_FILE = str(private_ca / authorities) if authorities else ""
    with (
        outside(private_ca / f"{certificate}.pem") as server,
        pytest.raises(OSError, match=f"certificate is not trusted.*{word}"),
    ):
        post.post(server.url, b"{}", {}, within_s=PATIENCE_S)
    assert server.posts == []


@pytest.mark.django_db(transaction=True)
def test_a_worker_tells_of_a_run_that_has_ended(private_ca, broker_url, processes):
    place = connection.settings_dict
    server_address = f"{place['USER']}:{place['PASSWORD']}@{place['HOST']}:{place['PORT']}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {
        "DATABASE_URL": f"postgresql://{server_address}/{place['NAME']}",
        "BROKER_URL": broker_url,
        "SECRET_KEY": used.SECRET_KEY,
        "FIELD_KEYS": ",".join(used.FIELD_KEYS),
        "WEBHOOK_NETWORKS": ",".join(HERE),
        "WEBHOOK_CA_FILE": str(private_ca / "ca.pem"),
    }
    command = [sys.executable, "-m", "celery", "-A", "benchhub", "worker", "-P", "threads", "-c", "2", "-l", "INFO"]
    with outside(private_ca / "right.pem") as server:
        webhook(server.url)
        run = end_a_run()
        worker = processes.start("webhook-worker", command, folder=CLONE, environment=environment)
        try:
            with Celery(broker=broker_url).connection_for_write() as line:
                Celery(broker=broker_url).send_task("bench.tick", kwargs={"is_scheduled": True}, connection=line)
            deadline = time.monotonic() + PATIENCE_S
            while Notice.objects.get().state != "sent":
                assert worker.exit_code is None and time.monotonic() < deadline, worker.log.read_text()[-2000:]
                time.sleep(0.1)
        finally:
            processes.stop_named("webhook-worker")
    [(_, headers, body)] = server.posts
    notice = json.loads(body)
    assert (notice["event"], notice["run"]["id"], notice["run"]["state"]) == ("run.ended", run.pk, "cancelled")
    assert is_signed(headers, body)
