"""Turn a document into canonical bytes: JSON in UTF-8 with sorted keys and no white space. Their SHA-256 is its digest.

Amounts and measured values are decimal text; floats stand in figures alone, as their shortest text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

FORMAT = "benchhub.snapshot"
VERSION = 1


class SnapshotError(ValueError):
    """Raised for bytes that are no snapshot this release can read; the message says why."""


def to_bytes(document: Mapping[str, Any]) -> bytes:
    """Return the canonical bytes. Raises SnapshotError for a number without a text: not a number, or infinite."""
    try:
        text = json.dumps(
            document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_json_value
        )
    except ValueError as error:
        raise SnapshotError(f"A number in this document has no text: {error}.") from error
    return text.encode()


def digest(content: bytes) -> str:
    """Return the SHA-256 in hex."""
    return hashlib.sha256(content).hexdigest()


def from_bytes(content: bytes) -> dict[str, Any]:
    """Read a document from its bytes. Raises SnapshotError for another format, or a version of a later release."""
    try:
        document = json.loads(content)
    except ValueError as error:
        raise SnapshotError(f"This is no JSON: {error}.") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise SnapshotError(f"This is no snapshot: its format is not '{FORMAT}'.")
    version = document.get("version")
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise SnapshotError(f"This snapshot has version {version}; this release reads 1 to {VERSION}.")
    return document


def _json_value(value: Any) -> Any:
    if isinstance(value, Decimal):
        return f"{value:f}"
    raise TypeError(f"{value!r} has no canonical form: write it as text.")
