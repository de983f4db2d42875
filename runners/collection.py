"""What a finished attempt left on a target, as it came over the line: checked against its manifest and in bounds."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runners.contract import Outputs
from runners.readings import storable_json

FULL_DISK_BYTES = 1 << 20
MANIFEST = "manifest.json"
MOST_FILES = 4096
FILE_NAME = re.compile(r"[0-9A-Za-z_+-][0-9A-Za-z._+-]{0,99}")
SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Collected:
    """The outputs of an attempt, verified against its manifest.

    `remarks` say, by file, what was left out and why; one about the attempt as a whole is under manifest.json.
    """

    outputs: Outputs
    manifest: Mapping[str, Any]
    remarks: Mapping[str, str]


def size(word: bytes) -> int:
    """Return a number that counts. Raises ValueError for what is none: a sign would lead back into the stream."""
    if not re.fullmatch(rb"[0-9]{1,15}", word):
        raise ValueError(f"{word[:40]!r} is no count")
    return int(word)


def exit_code(word: bytes) -> int:
    """Return the number that a process ended with. Raises ValueError for what no process can end with."""
    if (number := size(word)) > 255:
        raise ValueError(f"{number} is no exit code")
    return number


def parse_collected(answer: bytes, cap_bytes: int) -> Collected:
    """Return what an attempt left. Raises one of tools.UNREADABLE for what no honest target sends."""
    head, _, rest = answer.partition(b"\n")
    code, manifest_bytes = head.split()
    returncode, manifest_size = exit_code(code), size(manifest_bytes)
    manifest, remarks = _parse_manifest(rest[:manifest_size])
    files = _parse_files(rest[manifest_size:])
    collected: dict[str, bytes] = {}
    for entry in manifest.get("files", ()):
        name = entry["name"]
        if remark := _doubt_of_file(entry, files.get(name), cap_bytes):
            remarks[name] = remark
        else:
            collected[name] = files[name]
    stdout, stderr = collected.pop("out.log", b""), collected.pop("err.log", b"")
    return Collected(Outputs(returncode, stdout, stderr, collected), manifest, remarks)


def _parse_manifest(text: bytes) -> tuple[dict[str, Any], dict[str, str]]:
    try:
        manifest: dict[str, Any] = storable_json(text.decode())
    except ValueError:
        return {}, {MANIFEST: "It is missing or damaged, so no output was taken; was the target's disk full?"}
    _check_files(manifest.get("files", []))
    if manifest["free_bytes"] < FULL_DISK_BYTES:
        return manifest, {MANIFEST: "The target's disk was full at the end: outputs may be cut short."}
    return manifest, {}


def _check_files(entries: list[dict[str, Any]]) -> None:
    """Raise ValueError where a list of files could not be stored: too many, twice, or of impossible names and sizes."""
    names = {entry["name"] for entry in entries}
    if len(entries) > MOST_FILES or len(names) != len(entries):
        raise ValueError(f"its manifest names {len(entries):,} files, {len(names):,} of them once")
    for entry in entries:
        name, size_bytes, digest = entry["name"], entry["bytes"], entry["sha256"]
        is_fit = FILE_NAME.fullmatch(name) and SHA256.fullmatch(digest) and type(size_bytes) is int
        if not is_fit or not 0 <= size_bytes < 10**15:
            raise ValueError(f"its manifest names a file that cannot be: {name[:40]!r}")


def _parse_files(stream: bytes) -> dict[str, bytes]:
    files = {}
    position = 0
    while position < len(stream):
        end = stream.index(b"\n", position)
        _, name, size_bytes = stream[position:end].split(b" ")
        position = end + 1 + size(size_bytes)
        files[name.decode()] = stream[end + 1 : position]
    return files


def _doubt_of_file(entry: Mapping[str, Any], content: bytes | None, cap_bytes: int) -> str:
    name, size_bytes = entry["name"], entry["bytes"]
    if content is None:
        return (
            f"{name} ({size_bytes} bytes) was left out: it does not fit under the cap of {cap_bytes} bytes, or is gone."
        )
    if len(content) != size_bytes or hashlib.sha256(content).hexdigest() != entry["sha256"]:
        return f"{name} ({size_bytes} bytes) was left out: it was changed after the run (its SHA-256 differs)."
    return ""
