"""Write settings as files and statements that a database administrator can use as they are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

SERVER_NAME = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?")
KERNEL_NAME = re.compile(r"[A-Za-z0-9_-]+([./][A-Za-z0-9_-]+)+")
# Lists whose elements ALTER SYSTEM quotes: 'a, b' in one pair of quotes would be one library of that name.
LISTS = frozenset(
    ("search_path", "local_preload_libraries", "session_preload_libraries", "shared_preload_libraries",
     "temp_tablespaces", "unix_socket_directories")
)  # fmt: skip
CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def postgresql_conf(settings: Mapping[str, str], title: str) -> str:
    """Return lines for postgresql.conf or a file that it includes, with a title as a comment.

    Raises ValueError for a name or value that no such line can hold.
    """
    lines = [f"{_server_name(name)} = {_quoted(value)}" for name, value in settings.items()]
    return _file(title, lines)


def alter_system(settings: Mapping[str, str], title: str) -> str:
    """Return ALTER SYSTEM statements, and that which reloads the configuration. Raises ValueError as above."""
    lines = [f"ALTER SYSTEM SET {_server_name(name)} = {_sql(name, value)};" for name, value in settings.items()]
    return _file(title, [*lines, "SELECT pg_reload_conf();"] if lines else [], comment="--")


def sysctl_conf(os_settings: Mapping[str, str], title: str, files: Mapping[str, str] | None = None) -> str:
    """Return lines for a file in /etc/sysctl.d; what is no setting of it stands there as a comment.

    `files` are the kernel's own of what sysctl does not set on all kernels, by name: a comment then says what to write
    where at each start.
    """
    lines = []
    for name, value in os_settings.items():
        text, is_sysctl = _one_line(f"{name} = {value}"), KERNEL_NAME.fullmatch(name)
        lines += [text] if is_sysctl else [f"# not set by sysctl: {text}"]
        if files and name in files:
            where = " of a kernel whose sysctl does not know it" if is_sysctl else ""
            lines.append(f"# at each start{where}: echo {shlex.quote(value)} | tee {files[name]}")
    return _file(title, lines)


def _file(title: str, lines: list[str], comment: str = "#") -> str:
    return "\n".join([f"{comment} {CONTROL.sub(' ', title)}", *lines]) + "\n"


def _server_name(name: str) -> str:
    if not SERVER_NAME.fullmatch(name):
        raise ValueError(f"'{name}' is no name of a PostgreSQL setting.")
    return name


def _quoted(value: str) -> str:
    """Quote a value as both postgresql.conf and SQL read it: a backslash is refused, as they read it differently."""
    if "\\" in value:
        raise ValueError(f"'{value}' holds a backslash, which a file and a statement read differently.")
    doubled = _one_line(value).replace("'", "''")
    return f"'{doubled}'"


def _sql(name: str, value: str) -> str:
    """Quote a value, or each element of a list."""
    if name not in LISTS:
        return _quoted(value)
    elements = [element.strip() for element in value.split(",")]
    if not all(element.strip('"') for element in elements) or '"' in value.replace('"$user"', ""):
        raise ValueError(f"ALTER SYSTEM cannot set {name} to '{value}': use the lines for postgresql.conf.")
    return ", ".join(_quoted(element.strip('"')) for element in elements)


def _one_line(value: str) -> str:
    if CONTROL.search(value):
        raise ValueError("A value holds a line break or another control character.")
    return value
