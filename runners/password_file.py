"""The file by which libpq gets a password: it gives it to the server of the run and to no other."""

from __future__ import annotations

import re

from runners.contract import Endpoint

PASSWORD_FILE = ".pgpass"
# libpq looks for this name where it takes the socket in the folder that it was built with.
OWN_SOCKET = "localhost"


def password_lines(endpoint: Endpoint, password: str) -> str:
    """Return the file's text: the exact server, database and user. Raises ValueError for what is not one line."""
    if not password:
        raise ValueError("A password for PostgreSQL must be one line and not empty.")
    is_socket = not endpoint.address or endpoint.address.startswith(("/", "@"))
    hosts = dict.fromkeys((*filter(None, [endpoint.address]), *([OWN_SOCKET] if is_socket else ())))
    place = (str(endpoint.port), endpoint.database, endpoint.user)
    return "".join(":".join([*map(_exact, (host, *place)), _escaped(password)]) + "\n" for host in hosts)


def _exact(name: str) -> str:
    """Escape a name so that it stands for itself: an asterisk alone would stand for every name."""
    return "\\*" if name == "*" else _escaped(name)


def _escaped(text: str) -> str:
    if re.search(r"[\n\r\0]", text):
        raise ValueError("A password for PostgreSQL, and what it is for, must be one line.")
    return text.replace("\\", "\\\\").replace(":", "\\:")
