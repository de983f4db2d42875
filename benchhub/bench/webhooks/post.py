"""A POST to an address that a person typed: never to this machine or network unless WEBHOOK_NETWORKS allows it.

The name is resolved once and the connection goes to the address that was checked, so that a name which changes its
address between the two leads nowhere. Redirects are not followed. An answer is read until a deadline, however slowly it
comes, and no further than its first bytes.
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import socket
import ssl
import time
from contextlib import suppress
from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

TIMEOUT_S = 10.0  # of all but the look-up of the name; 20 in a row end before the lease of their notices
MOST_BYTES = 16_384
# What OpenSSL answers where no authority that is trusted has signed: X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT and on.
UNKNOWN_AUTHORITY = range(18, 22)
# Addresses that Python calls global, but that lead to another address, to a site's own network or to nobody.
TRANSLATED = tuple(
    ipaddress.ip_network(network)
    for network in (
        "2002::/16",  # 6to4, RFC 3056
        "192.88.99.0/24",  # relays of 6to4, RFC 7526
        "192.0.0.0/24",  # of protocols, RFC 6890
        "2001::/32",  # Teredo, RFC 4380
        "3fff::/20",  # documentation, RFC 9637
    )
)
# All that was ever given out to the Internet. Outside it lie NAT64, mapped, translated, compatible and site-local ones.
UNICAST_6 = ipaddress.ip_network("2000::/3")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def post(url: str, body: bytes, headers: dict[str, str], within_s: float = TIMEOUT_S) -> int:
    """Return the status of the answer. Raises OSError if none comes in time, ValueError if the address is refused."""
    until_s = time.monotonic() + within_s
    parts = checked(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection_type = _PinnedTls if parts.scheme == "https" else _Pinned
    connection = connection_type(str(parts.hostname), _port(parts), resolved(parts), until_s)
    try:
        connection.request("POST", path, body, headers)
        return _status(connection.sock, until_s)
    except ssl.SSLCertVerificationError as error:
        raise OSError(_untrusted_text(error)) from error
    except TimeoutError as error:
        raise OSError(f"It did not answer within {within_s:g} s.") from error
    except http.client.HTTPException as error:
        raise OSError(f"It does not speak HTTP: {error!r}.") from error
    finally:
        connection.close()


def checked(url: str) -> SplitResult:
    """Return the parts of the address; raises ValueError that says what is wrong with it as it is written."""
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
    """Raise ValueError for an address outside the public networks that WEBHOOK_NETWORKS does not name."""
    mapped = getattr(address, "ipv4_mapped", None) or address
    networks = [ipaddress.ip_network(network, strict=False) for network in settings.WEBHOOK_NETWORKS]
    if not _is_public(mapped) and not any(mapped in network for network in networks):
        raise ValueError(f"Nothing is sent to {mapped}: it is not a public address, and not in WEBHOOK_NETWORKS.")


def _is_public(address: Address) -> bool:
    is_apart = address.is_multicast or any(address in network for network in TRANSLATED)
    is_elsewhere = address.version == 6 and address not in UNICAST_6
    return address.is_global and not is_apart and not is_elsewhere


def resolved(parts: SplitResult) -> str:
    """Return the first address of the name; raises ValueError unless all its addresses are allowed."""
    answers = socket.getaddrinfo(parts.hostname, _port(parts), type=socket.SOCK_STREAM)
    addresses = [str(answer[4][0]).partition("%")[0] for answer in answers]
    for address in addresses:
        require_allowed(ipaddress.ip_address(address))
    return addresses[0]


class _Pinned(http.client.HTTPConnection):
    """Connects to the checked address, until a moment of the monotonic clock."""

    def __init__(self, host: str, port: int, address: str, until_s: float) -> None:
        super().__init__(host, port)
        self.address, self.until_s = address, until_s

    def connect(self) -> None:
        self.sock = socket.create_connection((self.address, self.port), _left_s(self.until_s))


class _PinnedTls(_Pinned):
    """Asks for the certificate of the name."""

    default_port = http.client.HTTPS_PORT

    def connect(self) -> None:
        super().connect()
        self.sock.settimeout(_left_s(self.until_s))
        self.sock = _trust().wrap_socket(self.sock, server_hostname=self.host)


def _status(sock: socket.socket, until_s: float) -> int:
    """Return the status. A little of the body is read as well: a receiver may work until it is heard to the end."""
    # Typed to take a socket, of which it asks for makefile() and nothing else: that is what _Answer has.
    answer = http.client.HTTPResponse(_Answer(sock, until_s), method="POST")  # type: ignore[arg-type]  # see above
    answer.begin()
    with suppress(OSError, http.client.HTTPException):
        answer.read(1024)
    return answer.status


class _Answer(io.RawIOBase):
    """An answer over a socket until a moment of the monotonic clock, and at most MOST_BYTES of it."""

    def __init__(self, sock: socket.socket, until_s: float) -> None:
        self.sock, self.until_s, self.left_bytes = sock, until_s, MOST_BYTES

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self.left_bytes:
            raise OSError(f"Its answer has more than {MOST_BYTES:,} bytes.")
        self.sock.settimeout(_left_s(self.until_s))
        count = self.sock.recv_into(buffer, min(len(buffer), self.left_bytes))
        self.left_bytes -= count
        return count


def _untrusted_text(error: ssl.SSLCertVerificationError) -> str:
    """Say why a certificate is refused, and what to do where its authority is unknown."""
    reason = f"Its certificate is not trusted: {error.verify_message.rstrip('.')}."
    if error.verify_code not in UNKNOWN_AUTHORITY:
        return reason
    if settings.WEBHOOK_CA_FILE:
        return f"{reason} Its authority is neither of the system's nor in the file of WEBHOOK_CA_FILE: add it there."
    return f"{reason} Set WEBHOOK_CA_FILE to a file with the certificate of its private authority."


def _left_s(until_s: float) -> float:
    left_s = until_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _trust() -> ssl.SSLContext:
    """Trust the authorities of the system, and those of WEBHOOK_CA_FILE beside them.

    Python 3.13 began to refuse certificates that lack key identifiers, as those of many private authorities do. That
    is a rule of form, and who may vouch for whom is checked without it: all versions of Python decide alike.
    """
    context = ssl.create_default_context()
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if settings.WEBHOOK_CA_FILE:
        context.load_verify_locations(settings.WEBHOOK_CA_FILE)
    return context
