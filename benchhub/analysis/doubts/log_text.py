"""Make logs of strangers text that can only be read: nothing in it moves a cursor, hides, or reverses what follows."""

from __future__ import annotations

import re
import unicodedata

CONTROL_PICTURES = 0x2400
DELETE = 0x7F
LONGEST_CHARACTER = 4
LINE_ENDS = re.compile("\r\n?")


def whole_characters(content: bytes) -> int:
    """Return how many of the bytes form whole UTF-8 characters: a cut one at the end is left for the next look."""
    for back in range(1, min(LONGEST_CHARACTER, len(content) + 1)):
        byte = content[-back]
        if byte & 0xC0 == 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(content) - back if length > back else len(content)
        if byte < 0x80:
            break
    return len(content)


def readable(content: bytes) -> str:
    """Return text with line feeds and tabs; every other control character is shown as a picture of itself.

    Bytes that are no UTF-8 become U+FFFD. A carriage return begins a new line.
    """
    text = LINE_ENDS.sub("\n", content.decode("utf-8", errors="replace"))
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return character
    code = ord(character)
    if code < 0x20:
        return chr(CONTROL_PICTURES + code)
    return "\N{SYMBOL FOR DELETE}" if code == DELETE else f"<U+{code:04X}>"
