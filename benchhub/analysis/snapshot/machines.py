"""Find in a text what names one machine or one person, whoever they are: by its form, as no list knows them.

Ids of clouds, UUIDs, pods, serial numbers, world wide names of disks, names below private domains and those of clouds,
and accounts: in e-mail and SSH addresses, in URLs and in folders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Domains below which every name is one machine's.
DOMAINS = (
    r"internal|local|localdomain|lan|corp|intranet|amazonaws\.com|cloudapp\.(?:azure\.com|net)|windows\.net"
    r"|database\.azure\.com|googleusercontent\.com"
)
POD = "[bcdfghjklmnpqrstvwxz2456789]"
# Each part is bounded, so that a text is read once; what stands in a group alone is what is hidden.
FORMS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?<![0-9a-f-])([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})(?![0-9a-f-])",
        r"(?<![\w-])((?:i|vol|eni|vpc|subnet|sg|ami|snap|mi)-[0-9a-f]{8,32})(?![\w-])",
        r"(?<![0-9a-z])((?:0x|naa\.)[56][0-9a-f]{15})(?![0-9a-f])",
        r"(?<!\w)(arn:aws[\w-]{0,16}:[^\s\"',;]{1,200})",
        rf"(?<![\w-])([a-z][a-z0-9-]{{0,50}}-{POD}{{8,10}}-{POD}{{5}})(?![\w-])",
        r"\b(?:serial(?:[ _-]?(?:number|no))?|s/n)\.?[\"']?\s{0,3}[:=#]\s{0,3}[\"']?"
        r"(?=[a-z._-]{0,40}[0-9])([\w.-]{4,40})",
        rf"(?<![\w.-])((?:[\w-]{{1,63}}\.){{1,8}}(?:{DOMAINS}))(?![\w-])",
        r"://([^\s/@]{1,200})@",
        r"(?<![\w.+-])([\w.+-]{1,64}@[a-z][\w-]{0,62}(?:\.[\w-]{1,63}){0,8})",
        r"(?<![\w/~])~([a-z_][\w.-]{0,31})(?=/)",
        r"/(?:home|users)/([^\s/:;,\"'<>]{1,64})",
    )
)


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each name of a machine or a person in a text of lower-case letters; they may overlap."""
    for form in FORMS:
        yield from (match.span(1) for match in form.finditer(text))
