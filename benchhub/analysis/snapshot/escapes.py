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
# At least six bytes; what was encoded may be broken into lines.
ENCODED = re.compile(r"[A-Za-z0-9+/]{60,76}(?:\r?\n[A-Za-z0-9+/]{1,76})+={0,2}|[A-Za-z0-9+/_-]{8,}={0,2}")
# Base64 has these letters too, so that a word is also read anew behind each of the first of them.
SEPARATOR = re.compile("[/_-]+")
MOST_SEPARATORS, SHORTEST = 8, 8
# Of bytes that are no text, at least so many that can be read.
READABLE = re.compile(rb"[\x20-\x7e]{4}|(?:[\x20-\x7e]\x00){4}")


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
    """Yield (start, end, text) of each word or part of one that is a text in base64 or hexadecimal digits, with it."""
    for match in ENCODED.finditer(text):
        for start, end in _parts(match[0]):
            for content in _contents("".join(match[0][start:end].split())):
                yield from ((match.start() + start, match.start() + end, inner) for inner in _texts(content))


def _parts(word: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of the word, of what is behind each of its first separators, and of what is between them."""
    yield 0, len(word)
    start = 0
    for count, separator in enumerate(SEPARATOR.finditer(word)):
        if separator.start() - start >= SHORTEST:
            yield start, separator.start()
        start = separator.end()
        if count < MOST_SEPARATORS and len(word) - start >= SHORTEST:
            yield start, len(word)
    if 0 < start <= len(word) - SHORTEST:
        yield start, len(word)


def _contents(word: str) -> Iterator[bytes]:
    """Yield the bytes that a word may stand for."""
    bare = word.rstrip("=")
    digits = bare[bare[:2] in ("0x", "0X") and 2 :].removeprefix("x")
    if re.fullmatch(f"(?:{HEX}{{2}})+", digits):
        yield bytes.fromhex(digits)
    cut = bare[: len(bare) - (len(bare) % 4 == 1)].translate(str.maketrans("-_", "+/"))
    try:
        yield base64.b64decode(cut + "=" * (-len(cut) % 4), validate=True)
    except binascii.Error:
        return


def _texts(content: bytes) -> Iterator[str]:
    """Yield what bytes hold as text; those that cannot be read part it, or stand between its letters as in UTF-16."""
    if not READABLE.search(content) and not _is_text(content):
        return
    text = content.decode(errors="replace")
    yield "".join(character if character.isprintable() else "\n" for character in text)
    if b"\0" in content:
        yield text.replace("\0", "")


def _is_text(content: bytes) -> bool:
    try:
        return "".join(content.decode().split()).isprintable()
    except UnicodeDecodeError:
        return False


def _decoded(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("latin-1")
