"""File systems of a host as they may be published: without devices, options and folders that are one host's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

FACTS = ("type", "size_bytes", "free_bytes", "layers", "disks")
# Folders that many hosts have give nobody away; others get a number.
FOLDERS = frozenset(
    (
        "/", "/boot", "/boot/efi", "/home", "/mnt", "/opt", "/root", "/run", "/run/lock", "/srv", "/usr", "/var",
        "/var/lib", "/var/lib/pgsql", "/var/lib/postgresql", "/var/log",
        "/dev/shm",  # nosec B108
        "/tmp",  # nosec B108
        "/var/tmp",  # nosec B108
    )
)  # fmt: skip
GROUNDS = ("memory", "overlay", "network", "host of the guest", "a program (FUSE)")
POOL = "ZFS pool"


def public(mounts: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what may be published of each mount, by 'filesystems /' or 'filesystems other 1'."""
    numbers = count(1)
    return {f"filesystems {_folder(mount) or f'other {next(numbers)}'}": _facts(mount) for mount in mounts}


def ground(mount: Mapping[str, Any]) -> str:
    """Return what a file system without disks rests on; of a ZFS pool not its name, which people chose."""
    text = str(mount.get("rests_on", ""))
    return f"a {POOL}" if text.startswith(POOL) else text if text in GROUNDS else ""


def _folder(mount: Mapping[str, Any]) -> str:
    folder = str(mount.get("folder", ""))
    return folder if folder in FOLDERS else ""


def _facts(mount: Mapping[str, Any]) -> dict[str, Any]:
    facts = {name: mount[name] for name in FACTS if name in mount}
    text = ground(mount)
    return {**facts, "rests_on": text} if text else facts
