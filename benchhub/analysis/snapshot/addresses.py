"""Find network addresses in a text: candidates widely, judged by the ipaddress module.

A dotted quad whose parts are numbers up to 255 is an address, whatever stands around it, also at the end of a sentence;
versions have fewer parts, or a part above 255. Four such numbers by hyphens are one where a host is named after them:
ip-10-0-0-5, or 10-0-0-5.example.org. By low lines they may as well be clients_1_2_4_8.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

# Some write its parts in hexadecimal or octal digits.
PART = "(?:0x[0-9a-f]{1,2}|0{0,7}[0-9]{1,3})"
QUAD = re.compile(rf"(?<![0-9]){PART}(?:\.{PART}){{3}}(?![0-9])")
HYPHENS = re.compile(r"(?<![0-9])[0-9]{1,3}([-_])(?:[0-9]{1,3}\1){2}[0-9]{1,3}(?![0-9])")
# An address of version 6, with the zone, the length of a prefix and the port that may follow it.
GROUPS = re.compile(r"(?<![0-9a-z])[0-9a-f:]{2,39}(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3})?(?![0-9a-z])")
AFTER = re.compile(r"(?:%[0-9a-z._-]{1,64})?(?:/[0-9]{1,3}(?![0-9]))?\]?(?::[0-9]{1,5}(?![0-9]))?")
# Of Ethernet and InfiniBand, as Linux, Windows or a switch writes it, and in the name of an interface.
HARDWARE = re.compile(
    r"(?<![0-9a-f:-])[0-9a-f]{2}([:-])[0-9a-f]{2}(?:\1[0-9a-f]{2}){4}(?:(?:\1[0-9a-f]{2}){14}|(?:\1[0-9a-f]{2}){2})?"
    r"(?![0-9a-f:-])|(?<![0-9a-f.])[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}(?![0-9a-f.])|(?<![0-9a-z])enx[0-9a-f]{12}\b"
)
LITERAL = re.compile(r"(?<![0-9a-z])[0-9a-f-]{2,39}\.ipv6-literal\.net")

DOMAIN = re.compile(r"\.[a-z][\w-]{0,62}(?:\.[\w-]{1,63}){0,8}\.[a-z]")

Span = tuple[int, int]


def spans(text: str) -> Iterator[Span]:
    """Yield (start, end) of each address in a text of lower-case letters; they may overlap."""
    for match in QUAD.finditer(text):
        if _is_quad(match[0], "."):
            yield match.start(), _after(text, match.end())
    for match in HYPHENS.finditer(text):
        if _is_quad(match[0], match[1]) and _is_name(text, match):
            yield match.span()
    for match in GROUPS.finditer(text):
        if match[0].count(":") > 1 and (length := _length_of_six(match[0])):
            yield match.start(), _after(text, match.start() + length)
    yield from (match.span() for pattern in (HARDWARE, LITERAL) for match in pattern.finditer(text))


def forms(address: str) -> tuple[str, ...]:
    """Return the other spellings of an address that stand for it: one number, hexadecimal, hyphens, reversed."""
    try:
        parsed = ipaddress.ip_address(address.strip())
    except ValueError:
        return ()
    if isinstance(parsed, ipaddress.IPv6Address):
        return parsed.exploded, parsed.compressed, parsed.reverse_pointer, parsed.packed.hex()
    octets = str(parsed).split(".")
    padded = ".".join(octet.zfill(3) for octet in octets)
    octal = ".".join(f"0{int(octet):o}" for octet in octets)
    first, second, *_ = numbers = list(parsed.packed)
    last_two, last_three = int(parsed) & 0xFFFF, int(parsed) & 0xFFFFFF
    packed = parsed.packed.hex()
    return (
        str(int(parsed)),
        f"0x{packed}",
        f"0{int(parsed):o}",
        ".".join(f"0x{number:02x}" for number in numbers),
        *_short(f"{first}.{second}", last_two),
        *_short(f"{first}", last_three),
        *_bare(parsed.packed),
        "-".join(octets),
        "_".join(octets),
        padded,
        octal,
        parsed.reverse_pointer,
        f"::ffff:{packed[:4]}:{packed[4:]}",
    )


def _short(begin: str, rest: int) -> list[str]:
    """Return 10.5 for 10.0.0.5 where a host is named before it, as that may be any number or version; 10.20.7721."""
    text = f"{begin}.{rest}"
    return [text] if rest > 255 else [f"{before}{text}" for before in ("host=", "hostaddr=", "@", "//")]


def _bare(packed: bytes) -> list[str]:
    """Return eight hexadecimal digits, and as /proc/net/tcp has them; what is decimal may be any number."""
    return [text for text in (packed.hex(), packed[::-1].hex()) if not text.isdecimal()]


def _is_quad(text: str, separator: str) -> bool:
    return all(int(part, 16 if part.startswith("0x") else 10) <= 255 for part in text.split(separator))


def _is_name(text: str, match: re.Match[str]) -> bool:
    """Tell whether four numbers by hyphens are part of a name: a letter and a hyphen before, or a domain after."""
    before, after = text[max(0, match.start() - 3) : match.start()], text[match.end() : match.end() + 2]
    if match[1] == "_":
        return before == "ip_" or DOMAIN.match(text, match.end()) is not None
    return (before[-1:] == "-" and before[-2:-1].isalpha()) or (after[:1] == "." and after[1:].isalpha())


def _length_of_six(text: str) -> int:
    """Return the length of the address of version 6 that the text begins with; 0 for none, and for '::' alone."""
    for end in (len(text), len(text.rstrip(":")), len(text.rstrip(":")) + 2):
        try:
            parsed = ipaddress.IPv6Address(text[:end])
        except ValueError:
            continue
        return end if int(parsed) else 0
    return 0


def _after(text: str, end: int) -> int:
    match = AFTER.match(text, end)
    return match.end() if match else end
