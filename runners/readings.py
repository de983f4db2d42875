"""Numbers that a host printed: in their range, or absent. A text of a host may say anything, and is never believed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

DEEPEST = 16
LONGEST_TEXT = 2**16
LONGEST_SENTENCE = 2000
UNSTORABLE = re.compile("[\0\ud800-\udfff]")  # PostgreSQL's JSON takes neither
LARGEST = 10**18 - 1  # fits PostgreSQL's bigint, and any size of a real disk or memory


def read_sections(answer: bytes) -> Iterator[tuple[str, str]]:
    """Yield the sections of an answer, each begun by a record separator and a line with its name, with their texts."""
    for part in answer.replace(b"\0", b"").decode(errors="replace").split("\x1e")[1:]:
        name, _, text = part.partition("\n")
        yield name, text.strip()


def short(sentence: str, longest: int = LONGEST_SENTENCE) -> str:
    """Return a sentence in which a target may have had its say, as long as one can be shown, or as its part may be."""
    return sentence if len(sentence) <= longest else f"{sentence[:longest]}..."


def whole(text: str, largest: int = LARGEST) -> int | None:
    """Return a whole number of plain digits; None for all else, signs and what lies above `largest` included."""
    digits = text.strip()
    value = int(digits) if re.fullmatch("[0-9]{1,18}", digits) else None
    return value if value is not None and value <= largest else None


def count(text: str, largest: int = 2**20) -> int | None:
    """Return a number of things of which there is at least one, such as sockets."""
    return whole(text, largest) or None


def decimal(text: str) -> float | None:
    """Return a number with or without decimals, which is finite by its form: no exponent, no sign, no nan."""
    digits = text.strip()  # which takes away more than float() forgives
    return float(digits) if re.fullmatch(r"[0-9]{1,15}(\.[0-9]{0,30})?", digits) else None


def storable(value: Any, depth: int = 0) -> Any:
    """Return plain data as PostgreSQL's JSON can hold it; what it cannot, and what no host can mean, is None.

    Characters that cannot be stored become U+FFFD. Texts, depth and numbers are bounded.
    """
    if isinstance(value, str):
        return UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", value) if len(value) <= LONGEST_TEXT else None
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value if abs(value) <= LARGEST else None  # false of nan, too
    if isinstance(value, Mapping) and depth < DEEPEST:
        return {storable(str(name)): storable(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, list | tuple) and depth < DEEPEST:
        return [storable(inner, depth + 1) for inner in value]
    return None


def storable_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts as they can be stored. One that cannot be is left out or changed, with a sentence in `remarks`."""
    values = {name: storable(value) for name, value in facts.items()}
    unfit = [name.replace("_", " ") for name, value in facts.items() if values[name] != plain(value)]
    remarks = [f"Not all of the host's {name} can be stored: what cannot be is left out." for name in unfit]
    values = {name: value for name, value in values.items() if value is not None}
    return {**values, "remarks": [*values.get("remarks", []), *remarks]} if remarks else values


def plain(value: Any, depth: int = 0) -> Any:
    """Return data with lists for tuples, as JSON has them, as deep as is stored."""
    if isinstance(value, Mapping) and depth < DEEPEST:
        return {name: plain(inner, depth + 1) for name, inner in value.items()}
    return (
        [plain(inner, depth + 1) for inner in value] if isinstance(value, list | tuple) and depth < DEEPEST else value
    )


def storable_json(text: str) -> Any:
    """Return what a text of JSON means, as far as it can be stored. Raises ValueError for any other text."""
    try:
        return storable(json.loads(text, parse_int=_json_integer))
    except RecursionError as error:
        raise ValueError("This JSON is too deep.") from error


def _json_integer(digits: str) -> int | None:
    return int(digits) if len(digits) <= 20 else None
