"""JSON that the warehouse can keep: no NUL, no half of a surrogate pair, not nested without end."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

MOST_DEEP, MOST_VALUES = 50, 40_000  # a price sheet of 1,000 lines has 20 fields in each
# Possessive, and an unfinished one ends with the text: each character is looked at once.
STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)


class Json(BaseParser):
    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, context: Mapping[str, Any] | None = None) -> Any:
        try:
            return loads(stream.read())
        except ValueError as error:
            raise ParseError(f"This is not JSON that can be kept: {error}.") from error


class Streamed(BaseParser):
    """A body that may be long: it stays where it is, and the view reads it as it needs."""

    def parse(self, stream: Any, media_type: str | None = None, context: Mapping[str, Any] | None = None) -> Any:
        return stream


class Ndjson(Streamed):
    """Lines, which the view reads one by one, so that a fault is told by its line."""

    media_type = "application/x-ndjson"


class Sysstat(Streamed):
    """What sadf -j printed: JSON with more values than other requests may have, which is read sample by sample."""

    media_type = "application/vnd.sysstat+json"


def loads(raw: bytes) -> Any:
    """Read JSON. Raises ValueError, which says what is wrong with it; many values are refused before any is made."""
    bare = STRING.sub(b"", raw)
    if sum(map(bare.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise ValueError(f"it has more than {MOST_VALUES:,} values")
    text = raw.decode("utf-8")
    try:
        data = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    lower = text.lower()
    if "\\u0000" in lower:
        raise ValueError("it has a NUL character")
    if "\\ud" in lower:
        json.dumps(data, ensure_ascii=False).encode()  # UnicodeEncodeError is a ValueError
    if _is_deep(data):
        raise ValueError("it is nested too deeply")
    return data


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:20]} is too large a number")
    return number


def _is_deep(data: Any, levels: int = MOST_DEEP) -> bool:
    if not isinstance(data, dict | list):
        return False
    inner = data.values() if isinstance(data, dict) else data
    return levels == 0 or any(_is_deep(part, levels - 1) for part in inner if isinstance(part, dict | list))
