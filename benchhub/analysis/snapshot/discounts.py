"""Find in a text what is taken off prices, in per cent or as an amount, however it is worded.

A number alone may be anything: it is found beside a word that says that something is taken off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

NUMBER = r"[0-9]{1,15}(?:[.,'][0-9]{1,15}){0,5}"
GAP = r"[\s'\"\\_*:=()\[\]<>~+-]{0,8}"
# An underline is a mark of emphasis, and no letter.
END = r"(?![^\W_])"
PER_CENT = r"(?:%|percent|per[ -]?cent|pct)"
CODES = "aud|brl|cad|chf|cny|czk|dkk|eur|euros?|gbp|huf|inr|jpy|krw|nok|nzd|pln|ron|rub|sek|sgd|try|usd|dollars?|zar"
CURRENCY = rf"(?:[\u20ac$\xa3\xa5]|(?<![^\W_])(?:{CODES}){END})"
TAKEN_OFF = r"(?:discount|rebate|price[ -]?cut|price[ -]?reduction|surcharge|markdown)"
# Behind a number with its unit these say it as well; elsewhere they are words like any other.
AFTER_UNIT = rf"(?:off{END}|below[ -]list|under[ -]list|(?:cheaper|less)[ -]than[ -]list)"
OF = rf"(?:(?:of|is|was|at|by|about|only|up to|worth|in){END})?"
MORE = rf"(?:{GAP}(?:and|or|to|,|;){GAP}{NUMBER}{GAP}{PER_CENT}){{0,9}}"
# Each is looked for by itself: what one of them takes may be the begin of another.
PATTERNS = tuple(
    map(
        re.compile,
        (
            rf"(?:{CURRENCY}{GAP})?(?<![0-9.]){NUMBER}{GAP}"
            rf"(?:(?:{PER_CENT}|{CURRENCY}){GAP}(?:{AFTER_UNIT}|{OF}{GAP}{TAKEN_OFF})|{TAKEN_OFF})",
            rf"{CURRENCY}{GAP}{NUMBER}{GAP}{AFTER_UNIT}",
            rf"{TAKEN_OFF}(?:s|ed)?{GAP}{OF}{GAP}{OF}{GAP}(?:{CURRENCY}{GAP})?{NUMBER}(?:{GAP}{PER_CENT}{MORE})?",
            rf"(?<![^\W_])off{GAP}{OF}{GAP}{NUMBER}{GAP}{PER_CENT}",
        ),
    )
)


def spans(plain: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each discount that a text in its plain form states; they may overlap."""
    for pattern in PATTERNS:
        yield from (match.span() for match in pattern.finditer(plain))
