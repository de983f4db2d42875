"""Undo escapes in a text: of HTML, JSON, addresses, C and SQL, once or several times over, and dots that are disguised.

A text is read in units, each one character or one escape of a character.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
from collections.abc import Iterator

HEX = "[0-9a-fA-F]"


def _utf_8(escape: str) -> str:
    """Return a pattern of one character whose bytes are escaped in UTF-8; `escape` stands before each byte."""
    rest = f"{escape}[89abAB]{HEX}"
    longer = f"{escape}[cdCD]{HEX}{rest}|{escape}[eE]{HEX}(?:{rest}){{2}}|{escape}[fF][0-7](?:{rest}){{3}}"
    return f"{longer}|{escape}{HEX}{{2}}"


# In brackets: dots of addresses that nothing shall make a link of.
DOT = r"\[\.\]|\(\.\)|[\[(](?i:dot)[\])]"
# Tags that break a word, and no others: what stands between the brackets of an unknown one may be a name.
TAG = r"</?(?i:w?br|b|i|u|s|em|strong|small|mark|span|code|su[bp]) ?/?>|<!--\s{0,9}-->"
CODE_UNIT = rf"\\u{HEX}{{4}}"
PERCENT, BYTE = "%(?:25){0,4}", r"\\x"
UNIT = re.compile(
    rf"{TAG}|{DOT}|\\u[dD][89abAB]{HEX}{{2}}\\u[dD][c-fC-F]{HEX}{{2}}|{CODE_UNIT}|\\u\{{{HEX}{{1,6}}\}}|\\U{HEX}{{8}}"
    rf"|{_utf_8(BYTE)}|\\[01][0-7]{{2}}|{_utf_8(PERCENT)}"
    r"|&(?:amp;){0,4}(?:#[0-9]{1,12};?|#[xX][0-9a-fA-F]{1,8};?|[A-Za-z][0-9A-Za-z]{1,31};)|.",
    re.DOTALL,
)
# What a text without any of them lacks.
SIGN = re.compile(r"<[!/A-Za-z]|\\[uUx01]|%[0-9a-fA-F]|&[#A-Za-z]|[\[(][.dD]|[\x00-\x08\x0e-\x1f\x7f]")
LARGEST = 0x10FFFF
# At least six bytes; a line of a longer text that was encoded is a whole number of them.
ENCODED = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")


def character(unit: str) -> str:
    """Return what an escape stands for, one character as a rule; a blank for a break, nothing for other tags."""
    if unit[0] == "<":
        return " " if unit[1:3].lower() == "br" else ""
    if unit[0] in "[(":
        return "."
    if unit[0] == "&":
        return html.unescape("&" + re.sub("^(?:&|amp;)*(?=#|[^;]+;$)", "", unit))
    if unit[0] == "%" or unit[:2] == r"\x":
        return _decoded(bytes.fromhex("".join(re.findall(f"(?:%(?:25)*|{BYTE})({HEX}{{2}})", unit))))
    if unit[1:2] in "01":
        return chr(int(unit[1:], 8))
    codes = [int(code, 16) for code in re.findall(f"{HEX}+", unit[1:].replace("u", " ").replace("U", " "))]
    if len(codes) == 2:
        return chr(0x10000 + ((codes[0] & 0x3FF) << 10) + (codes[1] & 0x3FF))
    return chr(codes[0]) if codes[0] <= LARGEST else "\ufffd"


def encoded(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, text) of each word that is a text in base64 or in hexadecimal digits, with that text."""
    for match in ENCODED.finditer(text):
        for content in _contents(match[0]):
            if (inner := _text(content)) is not None:
                yield *match.span(), inner


def _contents(word: str) -> Iterator[bytes]:
    """Yield the bytes that a word may stand for; behind a stroke, as in an address, it may begin anew."""
    bare = word.rstrip("=")
    if re.fullmatch(f"(?:{HEX}{{2}})+", bare):
        yield bytes.fromhex(bare)
    for part in {bare, bare.lstrip("+/_-"), bare.rpartition("/")[2]}:
        cut = part[: len(part) - (len(part) % 4 == 1)].translate(str.maketrans("-_", "+/"))
        try:
            yield base64.b64decode(cut + "=" * (-len(cut) % 4), validate=True)
        except binascii.Error:
            continue


def _text(content: bytes) -> str | None:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return text if "".join(text.split()).isprintable() else None


def _decoded(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("latin-1")
