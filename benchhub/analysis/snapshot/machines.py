"""Find in a text what names one machine or one person, whoever they are: by its form, as no list knows them.

Ids of clouds, UUIDs, pods, serial numbers, world wide names of disks, names below private domains and those of clouds,
and accounts: in e-mail and SSH addresses, in URLs, in commands and in folders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

NAME = re.compile(r"(?<![\w.-])(?:[\w-]{1,63}\.){1,126}[\w-]{1,63}")
CLOUDS = re.compile(
    r"\.(?:amazonaws\.com|cloudapp\.(?:azure\.com|net)|windows\.net|database\.azure\.com|googleusercontent\.com)"
    r"(?:\.[a-z]{2})?"
)
# Labels below which every name is one machine's; the last two are words of programs as well: threading.local().
PRIVATE = frozenset(("localdomain", "lan", "corp", "intranet", "internal", "local"))
WORDS_OF_PROGRAMS = frozenset(("internal", "local"))
# With what a domain on the Internet ends: two letters are of a country where they do not end a file's name.
TOP = re.compile(r"com|net|org|edu|gov|io|dev|cloud|(?!cc|cs|go|gz|js|md|pl|py|rb|rs|sh|so|ts)[a-z]{2}")
POD = "[bcdfghjklmnpqrstvwxz2456789]"
UNITS = r"(?:tps|qps|nopm|mqth|rows|ms|us|min|s|h|[kmgt]i?b|%|x)"
ACCOUNT = r"[\"']?(?!(?:postgres|root)(?![\w.-]))([a-z_][\w.-]{0,62})"
CLIENTS = r"(?:pgbench|psql|createdb|dropdb|vacuumdb|pg_[a-z]{2,16})"
# Each part is bounded, so that a text is read once; what stands in a group alone is what is hidden.
FORMS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?<![0-9a-f-])([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})(?![0-9a-f-])",
        r"(?<![\w-])((?:i|vol|eni|vpc|subnet|sg|ami|snap|mi)-[0-9a-f]{8,32})(?![\w-])",
        r"(?<![0-9a-z])((?:0x|naa\.)[56][0-9a-f]{15})(?![0-9a-f])",
        r"(?<![0-9a-z])((?:eui|uuid|nguid)\.[0-9a-f-]{16,36})(?![0-9a-f])",
        r"(?<!\w)(arn:aws[\w-]{0,16}:[^\s\"',;]{1,200})",
        rf"(?<![\w-])([a-z][a-z0-9-]{{0,50}}-{POD}{{8,10}}-{POD}{{5}})(?![\w-])",
        r"\b(?:serial(?:[ _-]?(?:number|no))?|s/n)\.?[\"']?\s{0,3}[:=#]\s{0,3}[\"']?"
        rf"(?![0-9]{{1,20}}\.[0-9]{{1,20}}(?![\w.-])|[0-9.]{{1,40}}\s?{UNITS}(?![\w-]))"
        r"(?=[a-z._-]{0,40}[0-9])(?=[0-9._-]{0,40}[a-z]|[0-9._-]{6})([\w.-]{4,40})",
        r"://([^\s/@:]{1,200}(?::[^\s\"'<>]{0,200})?)@",
        rf"(?<![\w.+-])(?![0-9.]{{0,20}}{UNITS}@)"
        r"([\w.+-]{1,64}@(?!p[0-9]{1,2}(?:\.[0-9]{1,3})?(?![\w-]|\.[a-z]))[a-z][\w-]{0,62}(?:\.[\w-]{1,63}){0,8})",
        rf"(?<![^\s\"'=:(,;])~(?!{UNITS}/)([a-z_][\w.-]{{0,31}})(?=/[\w.~-])",
        r"/home/([^\s/:;,\"'<>]{1,64})",
        r"/users/([^\s/:;,\"'<>]{1,64})(?=/[\w.~-])",
        r"\\{1,4}users\\{1,4}([^\s\\/:;,\"'<>]{1,64})",
        rf"\bssh\s{{1,3}}(?:\S{{1,80}}\s{{1,3}}){{0,6}}?-l\s{{0,3}}{ACCOUNT}",
        rf"\b{CLIENTS}\s{{1,3}}(?:\S{{1,80}}\s{{1,3}}){{0,12}}?-u\s{{0,3}}{ACCOUNT}",
        rf"(?<![\w-])(?:pg)?user(?:name)?\s{{0,2}}=\s{{0,2}}{ACCOUNT}",
    )
)


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each name of a machine or a person in a text of lower-case letters; they may overlap."""
    for form in FORMS:
        yield from (match.span(1) for match in form.finditer(text))
    yield from (match.span() for match in NAME.finditer(text) if _is_private(match[0]))


def _is_private(name: str) -> bool:
    """Tell whether a dotted name is below a private domain or that of a cloud, whatever domain these are in."""
    labels = name.split(".")
    places = [place for place, label in enumerate(labels) if place and label in PRIVATE]
    if not places:
        return CLOUDS.search(name) is not None
    before, behind = labels[: places[-1]], labels[places[-1] + 1 :]
    if behind:
        return TOP.fullmatch(behind[-1]) is not None or CLOUDS.search(name) is not None
    return labels[-1] not in WORDS_OF_PROGRAMS or len(before) > 1 or re.search("[0-9-]", before[0]) is not None
