"""A POST to an address that a person typed: never to this machine or network unless WEBHOOK_NETWORKS allows it.

The name is resolved once and the connection goes to the address that was checked, so that a name which changes its
address between the two leads nowhere. Redirects are not followed.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

TIMEOUT_S = 10
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def post(url: str, body: bytes, headers: dict[str, str]) -> int:
    """The status that was answered. Raises OSError where nobody answers, ValueError where nothing is sent."""
    parts = checked(url)
    connection = _connection(parts, resolved(parts))
    try:
        connection.request("POST", _path(parts), body, headers)
        answer = connection.getresponse()
        answer.read(1024)
        return answer.status
    except ssl.SSLCertVerificationError as error:
        said = f"Its certificate is not trusted: {error.verify_message.rstrip('.')}."
        raise OSError(f"{said} That of a private authority belongs into WEBHOOK_CA_FILE.") from error
    except http.client.HTTPException as error:
        raise OSError(f"It does not speak HTTP: {error!r}.") from error
    finally:
        connection.close()


def checked(url: str) -> SplitResult:
    """ValueError says what is wrong with the address as it is written."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or not url.isprintable() or " " in url:
        raise ValueError("Write a whole address: https://ci.example.org/benchhub.")
    if parts.username or parts.password:
        raise ValueError("Write no name or password into it: what is sent is signed with the secret.")
    _ = parts.port  # raises ValueError for what is no port
    try:
        literal = ipaddress.ip_address(parts.hostname)
    except ValueError:
        return parts
    require_allowed(literal)
    return parts


def require_allowed(address: Address) -> None:
    mapped = getattr(address, "ipv4_mapped", None) or address
    networks = [ipaddress.ip_network(one, strict=False) for one in settings.WEBHOOK_NETWORKS]
    if not mapped.is_global and not any(mapped in one for one in networks):
        raise ValueError(f"Nothing is sent to {mapped}: it is private, and not in WEBHOOK_NETWORKS.")


def resolved(parts: SplitResult) -> str:
    """The first address of the name; every one that it has must be allowed."""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    addresses = [str(one[4][0]).partition("%")[0] for one in found]
    for address in addresses:
        require_allowed(ipaddress.ip_address(address))
    return addresses[0]


def _connection(parts: SplitResult, address: str) -> http.client.HTTPConnection:
    assert parts.hostname is not None
    if parts.scheme == "https":
        return _Pinned(parts.hostname, parts.port, address)
    plain = http.client.HTTPConnection(parts.hostname, parts.port, timeout=TIMEOUT_S)
    plain.sock = socket.create_connection((address, plain.port), TIMEOUT_S)
    return plain


class _Pinned(http.client.HTTPSConnection):
    """Connects to the checked address, and asks for the certificate of the name."""

    def __init__(self, host: str, port: int | None, address: str) -> None:
        super().__init__(host, port, timeout=TIMEOUT_S)
        self.address = address

    def connect(self) -> None:
        plain = socket.create_connection((self.address, self.port), TIMEOUT_S)
        self.sock = _trust().wrap_socket(plain, server_hostname=self.host)


def _trust() -> ssl.SSLContext:
    """The authorities of the system, and those of WEBHOOK_CA_FILE beside them."""
    context = ssl.create_default_context()
    if settings.WEBHOOK_CA_FILE:
        context.load_verify_locations(settings.WEBHOOK_CA_FILE)
    return context


def _path(parts: SplitResult) -> str:
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
